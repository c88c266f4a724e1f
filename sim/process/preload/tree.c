// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A treap: a search tree by key that is a heap by priority, which is random. */
#include "process/preload/raw.h"
#include "process/preload/tree.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool grow(struct tree *t)
{
	size_t wanted = t->bytes ? t->bytes * 2 : 4096;
	void *grown;

	if ((t->used + 2) * sizeof(*t->node) <= t->bytes)
		return true;
	if (t->bytes)
		grown = (void *)raw_syscall(SYS_mremap, t->node, t->bytes, wanted, MREMAP_MAYMOVE);
	else
		grown = (void *)raw_syscall(SYS_mmap, NULL, wanted, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (grown == MAP_FAILED)
		return false;
	t->node = grown;
	t->bytes = wanted;
	return true;
}

static uint32_t take_node(struct tree *t)
{
	uint32_t i = t->unused;

	if (i) {
		t->unused = t->node[i].left;
		return i;
	}
	return grow(t) ? ++t->used : 0;
}

/* Xorshift32 of Marsaglia, "Xorshift RNGs", 2003. */
static uint32_t next_random(struct tree *t)
{
	uint32_t x = t->random ? t->random : 0x9e3779b9;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return t->random = x;
}

/* Splits tree `i`: keys below `key` go to `left`, the others to `right`. */
static void split(struct tree *t, uint32_t i, uint64_t key, uint32_t *left, uint32_t *right)
{
	while (i) {
		struct tree_node *n = &t->node[i];

		if (n->key < key) {
			*left = i;
			left = &n->right;
			i = n->right;
		} else {
			*right = i;
			right = &n->left;
			i = n->left;
		}
	}
	*left = *right = 0;
}

/* Joins two trees; every key of `a` is below those of `b`. */
static uint32_t join(struct tree *t, uint32_t a, uint32_t b)
{
	uint32_t root, *to = &root;

	while (a && b) {
		if (t->node[a].priority >= t->node[b].priority) {
			*to = a;
			to = &t->node[a].right;
			a = *to;
		} else {
			*to = b;
			to = &t->node[b].left;
			b = *to;
		}
	}
	*to = a ? a : b;
	return root;
}

struct tree_node *tree_add(struct tree *t, uint64_t key)
{
	uint32_t i = take_node(t), *at = &t->root;
	struct tree_node *n;

	if (!i)
		return NULL;
	n = &t->node[i];
	*n = (struct tree_node){.key = key, .priority = next_random(t)};
	while (*at && t->node[*at].priority >= n->priority)
		at = key < t->node[*at].key ? &t->node[*at].left : &t->node[*at].right;
	split(t, *at, key, &n->left, &n->right);
	*at = i;
	t->num++;
	return n;
}

struct tree_node *tree_at_most(const struct tree *t, uint64_t key)
{
	struct tree_node *best = NULL;

	for (uint32_t i = t->root; i;) {
		struct tree_node *n = &t->node[i];

		if (n->key <= key) {
			best = n;
			i = n->right;
		} else {
			i = n->left;
		}
	}
	return best;
}

struct tree_node *tree_find(const struct tree *t, uint64_t key)
{
	struct tree_node *n = tree_at_most(t, key);

	return n && n->key == key ? n : NULL;
}

void tree_remove(struct tree *t, uint64_t key)
{
	uint32_t *at = &t->root, i;

	while (t->node[*at].key != key)
		at = key < t->node[*at].key ? &t->node[*at].left : &t->node[*at].right;
	i = *at;
	*at = join(t, t->node[i].left, t->node[i].right);
	t->node[i].left = t->unused;
	t->unused = i;
	t->num--;
}
