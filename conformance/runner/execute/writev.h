/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CONFORM_WRITEV_H
#define CONFORM_WRITEV_H

#include "link/cm.h"
#include "link/link.h"

/* Makes a link of the connection's QPs, so that planning and collecting work as for other cells. 0 or an errno. */
int writev_lend(struct link *l, struct cm *cm, const struct dut *dut, enum api api);

#endif
