// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The software of the machine: makes QPs, posts WQEs, changes states.
#include "machine.hpp"

#include <algorithm>

// ---- QPs ----

static engine_qp random_context(Random &random, bool deep)
{
	static const uint8_t types[] = {HCASIM_QPT_RC, HCASIM_QPT_RC,       HCASIM_QPT_UC,
					HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND, HCASIM_QPT_RAW_PACKET};
	engine_qp c = {};

	c.type = types[random.below(6)];
	c.ring.pasid = random.below(1 << 20);
	c.ring.addr = random.u64() << 12;
	c.ring.entries = deep ? 1024 : 16u << random.below(random.chance(80) ? 4 : 10);
	c.ring.stride = HCASIM_WQEBB_SIZE;
	c.pdn = random.below(1 << 24);
	c.max_inline = 256;
	c.port = (uint8_t)(1 + random.chance(30));
	c.state = HCASIM_QPS_RESET;
	return c;
}

static void random_attributes(Random &random, bool large, engine_qp &c)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}; // IPv4

	c.mtu = large ? 256 : 256u << random.below(5);
	c.timeout = (uint8_t)(random.chance(80) ? 1 + random.below(31) : 0);
	c.retry_cnt = (uint8_t)random.below(8);
	c.rnr_retry = (uint8_t)random.below(8);
	c.max_rd_atomic = (uint8_t)(random.chance(90) ? 1 + random.below(random.chance(50) ? 2 : 16) : 0);
	c.qkey = random.u32();
	c.dest_qpn = random.below(1 << 24);
	c.udp_sport = (uint16_t)random.u32();
	random.fill(&c.av, sizeof(c.av));
	if (random.chance(50))
		memcpy(c.av.dgid, mapped, sizeof(mapped));
	c.av.flow_label &= 0xfffff;
	c.paused = false;
}

void Machine::create()
{
	const uint32_t qpn = 1 + random_.below(random_.chance(90) ? 200 : 65535);
	engine_qp ctx = random_context(random_, knobs_.deep);

	if (knobs_.longest == HCASIM_MAX_MSG) // PSNs are counted where they are acknowledged
		ctx.type = qpn % 2 ? HCASIM_QPT_RC : HCASIM_QPT_XRC_SEND;

	if (qps_.count(qpn))
		return;
	Qp &qp = qps_[qpn];
	qp = {ctx, qpn, Bytes(ctx.ring.entries * HCASIM_WQEBB_SIZE), 0, {}, HCA_PS_NEVER, {}};
	lockstep_engine.qp_create(e_, qpn, &ctx);
	up(qp);
}

void Machine::set(Qp &qp, uint8_t state)
{
	qp.ctx.state = state;
	qp.ctx.set_state = true;
	lockstep_engine.qp_set(e_, qp.qpn, &qp.ctx);
	qp.ctx.set_state = qp.ctx.set_psn = false;
}

void Machine::up(Qp &qp)
{
	random_attributes(random_, knobs_.longest > LONG, qp.ctx);
	set(qp, HCASIM_QPS_INIT);
	set(qp, HCASIM_QPS_RTR);
	qp.ctx.set_psn = true;
	qp.ctx.sq_psn = random_.chance(50) ? random_.below(1 << 24) : HCASIM_PSN_MASK - random_.below(64);
	set(qp, HCASIM_QPS_RTS);
}

// The core drops the packets of a QP that was reset.
void Machine::forget(uint32_t qpn)
{
	for (auto &p : packets_)
		p.stale |= p.qpn == qpn;
}

void Machine::reset(Qp &qp)
{
	forget(qp.qpn);
	lockstep_engine.qp_reset(e_, qp.qpn);
	qp.pi = 0;
	qp.peer.clear();
	qp.seen.clear();
	set(qp, HCASIM_QPS_RESET);
	up(qp);
}

// ---- WQEs ----

// One WQE at ring index `at`. Returns its blocks; 0: there is no room.
uint16_t Machine::put(Qp &qp, uint16_t at_, uint16_t room)
{
	const ref_qp ref = {qp.ctx.type,          qp.qpn,     mtu_[qp.ctx.port - 1], qp.ctx.max_inline,
			    qp.ctx.max_rd_atomic, qp.ctx.port};
	const bool legal = !random_.chance(knobs_.illegal);
	const RandomWqe wqe = random_wqe(
		random_, ref, at_, {legal || random_.chance(80) ? knobs_.longest : 1 << 21, !legal, legal});
	const auto blocks = (uint16_t)(wqe.bytes.size() / HCASIM_WQEBB_SIZE);

	if (blocks > room)
		return 0;
	for (uint16_t i = 0; i < blocks; i++)
		memcpy(&qp.ring[(uint16_t)(at_ + i) % qp.ctx.ring.entries * HCASIM_WQEBB_SIZE],
		       &wqe.bytes[i * HCASIM_WQEBB_SIZE], HCASIM_WQEBB_SIZE);
	return blocks;
}

