// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_header against packet_build() of sim/core/wire.
#include "Vhcasim_header_tb.h"
#include "ref.h"
#include "tb.hpp"

struct Packet {
	struct pkt_spec spec;
	struct hca_av av;
	uint8_t smac[6], sgid[16];
};

static void mapped_v4(uint8_t gid[16])
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
}

static void randomise(Random &random, uint8_t opcode, Packet &p)
{
	random.fill(&p.av, sizeof(p.av));
	random.fill(p.smac, sizeof(p.smac));
	random.fill(p.sgid, sizeof(p.sgid));
	if (random.chance(60))
		mapped_v4(p.sgid);
	if (random.chance(60))
		mapped_v4(p.av.dgid);
	p.av.sgid_index = 0;
	p.av.flow_label &= 0xfffff;
	p.av.hop_limit = random.chance(30) ? 0 : p.av.hop_limit;
	p.spec = {};
	p.spec.opcode = opcode;
	p.spec.port = 1;
	p.spec.av = &p.av;
	p.spec.sport = (uint16_t)random.u32();
	p.spec.dqpn = random.below(1 << 24);
	p.spec.psn = random.below(1 << 24);
	p.spec.qkey = random.u32();
	p.spec.sqpn = random.below(1 << 24);
	p.spec.srqn = random.below(1 << 24);
	p.spec.se = random.chance(50);
	p.spec.ackreq = random.chance(50);
	p.spec.va = random.u64();
	p.spec.swap_add = random.u64();
	p.spec.compare = random.u64();
	p.spec.rkey = random.u32();
	p.spec.dmalen = random.u32();
	p.spec.imm = random.u32();
	p.spec.inv_rkey = random.u32();
	p.spec.plt = random.below(16);
	p.spec.sel = random.below(4);
	p.spec.payload_len = random.chance(20) ? 0 : random.below(4097);
}

static void drive(Dut<Vhcasim_header_tb> &dut, const Packet &p)
{
	const struct pkt_spec &s = p.spec;

	dut->opcode = s.opcode;
	dut->traffic_class = p.av.traffic_class;
	dut->hop_limit = p.av.hop_limit;
	dut->dmac = dut->smac = 0;
	memcpy(&dut->dmac, p.av.dmac, 6);
	memcpy(&dut->smac, p.smac, 6);
	to_port(dut->dgid, p.av.dgid, 16);
	to_port(dut->sgid, p.sgid, 16);
	dut->flow_label = p.av.flow_label;
	dut->dqpn = s.dqpn;
	dut->psn = s.psn;
	dut->qkey = s.qkey;
	dut->sqpn = s.sqpn;
	dut->srqn = s.srqn;
	dut->rkey = s.rkey;
	dut->dmalen = s.dmalen;
	dut->imm = s.imm;
	dut->inv_rkey = s.inv_rkey;
	dut->sport = s.sport;
	dut->payload_len = (uint16_t)s.payload_len;
	dut->se = s.se;
	dut->ackreq = s.ackreq;
	dut->va = s.va;
	dut->swap_add = s.swap_add;
	dut->compare = s.compare;
	dut->sel = (uint8_t)s.sel;
	dut->plt = (uint8_t)s.plt;
}

static void every_opcode()
{
	Dut<Vhcasim_header_tb> dut(1);
	unsigned int opcodes = 0;

	for (unsigned int op = 0; op < 256; op++) {
		if (!ref_is_request((uint8_t)op))
			continue;
		opcodes++;
		for (unsigned int i = 0; i < 100; i++) {
			uint8_t expected[128];
			uint32_t len;
			Packet p;

			randomise(dut.random, (uint8_t)op, p);
			drive(dut, p);
			dut->valid_i = dut->ready_i = 1;
			dut.clock();
			dut->valid_i = 0;
			dut.settle();
			len = ref_headers(&p.spec, p.smac, p.sgid, expected);
			CU_ASSERT_TRUE_FATAL(dut->valid_o);
			CU_ASSERT_EQUAL_FATAL(dut->count_o, len);
			memset(expected + len, 0, sizeof(expected) - len);
			CU_ASSERT_TRUE(from_port(dut->data_o, 106) == Bytes(expected, expected + 106));
			CU_ASSERT_EQUAL(dut->pad_o, -p.spec.payload_len & 3);
		}
	}
	CU_ASSERT_EQUAL(opcodes, 54);
}

// It waits for its consumer, and takes one packet a cycle when there is none in the way.
static void back_pressure()
{
	Dut<Vhcasim_header_tb> dut(2);
	unsigned int in = 0, out = 0;

	for (unsigned int i = 0; i < 2000; i++) {
		Packet p;

		if (!dut->valid_i || dut->ready_o) {
			randomise(dut.random, 0x04, p);
			p.spec.payload_len = 4 * (in & 0xff) + 3; // bytes of padding: 1
			drive(dut, p);
			dut->valid_i = dut.random.chance(80);
		}
		dut->ready_i = dut.random.chance(70);
		dut.settle();
		out += dut->valid_o && dut->ready_i;
		in += dut->valid_i && dut->ready_o;
		CU_ASSERT_TRUE(in - out <= 1);
		dut.clock();
	}
	CU_ASSERT_TRUE(out > 1000);
}

extern const struct test header_tests[];
const struct test header_tests[] = {
	{"every opcode", every_opcode},
	{"back-pressure", back_pressure},
	{nullptr, nullptr},
};
