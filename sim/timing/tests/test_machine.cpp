// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Whole machines with real cores: work done, time, timers, faults, traces, clean ends. */
#include "devices/driver.h"
#include "devices/family.h"
#include "suite.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "fabric.h"
#include "own_profile.h"
#include "scratch.h"

static constexpr hca_ps US = 1000000;

static void write_of(uint32_t len)
{
	Fabric f;
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	fill(a, 1, len);
	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(64), b.key, len);
	a.ring();
	const hcasim_cqe *cqe = f.wait(0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
	CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_OK);
	CU_ASSERT(placed(a, 0, b, 64, len));
	CU_ASSERT_PTR_NULL(f.wait(0));
}

static void writes()
{
	for (uint32_t len : {0u, 1u, 64u, 1024u, 1025u, 100000u})
		write_of(len);
}

static void reads()
{
	Fabric f;
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	fill(b, 2, 50000);
	a.put(HCASIM_WQE_OP_RDMA_READ, a.at(8), b.at(0), b.key, 50000);
	a.ring();
	const hcasim_cqe *cqe = f.wait(0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
	CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_OK);
	CU_ASSERT(placed(b, 0, a, 8, 50000));
}

static void loopback()
{
	Options opt;

	opt.hcas = 1;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	fill(a, 3, 5000);
	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 5000);
	a.ring();
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
	CU_ASSERT(placed(a, 0, b, 0, 5000));
}

/* Both rings turn over several times while 16 WQEs at a time are under way. */
static void many()
{
	Fabric f;
	Node &a = *f.nodes[0], &b = *f.nodes[1];
	unsigned int done = 0;

	fill(a, 4, 64);
	for (unsigned int batch = 0; batch < 60; batch++) {
		for (int i = 0; i < 16; i++)
			a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(64 * i), b.key, 64);
		a.ring();
		for (int i = 0; i < 16; i++) {
			const hcasim_cqe *cqe = f.wait(0);

			CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
			CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_OK);
			CU_ASSERT_EQUAL(le16toh(cqe->wqe_index), uint16_t(done++));
		}
	}
	CU_ASSERT(placed(a, 0, b, 64 * 15, 64));
}

/* Order of magnitude of what the profile's adapters do: half a round trip of a 64 B WRITE in about 1 us. */
static void latency_is_plausible()
{
	Fabric f;
	Node &a = *f.nodes[0], &b = *f.nodes[1];
	hca_ps start = machine_now(f.m);

	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 64);
	a.ring();
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
	hca_ps took = machine_now(f.m) - start;

	CU_ASSERT(took > US && took < 10 * US);
}

static void blueflame()
{
	Fabric f;
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	fill(a, 5, 100);
	a.push(a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 100), 8);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
	CU_ASSERT(placed(a, 0, b, 0, 100));
	CU_ASSERT_EQUAL(a.counters().bf_pushes, 1);
	CU_ASSERT_EQUAL(a.counters().bf_torn, 0);
}

/* The buffer is written out by its age before the last store comes: a doorbell gets the WQE fetched. */
static void torn_blueflame()
{
	Fabric f;
	Node &a = *f.nodes[0], &b = *f.nodes[1];
	uint8_t *wqe = a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 100);

	fill(a, 6, 100);
	a.push(wqe, 5); /* of the six that hold the WQE */
	f.settle();
	a.ring();
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.wait(0));
	CU_ASSERT(placed(a, 0, b, 0, 100));
	CU_ASSERT_PTR_NULL(f.wait(0)); /* once */
	CU_ASSERT_EQUAL(a.counters().bf_pushes, 0);
}

static void interrupt()
{
	Fabric f;
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	a.arm();
	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 8);
	a.ring();
	f.settle();
	CU_ASSERT_EQUAL_FATAL(f.irqs.size(), 1);
	CU_ASSERT_EQUAL(f.irqs[0], 0u << 16 | 3);
	CU_ASSERT_EQUAL(a.eqe(0)->type, HCASIM_EQE_TYPE_COMP);
	CU_ASSERT_EQUAL(le32toh(a.eqe(0)->number), a.cqn);
	CU_ASSERT_PTR_NOT_NULL(a.poll());
}

