// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The depths of the adapter's FIFOs are those of the profile. */
#include "suite.h"

#include <algorithm>

#include "core/engine.h"
#include "fabric.h"
#include "own_profile.h"

namespace
{

uint32_t fetch_depth; /* what the engine below was made with */

const engine_ops *asking()
{
	static const engine_ops ops = [] {
		engine_ops o = c_engine;

		o.create = [](const engine_config *cfg, const engine_ports *ports, void *host) {
			fetch_depth = cfg->fetch_depth;
			return c_engine.create(cfg, ports, host);
		};
		return o;
	}();

	return &ops;
}

struct Figure {
	const char *key;
	int level; /* enum hca_level; -1: of the engine */
	uint32_t usual;
} figures[] = {
	{"doorbell", HCA_LEVEL_DOORBELL, 256},
	{"fetch", -1, 32},
	{"gather", HCA_LEVEL_GATHER, 32},
	{"tx", HCA_LEVEL_TX, 64},
	{"rx", HCA_LEVEL_RX, 1024},
	{"rx_writes", HCA_LEVEL_RX_WRITES, 256},
	{"cqe_writes", HCA_LEVEL_CQE_WRITES, 64},
};

uint32_t depth(const Fabric &f, const Figure &figure)
{
	return figure.level < 0 ? fetch_depth
				: hca_level_max(machine_hca(f.m, 0), static_cast<hca_level>(figure.level));
}

/* Doubling one changes this FIFO and no other. */
void doubled()
{
	for (const Figure &changed : figures) {
		const std::string twice = std::to_string(2 * changed.usual);
		OwnProfile profile({{changed.key, twice.c_str()}});
		Options opt;

		opt.profile = profile.path();
		opt.engine = asking();
		Fabric f(opt);

		for (const Figure &figure : figures)
			CU_ASSERT_EQUAL(depth(f, figure), figure.usual * (&figure == &changed ? 2 : 1));
	}
}

/* Time that 32 WRITEs of 4 KiB, posted together, take. */
hca_ps burst(const char *key, const char *value)
{
	OwnProfile profile({{key, value}});
	Options opt;

	opt.profile = profile.path();
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	fill(a, 1, 4096);
	for (int i = 0; i < 32; i++)
		a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(64), b.key, 4096);
	hca_ps start = machine_now(f.m);

	a.ring();
	for (int i = 0; i < 32; i++)
		CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
	CU_ASSERT(placed(a, 0, b, 64, 4096));
	return machine_now(f.m) - start;
}

/* One packet at a time pays the latency of its read each time; a full FIFO makes the stage before it wait, no more. */
void back_pressure()
{
	const hca_ps usual = burst("tx", "64");

	CU_ASSERT(burst("tx", "1") > 2 * usual);
	CU_ASSERT(burst("tx", "128") == usual);
	CU_ASSERT(burst("rx_writes", "1") > usual);
}

/* Frames of 1 KiB from node 0 to node 1, or READ responses of them, until all are through. */
struct Traffic {
	uint8_t op;
	unsigned int wqes;
	uint32_t len;
};

/* The most that one of the adapter's FIFOs has held. */
uint32_t highest(const std::vector<std::string> &figures, const Traffic &t, unsigned int adapter,
		 hca_level level)
{
	OwnProfile profile(figures);
	Options opt;
	uint32_t most = 0;

	opt.profile = profile.path();
	opt.timeout = 20;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	for (unsigned int i = 0; i < t.wqes; i++)
		a.put(t.op, a.at(0), b.at(64), b.key, t.len);
	a.ring();
	for (unsigned int done = 0; done < t.wqes;) {
		if (machine_run(f.m, 1000) != MACHINE_ACTIVE)
			machine_advance(f.m, machine_now(f.m) + 1000);
		most = std::max(most, hca_level_now(machine_hca(f.m, adapter), level));
		while (a.poll())
			done++;
		CU_ASSERT_FATAL(machine_now(f.m) < 10000000000);
	}
	return most;
}

