/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Around the Verilated hcasim_engine: its clock, the adapter's memory behind its ports, and what its requests are to the
 * core. All state of the protocol is in the model and in that memory, which only the model writes.
 */
#ifndef HCASIM_RTL_ENGINE_HPP
#define HCASIM_RTL_ENGINE_HPP

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include <hcasim_hw.h>
#include <hcasim_verbs.h>
#include <hcasim_wire.h>

#include "frame.hpp"
#include "hcasim_engine_ports.hpp"
#include "memory.hpp"
#include "ops.hpp"
#include "pace.hpp"
#include "rtl_engine.h"
#include "wave.hpp"

constexpr unsigned int BLOCK = HCASIM_WQEBB_SIZE, SLOTS = RTL_SLOTS, RECORDS = 256, QPS = RTL_QPS;
constexpr unsigned int MAX_WINDOW = RECORDS - HCA_WQE_MAX / BLOCK; // all WQEs of a read have a record

// A WQE in the adapter's memory: what the model stores of it, its bytes, and its SGEs.
struct Record : StoredRecord {
	std::array<uint8_t, HCA_WQE_MAX> raw;
	std::array<hca_sge, ENGINE_MAX_PIECES> sge;
	uint32_t num_sge, inline_at;
};

// The context of a QP in that memory, and the ring of its WQEs.
struct Context : StoredContext {
	std::array<std::unique_ptr<Record>, RECORDS> record;
};

struct engine {
	engine(const engine_config &config, const engine_ports &p, void *h);
	~engine();

	// One op, until it is done. Its operands are on the model's ports.
	void run(Op op);
	void run(Op op, uint32_t qpn);
	void run_tag(Op op, uint32_t tag, bool flag);

	VerilatedContext context;
	Wave wave{context};
	Pace pace;
	std::unique_ptr<Top> top;
	std::unique_ptr<FramePath> frames;
	engine_config cfg;
	const engine_ports *ports;
	void *host;
	uint64_t cycles = 0;
	uint32_t step_cycles = 0; // of the last step() or frame()
	bool busy = false;        // an op is under way
	// Places of the contexts of QPs in memory, and those that were given back.
	std::unordered_map<uint32_t, uint16_t> places;
	std::vector<uint16_t> free_places;
	// What the model has answered since its last change, so that asking again takes no cycles.
	std::unordered_map<uint32_t, engine_state> state_of;
	struct Work {
		bool known;
		hca_work work;
	};
	std::array<Work, HCA_NUM_STAGES> work{};
	std::array<std::array<uint8_t, HCA_WQE_MAX>, SLOTS> slot; // fetch buffers

      private:
	void clock();
	void contexts();
	void records();
	void blocks();
	void request();
	void answer();
	void retired();

	Context &at(uint32_t place);
	Record &record(uint32_t place, uint16_t seq);
	engine_lookup memory(Record &r);
	void read();
	void lookup();
	void packet();
	void keep(const Record &r, uint32_t head_len);
	void seen();
	void decode();
	hca_wr work_request(Record &r);

	std::unordered_map<uint32_t, std::unique_ptr<Context>> contexts_;
	std::array<piece, ENGINE_MAX_PIECES> pieces_; // of the last look-up
	uint32_t npieces_ = 0;
	Record decoded_; // SGEs and places of data that another device family's decoder has found
};

#endif
