/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Moves the QPs of a link to RTR and RTS. */
#ifndef CONFORM_LINK_MODIFY_H
#define CONFORM_LINK_MODIFY_H

#include "link/link.h"

/* Logs the connection as reproduce.h declares it. */
void link_log_connect(const struct link *l, struct log *log);
/* 0 or an errno; sets l->step. link_go_on() moves a QP that was stopped short of RTS to RTS. */
int link_connect(struct link *l, struct log *log);
int link_go_on(struct link *l);
/* Moves the QP under test from RESET to RTS with its first attributes. */
int link_restart(struct link *l);
/* The path MTU that its QPs get. */
enum ibv_mtu link_mtu(const struct link *l);
/* The steps first to last - 1 of INIT, RTR, RTS of the peer. */
int link_peer_steps(struct link *l, unsigned int first, unsigned int last);
void link_address(const struct end *from, const struct end *to, struct ibv_ah_attr *attr);

#endif
