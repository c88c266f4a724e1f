// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// RDMA WRITEs with 64 bytes inline on many queue pairs, with one doorbell for many: turns, retire trace, cache, cycles.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <CUnit/CUnit.h>
#include <hcasim_hw.h>
#include <hcasim_verbs.h>
#include <hcasim_wire.h>

extern "C" {
#include "devices/native/format/format.h"
#include "engines/lockstep.h"
#include "rtl_engine.h"
void many_queue_pairs(void);
void many_cache(void);
void many_cycles(void);
void many_pushes(void);
}

namespace
{

constexpr uint32_t BLOCKS = 2, ENTRIES = 1024, FIRST = 0xfff000, PSN = 0xfffff0;

class Bed
{
      public:
	Bed(const engine_ops &engine_of, unsigned int qps) : ops(engine_of)
	{
		static const engine_ports the_ports = ports();
		const engine_config cfg = {&native_personality, 8, 1, ENGINE_WINDOW};
		engine_qp c = {};

		e = ops.create(&cfg, &the_ports, this);
		ops.port_set(e, 1, 4096);
		c.type = HCASIM_QPT_RC;
		c.ring.entries = ENTRIES;
		c.ring.stride = HCASIM_WQEBB_SIZE;
		c.max_inline = 256;
		c.mtu = 4096;
		c.port = 1;
		c.retry_cnt = 7;
		c.max_rd_atomic = 4;
		for (uint32_t qpn = FIRST; qpn < FIRST + qps; qpn++) {
			c.state = HCASIM_QPS_RESET;
			c.set_state = c.set_psn = false;
			CU_ASSERT_EQUAL_FATAL(ops.qp_create(e, qpn, &c), 0);
			c.ring.addr = (uint64_t)qpn << 32;
			c.state = HCASIM_QPS_RTS;
			c.set_state = c.set_psn = true;
			c.sq_psn = PSN;
			ops.qp_set(e, qpn, &c);
			posted_[qpn] = 0;
		}
	}
	~Bed()
	{
		for (const auto &qp : posted_)
			ops.qp_destroy(e, qp.first);
		ops.destroy(e);
	}

	void post(unsigned int wqes)
	{
		for (auto &qp : posted_) {
			qp.second = (uint16_t)(qp.second + wqes * BLOCKS);
			count("doorbell", [&] { ops.doorbell(e, qp.first, qp.second); });
		}
	}

	// One WQE of each QP with its doorbell.
	void push()
	{
		for (auto &qp : posted_) {
			const uint16_t index = qp.second;
			uint8_t wqe[BLOCKS * HCASIM_WQEBB_SIZE];

			for (uint16_t i = 0; i < BLOCKS; i++)
				block(qp.first, (uint16_t)(index + i), wqe + (size_t)i * HCASIM_WQEBB_SIZE);
			qp.second = (uint16_t)(index + BLOCKS);
			ops.push(e, qp.first, index, wqe, sizeof(wqe));
		}
	}

	bool step(hca_stage stage)
	{
		static const char *const names[] = {"FETCH", "DECODE", "PACKETISE"};
		hca_work work;

		if (!ops.pending(e, stage, &work))
			return false;
		count(names[stage - HCA_STAGE_FETCH], [&] { turns.push_back(ops.step(e, stage)); });
		while (!reads_.empty()) {
			const auto read = reads_.front();

			reads_.pop_front();
			count("read_done", [&] {
				ops.read_done(e, read.first, read.second.data(), (uint32_t)read.second.size(),
					      0);
			});
		}
		return true;
	}

	void fetch_and_decode()
	{
		while (step(HCA_STAGE_FETCH) || step(HCA_STAGE_DECODE))
			;
	}

	// Every WQE has one packet. Returns whose, in order.
	std::vector<uint32_t> packetise()
	{
		turns.clear();
		while (step(HCA_STAGE_PACKETISE))
			;
		return turns;
	}

	// The packets leave, the peer acknowledges the last one of each QP, and the one completion of each is taken.
	void finish()
	{
		std::map<uint32_t, uint32_t> last;

		for (const auto &pkt : packets_) {
			count("leave", [&] { CU_ASSERT_TRUE(ops.leave(e, pkt.tag, false)); });
			if (&ops == &rtl_engine)
				frame(pkt);
			count("released", [&] { ops.released(e, pkt.tag); });
			last[pkt.qpn] = pkt.psn;
		}
		packets_.clear();
		for (const auto &qp : last) {
			engine_response r = {};

			r.psn = qp.second;
			r.aeth_kind = HCASIM_AETH_KIND_ACK;
			count("response", [&] { ops.response(e, qp.first, &r); });
			CU_ASSERT_TRUE_FATAL(ops.completion(e, qp.first, nullptr));
			count("completion_taken", [&] { ops.completion_taken(e, qp.first); });
			CU_ASSERT_FALSE(ops.completion(e, qp.first, nullptr));
		}
	}

