/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The caches of an adapter, as its profile has them, and which stage looks for what. */
#ifndef HCASIM_TIMING_MEMORY_CONTEXTS_H
#define HCASIM_TIMING_MEMORY_CONTEXTS_H

#include "context_cache.h"
#include "profile/profile.h"
#include "translation.h"

namespace hcasim
{

class Contexts
{
	hca *const hca_;
	std::unique_ptr<ContextCache> qp_, wqe_; /* NULL: everything is there */
	std::unique_ptr<Translation> translation_;

      public:
	Contexts(const std::string &adapter, const Profile &p, hca *h, DmaPort &port);
	void watch(Watch *watch);
	/* How many things that the step at the head of the stage needs are not there; each calls `waiter` when it is there. */
	unsigned int need(hca_stage stage, CacheWaiter &waiter);
	/* The adapter has a work request, read or pushed. */
	void decoded(uint32_t qpn, uint16_t index);
	/* What transfers and interrupts pass on their way to the link; NULL: nothing. */
	Translation *translation()
	{
		return translation_.get();
	}
	void changed(hca_context what, uint32_t number);
};

} // namespace hcasim
#endif
