// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_send_path against the C engine: the same WQE, keys and memory; the same frames to the byte, or the same error.
#include <cstdlib>
#include <deque>
#include <set>

#include "Vhcasim_send_path_tb.h"
#include "stream.hpp"
#include "wqes.hpp"

using Path = Dut<Vhcasim_send_path_tb>;

// Keys and memory, each answering when it likes.
class World
{
      public:
	World(Path &dut, unsigned int percent) : dut_(dut), percent_(percent)
	{
	}

	void drive()
	{
		dut_->lookup_ready_i = dut_.random.chance(percent_);
		dut_->answer_valid_i = asked_ && dut_.random.chance(percent_);
		dut_->answer_vendor_err_i = REF_BAD_KEY(lkey_) ? HCASIM_VENDOR_ERR_BAD_LKEY : 0;
		dut_->answer_addr_i = ref_translate(addr_);
		dut_->read_ready_i = dut_.random.chance(percent_);
		if (!held_)
			dut_->line_valid_i = !lines_.empty() && dut_.random.chance(percent_);
		dut_->line_error_i = 0;
		if (!dut_->line_valid_i)
			return;
		uint8_t line[WORD];
		for (size_t i = 0; i < WORD; i++)
			line[i] = ref_memory(lines_.front() + i);
		to_port(dut_->line_data_i, line, WORD);
	}

	void sample()
	{
		if (dut_->answer_valid_i)
			asked_ = false;
		if (dut_->lookup_valid_o && dut_->lookup_ready_i) {
			CU_ASSERT_FALSE(asked_);
			asked_ = true;
			addr_ = dut_->lookup_addr_o;
			lkey_ = dut_->lookup_lkey_o;
		}
		held_ = dut_->line_valid_i && !dut_->line_ready_o;
		if (dut_->line_valid_i && dut_->line_ready_o)
			lines_.pop_front();
		if (dut_->read_valid_o && dut_->read_ready_i)
			for (unsigned int i = 0; i < dut_->read_lines_o; i++)
				lines_.push_back(dut_->read_addr_o / WORD * WORD + i * WORD);
	}

      private:
	Path &dut_;
	unsigned int percent_;
	bool asked_ = false, held_ = false;
	uint64_t addr_ = 0;
	uint32_t lkey_ = 0;
	std::deque<uint64_t> lines_;
};

static void random_gid(Random &random, uint8_t gid[16])
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	random.fill(gid, 16);
	if (random.chance(50))
		memcpy(gid, mapped, sizeof(mapped));
}

static struct ref_send_qp random_qp(Random &random)
{
	static const uint8_t types[] = {HCASIM_QPT_RC, HCASIM_QPT_UC, HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND};
	struct ref_send_qp qp = {};

	qp.qp = {types[random.below(4)], random.below(60) + 1, 4096, 256, 4};
	qp.mtu = 256u << random.below(5);
	qp.qkey = random.u32();
	qp.dest_qpn = random.below(1 << 24);
	qp.psn = random.below(1 << 24);
	qp.udp_sport = (uint16_t)random.u32();
	random.fill(qp.smac, sizeof(qp.smac));
	random.fill(&qp.av, sizeof(qp.av));
	random_gid(random, qp.sgid);
	random_gid(random, qp.av.dgid);
	qp.av.flow_label &= 0xfffff;
	return qp;
}

static void set_qp(Path &dut, const struct ref_send_qp &qp, uint32_t from)
{
	dut->qp_type = qp.qp.type;
	dut->port = 1;
	dut->qpn = qp.qp.qpn;
	dut->port_mtu = (uint16_t)qp.qp.port_mtu;
	dut->max_inline = (uint16_t)qp.qp.max_inline;
	dut->rd_atomic = 1;
	dut->mtu_log = (uint8_t)__builtin_ctz(qp.mtu);
	dut->qkey = qp.qkey;
	dut->dest_qpn = qp.dest_qpn;
	dut->udp_sport = qp.udp_sport;
	dut->smac = dut->dmac = 0;
	memcpy(&dut->smac, qp.smac, 6);
	memcpy(&dut->dmac, qp.av.dmac, 6);
	to_port(dut->sgid, qp.sgid, 16);
	to_port(dut->dgid, qp.av.dgid, 16);
	dut->hop_limit = qp.av.hop_limit;
	dut->traffic_class = qp.av.traffic_class;
	dut->flow_label = qp.av.flow_label;
	dut->psn = qp.psn;
	dut->begin_at = from;
}

struct Outcome {
	std::vector<Bytes> frames;
	uint8_t status, vendor_err;
	uint32_t psns;
	bool ended;
};

