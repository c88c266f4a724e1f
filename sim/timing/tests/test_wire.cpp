// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Frames that wait, that get nowhere, or whose link goes down, between whole machines' adapters. */
#include "suite.h"

#include <fstream>

#include "fabric.h"
#include "own_profile.h"
#include "scratch.h"
#include "timing/marker.h"

static constexpr hca_ps US = 1000000;

/* An adapter that takes frames far more slowly than they come: their sender pauses, and none is lost. */
static void paused_link()
{
	OwnProfile profile({{"  rx:\n      fixed", "400"}});
	constexpr uint32_t LEN = 60000, N = 16;

	for (unsigned int hcas : {1, 2}) {
		Options opt;

		opt.profile = profile.path();
		opt.hcas = hcas;
		opt.path_mtu = 1;
		opt.timeout = 16;
		Fabric f(opt);
		Node &a = *f.nodes[0], &b = *f.nodes[1];

		fill(a, 3, LEN);
		for (unsigned int i = 0; i < N; i++)
			a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(100000), b.key, LEN);
		a.ring();
		for (unsigned int i = 0; i < N; i++) {
			const hcasim_cqe *cqe = f.wait(0);

			CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
			CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_OK);
		}
		CU_ASSERT(placed(a, 0, b, 100000, LEN));
		CU_ASSERT(b.counters().rx_packets > N * LEN / 256);
		CU_ASSERT_EQUAL(b.counters().rx_dropped, 0);
		CU_ASSERT_EQUAL(a.counters().retransmissions + a.counters().local_ack_timeout_err, 0);
	}
}

/* Frames that leave before their sender first stops, and the time of a single small WRITE. */
struct Burst {
	unsigned int frames;
	hca_ps one;
};

static Burst burst(const char *reaction)
{
	OwnProfile profile(
		{"engine.stages.rx.fixed=4000", "fifo.rx=4", std::string("wire.pause_reaction=") + reaction});
	Options opt;
	Burst result = {};

	opt.profile = profile.path();
	opt.trace_dir = profile.folder() + "/trace";
	opt.timeout = 20;
	{
		Fabric f(opt);
		Node &a = *f.nodes[0], &b = *f.nodes[1];

		a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 8);
		a.ring();
		CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
		result.one = machine_now(f.m);
		fill(a, 3, 150000);
		a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 150000);
		a.ring();
		CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
		CU_ASSERT(placed(a, 0, b, 0, 150000));
		CU_ASSERT_EQUAL(b.counters().rx_dropped, 0);
	}
	std::ifstream in(opt.trace_dir + "/events.log");
	unsigned long long before = 0, at;

	for (std::string line; std::getline(in, line);) {
		if (line.find("\"hca\":\"hcasim0\"") == std::string::npos ||
		    sscanf(line.c_str(), "{\"event\":\"sent\",\"ps\":%llu", &at) != 1 || at < result.one)
			continue;
		if (before && at > before + 3 * US)
			break;
		before = at;
		result.frames++;
	}
	return result;
}

/* What is sent until the pause frame has its effect waits on the wire: as much as fits in that time. */
static void pause_reaction()
{
	const Burst none = burst("0"), some = burst("5000"), twice = burst("10000");
	const double frames = 5 * US / ((1024 + 58 + 4 + 20) * 8000.0 / 40);

	CU_ASSERT(none.frames >= 4 && none.frames < 10);
	CU_ASSERT_DOUBLE_EQUAL(some.frames - none.frames, frames, 1.5);
	CU_ASSERT_DOUBLE_EQUAL(twice.frames - some.frames, frames, 1.5);
	CU_ASSERT(none.one == some.one && some.one == twice.one);
}

/*
 * An adapter that is slow to take frames, and a WRITE of 400 frames of one priority: how much later a small
 * WRITE of the traffic class completes than alone.
 */
