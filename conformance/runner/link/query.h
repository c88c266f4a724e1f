/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the device under test reports: its attributes, and the QPs that it can create. */
#ifndef CONFORM_QUERY_H
#define CONFORM_QUERY_H

#include "link/dut.h"

/* One end, which may be in a peer process. */
json_t *query_end(const struct end *end);
/* {"kernel": release, "requester": {...}, "responder": {...}}; the members are described in docs/duts.md. */
json_t *query_dut(const struct dut *dut);

#endif
