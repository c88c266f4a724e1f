// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The depths of the adapter's FIFOs are those of the profile. */
#include "suite.h"

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
	CU_ASSERT(burst("gather", "1") >= usual);
}

} // namespace

int main()
{
	return run_suite("FIFOs", {{"doubled", doubled}, {"back-pressure", back_pressure}});
}
