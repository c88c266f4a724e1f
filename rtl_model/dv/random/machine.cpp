// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "machine.hpp"
#include "rtl_engine.h"

#include <arpa/inet.h>
#include <algorithm>
#include <cerrno>

#include <hcasim_ops.h>

constexpr uint32_t PAGE = 4096;
constexpr uint32_t LONG_WINDOW = 300000; // bytes: more packets than a window, with the shortest MTU
constexpr size_t MAX_WAITING = 300;      // of each kind; far fewer than the engine has tags
constexpr size_t MAX_TAGS = 5000;        // more than the RTL engine has
constexpr uint32_t PHASE = 16384;        // acts
constexpr bool SMALL = RTL_SLOTS < 32;

enum Act {
	POST,
	FETCH,
	DECODE,
	PACKETISE,
	READ,
	LEAVE,
	RELEASE,
	RESPOND,
	WRITE,
	PAGES,
	TIME,
	COMPLETE,
	CONTROL
};

// ---- Ports ----

size_t Machine::waiting() const
{
	return knobs_.tags ? MAX_TAGS : MAX_WAITING;
}

bool Machine::read(uint32_t qpn, uint32_t tag, const hca_dma_seg *seg, uint32_t nseg)
{
	const Qp &qp = at(qpn);
	Read r = {tag, {}};

	if (random_.chance(knobs_.no_read) || reads_.size() > waiting())
		return false;
	for (uint32_t i = 0; i < nseg; i++) {
		const auto from = qp.ring.begin() + (ptrdiff_t)(seg[i].addr - qp.ctx.ring.addr);

		r.data.insert(r.data.end(), from, from + seg[i].len);
	}
	reads_.push_back(r);
	return true;
}

// A piece for each page that the bytes touch.
uint8_t Machine::lookup(const engine_lookup &what, piece *out, uint32_t *npieces)
{
	uint64_t off = out ? what.off : 0, len = out ? what.len : UINT64_MAX;
	uint32_t n = 0;

	if (out && knobs_.no_key && random_.chance(knobs_.no_key))
		return HCASIM_VENDOR_ERR_BAD_LKEY;
	for (uint32_t i = 0; i < what.num_sge && len; i++) {
		const hca_sge &sge = what.sge[i];
		uint64_t part = sge.length, addr = sge.addr + off;

		if (off >= part) {
			off -= part;
			continue;
		}
		part = std::min(part - off, len);
		off = 0;
		len -= part;
		if ((sge.lkey & knobs_.bad_keys) == 1)
			return HCASIM_VENDOR_ERR_BAD_LKEY;
		while (out && part) {
			const uint64_t bytes = std::min<uint64_t>(part, PAGE - addr % PAGE);

			if (n == ENGINE_MAX_PIECES)
				return HCASIM_VENDOR_ERR_BAD_LKEY;
			out[n] = {};
			out[n].addr = ref_translate(addr);
			out[n++].len = (uint32_t)bytes;
			addr += bytes;
			part -= bytes;
		}
	}
	if (out)
		*npieces = n;
	return 0;
}

bool Machine::present()
{
	return !random_.chance(knobs_.no_pages);
}

bool Machine::page_request(uint32_t tag)
{
	if (random_.chance(knobs_.no_read) || page_waits_.size() > waiting())
		return false;
	page_waits_.push_back(tag);
	return true;
}

uint8_t Machine::local(const hca_wr &wr)
{
	const uint32_t key = wr.op == HCASIM_WQE_OP_LOCAL_INV ? wr.inv_rkey : wr.bind.mw_rkey;

	return (key & knobs_.bad_keys) == 1 ? HCASIM_VENDOR_ERR_BAD_RKEY : 0;
}

bool Machine::room()
{
	room_told_ = packets_.size() < knobs_.packets && left_.size() < waiting() &&
		     !random_.chance(knobs_.no_room);
	return room_told_;
}

bool Machine::packet(uint32_t tag, const engine_packet &p)
{
	if (!room_told_) {
		fprintf(stderr, "packet() without packet_room()\n");
		abort();
	}
	room_told_ = false;
	if (random_.chance(knobs_.no_read))
		return false;
	packets_.push_back({tag,
			    p.qpn,
			    {p.spec.psn, p.spec.opcode, p.spec.dmalen, 0},
			    false,
			    p.raw,
			    p.sums != 0,
			    p.spec,
			    *p.spec.av,
			    Bytes(p.head, p.head + p.head_len),
			    {p.piece, p.piece + p.npieces}});
	return true;
}

