// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The C engine in a shared library. */
#include "core/engine.h"

ENGINE_PLUGIN(&c_engine);
