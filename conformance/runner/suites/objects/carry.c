/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queues hold what was granted: as many of the longest requests and receives as the QP has, through a QP that is
 * connected to itself.
 */
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "link/link_modify.h"
#include "suites/objects/own.h"

#define MEMORY   (1 << 16)
#define MOST_WR  64
#define MOST_SGE 64

struct carry {
	struct kit *k;
	struct own own;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t *from, *to;
	uint32_t grh; /* bytes before the message in a receive */
};

static bool begin(struct kit *k, struct carry *c, enum ibv_qp_type type)
{
	const struct end *end = &k->r->dut.requester;
	struct ibv_ah_attr ah;

	*c = (struct carry){.k = k, .grh = type == IBV_QPT_UD ? LINK_GRH_LEN : 0};
	if (!own_begin(k, &c->own, type))
		return false;
	c->from = end_alloc(end->pd, MEMORY);
	c->mr = c->from ? ibv_reg_mr(end->pd, c->from, MEMORY, IBV_ACCESS_LOCAL_WRITE) : NULL;
	link_address(end, end, &ah);
	c->ah = type == IBV_QPT_UD ? ibv_create_ah(end->pd, &ah) : NULL;
	if (!c->mr || (type == IBV_QPT_UD && !c->ah))
		KIT_FAULT(k, "memory or address handle of the case: %s", errno_name(errno));
	c->to = c->from + MEMORY / 2;
	for (size_t i = 0; c->from && i < MEMORY; i++)
		c->from[i] = (uint8_t)(i * 7 + i / 251);
	return KIT_GOOD(k);
}

static bool connect(struct carry *c, const struct ibv_qp_cap *cap)
{
	struct own *o = &c->own;

	o->init.cap = *cap;
	o->to_itself = true;
	if (!own_create_qp(c->k, o))
		return false;
	return own_reach(c->k, o, IBV_QPS_RTS);
}

/* Cuts `len` bytes at `base` into SGEs of unequal length; returns their number, `num` at most. */
static int cut(const struct carry *c, struct ibv_sge *sge, uint32_t num, const uint8_t *base, uint32_t len)
{
	for (uint32_t i = 0, at = 0; i < num; at += sge[i++].length) {
		sge[i] = (struct ibv_sge){(uintptr_t)base + at, 3 + i, c->mr->lkey};
		if (i + 1 == num)
			sge[i].length = len - at;
	}
	return (int)num;
}

static uint32_t message(const struct carry *c)
{
	const struct ibv_qp_cap *cap = &c->own.init.cap;
	uint32_t sges = cap->max_send_sge > cap->max_recv_sge ? cap->max_send_sge : cap->max_recv_sge;

	return sges * (3 + sges) +
	       40; /* each SGE of each list has at least one byte, and a GRH fits the first */
}

static bool post_receives(struct carry *c, unsigned int num, uint32_t len)
{
	for (unsigned int i = 0; i < num; i++) {
		struct ibv_sge sge[MOST_SGE];
		struct ibv_recv_wr wr = {.wr_id = 0x100 + i, .sg_list = sge}, *bad;
		int ret;

		wr.num_sge =
			cut(c, sge, c->own.init.cap.max_recv_sge, c->to + i * (len + c->grh), len + c->grh);
		ret = ibv_post_recv(c->own.qp, &wr, &bad);
		if (!KIT_MUST(c->k, !ret, "receive %u of %u with %d SGEs was refused with %s", i + 1, num,
			      wr.num_sge, errno_name(ret)))
			return false;
	}
	return true;
}

static struct ibv_send_wr send_of(const struct carry *c, struct ibv_sge *sge, int flags)
{
	struct ibv_send_wr wr = kit_wr(0, IBV_WR_SEND, sge);

	wr.send_flags |= flags;
	if (c->ah) {
		wr.wr.ud.ah = c->ah;
		wr.wr.ud.remote_qpn = c->own.qp->qp_num;
		wr.wr.ud.remote_qkey = c->own.known.qkey;
	}
	return wr;
}

