/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A timing profile: latencies, rates and sizes. Read from YAML, where each figure is {value, unit, source}; see
 * docs/profiles.md.
 */
#ifndef HCASIM_TIMING_PROFILE_H
#define HCASIM_TIMING_PROFILE_H

#include <cstdint>
#include <string>

#include "../core/hca.h"

namespace hcasim
{

/* Cycles of the engine clock that one step of a stage takes. */
struct StageCost {
	double fixed = 0;           /* cycles */
	double per_item = 0;        /* cycles for each struct hca_work item */
	double bytes_per_cycle = 0; /* width of its data path; 0: bytes cost nothing */
};

struct Profile {
	std::string name;

	struct {
		double raw_gbps;                                       /* after line coding */
		double ack_bytes, fc_bytes, skip_bytes, skip_interval; /* DLLP and SKP shares */
		double mwr_overhead, mrd_overhead, cpl_overhead;       /* bytes a TLP costs beyond its data */
		double mps, mrrs, rcb;                                 /* bytes */
		double latency;                                        /* ps, one way */
		double transmit_buffer;                                /* bytes */
		double posted_headers, posted_bytes, nonposted_headers; /* credits of the root port */
		double tags; /* outstanding reads of the endpoint */
	} pcie;
	struct {
		double read_latency;  /* ps from a read request to its first completion */
		double store_latency; /* ps from the CPU to the root port */
		double interleave;    /* reads whose completions take turns */
		double wc_buffers, wc_age;
	} root;
	struct {
		double page_fault, page_fault_per_page; /* ps that handling a page request takes */
	} host;
	struct {
		double read_latency; /* ps from the last completion to the engine */
		double read_gbps;    /* rate at which read data enters the engine */
		double dm_latency;   /* ps from the engine to device memory and back */
		double dm_gbps;      /* rate of its port */
		double clock_mhz;
		StageCost stage[HCA_NUM_STAGES];
	} engine;
	struct {
		double gbps, propagation, switch_latency;
		double preamble_gap, fcs, min_frame, mtu; /* bytes */
		double tx_frames;                         /* frames that the port buffers */
	} wire;
	struct {
		double max_qp, max_cq, max_mr, max_mw, max_srq, max_rd_atomic, acks_after_landing;
	} adapter;
};

/* False, and one sentence that names file, key and value in `err`. */
bool profile_load(const char *path, Profile &out, std::string &err);

} // namespace hcasim
#endif