// Gives the WQE to the module; until it has ended and all frames that are expected are out.
static Outcome send(Path &dut, const struct ref_send_qp &qp, const Bytes &wqe, uint32_t from, size_t frames)
{
	const unsigned int posted = (unsigned int)(wqe.size() / HCASIM_WQEBB_SIZE);
	const unsigned int percent = 40 + dut.random.below(61);
	World world(dut, percent);
	Outcome out = {};
	Collector got;
	unsigned int taken = 0;

	set_qp(dut, qp, from);
	for (unsigned int i = 0; i < 60000 && (!out.ended || got.packets.size() < frames); i++) {
		dut->block_valid_i = taken < posted && !out.ended && dut.random.chance(percent);
		dut->index_i = (uint16_t)taken;
		dut->posted_i = (uint16_t)(posted - taken);
		if (taken < posted)
			to_port(dut->block_i, &wqe[taken * HCASIM_WQEBB_SIZE], HCASIM_WQEBB_SIZE);
		dut->ready_i = dut.random.chance(percent);
		world.drive();
		dut.settle();
		got.take(dut);
		CU_ASSERT_FALSE(dut->valid_o && dut->last_o && dut->error_o);
		if (dut->done_o) {
			out.ended = true;
			out.status = dut->done_status;
			out.vendor_err = dut->done_vendor_err;
			out.psns = dut->done_psns;
		}
		taken += dut->block_valid_i && dut->block_ready_o;
		world.sample();
		dut.clock();
	}
	dut->block_valid_i = 0;
	out.frames = got.packets;
	return out;
}

static std::set<std::pair<uint8_t, uint8_t>> sent, gone_back;
static unsigned int refused;

static bool same(const Outcome &out, const struct ref_sent &ref, bool sends)
{
	if (!out.ended || out.status != ref.status || out.vendor_err != ref.vendor_err ||
	    out.frames.size() != ref.frames || (sends && out.psns != ref.psns))
		return false;
	for (uint32_t i = 0; i < ref.frames; i++)
		if (out.frames[i] != Bytes(ref.frame[i], ref.frame[i] + ref.len[i]))
			return false;
	return true;
}

static void report(const struct ref_send_qp &qp, const Bytes &wqe, uint32_t from, const Outcome &out,
		   const struct ref_sent &ref)
{
	fprintf(stderr,
		"  op %u on QP type %u, from packet %u: status %u/%u, vendor_err %u/%u, %zu/%u frames, psns "
		"%u/%u, "
		"ended %d (RTL/C)\n",
		wqe[0], qp.qp.type, from, out.status, ref.status, out.vendor_err, ref.vendor_err,
		out.frames.size(), ref.frames, out.psns, ref.psns, out.ended);
}

static void free_frames(struct ref_sent &ref)
{
	while (ref.frames)
		free(ref.frame[--ref.frames]);
}

// One WQE, from the beginning or from a packet of it.
static bool compare(Path &dut, const struct ref_send_qp &qp, const Bytes &wqe, uint32_t from, uint32_t *psns)
{
	static struct ref_sent ref;
	bool ok = true;

	ref_send(&qp, wqe.data(), (uint32_t)(wqe.size() / HCASIM_WQEBB_SIZE), from, &ref);
	*psns = ref.status ? 0 : ref.psns;
	if (ref.frames < REF_WINDOW) { /* a length that was damaged may be of any size */
		Outcome out = send(dut, qp, wqe, from, ref.frames);

		ok = same(out, ref, ref.frames);
		if (!ok)
			report(qp, wqe, from, out, ref);
		if (ref.frames)
			(from ? gone_back : sent).insert({wqe[0], qp.qp.type});
		refused += ref.status != 0;
	} else {
		*psns = 0;
	}
	free_frames(ref);
	return ok;
}

static void random_wqes()
{
	for (uint32_t seed = 1; seed <= 10; seed++) {
		Path dut(seed);

		for (unsigned int i = 0; i < 150; i++) {
			const struct ref_send_qp qp = random_qp(dut.random);
			const RandomWqe wqe = random_wqe(dut.random, qp.qp, 0, 3000);
			uint32_t psns;

			if (wqe.op == HCASIM_WQE_OP_TSO)
				continue;
			CU_ASSERT_TRUE_FATAL(compare(dut, qp, wqe.bytes, 0, &psns));
			if (psns > 1 && qp.qp.type != HCASIM_QPT_UC)
				CU_ASSERT_TRUE_FATAL(
					compare(dut, qp, wqe.bytes, 1 + dut.random.below(psns - 1), &psns));
		}
	}
}

// The run above has sent every operation that the tables allow, and gone back in those that can be long.
static void all_cells_met()
{
	static const uint8_t types[] = {HCASIM_QPT_RC, HCASIM_QPT_UC, HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND};

	for (const auto &rule : hcasim_wr_rules) {
		const bool local =
			rule.wqe_op == HCASIM_WQE_OP_BIND_MW || rule.wqe_op == HCASIM_WQE_OP_LOCAL_INV;

		for (uint8_t type : types)
			if ((rule.qp_types | rule.post_qp_types) & HCASIM_QPT_BIT(type) && !local &&
			    rule.wqe_op != HCASIM_WQE_OP_TSO)
				CU_ASSERT_TRUE(sent.count({rule.wqe_op, type}));
	}
	for (uint8_t op = HCASIM_WQE_OP_SEND; op <= HCASIM_WQE_OP_RDMA_READ; op++) {
		CU_ASSERT_TRUE(gone_back.count({op, HCASIM_QPT_RC}));
		CU_ASSERT_TRUE(gone_back.count({op, HCASIM_QPT_XRC_SEND}));
	}
	CU_ASSERT_TRUE(refused > 100);
}

extern const struct test send_path_tests[];
const struct test send_path_tests[] = {
	{"random WQEs", random_wqes},
	{"all cells met", all_cells_met},
	{nullptr, nullptr},
};
