/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Look-ups of memory keys and pages for the transfers of an adapter. The core has translated and checked them; here
 * they wait for their protection entry (MPT), which says where the translation entries (MTT) are, and then for those.
 * Look-ups begin at once and overlap; transfers and interrupts leave in their order.
 */
#ifndef HCASIM_TIMING_MEMORY_TRANSLATION_H
#define HCASIM_TIMING_MEMORY_TRANSLATION_H

#include "context_cache.h"
#include "profile/profile.h"
#include "timing/pool.h"

namespace hcasim
{

class Translation
{
	struct Waiting : CacheWaiter {
		Translation *owner = nullptr;
		hca_dma *dma = nullptr; /* NULL: an interrupt */
		unsigned int vector = 0;
		unsigned int missing = 0;
		bool checked = false; /* the protection entries are there */
		bool failed = false;  /* an entry could not be read */

		void filled(const hca_dma &read) override
		{
			failed |= read.status != 0;
			owner->found(*this);
		}
	};
	DmaPort &port_;
	std::unique_ptr<ContextCache> mpt_, mtt_; /* NULL: everything is there */
	const uint64_t page_;
	Pool<Waiting> pool_;
	Ring<Waiting *> queue_;

	Waiting *enqueue();
	void protection(Waiting &w);
	void pages(Waiting &w);
	void found(Waiting &w);
	void leave();

      public:
	Translation(const std::string &adapter, const Profile &p, DmaPort &port);
	void watch(Watch *watch);
	void dma(hca_dma *dma);
	void msix(unsigned int vector);
	/* By the index of the key. */
	void changed(uint32_t key);
};

} // namespace hcasim
#endif
