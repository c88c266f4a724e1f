// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "rtl_engine.h"

ENGINE_PLUGIN(&rtl_engine);
