/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ordered sets for the preload library, with logarithmic operations. Memory comes from system calls: the
 * application's malloc may unmap memory, which calls the users of these sets.
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
			int fd;          /* -1: no descriptor was free */
		};
	};
	uint32_t priority; /* at least those of both children: random, so the tree is balanced */
	uint32_t left, right;
};

struct tree {                   /* of zeroes: empty */
	struct tree_node *node; /* [0] is not used: 0 is none */
	size_t bytes;
	uint32_t used;   /* nodes of the array that were ever used */
	uint32_t unused; /* list of unused ones of them, linked by `left` */
	uint32_t root;
	uint32_t num;
	uint32_t random;
};

/*
 * Adds a node with a key that is not in the tree; the caller fills in the rest. NULL: no memory. Pointers to other
 * nodes become invalid.
 */
struct tree_node *tree_add(struct tree *t, uint64_t key);
/* The node with the highest key up to `key`; NULL: none. Valid until the next tree_add(). */
struct tree_node *tree_at_most(const struct tree *t, uint64_t key);
/* The node with this key, or NULL. */
struct tree_node *tree_find(const struct tree *t, uint64_t key);
/* Removes a node. */
void tree_remove(struct tree *t, uint64_t key);

#endif