static hca_ps behind_flood(bool pfc, uint8_t traffic_class, const char *reaction = "0")
{
	OwnProfile profile({"engine.stages.rx.fixed=4000", "fifo.rx=4", pfc ? "wire.pfc=1" : "wire.pfc=0",
			    std::string("wire.pause_reaction=") + reaction});
	constexpr uint32_t LEN = 400 * 1024;
	Options opt;
	hca_ps alone, start;

	opt.profile = profile.path();
	opt.timeout = 20;
	opt.traffic_class = {3 << 5, traffic_class};
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1], &c = *f.nodes[2], &d = *f.nodes[3];

	c.put(HCASIM_WQE_OP_RDMA_WRITE, c.at(0), d.at(0), d.key, 8);
	c.ring();
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(2));
	alone = machine_now(f.m);
	fill(a, 3, LEN);
	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(500000), b.key, LEN);
	a.ring();
	while (b.counters().rx_packets < 50)
		CU_ASSERT_EQUAL_FATAL(machine_run(f.m, US), MACHINE_ACTIVE);
	start = machine_now(f.m);
	fill(c, 5, 100);
	c.put(HCASIM_WQE_OP_RDMA_WRITE, c.at(0), d.at(0), d.key, 100);
	c.ring();
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(2));
	const hca_ps took = machine_now(f.m) - start;

	CU_ASSERT_PTR_NULL(a.poll()); /* the flood has not ended */
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
	CU_ASSERT(placed(a, 0, b, 500000, LEN) && placed(c, 0, d, 0, 100));
	CU_ASSERT_EQUAL(b.counters().rx_dropped, 0);
	CU_ASSERT_EQUAL(a.counters().retransmissions + a.counters().local_ack_timeout_err, 0);
	return took - alone;
}

/* A paused priority holds up only itself: the rest waits for the frames in the FIFO, and not for those that are paused. */
static void priorities()
{
	OwnProfile profile({"engine.stages.rx.fixed=4000"});
	hcasim::Profile p;
	std::string err;

	CU_ASSERT_FATAL(hcasim::profile_load(profile.path().c_str(), p, err));
	const hca_ps frame = hca_ps(4000 * 1e6 / p.engine.clock);

	for (const char *reaction : {"0", "10000"}) {
		const hca_ps other = behind_flood(true, 0, reaction);

		CU_ASSERT(other <= 6 * frame);
	}
	CU_ASSERT(behind_flood(true, 3 << 5 | 4) > 20 * frame);
	CU_ASSERT(behind_flood(false, 0) > 20 * frame);
}

/* Frames that get nowhere: the requester gives up, and the trace says why. */
static void nowhere(Options opt, const OwnProfile &profile, const char *why)
{
	std::filesystem::path dir = profile.folder();

	opt.profile = profile.path();
	opt.trace_dir = dir / "trace";
	opt.retry_cnt = 1;
	opt.timeout = 5;
	{
		Fabric f(opt);
		Node &a = *f.nodes[0], &b = *f.nodes[1];

		a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 4096);
		a.ring();
		const hcasim_cqe *cqe = f.wait(0);

		CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
		CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_RETRY_EXC_ERR);
	}
	std::ifstream in(dir / "trace" / "fault.log");
	std::string line;

	CU_ASSERT(static_cast<bool>(std::getline(in, line)));
	CU_ASSERT(contains(line, why));
}

/* Packets that fit come through; larger ones vanish, and the requester hears nothing of it. */
static void switch_with_a_small_mtu()
{
	OwnProfile profile({"wire.switch_mtu=1500"});
	Options opt;

	opt.path_mtu = 5;
	nowhere(opt, profile, "larger than wire.switch_mtu");
	opt.profile = profile.path();
	opt.path_mtu = 3;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	fill(a, 3, 4096);
	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 4096);
	a.ring();
	const hcasim_cqe *cqe = f.wait(0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
	CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_OK);
	CU_ASSERT(placed(a, 0, b, 0, 4096));
}

static void unknown_address()
{
	Options opt;

	opt.wrong_mac = true;
	nowhere(opt, OwnProfile({}), "no port has the destination address");
}

static void frame_longer_than_mtu()
{
	Options opt;

	opt.path_mtu = 5; /* 4096 bytes, which do not fit in: */
	nowhere(opt, OwnProfile({{"mtu", "1500"}}), "longer than the MTU");
}

