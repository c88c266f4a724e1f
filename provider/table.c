// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Look-up of a QP or SRQ by number, for completions. Pollers look up without a lock: an object stays valid because it
 * is removed under the locks of its CQs. Writers hold ctx->table_lock.
 */
#include <errno.h>
#include <stdlib.h>

#include "hcasim.h"

static _Atomic(struct hcasim_leaf *) *leaf_of(struct hcasim_table *table, uint32_t number)
{
	return &table->leaf[(number >> HCASIM_TABLE_BITS) & (HCASIM_TABLE_SIZE - 1)];
}

void *hcasim_table_find(struct hcasim_table *table, uint32_t number)
{
	struct hcasim_leaf *leaf = atomic_load_explicit(leaf_of(table, number), memory_order_acquire);

	if (!leaf)
		return NULL;
	return atomic_load_explicit(&leaf->obj[number & (HCASIM_TABLE_SIZE - 1)], memory_order_acquire);
}

int hcasim_table_insert(struct hcasim_table *table, uint32_t number, void *obj)
{
	struct hcasim_leaf *leaf;

	/* Leaves are freed with the context: a poller may use one at any time. */
	leaf = atomic_load_explicit(leaf_of(table, number), memory_order_relaxed);
	if (!leaf) {
		leaf = calloc(1, sizeof(*leaf));
		if (!leaf)
			return ENOMEM;
		atomic_store_explicit(leaf_of(table, number), leaf, memory_order_release);
	}
	atomic_store_explicit(&leaf->obj[number & (HCASIM_TABLE_SIZE - 1)], obj, memory_order_release);
	return 0;
}

/* `number` is in the table. */
void hcasim_table_remove(struct hcasim_table *table, uint32_t number)
{
	struct hcasim_leaf *leaf = atomic_load_explicit(leaf_of(table, number), memory_order_relaxed);

	atomic_store_explicit(&leaf->obj[number & (HCASIM_TABLE_SIZE - 1)], NULL, memory_order_release);
}

void hcasim_table_free(struct hcasim_table *table)
{
	uint32_t i;

	for (i = 0; i < HCASIM_TABLE_SIZE; i++)
		free(atomic_load_explicit(&table->leaf[i], memory_order_relaxed));
}
