// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Back-pressure from the wire to the CPU: the send pipeline is full, DOORBELL waits, its FIFO is full, the adapter keeps
 * stores and their credits, the root port keeps the next ones, and the CPU stalls.
 */
#include "suite.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "fabric.h"
#include "link_bench.h"
#include "own_profile.h"

using namespace hcasim;

namespace
{

constexpr uint64_t DOORBELL = HCASIM_UAR_PAGE_SIZE + HCASIM_UAR_DB_SQ;

Profile small()
{
	Profile p = link_profile();

	p.fifo.doorbell = 2;
	p.fifo.doorbell_waits = 1;
	p.pcie.store_headers = 3;
	p.pcie.store_data = 4096;
	p.root.store_queue = 4;
	return p;
}

void store(LinkBench &b, unsigned int n)
{
	const uint64_t db = 0;

	while (n--)
		b.root->store(0, HCASIM_BAR_UAR, DOORBELL, &db, sizeof(db), false);
}

/* Where the stores are. */
struct Places {
	size_t fifo, adapter, root, cpu;

	bool operator==(const Places &o) const
	{
		return fifo == o.fifo && adapter == o.adapter && root == o.root && cpu == o.cpu;
	}
};

Places places(LinkBench &b)
{
	return {hca_level_now(b.core, HCA_LEVEL_DOORBELL), b.endpoint->held(), b.root->queued(),
		b.root->stalled()};
}

Places after_stores(const Profile &p, unsigned int n)
{
	LinkBench b(p);

	store(b, n);
	b.run();
	return places(b);
}

/* Each figure holds back what it says, and twice as much when it is doubled. */
void doubled()
{
	Profile p = small();

	CU_ASSERT(after_stores(p, 30) == Places({2, 3, 4, 21}));
	p.fifo.doorbell = 4;
	CU_ASSERT(after_stores(p, 30) == Places({4, 3, 4, 19}));
	p = small();
	p.pcie.store_headers = 6;
	CU_ASSERT(after_stores(p, 30) == Places({2, 6, 4, 18}));
	p = small();
	p.root.store_queue = 8;
	CU_ASSERT(after_stores(p, 30) == Places({2, 3, 8, 17}));
	p = small();
	p.pcie.store_headers = 100;
	p.pcie.store_data = 64; /* a credit is 16 bytes */
	CU_ASSERT(after_stores(p, 30) == Places({2, 4, 4, 20}));
	p.pcie.store_data = 128;
	CU_ASSERT(after_stores(p, 30) == Places({2, 8, 4, 16}));
	p = small();
	p.fifo.doorbell_waits = 0; /* the adapter reads the records of doorbells that did not fit */
	CU_ASSERT(after_stores(p, 30) == Places({2, 0, 0, 0}));
}

/* For each store that the adapter takes, one moves up in each place; a load comes last. */
void goes_on()
{
	LinkBench b(small());
	bool loaded = false;

	store(b, 20);
	b.root->load(
		0, HCASIM_BAR_REGS, HCASIM_REG_FW_VER, 8,
		[](void *arg, const void *, uint32_t) { *static_cast<bool *>(arg) = true; }, &loaded);
	b.run();
	CU_ASSERT(places(b) == Places({2, 3, 4, 12}));
	for (size_t cpu = 12; cpu-- > 0;) {
		hca_stage_step(b.core, HCA_STAGE_DOORBELL);
		b.endpoint->take_requests();
		b.run();
		CU_ASSERT(places(b) == Places({2, 3, 4, cpu}));
		CU_ASSERT_FALSE(loaded);
	}
	while (hca_stage_pending(b.core, HCA_STAGE_DOORBELL, nullptr)) {
		CU_ASSERT_FALSE(loaded);
		hca_stage_step(b.core, HCA_STAGE_DOORBELL);
		b.endpoint->take_requests();
		b.run();
		if (loaded)
			break;
	}
	CU_ASSERT(loaded);
	struct hca_counters counters;

	hca_counters(b.core, &counters);
	CU_ASSERT_EQUAL(counters.doorbells, 20);
}

hca_ps time_of(const Profile &p, unsigned int n)
{
	LinkBench b(p);

	store(b, n);
	b.run();
	return now_ps();
}

/* With one credit, a store leaves when the one before has arrived and its credit is back; with two, two do. */
void credits_limit_the_rate()
{
	Profile p = link_profile();

	p.pcie.store_headers = 1;
	const double round = 2 * p.pcie.latency + p.root.store_latency;
	const double one = double(time_of(p, 101) - time_of(p, 1)) / 100;

	p.pcie.store_headers = 2;
	const double two = double(time_of(p, 101) - time_of(p, 1)) / 50;

	CU_ASSERT(one > round && one < round + 10000);
	CU_ASSERT(two > round && two < round + 10000);
}

/* When the store of a BlueFlame line that is not full, or the doorbell, has come to the adapter; a load, to the CPU; a read, back. */
struct Arrivals {
	hca_ps part_of_line, doorbell, load, read;
};

Arrivals arrivals(const Profile &p)
{
	Arrivals a;
	const uint64_t data = 0;

	a.doorbell = time_of(p, 1);
	{
		LinkBench b(p);

		b.root->store(0, HCASIM_BAR_UAR, HCASIM_UAR_PAGE_SIZE + 0x400, &data, 8, true);
		b.run();
		a.part_of_line = now_ps();
	}
	{
		LinkBench b(p);

		b.root->load(
			0, HCASIM_BAR_REGS, HCASIM_REG_FW_VER, 8,
			[](void *arg, const void *, uint32_t) { *static_cast<hca_ps *>(arg) = now_ps(); },
			&a.load);
		b.run();
	}
	LinkBench b(p);
	auto read = b.job(false, 1, {{0, 64}});

	read->on_done = [&a](Job &) { a.read = now_ps(); };
	b.submit(*read);
	b.run();
	return a;
}

/* `wc_age`: stores that stay in a buffer, and no others. `store_latency`: all that goes down, and nothing that comes up. */
void times_of_the_cpu()
{
	const Profile usual = link_profile();
	Profile older = usual, later = usual;

	older.root.wc_age *= 2;
	later.root.store_latency *= 2;
	const Arrivals one = arrivals(usual), age = arrivals(older), latency = arrivals(later);

	CU_ASSERT_EQUAL(age.part_of_line - one.part_of_line, hca_ps(usual.root.wc_age));
	CU_ASSERT_EQUAL(age.doorbell, one.doorbell);
	CU_ASSERT_EQUAL(age.load, one.load);
	CU_ASSERT_EQUAL(age.read, one.read);
	CU_ASSERT_EQUAL(latency.part_of_line - one.part_of_line, hca_ps(usual.root.store_latency));
	CU_ASSERT_EQUAL(latency.doorbell - one.doorbell, hca_ps(usual.root.store_latency));
	CU_ASSERT_EQUAL(latency.load - one.load, hca_ps(usual.root.store_latency));
	CU_ASSERT_EQUAL(latency.read, one.read);
}

/* A queue of one store keeps the link busy: only the CPU notices it. */
void queue_costs_no_time()
{
	Profile p = link_profile();
	const hca_ps usual = time_of(p, 100);

	p.root.store_queue = 1;
	CU_ASSERT_EQUAL(time_of(p, 100), usual);
	LinkBench b(p);

	store(b, 100);
	CU_ASSERT(b.root->stalled() > 50);
	b.run();
	CU_ASSERT_EQUAL(b.root->stalled(), 0);
}

/* Write-combining buffers take stores while nothing can leave; then the CPU stalls, and its later stores with it. */
void buffers_first()
{
	Profile p = small();

	p.root.wc_buffers = 2;
	LinkBench b(p);
	const uint64_t data = 0;
	auto push = [&](uint64_t offset) {
		b.root->store(0, HCASIM_BAR_UAR, HCASIM_UAR_PAGE_SIZE + offset, &data, 8, true);
	};

	store(b, 9);
	b.run();
	CU_ASSERT(places(b) == Places({2, 3, 4, 0}));
	push(0x400);
	push(0x440);
	push(0x448);
	b.run(); /* both lines are older than wc_age, and stay */
	CU_ASSERT(places(b) == Places({2, 3, 4, 0}));
	push(0x480);
	push(0x408); /* a buffer has this line, but the CPU stalls */
	b.run();
	CU_ASSERT(places(b) == Places({2, 3, 4, 2}));
	hca_stage_step(b.core, HCA_STAGE_DOORBELL);
	b.endpoint->take_requests();
	b.run();
	CU_ASSERT(places(b) ==
		  Places({2, 3, 4, 1})); /* the first line has left, the next one has its buffer */
}

std::string slurp(const std::string &path)
{
	std::ifstream in(path);

	return {std::istreambuf_iterator<char>(in), {}};
}

/* With a slow DOORBELL, and stores that wait for it, or not. All is done, and events.log has the causes. */
void slow_doorbell(bool stalls)
{
	std::vector<std::string> sets = {"fifo.doorbell=2", "engine.stages.doorbell.fixed=1000"};

	if (stalls)
		for (const char *set :
		     {"fifo.doorbell_waits=1", "pcie.store_headers=3", "root.store_queue=4"})
			sets.emplace_back(set);
	OwnProfile profile(sets);
	Options opt;

	opt.profile = profile.path();
	opt.trace_dir = profile.folder() + "/trace";
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	fill(a, 1, 4000);
	for (uint32_t i = 0; i < 40; i++) {
		a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(100 * i), b.at(100 * i), b.key, 100);
		a.ring();
	}
	for (uint32_t i = 0; i < 40; i++)
		CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
	CU_ASSERT(placed(a, 0, b, 0, 4000));
	machine_destroy(f.m);
	f.m = nullptr;
	const std::string log = slurp(opt.trace_dir + "/events.log");

