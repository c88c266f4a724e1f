/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ordered sets for the preload library: a few steps for each operation, however much is in them. Memory comes by
 * system calls: the application's own malloc may unmap memory, which leads back to where these are used.
 */
#ifndef HCASIM_PROCESS_TREE_H
#define HCASIM_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tree_node {
	uint64_t key;
	union {
		struct { /* a range of addresses, by its start */
			uint64_t end, file;
		};
		struct {                 /* a file, by its name */
			uint64_t ranges; /* that are mapped from it */
			int fd;          /* -1: there was no free number */
		};
	};
	uint32_t priority; /* no less than those of both children: random, so the tree is balanced */
	uint32_t left, right;
};

struct tree {                   /* of zeroes: empty */
	struct tree_node *node; /* [0] is not used: 0 is none */
	size_t bytes;
	uint32_t used;   /* nodes of the array that were ever in use */
	uint32_t unused; /* the first of those that are not now, linked by `left` */
	uint32_t root;
	uint32_t num;
	uint32_t random;
};

/* A node of a key that is not in it yet, the rest to be filled in; NULL: no memory. Pointers to other nodes are not
 * valid any more. */
struct tree_node *tree_add(struct tree *t, uint64_t key);
/* The one of the highest key that is not above `key`; NULL: there is none. Valid until the next tree_add(). */
struct tree_node *tree_at_most(const struct tree *t, uint64_t key);
/* The one of this key, or NULL. */
struct tree_node *tree_find(const struct tree *t, uint64_t key);
/* One that is in it. */
void tree_remove(struct tree *t, uint64_t key);

#endif
