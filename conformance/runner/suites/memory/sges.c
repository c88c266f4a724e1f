/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Lists of SGEs of which each has a region of its own: another key, another place in its region, another kind of
 * address. Empty ones, whose key and address count for nothing, are at the beginning, in the middle and at the end.
 */
#include <errno.h>
#include <string.h>

#include "suites/kit.h"

#define PARTS 4
#define SIZE  4096 /* of a part's memory */
#define START 64   /* of its region */
#define LEN   3000 /* of its region */
#define IOVA  0x112233445000ull
#define TOTAL 2000 /* bytes of a message; of a datagram: half */

static const uint16_t layouts[][PARTS] = {
	{4, 1200, 0, 796}, {0, 1023, 2, 975}, {1021, 978, 1, 0}, {24, 0, 1000, 976}};

enum damage {
	NONE,
	BAD_KEY,
	OTHER_PD,
	NO_RIGHT,
	DEREG,
	BYTE_BEFORE,
	BYTE_BEHIND,
	WRAPS,
	REGION_BEHIND,
	DAMAGES
};

static const char *const damages[] = {"none",
				      "a wrong lkey",
				      "another PD",
				      "no local write",
				      "deregistered",
				      "one byte before",
				      "one byte behind",
				      "an address that wraps",
				      "an address behind the region"};

struct part {
	uint8_t *buf;
	struct ibv_mr *mr;
	struct ibv_sge sge;
	uint8_t *at; /* of the SGE's first byte */
	uint8_t want[SIZE];
};

struct parts {
	struct kit *k;
	struct ibv_pd *pd, *other;
	struct part part[PARTS];
};

/* The second region has addresses of its own (ibv_reg_mr_iova), the others those of their memory. */
static bool register_part(struct parts *p, unsigned int i, enum damage damage)
{
	struct part *part = &p->part[i];
	int access = damage == NO_RIGHT ? 0 : IBV_ACCESS_LOCAL_WRITE;
	struct ibv_pd *pd = damage == OTHER_PD ? p->other : p->pd;
	uint64_t from;

	part->buf = end_alloc(pd, SIZE);
	if (!part->buf)
		return false;
	memset(part->buf, 0x40 + i, SIZE);
	memset(part->want, 0x40 + i, SIZE);
	if (i == 1)
		part->mr = ibv_reg_mr_iova2(pd, part->buf + START, LEN, IOVA + START, access);
	else
		part->mr = ibv_reg_mr(pd, part->buf + START, LEN, access);
	if (!part->mr)
		return false;
	from = i == 1 ? IOVA : (uintptr_t)part->buf;
	part->at = part->buf + START + 13 * i;
	part->sge = (struct ibv_sge){from + START + 13 * i, 0, part->mr->lkey};
	return true;
}

static bool make_parts(struct parts *p, const struct end *end, unsigned int bad, enum damage damage)
{
	p->pd = end->pd;
	p->other = ibv_alloc_pd(end->ctx);
	for (unsigned int i = 0; i < PARTS && p->other; i++)
		if (!register_part(p, i, i == bad ? damage : NONE))
			break;
	if (!p->other || !p->part[PARTS - 1].mr)
		KIT_FAULT(p->k, "the regions: %s", errno_name(errno));
	return KIT_GOOD(p->k);
}

/* Lengths of the list. An empty SGE has a key that never existed. */
static void lay_out(struct parts *p, const uint16_t *lengths, unsigned int divide, uint32_t extra)
{
	for (unsigned int i = 0; i < PARTS; i++) {
		struct ibv_sge *sge = &p->part[i].sge;

		sge->length = lengths[i] / divide;
		if (!sge->length)
			*sge = (struct ibv_sge){i ? 1 : ~0ull, 0, 0xdead0000 + i};
	}
	p->part[lengths[1] ? 1 : 0].sge.length += extra;
}

