// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Latency, initiation interval and units of a stage: doubling a figure moves the time of one work request, or the
 * rate of many, by what its steps are, and nothing else.
 */
#include "suite.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "fabric.h"
#include "own_profile.h"

namespace
{

constexpr hca_ps CYCLE = 1000; /* 1 GHz */

using Figures = std::map<std::string, double>; /* of one stage */

const Figures usual = {{"fixed", 1500},    {"per_item", 200},          {"width", 4},
		       {"interval", 1000}, {"interval_per_item", 100}, {"interval_width", 8},
		       {"units", 1}};

double cycles(const hca_work &w, double fixed, double per_item, double width)
{
	return std::ceil(fixed + per_item * w.items + w.bytes / width);
}

double latency(const Figures &f, const hca_work &w)
{
	return cycles(w, f.at("fixed"), f.at("per_item"), f.at("width"));
}

double interval(const Figures &f, const hca_work &w)
{
	return cycles(w, f.at("interval"), f.at("interval_per_item"), f.at("interval_width"));
}

std::vector<std::string> sets_of(hca_stage stage, const Figures &f)
{
	std::vector<std::string> sets = {"engine.clock=1000"};

	for (const auto &[key, value] : f)
		sets.push_back(std::string("engine.stages.") + hca_stage_name(stage) + "." + key + "=" +
			       std::to_string(value));
	return sets;
}

/* What is posted: `wqes` work requests of `len` bytes, with a doorbell for each or one for all. */
struct Work {
	uint8_t op;
	unsigned int wqes;
	uint32_t len;
	bool doorbells;
};

struct Run {
	std::vector<hca_ps> cqe; /* when each came */
	std::vector<Fabric::Step> steps;
};

std::vector<hca_ps> wait_all(Fabric &f, Node &n, unsigned int wqes)
{
	std::vector<hca_ps> came;

	while (came.size() < wqes) {
		if (machine_run(f.m, CYCLE) != MACHINE_ACTIVE)
			machine_advance(f.m, machine_now(f.m) + CYCLE);
		while (n.poll())
			came.push_back(machine_now(f.m));
		CU_ASSERT_FATAL(machine_now(f.m) < 10000000000);
	}
	return came;
}

Run run(hca_stage stage, const Figures &figures, const Work &work)
{
	OwnProfile profile(sets_of(stage, figures));
	Options opt;

	opt.profile = profile.path();
	opt.timeout = 20; /* no retransmission, however slow the stage is */
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	for (unsigned int i = 0; i < work.wqes; i++) {
		a.put(work.op, a.at(0), b.at(0), b.key, work.len);
		if (work.doorbells)
			a.ring();
	}
	if (!work.doorbells)
		a.ring();
	const std::vector<hca_ps> cqe = wait_all(f, a, work.wqes);

	return {cqe, f.steps};
}

bool near(double a, double b, double tolerance)
{
	if (std::abs(a - b) <= tolerance)
		return true;
	fprintf(stderr, "%.0f is not %.0f\n", a, b);
	return false;
}

/* All steps of the stage that a single WRITE makes are one after another. */
double latencies(hca_stage stage, const Figures &figures, const Run &r)
{
	double sum = 0;

	for (const Fabric::Step &s : r.steps)
		if (s.stage == stage)
			sum += latency(figures, s.work);
	return sum;
}

/* Of the steps that there are most of: packets but the first, which has another header, and no ACKs. */
double usual_interval(hca_stage stage, const Figures &figures, const Run &r)
{
	std::map<double, unsigned int> count;
	auto more = [](const auto &a, const auto &b) { return a.second < b.second; };

	for (const Fabric::Step &s : r.steps)
		if (s.stage == stage)
			count[interval(figures, s.work)]++;
	return std::max_element(count.begin(), count.end(), more)->first;
}

/*
 * Work that has the stage do `steps` more: between its CQEs, the last of as many work requests; or, if it is a single
 * one, than a WRITE or READ of `less` bytes.
 */
struct Stage {
	hca_stage stage;
	Work work;
	unsigned int steps;
	uint32_t less;
};

constexpr uint32_t MTU = 1024;
constexpr uint8_t WRITE = HCASIM_WQE_OP_RDMA_WRITE, READ = HCASIM_WQE_OP_RDMA_READ;

const Stage stages[] = {
	{HCA_STAGE_DOORBELL, {WRITE, 16, 64, true}, 8, 0},
	{HCA_STAGE_DECODE, {WRITE, 7, 64, false}, 4, 0}, /* of one read */
	{HCA_STAGE_PACKETISE, {WRITE, 1, 24 * MTU, false}, 16, 8 * MTU},
	{HCA_STAGE_GATHER, {WRITE, 1, 24 * MTU, false}, 16, 8 * MTU},
	{HCA_STAGE_TX, {WRITE, 1, 24 * MTU, false}, 16, 8 * MTU},
	{HCA_STAGE_RX, {WRITE, 1, 24 * MTU, false}, 16, 8 * MTU},
	{HCA_STAGE_RESPOND, {READ, 1, 24 * MTU, false}, 16, 8 * MTU},
	{HCA_STAGE_COMPLETE, {WRITE, 7, 64, false}, 4, 0},
};

struct Measured {
	double one;       /* cycles of a single WRITE */
	double each;      /* and between steps of the stage, when they wait */
	double latencies; /* that are in it */
	double interval;
};

Measured measure(const Stage &s, const Figures &f)
{
	const Run one = run(s.stage, f, {WRITE, 1, 64, false}), many = run(s.stage, f, s.work);
	hca_ps before, after;

	if (s.less) {
		after = many.cqe.back();
		before = run(s.stage, f, {s.work.op, 1, s.less, false}).cqe.back();
	} else { /* the last one is seen at once, the others with the event after them */
		after = many.cqe[s.work.wqes - 2];
		before = many.cqe[s.work.wqes - 2 - s.steps];
	}
	return {double(one.cqe.back()) / CYCLE, double(after - before) / CYCLE / s.steps,
		latencies(s.stage, f, one), usual_interval(s.stage, f, many)};
}

/* Doubles each figure of each stage in turn. */
void doubled()
{
	for (const Stage &s : stages) {
		const Measured base = measure(s, usual);

		CU_ASSERT(base.latencies >= usual.at("fixed"));
		CU_ASSERT(near(base.each, base.interval, 1));
		for (const auto &[key, value] : usual) {
			Figures f = usual;

			f[key] = 2 * value;
			const Measured m = measure(s, f);

			CU_ASSERT(near(m.one - base.one, m.latencies - base.latencies, 4));
			CU_ASSERT(near(m.each, m.interval / f["units"], 1));
		}
	}
}

/* More units help until something else limits. */
void many_units()
{
	const Stage &rx = stages[5];
	Figures f = usual;

	f["units"] = 8;
	const Measured eight = measure(rx, f);

	f["units"] = 16;
	const Measured sixteen = measure(rx, f);

	CU_ASSERT(eight.each < 1.1 * eight.interval / 4);
	CU_ASSERT(near(sixteen.each, eight.each, eight.each / 10));
	CU_ASSERT(sixteen.each > sixteen.interval / 16);
}

/* Longer than the latency: the unit rests after a step; a single work request does not notice. */
void interval_above_latency()
{
	const Stage &rx = stages[5];
	Figures f = usual, g = usual;

	f["interval"] = 9000;
	g["interval"] = 1;
	const Measured slow = measure(rx, f), fast = measure(rx, g);

	CU_ASSERT(near(slow.one, fast.one, 1));
	CU_ASSERT(near(slow.each, slow.interval, 1));
}

/* Without them a stage does one step at a time: as if the interval were the latency and there were one unit. */
void defaults()
{
	for (const Stage &s : stages) {
		const Figures latency_only = {{"fixed", 1500}, {"per_item", 200}, {"width", 4}};
		Figures all = latency_only;

		all.insert({{"interval", 1500},
			    {"interval_per_item", 200},
			    {"interval_width", 4},
			    {"units", 1}});
		const Run a = run(s.stage, latency_only, s.work), b = run(s.stage, all, s.work);

		CU_ASSERT(a.cqe == b.cqe);
		CU_ASSERT_EQUAL(a.steps.size(), b.steps.size());
	}
}

/* When the WRITE of a QP is through, while another QP has been read before it, or not. */
hca_ps second_queue(const Figures &f, bool other)
{
	OwnProfile profile(sets_of(HCA_STAGE_FETCH, f));
	Options opt;

	opt.hcas = 1;
	opt.timeout = 20;
	opt.profile = profile.path();
	Fabric fabric(opt);
	Node &a = *fabric.nodes[0], &b = *fabric.nodes[1];

	if (other) {
		a.put(WRITE, a.at(0), b.at(0), b.key, 64);
		a.ring();
	}
	b.put(WRITE, b.at(128), a.at(128), a.key, 64);
	b.ring();
	return wait_all(fabric, b, 1).back();
}

hca_ps second_queue(double units, bool other)
{
	Figures f = usual;

	f["units"] = units;
	return second_queue(f, other);
}

/* A queue has one read at a time, so the interval of FETCH is seen between queues. */
void fetch_of_two()
{
	const double apart = interval(usual, {64, 1, 0});
	const double alone = double(second_queue(1, false)) / CYCLE;

	CU_ASSERT(near(double(second_queue(1, true)) / CYCLE - alone, apart,
		       60)); /* its doorbell comes 50 ns later */
	CU_ASSERT(near(double(second_queue(2, true)) / CYCLE - alone, 0, 20));
}

/* Each figure of its interval: between the reads of two queues. */
void fetch_interval()
{
	const hca_work read = {64, 1, 0};
	const double base = double(second_queue(1, true)) / CYCLE;

	for (const char *key : {"interval", "interval_per_item", "interval_width"}) {
		Figures f = usual;

		f[key] = 2 * f[key];
		CU_ASSERT(near(double(second_queue(f, true)) / CYCLE - base,
			       interval(f, read) - interval(usual, read), 4));
		CU_ASSERT(near(double(second_queue(f, false)), double(second_queue(1, false)), 4 * CYCLE));
	}
}

/* Cycles of a WRITE of so many packets of MTU bytes. */
double write_of(uint32_t packets, hca_stage stage, double items_again)
{
	Figures f = usual;

	f["items_again"] = items_again;
	return double(run(stage, f, {WRITE, 1, packets * MTU, false}).cqe.back()) / CYCLE;
}

/* What the first packet of a message takes for its descriptor and SGE, further ones take a share of. */
void items_again()
{
	const double items = 2 * usual.at("interval_per_item");
	const double all = write_of(9, HCA_STAGE_PACKETISE, 1), half = write_of(9, HCA_STAGE_PACKETISE, 0.5),
		     none = write_of(9, HCA_STAGE_PACKETISE, 0);

	/* The last packet has no interval behind it, but its latency. */
	const double last = 2 * usual.at("per_item");

	CU_ASSERT(near(all - none, 7 * items + last, 16));
	CU_ASSERT(near(all - half, (7 * items + last) / 2, 16));
	CU_ASSERT(near(write_of(1, HCA_STAGE_PACKETISE, 0), write_of(1, HCA_STAGE_PACKETISE, 1), 1));
	CU_ASSERT(near(write_of(9, HCA_STAGE_TX, 0), write_of(9, HCA_STAGE_TX, 1), 1));
}

/* What doubling a figure of RX adds to the time of a WRITE or READ of so many packets, in cycles. */
double rx_adds(const char *key, uint8_t op, uint32_t packets)
{
	Figures f = usual;
	const Work work = {op, 1, packets * MTU, false};
	const hca_ps before = run(HCA_STAGE_RX, f, work).cqe.back();

	f[key] *= 2;
	return (double(run(HCA_STAGE_RX, f, work).cqe.back()) - double(before)) / CYCLE;
}

/*
 * RX takes up the descriptor of a READ with the first packet of its response, and none with a WRITE; core.packets looks at
 * each kind of packet.
 */
void rx_descriptors()
{
	CU_ASSERT(near(rx_adds("per_item", READ, 1), usual.at("per_item"), 4));
	CU_ASSERT(near(rx_adds("interval_per_item", READ, 9), usual.at("interval_per_item"), 4));
	CU_ASSERT(near(rx_adds("interval_per_item", READ, 1), 0, 1));
	CU_ASSERT(near(rx_adds("per_item", WRITE, 9), 0, 1));
	CU_ASSERT(near(rx_adds("interval_per_item", WRITE, 9), 0, 1));
}

/* The latency of FETCH, which only a doorbell needs. */
void fetch_latency()
{
	const Run base = run(HCA_STAGE_FETCH, usual, {WRITE, 1, 64, false});

	for (const auto &[key, value] : usual) {
		Figures f = usual;

		f[key] = 2 * value;
		const Run r = run(HCA_STAGE_FETCH, f, {WRITE, 1, 64, false});

		CU_ASSERT(near((double(r.cqe[0]) - double(base.cqe[0])) / CYCLE,
			       latencies(HCA_STAGE_FETCH, f, r) - latencies(HCA_STAGE_FETCH, usual, base),
			       4));
	}
}

/* One WRITE, or two of two QPs, with a notification for each: when the last interrupt came, in cycles. */
double interrupted(const Figures &f, unsigned int writers, double *latency_of)
{
	OwnProfile profile(sets_of(HCA_STAGE_EVENT, f));
	Options opt;

	opt.hcas = 1;
	opt.timeout = 20;
	opt.profile = profile.path();
	Fabric fabric(opt);

	for (unsigned int i = 0; i < writers; i++) {
		Node &n = *fabric.nodes[i];

		n.arm();
		n.put(WRITE, n.at(0), fabric.nodes[1 - i]->at(64), fabric.nodes[1 - i]->key, 64);
		n.ring();
	}
	while (fabric.irqs.size() < writers) {
		if (machine_run(fabric.m, CYCLE) != MACHINE_ACTIVE)
			machine_advance(fabric.m, machine_now(fabric.m) + CYCLE);
		CU_ASSERT_FATAL(machine_now(fabric.m) < 10000000000);
	}
	*latency_of = latencies(HCA_STAGE_EVENT, f, {{}, fabric.steps});
	return double(machine_now(fabric.m)) / CYCLE;
}

/* Each figure of EVENT: the first interrupt comes after its latency, the next one an interval later. */
void events()
{
	double took, both;
	const double base = interrupted(usual, 1, &took), second = interrupted(usual, 2, &both) - base;

	CU_ASSERT(near(second, interval(usual, {64, 1, 0}), 60)); /* its doorbell comes 50 ns later */
	for (const auto &[key, value] : usual) {
		Figures f = usual;
		double latency_now;

		f[key] = 2 * value;
		const double one = interrupted(f, 1, &latency_now), two = interrupted(f, 2, &both);

		CU_ASSERT(near(one - base, latency_now - took, 4));
		CU_ASSERT(near(two - one, key == "units" ? 0 : interval(f, {64, 1, 0}), 60));
	}
}

/* Order: data of many sizes is where it belongs, and each CQE in its turn, however many units there are. */
void order()
{
	for (const Stage &s : stages) {
		const Figures f = {{"fixed", 50},   {"per_item", 7},          {"width", 1},
				   {"interval", 1}, {"interval_per_item", 0}, {"interval_width", 0},
				   {"units", 7}};
		OwnProfile profile(sets_of(s.stage, f));
		Options opt;

		opt.profile = profile.path();
		Fabric fabric(opt);
		Node &a = *fabric.nodes[0], &b = *fabric.nodes[1];

		fill(a, 3, 40000);
		for (uint32_t i = 0; i < 32; i++)
			a.put(WRITE, a.at(1000 * i), b.at(1000 * i), b.key, i % 3 ? 1000 : 5000);
		a.ring();
		for (uint32_t i = 0; i < 32; i++) {
			const hcasim_cqe *cqe = fabric.wait(0);

			CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
			CU_ASSERT_EQUAL(le16toh(cqe->wqe_index), i);
		}
		CU_ASSERT(placed(a, 0, b, 0, 35000));
	}
}

} // namespace

int main()
{
	return run_suite("stages", {{"doubled", doubled},
				    {"many units", many_units},
				    {"interval above latency", interval_above_latency},
				    {"defaults", defaults},
				    {"fetch of two", fetch_of_two},
				    {"fetch interval", fetch_interval},
				    {"items again", items_again},
				    {"rx descriptors", rx_descriptors},
				    {"fetch latency", fetch_latency},
				    {"events", events},
				    {"order", order}});
}
