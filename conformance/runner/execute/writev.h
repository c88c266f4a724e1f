/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CONFORM_WRITEV_H
#define CONFORM_WRITEV_H

#include "link/cm.h"
#include "link/link.h"

/* Lends the connection's QPs to a link, so that planning and collecting are those of the other cells. 0 or an errno. */
int writev_lend(struct link *l, struct cm *cm, const struct dut *dut, enum api api);

#endif
