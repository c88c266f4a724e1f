/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What TLPs cost and how transfers split into them: the model of pcie-bench (SIGCOMM 2018) for bytes and
 * bandwidth, and the PCI Express Base Specification's rules for sizes.
 */
#ifndef HCASIM_TIMING_PCIE_MODEL_H
#define HCASIM_TIMING_PCIE_MODEL_H

#include <algorithm>
#include <iterator>
#include <vector>

#include "pcie_port.h"
#include "profile/profile.h"
#include "units.h"

namespace hcasim
{

class PcieModel
{
	uint32_t mps_, mrrs_, rcb_;
	uint32_t overhead_[5];
	double ps_per_byte_;
	std::vector<sc_core::sc_time> time_; /* of so many bytes on the link; longer TLPs are rare */

	/* A request must not cross a 4 KiB boundary (PCIe 2.2.7.1). */
	static uint32_t to_boundary(uint64_t addr)
	{
		return 4096 - (addr & 4095);
	}

      public:
	explicit PcieModel(const Profile &p)
	    : mps_(p.pcie.mps), mrrs_(p.pcie.mrrs),
	      rcb_(p.pcie.rcb), overhead_{uint32_t(p.pcie.write_overhead), uint32_t(p.pcie.read_overhead),
					  uint32_t(p.pcie.completion_overhead),
					  uint32_t(p.pcie.completion_overhead),
					  uint32_t(p.pcie.write_overhead)},
	      ps_per_byte_(8000.0 / tlp_gbps(p))
	{
		const uint32_t most = mps_ + *std::max_element(std::begin(overhead_), std::end(overhead_));

		for (uint32_t bytes = 0; bytes <= most; bytes++)
			time_.push_back(to_sc(bytes_ps(bytes)));
	}
	/* Bandwidth that DLLPs (Ack, UpdateFC) and SKP ordered sets leave for TLPs. */
	static double tlp_gbps(const Profile &p)
	{
		return p.pcie.raw_rate * (1 - 8 / p.pcie.ack_limit - 8 / p.pcie.fc_guide -
					  p.pcie.skip_size / p.pcie.skip_interval);
	}
	/* Bytes on the link: framing, sequence number, header, LCRC and data. */
	uint32_t tlp_bytes(TlpType type, uint32_t data) const
	{
		return overhead_[static_cast<int>(type)] + data;
	}
	sc_core::sc_time tlp_time(TlpType type, uint32_t data) const
	{
		const uint32_t bytes = tlp_bytes(type, data);

		return bytes < time_.size() ? time_[bytes] : to_sc(bytes_ps(bytes));
	}
	/* Time that so many bytes occupy the lanes. */
	hca_ps bytes_ps(double bytes) const
	{
		return round_ps(bytes * ps_per_byte_);
	}
	uint32_t write_chunk(uint64_t addr, uint32_t left) const
	{
		return std::min({left, mps_, to_boundary(addr)});
	}
	uint32_t read_chunk(uint64_t addr, uint32_t left) const
	{
		return std::min({left, mrrs_, to_boundary(addr)});
	}
	/* All completions of a read but the last end on a read completion boundary (PCIe 2.3.1.1). */
	uint32_t completion_chunk(uint64_t addr, uint32_t left) const
	{
		uint64_t end = (addr + mps_) & ~uint64_t(rcb_ - 1);

		return std::min(left, uint32_t(end - addr));
	}
};

} // namespace hcasim
#endif
