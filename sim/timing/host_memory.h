/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory at the far end of the root port: the applications' through the machine's host, or our own. */
#ifndef HCASIM_TIMING_HOST_MEMORY_H
#define HCASIM_TIMING_HOST_MEMORY_H

#include <vector>

#include "machine.h"

namespace hcasim
{

/* Pieces of one address space against one buffer, which has their `len` bytes in a row. */
struct HostTransfer {
	uint32_t pasid = 0;
	uint8_t split = 0; /* the last bytes of a write become visible strictly after the others */
	uint32_t len = 0;
	uint8_t *data = nullptr;
	bool failed = false;
	std::vector<hca_dma_seg> segs;
	std::vector<uint8_t> copied; /* the bytes, if they were not in a row */
};

class HostMemory
{
	const machine_host_ops *ops_;
	void *ctx_;
	std::vector<hca_dma_seg> scratch_;
	std::vector<uint8_t> bytes_;
	uint64_t writes_ = 0;

	int write_split(const HostTransfer &t);

      public:
	HostMemory(const machine_host_ops *ops, void *ctx) : ops_(ops), ctx_(ctx)
	{
	}
	/* So many bytes of several transfers are moved at once: copying more costs more than calls do. */
	static constexpr uint32_t TOGETHER = 16384;

	/* The whole transfer at once; 0 or -EFAULT. */
	int read(const HostTransfer &t);
	/*
	 * The first `n` transfers, from one application, whose buffers follow each other, in one call to its memory.
	 * False: one of them cannot be read.
	 */
	bool read_together(const std::vector<HostTransfer> &all, size_t n);
	int write(const HostTransfer &t);
	/*
	 * The same for writes, with buffers anywhere, which land in this order; those before the one that cannot be made
	 * may have.
	 */
	bool write_together(const std::vector<HostTransfer> &all, size_t n);
	/* How often memory was written. */
	uint64_t writes() const
	{
		return writes_;
	}
};

} // namespace hcasim
#endif