	CU_ASSERT(log.size() > 1000);
	for (const char *cause : {"\"store_queue\"", "\"store_credits\""})
		CU_ASSERT_EQUAL(log.find(cause) != std::string::npos, stalls);
}

void on_a_machine()
{
	slow_doorbell(true);
	slow_doorbell(false);
}

/* ---- From the wire ---- */

/* Everything in the adapter holds two, so that few WQEs fill it. */
const std::vector<std::string> NARROW = {
	"wire.tx_buffer=2",   "fifo.tx=2", "fifo.gather=2",         "fifo.posted=4",
	"fifo.doorbell=2",    "fifo.rx=2", "fifo.doorbell_waits=1", "pcie.store_headers=3",
	"root.store_queue=4",
};
const std::string SLOW_WIRE = "wire.rate=0.1", SLOW_PEER = "engine.stages.rx.fixed=200000";
constexpr hca_ps SHORTLY = 20000000;
constexpr hca_ps WHILE =
	100000000; /* no frame is through: one takes 330 us of a slow wire, or 468 us of a slow peer */

struct Reached {
	uint64_t doorbells; /* that the adapter has taken */
	std::string log;    /* events.log */
};

/* 40 WRITEs of 4 KiB, each with a doorbell of its own, on a wire that is slow or paused. In the end all of them are done. */
Reached from_the_wire(const std::string &slow, const std::vector<std::string> &changed = {})
{
	std::vector<std::string> sets = NARROW;

	sets.push_back(slow);
	sets.insert(sets.end(), changed.begin(), changed.end());
	OwnProfile profile(sets);
	Options opt;
	Reached reached;

	opt.profile = profile.path();
	opt.trace_dir = profile.folder() + "/trace";
	opt.timeout = 20;
	opt.path_mtu = 5;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	fill(a, 1, 4096);
	for (uint32_t i = 0; i < 40; i++) {
		a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 4096);
		a.ring();
	}
	while (machine_now(f.m) < WHILE)
		if (machine_run(f.m, 1000) != MACHINE_ACTIVE)
			machine_advance(f.m, machine_now(f.m) + 1000);
	reached.doorbells = a.counters().doorbells;
	for (uint32_t i = 0; i < 40; i++)
		CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
	CU_ASSERT(placed(a, 0, b, 0, 4096));
	machine_destroy(f.m);
	f.m = nullptr;
	reached.log = slurp(opt.trace_dir + "/events.log");
	return reached;
}

