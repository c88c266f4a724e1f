/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two adapters with a connected pair of QPs, and WQEs in the native format. All memory is this process's. */
#ifndef HCASIM_CALIBRATE_LINK_H
#define HCASIM_CALIBRATE_LINK_H

#include <memory>
#include <vector>

#include "mix.h"

/* A QP with its queues, on one adapter. */
class End
{
      public:
	static constexpr uint32_t BLOCKS = 4096, CQES = 1024, RQES = 256, BUFFER = 1 << 20;

	End(struct machine *m, unsigned int index, bool raw);
	void connect(const End &peer);
	/* Posts receives of the whole buffer. */
	void receive(uint32_t wqes);
	/* Writes a WQE, and rings or pushes if `submit`. */
	void post(const Mix &mix, const End &peer, bool submit);
	/* Completions since the last call; throws if one has failed. */
	uint32_t poll();

      private:
	struct alignas(4096) Memory;

	struct machine *m_;
	const unsigned int index_;
	const bool raw_;
	hca *const core_;
	std::shared_ptr<Memory> memory_;
	uint32_t cqn_ = 0, qpn_ = 0, key_ = 0, pi_ = 0, rq_pi_ = 0, ci_ = 0;

	void create_queues();
	void modify(const End &peer, uint8_t state);
	uint64_t buffer() const;
	std::vector<uint8_t> wqe(const Mix &mix, const End &peer) const;
	void ring();
	void push(const std::vector<uint8_t> &wqe);
};

#endif
