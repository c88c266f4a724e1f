/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The IOMMU of the host, behind the root port: translates the bus addresses of all requests of a device. Its TLB (IOTLB)
 * has entries of pages; a miss is a walk of the page table. Address translation services are not modelled: the device has no
 * translations of its own (PCIe ATS).
 */
#ifndef HCASIM_TIMING_MEMORY_IOMMU_H
#define HCASIM_TIMING_MEMORY_IOMMU_H

#include "profile/profile.h"
#include "set_cache.h"
#include "timing/ring.h"

namespace hcasim
{

class Watch;

class Iommu
{
	SetCache tlb_;
	const uint64_t page_;
	const hca_ps walk_;
	std::vector<hca_ps> walkers_; /* when each is free */
	struct Walk {
		hca_ps end;
		CacheKey key;
	};
	Ring<Walk> walks_; /* that are not over, in order */
	Watch *watch_ = nullptr;

	hca_ps walk(const CacheKey &key, hca_ps at);
	hca_ps page(const CacheKey &key, hca_ps at);

      public:
	/* Made only for `entries` above 0. */
	explicit Iommu(const Profile &p);
	void watch(Watch *watch)
	{
		watch_ = watch;
	}
	/* When the pages of a request that comes at `at` are translated. Calls are in the order of `at`. */
	hca_ps translate(uint32_t space, uint64_t addr, uint32_t len, hca_ps at);
};

} // namespace hcasim
#endif