int Machine::result(uint32_t tag, uint32_t npieces)
{
	if (random_.chance(knobs_.no_read) || writes_.size() > waiting())
		return -ENOMEM;
	writes_.insert(writes_.end(), npieces, tag);
	return (int)npieces;
}

void Machine::timer(uint32_t qpn, hca_ps at_)
{
	at(qpn).timer = at_;
}

void Machine::failed(uint32_t qpn, uint8_t state)
{
	at(qpn).ctx.state = state;
	if (state == HCASIM_QPS_ERR)
		lockstep_engine.error(e_, qpn);
}

void Machine::saw(uint32_t qpn, const hca_wr &wr)
{
	Qp &qp = at(qpn);

	wqes++;
	qp.seen[wr.index] = Bins::of(wr, qp.ctx.type);
}

// ---- What answers, in any order ----

void Machine::stage(hca_stage stage)
{
	hca_work work;

	if (lockstep_engine.pending(e_, stage, &work))
		lockstep_engine.step(e_, stage);
}

void Machine::finish_read()
{
	if (reads_.empty())
		return;
	const Read r = take(reads_);

	lockstep_engine.read_done(e_, r.tag, r.data.data(), (uint32_t)r.data.size(),
				  random_.chance(knobs_.bad_dma) ? -EFAULT : 0);
}

void Machine::leave()
{
	if (packets_.empty())
		return;
	const Packet p = packets_.front();

	packets_.pop_front();
	if ((!p.stale || knobs_.rare) && // another host need not drop them
	    lockstep_engine.leave(e_, p.tag, !p.pieces.empty() && random_.chance(knobs_.bad_dma))) {
		frame(p);
		if (!random_.chance(knobs_.lost))
			at(p.qpn).peer.push_back(p.request);
	}
	left_.push_back(p.tag);
}

static Source random_source(Random &random)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	Source s;

	random.fill(&s, sizeof(s));
	if (random.chance(80)) // IPv4, if the destination is, too
		memcpy(s.gid, mapped, sizeof(mapped));
	return s;
}

// Its frame, from both engines: of the C engine it is that of the core.
void Machine::frame(const Packet &p)
{
	uint8_t out[ENGINE_FRAME_MAX];

	gathered_.clear();
	for (const auto &piece : p.pieces)
		for (uint32_t i = 0; i < piece.len; i++)
			gathered_.push_back(ref_memory(piece.addr + i));
	source_ = random_source(random_);
	leaving_ = &p;
	const engine_frame f = {p.qpn,           p.tag,           source_.mac,
				source_.gid,     p.pieces.data(), (uint32_t)p.pieces.size(),
				gathered_.data()};

	lockstep_engine.frame(e_, &f, out);
	frames++;
}

uint32_t Machine::core_frame(uint8_t *out)
{
	Bytes payload = leaving_->head;
	pkt_spec spec = leaving_->spec;
	hca_av av = leaving_->av;
	uint8_t frame[5000];

	payload.insert(payload.end(), gathered_.begin(), gathered_.end());
	spec.av = &av;
	spec.port = 1;
	av.sgid_index = 0;
	const uint32_t len = ref_frame(&spec, source_.mac, source_.gid, leaving_->raw, leaving_->sums,
				       payload.data(), frame);
	memcpy(out, frame, len);
	return len;
}

void Machine::release()
{
	if (!left_.empty())
		lockstep_engine.released(e_, take(left_));
}

void Machine::finish_write()
{
	if (!writes_.empty())
		lockstep_engine.written(e_, take(writes_), random_.chance(knobs_.bad_dma) ? -EFAULT : 0);
}

void Machine::answer_pages()
{
	if (page_waits_.empty())
		return;
	const uint32_t tag = take(page_waits_);

	if (knobs_.rare && !qps_.empty() && random_.chance(2))
		reset(any());
	lockstep_engine.pages(e_, tag, !random_.chance(knobs_.bad_dma));
	lockstep_engine.released(e_, tag);
}

void Machine::pass_time()
{
	Qp &qp = any();

	now_ += random_.below(1000000);
	if (qp.timer == HCA_PS_NEVER)
		return;
	if (random_.chance(50))
		now_ = std::max(now_, qp.timer);
	for (auto &each : qps_)
		if (each.second.timer <= now_) {
			each.second.timer = HCA_PS_NEVER;
			lockstep_engine.timer(e_, each.first);
		}
}

