// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Send engines that count their clock cycles: their stages are occupied for these, at the profile's clock. */
#include "suite.h"

#include "core/engine.h"
#include "fabric.h"
#include "own_profile.h"

namespace
{

uint32_t counted; /* cycles of each step of the engine below */

/* The C engine, which does not count, with a count. */
const engine_ops *counting()
{
	static const engine_ops ops = [] {
		engine_ops o = c_engine;

		o.cycles = [](const engine *) { return counted; };
		return o;
	}();

	return &ops;
}

struct Run {
	hca_ps took; /* from the doorbell to the CQE of a WRITE */
	unsigned int steps[HCA_NUM_STAGES], cycles[HCA_NUM_STAGES];
};

Run write(const engine_ops *engine, const char *clock, uint32_t cycles)
{
	OwnProfile profile({{"clock", clock}});
	Options opt;
	Run run = {};

	counted = cycles;
	opt.profile = profile.path();
	opt.engine = engine;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	fill(a, 1, 3000);
	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(64), b.key, 3000);
	hca_ps start = machine_now(f.m);

	a.ring();
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
	run.took = machine_now(f.m) - start;
	CU_ASSERT(placed(a, 0, b, 64, 3000));
	for (int s = 0; s < HCA_NUM_STAGES; s++) {
		run.steps[s] = f.stage[s].steps;
		run.cycles[s] = f.stage[s].cycles;
	}
	return run;
}

bool near(hca_ps a, hca_ps b, hca_ps tolerance)
{
	return a <= b + tolerance && b <= a + tolerance;
}

constexpr hca_ps PERIOD = 2000; /* of 500 MHz */

/* The engine's stages, and no others, take the engine's cycles. */
void stages_take_them()
{
	const Run plain = write(nullptr, "500", 0), run = write(counting(), "500", 5000);

	for (int s = 0; s < HCA_NUM_STAGES; s++) {
		const bool its_own = s >= HCA_STAGE_FETCH && s <= HCA_STAGE_PACKETISE;

		CU_ASSERT_EQUAL(run.steps[s], plain.steps[s]);
		CU_ASSERT_EQUAL(run.cycles[s], its_own ? 5000 * run.steps[s] : plain.cycles[s]);
	}
	CU_ASSERT(run.steps[HCA_STAGE_PACKETISE] == 3);
}

/* FETCH, DECODE, and three packets one after another: five steps of the engine are on the way to the CQE. */
void time_is_theirs()
{
	const Run one = write(counting(), "500", 5000), two = write(counting(), "500", 10000);

	CU_ASSERT(near(two.took - one.took, 5 * 5000 * PERIOD, 5 * PERIOD));
}

/* Twice the clock: half of the engine's time. PCIe, memory and wire take as long as before. */
void clock_halves_them()
{
	const Run slow = write(counting(), "500", 5000), slower = write(counting(), "500", 10000);
	const Run fast = write(counting(), "1000", 5000), faster = write(counting(), "1000", 10000);
	const hca_ps slow_rest = 2 * slow.took - slower.took, fast_rest = 2 * fast.took - faster.took;

	for (int s = 0; s < HCA_NUM_STAGES; s++)
		CU_ASSERT_EQUAL(slow.cycles[s], fast.cycles[s]);
	CU_ASSERT(near(slower.took - slow.took, 2 * (faster.took - fast.took), 10 * PERIOD));
	/* Of the rest, the other stages' cycles are halved: less than 300 of them are on this way. */
	CU_ASSERT(slow_rest > fast_rest);
	CU_ASSERT(slow_rest - fast_rest < 150 * PERIOD);
}

/* An engine that does not know its cycles: the profile's figures. */
void not_known()
{
	const Run plain = write(nullptr, "500", 0), run = write(counting(), "500", 0);

	for (int s = 0; s < HCA_NUM_STAGES; s++)
		CU_ASSERT_EQUAL(run.cycles[s], plain.cycles[s]);
	CU_ASSERT(near(run.took, plain.took, 5 * PERIOD));
}

/* Machines end while the results of a step are held back. */
void unfinished()
{
	for (hca_ps when = 0; when < 30000000; when += 1500000) {
		Options opt;

		counted = 1000;
		opt.engine = counting();
		Fabric f(opt);
		Node &a = *f.nodes[0], &b = *f.nodes[1];

		a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 100000);
		a.ring();
		machine_run(f.m, when);
	}
	CU_PASS("no leak, no crash");
}

} // namespace

int main()
{
	return run_suite("cycles", {{"stages take them", stages_take_them},
				    {"time is theirs", time_is_theirs},
				    {"clock halves them", clock_halves_them},
				    {"not known", not_known},
				    {"unfinished", unfinished}});
}
