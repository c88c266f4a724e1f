/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "post/plan.h"

/* Broadcast, with an experimental Ethertype. */
const uint8_t plan_eth_hdr[PLAN_ETH_HDR] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
/* Headers of a segmented TCP stream; the device fills in lengths, sequence numbers and checksums. */
const uint8_t plan_tso_hdr[PLAN_TSO_HDR] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,    0, 0,  0, 0, 1, 0x08, 0x00, /* Ethernet */
	0x45, 0,    0,    0,    0,    1,    0x40, 0, 64, 6, 0, 0, 192,  0,
	2,    1,    192,  0,    2,    2, /* IPv4 */
	0x30, 0x39, 0x00, 0x09, 0,    0,    0,    1, 0,  0, 0, 1, 0x50, 0x10,
	0x20, 0,    0,    0,    0,    0, /* TCP */
};

bool plan_is_inline(const struct plan *p)
{
	return p->wr->data == DATA_INLINE || p->wr->data == DATA_INLINE_LIST;
}

static bool is_atomic(enum effect e)
{
	return e == EFFECT_CMP_SWP || e == EFFECT_FETCH_ADD;
}

/* Lengths of the pieces, with lengths that depend on the granted capabilities replaced by numbers. */
static int resolve_lengths(struct plan *p, const struct link *l, uint32_t *len, unsigned int *num)
{
	const struct cell_wr *wr = p->wr;

	memcpy(len, wr->len, sizeof(wr->len));
	*num = wr->num_len;
	if (wr->limit == LIMIT_SGE) {
		*num = l->cap.max_send_sge + wr->limit_delta;
		if (*num > CELL_MAX_SGE)
			return E2BIG;
		for (unsigned int i = 0; i < *num; i++)
			len[i] = wr->len[0];
	} else if (wr->limit == LIMIT_INLINE) {
		uint32_t rest = l->cap.max_inline_data + wr->limit_delta;

		for (unsigned int i = 0; i + 1 < *num; i++)
			rest -= len[i] = rest / *num;
		len[*num - 1] = rest;
	}
	return 0;
}

/* A broadcast frame with an experimental Ethertype, for the rule of steer_broadcast(). */
static void ethernet_header(struct plan *p, struct link *l)
{
	uint8_t *first;

	if (l->qpt != IBV_QPT_RAW_PACKET || p->wr->effect != EFFECT_SEND || !p->num_sge ||
	    p->sge[0].length < PLAN_ETH_HDR)
		return;
	first = arena_at(link_local(l, 0), p->sge[0].addr);
	memcpy(first, plan_eth_hdr, PLAN_ETH_HDR);
	memcpy(arena_shadow(&l->local, first), plan_eth_hdr, PLAN_ETH_HDR);
}

static int take_local(struct plan *p, struct link *l, uint32_t seed)
{
	uint32_t len[CELL_MAX_SGE];
	unsigned int num;
	int ret = resolve_lengths(p, l, len, &num);

	for (unsigned int i = 0; i < num && !ret; i++) {
		struct arena *local = link_local(l, i);
		uint8_t *at = arena_take(local, len[i]);

		if (!at)
			return E2BIG;
		arena_fill(local, at, len[i], seed + i);
		/* the key of inline data is not checked (ibv_post_send(3), IBV_SEND_INLINE) */
		p->sge[i] = (struct ibv_sge){arena_address(local, at), len[i],
					     plan_is_inline(p) ? 0xbad : local->mr->lkey};
		p->total += len[i];
	}
	p->num_sge = num;
	return ret ? ret : p->total > (p->wr->effect == EFFECT_SEND ? LINK_RECV_LEN : PLAN_MAX) ? E2BIG : 0;
}

static void gather(struct plan *p, struct link *l)
{
	uint32_t done = 0;

	for (unsigned int i = 0; i < p->num_sge; i++) {
		memcpy(p->payload + done, arena_at(link_local(l, i), p->sge[i].addr), p->sge[i].length);
		done += p->sge[i].length;
	}
}