void Machine::complete()
{
	Qp &qp = any();
	engine_completion c;
	engine_state state;

	while (lockstep_engine.completion(e_, qp.qpn, &c)) {
		bins_.ended(qp.seen[c.wqe_index], c.status);
		qp.seen.erase(c.wqe_index);
		lockstep_engine.completion_taken(e_, qp.qpn);
		if (random_.chance(20)) // the completion queue is full
			break;
	}
	lockstep_engine.state(e_, qp.qpn, &state);
	for (auto it = qp.seen.begin(); it != qp.seen.end();) {
		const bool gone = (uint16_t)(state.retired - it->first - 1) < 0x8000;

		if (gone) // without a completion
			bins_.ended(it->second, HCASIM_CQE_STATUS_OK);
		it = gone ? qp.seen.erase(it) : std::next(it);
	}
}

void Machine::act()
{
	unsigned int all = 0, n, what = 0;

	for (unsigned int w : weight_)
		all += w;
	for (n = random_.below(all); n >= weight_[what]; what++)
		n -= weight_[what];
	// queues fill up to their limits where at times nothing helps them on
	const bool alone = acts_++ / (knobs_.tags ? 8 * PHASE : PHASE) % 2 == 0;
	if (alone && (knobs_.deep || knobs_.longest > LONG) &&
	    (what == RESPOND || what == TIME || what == CONTROL))
		what = knobs_.deep ? FETCH : PACKETISE;
	if (alone && knobs_.tags && what == RELEASE)
		what = PACKETISE;
	switch ((Act)what) {
	case POST:
		return post();
	case FETCH:
		return stage(HCA_STAGE_FETCH);
	case DECODE:
		return stage(HCA_STAGE_DECODE);
	case PACKETISE:
		return stage(HCA_STAGE_PACKETISE);
	case READ:
		return finish_read();
	case LEAVE:
		return leave();
	case RELEASE:
		return release();
	case RESPOND:
		return respond();
	case WRITE:
		return finish_write();
	case PAGES:
		return answer_pages();
	case TIME:
		return pass_time();
	case COMPLETE:
		return complete();
	case CONTROL:
		return control();
	}
}

bool Machine::run(uint64_t count)
{
	while (wqes < count && !lockstep_report.differs)
		act();
	return !lockstep_report.differs;
}

Qp &Machine::any()
{
	auto it = qps_.begin();

	std::advance(it, random_.below((uint32_t)qps_.size()));
	return it->second;
}

// ---- Life ----

static Knobs random_knobs(Random &random, uint32_t seed)
{
	static const unsigned int rare[] = {0, 0, 1, 5}, often[] = {0, 10, 50, 90};
	Knobs k = {};

	k.illegal = random.chance(30) ? 30 : random.below(3);
	k.bad_keys = random.chance(30) ? 0x1f : 0xfff;
	k.longest = random.chance(5) ? 30000 : random.chance(50) ? 300 : 3000;
	if (seed % 8 == 3) // windows of packets
		k.longest = LONG_WINDOW;
	if (seed % 8 == 7) // half of the PSNs
		k.longest = HCASIM_MAX_MSG;
	k.deep = random.chance(5); // windows of WQEs
	k.no_read = rare[random.below(4)];
	k.no_room = often[random.below(4)];
	k.no_pages = rare[random.below(4)];
	k.bad_dma = random.chance(70) ? 0 : random.below(3);
	k.push = often[random.below(4)];
	k.batch = 1 + random.below(random.chance(50) ? 3 : 40);
	k.lost = random.chance(50) ? 0 : random.below(random.chance(80) ? 20 : 90);
	k.nak = rare[random.below(4)];
	k.rnr = random.chance(40) ? 50 : rare[random.below(4)];
	k.refuse = random.chance(50) ? 30 : rare[random.below(4)];
	k.garbage = rare[random.below(4)];
	k.packets = 1 + random.below(64);
	k.pace = random.chance(50) ? 100 : 20 + random.below(80);
	return k;
}

// What a host and a peer do seldom, if at all.
static void want_rare(Random &random, Knobs &k)
{
	k.rare = true;
	k.no_key = random.chance(80) ? 0 : 1;
	k.twice = random.chance(50) ? 0 : 70;
	if (random.chance(30)) { // pages that a response awaits, and the response once more
		k.no_pages = 40;
		k.twice = 70;
	}
	if (random.chance(10))
		k.rnr = 97;
}