/* How long something stalled because of it; the first places are stalled shortly by any burst. */
hca_ps stalled(const Reached &r, const std::string &where, const std::string &cause)
{
	const std::string what = "\"where\":\"" + where + "\",\"cause\":\"" + cause + "\"";
	std::istringstream lines(r.log);
	hca_ps sum = 0;

	for (std::string line; std::getline(lines, line);) {
		unsigned long long start, end;

		if (line.find(what) == std::string::npos)
			continue;
		CU_ASSERT_FATAL(sscanf(line.c_str(), "{\"event\":\"stall\",\"ps\":%llu,\"end\":%llu", &start,
				       &end) == 2);
		sum += end - start;
	}
	return sum;
}

/* One by one, from the wire to the CPU; without the figure of the queue the chain ends at the doorbells. */
void slow_wire()
{
	const Reached full = from_the_wire(SLOW_WIRE), open = from_the_wire(SLOW_WIRE, {"fifo.posted=0"});
	const struct {
		const char *where, *cause;
		bool behind; /* of DOORBELL */
	} chain[] = {
		{"tx", "port", false},
		{"gather", "tx_fifo", false},
		{"packetise", "gather_fifo", false},
		{"doorbell", "posted", true},
		{"store", "store_credits", true},
		{"cpu", "store_queue", true},
	};

	for (const auto &link : chain) {
		CU_ASSERT(stalled(full, link.where, link.cause) > WHILE);
		CU_ASSERT_EQUAL(stalled(open, link.where, link.cause) > SHORTLY, !link.behind);
	}
	CU_ASSERT_EQUAL(open.doorbells, 40);
}