/* Behind each FIFO is something slow: it holds as much as the profile says, and twice as much with twice the figure. */
void held()
{
	constexpr uint8_t WRITE = HCASIM_WQE_OP_RDMA_WRITE;
	const Traffic large = {WRITE, 8, 16384}, small = {WRITE, 32, 64};
	const struct {
		const char *key, *slow;
		const Traffic *of;
		unsigned int adapter;
		hca_level level;
	} cases[] = {
		{"gather", "engine.stages.gather.fixed=3000", &large, 0, HCA_LEVEL_GATHER},
		{"tx", "root.read_latency=20000", &large, 0, HCA_LEVEL_TX},
		{"rx", "engine.stages.rx.fixed=3000", &large, 1, HCA_LEVEL_RX},
		{"rx_writes", "pcie.latency=5000", &large, 1, HCA_LEVEL_RX_WRITES},
		{"cqe_writes", "pcie.latency=5000", &small, 0, HCA_LEVEL_CQE_WRITES},
	};

	for (const auto &c : cases)
		for (uint32_t depth : {4, 8}) {
			const std::string figure = std::string("fifo.") + c.key + "=" + std::to_string(depth);
			const uint32_t most = highest({figure, c.slow}, *c.of, c.adapter, c.level);

			if (most != depth)
				fprintf(stderr, "%s=%u: %u\n", c.key, depth, most);
			CU_ASSERT_EQUAL(most, depth);
		}
}

/* Reads of WQEs of six queues before the first of them is decoded. */
unsigned int reads(const char *depth)
{
	OwnProfile profile({std::string("fifo.fetch=") + depth, "root.read_latency=20000"});
	Options opt;
	unsigned int n = 0;

	opt.hcas = 1;
	opt.profile = profile.path();
	opt.timeout = 20;
	Fabric f(opt);

	while (f.nodes.size() < 6)
		f.nodes.push_back(std::make_unique<Node>(f.m, 0));
	for (unsigned int i = 2; i < 6; i++)
		f.nodes[i]->connect(*f.nodes[i ^ 1], machine_hca_config(f.m, 0)->mac[0], 0, opt);
	for (auto &node : f.nodes) {
		node->put(HCASIM_WQE_OP_RDMA_WRITE, node->at(0), node->at(64), node->key, 64);
		node->ring();
	}
	while (!f.stage[HCA_STAGE_DECODE].steps) {
		if (machine_run(f.m, 1000) != MACHINE_ACTIVE)
			machine_advance(f.m, machine_now(f.m) + 1000);
		n = f.stage[HCA_STAGE_FETCH].steps;
		CU_ASSERT_FATAL(machine_now(f.m) < 10000000000);
	}
	return n;
}

void fetched()
{
	CU_ASSERT_EQUAL(reads("1"), 1);
	CU_ASSERT_EQUAL(reads("2"), 2);
	CU_ASSERT_EQUAL(reads("4"), 4);
	CU_ASSERT_EQUAL(reads("8"), 6);
}

/* Frames that TX has handed out when the first one is on a slow wire. */
unsigned int buffered(const char *frames)
{
	OwnProfile profile({std::string("wire.tx_buffer=") + frames, "wire.rate=0.1"});
	Options opt;

	opt.profile = profile.path();
	opt.timeout = 20;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(64), b.key, 32768);
	a.ring();
	for (hca_ps end = 50000000; machine_now(f.m) < end;) /* a frame takes 85 us */
		if (machine_run(f.m, 1000) != MACHINE_ACTIVE)
			machine_advance(f.m, machine_now(f.m) + 1000);
	return f.stage[HCA_STAGE_TX].steps;
}

void transmit_buffer()
{
	const unsigned int four = buffered("4"), eight = buffered("8"), sixteen = buffered("16");

	CU_ASSERT_EQUAL(eight - four, 4);
	CU_ASSERT_EQUAL(sixteen - eight, 8);
}

} // namespace

int main()
{
	return run_suite("FIFOs", {{"doubled", doubled},
				   {"back-pressure", back_pressure},
				   {"held", held},
				   {"WQE reads", fetched},
				   {"transmit buffer", transmit_buffer}});
}
