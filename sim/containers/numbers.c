// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Objects by number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "containers/numbers.h"

#define FIRST_SIZE 16u

void numbers_init(struct numbers *n, uint32_t first, uint32_t end, uint32_t max)
{
	*n = (struct numbers){.first = first, .end = end, .max = max};
}

void numbers_free(struct numbers *n)
{
	free(n->slot);
	numbers_init(n, n->first, n->end, n->max);
}

static int grow(struct numbers *n)
{
	const uint32_t most = n->end - n->first;
	uint32_t size = n->size ? n->size * 2 : FIRST_SIZE;
	struct number_slot *slot;

	if (size > most || size < n->size)
		size = most;
	slot = realloc(n->slot, size * sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	memset(slot + n->size, 0, (size - n->size) * sizeof(*slot));
	n->slot = slot;
	n->size = size;
	return 0;
}

static uint32_t wake_oldest(struct numbers *n)
{
	uint32_t i = n->oldest;

	n->oldest = n->slot[i].next;
	n->resting--;
	return i;
}

int numbers_add(struct numbers *n, void *obj, uint32_t *number)
{
	const uint32_t rest = n->used > NUMBERS_REST ? n->used : NUMBERS_REST;
	uint32_t i;

	if (n->used == n->max)
		return -ENOMEM;
	if (n->resting >= rest || n->fresh == n->end - n->first) {
		i = wake_oldest(n);
	} else {
		if (n->fresh == n->size && grow(n))
			return -ENOMEM;
		i = n->fresh++;
	}
	n->slot[i].obj = obj;
	n->used++;
	*number = n->first + i;
	return 0;
}

void *numbers_find(const struct numbers *n, uint32_t number)
{
	const uint32_t i = number - n->first;

	return i < n->fresh ? n->slot[i].obj : NULL;
}

void numbers_remove(struct numbers *n, uint32_t number)
{
	const uint32_t i = number - n->first;

	n->slot[i].obj = NULL;
	if (n->resting)
		n->slot[n->newest].next = i;
	else
		n->oldest = i;
	n->newest = i;
	n->resting++;
	n->used--;
}

void *numbers_from(const struct numbers *n, uint32_t number, uint32_t *found)
{
	for (uint32_t i = number > n->first ? number - n->first : 0; i < n->fresh; i++) {
		if (!n->slot[i].obj)
			continue;
		*found = n->first + i;
		return n->slot[i].obj;
	}
	return NULL;
}
