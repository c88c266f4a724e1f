// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "containers/heap.h"

#define FIRST_ROOM 64u

static void place(struct heap *h, uint32_t pos, struct heap_node *node)
{
	h->nodes[pos - 1] = node;
	node->pos = pos;
}

static void sift_up(struct heap *h, uint32_t pos, struct heap_node *node)
{
	while (pos > 1 && h->nodes[pos / 2 - 1]->key > node->key) {
		place(h, pos, h->nodes[pos / 2 - 1]);
		pos /= 2;
	}
	place(h, pos, node);
}

static void sift_down(struct heap *h, uint32_t pos, struct heap_node *node)
{
	for (;;) {
		uint32_t kid = pos * 2;

		if (kid > h->count)
			break;
		if (kid < h->count && h->nodes[kid]->key < h->nodes[kid - 1]->key)
			kid++;
		if (h->nodes[kid - 1]->key >= node->key)
			break;
		place(h, pos, h->nodes[kid - 1]);
		pos = kid;
	}
	place(h, pos, node);
}

bool heap_add(struct heap *h, struct heap_node *node, uint64_t key)
{
	if (h->count == h->room) {
		const uint32_t room = h->room ? h->room * 2 : FIRST_ROOM;
		struct heap_node **nodes = realloc(h->nodes, room * sizeof(struct heap_node *));

		if (!nodes)
			return false;
		h->nodes = nodes;
		h->room = room;
	}
	node->key = key;
	sift_up(h, ++h->count, node);
	return true;
}

void heap_remove(struct heap *h, struct heap_node *node)
{
	const uint32_t pos = node->pos;
	struct heap_node *last;

	if (!pos)
		return;
	node->pos = 0;
	last = h->nodes[--h->count];
	if (last == node)
		return;
	if (pos > 1 && h->nodes[pos / 2 - 1]->key > last->key)
		sift_up(h, pos, last);
	else
		sift_down(h, pos, last);
}

void heap_free(struct heap *h)
{
	free(h->nodes);
	*h = (struct heap){0};
}
