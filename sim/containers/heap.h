/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Things in the order of a 64-bit key, in a binary heap: the first is found at once, adding and removing take as many
 * steps as the number of things has bits. What is put in embeds a struct heap_node; zeroes are an empty heap, and a
 * node that is in none.
 */
#ifndef HCASIM_CONTAINERS_HEAP_H
#define HCASIM_CONTAINERS_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct heap_node {
	uint64_t key;
	uint32_t pos; /* 1-based place in the heap; 0: it is in none */
};

struct heap {
	struct heap_node **nodes;
	uint32_t count, room;
};

/* One that is in no heap. False: there is no memory, and it still is in none. */
bool heap_add(struct heap *h, struct heap_node *node, uint64_t key);
/* Nothing happens if it is in none. */
void heap_remove(struct heap *h, struct heap_node *node);
/* One of the least key; NULL: the heap is empty. */
static inline struct heap_node *heap_first(const struct heap *h)
{
	return h->count ? h->nodes[0] : 0;
}
/* Frees the places; nodes that are still in it are not looked at. */
void heap_free(struct heap *h);

#define heap_entry(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

#ifdef __cplusplus
}
#endif
#endif