/* A link goes down in mid traffic: what is on its way ends there, and all is sent again when it is back. */
static void interrupted(unsigned int down, const char *why)
{
	constexpr uint32_t LEN = 60000, N = 16;
	const Scratch dir;
	Options opt;

	opt.trace_dir = dir.path();
	{
		Fabric f(opt);
		Node &a = *f.nodes[0], &b = *f.nodes[1];

		fill(a, down, LEN);
		for (unsigned int i = 0; i < N; i++)
			a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(100000), b.key, LEN);
		a.ring();
		while (a.counters().tx_packets < N * LEN / 1024 / 2)
			CU_ASSERT_EQUAL_FATAL(machine_run(f.m, US / 10), MACHINE_ACTIVE);
		CU_ASSERT_EQUAL(hca_port_set(f.nodes[down]->core, 1, false, 5), 0);
		const uint64_t sent = a.counters().tx_packets, received = b.counters().rx_packets;

		f.settle();
		CU_ASSERT_EQUAL(a.counters().tx_packets > sent, down == 1);
		CU_ASSERT(b.counters().rx_packets < received + 32); /* what was on the wire already */
		unsigned int done = 0;

		for (; a.poll(); done++)
			;
		CU_ASSERT(done < N * 3 / 4);
		CU_ASSERT_EQUAL(hca_port_set(f.nodes[down]->core, 1, true, 5), 0);
		for (; done < N; done++) {
			const hcasim_cqe *cqe = f.wait(0);

			CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
			CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_OK);
		}
		CU_ASSERT(placed(a, 0, b, 100000, LEN));
		CU_ASSERT(a.counters().local_ack_timeout_err > 0);
	}
	std::ifstream in(dir.path() / "fault.log");
	std::string log{std::istreambuf_iterator<char>(in), {}};

	CU_ASSERT(contains(log, why));
}

static void link_down()
{
	interrupted(0, "its port is down");
	interrupted(1, "the port it goes to is down");
}

/* The share of packets that are marked behind a queue of so many bytes. */
static double marked(const hcasim::Profile &p, double queue)
{
	constexpr unsigned int N = 100000;
	hcasim::Marker marker(p, 1);
	unsigned int n = 0;

	for (unsigned int i = 0; i < N; i++)
		n += marker.marks(queue);
	return double(n) / N;
}

static bool near(double is, double expected)
{
	return is > 0.97 * expected && is < 1.03 * expected;
}

static void marking()
{
	hcasim::Profile p;
	std::string err;

	CU_ASSERT_FATAL(hcasim::profile_load(DEFAULT_PROFILE, p, err));
	CU_ASSERT_FALSE(hcasim::Marker(p, 1).enabled());
	p.dcqcn.kmin = 100000;
	p.dcqcn.kmax = 300000;
	p.dcqcn.pmax = 0.3;
	CU_ASSERT_EQUAL(marked(p, 100000), 0);
	CU_ASSERT(near(marked(p, 200000), 0.15));
	CU_ASSERT(near(marked(p, 300000), 0.3));
	CU_ASSERT_EQUAL(marked(p, 300001), 1);
	p.dcqcn.pmax = 0.6;
	CU_ASSERT(near(marked(p, 200000), 0.3));
	p.dcqcn.kmin = 200000;
	CU_ASSERT_EQUAL(marked(p, 200000), 0);
	CU_ASSERT(near(marked(p, 250000), 0.3));
	p.dcqcn.kmax = 600000;
	CU_ASSERT(near(marked(p, 250000), 0.075));
	CU_ASSERT_EQUAL(marked(p, 600001), 1);
}

int main()
{
	return run_suite("wire", {{"paused link", paused_link},
				  {"pause reaction", pause_reaction},
				  {"priorities", priorities},
				  {"unknown address", unknown_address},
				  {"frame longer than the MTU", frame_longer_than_mtu},
				  {"switch with a small MTU", switch_with_a_small_mtu},
				  {"link down", link_down},
				  {"marking", marking}});
}
