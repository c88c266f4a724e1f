/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Changes of header fields in a frame. */
#ifndef HCASIM_CORE_EDIT_H
#define HCASIM_CORE_EDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/flow.h"

/* Its fields are inside headers as every frame has them, options not counted. */
bool edit_ok(const struct hca_edit *e);
/* Makes the changes; the checksums follow. */
void edit_frame(uint8_t *p, uint32_t len, const struct hca_edit *e, uint32_t num);

#endif
