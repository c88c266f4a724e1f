/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What CPUs do with the BARs of one adapter until it is in the root port's queue: write-combining buffers of each CPU,
 * lines that CPUs share, and stalls. A CPU's accesses stay in program order; those of others pass one that stalls.
 */
#ifndef HCASIM_TIMING_CPUS_H
#define HCASIM_TIMING_CPUS_H

#include <memory>
#include <unordered_map>
#include <vector>

#include "write_combine.h"

namespace hcasim
{

struct CpuAccess {
	unsigned int bar = 0;
	uint64_t offset = 0;
	uint32_t size = 0;
	bool wc = false;
	void (*done)(void *arg, const void *data, uint32_t size) = nullptr; /* of a load; NULL: a store */
	void *arg = nullptr;
};

class CpuSink : public WcSink
{
      public:
	virtual bool room() const = 0; /* for what leaves a CPU */
	virtual void read(const CpuAccess &load) = 0;
};

class Cpus
{
      public:
	struct Figures {
		unsigned int wc_buffers; /* of each CPU */
		hca_ps wc_age;
		hca_ps shared_line; /* a store to a line that another CPU stored to last; 0: as any other */
	};

	Cpus(const Figures &figures, CpuSink &sink) : figures_(figures), sink_(sink)
	{
	}
	/* False: the CPU stalls, and does it later. `data` is a store's. */
	bool access(unsigned int cpu, const CpuAccess &a, const void *data);
	/* Does what can be done by now; false: nothing. */
	bool proceed(hca_ps now);
	/* When to call proceed(). */
	hca_ps next() const;
	/* There is something to do by now, once there is room. */
	bool due(hca_ps now) const;
	/* Accesses that have not been done: of all CPUs, of one. */
	size_t stalled() const;
	size_t stalled(unsigned int cpu) const
	{
		return cpu < cpus_.size() && cpus_[cpu] ? cpus_[cpu]->stalled.size() : 0;
	}
	/* Stores are in a write-combining buffer, or have not been done. */
	bool hold_stores() const;
	/* A CPU stalls only because of a line that another CPU has. */
	bool shares_line() const;

      private:
	struct Stalled {
		CpuAccess access;
		std::vector<uint8_t> data;
	};
	struct Cpu {
		WriteCombine wc;
		Ring<Stalled> stalled; /* in program order */
		hca_ps ready = 0;      /* when it has the line of the first one */
	};
	struct Line {
		unsigned int cpu; /* that stored to it last */
		hca_ps free;      /* when that one has it */
	};
	const Figures figures_;
	CpuSink &sink_;
	std::vector<std::unique_ptr<Cpu>> cpus_;   /* by number; made at the first access */
	std::unordered_map<uint64_t, Line> lines_; /* by BAR and line */
	size_t turn_ = 0;

	Cpu &get(unsigned int cpu);
	hca_ps ready_at(unsigned int cpu, const CpuAccess &a);
	bool absorbs(const Cpu &c, const CpuAccess &a) const;
	bool possible(const Cpu &c, const CpuAccess &a) const;
	void perform(Cpu &c, const CpuAccess &a, const void *data);
	bool proceed_one(unsigned int cpu);
	Cpu *oldest_line() const;
};

} // namespace hcasim
#endif