static int take_target(struct plan *p, struct link *l, uint32_t seed)
{
	uint32_t len = is_atomic(p->wr->effect) || p->wr->effect == EFFECT_ATOMIC_WRITE ? 8 : p->total;
	/* every operation gets a remote address, to detect an access by one that must not access memory */
	p->target = arena_take(&l->target, len < 8 ? 8 : len);
	if (!p->target)
		return E2BIG;
	arena_fill(&l->target, p->target, len < 8 ? 8 : len, seed + 0x100);
	if (p->wr->effect == EFFECT_CMP_SWP) {
		uint64_t value = PLAN_COMPARE;

		memcpy(p->target, &value, 8);
		memcpy(arena_shadow(&l->target, p->target), &value, 8);
	}
	return 0;
}

/* The data that the earlier request reads into the buffers is the payload of this one. */
static int take_filled(struct plan *p, const struct plan *earlier)
{
	memcpy(p->sge, earlier->sge, sizeof(p->sge));
	p->num_sge = earlier->num_sge;
	p->total = earlier->total;
	memcpy(p->payload, earlier->target, p->total);
	return 0;
}

int plan_wr(struct plan *p, struct link *l, const struct cell_wr *wr, unsigned int index, uint32_t seed)
{
	bool own = wr->data_of < 0;
	int ret;

	memset(p, 0, sizeof(*p));
	p->wr = wr;
	p->index = index;
	p->wr_id = 0xc0de000000000000u + ((uint64_t)seed << 16) + index;
	p->imm = htobe32(0x11223300 + index);
	p->operand = PLAN_SWAP;
	p->compare = PLAN_COMPARE;
	p->inv_rkey = l->mw ? l->mw->rkey : 0;
	p->rkey = l->target.mr->rkey;
	p->ah = l->ah;
	p->qpn = l->peer->qp_num;
	p->qkey = LINK_QKEY;
	p->srqn = l->srqn;
	ret = own ? take_local(p, l, seed * 2048 + index * 64) : take_filled(p, p - index + wr->data_of);
	if (!ret)
		ret = take_target(p, l, seed * 2048 + index * 64);
	if (ret)
		return ret;
	memcpy(p->tso_hdr, plan_tso_hdr, PLAN_TSO_HDR);
	if (own) {
		ethernet_header(p, l);
		gather(p, l);
	}
	return 0;
}

void plan_scribble(struct plan *p, struct link *l)
{
	for (unsigned int i = 0; i < p->num_sge && plan_is_inline(p); i++) {
		struct arena *local = link_local(l, i);
		uint8_t *at = arena_at(local, p->sge[i].addr);

		memset(at, 0x3c, p->sge[i].length);
		memset(arena_shadow(local, at), 0x3c, p->sge[i].length);
	}
}

/* Scatters data that arrives at the requester over its SGEs. */
static void scatter(struct plan *p, struct link *l, const uint8_t *from)
{
	for (unsigned int i = 0; i < p->num_sge; i++) {
		struct arena *local = link_local(l, i);

		memcpy(arena_shadow(local, arena_at(local, p->sge[i].addr)), from, p->sge[i].length);
		from += p->sge[i].length;
	}
}

static void execute_atomic(struct plan *p, struct link *l)
{
	uint8_t *target = arena_shadow(&l->target, p->target);
	uint64_t old, now;

	memcpy(&old, target, 8);
	if (p->wr->effect == EFFECT_CMP_SWP)
		now = old == p->compare ? p->operand : old;
	else
		now = old + p->operand;
	memcpy(target, &now, 8);
	scatter(p, l, (uint8_t *)&old);
}

static void execute_receive(struct plan *p, struct link *l, const uint8_t *data, uint32_t len,
			    struct expect *responder)
{
	unsigned int slot = l->next_use % LINK_RECV_SLOTS;
	uint8_t *shadow = arena_shadow(&l->recv, l->slot[slot]);
	struct wc_expect *wc = &responder->wc[responder->num++];
	bool message = p->wr->recv == IBV_WC_RECV;

