// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The waveforms of ../doc/waveforms.md: each handshake of hcasim_engine, from its simulation.
#include <hcasim_verbs.h>
#include <hcasim_wire.h>

#include "engine_bench.hpp"
#include "guide.hpp"

namespace
{

constexpr unsigned int QP = 1, OTHER_QP = 2, PSN = 5;

// A row of a waveform: its port, and what a cycle shows of it.
struct Row {
	const char *name;
	std::function<char(const Top &)> value;
};

// The letters of ops and requests, in the order of their numbers: those of the page, and some for the others.
char op_letter(const Top &top)
{
	return top.op_valid_i ? "CSZYEODPRWGLXATVFBKQMHIJN"[top.op_i] : '.';
}

char request_letter(const Top &top)
{
	return top.req_valid_o ? "NRLPGOKWTFDSZB"[top.req_kind()] : '.';
}

#define SHOW(name, value)                                                                                    \
	Row                                                                                                  \
	{                                                                                                    \
		name, [](const Top &top) { return value; }                                                   \
	}
#define BIT(port)                   SHOW(#port, Waveform::bit(top.port))
#define NUMBER(name, counts, value) SHOW(name, Waveform::digit(counts, (unsigned int)(value)))

const Row op_valid = BIT(op_valid_i), op_done = BIT(op_done_o), req_valid = BIT(req_valid_o),
	  req_ack = BIT(req_ack_i), fetch = BIT(fetch_o), decode = BIT(decode_o),
	  packetise = BIT(packetise_o), rec_valid = BIT(rec_valid_o), retire_valid = BIT(retire_valid_o);
const Row op = {"op_i", op_letter}, kind = {"req_o.kind", request_letter};

// The op has a tag.
bool has_tag(const Top &top)
{
	return top.op_valid_i && top.op_i >= (uint8_t)Op::READ_DONE && top.op_i <= (uint8_t)Op::RELEASED;
}

const Row tag = NUMBER("op_tag_i", has_tag(top), top.op_tag_i),
	  slot = NUMBER("result_slot_o", top.op_done_o, top.result_slot_o),
	  new_tag = NUMBER("req_o.tag", top.req_valid_o, top.req_tag()),
	  seq = NUMBER("rec_seq_o", top.rec_valid_o, top.rec_seq_o),
	  order = NUMBER("retire_o.order", top.retire_valid_o, top.retire_order()),
	  index = NUMBER("retire_o.index", top.retire_valid_o, top.retire_index());
const Row ok = SHOW("ans_ok_i", top.req_ack_i ? Waveform::bit(top.ans_ok_i) : '.'),
	  result = SHOW("result_ok_o", top.op_done_o ? Waveform::bit(top.result_ok_o) : '.');

// Shows the bench's cycles from here on.
class Scope
{
      public:
	Scope(EngineBench &bench, const std::vector<Row> &rows) : bench_(bench), wave_(names(rows))
	{
		bench.cycle(); // with op_done_o of the op before
		bench.watch = [this, rows](const Top &top) {
			std::vector<char> values;

			for (const Row &row : rows)
				values.push_back(row.value(top));
			wave_.cycle(values);
		};
		bench.cycle();
	}
	~Scope()
	{
		bench_.cycle(); // with op_done_o of the last op
		bench_.watch = nullptr;
		wave_.check("waveforms.md");
	}

      private:
	static std::vector<std::string> names(const std::vector<Row> &rows)
	{
		std::vector<std::string> out;

		out.reserve(rows.size());
		for (const Row &row : rows)
			out.emplace_back(row.name);
		return out;
	}

