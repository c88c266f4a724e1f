// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Random native WQEs, legal and illegal, through the pair of the C engine and the RTL engine: hcasim_wqe_decode inside the
// engine. The peer answers packets at random; keys are as in ref.h.
#include <cerrno>
#include <deque>
#include <set>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <hcasim_wire.h>

#include "../../dv/wqes.hpp"
#include "rtl_engine.h"

extern "C" {
#include "devices/native/format/format.h"
#include "engines/lockstep.h"
void native_wqes(void);
void native_decoded_outside(void);
void native_all_met(void);
void native_wave(void);
void native_configs(void);
}

namespace
{

struct Host {
	const Bytes *ring;
	std::deque<std::pair<uint32_t, Bytes>> reads;
	std::deque<std::pair<uint32_t, uint32_t>> packets; // tag, PSN
	std::deque<uint32_t> results;
	uint32_t psn; // of the first packet
	Random *random;
	bool going; // some keys are removed after they were checked
};

std::set<std::pair<uint8_t, uint8_t>> sent; // operation, QP type
unsigned int gone;                          // keys that are removed after the check
std::set<uint32_t> segments;                // of TSO, by number: a message with checksums has one packet else

hca_ps now(void *)
{
	return 1000;
}

bool read_wqe(void *host, uint32_t, uint32_t tag, uint32_t, const hca_dma_seg *seg, uint32_t)
{
	auto *h = (Host *)host;
	const auto from = h->ring->begin() + (ptrdiff_t)seg[0].addr;

	h->reads.emplace_back(tag, Bytes(from, from + seg[0].len));
	return true;
}

uint8_t lookup(void *host, const engine_lookup *what, piece *out, uint32_t *npieces)
{
	for (uint32_t i = 0; i < what->num_sge; i++)
		if (what->sge[i].length && REF_BAD_KEY(what->sge[i].lkey))
			return HCASIM_VENDOR_ERR_BAD_LKEY;
	if (!out)
		return 0;
	if (((Host *)host)->going && ((Host *)host)->random->chance(20)) {
		gone++;
		return HCASIM_VENDOR_ERR_BAD_LKEY;
	}
	*npieces = what->len != 0;
	out[0] = {};
	out[0].addr = what->off;
	out[0].len = (uint32_t)what->len;
	return 0;
}

bool present(void *, const engine_lookup *)
{
	return true;
}

uint8_t local(void *, uint32_t, const hca_wr *wr)
{
	return REF_BAD_LOCAL(wr->inv_rkey) ? HCASIM_VENDOR_ERR_BAD_RKEY : 0;
}

bool room(void *)
{
	return true;
}

bool packet(void *host, uint32_t tag, const engine_packet *p)
{
	auto *h = (Host *)host;

	h->packets.emplace_back(tag, p->spec.psn);
	if (p->sums)
		segments.insert((p->spec.psn - h->psn) & HCASIM_PSN_MASK);
	return true;
}

int result(void *host, uint32_t, uint32_t tag, const piece *, uint32_t)
{
	((Host *)host)->results.push_back(tag);
	return 1;
}

void timer(void *, uint32_t, hca_ps)
{
}

void failed(void *, uint32_t, uint8_t)
{
}

void drained(void *, uint32_t)
{
}

void saw_wqe(void *, uint32_t, const hca_wr *, const void *, uint32_t)
{
}

const engine_ports *the_ports()
{
	static engine_ports p = {};

	p.now = now;
	p.read = read_wqe;
	p.lookup = lookup;
	p.present = present;
	p.local = local;
	p.packet_room = room;
	p.packet = packet;
	p.result = result;
	p.timer = timer;
	p.failed = failed;
	p.drained = drained;
	p.saw_wqe = saw_wqe;
	return &p;
}

engine_qp random_context(Random &random, const ref_qp &qp)
{
	engine_qp c = {};

	c.type = qp.type;
	c.ring.entries = 32;
	c.ring.stride = HCASIM_WQEBB_SIZE;
	c.max_inline = qp.max_inline;
	c.mtu = 256u << random.below(5);
	c.port = 1;
	c.timeout = 14;
	c.retry_cnt = 7;
	c.max_rd_atomic = qp.max_rd_atomic;
	c.qkey = random.u32();
	c.dest_qpn = random.below(1 << 24);
	c.udp_sport = (uint16_t)random.u32();
	random.fill(&c.av, sizeof(c.av));
	c.av.flow_label &= 0xfffff;
	return c;
}

// An ACK, a NAK, or a response with data; fitting or not.
void answer(engine *e, Random &random, uint32_t qpn, uint32_t psn, uint32_t mtu)
{
	engine_response r = {};

	r.psn = psn;
	r.data = random.chance(50);
	r.atomic = random.chance(30);
	r.end = random.chance(50);
	r.payload_len = random.chance(70) ? mtu : 0;
	r.aeth_kind = random.chance(80) ? (uint8_t)HCASIM_AETH_KIND_ACK : (uint8_t)random.below(4);
	r.aeth_value = (uint8_t)random.below(5);
	lockstep_engine.response(e, qpn, &r);
}

// Until nothing is left to do, or the message is long.
void run(engine *e, Host &h, Random &random, const ref_qp &qp, uint32_t mtu)
{
	hca_work work;

	for (unsigned int i = 0; i < 60; i++) {
		for (auto stage : {HCA_STAGE_FETCH, HCA_STAGE_DECODE, HCA_STAGE_PACKETISE})
			if (lockstep_engine.pending(e, stage, &work)) {
				lockstep_engine.step(e, stage);
				CU_ASSERT_TRUE(lockstep_engine.cycles(e) > 0);
			}
		if (!h.reads.empty()) {
			const auto &read = h.reads.front();

			lockstep_engine.read_done(e, read.first, read.second.data(),
						  (uint32_t)read.second.size(), 0);
			h.reads.pop_front();
		}
		if (!h.packets.empty()) {
			const auto pkt = h.packets.front();

			h.packets.pop_front();
			lockstep_engine.leave(e, pkt.first, random.chance(3));
			lockstep_engine.released(e, pkt.first);
			answer(e, random, qp.qpn, pkt.second, mtu);
		}
		if (!h.results.empty()) {
			lockstep_engine.written(e, h.results.front(), random.chance(5) ? -EFAULT : 0);
			h.results.pop_front();
		}
		if (lockstep_engine.completion(e, qp.qpn, nullptr))
			lockstep_engine.completion_taken(e, qp.qpn);
	}
}

// What is still out comes back after the QP has gone.
void drain(engine *e, Host &h)
{
	for (const auto &read : h.reads)
		lockstep_engine.read_done(e, read.first, read.second.data(), (uint32_t)read.second.size(), 0);
	for (const auto &pkt : h.packets)
		lockstep_engine.released(e, pkt.first);
	for (uint32_t tag : h.results)
		lockstep_engine.written(e, tag, 0);
	h.reads.clear();
	h.packets.clear();
	h.results.clear();
}

void one(engine *e, Host &h, Random &random)
{
	static const uint8_t types[] = {HCASIM_QPT_RC, HCASIM_QPT_UC, HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND,
					HCASIM_QPT_RAW_PACKET};
	const ref_qp qp = {types[random.below(5)], random.below(60) + 1, 4096, 256, 4, 1};
	const RandomWqe wqe = random_wqe(random, qp, 0, {3000, true});
	engine_qp ctx = random_context(random, qp);

	h.ring = &wqe.bytes;
	h.going = random.chance(10);
	lockstep_engine.qp_create(e, qp.qpn, &ctx);
	ctx.state = HCASIM_QPS_RTS;
	ctx.set_state = ctx.set_psn = true;
	ctx.sq_psn = h.psn = random.below(1 << 24);
	lockstep_engine.qp_set(e, qp.qpn, &ctx);
	lockstep_engine.doorbell(e, qp.qpn, (uint16_t)(wqe.bytes.size() / HCASIM_WQEBB_SIZE));
	run(e, h, random, qp, ctx.mtu);
	lockstep_engine.qp_destroy(e, qp.qpn);
	drain(e, h);
	sent.insert({wqe.op, qp.type});
}

} // namespace

