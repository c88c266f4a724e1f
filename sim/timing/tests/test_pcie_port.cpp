// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* PCIe models of others (sim/timing/foreign) in place of the adapter's endpoint, and of the root port. */
#include "suite.h"

#include <cerrno>
#include <cstring>

#include "devices/driver.h"
#include "devices/family.h"
#include "fabric.h"
#include "own_profile.h"
#include "timing/foreign/copy_engine.h"
#include "timing/foreign/plain_host.h"

using namespace hcasim;

namespace
{

struct Device : pcie_parts {
	std::unique_ptr<PciePort> endpoint(unsigned int) override
	{
		return std::make_unique<CopyEngine>("copy_engine");
	}
};

/* A machine whose only device is a copy engine. */
struct Copier {
	static constexpr uint32_t PASID = 7;

	Device parts;
	std::vector<uint8_t> memory;
	std::vector<unsigned int> irqs;
	struct machine *m;

	Copier() : memory(8192)
	{
		static const machine_host_ops host = {
			[](void *ctx, uint32_t pasid, const hca_dma_seg *seg, uint32_t n, void *buf) {
				return static_cast<Copier *>(ctx)->move(pasid, seg, n, buf, false);
			},
			[](void *ctx, uint32_t pasid, const hca_dma_seg *seg, uint32_t n, const void *buf) {
				return static_cast<Copier *>(ctx)->move(pasid, seg, n,
									const_cast<void *>(buf), true);
			},
			nullptr,
			nullptr,
			[](void *ctx, unsigned int, unsigned int vector) {
				static_cast<Copier *>(ctx)->irqs.push_back(vector);
			},
			nullptr};
		machine_config cfg = {};
		char err[300] = "";

		cfg.num_hcas = 1;
		cfg.profile = DEFAULT_PROFILE;
		cfg.personality = device_family(DEVICE_FAMILY_DEFAULT)->personality;
		cfg.pcie = &parts;
		for (size_t i = 0; i < memory.size(); i++)
			memory[i] = uint8_t(i * 7 + (i >> 8));
		m = machine_create(&cfg, &host, this, err, sizeof(err));
		if (!m)
			fprintf(stderr, "%s\n", err);
		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	}
	~Copier()
	{
		machine_destroy(m);
	}
	int move(uint32_t pasid, const hca_dma_seg *seg, uint32_t n, void *buf, bool write)
	{
		uint8_t *p = static_cast<uint8_t *>(buf);

		for (uint32_t i = 0; i < n; p += seg[i++].len) {
			if (pasid != PASID || seg[i].addr + seg[i].len > memory.size())
				return -EFAULT;
			memcpy(write ? &memory[seg[i].addr] : p, write ? p : &memory[seg[i].addr],
			       seg[i].len);
		}
		return 0;
	}
	void store(CopyEngine::Register reg, uint64_t value)
	{
		machine_mmio_write(m, 0, 0, 0, reg * 8, &value, sizeof(value), false);
	}
	void copy(uint64_t to, uint64_t from, uint64_t len)
	{
		store(CopyEngine::SOURCE, from);
		store(CopyEngine::DESTINATION, to);
		store(CopyEngine::PASID, PASID);
		store(CopyEngine::LENGTH, len);
		machine_run(m, HCA_PS_NEVER);
	}
	uint64_t status()
	{
		uint64_t value = 0;

		machine_mmio_read(
			m, 0, 0, 0, CopyEngine::STATUS * 8, 8,
			[](void *arg, const void *data, uint32_t size) { memcpy(arg, data, size); }, &value);
		machine_run(m, HCA_PS_NEVER);
		return value;
	}
};

/* Stores, reads, writes, the interrupt and a load, through our root port. */
void foreign_endpoint()
{
	Copier c;
	const std::vector<uint8_t> before = c.memory;

	c.copy(4099, 130, 500);
	CU_ASSERT(memcmp(&c.memory[4099], &before[130], 500) == 0);
	CU_ASSERT(memcmp(&c.memory[4599], &before[4599], before.size() - 4599) == 0);
	CU_ASSERT(c.irqs == std::vector<unsigned int>({CopyEngine::VECTOR}));
	CU_ASSERT_EQUAL(c.status(), 1);
	c.copy(0, 4099, 64);
	CU_ASSERT(memcmp(c.memory.data(), &before[130], 64) == 0);
	CU_ASSERT_EQUAL(c.status(), 2);
	CU_ASSERT_EQUAL(c.irqs.size(), 2);
}

/* What the host refuses, the device sees: a completion without data, or the status of a write. */
void refused()
{
	{
		Copier c;

		c.copy(0, 8190, 64);
		CU_ASSERT_EQUAL(c.status(), UINT64_MAX);
		CU_ASSERT(c.irqs.empty());
	}
	Copier c;

	c.copy(8190, 0, 64);
	CU_ASSERT_EQUAL(c.status(), UINT64_MAX);
	CU_ASSERT_EQUAL(c.irqs.size(), 1);
}

struct Hosts : pcie_parts {
	std::vector<PlainHost *> all;
	std::vector<uint32_t> irqs;

