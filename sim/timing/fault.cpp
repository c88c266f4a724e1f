// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fault.h"

#include <cstdlib>

namespace hcasim
{

static constexpr uint32_t ETH_HEADER = 14;

/* SplitMix64 (Steele, Lea, Flood 2014): small, and the same everywhere. */
uint64_t Fault::random(uint64_t &state)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

bool Fault::chance(uint64_t &state, double p)
{
	return (random(state) >> 11) * 0x1p-53 < p;
}

bool Fault::item(const std::string &text, std::string &err)
{
	const struct {
		const char *name;
		double *p;
		bool *on;
	} kinds[] = {{"loss", &loss_, &active_},
		     {"dup", &dup_, &active_},
		     {"reorder", &reorder_, &active_},
		     {"corrupt", &corrupt_, &active_},
		     {"read_ur", &read_ur_, &on_pcie_},
		     {"read_poison", &read_poison_, &on_pcie_},
		     {"read_lost", &read_lost_, &on_pcie_},
		     {"read_late", &read_late_, &on_pcie_},
		     {"load_ur", &load_ur_, &on_pcie_},
		     {"store_poison", &store_poison_, &on_pcie_}};
	size_t eq = text.find('=');
	std::string name = text.substr(0, eq), value = eq == std::string::npos ? "" : text.substr(eq + 1);
	char *end;
	double p = strtod(value.c_str(), &end);

	for (const auto &kind : kinds) {
		if (name != kind.name)
			continue;
		if (value.empty() || *end || !(p >= 0 && p <= 1)) {
			err = "fault '" + text + "': '" + value + "' is not a probability from 0 to 1";
			return false;
		}
		*kind.p = p;
		*kind.on = true;
		return true;
	}
	err = "fault '" + text + "': unknown kind '" + name +
	      "', use loss, dup, reorder, corrupt, read_ur, read_poison, read_lost, read_late, load_ur or "
	      "store_poison";
	return false;
}

bool Fault::parse(const char *spec, std::string &err)
{
	std::string rest = spec;

	while (true) {
		size_t comma = rest.find(',');

		if (!item(rest.substr(0, comma), err))
			return false;
		if (comma == std::string::npos)
			return true;
		rest.erase(0, comma + 1);
	}
}

/* Every frame draws the same number of random numbers, so that one kind does not shift another. */
Fault::Fate Fault::fate(uint32_t frame_len)
{
	Fate fate;
	bool corrupt;

	fate.lost = chance(state_, loss_);
	fate.doubled = chance(state_, dup_);
	fate.late = chance(state_, reorder_);
	corrupt = chance(state_, corrupt_);
	uint64_t bit = random(state_) % ((frame_len - ETH_HEADER) * 8ull + 1);

	/* Not in the Ethernet header, which a switch checks: the ICRC must find it. */
	fate.flip = corrupt && frame_len > ETH_HEADER
			    ? ETH_HEADER * 8 + bit % ((frame_len - ETH_HEADER) * 8ull)
			    : 0;
	return fate;
}

/* Every read draws the same number of random numbers, too; kinds that came later have their own. */
ReadFault Fault::read()
{
	const bool ur = chance(read_state_, read_ur_), poisoned = chance(read_state_, read_poison_),
		   lost = chance(read_state_, read_lost_), late = chance(late_state_, read_late_);

	return lost       ? ReadFault::Lost
	       : late     ? ReadFault::Late
	       : ur       ? ReadFault::Unsupported
	       : poisoned ? ReadFault::Poisoned
			  : ReadFault::None;
}

bool Fault::load_unsupported()
{
	return chance(load_state_, load_ur_);
}

bool Fault::store_poisoned()
{
	return chance(store_state_, store_poison_);
}

} // namespace hcasim
