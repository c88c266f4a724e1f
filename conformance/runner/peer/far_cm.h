/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The server's part of a connection, by the peer process. 0 or an errno; each sets cm->step. */
#ifndef CONFORM_PEER_FAR_CM_H
#define CONFORM_PEER_FAR_CM_H

#include "../cm.h"

int far_cm_listen(struct cm *cm, uint16_t *port);
int far_cm_accept(struct cm *cm);
int far_cm_established(struct cm *cm);
/* Of a connection that has a far server; any other is left alone. */
void far_cm_close(struct cm *cm);

#endif