	std::unique_ptr<PcieHost> root(unsigned int) override
	{
		const std::string name = "plain_host" + std::to_string(all.size());
		auto host = std::make_unique<PlainHost>(name.c_str(),
							[this](uint32_t vector) { irqs.push_back(vector); });

		all.push_back(host.get());
		return host;
	}
};

/* Both adapters work behind another host: doorbell, WQE, payload, CQE and interrupt are its TLPs. */
void foreign_root()
{
	Hosts hosts;
	Options opt;

	opt.pcie = &hosts;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	fill(a, 1, 9000);
	a.arm();
	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 9000);
	a.ring();
	const hcasim_cqe *cqe = f.wait(0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
	CU_ASSERT(placed(a, 0, b, 0, 9000));
	f.settle();
	CU_ASSERT_EQUAL_FATAL(hosts.all.size(), 2);
	CU_ASSERT(hosts.all[0]->stores > 0 && hosts.all[0]->reads > 9000 / 4096 && hosts.all[0]->writes > 0);
	CU_ASSERT(hosts.all[1]->writes >= 9000 / 256);
	CU_ASSERT_EQUAL(hosts.all[0]->interrupts, 1);
	CU_ASSERT_EQUAL(hosts.irqs.size(), 1);
	CU_ASSERT(f.irqs.empty());
}

/* A CPU's load of the device's clock: a MRd down, its completion up. */
void foreign_root_loads()
{
	Hosts hosts;
	Options opt;
	uint64_t clock = 0;

	opt.pcie = &hosts;
	Fabric f(opt);

	f.settle();
	const hca_ps before = machine_now(f.m);

	machine_mmio_read(
		f.m, 0, 0, HCASIM_BAR_REGS, 0x10, 8,
		[](void *arg, const void *data, uint32_t size) { memcpy(arg, data, size); }, &clock);
	f.settle();
	CU_ASSERT_EQUAL(clock, before + 100000);
}

/* The WQE cannot be fetched: the QP is in error, with a completion that says so, and nothing hangs. */
void read_faults()
{
	for (const char *fault : {"read_ur=1", "read_poison=1", "read_lost=1", "read_late=1"}) {
		Options opt;

		opt.fault = fault;
		Fabric f(opt);
		Node &a = *f.nodes[0], &b = *f.nodes[1];

		fill(a, 1, 64);
		a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 64);
		a.ring();
		const hca_ps start = machine_now(f.m);
		const hcasim_cqe *cqe = f.wait(0);

		CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
		CU_ASSERT(cqe->status != 0);
		CU_ASSERT_FALSE(placed(a, 0, b, 0, 64));
		const bool timed_out = machine_now(f.m) - start >= 50000000000;

		CU_ASSERT_EQUAL(timed_out, std::string(fault).find("read_l") == 0); /* lost, late */
	}
}

