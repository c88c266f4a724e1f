/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory at the far end of the root port: the applications' through the machine's host, or our own. */
#ifndef HCASIM_TIMING_HOST_MEMORY_H
#define HCASIM_TIMING_HOST_MEMORY_H

#include <vector>

#include "machine.h"

namespace hcasim
{

class HostMemory
{
	const machine_host_ops *ops_;
	void *ctx_;
	std::vector<hca_dma_seg> scratch_;

	int write_split(const hca_dma *dma);

      public:
	HostMemory(const machine_host_ops *ops, void *ctx) : ops_(ops), ctx_(ctx)
	{
	}
	/* The whole transfer at once; 0 or -EFAULT. */
	int read(hca_dma *dma);
	int write(const hca_dma *dma);
};

} // namespace hcasim
#endif