	l->loose[slot] = message ? link_grh(l) + (p->wr->effect == EFFECT_TSO ? PLAN_TSO_HDR : 0) : 0;

	*wc = (struct wc_expect){
		.wr_id = link_recv_wr_id(l->next_use++),
		.opcode = p->wr->recv,
		.qp_num = l->peer->qp_num,
		.frame = l->qpt == IBV_QPT_RAW_PACKET,
		.check_len = true,
		.byte_len = len + link_grh(l),
		.with_imm = p->wr->imm,
		.imm = p->imm,
		.with_inv = p->wr->inv,
		.inv_rkey = p->inv_rkey,
		.with_grh = l->qpt == IBV_QPT_UD &&
			    l->dut->responder.port_attr.link_layer == IBV_LINK_LAYER_ETHERNET,
		.check_src = l->qpt == IBV_QPT_UD,
		.src_qp = l->qp->qp_num,
	};
	if (message)
		memcpy(shadow + link_grh(l), data, len);
}

static void execute_tso(struct plan *p, struct link *l, struct expect *responder)
{
	for (uint32_t at = 0; at < p->total; at += PLAN_TSO_MSS) {
		uint8_t segment[PLAN_TSO_HDR + PLAN_TSO_MSS];
		uint32_t len = p->total - at < PLAN_TSO_MSS ? p->total - at : PLAN_TSO_MSS;

		memcpy(segment, p->tso_hdr, PLAN_TSO_HDR);
		memcpy(segment + PLAN_TSO_HDR, p->payload + at, len);
		execute_receive(p, l, segment, PLAN_TSO_HDR + len, responder);
	}
}

static void execute_effect(struct plan *p, struct link *l, struct expect *responder)
{
	switch (p->wr->effect) {
	case EFFECT_WRITE:
		memcpy(arena_shadow(&l->target, p->target), p->payload, p->total);
		break;
	case EFFECT_READ:
		scatter(p, l, arena_shadow(&l->target, p->target));
		break;
	case EFFECT_CMP_SWP:
	case EFFECT_FETCH_ADD:
		execute_atomic(p, l);
		break;
	case EFFECT_ATOMIC_WRITE:
		memcpy(arena_shadow(&l->target, p->target), &p->operand, 8);
		break;
	case EFFECT_TSO:
		execute_tso(p, l, responder);
		return;
	default:
		break;
	}
	if (p->wr->recv >= 0)
		execute_receive(p, l, p->payload, p->total, responder);
}

void plan_complete(struct plan *p, struct link *l, struct expect *requester)
{
	bool returns = p->wr->effect == EFFECT_READ || is_atomic(p->wr->effect);

	if (p->wr->wc >= 0)
		requester->wc[requester->num++] = (struct wc_expect){
			.wr_id = p->wr_id,
			.opcode = p->wr->wc,
			.qp_num = l->qp->qp_num,
			.check_len = returns,
			.byte_len = p->total,
		};
}

void plan_execute(struct plan *p, struct link *l, struct expect *requester, struct expect *responder)
{
	execute_effect(p, l, responder);
	plan_complete(p, l, requester);
}

void plan_fail(struct plan *p, struct link *l, enum ibv_wc_status status, struct expect *requester)
{
	requester->wc[requester->num++] = (struct wc_expect){.wr_id = p->wr_id,
							     .status = status,
							     .opcode = p->wr->wc < 0 ? 0 : p->wr->wc,
							     .qp_num = l->qp->qp_num};
}

void plan_extra(struct link *l, enum ibv_wc_status status, struct expect *requester)
{
	requester->wc[requester->num++] =
		(struct wc_expect){.foreign = true, .status = status, .qp_num = l->qp->qp_num};
}

void plan_shorten(struct plan *p, uint32_t len)
{
	p->total = len;
	for (unsigned int i = 0; i < p->num_sge; i++) {
		p->sge[i].length = p->sge[i].length < len ? p->sge[i].length : len;
		len -= p->sge[i].length;
	}
}
