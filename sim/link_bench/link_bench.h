/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A PCIe link between an endpoint and a root port, with transfers that a test submits itself. The core
 * behind the endpoint is the real one; it has nothing to do here but to hand transfers back.
 */
#ifndef HCASIM_TIMING_TESTS_LINK_BENCH_H
#define HCASIM_TIMING_TESTS_LINK_BENCH_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "timing/endpoint.h"
#include "timing/root_port.h"
#include "timing/sc_kernel.h"

hcasim::Profile link_profile(const char *name = "connectx3");

struct LinkBench;

/* Of host memory. */
struct Range {
	uint64_t addr;
	uint32_t len;
};

/* One transfer that tells when it is done. `next` keeps the core's view first. */
struct Job {
	hca_dma dma; /* first */
	std::vector<hca_dma_seg> segs;
	std::vector<uint8_t> buf;
	LinkBench *bench;
	std::function<void(Job &)> on_done;
	unsigned int times_done = 0;
};

struct LinkBench : hcasim::StageStarter {
	hcasim::ScKernel kernel;
	hcasim::Profile profile;
	hcasim::PcieModel model;
	hca_ops ops;
	hca *core;
	machine_host_ops host;
	std::unique_ptr<hcasim::Endpoint> endpoint;
	std::unique_ptr<hcasim::RootPort> root;
	std::vector<std::string> log;                     /* what reached the host, in order */
	std::vector<uint8_t> memory;                      /* PASID 1, address 0 on; nothing above its end */
	std::vector<std::vector<hca_dma_seg>> write_segs; /* of every mem_write */

	explicit LinkBench(const hcasim::Profile &p);
	~LinkBench() override;
	void start_ready() override
	{
	}

	std::unique_ptr<Job> job(bool write, uint32_t pasid, const std::vector<Range> &ranges);
	void submit(Job &job);
	/* Until nothing is left to do, or for `ps`. */
	void run();
	void run_for(hca_ps ps);
};

#endif
