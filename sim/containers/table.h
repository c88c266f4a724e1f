/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects by a 64-bit key, in a hash table: adding, finding and removing take constant time. Objects embed a struct
 * table_node; a zeroed struct table is empty.
 */
#ifndef HCASIM_CONTAINERS_TABLE_H
#define HCASIM_CONTAINERS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct table_node {
	uint64_t key;
	struct table_node *next;
};

#define TABLE_FEW 16u

struct table {
	struct table_node *few[TABLE_FEW]; /* the buckets, until there are more nodes than these */
	struct table_node **many;
	size_t size; /* of `many`, a power of two; 0: there is none */
	size_t used;
};

/* Cannot fail: without memory for more buckets, the chains get longer. */
void table_add(struct table *t, struct table_node *node, uint64_t key);
/* A node of that key; NULL: there is none. */
struct table_node *table_find(const struct table *t, uint64_t key);
/* The next node of the same key; NULL: there is none. */
struct table_node *table_next(const struct table_node *node);
/* One that is in it. */
void table_remove(struct table *t, struct table_node *node);
/* Frees the buckets: the table is empty then. */
void table_free(struct table *t);

#define table_entry(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

#ifdef __cplusplus
}
#endif
#endif
