/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * hcasim_engine with the memory that it needs, and a host that grants what it asks for: for the waveforms of
 * ../doc/waveforms.md, and for ops that break its rules.
 */
#ifndef HCASIM_RTL_DV_ENGINE_BENCH_HPP
#define HCASIM_RTL_DV_ENGINE_BENCH_HPP

#include <array>
#include <functional>
#include <map>

#include <hcasim_hw.h>
#include <hcasim_verbs.h>

#include "hcasim_engine_ports.hpp"
#include "memory.hpp"
#include "ops.hpp"
#include "rtl_engine.h"
#include "tb.hpp"

class EngineBench
{
      public:
	EngineBench() : dut(1)
	{
		memset(&dut->attr_i, 0, sizeof(dut->attr_i));
		memset(&dut->response_i, 0, sizeof(dut->response_i));
		dut->op_valid_i = dut->op_flag_i = 0;
		dut->native_i = 1;
		dut->fetch_depth_i = 4;
		dut->window_i = 128;
		dut->rst_i = 1;
		dut.clock();
		dut->rst_i = 0;
	}

	// An RC queue pair in RTS whose first packet has this PSN.
	void queue_pair(uint32_t place, uint32_t psn)
	{
		Top &top = *dut.operator->();

		top.op_qpn_i = (uint16_t)place;
		top.attr_qpn(place);
		top.attr_qp_type(HCASIM_QPT_RC);
		top.attr_entries(16);
		top.attr_ring(0x4000);
		top.attr_max_inline(256);
		top.attr_mtu_log(12);
		top.attr_port(1);
		top.attr_timeout(14);
		top.attr_retry_cnt(7);
		top.attr_state(HCASIM_QPS_RESET);
		run(Op::CREATE);
		top.attr_state(HCASIM_QPS_RTS);
		top.set_state_i = top.set_psn_i = 1;
		top.psn_i = psn;
		run(Op::SET);
		cycle();
	}

	// A WQE goes to a fetch buffer.
	void blocks(uint32_t slot, const Bytes &wqe)
	{
		memcpy(slots_.at(slot).data(), wqe.data(), wqe.size());
	}

	// A clock cycle in which memory and host answer.
	void cycle()
	{
		dut.settle(); // an op asks for a block or a record in its first cycle
		contexts();
		records();
		blocks();
		requests();
		dut.settle();
		if (watch)
			watch(*dut.operator->());
		keep();
		dut.clock();
		dut.settle();
	}

	// An op, until it is done: in the cycle that comes now.
	void run(Op op)
	{
		dut->op_i = (uint8_t)op;
		dut->op_valid_i = 1;
		for (unsigned int cycles = 0; !cycles || !dut->op_done_o; cycles++) {
			CU_ASSERT_FATAL(cycles < 1000);
			cycle();
		}
		dut->op_valid_i = 0;
	}

	Dut<Top> dut;
	std::function<void(const Top &)> watch; // each cycle, its ports
	unsigned int waits = 0;                 // cycles that a request waits for its answer
	bool grants = true;                     // packets are taken
	uint16_t tag = 0;                       // of the last read or packet

      private:
	static constexpr unsigned int BLOCK = HCASIM_WQEBB_SIZE, SLOTS = RTL_SLOTS,
				      WQE_BYTES = HCASIM_WQE_MAX_BB * BLOCK;

	void contexts()
	{
		dut->ctx_ack_i = dut->ctx_valid_o;
		contexts_[dut->ctx_qpn_o].answer(*dut.operator->());
	}

	void records()
	{
		dut->rec_ack_i = dut->rec_valid_o;
		records_[{dut->rec_qpn_o, dut->rec_seq_o}].answer(*dut.operator->());
	}

	void blocks()
	{
		dut->block_ack_i = dut->block_valid_o;
		memcpy(&dut->block_i, &slots_[dut->block_slot_o][dut->block_number_o * BLOCK % WQE_BYTES],
		       BLOCK);
	}

	// A look-up finds one piece, without an error.
	void requests()
	{
		const auto kind = (Request)dut->req_kind();

		waited_ = dut->req_valid_o ? waited_ + 1 : 0;
		dut->req_ack_i = waited_ > waits;
		dut->ans_ok_i = kind != Request::PACKET || grants;
		dut->ans_error_i = 0;
		dut->ans_count_i = kind == Request::LOOKUP && !dut->req_check();
		dut->ans_time_i = 1000;
		if (!dut->req_ack_i)
			return;
		waited_ = 0;
		if (kind == Request::READ || kind == Request::PACKET)
			tag = dut->req_tag();
	}

	// What is written in this cycle.
	void keep()
	{
		if (dut->ctx_valid_o && dut->ctx_we_o)
			contexts_[dut->ctx_qpn_o].write(*dut.operator->());
		if (dut->rec_valid_o && dut->rec_we_o)
			records_[{dut->rec_qpn_o, dut->rec_seq_o}].write(*dut.operator->());
	}

	unsigned int waited_ = 0;
	std::map<uint32_t, StoredContext> contexts_;
	std::map<std::pair<uint32_t, uint32_t>, StoredRecord> records_;
	std::array<std::array<uint8_t, WQE_BYTES>, SLOTS> slots_{};
};

#endif