	std::map<uint32_t, std::vector<engine_retired>> retired;
	std::map<const char *, uint64_t> cycles; // by op
	std::vector<uint32_t> turns;
	uint16_t signaled = 0; // every so many WQEs
	const engine_ops &ops;
	engine *e;

      private:
	struct Packet {
		uint32_t tag, qpn, psn;
	};

	template <class Op>
	void count(const char *name, Op op)
	{
		const uint64_t before = &ops == &rtl_engine ? rtl_engine_cycles(e) : 0;

		op();
		if (&ops == &rtl_engine)
			cycles[name] += rtl_engine_cycles(e) - before;
	}

	// A frame occupies TX for as long as the engine says.
	void frame(const Packet &pkt)
	{
		static const uint8_t zeroes[16] = {};
		const engine_frame f = {.qpn = pkt.qpn,
					.tag = pkt.tag,
					.smac = zeroes,
					.sgid = zeroes,
					.piece = nullptr,
					.npieces = 0,
					.data = nullptr};
		uint8_t out[ENGINE_FRAME_MAX];

		ops.frame(e, &f, out);
		cycles["TX"] += ops.cycles(e);
	}

	// A block of the ring.
	void block(uint32_t qpn, uint16_t index, uint8_t *out) const
	{
		hcasim_wqe_ctrl ctrl = {};
		const uint32_t bytes = 64;

		memset(out, index & 0xff, HCASIM_WQEBB_SIZE);
		if (index % BLOCKS)
			return;
		ctrl.opcode = HCASIM_WQE_OP_RDMA_WRITE;
		ctrl.size = (32 + 4 + bytes + HCASIM_SEG_UNIT - 1) / HCASIM_SEG_UNIT;
		ctrl.index = index;
		ctrl.qpn_flags = qpn | HCASIM_WQE_CTRL_INLINE_MASK |
				 ((index / BLOCKS + 1) % signaled ? 0 : HCASIM_WQE_CTRL_SIGNALED_MASK);
		memset(out, 0, HCASIM_WQEBB_SIZE);
		memcpy(out, &ctrl, sizeof(ctrl));
		memcpy(out + 32, &bytes, sizeof(bytes));
	}

	static bool read_ring(void *host, uint32_t qpn, uint32_t tag, uint32_t, const hca_dma_seg *seg,
			      uint32_t nseg)
	{
		auto *bed = (Bed *)host;
		std::vector<uint8_t> data;

		for (uint32_t i = 0; i < nseg; i++)
			for (uint32_t at = 0; at < seg[i].len; at += HCASIM_WQEBB_SIZE) {
				const auto in_ring = (uint32_t)(seg[i].addr + at) / HCASIM_WQEBB_SIZE;
				const auto behind = (uint16_t)(in_ring - bed->posted_[qpn]) % ENTRIES;

				data.resize(data.size() + HCASIM_WQEBB_SIZE);
				bed->block(qpn, (uint16_t)(bed->posted_[qpn] + behind - ENTRIES),
					   &data[data.size() - HCASIM_WQEBB_SIZE]);
			}
		bed->reads_.emplace_back(tag, data);
		return true;
	}

	static engine_ports ports()
	{
		engine_ports p = {};

		p.now = [](void *) -> hca_ps { return 1000; };
		p.read = read_ring;
		p.lookup = [](void *, const engine_lookup *, piece *, uint32_t *) -> uint8_t { return 0; };
		p.present = [](void *, const engine_lookup *) { return true; };
		p.packet_room = [](void *) { return true; };
		p.packet = [](void *host, uint32_t tag, const engine_packet *pkt) {
			((Bed *)host)->packets_.push_back({tag, pkt->qpn, pkt->spec.psn});
			return true;
		};
		p.timer = [](void *, uint32_t, hca_ps) {};
		p.failed = [](void *, uint32_t, uint8_t) { CU_FAIL("a WQE fails"); };
		p.drained = [](void *, uint32_t) {};
		p.saw_wqe = [](void *, uint32_t, const hca_wr *, const void *, uint32_t) {};
		p.retired = [](void *host, const engine_retired *r) {
			((Bed *)host)->retired[r->qpn].push_back(*r);
		};
		return p;
	}