static void idle_time()
{
	Fabric f;

	CU_ASSERT_EQUAL(f.settle(), MACHINE_IDLE);
	CU_ASSERT_EQUAL(machine_next_timer(f.m), HCA_PS_NEVER);
	hca_ps now = machine_now(f.m);

	machine_advance(f.m, now + 123456789);
	CU_ASSERT_EQUAL(machine_now(f.m), now + 123456789);
	machine_advance(f.m, now); /* never back */
	CU_ASSERT_EQUAL(machine_now(f.m), now + 123456789);
	CU_ASSERT_EQUAL(f.settle(), MACHINE_IDLE);
}

static void budget()
{
	Fabric f;
	Node &a = *f.nodes[0], &b = *f.nodes[1];
	unsigned int turns = 0;

	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 100000);
	a.ring();
	for (; turns < 100000; turns++) {
		hca_ps before = machine_now(f.m);

		if (machine_run(f.m, 10000) != MACHINE_ACTIVE)
			break;
		CU_ASSERT(machine_now(f.m) > before);
		CU_ASSERT(machine_now(f.m) <= before + US);
		before = machine_now(f.m);
		machine_advance(f.m, before + US); /* not while there is work */
		CU_ASSERT_EQUAL(machine_now(f.m), before);
	}
	CU_ASSERT(turns > 100 && turns < 100000);
	CU_ASSERT_PTR_NOT_NULL(a.poll());
}

/* No answer ever comes: only the ACK timer is pending. Time stops at it, and goes on through the retries. */
static void timers()
{
	Options opt;

	opt.fault = "loss=1";
	opt.retry_cnt = 2;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 8);
	a.ring();
	CU_ASSERT_EQUAL(f.settle(), MACHINE_TIMERS);
	hca_ps deadline = machine_next_timer(f.m), now = machine_now(f.m);

	CU_ASSERT_FATAL(deadline != HCA_PS_NEVER && deadline > now);
	CU_ASSERT(deadline > 4 * 1024 * US &&
		  deadline < 40 * 1024 * US); /* 4.096 us * 2^10, up to four times */
	machine_advance(f.m, now + (deadline - now) / 2);
	CU_ASSERT_EQUAL(machine_now(f.m), now + (deadline - now) / 2);
	CU_ASSERT_EQUAL(f.settle(), MACHINE_TIMERS);
	CU_ASSERT_EQUAL(a.counters().local_ack_timeout_err, 0);
	machine_advance(f.m, deadline + 1000 * US);
	CU_ASSERT_EQUAL(machine_now(f.m), deadline); /* not beyond it */
	CU_ASSERT_EQUAL(a.counters().local_ack_timeout_err, 1);
	const hcasim_cqe *cqe = f.wait(0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
	CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_RETRY_EXC_ERR);
	CU_ASSERT(a.counters().local_ack_timeout_err == 2 &&
		  a.counters().req_transport_retries_exceeded == 1);
	CU_ASSERT_EQUAL(f.settle(), MACHINE_IDLE);
}

struct Outcome {
	hca_ps end;
	uint64_t sent, again;
	bool operator==(const Outcome &o) const
	{
		return end == o.end && sent == o.sent && again == o.again;
	}
};

