/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Seeded faults of the wire and of PCIe: the same seed, frames and reads give the same faults. */
#ifndef HCASIM_TIMING_FAULT_H
#define HCASIM_TIMING_FAULT_H

#include <string>

#include "../core/hca.h"

namespace hcasim
{

/* What happens to a MRd of the device: one completion with UR, poisoned data, no completion at all, or one when the device has given up. */
enum class ReadFault : uint8_t { None, Unsupported, Poisoned, Lost, Late };

class Fault
{
	double read_ur_ = 0, read_poison_ = 0, read_lost_ = 0, read_late_ = 0, load_ur_ = 0,
	       store_poison_ = 0;
	double loss_ = 0, dup_ = 0, reorder_ = 0, corrupt_ = 0;
	uint64_t state_, read_state_, load_state_, late_state_, store_state_;
	bool active_ = false, on_pcie_ = false;

	static uint64_t random(uint64_t &state);
	static bool chance(uint64_t &state, double p);
	bool item(const std::string &text, std::string &err);

      public:
	struct Fate {
		bool lost, doubled, late;
		uint32_t flip; /* bit of the frame that is inverted; 0: none */
	};

	explicit Fault(uint64_t seed)
	    : state_(seed), read_state_(~seed), load_state_(seed ^ 0x5555555555555555),
	      late_state_(seed ^ 0x3333333333333333), store_state_(seed ^ 0x0f0f0f0f0f0f0f0f)
	{
	}
	/*
	 * "loss=0.01,dup=0.01,reorder=0.01,corrupt=0.001": probabilities per frame. "read_ur", "read_poison",
	 * "read_lost", "read_late": per MRd of an adapter; "load_ur": per load of a CPU; "store_poison": per store.
	 */
	bool parse(const char *spec, std::string &err);
	/* On the wire. */
	bool active() const
	{
		return active_;
	}
	bool on_pcie() const
	{
		return on_pcie_;
	}
	ReadFault read();
	bool load_unsupported();
	bool store_poisoned();
	Fate fate(uint32_t frame_len);
};

} // namespace hcasim
#endif
