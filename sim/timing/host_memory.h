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
	std::vector<uint8_t> bytes_;

	int write_split(const hca_dma *dma);
	void join(const std::vector<hca_dma *> &all);

      public:
	HostMemory(const machine_host_ops *ops, void *ctx) : ops_(ops), ctx_(ctx)
	{
	}
	/* So many bytes of several transfers are moved at once: copying more costs more than calls do. */
	static constexpr uint32_t TOGETHER = 16384;

	/* The whole transfer at once; 0 or -EFAULT. */
	int read(hca_dma *dma);
	/* Several transfers from one application in one call to its memory. False: one of them cannot be read. */
	bool read_together(const std::vector<hca_dma *> &all);
	int write(const hca_dma *dma);
	/* The same for writes, which land in this order; those before the one that cannot be made may have. */
	bool write_together(const std::vector<hca_dma *> &all);
};

} // namespace hcasim
#endif
