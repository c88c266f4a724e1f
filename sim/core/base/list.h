/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Doubly linked lists with the nodes inside their owners. */
#ifndef HCASIM_CORE_BASE_LIST_H
#define HCASIM_CORE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct node {
	struct node *prev, *next; /* NULL: on no list */
};

static inline void list_init(struct node *l)
{
	l->prev = l->next = l;
}

static inline bool list_empty(const struct node *l)
{
	return l->next == l;
}

static inline void list_add_tail(struct node *l, struct node *n)
{
	n->prev = l->prev;
	n->next = l;
	l->prev->next = n;
	l->prev = n;
}

static inline void list_del(struct node *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	n->prev = n->next = NULL;
}

/* Puts it on the list, or takes it off, according to `want`; one that is on the list already keeps its position. */
static inline void list_set(struct node *l, struct node *n, bool want)
{
	if (want && !n->next)
		list_add_tail(l, n);
	else if (!want && n->next)
		list_del(n);
}

#define node_entry(n, type, member) ((type *)((char *)(n)-offsetof(type, member)))

#endif
