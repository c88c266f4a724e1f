/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Brings the QPs of a link to the states in which they work. */
#ifndef CONFORM_LINK_MODIFY_H
#define CONFORM_LINK_MODIFY_H

#include "link/link.h"

/* How reproduce.h says it. */
void link_log_connect(const struct link *l, struct log *log);
/* 0 or an errno; sets l->step. link_go_on() takes a QP that was left short of RTS there. */
int link_connect(struct link *l, struct log *log);
int link_go_on(struct link *l);
/* The QP under test, from RESET to RTS as it was at first. */
int link_restart(struct link *l);
void link_address(const struct end *from, const struct end *to, struct ibv_ah_attr *attr);

#endif
