// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What decides the rate and the latency of small requests: how WQEs come to the adapter, how many responses may be
 * outstanding, and that atomics are served one at a time.
 */
#include "suite.h"

#include <cmath>
#include <tuple>

#include "fabric.h"
#include "own_profile.h"

namespace
{

constexpr uint8_t WRITE = HCASIM_WQE_OP_RDMA_WRITE, READ = HCASIM_WQE_OP_RDMA_READ,
		  ADD = HCASIM_WQE_OP_ATOMIC_FA;
constexpr unsigned int COUNT = 32;
constexpr double CYCLE = 5; /* ns: more than one of connectx3 */

bool near(double a, double b, double tolerance)
{
	if (std::abs(a - b) <= tolerance)
		return true;
	fprintf(stderr, "%.1f is not %.1f\n", a, b);
	return false;
}

/* ---- How WQEs come to the adapter ---- */

enum How { ONE_DOORBELL, DOORBELLS, PUSH };

struct Posted {
	unsigned int fetches;
	double ns; /* to the last CQE */
};

Posted post(How how, unsigned int wqes, const std::vector<std::string> &figures)
{
	OwnProfile profile(figures);
	Options opt;

	opt.profile = profile.path();
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];
	const hca_ps start = machine_now(f.m);

	for (unsigned int i = 0; i < wqes; i++) {
		const uint8_t *wqe = a.put(WRITE, a.at(0), b.at(0), b.key, 64);

		if (how == PUSH)
			a.push(wqe, HCASIM_WQEBB_SIZE / 8);
		else if (how == DOORBELLS)
			a.ring();
		if (how != ONE_DOORBELL)
			CU_ASSERT_PTR_NOT_NULL(f.wait(0));
	}
	if (how == ONE_DOORBELL) {
		a.ring();
		for (unsigned int i = 0; i < wqes; i++)
			CU_ASSERT_PTR_NOT_NULL(f.wait(0));
	}
	return {f.stage[HCA_STAGE_FETCH].steps, double(machine_now(f.m) - start) / 1000};
}

/* Sixteen WQEs of one basic block are the most that a read takes. */
void one_read_for_many()
{
	CU_ASSERT_EQUAL(post(ONE_DOORBELL, 1, {}).fetches, 1);
	CU_ASSERT_EQUAL(post(ONE_DOORBELL, 16, {}).fetches, 1);
	CU_ASSERT_EQUAL(post(ONE_DOORBELL, 17, {}).fetches, 2);
	CU_ASSERT_EQUAL(post(ONE_DOORBELL, 48, {}).fetches, 3);
	CU_ASSERT_EQUAL(post(DOORBELLS, 16, {}).fetches, 16);
}

/* How many reads of host memory one after the other a posting waits for: what a slower memory adds. */
double reads_in_a_row(How how, unsigned int wqes, const char *reads_of_queue)
{
	const std::string of_queue = std::string("fifo.fetch_queue=") + reads_of_queue;

	return (post(how, wqes, {"root.read_latency=60000", of_queue}).ns -
		post(how, wqes, {"root.read_latency=20000", of_queue}).ns) /
	       40000;
}

/*
 * 48 WQEs are three reads, and the last one's payload is another. With two of them at a time the third is made when the
 * first is decoded. A queue whose WQEs are in one read, or pushed, does not notice.
 */
void reads_of_a_queue()
{
	CU_ASSERT(near(reads_in_a_row(ONE_DOORBELL, 48, "1"), 4, 0.1));
	CU_ASSERT(near(reads_in_a_row(ONE_DOORBELL, 48, "2"), 3, 0.1));
	CU_ASSERT(near(reads_in_a_row(ONE_DOORBELL, 48, "4"), 2, 0.1));
	CU_ASSERT_EQUAL(post(ONE_DOORBELL, 48, {"fifo.fetch_queue=4"}).fetches, 3);
	for (const How how : {ONE_DOORBELL, DOORBELLS, PUSH})
		CU_ASSERT_EQUAL(post(how, 16, {"fifo.fetch_queue=2"}).ns, post(how, 16, {}).ns);
}

/* A pushed WQE is not read: what a read of host memory takes longer, it takes longer once less. */
void blueflame()
{
	const std::vector<std::string> slow = {"root.read_latency=2000"}, slower = {"root.read_latency=4000"};
	const Posted rung = post(DOORBELLS, 1, slow), pushed = post(PUSH, 1, slow);

	CU_ASSERT_EQUAL(rung.fetches, 1);
	CU_ASSERT_EQUAL(pushed.fetches, 0);
	CU_ASSERT(rung.ns - pushed.ns > 2000);
	CU_ASSERT(near(post(DOORBELLS, 1, slower).ns - rung.ns, 2 * 2000, 30)); /* WQE, payload */
	CU_ASSERT(near(post(PUSH, 1, slower).ns - pushed.ns, 2000, 30));
}

/* ---- Responses ---- */