/* Each place of the chain holds twice as many doorbells back when it is twice as large. */
void each_place()
{
	const uint64_t usual = from_the_wire(SLOW_WIRE).doorbells;

	CU_ASSERT(usual > 8 && usual < 20);
	CU_ASSERT_EQUAL(from_the_wire(SLOW_WIRE, {"fifo.posted=8"}).doorbells, usual + 4);
	CU_ASSERT_EQUAL(from_the_wire(SLOW_WIRE, {"fifo.doorbell=4"}).doorbells, usual + 2);
	CU_ASSERT_EQUAL(from_the_wire(SLOW_WIRE, {"fifo.gather=4"}).doorbells, usual + 2);
	CU_ASSERT_EQUAL(from_the_wire(SLOW_WIRE, {"fifo.tx=4"}).doorbells, usual + 2);
	CU_ASSERT_EQUAL(from_the_wire(SLOW_WIRE, {"wire.tx_buffer=4"}).doorbells, usual + 2);
}

/* A peer that takes no more frames pauses the link, or the priority: it comes to the CPU like a slow wire. */
void paused_wire()
{
	for (const char *pfc : {"wire.pfc=0", "wire.pfc=1"}) {
		const Reached full = from_the_wire(SLOW_PEER, {pfc}),
			      open = from_the_wire(SLOW_PEER, {pfc, "fifo.posted=0"});

		CU_ASSERT(stalled(full, "doorbell", "posted") > WHILE);
		CU_ASSERT(stalled(full, "cpu", "store_queue") > WHILE);
		CU_ASSERT(full.doorbells < 24);
		CU_ASSERT(stalled(open, "cpu", "store_queue") < SHORTLY);
		CU_ASSERT_EQUAL(open.doorbells, 40);
	}
}

} // namespace

int main()
{
	return run_suite("stores", {{"doubled", doubled},
				    {"goes on", goes_on},
				    {"credits limit the rate", credits_limit_the_rate},
				    {"times of the CPU", times_of_the_cpu},
				    {"queue costs no time", queue_costs_no_time},
				    {"buffers first", buffers_first},
				    {"on a machine", on_a_machine},
				    {"slow wire", slow_wire},
				    {"each place", each_place},
				    {"paused wire", paused_wire}});
}
