/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A machine with real cores, and just enough of a driver and provider to use them. */
#ifndef HCASIM_TIMING_TESTS_FABRIC_H
#define HCASIM_TIMING_TESTS_FABRIC_H

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "hcasim_hw.h"
#include "hcasim_verbs.h"
#include "core/counters.h"
#include "timing/machine.h"

#define DEFAULT_PROFILE PROFILE_DIR "/../tests/plain.yaml"

struct Options {
	unsigned int hcas = 2;
	std::string fault, trace_dir;
	uint64_t seed = 1;
	uint8_t timeout = 10, retry_cnt = 7, path_mtu = 3, rd_atomic = 4;
	std::vector<uint8_t> traffic_class = {0}; /* of each connection */
	std::string profile = DEFAULT_PROFILE;
	bool wrong_mac = false;
	const engine_ops *engine = nullptr;
	pcie_parts *pcie = nullptr;
};

/* Where a buffer starts in its page, of the host's or of a cache's, decides how its transfers are cut, and so when they end. */
template <class T>
struct PageAllocator {
	using value_type = T;
	static constexpr std::align_val_t ALIGN{1 << 20};

	T *allocate(size_t n)
	{
		return static_cast<T *>(::operator new(n * sizeof(T), ALIGN));
	}
	void deallocate(T *p, size_t)
	{
		::operator delete(p, ALIGN);
	}
	bool operator==(const PageAllocator &) const
	{
		return true;
	}
	bool operator!=(const PageAllocator &) const
	{
		return false;
	}
};

/* One QP with its rings, a CQ and an EQ, all in memory of this process. */
struct Node {
	static constexpr uint32_t WQES = 64, CQES = 256, EQES = 64, BUFFER = 1 << 20;

	struct machine *m;
	unsigned int index;
	hca *core;
	uint32_t eqn, cqn, qpn, key;
	uint32_t pi = 0, ci = 0;
	std::vector<uint8_t, PageAllocator<uint8_t>> buffer;

	Node(struct machine *machine, unsigned int hca_index);
	void connect(const Node &peer, const uint8_t mac[6], uint8_t traffic_class, const Options &opt);

	/* Builds a WQE of one basic block; returns where it is. */
	uint8_t *put(uint8_t op, uint64_t local, uint64_t remote, uint32_t rkey, uint32_t len);
	/* The same for FETCH_ADD of 1. */
	void put_add(uint64_t local, uint64_t remote, uint32_t rkey);
	void ring();
	/* Copies the last WQE to the BlueFlame buffer in 8-byte stores instead; `stores` of them. */
	void push(const uint8_t *wqe, unsigned int stores);
	void arm();
	/* The next completion, or NULL. */
	const hcasim_cqe *poll();
	const hcasim_eqe *eqe(uint32_t i) const
	{
		return reinterpret_cast<const hcasim_eqe *>(rings->eq) + i;
	}
	uint64_t at(size_t offset) const
	{
		return reinterpret_cast<uint64_t>(buffer.data()) + offset;
	}
	struct hca_counters counters() const;

      private:
	struct alignas(4096) Rings {
		uint8_t sq[WQES * HCASIM_WQEBB_SIZE];
		uint8_t cq[CQES * HCASIM_CQE_SIZE];
		uint8_t eq[EQES * HCASIM_EQE_SIZE];
		hcasim_sq_record sq_record;
		hcasim_cq_record cq_record;
	};
	std::unique_ptr<Rings> rings;
	uint32_t arm_sn = 0;

	void create_queues();
};

struct Fabric {
	struct machine *m;
	std::vector<unsigned int> irqs; /* adapter << 16 | vector */
	struct {
		unsigned int steps = 0, cycles = 0;
	} stage[HCA_NUM_STAGES]; /* of adapter 0 */
	struct Step {
		unsigned int hca;
		hca_stage stage;
		hca_work work;
	};
	std::vector<Step> steps; /* of all adapters */
	std::vector<std::unique_ptr<Node>> nodes;

	/* Nodes 0 and 1 are connected, 2 and 3, and so on; with one adapter they are all on it. */
	explicit Fabric(const Options &opt = {});
	~Fabric();
	/* Runs active work only; returns the machine's last word. */
	machine_state settle();
	/* Runs active work and lets timers fire, until node `n` has a completion or nothing is pending. */
	const hcasim_cqe *wait(unsigned int n);
};

/* The first `len` bytes of the buffer, different for each seed. */
void fill(Node &n, uint8_t seed, size_t len);
/* They are there, and nothing behind them. */
bool placed(const Node &from, size_t from_at, const Node &to, size_t to_at, size_t len);

#endif