	std::map<uint32_t, uint16_t> posted_; // ring index, by QP
	std::deque<std::pair<uint32_t, std::vector<uint8_t>>> reads_;
	std::deque<Packet> packets_;
};

void check_records(const std::vector<engine_retired> &records, unsigned int wqes)
{
	CU_ASSERT_EQUAL_FATAL(records.size(), wqes);
	for (unsigned int i = 0; i < wqes; i++) {
		const engine_retired &r = records[i];

		CU_ASSERT_EQUAL(r.index, i * BLOCKS);
		CU_ASSERT_EQUAL(r.num_bb, BLOCKS);
		CU_ASSERT_EQUAL(r.wqe_op, HCASIM_WQE_OP_RDMA_WRITE);
		CU_ASSERT_EQUAL(r.first_psn, ((PSN + i) & HCASIM_PSN_MASK));
		CU_ASSERT_EQUAL(r.psns, 1);
		CU_ASSERT_EQUAL(r.signaled, i + 1 == wqes);
		CU_ASSERT_EQUAL(r.status, HCASIM_CQE_STATUS_OK);
		CU_ASSERT_EQUAL(r.vendor_err, HCASIM_VENDOR_ERR_NONE);
		CU_ASSERT_TRUE(r.fetched < r.issued && r.issued < r.completed);
	}
}

} // namespace

// More QPs than the cache has entries: each has the same share of the turns, to the turn; each WQE retires once, in order.
void many_queue_pairs(void)
{
	constexpr unsigned int QPS = 100, WQES = 24;
	Bed bed(lockstep_engine, QPS);

	bed.signaled = WQES;
	bed.post(WQES);
	bed.fetch_and_decode();
	const auto turns = bed.packetise();

	CU_ASSERT_EQUAL_FATAL(turns.size(), QPS * WQES);
	for (unsigned int i = 0; i < WQES; i++) {
		std::vector<uint32_t> round(turns.begin() + i * QPS, turns.begin() + (i + 1) * QPS);

		std::sort(round.begin(), round.end());
		CU_ASSERT_TRUE(std::adjacent_find(round.begin(), round.end()) == round.end());
	}
	bed.finish();
	CU_ASSERT_EQUAL_FATAL(bed.retired.size(), QPS);
	for (const auto &qp : bed.retired)
		check_records(qp.second, WQES);
}

static uint64_t misses_of(unsigned int qps)
{
	Bed bed(rtl_engine, qps);
	uint64_t hits, misses, hits_before, before;

	bed.signaled = 8;
	rtl_engine_cache(bed.e, &hits_before, &before);
	bed.post(8);
	bed.fetch_and_decode();
	bed.packetise();
	bed.finish();
	rtl_engine_cache(bed.e, &hits, &misses);
	printf(" %u QPs: %llu hits, %llu misses.", qps, (unsigned long long)(hits - hits_before),
	       (unsigned long long)(misses - before));
	return misses - before;
}

// 64 entries: with as many QPs, every context stays; with more, round robin over all of them is the worst case.
void many_cache(void)
{
	CU_ASSERT_EQUAL(misses_of(1), 0);
	CU_ASSERT_EQUAL(misses_of(64), 0);
	CU_ASSERT_TRUE(misses_of(100) > 100 * 8);
}

// More WQEs are pushed than there are records: those behind the window are read from the ring later.
void many_pushes(void)
{
	constexpr unsigned int WQES = 300, SIGNALED = 100, WINDOW = 128;
	Bed bed(lockstep_engine, 1);

	bed.signaled = SIGNALED;
	for (unsigned int i = 0; i < WQES; i++) {
		bed.push();
		bed.fetch_and_decode();
		CU_ASSERT_EQUAL(bed.packetise().size(), i < WINDOW ? 1 : 0);
	}
	for (unsigned int i = 0; i < WQES / SIGNALED; i++) {
		bed.finish();
		bed.fetch_and_decode();
		bed.packetise();
	}
	CU_ASSERT_EQUAL_FATAL(bed.retired.begin()->second.size(), WQES);
	for (unsigned int i = 0; i < WQES; i++)
		CU_ASSERT_EQUAL(bed.retired.begin()->second[i].index, i * BLOCKS);
}

// One QP, 64 WQEs a doorbell, the last one of which is signaled.
void many_cycles(void)
{
	constexpr unsigned int WQES = 64, ROUNDS = 10;
	// Each stage of the adapter, and all that ends WQEs, takes one every 4 cycles.
	static const std::map<std::string, uint64_t> most = {
		{"FETCH", 4}, {"DECODE", 4}, {"PACKETISE", 4}, {"TX", 4}, {"end", 4}};
	static const std::set<std::string> end = {"leave", "released", "response", "completion_taken"};
	Bed bed(rtl_engine, 1);
	std::map<std::string, uint64_t> spent;

	bed.signaled = WQES;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		bed.post(WQES);
		bed.fetch_and_decode();
		CU_ASSERT_EQUAL(bed.packetise().size(), WQES);
		bed.finish();
	}
	for (const auto &op : bed.cycles) {
		printf(" %s %.2f", op.first, (double)op.second / (WQES * ROUNDS));
		spent[op.first] += op.second;
		if (end.count(op.first))
			spent["end"] += op.second;
	}
	printf(" end %.2f ", (double)spent["end"] / (WQES * ROUNDS));
	for (const auto &limit : most)
		CU_ASSERT_TRUE(spent[limit.first] <= limit.second * WQES * ROUNDS);
}