/* READ and FETCH_ADD, pushed: the responder's read of its memory is the one that fails, and it says so to the requester. */
void responder_faults()
{
	for (const char *fault : {"read_ur=1", "read_poison=1", "read_lost=1", "read_late=1"})
		for (const bool atomic : {false, true}) {
			Options opt;

			opt.fault = fault;
			opt.timeout = 20; /* longer than the completion time-out */
			Fabric f(opt);
			Node &a = *f.nodes[0], &b = *f.nodes[1];
			const uint8_t *wqe = a.put(HCASIM_WQE_OP_RDMA_READ, a.at(0), b.at(0), b.key, 64);

			if (atomic) {
				a.pi--;
				a.put_add(a.at(0), b.at(0), b.key);
			}
			fill(b, 1, 64);
			a.push(wqe, 8);
			const hcasim_cqe *cqe = f.wait(0);

			CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
			CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
			CU_ASSERT_FALSE(placed(b, 0, a, 0, 8));
		}
}

/* WRITEs of a QP that some of its reads fail: how many succeed, before the first error. */
unsigned int successes(Fabric &f, unsigned int n, unsigned int wqes)
{
	unsigned int ok = 0;
	bool failed = false;

	for (unsigned int i = 0; i < wqes; i++) {
		const hcasim_cqe *cqe = f.wait(n);

		CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
		CU_ASSERT_FALSE(failed && cqe->status != HCASIM_CQE_STATUS_WR_FLUSH_ERR);
		failed = failed || cqe->status;
		ok += !failed;
	}
	return ok;
}

/* A fault is one of the QP whose read it was: its requests end with an error, in order, and another QP goes on. */
void others_go_on()
{
	constexpr unsigned int N = 8, LEN = 5000;

	for (const char *fault : {"read_ur=0.01", "read_poison=0.01", "read_lost=0.01", "read_late=0.01"}) {
		unsigned int one_of_two = 0;

		for (uint64_t seed = 1; seed <= 20; seed++) {
			Options opt;

			opt.fault = fault;
			opt.seed = seed;
			opt.timeout = 20; /* longer than a lost read holds up the FIFOs */
			opt.traffic_class = {0, 0};
			Fabric f(opt);
			unsigned int ok[2];

			for (unsigned int qp = 0; qp < 2; qp++)
				fill(*f.nodes[2 * qp], uint8_t(seed + qp), N * LEN);
			for (unsigned int i = 0; i < N; i++)
				for (unsigned int qp = 0; qp < 2; qp++) {
					Node &a = *f.nodes[2 * qp], &b = *f.nodes[2 * qp + 1];

					a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(i * LEN), b.at(i * LEN), b.key,
					      LEN);
					a.ring();
				}
			for (unsigned int qp = 0; qp < 2; qp++) {
				ok[qp] = successes(f, 2 * qp, N);
				CU_ASSERT(memcmp(f.nodes[2 * qp]->buffer.data(),
						 f.nodes[2 * qp + 1]->buffer.data(), ok[qp] * LEN) == 0);
			}
			one_of_two += (ok[0] == N) != (ok[1] == N);
		}
		CU_ASSERT(one_of_two >= 4);
	}
}

/* When the WQE's read has failed that gets no completion; a figure that is doubled doubles that, and no other time. */
hca_ps time_of_failure(const char *timeout, const char *fault)
{
	OwnProfile profile({std::string("pcie.completion_timeout=") + timeout});
	Options opt;

	opt.profile = profile.path();
	opt.fault = fault;
	Fabric f(opt);
	Node &a = *f.nodes[0], &b = *f.nodes[1];

	a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(0), b.at(0), b.key, 64);
	a.ring();
	const hca_ps start = machine_now(f.m);

	CU_ASSERT_PTR_NOT_NULL(f.wait(0));
	return machine_now(f.m) - start;
}

