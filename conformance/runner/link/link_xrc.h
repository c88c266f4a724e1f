/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The XRC ends of a link. */
#ifndef CONFORM_LINK_XRC_H
#define CONFORM_LINK_XRC_H

#include "link/link.h"

/*
 * SRQ and XRC_RECV QP of the peer. If a window is needed, also a pair in the reverse direction: the responder
 * binds on it, and reaches the requester's window through it. 0 or an errno; sets l->step.
 */
int link_xrc_create(struct link *l);
/* Destroys the pair in the reverse direction. */
void link_xrc_destroy(struct link *l);

#endif
