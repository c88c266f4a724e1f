/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A store or load of the CPU on its way to a BAR. */
#ifndef HCASIM_TIMING_CPU_REQUEST_H
#define HCASIM_TIMING_CPU_REQUEST_H

#include <cstdint>

#include "../core/hca.h"

namespace hcasim
{

struct CpuRequest {
	bool load = false;
	uint8_t bar = 0;
	uint16_t tag = 0;
	uint32_t size = 0;
	uint64_t offset = 0;
	uint8_t data[64] = {};
	void (*done)(void *arg, const void *data, uint32_t size) = nullptr;
	void *arg = nullptr;
};

} // namespace hcasim
#endif
