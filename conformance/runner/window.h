/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CONFORM_WINDOW_H
#define CONFORM_WINDOW_H

#include "link.h"

/* Binds the link's type 2 window on the side that owns it, so that it can be invalidated. 0 or an errno. */
int window_bind(struct link *l, struct log *log);

#endif
