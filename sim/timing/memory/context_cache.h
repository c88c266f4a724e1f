/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A cache in the adapter of what it keeps in host memory: QP contexts, protection and translation tables (the ICM of
 * ConnectX adapters), and work requests. The core has all of them at hand; this only says when they are there. A miss
 * is a DMA read of `read` bytes, and then takes `miss`; without bytes only that. At most `misses` are under way, further
 * ones wait in their order. Look-ups of an entry that is being read wait for the same read.
 * An entry whose read fails is not kept.
 */
#ifndef HCASIM_TIMING_MEMORY_CONTEXT_CACHE_H
#define HCASIM_TIMING_MEMORY_CONTEXT_CACHE_H

#include <map>
#include <memory>
#include <vector>

#include "set_cache.h"
#include "timing/alarm.h"
#include "timing/ring.h"

namespace hcasim
{

class Watch;

class CacheWaiter
{
      public:
	virtual ~CacheWaiter() = default;
	/* One of the entries that it waits for is there; or not, if its read has a status. */
	virtual void filled(const hca_dma &read) = 0;
};

/* To the PCIe link. */
class DmaPort
{
      public:
	virtual ~DmaPort() = default;
	virtual void transfer(hca_dma *dma) = 0;
	/* What it needs could not be read: it ends without. Not from a call of the core. */
	virtual void refuse(hca_dma *dma) = 0;
	virtual void interrupt(unsigned int vector) = 0;
};

struct CacheFigures {
	double entries, ways, read, miss, misses;
};

class ContextCache : public sc_core::sc_module
{
	struct Fill : hca_dma { /* an entry that is being read */
		ContextCache *cache;
		CacheKey key;
		bool keep; /* it was not dropped in between */
		hca_dma_seg piece;
		std::vector<uint8_t> bytes;
		struct Waiting {
			CacheWaiter *who;
			hca_ps since;
		};
		std::vector<Waiting> waiting;
	};
	const std::string name_;
	const hca_dma_class class_;
	const uint32_t read_;
	const hca_ps miss_;
	const size_t misses_;
	DmaPort &port_;
	SetCache cache_;
	std::map<CacheKey, std::unique_ptr<Fill>> fills_;
	struct Due {
		hca_ps at;
		CacheKey key;
	};
	Ring<Due> due_;
	size_t under_way_ = 0;
	Ring<Fill *> later_; /* until fewer are under way */
	Alarm alarm_{"alarm"};
	Watch *watch_ = nullptr;

	void run();
	void begin(const CacheKey &key, uint32_t qpn, CacheWaiter &waiter);
	void read(Fill &fill);
	void arrived(const CacheKey &key);
	void next();

      public:
	SC_HAS_PROCESS(ContextCache);
	/* Made only for `entries` above 0. */
	ContextCache(const std::string &adapter, const char *name, const CacheFigures &figures,
		     hca_dma_class class_of_reads, DmaPort &port);
	void watch(Watch *watch)
	{
		watch_ = watch;
	}
	const char *name() const
	{
		return name_.c_str();
	}
	/* True: it is there. False: `waiter` is told, in a process of its own, when it is, or cannot be read. */
	bool use(const CacheKey &key, uint32_t qpn, CacheWaiter &waiter);
	/* It has come another way. */
	void add(const CacheKey &key);
	/* The host's copy is another one from now on. */
	void drop(const CacheKey &key);
	void drop_table(uint32_t table);
};

/* As a group of the profile says; NULL: there is none. */
template <class Group>
std::unique_ptr<ContextCache> cache_of(const std::string &adapter, const char *name, const Group &g,
				       hca_dma_class class_of_reads, DmaPort &port)
{
	if (!g.entries)
		return nullptr;
	return std::make_unique<ContextCache>(adapter, name,
					      CacheFigures{g.entries, g.ways, g.read, g.miss, g.misses},
					      class_of_reads, port);
}

} // namespace hcasim
#endif
