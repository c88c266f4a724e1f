/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the device under test says about itself: its attributes, and the QPs that it creates. */
#ifndef CONFORM_QUERY_H
#define CONFORM_QUERY_H

#include "link/dut.h"

/* One end; its answer may come from a peer process. */
json_t *query_end(const struct end *end);
/* {"kernel": release, "requester": {...}, "responder": {...}}; docs/duts.md says what the members mean. */
json_t *query_dut(const struct dut *dut);

#endif
