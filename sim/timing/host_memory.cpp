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
void cut_tail(const HostTransfer &t, std::vector<hca_dma_seg> &out)
{
	uint32_t head = t.len - std::min<uint32_t>(t.split, t.len);

	out.clear();
	for (hca_dma_seg seg : t.segs) {
		if (head && head < seg.len) {
			out.push_back({seg.addr, head, seg.key});
			seg = {seg.addr + head, seg.len - head, seg.key};
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

int HostMemory::read(const HostTransfer &t)
{
	uint8_t *to = t.data;

	if (!t.len)
		return 0;
	if (t.pasid == HCA_PASID_CONTEXT) { /* the core has it */
		memset(to, 0, t.len);
		return 0;
	}
	if (t.pasid != HCA_PASID_KERNEL)
		return ops_->mem_read(ctx_, t.pasid, t.segs.data(), uint32_t(t.segs.size()), to) ? -EFAULT
												 : 0;
	if (ops_->kernel_read) {
		ops_->kernel_read(ctx_, t.segs.data(), uint32_t(t.segs.size()), to);
		return 0;
	}
	for (const hca_dma_seg &seg : t.segs) {
		memcpy(to, reinterpret_cast<const void *>(seg.addr), seg.len);
		to += seg.len;
	}
	return 0;
}

bool HostMemory::read_together(const std::vector<HostTransfer> &all, size_t n)
{
	if (all[0].pasid == HCA_PASID_CONTEXT)
		return false;
	scratch_.clear();
	for (size_t i = 0; i < n; i++)
		scratch_.insert(scratch_.end(), all[i].segs.begin(), all[i].segs.end());
	return !ops_->mem_read(ctx_, all[0].pasid, scratch_.data(), uint32_t(scratch_.size()), all[0].data);
}

bool HostMemory::write_together(const std::vector<HostTransfer> &all, size_t n)
{
	writes_++;
	scratch_.clear();
	bytes_.clear();
	for (size_t i = 0; i < n; i++) {
		scratch_.insert(scratch_.end(), all[i].segs.begin(), all[i].segs.end());
		bytes_.insert(bytes_.end(), all[i].data, all[i].data + all[i].len);
	}
	return !ops_->mem_write(ctx_, all[0].pasid, scratch_.data(), uint32_t(scratch_.size()),
				bytes_.data());
}

int HostMemory::write(const HostTransfer &t)
{
	writes_++;
	if (!t.len)
		return 0;
	if (t.pasid != HCA_PASID_KERNEL && !t.split)
		return ops_->mem_write(ctx_, t.pasid, t.segs.data(), uint32_t(t.segs.size()), t.data)
			       ? -EFAULT
			       : 0;
	return write_split(t);
}

int HostMemory::write_split(const HostTransfer &t)
{
	cut_tail(t, scratch_);
	if (t.pasid != HCA_PASID_KERNEL)
		return ops_->mem_write(ctx_, t.pasid, scratch_.data(), uint32_t(scratch_.size()), t.data)
			       ? -EFAULT
			       : 0;
	if (ops_->kernel_write)
		ops_->kernel_write(ctx_, scratch_.data(), uint32_t(scratch_.size()), t.data);
	else
		copy_own(scratch_, t.split ? t.len - std::min<uint32_t>(t.split, t.len) : t.len, t.data);
	return 0;
}

} // namespace hcasim