void completion_timeout()
{
	const hca_ps one = time_of_failure("1000", "read_lost=1"),
		     two = time_of_failure("2000", "read_lost=1");

	CU_ASSERT_EQUAL(two - one, 1000000000);
	CU_ASSERT_EQUAL(time_of_failure("1000", "read_ur=1"), time_of_failure("2000", "read_ur=1"));
}

/* A load that the device refuses reads as ones (PCIe 2.3.2). */
void load_fault()
{
	Options opt;
	uint64_t clock = 0;

	opt.fault = "load_ur=1";
	Fabric f(opt);

	machine_mmio_read(
		f.m, 0, 0, HCASIM_BAR_REGS, 0x10, 8,
		[](void *arg, const void *data, uint32_t size) { memcpy(arg, data, size); }, &clock);
	f.settle();
	CU_ASSERT_EQUAL(clock, UINT64_MAX);
}

/*
 * A store whose data is bad rings no doorbell, and is no part of a BlueFlame copy: the adapter takes what was posted from the
 * queues' records. Everything is done, in order, and a CQ that was armed says so.
 */
void poisoned_stores()
{
	for (const char *fault : {"store_poison=1", "store_poison=0.3", "store_poison=0"}) {
		constexpr unsigned int N = 30;
		const bool pushed = std::string(fault) != "store_poison=1";
		Options opt;

		opt.fault = fault;
		Fabric f(opt);
		Node &a = *f.nodes[0], &b = *f.nodes[1];

		fill(a, 1, 64 * N);
		for (unsigned int i = 0; i < N; i++) {
			const uint8_t *wqe =
				a.put(HCASIM_WQE_OP_RDMA_WRITE, a.at(64 * i), b.at(64 * i), b.key, 64);

			if (i % 10 == 9)
				a.arm();
			if (i % 2)
				a.push(wqe, HCASIM_WQEBB_SIZE / 8);
			else
				a.ring();
			const hcasim_cqe *cqe = f.wait(0);

			CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
			CU_ASSERT_EQUAL(cqe->status, HCASIM_CQE_STATUS_OK);
		}
		f.settle();
		CU_ASSERT(placed(a, 0, b, 0, 64 * N));
		CU_ASSERT_EQUAL(a.counters().bf_pushes > 0, pushed);
		CU_ASSERT_EQUAL(a.counters().doorbells > 0, pushed);
		CU_ASSERT(f.irqs.size() >= 3);
	}
}

void byte_enables()
{
	CU_ASSERT(TlpHeader::first_be(0x1000, 8) == 0xf && TlpHeader::last_be(0x1000, 8) == 0xf);
	CU_ASSERT(TlpHeader::first_be(0x1001, 6) == 0xe && TlpHeader::last_be(0x1001, 6) == 0x7);
	CU_ASSERT(TlpHeader::first_be(0x1002, 1) == 0x4 && TlpHeader::last_be(0x1002, 1) == 0);
	CU_ASSERT(TlpHeader::first_be(0x1003, 2) == 0x8 && TlpHeader::last_be(0x1003, 2) == 0x1);
	CU_ASSERT(TlpHeader::first_be(0x1000, 0) == 0 && TlpHeader::last_be(0x1000, 0) == 0);
	CU_ASSERT(TlpHeader::first_be(0x1000, 4) == 0xf && TlpHeader::last_be(0x1000, 4) == 0);
}

} // namespace

int main()
{
	return run_suite("PCIe port", {{"foreign endpoint", foreign_endpoint},
				       {"refused", refused},
				       {"foreign root", foreign_root},
				       {"foreign root's loads", foreign_root_loads},
				       {"read faults", read_faults},
				       {"responder's read faults", responder_faults},
				       {"others go on", others_go_on},
				       {"completion timeout", completion_timeout},
				       {"load fault", load_fault},
				       {"poisoned stores", poisoned_stores},
				       {"byte enables", byte_enables}});
}
