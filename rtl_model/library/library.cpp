// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_engine.h over struct engine_ops: port calls become events, which the bench answers.
#include "hcasim_engine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <set>
#include <vector>

#include "rtl_engine.h"

#include <hcasim_hw.h>
#include <hcasim_verbs.h>
#include <hcasim_wire.h>

namespace
{

constexpr uint32_t BLOCK = HCASIM_WQEBB_SIZE, PACKETS = 64, PD = 1;
constexpr uint8_t TIMEOUT = 14, RETRIES = 7; // 4.096 us * 2^14

struct Event {
	int kind = HCASIM_EVENT_IDLE;
	std::map<int, uint64_t> field;
	std::vector<piece> pieces;
	std::vector<uint8_t> head;
};

struct Region {
	uint64_t addr, length;
};

struct Bench {
	struct engine *engine = nullptr;
	std::deque<Event> events;
	Event now;
	std::map<uint32_t, Region> regions;
	std::map<uint32_t, engine_qp> qps;
	std::map<uint32_t, uint32_t> reads; // tag: bytes
	std::set<uint32_t> packets, results;
	std::vector<uint8_t> data;
	hca_ps time = 0;

	Event &add(int kind, uint32_t qpn)
	{
		events.emplace_back();
		events.back().kind = kind;
		events.back().field[HCASIM_FIELD_QPN] = qpn;
		return events.back();
	}
	void completions();
	bool step();
};

Bench *of(void *engine)
{
	return static_cast<Bench *>(engine);
}

uint64_t sum(const std::vector<piece> &pieces)
{
	uint64_t length = 0;

	for (const piece &p : pieces)
		length += p.len;
	return length;
}

// ---- Ports ----

hca_ps now(void *host)
{
	return of(host)->time;
}

bool read(void *host, uint32_t qpn, uint32_t tag, uint32_t pasid, const hca_dma_seg *seg, uint32_t nseg)
{
	Event &e = of(host)->add(HCASIM_EVENT_READ, qpn);

	for (uint32_t i = 0; i < nseg; i++)
		e.pieces.push_back({seg[i].addr, seg[i].len, pasid, {}, false, 0});
	e.field[HCASIM_FIELD_TAG] = tag;
	e.field[HCASIM_FIELD_LENGTH] = sum(e.pieces);
	of(host)->reads[tag] = (uint32_t)sum(e.pieces);
	return true;
}

uint8_t lookup(void *host, const engine_lookup *what, piece *out, uint32_t *npieces)
{
	uint64_t off = what->off, left = what->len, n = 0;

	for (uint32_t i = 0; i < what->num_sge; i++) {
		const hca_sge &sge = what->sge[i];
		const auto region = of(host)->regions.find(sge.lkey);

		if (region == of(host)->regions.end())
			return HCASIM_VENDOR_ERR_BAD_LKEY;
		const Region &r = region->second;
		if (sge.addr < r.addr || sge.addr - r.addr > r.length ||
		    sge.length > r.length - (sge.addr - r.addr))
			return HCASIM_VENDOR_ERR_LKEY_RANGE;
		const uint64_t skip = std::min<uint64_t>(off, sge.length);
		const uint64_t len = std::min<uint64_t>(left, sge.length - skip);

		if (out && len)
			out[n++] = {sge.addr + skip, (uint32_t)len, 0, {}, false, 0};
		off -= skip;
		left -= len;
	}
	if (out)
		*npieces = (uint32_t)n;
	return HCASIM_VENDOR_ERR_NONE;
}

bool packet(void *host, uint32_t tag, const engine_packet *p)
{
	Event &e = of(host)->add(HCASIM_EVENT_PACKET, p->qpn);

	e.field[HCASIM_FIELD_TAG] = tag;
	e.field[HCASIM_FIELD_LENGTH] = p->spec.payload_len;
	e.field[HCASIM_FIELD_OPCODE] = p->spec.opcode;
	e.field[HCASIM_FIELD_PSN] = p->spec.psn;
	e.field[HCASIM_FIELD_DEST_QPN] = p->spec.dqpn;
	e.field[HCASIM_FIELD_ACKREQ] = p->spec.ackreq;
	e.field[HCASIM_FIELD_VA] = p->spec.va;
	e.field[HCASIM_FIELD_RKEY] = p->spec.rkey;
	e.field[HCASIM_FIELD_DMALEN] = p->spec.dmalen;
	e.field[HCASIM_FIELD_HEAD] = p->head_len;
	e.head.assign(p->head, p->head + p->head_len);
	e.pieces.assign(p->piece, p->piece + p->npieces);
	of(host)->packets.insert(tag);
	return true;
}

int result(void *host, uint32_t qpn, uint32_t tag, const piece *pieces, uint32_t npieces)
{
	Event &e = of(host)->add(HCASIM_EVENT_RESULT, qpn);

	e.pieces.assign(pieces, pieces + npieces);
	e.field[HCASIM_FIELD_TAG] = tag;
	e.field[HCASIM_FIELD_LENGTH] = sum(e.pieces);
	of(host)->results.insert(tag);
	return 1;
}

void timer(void *host, uint32_t qpn, hca_ps at)
{
	of(host)->add(HCASIM_EVENT_TIMER, qpn).field[HCASIM_FIELD_AT] = at;
}

void failed(void *host, uint32_t qpn, uint8_t state)
{
	of(host)->add(HCASIM_EVENT_FAILED, qpn).field[HCASIM_FIELD_STATUS] = state;
	if (state == HCASIM_QPS_ERR)
		rtl_engine.error(of(host)->engine, qpn);
}

const engine_ports *ports()
{
	static const engine_ports p = [] {
		engine_ports q = {};

		q.now = now;
		q.read = read;
		q.lookup = lookup;
		q.present = [](void *, const engine_lookup *) { return true; };
		q.page_request = [](void *, uint32_t, uint32_t, const engine_lookup *) { return false; };
		q.local = [](void *, uint32_t, const hca_wr *) -> uint8_t {
			return HCASIM_VENDOR_ERR_BAD_OPCODE; // windows are the adapter's
		};
		q.packet_room = [](void *host) { return of(host)->packets.size() < PACKETS; };
		q.packet = packet;
		q.result = result;
		q.timer = timer;
		q.failed = failed;
		q.drained = [](void *, uint32_t) {};
		q.saw_wqe = [](void *, uint32_t, const hca_wr *, const void *, uint32_t) {};
		return q;
	}();

	return &p;
}

// ---- Work ----

const hca_stage STAGES[] = {HCA_STAGE_PACKETISE, HCA_STAGE_DECODE, HCA_STAGE_FETCH};

} // namespace

