// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host_memory.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace hcasim
{
namespace
{

/* One aligned store of `len` bytes where there is one, so that a reader never sees half of it. */
template <class T>
bool store_one(uint64_t addr, const uint8_t *from, uint32_t len)
{
	T v;

	if (len != sizeof(T) || addr % sizeof(T))
		return false;
	memcpy(&v, from, sizeof(v));
	__atomic_store_n(reinterpret_cast<T *>(addr), v, __ATOMIC_RELEASE);
	return true;
}

void store_last(uint64_t addr, const uint8_t *from, uint32_t len)
{
	std::atomic_thread_fence(std::memory_order_release);
	if (!store_one<uint64_t>(addr, from, len) && !store_one<uint32_t>(addr, from, len) &&
	    !store_one<uint16_t>(addr, from, len) && !store_one<uint8_t>(addr, from, len))
		memcpy(reinterpret_cast<void *>(addr), from, len);
}

/* The segments with the last `split` bytes of the list as pieces of their own. */
void cut_tail(const hca_dma *dma, std::vector<hca_dma_seg> &out)
{
	uint32_t head = dma->len - std::min<uint32_t>(dma->split, dma->len);

	out.clear();
	for (uint32_t i = 0; i < dma->nseg; i++) {
		hca_dma_seg seg = dma->seg[i];

		if (head && head < seg.len) {
			out.push_back({seg.addr, head});
			seg = {seg.addr + head, seg.len - head};
			head = 0;
		} else {
			head -= std::min(head, seg.len);
		}
		if (seg.len)
			out.push_back(seg);
	}
}

void copy_own(const std::vector<hca_dma_seg> &segs, uint32_t head, const uint8_t *from)
{
	uint32_t done = 0;

	for (const hca_dma_seg &seg : segs) {
		if (done < head)
			memcpy(reinterpret_cast<void *>(seg.addr), from + done, seg.len);
		else
			store_last(seg.addr, from + done, seg.len);
		done += seg.len;
	}
}

} // namespace

int HostMemory::read(hca_dma *dma)
{
	uint8_t *to = static_cast<uint8_t *>(dma->buf);

	if (!dma->len)
		return 0;
	if (dma->pasid != HCA_PASID_KERNEL)
		return ops_->mem_read(ctx_, dma->pasid, dma->seg, dma->nseg, dma->buf) ? -EFAULT : 0;
	if (ops_->kernel_read) {
		ops_->kernel_read(ctx_, dma->seg, dma->nseg, dma->buf);
		return 0;
	}
	for (uint32_t i = 0; i < dma->nseg; to += dma->seg[i++].len)
		if (dma->seg[i].len)
			memcpy(to, reinterpret_cast<const void *>(dma->seg[i].addr), dma->seg[i].len);
	return 0;
}

/* The segments of all, and room for their bytes. */
void HostMemory::join(const std::vector<hca_dma *> &all)
{
	uint32_t len = 0;

	scratch_.clear();
	for (const hca_dma *dma : all) {
		scratch_.insert(scratch_.end(), dma->seg, dma->seg + dma->nseg);
		len += dma->len;
	}
	bytes_.resize(len);
}

bool HostMemory::read_together(const std::vector<hca_dma *> &all)
{
	const uint8_t *from;

	join(all);
	if (ops_->mem_read(ctx_, all[0]->pasid, scratch_.data(), scratch_.size(), bytes_.data()))
		return false;
	from = bytes_.data();
	for (hca_dma *dma : all) {
		memcpy(dma->buf, from, dma->len);
		from += dma->len;
	}
	return true;
}

bool HostMemory::write_together(const std::vector<hca_dma *> &all)
{
	uint8_t *to;

	join(all);
	to = bytes_.data();
	for (const hca_dma *dma : all) {
		memcpy(to, dma->buf, dma->len);
		to += dma->len;
	}
	return !ops_->mem_write(ctx_, all[0]->pasid, scratch_.data(), scratch_.size(), bytes_.data());
}

int HostMemory::write(const hca_dma *dma)
{
	if (!dma->len)
		return 0;
	if (dma->pasid != HCA_PASID_KERNEL && !dma->split)
		return ops_->mem_write(ctx_, dma->pasid, dma->seg, dma->nseg, dma->buf) ? -EFAULT : 0;
	return write_split(dma);
}

int HostMemory::write_split(const hca_dma *dma)
{
	cut_tail(dma, scratch_);
	if (dma->pasid != HCA_PASID_KERNEL)
		return ops_->mem_write(ctx_, dma->pasid, scratch_.data(), scratch_.size(), dma->buf) ? -EFAULT
												     : 0;
	if (ops_->kernel_write)
		ops_->kernel_write(ctx_, scratch_.data(), scratch_.size(), dma->buf);
	else
		copy_own(scratch_,
			 dma->split ? dma->len - std::min<uint32_t>(dma->split, dma->len) : dma->len,
			 static_cast<const uint8_t *>(dma->buf));
	return 0;
}

} // namespace hcasim