// Many packets, which wait for their release.
static void want_tags(Random &random, Knobs &k)
{
	k.tags = true;
	k.deep = false;
	k.illegal = k.no_read = k.no_room = k.no_key = k.bad_dma = k.lost = 0;
	k.nak = k.rnr = k.refuse = k.garbage = 0;
	k.bad_keys = 0xfff;
	k.longest = 3000;
	k.no_pages = random.below(3);
	k.batch = 40;
	k.packets = 64;
}

// What is slow differs from seed to seed; control is rare.
static std::vector<unsigned int> random_weights(Random &random, const Knobs &knobs)
{
	std::vector<unsigned int> weight;

	for (unsigned int act = POST; act <= CONTROL; act++)
		weight.push_back(10 + random.below(random.chance(30) ? 20 : 100));
	weight[POST] = 5 + random.below(60);
	weight[TIME] = 1 + random.below(10);
	if (random.chance(knobs.longest == LONG_WINDOW ? 60 : 15))
		weight[RESPOND] = 1; // so much is sent ahead
	weight[CONTROL] = 1 + random.below(random.chance(20) ? 10 : 2);
	if (knobs.deep)
		weight[PACKETISE] = 1;
	return weight;
}

// A device family whose decoder lets pass what the native one refuses: the engine's own checks are left. Both engines
// decode, so what it does with a WQE depends on its bytes.
static uint8_t other_decode(const void *raw, uint32_t len, uint8_t qp_type, uint32_t qpn, uint16_t index,
			    struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge, uint8_t *status)
{
	const uint8_t err =
		native_personality.decode_wqe(raw, len, qp_type, qpn, index, wr, sge, max_sge, status);
	const uint32_t dice = ntohl(wr->imm) % 32;

	if (err) {
		if (dice < 8)
			*status = HCASIM_CQE_STATUS_OK;
		return err;
	}
	if (dice == 0 && hcasim_wqe_op_info(wr->op) && hcasim_wqe_op_info(wr->op)->length) {
		wr->length++;
	} else if (dice == 1) {
		wr->flags |= HCA_WR_INLINE;
		wr->inline_data = (uint8_t *)(uintptr_t)raw;
		wr->length = std::min<uint64_t>(wr->length, len);
		wr->num_sge = 0;
	} else if (dice == 2) {
		wr->op = UINT8_MAX; // no operation
	}
	return 0;
}

Machine::Machine(uint32_t seed, Bins &bins, bool rare, bool tags)
    : random_(seed), bins_(bins), knobs_(random_knobs(random_, seed)),
      weight_(random_weights(random_, knobs_)), other_(native_personality), now_(random_.u64() >> 14)
{
	engine_config cfg = {&native_personality, 1 + random_.below(random_.chance(50) ? 4 : RTL_SLOTS), 1,
			     ENGINE_WINDOW};

	if (rare)
		want_rare(random_, knobs_);
	if (tags)
		want_tags(random_, knobs_);
	other_.name = "other"; // the engine does not decode its WQEs itself
	if (rare)
		other_.decode_wqe = other_decode;
	if (random_.chance(rare ? 70 : 35))
		cfg.pers = &other_;
	if (SMALL)
		cfg.window = 1 + random_.below(random_.chance(50) ? 4 : 40);
	rtl_engine_random(seed, knobs_.pace);
	e_ = lockstep_engine.create(&cfg, machine_ports(), this);
	for (uint8_t port : {1, 2}) {
		mtu_[port - 1] = random_.chance(50) ? 4096 : 1024;
		lockstep_engine.port_set(e_, port, mtu_[port - 1]);
	}
	const bool few = knobs_.deep || knobs_.longest > LONG;
	for (unsigned int n = 1 + random_.below(few ? 3 : random_.chance(10) ? 100 : 12); n--;)
		create();
}

// What is under way comes back after the QPs have gone.
Machine::~Machine()
{
	while (!qps_.empty()) {
		forget(qps_.begin()->first);
		lockstep_engine.qp_destroy(e_, qps_.begin()->first);
		qps_.erase(qps_.begin());
	}
	while (!reads_.empty())
		finish_read();
	while (!packets_.empty())
		leave();
	while (!left_.empty())
		release();
	while (!writes_.empty())
		finish_write();
	while (!page_waits_.empty())
		answer_pages();
	lockstep_engine.destroy(e_);
}