/* Requests of `sges` SGEs, or inline of one. */
static bool post_sends(struct carry *c, unsigned int num, uint32_t sges, uint32_t len, int flags)
{
	for (unsigned int i = 0; i < num; i++) {
		struct ibv_sge sge[MOST_SGE];
		struct ibv_send_wr wr = send_of(c, sge, flags), *bad;
		int ret;

		wr.wr_id = i;
		wr.num_sge = cut(c, sge, sges, c->from + i, len);
		ret = ibv_post_send(c->own.qp, &wr, &bad);
		if (!KIT_MUST(c->k, !ret, "request %u of %u with %d SGEs, %u bytes%s, was refused with %s",
			      i + 1, num, wr.num_sge, len, flags ? " inline" : "", errno_name(ret)))
			return false;
	}
	return true;
}

static bool completions(struct carry *c, struct ibv_cq *cq, unsigned int num, uint64_t first)
{
	struct watchdog p = watchdog(c->k->r->dut.timeout_ms);
	struct ibv_wc wc;

	for (unsigned int i = 0; i < num;) {
		int ret = ibv_poll_cq(cq, 1, &wc);

		if (ret < 0 || (!ret && watchdog_expired(&p))) {
			KIT_FAULT(c->k, "completion %u of %u did not come", i + 1, num);
			return false;
		}
		if (!kit_holds(c->k, !ret || (!wc.status && wc.wr_id == first + i))) {
			KIT_FAULT(c->k, "completion %u of %u: status %s, wr_id 0x%llx, expected 0x%llx",
				  i + 1, num, value_name(status_names, wc.status),
				  (unsigned long long)wc.wr_id, (unsigned long long)(first + i));
			return false;
		}
		i += (unsigned int)ret;
	}
	return true;
}

static bool arrived(struct carry *c, unsigned int num, uint32_t len, uint32_t room)
{
	for (unsigned int i = 0; i < num; i++) {
		if (kit_holds(c->k, !memcmp(c->to + i * (room + c->grh) + c->grh, c->from + i, len)))
			continue;
		KIT_FAULT(c->k, "message %u of %u, %u bytes, arrived with wrong bytes", i + 1, num, len);
		return false;
	}
	return true;
}

/* Fills both queues with the longest requests, then with inline ones. */
static bool fill(struct carry *c)
{
	const struct ibv_qp_cap *cap = &c->own.init.cap;
	const bool raw = c->own.init.qp_type == IBV_QPT_RAW_PACKET;
	uint32_t room = message(c), len = room;
	unsigned int num = cap->max_send_wr < cap->max_recv_wr ? cap->max_send_wr : cap->max_recv_wr;

	for (int turn = 0; turn < 2 && len; turn++, len = cap->max_inline_data) {
		const int flags = turn ? IBV_SEND_INLINE : 0;
		const uint32_t size = len < room ? len : room;

		if (raw && size < 14) /* no frame */
			break;
		memset(c->to, 0, MEMORY / 2);
		if (!post_receives(c, raw ? 0 : num, room) ||
		    !post_sends(c, num, turn ? 1 : cap->max_send_sge, size, flags) ||
		    !completions(c, c->own.send_cq, num, 0) ||
		    (!raw && (!completions(c, c->own.recv_cq, num, 0x100) || !arrived(c, num, size, room))))
			return false;
	}
	return true;
}

/* A number of SGEs and inline bytes for each of a series of QPs, so that each length of a request occurs. */
static void carry(struct kit *k)
{
	static const uint8_t sges[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16};
	const unsigned int most = (unsigned int)k->r->dut.requester.attr.max_sge;
	struct carry c;

	if (!begin(k, &c, kit_arg(k, "type", 0)))
		return;
	for (unsigned int i = 0; i < sizeof(sges) / sizeof(sges[0]) && sges[i] <= most; i++) {
		const struct ibv_qp_cap cap = {1 + i % 3, 1 + i % 3, sges[i], sges[i],
					       i % 2 ? 0 : 11 * i + 4};

		if (!connect(&c, &cap) || !fill(&c))
			break;
		ibv_destroy_qp(c.own.qp);
	}
}

SCENARIO(carry) = {
	{"granted", SUITE("create"), QPS("RC"), ARGS({"type", IBV_QPT_RC}),
	 CLAUSE("ibv_create_qp/DESCRIPTION/granted"),
	 SAYS("a QP takes and executes as many requests and receives as it was granted, each with as "
	      "many SGEs or inline bytes")},
	{"granted", QPS("UC"), ARGS({"type", IBV_QPT_UC})},
	{"granted", QPS("UD"), ARGS({"type", IBV_QPT_UD})},
	{"granted", QPS("RAW_PACKET"), ARGS({"type", IBV_QPT_RAW_PACKET})},
	{},
};