static void break_part(struct part *part, enum damage damage)
{
	uint64_t begin = part->sge.addr - (part->at - part->buf - START);

	switch (damage) {
	case BAD_KEY:
		part->sge.lkey ^= 0x81;
		break;
	case DEREG:
		ibv_dereg_mr(part->mr);
		break;
	case BYTE_BEFORE:
		part->sge.addr = begin - 1;
		break;
	case BYTE_BEHIND:
		part->sge.addr = begin + LEN - part->sge.length + 1;
		break;
	case WRAPS:
		part->sge.addr = -8ull;
		break;
	case REGION_BEHIND:
		part->sge.addr = begin + LEN + 4096;
		break;
	default:
		break;
	}
}

static uint32_t total_of(const struct parts *p)
{
	uint32_t total = 0;

	for (unsigned int i = 0; i < PARTS; i++)
		total += p->part[i].sge.length;
	return total;
}

/* Bytes [0, len) of the concatenated list, in the memory or in what it must be. */
static void copy_parts(struct parts *p, uint8_t *bytes, bool to_want)
{
	for (unsigned int i = 0; i < PARTS; i++) {
		struct part *part = &p->part[i];
		uint8_t *at = to_want ? part->want + (part->at - part->buf) : part->at;

		if (to_want)
			memcpy(at, bytes, part->sge.length);
		else
			memcpy(bytes, at, part->sge.length);
		bytes += part->sge.length;
	}
}

static void judge_parts(struct parts *p)
{
	end_sync();
	for (unsigned int i = 0; i < PARTS; i++)
		judge_bytes(&p->k->res->verdict, "memory of an SGE", p->part[i].want, p->part[i].buf, SIZE);
}

static void fill_parts(struct parts *p)
{
	for (unsigned int i = 0; i < PARTS; i++) {
		for (unsigned int at = 0; at < SIZE; at++)
			p->part[i].buf[at] = p->part[i].want[at] = (uint8_t)(at * 7 + i * 61 + (at >> 8));
		end_written(p->part[i].buf, SIZE);
	}
}

/* ---- Lists of sends and READs ---- */

static unsigned int divisor(const struct kit *k)
{
	return k->l->qpt == IBV_QPT_UD ? 4 : 1;
}

static void address(struct link *l, struct ibv_send_wr *wr, uint8_t *to)
{
	if (wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_READ) {
		wr->wr.rdma.remote_addr = (uintptr_t)to;
		wr->wr.rdma.rkey = l->target.mr->rkey;
	}
	if (l->qpt == IBV_QPT_UD) {
		wr->wr.ud.ah = l->ah;
		wr->wr.ud.remote_qpn = l->peer->qp_num;
		wr->wr.ud.remote_qkey = LINK_QKEY;
	}
	if (l->qpt == IBV_QPT_XRC_SEND)
		wr->qp_type.xrc.remote_srqn = l->srqn;
}

static bool post_list_of(struct kit *k, struct parts *p, uint8_t *to)
{
	struct ibv_sge sge[PARTS];
	struct ibv_send_wr wr = kit_wr(0x59e5, k->cell->wr[0].op, sge);

	for (unsigned int i = 0; i < PARTS; i++)
		sge[i] = p->part[i].sge;
	wr.num_sge = PARTS;
	address(k->l, &wr, to);
	return kit_posts(k, k->l->qp, k->l->peer, &wr);
}

/* The bytes of the list have arrived; or those of the target are in the parts. */
static void judge_moved(struct kit *k, struct parts *p, uint8_t *to, uint32_t total)
{
	static uint8_t bytes[2 * TOTAL];
	struct link *l = k->l;
	struct ibv_wc wc;

	if (k->cell->wr[0].op == IBV_WR_RDMA_READ) {
		copy_parts(p, to, true);
		judge_parts(p);
		return;
	}
	copy_parts(p, bytes, false);
	if (k->cell->wr[0].op == IBV_WR_SEND) {
		if (!kit_wait(k, l, l->peer_cq, &wc))
			return;
		KIT_CHECK(k, wc.status == IBV_WC_SUCCESS && wc.byte_len == total + link_grh(l),
			  "the receive has status %s and %u bytes, expected %u",
			  value_name(status_names, wc.status), wc.byte_len, total + link_grh(l));
		to = l->slot[l->next_use++ % LINK_RECV_SLOTS] + link_grh(l);
	} else if (l->qpt == IBV_QPT_UC) {
		kit_alive(k, l); /* behind it, the data is visible */
	}
	end_sync();
	judge_bytes(&k->res->verdict, "message", bytes, to, total);
	judge_parts(p);
}

