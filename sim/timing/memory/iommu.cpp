// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "iommu.h"

#include <algorithm>

#include "timing/watch.h"

namespace hcasim
{

static constexpr char NAME[] = "iotlb";

Iommu::Iommu(const Profile &p)
    : tlb_(size_t(p.iommu.entries), size_t(p.iommu.ways)), page_(uint64_t(p.iommu.page)),
      walk_(hca_ps(p.iommu.walk)), walkers_(size_t(p.iommu.walkers))
{
}

hca_ps Iommu::walk(const CacheKey &key, hca_ps at)
{
	const auto walker = std::min_element(walkers_.begin(), walkers_.end());

	*walker = std::max(at, *walker) + walk_;
	walks_.push({*walker, key});
	tlb_.add(key);
	return *walker;
}

/* Requests for a page that is being looked up wait for the same walk. */
hca_ps Iommu::page(const CacheKey &key, hca_ps at)
{
	const bool hit = tlb_.use(key);
	hca_ps end = at;

	while (!walks_.empty() && walks_.front().end <= at)
		walks_.pop();
	for (size_t i = 0; hit && i < walks_.size(); i++)
		if (walks_[i].key == key)
			end = walks_[i].end;
	if (!hit)
		end = walk(key, at);
	if (watch_)
		watch_->lookup(NAME, key, at, end, hit);
	return end;
}

hca_ps Iommu::translate(uint32_t space, uint64_t addr, uint32_t len, hca_ps at)
{
	const uint64_t first = addr / page_, last = len ? (addr + len - 1) / page_ : first;
	hca_ps end = at;

	for (uint64_t n = first; n <= last; n++)
		end = std::max(end, page({space, n}, at));
	return end;
}

} // namespace hcasim
