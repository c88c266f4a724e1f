// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_wqe_decode against the decoder and the checks of the C engine.
#include <map>
#include <set>

#include "Vhcasim_wqe_decode_tb.h"
#include "wqes.hpp"

using Decode = Dut<Vhcasim_wqe_decode_tb>;

static const uint8_t qp_types[] = {HCASIM_QPT_RC,         HCASIM_QPT_UC,       HCASIM_QPT_UD,
				   HCASIM_QPT_RAW_PACKET, HCASIM_QPT_XRC_SEND, HCASIM_QPT_XRC_RECV};

// Gives the module the blocks of a WQE until it has decoded it. Returns the blocks it took, 0: it never did.
static unsigned int decode(Decode &dut, const struct ref_qp &qp, const Bytes &bytes, uint16_t index)
{
	const unsigned int posted = (unsigned int)(bytes.size() / HCASIM_WQEBB_SIZE);
	unsigned int taken = 0;

	dut->qp_type = qp.type;
	dut->port = 1;
	dut->qpn = qp.qpn;
	dut->port_mtu = (uint16_t)qp.port_mtu;
	dut->max_inline = (uint16_t)qp.max_inline;
	dut->rd_atomic = qp.max_rd_atomic != 0;
	for (unsigned int cycle = 0; cycle < 200; cycle++) {
		dut->ready_i = 0;
		dut->valid_i = taken < posted && dut.random.chance(80);
		dut->index_i = (uint16_t)(index + taken);
		dut->posted_i = (uint16_t)(posted - taken);
		if (taken < posted)
			to_port(dut->block_i, &bytes[taken * HCASIM_WQEBB_SIZE], HCASIM_WQEBB_SIZE);
		dut.settle();
		if (dut->valid_o) {
			dut->valid_i = 0;
			return taken;
		}
		taken += dut->valid_i && dut->ready_o;
		dut.clock();
	}
	return 0;
}

static void release(Decode &dut)
{
	dut->ready_i = 1;
	dut.clock();
}

static bool same_segments(Decode &dut, const struct hca_wr &wr, uint8_t type)
{
	const struct hcasim_wqe_format *format = hcasim_wqe_format(wr.op);
	struct hcasim_seg_ud ud;
	struct hcasim_seg_bind bind;

	memcpy(&ud, dut->ud_o.m_storage, sizeof(ud));
	memcpy(&bind, dut->bind_o.m_storage, sizeof(bind));
	if (format->address && type == HCASIM_QPT_UD &&
	    (ud.qpn != wr.ud.qpn || ud.qkey != wr.ud.qkey || memcmp(ud.dgid, wr.ud.av.dgid, 16) ||
	     memcmp(ud.dmac, wr.ud.av.dmac, 6) || ud.sgid_index != wr.ud.av.sgid_index))
		return false;
	if (format->address && type == HCASIM_QPT_XRC_SEND && dut->srqn != wr.srqn)
		return false;
	if (format->segs[0] == HCASIM_WQE_SEG_REMOTE &&
	    (dut->remote_addr != wr.remote_addr || dut->rkey != wr.rkey))
		return false;
	if (format->segs[1] == HCASIM_WQE_SEG_ATOMIC &&
	    (dut->swap_add != wr.swap_add || dut->compare != wr.compare))
		return false;
	if (format->segs[1] == HCASIM_WQE_SEG_FLUSH &&
	    (dut->flush_length != wr.flush.length || dut->flush_type != wr.flush.type ||
	     dut->flush_level != wr.flush.level))
		return false;
	if (format->segs[0] == HCASIM_WQE_SEG_BIND &&
	    (bind.mw_rkey != wr.bind.mw_rkey || bind.new_rkey != wr.bind.new_rkey ||
	     bind.lkey != wr.bind.lkey || bind.access != wr.bind.access || bind.addr != wr.bind.addr ||
	     bind.length != wr.bind.length || bind.type != wr.bind.type))
		return false;
	return format->segs[0] != HCASIM_WQE_SEG_TSO ||
	       (dut->mss == wr.tso.mss && dut->hdr_size == wr.tso.hdr_size);
}

