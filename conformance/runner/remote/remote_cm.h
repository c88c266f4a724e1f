/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The server's part of a connection in the peer process. 0 or an errno; each sets cm->step. */
#ifndef CONFORM_REMOTE_CM_H
#define CONFORM_REMOTE_CM_H

#include "link/cm.h"

int remote_cm_listen(struct cm *cm, uint16_t *port);
int remote_cm_accept(struct cm *cm);
int remote_cm_established(struct cm *cm);
/* Closes a connection with a remote server; does nothing for others. */
void remote_cm_close(struct cm *cm);

#endif