static Outcome lossy_run(uint64_t seed, const std::string &trace_dir = "")
{
	Options opt;

	opt.fault = "loss=0.03,dup=0.03,reorder=0.03,corrupt=0.03";
	opt.seed = seed;
	opt.trace_dir = trace_dir;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	for (unsigned int i = 0; i < 60; i++) {
		bool read = i % 3 == 2;
		Node &from = read ? b : a, &to = read ? a : b;

		fill(from, i, 9000);
		memset(&to.buffer[20000], 0, 9001);
		a.put(read ? HCASIM_WQE_OP_RDMA_READ : HCASIM_WQE_OP_RDMA_WRITE, a.at(read ? 20000 : 0),
		      b.at(read ? 0 : 20000), b.key, 9000);
		a.ring();
		const hcasim_cqe *cqe = f.wait(0);

		CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
		CU_ASSERT_EQUAL_FATAL(cqe->status, HCASIM_CQE_STATUS_OK);
		CU_ASSERT(placed(from, 0, to, 20000, 9000));
	}
	return {machine_now(f.m), a.counters().tx_packets + b.counters().tx_packets,
		a.counters().retransmissions};
}

static void faults()
{
	Outcome first = lossy_run(11);

	CU_ASSERT(first.again > 0);
	CU_ASSERT(first == lossy_run(11));
	CU_ASSERT_FALSE(first == lossy_run(12));
}

static size_t lines(const std::filesystem::path &path)
{
	std::ifstream in(path);
	std::string line;
	size_t n = 0;

	while (std::getline(in, line))
		n++;
	return n;
}

/* Traces are there, and change nothing. */
static void traces()
{
	const Scratch dir;
	const std::filesystem::path &path = dir.path();
	Outcome plain = lossy_run(5), traced = lossy_run(5, path);

	CU_ASSERT(plain == traced);
	CU_ASSERT_EQUAL(lines(path / "wqe.log"), 60);
	CU_ASSERT_EQUAL(lines(path / "cqe.log"), 60);
	CU_ASSERT(lines(path / "tlp.log") > 60 * 20);
	CU_ASSERT(lines(path / "fault.log") > 10);
	CU_ASSERT(std::filesystem::file_size(path / "wire.pcap") > 60 * 9000);
}

/* Every buffer and credit as small as it can be: slow, but nothing waits for ever. */
static void smallest_buffers()
{
	OwnProfile profile({{"tags", "1"},
			    {"posted_headers", "1"},
			    {"posted_data", "4096"},
			    {"nonposted_headers", "1"},
			    {"transmit_buffer", "0"},
			    {"interleave", "1"},
			    {"wc_buffers", "1"},
			    {"tx_buffer", "1"},
			    {"doorbell", "1"},
			    {"fetch", "1"},
			    {"gather", "1"},
			    {"tx", "1"},
			    {"rx", "2"},
			    {"rx_writes", "1"},
			    {"cqe_writes", "1"}});
	Options opt;

	opt.profile = profile.path();
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	for (unsigned int turn = 0; turn < 20; turn++) {
		fill(a, turn, 20000);
		for (Node *n : {&a, &b}) {
			Node &peer = n == &a ? b : a;

			for (unsigned int i = 0; i < 8; i++)
				n->put(i % 2 ? HCASIM_WQE_OP_RDMA_READ : HCASIM_WQE_OP_RDMA_WRITE,
				       n->at(i % 2 ? 100000 : 0), peer.at(i % 2 ? 0 : 50000), peer.key,
				       20000);
			n->ring();
		}
		for (unsigned int n = 0; n < 2; n++) {
			for (unsigned int i = 0; i < 8; i++) {
				const hcasim_cqe *cqe = f.wait(n);

				CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
				CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_OK);
			}
		}
		CU_ASSERT(placed(a, 0, b, 50000, 20000));
		CU_ASSERT(placed(a, 0, b, 100000, 20000));
	}
	CU_ASSERT_EQUAL(a.counters().local_ack_timeout_err + b.counters().local_ack_timeout_err, 0);
}

static void clock_read(void *arg, const void *data, uint32_t size)
{
	CU_ASSERT_EQUAL(size, 8);
	memcpy(arg, data, 8);
}