static bool same_data(Decode &dut, const struct ref_wr &ref, const Bytes &bytes)
{
	const struct hca_wr &wr = ref.wr;

	if (dut->length != wr.length || dut->num_sge != wr.num_sge)
		return false;
	if (wr.flags & HCA_WR_INLINE)
		return dut->data_at == ref.data_at;
	for (uint32_t i = 0; i < wr.num_sge; i++) {
		struct hcasim_seg_data seg;

		memcpy(&seg, &bytes[dut->data_at + i * sizeof(seg)], sizeof(seg));
		if (seg.addr != ref.sge[i].addr || seg.length != ref.sge[i].length ||
		    seg.lkey != ref.sge[i].lkey)
			return false;
	}
	return true;
}

static bool same_flags(Decode &dut, uint32_t flags)
{
	return dut->signaled == !!(flags & HCA_WR_SIGNALED) &&
	       dut->solicited == !!(flags & HCA_WR_SOLICITED) && dut->fence == !!(flags & HCA_WR_FENCE) &&
	       dut->is_inline == !!(flags & HCA_WR_INLINE) && dut->ip_csum == !!(flags & HCA_WR_IP_CSUM);
}

static bool same(Decode &dut, const struct ref_qp &qp, const struct ref_wr &ref, const Bytes &bytes)
{
	if (dut->op != ref.wr.op || dut->num_bb != ref.wr.num_bb || dut->index != ref.wr.index ||
	    dut->status != ref.status || dut->vendor_err != ref.vendor_err)
		return false;
	if (ref.status)
		return true;
	return dut->imm == ref.wr.imm && dut->inv_rkey == ref.wr.inv_rkey && same_flags(dut, ref.wr.flags) &&
	       same_segments(dut, ref.wr, qp.type) && same_data(dut, ref, bytes);
}

static void report(Decode &dut, const struct ref_qp &qp, const struct ref_wr &ref, const Bytes &bytes,
		   uint32_t seed, unsigned int number)
{
	fprintf(stderr,
		"  seed %u, WQE %u: op %u on QP type %u, size %u of %zu blocks: status %u/%u, vendor_err "
		"%u/%u, num_bb "
		"%u/%u, length %llu/%llu, num_sge %u/%u (RTL/C)\n",
		seed, number, bytes[0], qp.type, bytes[1], bytes.size() / HCASIM_WQEBB_SIZE, dut->status,
		ref.status, dut->vendor_err, ref.vendor_err, dut->num_bb, ref.wr.num_bb,
		(unsigned long long)dut->length, (unsigned long long)ref.wr.length, dut->num_sge,
		ref.wr.num_sge);
}

// What has been met: legal cells of operation and QP type, and errors.
static std::set<std::pair<uint8_t, uint8_t>> legal;
static std::set<std::pair<uint8_t, uint8_t>> errors;

static bool compare(Decode &dut, uint32_t seed, unsigned int number)
{
	const struct ref_qp qp = {qp_types[dut.random.below(6)], 1 + dut.random.below(60),
				  256u << dut.random.below(5),   dut.random.chance(80) ? 256u : 32u,
				  (uint8_t)dut.random.below(5),  1};
	/* Not even NOP, which is to stand before the WQE, may be on XRC_RECV. */
	const uint16_t index = qp.type == HCASIM_QPT_XRC_RECV ? 0 : (uint16_t)dut.random.below(4);
	RandomWqe wqe = random_wqe(dut.random, qp, index, {1 << 26, false});
	struct ref_wr ref;
	unsigned int taken;

	ref_decode(&qp, wqe.bytes.data(), (uint32_t)(wqe.bytes.size() / HCASIM_WQEBB_SIZE), index, &ref);
	taken = decode(dut, qp, wqe.bytes, index);
	bool ok = taken == ref.wr.num_bb && same(dut, qp, ref, wqe.bytes);
	if (!ok)
		report(dut, qp, ref, wqe.bytes, seed, number);
	if (ref.status)
		errors.insert({ref.status, ref.vendor_err});
	else
		legal.insert({ref.wr.op, qp.type});
	release(dut);
	return ok;
}

static void random_wqes()
{
	for (uint32_t i = 0; i < Seeds::count(20); i++) {
		const uint32_t seed = Seeds::first() + i;
		Decode dut(seed);

		for (unsigned int wqe = 0; wqe < 1000; wqe++)
			CU_ASSERT_TRUE_FATAL(compare(dut, seed, wqe));
	}
}

