// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared libraries that are no engines of this build: of another ABI version, of other headers, without ops. */
#include "core/engine.h"

#ifndef ABI
#define ABI ENGINE_ABI
#endif
#ifndef OPS_SIZE
#define OPS_SIZE sizeof(struct engine_ops)
#endif

const struct engine_plugin hcasim_engine_plugin = {ABI, OPS_SIZE, sizeof(struct engine_ports), NULL};