static void random_wqes(const hca_personality *pers)
{
	for (uint32_t seed = 1; seed <= 10; seed++) {
		const engine_config cfg = {pers, 8, 1, ENGINE_WINDOW};
		Random random(seed);
		Host h = {};
		h.random = &random;
		engine *e = lockstep_engine.create(&cfg, the_ports(), &h);

		lockstep_engine.port_set(e, 1, 4096);
		for (unsigned int i = 0; i < 500 && !lockstep_report.differs; i++)
			one(e, h, random);
		lockstep_engine.destroy(e);
	}
}

static const void *open_and_close(const engine_config &cfg, Host &h)
{
	engine *e = rtl_engine.create(&cfg, the_ports(), &h);

	if (e)
		rtl_engine.destroy(e);
	return e;
}

void native_wqes(void)
{
	random_wqes(&native_personality);
}

// As of another device family: decoded by its C code, checked by hcasim_wqe_limits.
void native_decoded_outside(void)
{
	hca_personality other = native_personality;

	other.name = "other";
	random_wqes(&other);
}

// What the model has no records for, and blocks of another size, are refused.
void native_configs(void)
{
	hca_personality large = native_personality;
	Host h = {};

	large.wqebb_size *= 2;
	CU_ASSERT_PTR_NULL(open_and_close({&large, 8, 1, ENGINE_WINDOW}, h));
	CU_ASSERT_PTR_NULL(open_and_close({&native_personality, 8, 1, 0}, h));
	CU_ASSERT_PTR_NULL(open_and_close({&native_personality, 8, 1, 241}, h));
	CU_ASSERT_PTR_NOT_NULL(open_and_close({&native_personality, 8, 1, 240}, h));
}

