// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "contexts.h"

namespace hcasim
{
namespace
{

/* DECODE works on what was read, or pushed, for a queue; the others on the adapter's own queues. */
bool uses_qp(hca_stage stage)
{
	return stage == HCA_STAGE_FETCH || stage == HCA_STAGE_PACKETISE || stage == HCA_STAGE_RX ||
	       stage == HCA_STAGE_RESPOND;
}

bool uses_wqe(hca_stage stage)
{
	return stage == HCA_STAGE_PACKETISE || stage == HCA_STAGE_COMPLETE;
}

} // namespace

Contexts::Contexts(const std::string &adapter, const Profile &p, hca *h, DmaPort &port)
    : hca_(h), qp_(cache_of(adapter, "qp_cache", p.qp_cache, HCA_DMA_QPC, port)),
      wqe_(cache_of(adapter, "wqe_cache", p.wqe_cache, HCA_DMA_WQE, port))
{
	if (p.mpt_cache.entries || p.mtt_cache.entries)
		translation_ = std::make_unique<Translation>(adapter, p, port);
}

void Contexts::watch(Watch *watch)
{
	for (auto *cache : {qp_.get(), wqe_.get()})
		if (cache)
			cache->watch(watch);
	if (translation_)
		translation_->watch(watch);
}

unsigned int Contexts::need(hca_stage stage, CacheWaiter &waiter)
{
	const bool qp = qp_ && uses_qp(stage), wqe = wqe_ && uses_wqe(stage);
	unsigned int misses = 0;
	hca_seen head;

	if (!qp && !wqe)
		return 0;
	hca_stage_head(hca_, stage, &head);
	if (qp && head.qpn)
		misses += !qp_->use({0, head.qpn}, head.qpn, waiter);
	if (wqe && head.of_wqe)
		misses += !wqe_->use({head.qpn, head.index}, head.qpn, waiter);
	return misses;
}

void Contexts::decoded(uint32_t qpn, uint16_t index)
{
	if (wqe_)
		wqe_->add({qpn, index});
}

void Contexts::changed(hca_context what, uint32_t number)
{
	if (what == HCA_CONTEXT_KEY && translation_)
		translation_->changed(number);
	if (what == HCA_CONTEXT_QP && qp_)
		qp_->drop({0, number});
	if (what == HCA_CONTEXT_QP && wqe_)
		wqe_->drop_table(number);
}

} // namespace hcasim