/* Nanoseconds of COUNT operations that are posted at once. */
double all(uint8_t op, uint8_t rd_atomic, const std::vector<std::string> &figures)
{
	OwnProfile profile(figures);
	Options opt;

	opt.profile = profile.path();
	opt.rd_atomic = rd_atomic;
	opt.timeout = 20;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];
	const hca_ps start = machine_now(f.m);

	for (unsigned int i = 0; i < COUNT; i++)
		if (op == ADD)
			a.put_add(a.at(0), b.at(0), b.key);
		else
			a.put(op, a.at(0), b.at(0), b.key, 64);
	a.ring();
	for (unsigned int i = 0; i < COUNT; i++) {
		const hcasim_cqe *cqe = f.wait(0);

		CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
		CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_OK);
	}
	if (op == ADD)
		CU_ASSERT_EQUAL(b.buffer[0], COUNT);
	return double(machine_now(f.m) - start) / 1000;
}

/* Twice as many READs outstanding: half as many round trips. WRITEs do not count. */
void outstanding_reads()
{
	const double one = all(READ, 1, {}), two = all(READ, 2, {}), four = all(READ, 4, {});
	const double far = all(READ, 1, {"wire.propagation=10000"}) - one;

	CU_ASSERT(near(two / one, 0.5, 0.05));
	CU_ASSERT(near(four / two, 0.5, 0.1));
	CU_ASSERT(near(all(WRITE, 1, {}), all(WRITE, 4, {}), 1));
	/* Two cables each way. */
	CU_ASSERT(near(far / (COUNT * 4 * 10000), 1, 0.01));
	CU_ASSERT(near((all(READ, 4, {"wire.propagation=10000"}) - four) / (COUNT / 4 * 4 * 10000), 1, 0.05));
}

hca_config config_of(const std::vector<std::string> &figures)
{
	OwnProfile profile(figures);
	Options opt;

	opt.profile = profile.path();
	const Fabric f(opt);

	return *machine_hca_config(f.m, 0);
}

/* The adapter's own limit, which a program is told and may ask for: READs take half the time, WRITEs the same. */
void limit_of_the_adapter()
{
	double reads[2], writes[2];
	hca_config config[2];

	for (const uint8_t limit : {2, 4}) {
		const std::vector<std::string> figure = {"adapter.max_rd_atomic=" + std::to_string(limit)};
		hca_config &c = config[limit == 4];

		c = config_of(figure);
		CU_ASSERT_EQUAL(c.max_rd_atomic, limit);
		reads[limit == 4] = all(READ, uint8_t(c.max_rd_atomic), figure);
		writes[limit == 4] = all(WRITE, uint8_t(c.max_rd_atomic), figure);
	}
	CU_ASSERT(near(reads[1] / reads[0], 0.5, 0.1));
	CU_ASSERT_EQUAL(writes[0], writes[1]);
	const auto others = [](const hca_config &c) {
		return std::tie(c.max_qp, c.max_cq, c.max_mr, c.max_mw, c.max_srq, c.doorbell_depth,
				c.fetch_depth, c.gather_depth, c.tx_depth, c.rx_depth, c.rx_writes,
				c.cqe_writes, c.queue_reads, c.posted_blocks, c.port_rate, c.port_mtu);
	};
	CU_ASSERT(others(config[0]) == others(config[1]));
}

/* However many are outstanding: each takes its time, after the one before it. */
void atomics()
{
	const double none = all(ADD, 16, {}), some = all(ADD, 16, {"engine.atomic=500"}),
		     more = all(ADD, 16, {"engine.atomic=1000"});

	CU_ASSERT(near(some - none, COUNT * 500, COUNT * 2 * CYCLE));
	CU_ASSERT(near(more - some, COUNT * 500, COUNT * 2 * CYCLE));
	CU_ASSERT(near(all(WRITE, 16, {"engine.atomic=1000"}), all(WRITE, 16, {}), 1));
	CU_ASSERT(near(all(READ, 16, {"engine.atomic=1000"}), all(READ, 16, {}), 1));
	/* Even without it: a read of host memory, and then a write. */
	CU_ASSERT(near(all(ADD, 16, {"root.read_latency=3000"}) - all(ADD, 16, {"root.read_latency=2000"}),
		       COUNT * 1000, 5000));
	/* There and back for the read; the write is only on its way when the next one begins. */
	CU_ASSERT(near(all(ADD, 16, {"pcie.latency=2000"}) - all(ADD, 16, {"pcie.latency=1000"}),
		       COUNT * 2 * 1000, 12000));
}

} // namespace

int main()
{
	return run_suite("requests", {{"one read for many WQEs", one_read_for_many},
				      {"reads of a queue", reads_of_a_queue},
				      {"BlueFlame", blueflame},
				      {"outstanding READs", outstanding_reads},
				      {"limit of the adapter", limit_of_the_adapter},
				      {"atomics", atomics}});
}
