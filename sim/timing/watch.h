/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What events.log has about one adapter: steps, stalls, levels. It exists only if the file is written, and changes
 * nothing.
 */
#ifndef HCASIM_TIMING_WATCH_H
#define HCASIM_TIMING_WATCH_H

#include <map>
#include <string>

#include "memory/set_cache.h"
#include "ring.h"
#include "units.h"

struct trace;

namespace hcasim
{

class Watch
{
	/* Something that does not go on; NULL: it does. */
	struct Stall {
		hca_ps since = 0;
		const char *cause = nullptr;
	};
	struct QpStall : Stall {
		uint16_t index = 0;
	};
	struct trace *const trace_;
	const unsigned int adapter_;
	std::map<std::string, Stall> stalls_;
	std::map<uint32_t, QpStall> qp_stalls_;
	std::map<std::string, uint32_t> levels_;
	hca_seen extra_ = {};                /* of the current step, from other callbacks */
	hca_seen seen_[HCA_NUM_STAGES] = {}; /* of each stage's current step */

	Ring<hca_ps> stores_; /* of the entries of the doorbell FIFO: when they arrived; 0: not known */
	hca_ps store_ = 0;    /* of the doorbell of the current step */

	void end_qp(uint32_t qpn, const QpStall &s);

      public:
	Watch(struct trace *trace, unsigned int adapter) : trace_(trace), adapter_(adapter)
	{
	}
	~Watch();
	Watch(const Watch &) = delete;
	Watch &operator=(const Watch &) = delete;

	/* Callbacks of the core during a step, in this order. */
	void begin()
	{
		extra_ = {};
	}
	void saw_work(uint32_t qpn, uint16_t index);
	void saw_frame(uint64_t number)
	{
		extra_.number = number;
	}
	void saw_step(hca_stage stage, const hca_seen &seen);
	/* The doorbell FIFO has so many entries, the new ones because of a store that has arrived now, or not. */
	void doorbells(uint32_t count, bool stored);
	/* The stage was busy from `start` until now. */
	void step(hca_stage stage, hca_ps start, const hca_work &work);

	/* `where` cannot go on from `at` on because of `cause`; NULL: it can. */
	void stall(const char *where, hca_ps at, const char *cause);
	void qp_stall(uint32_t qpn, uint16_t index, const char *cause);

	/* A level that is looked at (level), or whose changes are known in advance (change). */
	void range(const char *name, uint32_t initial, uint32_t max);
	void level(const char *name, uint32_t value);
	void change(const char *name, hca_ps at, int32_t by);
	void core(hca *h); /* the levels of the core */
	/* In a cache; a miss is over at `end`. */
	void lookup(const char *cache, const CacheKey &key, hca_ps since, hca_ps end, bool hit);
};

} // namespace hcasim
#endif