// The run above met every cell that the tables allow, and every error that decoding can end in.
static void all_cells_met()
{
	static const uint8_t vendors[] = {
		HCASIM_VENDOR_ERR_STALE_WQE,    HCASIM_VENDOR_ERR_BAD_OPCODE,
		HCASIM_VENDOR_ERR_BAD_SIZE,     HCASIM_VENDOR_ERR_BAD_QPN,
		HCASIM_VENDOR_ERR_MSG_TOO_LONG, HCASIM_VENDOR_ERR_INLINE_NOT_ALLOWED,
		HCASIM_VENDOR_ERR_BAD_SEGMENT,  HCASIM_VENDOR_ERR_RD_ATOMIC_LIMIT};
	std::set<uint8_t> met;

	if (Seeds::given())
		return; /* a replay meets what it meets */
	for (const auto &rule : hcasim_wr_rules)
		for (uint8_t type : qp_types)
			if ((rule.qp_types | rule.post_qp_types) & HCASIM_QPT_BIT(type))
				CU_ASSERT_TRUE(legal.count({rule.wqe_op, type}));
	for (const auto &e : errors)
		met.insert(e.second);
	for (uint8_t v : vendors)
		CU_ASSERT_TRUE(met.count(v));
	CU_ASSERT_TRUE(errors.count({HCASIM_CQE_STATUS_MW_BIND_ERR, HCASIM_VENDOR_ERR_BAD_SEGMENT}));
	CU_ASSERT_TRUE(errors.count({HCASIM_CQE_STATUS_LOC_LEN_ERR, HCASIM_VENDOR_ERR_BAD_SEGMENT}));
}

// A block a cycle, so an inline WRITE of 64 bytes takes two.
static void full_rate()
{
	const struct ref_qp qp = {HCASIM_QPT_RC, 7, 4096, 256, 1, 1};
	struct hcasim_wqe_ctrl ctrl = {};
	Decode dut(1);
	unsigned int decoded = 0;

	ctrl.opcode = HCASIM_WQE_OP_RDMA_WRITE;
	ctrl.size = 7;
	ctrl.qpn_flags = qp.qpn | HCASIM_WQE_CTRL_INLINE_MASK;
	dut->qp_type = qp.type;
	dut->qpn = qp.qpn;
	dut->port_mtu = 4096;
	dut->max_inline = 256;
	dut->valid_i = dut->ready_i = 1;
	dut->posted_i = 2;
	dut->index_i = 0;
	for (unsigned int i = 0; i < 200; i++) {
		uint8_t block[HCASIM_WQEBB_SIZE] = {};
		const uint32_t length = 64;

		if (i % 2 == 0) {
			memcpy(block, &ctrl, sizeof(ctrl));
			memcpy(block + 32, &length, sizeof(length));
		}
		to_port(dut->block_i, block, sizeof(block));
		dut.settle();
		CU_ASSERT_TRUE(dut->ready_o);
		decoded += dut->valid_o && !dut->status;
		dut.clock();
	}
	CU_ASSERT_EQUAL(decoded, 99);
}

// A request that is not taken stays, and the blocks of the next one wait for it.
static void output_waits()
{
	struct hcasim_wqe_ctrl ctrl = {};
	Decode dut(1);
	std::vector<uint16_t> out;
	uint16_t taken = 0;

	ctrl.opcode = HCASIM_WQE_OP_NOP;
	ctrl.size = 1;
	ctrl.qpn_flags = 7;
	dut->qp_type = HCASIM_QPT_RC;
	dut->qpn = 7;
	dut->valid_i = dut->posted_i = 1;
	for (unsigned int i = 0; i < 8; i++) {
		uint8_t block[HCASIM_WQEBB_SIZE] = {};

		ctrl.index = dut->index_i = taken;
		memcpy(block, &ctrl, sizeof(ctrl));
		to_port(dut->block_i, block, sizeof(block));
		dut->ready_i = i >= 5;
		dut.settle();
		taken = (uint16_t)(taken + dut->ready_o);
		if (dut->valid_o && dut->ready_i)
			out.push_back(dut->index);
		dut.clock();
		CU_ASSERT_TRUE(i >= 5 || taken == 1);
	}
	CU_ASSERT_TRUE((out == std::vector<uint16_t>{0, 1, 2}));
}

extern const struct test wqe_decode_tests[];
const struct test wqe_decode_tests[] = {
	{"random WQEs", random_wqes},
	{"all cells met", all_cells_met},
	{"a block a cycle", full_rate},
	{"output waits", output_waits},
	{nullptr, nullptr},
};