	EngineBench &bench_;
	Waveform wave_;
};

// An RDMA WRITE at this ring index: of 16 bytes inline, or of an SGE with 100 bytes.
Bytes write_wqe(uint16_t at, bool is_inline, bool signaled)
{
	struct hcasim_wqe_ctrl ctrl = {};
	const struct hcasim_seg_inline length = {16};
	const struct hcasim_seg_data sge = {0x1020, 100, 7};
	Bytes wqe(HCASIM_WQEBB_SIZE);

	ctrl.opcode = HCASIM_WQE_OP_RDMA_WRITE;
	ctrl.size = is_inline ? 4 : 3;
	ctrl.index = at;
	ctrl.qpn_flags = QP | (is_inline ? HCASIM_WQE_CTRL_INLINE_MASK : 0) |
			 (signaled ? HCASIM_WQE_CTRL_SIGNALED_MASK : 0);
	memcpy(&wqe[0], &ctrl, sizeof(ctrl));
	if (is_inline)
		memcpy(&wqe[32], &length, sizeof(length));
	else
		memcpy(&wqe[32], &sge, sizeof(sge));
	return wqe;
}

void push(EngineBench &bench, uint16_t at)
{
	bench.dut->op_index_i = at;
	bench.dut->op_blocks_i = 1;
	bench.run(Op::PUSH);
}

// From the push of a WQE to its packet, which has left.
void send(EngineBench &bench, uint16_t at, bool signaled)
{
	push(bench, at);
	CU_ASSERT_TRUE_FATAL(bench.dut->result_ok_o);
	bench.blocks(bench.dut->result_slot_o, write_wqe(at, true, signaled));
	for (Op each : {Op::DECODE, Op::PACKETISE})
		bench.run(each);
	bench.dut->op_tag_i = bench.tag;
	for (Op each : {Op::LEAVE, Op::RELEASED})
		bench.run(each);
}

void intake()
{
	EngineBench bench;

	bench.queue_pair(OTHER_QP, PSN);
	bench.queue_pair(QP, PSN);
	const Scope scope(bench, {op_valid, op, NUMBER("op_qpn_i", top.op_valid_i, top.op_qpn_i),
				  NUMBER("op_index_i", top.op_valid_i, top.op_index_i),
				  NUMBER("op_blocks_i", top.op_valid_i && top.op_i == (uint8_t)Op::PUSH,
					 top.op_blocks_i),
				  op_done, result, slot, decode, fetch});

	push(bench, 0);
	CU_ASSERT_TRUE(bench.dut->result_ok_o);
	bench.dut->op_qpn_i = OTHER_QP;
	bench.dut->op_index_i = 3;
	bench.run(Op::DOORBELL);
	CU_ASSERT_TRUE(bench.dut->fetch_o);
}

void wqe_fetch()
{
	EngineBench bench;

	bench.queue_pair(QP, PSN);
	bench.dut->op_index_i = 3;
	bench.run(Op::DOORBELL);
	bench.waits = 1;
	const Scope scope(
		bench, {fetch, op_valid, op, tag, op_done,
			NUMBER("result_slot_o", top.op_done_o && !top.fetch_o, top.result_slot_o), // of both
			req_valid, kind, NUMBER("req_o.addr0", top.req_valid_o, top.req_addr0() >> 12),
			NUMBER("req_o.bytes0", top.req_valid_o, top.req_bytes0() / HCASIM_WQEBB_SIZE),
			new_tag, req_ack, ok, decode});

	bench.run(Op::FETCH);
	for (unsigned int i = 0; i < 3; i++) // the read is under way
		bench.cycle();
	bench.dut->op_tag_i = bench.tag;
	bench.run(Op::READ_DONE);
	CU_ASSERT_TRUE(bench.dut->decode_o);
}

void wqe_decode()
{
	EngineBench bench;

	bench.queue_pair(QP, PSN);
	push(bench, 0);
	bench.blocks(bench.dut->result_slot_o, write_wqe(0, true, false));
	const Scope scope(bench, {decode, op_valid, op, op_done, BIT(block_valid_o),
				  NUMBER("block_slot_o", top.block_valid_o, top.block_slot_o),
				  NUMBER("block_number_o", top.block_valid_o, top.block_number_o),
				  BIT(block_ack_i), req_valid, kind, req_ack, rec_valid, BIT(rec_we_o),
				  BIT(rec_body_o), seq, BIT(rec_ack_i), packetise});

	bench.run(Op::DECODE);
	CU_ASSERT_TRUE(bench.dut->packetise_o);
}

void translation()
{
	EngineBench bench;

	bench.queue_pair(QP, PSN);
	push(bench, 0);
	bench.blocks(bench.dut->result_slot_o, write_wqe(0, false, false));
	bench.run(Op::DECODE);
	const Scope scope(bench, {packetise, op_valid, op, op_done, req_valid, kind,
				  SHOW("req_o.check", top.req_valid_o ? Waveform::bit(top.req_check()) : '.'),
				  NUMBER("req_o.length", top.req_valid_o, top.req_length() >> 4), req_ack, ok,
				  NUMBER("ans_error_i", top.req_ack_i, top.ans_error_i),
				  NUMBER("ans_count_i", top.req_ack_i, top.ans_count_i)});

	bench.run(Op::PACKETISE);
}

void packet_out()
{
	EngineBench bench;

	bench.queue_pair(QP, PSN);
	push(bench, 0);
	bench.blocks(bench.dut->result_slot_o, write_wqe(0, true, false));
	bench.run(Op::DECODE);
	const Scope scope(
		bench, {packetise, op_valid, op, tag, op_done, result, req_valid, kind, new_tag,
			NUMBER("packet_o.psn", top.req_valid_o && top.req_kind() == (uint8_t)Request::PACKET,
			       top.packet_psn()),
			req_ack, ok});

	bench.grants = false;
	bench.run(Op::PACKETISE);
	CU_ASSERT_TRUE(bench.dut->packetise_o);
	bench.grants = true;
	bench.cycle();
	bench.run(Op::PACKETISE);
	CU_ASSERT_FALSE(bench.dut->packetise_o);
	bench.cycle();
	bench.dut->op_tag_i = bench.tag;
	bench.run(Op::LEAVE);
	CU_ASSERT_TRUE(bench.dut->result_ok_o);
	bench.run(Op::RELEASED);
}

void feedback()
{
	EngineBench bench;

	bench.queue_pair(QP, PSN);
	for (uint16_t i = 0; i < 3; i++)
		send(bench, i, i == 2);
	Top &ports = *bench.dut.operator->();
	const Scope scope(bench, {op_valid, op, NUMBER("response_i.psn", top.op_valid_i, PSN + 2), op_done,
				  req_valid, kind, req_ack, rec_valid, seq, retire_valid, order, index});

	ports.response_psn(PSN + 2);
	ports.response_kind(HCASIM_AETH_KIND_ACK);
	ports.response_last(1);
	bench.run(Op::RESPONSE);
}

void completion_out()
{
	EngineBench bench;

	bench.queue_pair(QP, PSN);
	send(bench, 0, true);
	Top &ports = *bench.dut.operator->();
	ports.response_psn(PSN);
	ports.response_kind(HCASIM_AETH_KIND_ACK);
	ports.response_last(1);
	bench.run(Op::RESPONSE);
	const Scope scope(bench, {op_valid, op, op_done, result,
				  NUMBER("wqe_o.index", top.op_done_o && top.result_ok_o, top.wqe_index()),
				  rec_valid, seq, retire_valid, order, index});

	bench.run(Op::COMPLETION);
	CU_ASSERT_TRUE(bench.dut->result_ok_o);
	bench.cycle();
	bench.run(Op::TAKEN);
	bench.run(Op::COMPLETION);
	CU_ASSERT_FALSE(bench.dut->result_ok_o);
}

} // namespace

extern const struct test wave_tests[];
const struct test wave_tests[] = {
	{"doorbell and push", intake},   {"WQE fetch", wqe_fetch}, {"decoding", wqe_decode},
	{"translation", translation},    {"packets", packet_out},  {"feedback", feedback},
	{"completions", completion_out}, {nullptr, nullptr},
};