// Both files of a waveform, of a window that is shorter than the run; none at a place where no file can be.
void native_wave(void)
{
	const engine_config cfg = {&native_personality, 8, 1, ENGINE_WINDOW};
	const std::string path = "rtl_engine_test." + std::to_string(getpid()) + ".fst";
	Random random(1);
	Host h = {};

	h.random = &random;
	engine *e = rtl_engine.create(&cfg, the_ports(), &h);
	CU_ASSERT_EQUAL(rtl_engine.wave(e, 50, "/nowhere/x.fst"), -EIO);
	CU_ASSERT_EQUAL(rtl_engine.wave(e, 50, path.c_str()), 0);
	for (unsigned int i = 0; i < 120; i++)
		rtl_engine.port_set(e, 1, 4096);
	CU_ASSERT_EQUAL(rtl_engine.wave(e, 0, nullptr), 0);
	rtl_engine.destroy(e);
	for (const std::string &file : {path, path + ".before"}) {
		struct stat s;

		CU_ASSERT_EQUAL(stat(file.c_str(), &s), 0);
		CU_ASSERT_TRUE(s.st_size > 1000);
		unlink(file.c_str());
	}
}

// Every operation on every QP type on which it is carried out was among them.
void native_all_met(void)
{
	for (const auto &rule : hcasim_wr_rules)
		for (uint8_t type : {HCASIM_QPT_RC, HCASIM_QPT_UC, HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND,
				     HCASIM_QPT_RAW_PACKET})
			if ((rule.qp_types | rule.post_qp_types) & HCASIM_QPT_BIT(type))
				CU_ASSERT_TRUE(sent.count({rule.wqe_op, type}));
	CU_ASSERT_TRUE(gone > 20);
	for (uint32_t number : {0, 1, 2, 20})
		CU_ASSERT_TRUE(segments.count(number));
}