static void sge_regions(struct kit *k)
{
	struct parts p = {.k = k};
	struct link *l = k->l;
	uint8_t *to;

	if (!kit_link(k, API_POST, NULL))
		return;
	arena_reset(&l->target);
	to = arena_take(&l->target, TOTAL);
	arena_fill(&l->target, to, TOTAL, k->r->seed);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]) && KIT_GOOD(k); i++) {
		memset(p.part, 0, sizeof(p.part));
		if (make_parts(&p, &l->dut->requester, PARTS, NONE)) {
			fill_parts(&p);
			lay_out(&p, layouts[i], divisor(k), 0);
			link_fill_recv(l);
			end_push();
			if (post_list_of(k, &p, to) && kit_expect(k, l, l->cq, l->qp, 0x59e5, IBV_WC_SUCCESS))
				judge_moved(k, &p, to, total_of(&p));
		}
	}
}

SCENARIO(sge_regions) = {
	{"regions-{short}", SUITE("sges"), QPS("RC UC UD XRC_SEND"), POSTS("{op} 64"),
	 OPS("SEND RDMA_WRITE RDMA_READ"), CLAUSE("ibv_reg_mr/RETURN-VALUE/lkey"), ERRATA("EMPTY-SGE"),
	 SAYS("each SGE of a list has its own region, key and place; empty ones have none that exists: "
	      "every byte is moved, and no other")},
	{},
};

/* One SGE of the list may not be used: the request fails, nothing arrives. */
static void refuse_list(struct kit *k, unsigned int bad, enum damage damage)
{
	struct parts p = {.k = k};
	struct link *l = k->l;

	if (damage == NO_RIGHT && k->cell->wr[0].op != IBV_WR_RDMA_READ)
		return; /* sending needs none */
	if (kit_link(k, API_POST, NULL) && make_parts(&p, &l->dut->requester, bad, damage)) {
		arena_reset(&l->target);
		fill_parts(&p);
		lay_out(&p, layouts[0], divisor(k), 0);
		break_part(&p.part[bad], damage);
		link_fill_recv(l);
		end_push();
		if (post_list_of(k, &p, l->target.base) &&
		    kit_expect(k, l, l->cq, l->qp, 0x59e5, k->cell->status)) {
			kit_expect_none(k, l, l->peer_cq);
			end_sync();
			judge_bytes(&k->res->verdict, "memory of the SGE that may not be used",
				    p.part[bad].want, p.part[bad].buf, SIZE);
		}
	}
}

/* Each damage of one SGE, and a missing right of the first and of the last. */
static void each_damage(struct kit *k, void (*refuse)(struct kit *k, unsigned int bad, enum damage damage))
{
	static const uint8_t used[] = {0, 1, 3};

	for (enum damage damage = BAD_KEY; damage < DAMAGES && KIT_GOOD(k); damage++) {
		unsigned int bad = used[damage % sizeof(used)];

		refuse(k, bad, damage);
		if (damage == NO_RIGHT && KIT_GOOD(k))
			refuse(k, bad = 3, damage);
		if (!KIT_GOOD(k))
			KIT_FAULT(k, "SGE %u has %s", bad, damages[damage]);
	}
}

static void sge_refused(struct kit *k)
{
	each_damage(k, refuse_list);
}

SCENARIO(sge_refused) = {
	{"refused-{short}", SUITE("sges"), QPS("RC UC UD XRC_SEND"), POSTS("{op} 64"),
	 OPS("SEND RDMA_WRITE RDMA_READ"), CLAUSE("ibv_reg_mr/DESCRIPTION/access"),
	 ERRATA("KEY-RIGHTS FAILURE-STATUS"), STATUS("LOC_PROT_ERR"),
	 SAYS("IBV_WC_LOC_PROT_ERR if one SGE of a list has a wrong key, range, right or protection "
	      "domain; nothing arrives, and its memory is not touched")},
	{},
};

