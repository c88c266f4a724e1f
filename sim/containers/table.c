// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>
#include <string.h>

#include "containers/table.h"

static struct table_node **bucket_of(const struct table *t, uint64_t key)
{
	/* Multiplicative hashing: the upper bits of the product depend on all bits of the key. */
	uint64_t hash = (key ^ key >> 32) * 0x9e3779b97f4a7c15ull >> 32;

	if (t->size)
		return &t->many[hash & (t->size - 1)];
	return (struct table_node **)&t->few[hash & (TABLE_FEW - 1)];
}

static void grow(struct table *t)
{
	struct table_node **old = t->size ? t->many : t->few, *node, *next;
	size_t size = t->size ? t->size : TABLE_FEW;
	struct table grown = {.size = size * 4};

	grown.many = calloc(grown.size, sizeof(struct table_node *));
	if (!grown.many)
		return;
	for (size_t i = 0; i < size; i++) {
		for (node = old[i]; node; node = next) {
			struct table_node **bucket = bucket_of(&grown, node->key);

			next = node->next;
			node->next = *bucket;
			*bucket = node;
		}
	}
	if (t->size)
		free(t->many);
	t->many = grown.many;
	t->size = grown.size;
}

void table_add(struct table *t, struct table_node *node, uint64_t key)
{
	struct table_node **bucket;

	if (t->used >= (t->size ? t->size : TABLE_FEW))
		grow(t);
	bucket = bucket_of(t, key);
	*node = (struct table_node){key, *bucket};
	*bucket = node;
	t->used++;
}

static struct table_node *first_of(struct table_node *node, uint64_t key)
{
	while (node && node->key != key)
		node = node->next;
	return node;
}

struct table_node *table_find(const struct table *t, uint64_t key)
{
	return first_of(*bucket_of(t, key), key);
}

struct table_node *table_next(const struct table_node *node)
{
	return first_of(node->next, node->key);
}

void table_remove(struct table *t, struct table_node *node)
{
	struct table_node **p = bucket_of(t, node->key);

	while (*p != node)
		p = &(*p)->next;
	*p = node->next;
	t->used--;
}

void table_free(struct table *t)
{
	if (t->size)
		free(t->many);
	memset(t, 0, sizeof(*t));
}
