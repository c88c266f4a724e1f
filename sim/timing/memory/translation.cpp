// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "translation.h"

namespace hcasim
{

Translation::Translation(const std::string &adapter, const Profile &p, DmaPort &port)
    : port_(port), mpt_(cache_of(adapter, "mpt_cache", p.mpt_cache, HCA_DMA_MPT, port)),
      mtt_(cache_of(adapter, "mtt_cache", p.mtt_cache, HCA_DMA_MTT, port)), page_(uint64_t(p.mtt_cache.page))
{
}

void Translation::watch(Watch *watch)
{
	for (auto *cache : {mpt_.get(), mtt_.get()})
		if (cache)
			cache->watch(watch);
}

/* The tag is not part of the entry's number: the index is reused with another one. */
static uint32_t index_of(uint32_t key)
{
	return key >> 8;
}

Translation::Waiting *Translation::enqueue()
{
	Waiting *w = pool_.get();

	w->owner = this;
	queue_.push(w);
	return w;
}

void Translation::dma(hca_dma *dma)
{
	Waiting *w = enqueue();

	w->dma = dma;
	protection(*w);
	leave();
}

void Translation::msix(unsigned int vector)
{
	Waiting *w = enqueue();

	w->vector = vector;
	w->checked = true;
	leave();
}

void Translation::protection(Waiting &w)
{
	const hca_dma &dma = *w.dma;
	uint32_t last = 0;

	for (uint32_t i = 0; mpt_ && i < dma.nseg; i++) {
		if (!dma.seg[i].key || dma.seg[i].key == last)
			continue;
		last = dma.seg[i].key;
		w.missing += !mpt_->use({0, index_of(last)}, dma.qpn, w);
	}
	if (!w.missing)
		pages(w);
}

void Translation::pages(Waiting &w)
{
	const hca_dma &dma = *w.dma;

	w.checked = true;
	for (uint32_t i = 0; mtt_ && i < dma.nseg; i++) {
		const hca_dma_seg &s = dma.seg[i];

		if (!s.key || !s.len)
			continue;
		for (uint64_t page = s.addr / page_; page <= (s.addr + s.len - 1) / page_; page++)
			w.missing += !mtt_->use({index_of(s.key), page}, dma.qpn, w);
	}
}

void Translation::found(Waiting &w)
{
	if (--w.missing)
		return;
	if (!w.checked && !w.failed)
		pages(w);
	w.checked = true;
	leave();
}

void Translation::leave()
{
	while (!queue_.empty() && queue_.front()->checked && !queue_.front()->missing) {
		Waiting *w = queue_.pop();

		if (w->failed)
			port_.refuse(w->dma);
		else if (w->dma)
			port_.transfer(w->dma);
		else
			port_.interrupt(w->vector);
		pool_.put(w);
	}
}

/*
 * HW2SW_MPT returns the entry to software, a window's is written by the adapter: neither keeps what was read before.
 */
void Translation::changed(uint32_t key)
{
	if (mpt_)
		mpt_->drop({0, key});
	if (mtt_)
		mtt_->drop_table(key);
}

} // namespace hcasim