/* ---- Lists of receives ---- */

static bool post_receive(struct kit *k, struct parts *p)
{
	struct ibv_sge sge[PARTS];
	struct ibv_recv_wr wr = {.wr_id = 0x4ec59e5, .sg_list = sge, .num_sge = PARTS}, *bad;
	int ret;

	for (unsigned int i = 0; i < PARTS; i++)
		sge[i] = p->part[i].sge;
	ret = link_post_recv(k->l, &wr, &bad);
	return KIT_MUST(k, !ret, "the receive was refused with %s", errno_name(ret));
}

/* A message of `len` bytes, for the receive. */
static bool post_message(struct kit *k, uint8_t **data, uint32_t len)
{
	struct link *l = k->l;
	struct ibv_sge sge;
	struct ibv_send_wr wr = kit_wr(0x59e5, IBV_WR_SEND, &sge);

	arena_reset(&l->local);
	*data = arena_take(&l->local, len);
	arena_fill(&l->local, *data, len, k->r->seed + len);
	sge = (struct ibv_sge){arena_address(&l->local, *data), len, l->local.mr->lkey};
	address(l, &wr, NULL);
	end_push();
	return kit_posts(k, l->qp, l->peer, &wr);
}

static void receive_one(struct kit *k, struct parts *p, uint32_t spare)
{
	uint32_t grh = link_grh(k->l), len = total_of(p) - grh - spare;
	static uint8_t bytes[2 * TOTAL];
	struct link *l = k->l;
	struct ibv_wc wc;
	uint8_t *data;

	if (!post_receive(k, p) || !post_message(k, &data, len) || !kit_wait(k, l, l->peer_cq, &wc) ||
	    !kit_expect(k, l, l->cq, l->qp, 0x59e5, IBV_WC_SUCCESS))
		return;
	KIT_CHECK(k, wc.status == IBV_WC_SUCCESS && wc.byte_len == len + grh && wc.wr_id == 0x4ec59e5,
		  "the receive has status %s and %u bytes, expected %u", value_name(status_names, wc.status),
		  wc.byte_len, len + grh);
	end_sync();
	copy_parts(p, bytes, false); /* with the GRH and the bytes that are left over */
	memcpy(bytes + grh, data, len);
	memset(bytes + grh + len, 0x40 + PARTS - 1, spare);
	copy_parts(p, bytes, true);
	judge_parts(p);
}

static void receive_regions(struct kit *k)
{
	struct parts p = {.k = k};

	if (!kit_link(k, kit_arg(k, "srq", 0) ? API_SRQ : API_POST, NULL))
		return;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]) && KIT_GOOD(k); i++) {
		memset(p.part, 0, sizeof(p.part));
		if (make_parts(&p, &k->l->dut->responder, PARTS, NONE)) {
			lay_out(&p, layouts[i], divisor(k), link_grh(k->l));
			receive_one(k, &p, i == 1 ? 5 : 0);
		}
	}
}

SCENARIO(receive_regions) = {
	{"receive", SUITE("sges"), QPS("RC UC UD"), POSTS("SEND 64"), CLAUSE("ibv_post_recv/DESCRIPTION"),
	 ERRATA("EMPTY-SGE"),
	 SAYS("a message is spread over the regions of its receive's SGEs, byte by byte, and nothing "
	      "else changes")},
	{"receive-srq", QPS("RC UD"), ARGS({"srq", 1}), CLAUSE("ibv_post_srq_recv/DESCRIPTION"),
	 NEEDS("srq")},
	{"receive", QPS("XRC_SEND"), NEEDS("")},
	{},
};

/* ---- One buffer of more bytes than 16 bits count ---- */

#define LONG 65536u