static void device_clock()
{
	Fabric f;
	uint64_t clock = 0;

	machine_advance(f.m, 5 * US);
	machine_mmio_read(f.m, 0, 1, HCASIM_BAR_REGS, HCASIM_REG_CLOCK_PS, 8, clock_read, &clock);
	CU_ASSERT_EQUAL(clock, 0); /* not before the completion */
	f.settle();
	CU_ASSERT(clock > 5 * US && clock < machine_now(f.m));
}

static void identities()
{
	Options opt;

	opt.hcas = 16;
	Fabric f(opt);

	CU_ASSERT_EQUAL_FATAL(machine_num_hcas(f.m), 16);
	for (unsigned int i = 0; i < 16; i++) {
		const hca_config *a = machine_hca_config(f.m, i);

		CU_ASSERT_STRING_EQUAL(a->name, ("hcasim" + std::to_string(i)).c_str());
		CU_ASSERT_EQUAL(a->mac[0][0] & 3, 2); /* local, one station */
		for (unsigned int j = 0; j < i; j++) {
			const hca_config *b = machine_hca_config(f.m, j);

			CU_ASSERT(memcmp(a->mac[0], b->mac[0], 6) != 0 && a->node_guid != b->node_guid);
		}
	}
}

/* Machines end with work, frames and loads under way; the sanitizers of that build watch. */
static void unfinished()
{
	for (hca_ps when = 0; when < 6 * US; when += US / 4) {
		Fabric f;
		Node &a = *f.nodes[0], &b = *f.nodes[1];
		uint64_t clock;

		a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 100000);
		a.put(HCASIM_WQE_OP_RDMA_READ, a.at(0), b.at(0), b.key, 100000);
		a.ring();
		machine_run(f.m, when);
		machine_mmio_read(f.m, 0, 0, HCASIM_BAR_REGS, HCASIM_REG_CLOCK_PS, 8, clock_read, &clock);
	}
	CU_PASS("no leak, no crash");
}

static void refused(const machine_config &cfg, std::initializer_list<const char *> parts)
{
	static const machine_host_ops host = {};
	char err[300] = "";

	CU_ASSERT_PTR_NULL_FATAL(machine_create(&cfg, &host, nullptr, err, sizeof(err)));
	for (const char *part : parts)
		CU_ASSERT(contains(err, part));
}

static void bad_configurations()
{
	machine_config good = {};

	good.num_hcas = 1;
	good.profile = DEFAULT_PROFILE;
	good.personality = device_family(DEVICE_FAMILY_DEFAULT)->personality;
	machine_config cfg = good;

	cfg.num_hcas = 0;
	refused(cfg, {"hcas", "0"});
	cfg.num_hcas = 17;
	refused(cfg, {"hcas", "17", "16"});
	cfg = good;
	cfg.profile = nullptr;
	refused(cfg, {"profile"});
	cfg.profile = "nowhere.yaml";
	refused(cfg, {"profile", "nowhere.yaml"});
	cfg = good;
	cfg.personality = nullptr;
	refused(cfg, {"personality"});
	cfg = good;
	cfg.fault = "loss=2";
	refused(cfg, {"fault", "loss", "2"});
	cfg = good;
	cfg.trace_dir = "no/such/folder";
	refused(cfg, {"trace", "no/such/folder"});
	Fabric f; /* and after all that, one that works; but not two */

	refused(good, {"machine", "already"});
}

int main()
{
	return run_suite("machine", {{"WRITEs", writes},
				     {"READs", reads},
				     {"loopback", loopback},
				     {"many", many},
				     {"latency is plausible", latency_is_plausible},
				     {"BlueFlame", blueflame},
				     {"torn BlueFlame", torn_blueflame},
				     {"interrupt", interrupt},
				     {"idle time", idle_time},
				     {"budget", budget},
				     {"timers", timers},
				     {"faults", faults},
				     {"traces", traces},
				     {"smallest buffers", smallest_buffers},
				     {"device clock", device_clock},
				     {"identities", identities},
				     {"unfinished", unfinished},
				     {"bad configurations", bad_configurations}});
}
