// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The peers of the machine: most answers fit what was asked, some do not.
#include "machine.hpp"

#include <algorithm>

void Machine::answer(Qp &qp, const engine_response &r)
{
	lockstep_engine.response(e_, qp.qpn, &r);
}

static bool same_op(uint8_t opcode, uint8_t rc_opcode) // on XRC, too
{
	return (opcode & 0x1f) == (rc_opcode & 0x1f);
}

// The response to the oldest request, or the next packet of it. True: the request is answered.
bool Machine::acknowledge(Qp &qp)
{
	Request &q = qp.peer.front();
	engine_response r = {};

	r.psn = (q.psn + q.answered) & HCASIM_PSN_MASK;
	if (same_op(q.opcode, HCASIM_BTH_OP_RC_RDMA_READ_REQUEST)) {
		const uint64_t at = (uint64_t)q.answered * qp.ctx.mtu;

		r.data = true;
		r.payload_len =
			(uint32_t)std::min<uint64_t>(q.length - std::min<uint64_t>(at, q.length), qp.ctx.mtu);
		r.end = at + r.payload_len >= q.length;
		q.answered++;
	} else if (same_op(q.opcode, HCASIM_BTH_OP_RC_COMPARE_SWAP) ||
		   same_op(q.opcode, HCASIM_BTH_OP_RC_FETCH_ADD)) {
		r.data = r.atomic = r.end = true;
	} else if (same_op(q.opcode, HCASIM_BTH_OP_RC_FLUSH) ||
		   same_op(q.opcode, HCASIM_BTH_OP_RC_ATOMIC_WRITE)) {
		r.data = r.end = true;
	} else {
		r.aeth_kind = HCASIM_AETH_KIND_ACK;
		r.end = true;
	}
	const bool end = r.end;

	if (random_.chance(knobs_.garbage)) // it does not fit
		switch (random_.below(4)) {
		case 0:
			r.payload_len += random_.below(3) - 1;
			break;
		case 1:
			r.end ^= true;
			break;
		case 2:
			r.atomic ^= true;
			break;
		default:
			r.data ^= true;
		}
	if (end)
		qp.peer.pop_front();
	if (!random_.chance(knobs_.lost))
		answer(qp, r);
	while (knobs_.twice && random_.chance(knobs_.twice) && qp.ctx.state != HCASIM_QPS_ERR)
		answer(qp, r);
	return end;
}

// A NAK, at the oldest request or anywhere.
void Machine::negative(Qp &qp, uint8_t kind, uint8_t value)
{
	engine_response r = {};

	r.psn = qp.peer.front().psn + qp.peer.front().answered;
	if (random_.chance(30))
		r.psn = qp.peer[random_.below((uint32_t)qp.peer.size())].psn;
	if (random_.chance(knobs_.garbage))
		r.psn += random_.below(2000) - 1000;
	r.psn &= HCASIM_PSN_MASK;
	r.end = true;
	r.aeth_kind = kind;
	r.aeth_value = value;
	qp.peer.clear(); // go-back-N: all of it comes again
	answer(qp, r);
}

// Something that nobody waits for.
void Machine::late(Qp &qp)
{
	engine_response r = {};

	r.psn = random_.below(1 << 24);
	r.data = random_.chance(50);
	r.end = true;
	r.aeth_kind = (uint8_t)random_.below(4);
	answer(qp, r);
}

void Machine::respond()
{
	Qp &qp = any();
	const bool reliable = qp.ctx.type == HCASIM_QPT_RC || qp.ctx.type == HCASIM_QPT_XRC_SEND;

	if (!reliable)
		qp.peer.clear();
	// the core drops responses of a QP in another state
	if (qp.ctx.state != HCASIM_QPS_RTS && qp.ctx.state != HCASIM_QPS_SQD)
		return;
	if (qp.peer.empty() && knobs_.rare && random_.chance(5))
		late(qp);
	if (qp.peer.empty())
		return;
	if (random_.chance(knobs_.nak))
		return negative(qp, HCASIM_AETH_KIND_NAK, HCASIM_NAK_PSN_SEQ);
	if (random_.chance(knobs_.rnr))
		return negative(qp, HCASIM_AETH_KIND_RNR, (uint8_t)random_.below(32));
	if (random_.chance(knobs_.refuse))
		return negative(qp, HCASIM_AETH_KIND_NAK, (uint8_t)(1 + random_.below(5)));
	if (random_.chance(knobs_.garbage))
		return negative(qp, (uint8_t)random_.below(4), (uint8_t)random_.u32());
	for (unsigned int n = 1 + random_.below(8);
	     n-- && !qp.peer.empty() && qp.ctx.state != HCASIM_QPS_ERR;) {
		// an ACK counts for requests before it; an implied NAK if one of them is a READ
		while (qp.peer.size() > 1 && random_.chance(20) && !qp.peer.front().answered)
			qp.peer.pop_front();
		acknowledge(qp);
	}
}
