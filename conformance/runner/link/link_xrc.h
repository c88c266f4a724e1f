/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The XRC ends of a link. */
#ifndef CONFORM_LINK_XRC_H
#define CONFORM_LINK_XRC_H

#include "link/link.h"

/*
 * SRQ and XRC_RECV QP of the peer; where a window is needed also a pair the other way round, through which
 * the responder binds, and the requester's window is reached. 0 or an errno; sets l->step.
 */
int link_xrc_create(struct link *l);
/* The pair the other way round. */
void link_xrc_destroy(struct link *l);

#endif