static void judge_long(struct kit *k, uint8_t *buf, struct ibv_mr *mr)
{
	struct ibv_sge sge = {(uintptr_t)buf, LONG, mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 0x4ec59e6, .sg_list = &sge, .num_sge = 1}, *bad;
	const uint32_t grh = link_grh(k->l), len = TOTAL / 2;
	const int ret = link_post_recv(k->l, &wr, &bad);
	struct ibv_wc wc;
	uint8_t *data;

	KIT_CHECK(k, !ret, "the receive was refused with %s", errno_name(ret));
	if (!post_message(k, &data, len) || !kit_wait(k, k->l, k->l->peer_cq, &wc) ||
	    !kit_expect(k, k->l, k->l->cq, k->l->qp, 0x59e5, IBV_WC_SUCCESS))
		return;
	KIT_CHECK(k, wc.status == IBV_WC_SUCCESS && wc.byte_len == len + grh,
		  "the receive has status %s and %u bytes, expected %u", value_name(status_names, wc.status),
		  wc.byte_len, len + grh);
	end_sync();
	KIT_CHECK(k, !memcmp(buf + grh, data, len), "other bytes were received");
}

static void receive_long(struct kit *k)
{
	struct ibv_pd *pd = k->r->dut.responder.pd;
	struct ibv_mr *mr = NULL;
	uint8_t *buf;

	if (!kit_link(k, API_POST, NULL))
		return;
	buf = end_alloc(pd, LONG);
	if (buf)
		mr = ibv_reg_mr(pd, buf, LONG, IBV_ACCESS_LOCAL_WRITE);
	if (mr)
		judge_long(k, buf, mr);
	else
		KIT_FAULT(k, "the region of 64 KiB: %s", errno_name(errno));
	if (mr)
		ibv_dereg_mr(mr);
	end_free(buf);
}

SCENARIO(receive_long) = {
	{"long-buffer", SUITE("sges"), QPS("RC UC UD"), POSTS("SEND 64"), CLAUSE("ibv_post_recv/DESCRIPTION"),
	 SAYS("a short message arrives in a receive buffer of 65,536 bytes")},
	{},
};

static void refuse_receive(struct kit *k, unsigned int bad, enum damage damage)
{
	struct parts p = {.k = k};
	struct link *l = k->l;
	struct ibv_wc wc;
	uint8_t *data;

	if (kit_link(k, kit_arg(k, "srq", 0) ? API_SRQ : API_POST, NULL) &&
	    make_parts(&p, &l->dut->responder, bad, damage)) {
		lay_out(&p, layouts[0], divisor(k), link_grh(l));
		break_part(&p.part[bad], damage);
		if (post_receive(k, &p) && post_message(k, &data, total_of(&p) - link_grh(l)) &&
		    kit_expect(k, l, l->cq, l->qp, 0x59e5, k->cell->status) &&
		    kit_wait(k, l, l->peer_cq, &wc)) {
			if (wc.status != IBV_WC_LOC_PROT_ERR || wc.wr_id != 0x4ec59e5)
				KIT_FAULT(k, "the receive has status %s, expected LOC_PROT_ERR",
					  value_name(status_names, wc.status));
			end_sync();
			judge_bytes(&k->res->verdict, "memory of the SGE that may not be used",
				    p.part[bad].want, p.part[bad].buf, SIZE);
		}
	}
}

static void receive_refused(struct kit *k)
{
	each_damage(k, refuse_receive);
}

SCENARIO(receive_refused) = {
	{"receive-refused", SUITE("sges"), QPS("RC XRC_SEND"), POSTS("SEND 64"),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/access"), ERRATA("KEY-RIGHTS FAILURE-STATUS"), STATUS("REM_OP_ERR"),
	 SAYS("IBV_WC_LOC_PROT_ERR in a receive of which one SGE has a wrong key, range, right or "
	      "protection domain, and IBV_WC_REM_OP_ERR at a reliable sender; its memory is not touched")},
	{"receive-refused-srq", QPS("RC"), ARGS({"srq", 1}), NEEDS("srq")},
	{"receive-refused", QPS("UC UD"), STATUS(""), NEEDS("")},
	{"receive-refused-srq", QPS("UD"), ARGS({"srq", 1}), NEEDS("srq")},
	{},
};
