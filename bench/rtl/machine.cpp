// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-bench-rtl PROFILE: clock cycles of the RTL engine per second of processor time, alone and in a machine of two
 * adapters. bench/rtl/run compares them with a pipeline's.
 */
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

#include <hcasim_hw.h>

#include "calibrate/mix.h"
#include "library/hcasim_engine.h"
#include "rtl_engine.h"

static uint64_t machine_cycles; /* of the engines that were destroyed */

/* The engine, with a count of its cycles when it ends. */
static const engine_ops *counting()
{
	static const engine_ops ops = [] {
		engine_ops o = rtl_engine;

		o.destroy = [](engine *e) {
			machine_cycles += rtl_engine_cycles(e);
			rtl_engine.destroy(e);
		};
		return o;
	}();

	return &ops;
}

static void report(const char *what, uint64_t cycles, clock_t took)
{
	printf("\"%s\": {\"cycles\": %llu, \"cycles_per_second\": %.0f}", what, (unsigned long long)cycles,
	       double(cycles) * CLOCKS_PER_SEC / double(took));
}

/* WRITEs of 27 bytes inline, 16 a doorbell, each acknowledged at once. */
static void alone(uint32_t wqes)
{
	constexpr uint32_t BLOCKS = 64, QPN = 5, BYTES = 27;
	void *e = hcasim_engine_open();
	clock_t start = clock();

	hcasim_engine_qp(e, QPN, 0, BLOCKS, 4096, QPN, 0);
	for (uint32_t posted = 0, ended = 0; ended < wqes;) {
		if (posted == ended)
			hcasim_engine_doorbell(e, QPN, posted += 16);
		const int event = hcasim_engine_next(e);
		const uint32_t tag = (uint32_t)hcasim_engine_field(e, HCASIM_FIELD_TAG);

		if (event == HCASIM_EVENT_READ) {
			uint64_t addr = 0;
			uint32_t length = 0;

			hcasim_engine_piece(e, 0, &addr, &length);
			for (uint32_t at = 0; at < hcasim_engine_field(e, HCASIM_FIELD_LENGTH); at += 64) {
				struct {
					hcasim_wqe_ctrl ctrl;
					hcasim_seg_remote remote;
					hcasim_seg_inline bytes;
					uint8_t data[28];
				} wqe = {};
				uint32_t words[16];

				wqe.ctrl.opcode = HCASIM_WQE_OP_RDMA_WRITE;
				wqe.ctrl.size = sizeof(wqe) / HCASIM_SEG_UNIT;
				wqe.ctrl.index = (uint16_t)(posted - 16 + at / 64);
				wqe.ctrl.qpn_flags =
					QPN | HCASIM_WQE_CTRL_SIGNALED_MASK | HCASIM_WQE_CTRL_INLINE_MASK;
				wqe.bytes.length = BYTES;
				memcpy(words, &wqe, sizeof(words));
				hcasim_engine_data(e, at, words);
			}
			hcasim_engine_read_done(e, tag, 0);
		} else if (event == HCASIM_EVENT_PACKET) {
			const uint32_t psn = (uint32_t)hcasim_engine_field(e, HCASIM_FIELD_PSN);

			hcasim_engine_leave(e, tag, 0);
			hcasim_engine_released(e, tag);
			hcasim_engine_ack(e, QPN, psn, 0, 31);
		} else if (event == HCASIM_EVENT_COMPLETION) {
			ended++;
		}
	}
	report("alone", hcasim_engine_cycles(e), clock() - start);
	hcasim_engine_close(e);
}

int main(int argc, char **argv)
{
	Mix mix;

	if (argc != 2) {
		fprintf(stderr, "usage: hcasim-bench-rtl PROFILE\n");
		return 2;
	}
	mix.name = "WRITE 64 B, 16 per doorbell";
	mix.op = HCASIM_WQE_OP_RDMA_WRITE;
	mix.size = 64;
	mix.batch = 16;
	printf("{");
	alone(20000);
	printf(", ");
	try {
		clock_t start = clock();

		for (int i = 0; i < 50; i++)
			measure(mix, argv[1], counting());
		report("machine", machine_cycles, clock() - start);
	} catch (const std::string &what) {
		fprintf(stderr, "hcasim-bench-rtl: %s\n", what.c_str());
		return 1;
	}
	printf("}\n");
	return 0;
}