void Bench::completions()
{
	engine_completion c;

	for (const auto &[qpn, ctx] : qps) {
		while (rtl_engine.completion(engine, qpn, &c)) {
			Event &e = add(HCASIM_EVENT_COMPLETION, qpn);

			e.field[HCASIM_FIELD_INDEX] = c.wqe_index;
			e.field[HCASIM_FIELD_BLOCKS] = c.num_bb;
			e.field[HCASIM_FIELD_STATUS] = c.status;
			e.field[HCASIM_FIELD_LENGTH] = c.byte_count;
			rtl_engine.completion_taken(engine, qpn);
		}
	}
}

bool Bench::step()
{
	hca_work work;

	for (hca_stage stage : STAGES) {
		if (!rtl_engine.pending(engine, stage, &work))
			continue;
		rtl_engine.step(engine, stage);
		return true;
	}
	return false;
}

extern "C" {

void *hcasim_engine_open(void)
{
	// The model decodes native WQEs by itself: it needs the family's name and the size of its blocks.
	static const hca_personality native = [] {
		hca_personality p = {};

		p.name = "native";
		p.wqebb_size = BLOCK;
		return p;
	}();
	const engine_config cfg = {&native, 8, 1, ENGINE_WINDOW};
	auto *bench = new (std::nothrow) Bench();

	if (!bench)
		return nullptr;
	bench->engine = rtl_engine.create(&cfg, ports(), bench);
	if (bench->engine)
		return bench;
	delete bench;
	return nullptr;
}

void hcasim_engine_close(void *engine)
{
	rtl_engine.destroy(of(engine)->engine);
	delete of(engine);
}

static bool power_of_2(uint32_t v, uint32_t min, uint32_t max)
{
	return v >= min && v <= max && !(v & (v - 1));
}

int hcasim_engine_qp(void *engine, uint32_t qpn, uint64_t ring, uint32_t blocks, uint32_t mtu,
		     uint32_t dest_qpn, uint32_t psn)
{
	Bench &b = *of(engine);
	engine_qp c = {};
	int err;

	if (b.qps.count(qpn) || !power_of_2(blocks, 1, HCASIM_MAX_SQ_WQEBB) || !power_of_2(mtu, 256, 4096))
		return -EINVAL;
	c.type = HCASIM_QPT_RC;
	c.state = HCASIM_QPS_RESET;
	c.ring = {0, ring, blocks, BLOCK};
	c.pdn = PD;
	c.max_inline = HCASIM_MAX_INLINE;
	c.mtu = mtu;
	c.port = c.av.port = 1;
	c.timeout = TIMEOUT;
	c.retry_cnt = c.rnr_retry = RETRIES;
	c.max_rd_atomic = 16;
	c.dest_qpn = dest_qpn;
	err = rtl_engine.qp_create(b.engine, qpn, &c);
	if (err)
		return err == -EOPNOTSUPP ? -EINVAL : err;
	c.state = HCASIM_QPS_RTS;
	c.set_state = c.set_psn = true;
	c.sq_psn = psn & HCASIM_PSN_MASK;
	rtl_engine.qp_set(b.engine, qpn, &c);
	b.qps[qpn] = c;
	return 0;
}

int hcasim_engine_qp_destroy(void *engine, uint32_t qpn)
{
	if (!of(engine)->qps.erase(qpn))
		return -EINVAL;
	rtl_engine.qp_destroy(of(engine)->engine, qpn);
	return 0;
}

int hcasim_engine_key(void *engine, uint32_t lkey, uint64_t addr, uint64_t length)
{
	if (addr + length < addr)
		return -EINVAL;
	of(engine)->regions[lkey] = {addr, length};
	return 0;
}

void hcasim_engine_time(void *engine, uint64_t ps)
{
	of(engine)->time = std::max(of(engine)->time, ps);
}

int hcasim_engine_doorbell(void *engine, uint32_t qpn, uint32_t pi)
{
	if (!of(engine)->qps.count(qpn))
		return -EINVAL;
	rtl_engine.doorbell(of(engine)->engine, qpn, (uint16_t)pi);
	return 0;
}

int hcasim_engine_next(void *engine)
{
	Bench &b = *of(engine);

	b.completions();
	while (b.events.empty() && b.step())
		b.completions();
	b.now = Event();
	if (!b.events.empty()) {
		b.now = std::move(b.events.front());
		b.events.pop_front();
	}
	b.data.assign(b.now.kind == HCASIM_EVENT_READ ? b.now.field[HCASIM_FIELD_LENGTH] : 0, 0);
	return b.now.kind;
}

uint64_t hcasim_engine_field(void *engine, int field)
{
	const Event &e = of(engine)->now;
	const auto found = e.field.find(field);

	if (field == HCASIM_FIELD_PIECES)
		return e.pieces.size();
	return found == e.field.end() ? 0 : found->second;
}

int hcasim_engine_piece(void *engine, uint32_t i, uint64_t *addr, uint32_t *length)
{
	const Event &e = of(engine)->now;

	if (i >= e.pieces.size())
		return -EINVAL;
	*addr = e.pieces[i].addr;
	*length = e.pieces[i].len;
	return 0;
}

int hcasim_engine_head(void *engine, uint32_t at, uint32_t *bytes)
{
	const Event &e = of(engine)->now;

	memset(bytes, 0, BLOCK);
	if (at >= e.head.size())
		return -EINVAL;
	memcpy(bytes, &e.head[at], std::min<size_t>(BLOCK, e.head.size() - at));
	return 0;
}

int hcasim_engine_data(void *engine, uint32_t at, const uint32_t *bytes)
{
	std::vector<uint8_t> &data = of(engine)->data;

	if (at >= data.size())
		return -EINVAL;
	memcpy(&data[at], bytes, std::min<size_t>(BLOCK, data.size() - at));
	return 0;
}

int hcasim_engine_read_done(void *engine, uint32_t tag, int status)
{
	Bench &b = *of(engine);
	const auto found = b.reads.find(tag);

	if (found == b.reads.end() || (!status && found->second != b.data.size()))
		return -EINVAL;
	const uint32_t len = found->second;

	b.reads.erase(found);
	rtl_engine.read_done(b.engine, tag, status ? nullptr : b.data.data(), len, status ? -EFAULT : 0);
	return 0;
}

int hcasim_engine_leave(void *engine, uint32_t tag, int failed)
{
	if (!of(engine)->packets.count(tag))
		return -EINVAL;
	return rtl_engine.leave(of(engine)->engine, tag, failed);
}

int hcasim_engine_released(void *engine, uint32_t tag)
{
	if (!of(engine)->packets.erase(tag))
		return -EINVAL;
	rtl_engine.released(of(engine)->engine, tag);
	return 0;
}

int hcasim_engine_ack(void *engine, uint32_t qpn, uint32_t psn, uint32_t kind, uint32_t value)
{
	engine_response r = {};

	if (!of(engine)->qps.count(qpn) || kind > 3 || value > 31)
		return -EINVAL;
	r.psn = psn & HCASIM_PSN_MASK;
	r.aeth_kind = (uint8_t)kind;
	r.aeth_value = (uint8_t)value;
	rtl_engine.response(of(engine)->engine, qpn, &r);
	return 0;
}

int hcasim_engine_read_response(void *engine, uint32_t qpn, uint32_t psn, uint32_t length, int last)
{
	engine_response r = {};

	if (!of(engine)->qps.count(qpn))
		return -EINVAL;
	r.psn = psn & HCASIM_PSN_MASK;
	r.data = true;
	r.end = last;
	r.payload_len = length;
	rtl_engine.response(of(engine)->engine, qpn, &r);
	return 0;
}

int hcasim_engine_written(void *engine, uint32_t tag, int status)
{
	if (!of(engine)->results.erase(tag))
		return -EINVAL;
	rtl_engine.written(of(engine)->engine, tag, status ? -EFAULT : 0);
	return 0;
}

int hcasim_engine_timer(void *engine, uint32_t qpn)
{
	if (!of(engine)->qps.count(qpn))
		return -EINVAL;
	rtl_engine.timer(of(engine)->engine, qpn);
	return 0;
}

uint64_t hcasim_engine_cycles(void *engine)
{
	return rtl_engine_cycles(of(engine)->engine);
}

} // extern "C"
