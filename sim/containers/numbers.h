/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects by number. Adding, finding and removing take constant time. A number is not reused at once: new ones are
 * allocated until as many are free as are in use (and at least NUMBERS_REST); then the one that has been free longest
 * is reused, so that stale numbers stay invalid for as long as possible.
 */
#ifndef HCASIM_CONTAINERS_NUMBERS_H
#define HCASIM_CONTAINERS_NUMBERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NUMBERS_REST 1024u

struct number_slot {
	void *obj;     /* NULL: the number is not in use */
	uint32_t next; /* resting: the one that began to rest after this one */
};

struct numbers {
	struct number_slot *slot; /* of the numbers from `first` on */
	uint32_t first, end;      /* numbers are below `end` */
	uint32_t max;             /* objects */
	uint32_t used, resting;
	uint32_t fresh; /* slots from here on were never in use */
	uint32_t size;  /* slots that there is memory for */
	uint32_t oldest, newest;
};

/* No memory yet. `end` - `first` is `max` at least, and `max` no more than a quarter of UINT32_MAX. */
void numbers_init(struct numbers *n, uint32_t first, uint32_t end, uint32_t max);
/* Frees the table, but not the objects. */
void numbers_free(struct numbers *n);
/* 0, or -ENOMEM: `max` objects have numbers, or there is no memory */
int numbers_add(struct numbers *n, void *obj, uint32_t *number);
void *numbers_find(const struct numbers *n, uint32_t number);
/* One that is in use. */
void numbers_remove(struct numbers *n, uint32_t number);
/* The first object from `number` on; NULL: none. For iteration, which may remove the object. */
void *numbers_from(const struct numbers *n, uint32_t number, uint32_t *found);

#ifdef __cplusplus
}
#endif
#endif