// For the WQEs up to `end`, the last of which is at `last`.
void Machine::ring_doorbell(Qp &qp, uint16_t last, uint16_t end)
{
	const uint32_t bytes = (uint16_t)(end - last) * HCASIM_WQEBB_SIZE;
	Bytes wqe(bytes);

	if (random_.chance(1)) // stale, or never valid
		lockstep_engine.doorbell(e_, qp.qpn, (uint16_t)random_.u32());
	if (bytes > HCASIM_BF_SIZE || !random_.chance(knobs_.push))
		return lockstep_engine.doorbell(e_, qp.qpn, end);
	for (uint32_t i = 0; i < bytes; i++)
		wqe[i] = qp.ring[(last * HCASIM_WQEBB_SIZE + i) % qp.ring.size()];
	if (last != qp.pi && random_.chance(50))
		lockstep_engine.doorbell(e_, qp.qpn, last);
	lockstep_engine.push(e_, qp.qpn, last, wqe.data(), bytes);
}

void Machine::post()
{
	Qp &qp = any();
	engine_state state;

	lockstep_engine.state(e_, qp.qpn, &state);
	if (qp.ctx.state == HCASIM_QPS_ERR && random_.chance(20))
		recover(qp, state);
	if (state.wqes > 400 || qp.ctx.state < HCASIM_QPS_RTS)
		return;
	qp.pi = state.pi;
	uint16_t end = qp.pi, last = qp.pi;
	for (unsigned int n = 1 + random_.below(knobs_.batch); n--;) {
		const auto blocks =
			put(qp, end, (uint16_t)(qp.ctx.ring.entries - (uint16_t)(end - state.retired)));

		if (!blocks)
			break;
		last = end;
		end = (uint16_t)(end + blocks);
	}
	if (end != qp.pi)
		ring_doorbell(qp, last, end);
}

// ---- Changes of QPs ----

// A queue that has come to an end in error starts again.
void Machine::recover(Qp &qp, const engine_state &state)
{
	if (qp.ctx.state == HCASIM_QPS_SQE)
		set(qp, HCASIM_QPS_RTS);
	else if (random_.chance(5) || (!state.wqes && state.fetched == state.pi))
		reset(qp);
}

void Machine::modify(Qp &qp)
{
	engine_query query;

	switch (random_.below(6)) {
	case 0: // IBTA 10.3.1.5: drains, then goes on
		if (qp.ctx.state == HCASIM_QPS_RTS)
			return set(qp, HCASIM_QPS_SQD);
		break;
	case 1:
		qp.ctx.paused = !qp.ctx.paused;
		return lockstep_engine.qp_set(e_, qp.qpn, &qp.ctx);
	case 2:
		lockstep_engine.query(e_, qp.qpn, &query);
		break;
	case 3:
		if (random_.chance(90))
			break;
		lockstep_engine.error(e_, qp.qpn);
		return set(qp, HCASIM_QPS_ERR);
	case 4:
		if (random_.chance(10))
			reset(qp);
		break;
	default:
		qp.ctx.retry_cnt = (uint8_t)random_.below(8);
		return set(qp, qp.ctx.state);
	}
}

void Machine::control()
{
	Qp &qp = any();
	engine_counters counters;
	engine_state state;

	lockstep_engine.state(e_, qp.qpn, &state);
	if (knobs_.rare && qp.ctx.state == HCASIM_QPS_ERR && random_.chance(5))
		lockstep_engine.error(e_, qp.qpn); // once more
	if (qp.ctx.state == HCASIM_QPS_ERR || qp.ctx.state == HCASIM_QPS_SQE)
		recover(qp, state);
	else if (qp.ctx.state == HCASIM_QPS_SQD && random_.chance(70))
		set(qp, HCASIM_QPS_RTS);
	else if (qp.ctx.paused && random_.chance(70)) {
		qp.ctx.paused = false;
		lockstep_engine.qp_set(e_, qp.qpn, &qp.ctx);
	} else if (((state.next_psn - state.una_psn) & HCASIM_PSN_MASK) > 2000 ||
		   (!random_.below(200) && state.has_ack))
		reset(qp); // a message that takes too long, or a queue that has lost what it waits for
	else
		modify(qp);
	if (random_.chance(1)) {
		const uint32_t qpn = any().qpn;

		forget(qpn);
		lockstep_engine.qp_destroy(e_, qpn);
		qps_.erase(qpn);
		do
			create();
		while (qps_.empty());
	}
	lockstep_engine.counters(e_, &counters);
}
