/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What pcie-bench measures (SIGCOMM 2018, section 4): bandwidth and latency of DMA of one size, on a link alone. */
#ifndef HCASIM_TIMING_TESTS_LINK_RATES_H
#define HCASIM_TIMING_TESTS_LINK_RATES_H

#include "link_bench.h"

/* A stream of equal transfers, `depth` of them always under way. */
struct Stream {
	std::vector<std::unique_ptr<Job>> jobs;
	uint64_t bytes = 0;

	Stream(LinkBench &b, bool write, uint32_t size, unsigned int depth);
	void start(LinkBench &b);
};

/* Gb/s of writes or reads of `size` bytes. */
double link_gbps(const hcasim::Profile &p, bool write, uint32_t size);
/* Gb/s of each direction, if every read is followed by a write of the same size. */
double link_gbps_both(const hcasim::Profile &p, uint32_t size);
/* Nanoseconds of one read, from the request to its data. */
double link_read_ns(const hcasim::Profile &p, uint32_t size);

#endif
