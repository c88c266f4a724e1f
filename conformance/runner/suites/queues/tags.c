/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tag matching. Each scenario has a shared receive queue of its own with a tag list and a CQ, and a connection to it.
 * Both ends must be in this process: a peer process has no calls for such queues.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/tm_types.h>

#include "judge/watchdog.h"
#include "suites/kit.h"
#include "suites/queues/tags.h"

#define CQES 64

static bool create_queue(struct kit *k, struct tags *t, const struct tags_opts *o)
{
	const uint32_t num_tags = o->num_tags ? o->num_tags : 8, max_ops = o->max_ops ? o->max_ops : 16;
	struct end *end = &k->r->dut.responder;
	struct ibv_cq_init_attr_ex cq = {.cqe = CQES,
					 .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO};
	struct ibv_srq_init_attr_ex attr = {
		.attr = {.max_wr = 32, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = o->pd ? o->pd : end->pd,
		.tm_cap = {.max_num_tags = num_tags, .max_ops = max_ops},
	};

	log_call(&k->res->log,
		 "srq = ibv_create_srq_ex(ctx, &(struct ibv_srq_init_attr_ex){.srq_type = IBV_SRQT_TM, "
		 ".tm_cap = "
		 "{%u, %u}})",
		 num_tags, max_ops);
	if (!t->shared)
		t->cq = ibv_create_cq_ex(end->ctx, &cq);
	attr.cq = t->cq ? ibv_cq_ex_to_cq(t->cq) : NULL;
	t->srq = t->cq ? ibv_create_srq_ex(end->ctx, &attr) : NULL;
	return t->srq;
}

static bool create_memory(struct kit *k, struct tags *t)
{
	t->mem = made_zeroed(2, TAGS_MEM);
	if (!t->mem)
		return false;
	t->from = t->mem;
	t->to = t->mem + TAGS_MEM;
	t->from_mr = ibv_reg_mr(k->r->dut.requester.pd, t->from, TAGS_MEM,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	t->to_mr = ibv_reg_mr(k->r->dut.responder.pd, t->to, TAGS_MEM, IBV_ACCESS_LOCAL_WRITE);
	for (unsigned int i = 0; i < TAGS_MEM; i++)
		t->from[i] = (uint8_t)(i * 7 + i / 256 + k->r->seed);
	return t->from_mr && t->to_mr;
}

bool tags_open(struct kit *k, struct tags *t, const struct tags_opts *o)
{
	const struct link_opts opts = {.srq = NULL, .peer_no_sends = !o->own_sends};
	struct link_opts with = opts;

	memset(t, 0, sizeof(*t));
	t->k = k;
	t->cq = o->cq;
	t->shared = o->cq;
	t->base = o->base;
	if (!create_queue(k, t, o) || !create_memory(k, t)) {
		KIT_FAULT(k, "creating the queue and its memory failed with %s", errno_name(errno));
		return false;
	}
	with.srq = t->srq;
	with.peer_cq = o->one_cq ? ibv_cq_ex_to_cq(t->cq) : NULL;
	with.sq_depth = o->depth;
	with.receives = o->depth;
	return kit_link_second(k, &t->l, API_SRQ, &with);
}

void tags_run(struct kit *k, const struct tags_opts *opts, void (*run)(struct kit *k, struct tags *t))
{
	static struct tags t;

	if (k->r->dut.remote) {
		seen(k->res, "the responder is in another process, which has no calls for tag matching; ");
		return;
	}
	if (!tags_open(k, &t, opts))
		return;
	run(k, &t);
	tags_expect_none(&t);
}

uint8_t *tags_buffer(const struct tags *t, unsigned int slot)
{
	return t->to + (size_t)slot * TAGS_SLOT;
}

int tags_post(struct tags *t, struct ibv_ops_wr *wr)
{
	struct ibv_ops_wr *bad = NULL;
	int ret;

	log_call(&t->k->res->log,
		 "/* ibv_post_srq_ops(srq, {.wr_id = 0x%llx, .opcode = %d, .flags = %d, .tm = {%u}}) */",
		 (unsigned long long)wr->wr_id, wr->opcode, wr->flags, wr->tm.unexpected_cnt);
	ret = ibv_post_srq_ops(t->srq, wr, &bad);
	if (ret && bad != wr)
		KIT_FAULT(t->k, "bad_wr is not the refused operation");
	return ret;
}

int tags_add(struct tags *t, struct tags_entry e, uint32_t *handle)
{
	struct ibv_sge sge[2] = {
		{(uintptr_t)tags_buffer(t, e.slot), e.len / 2, t->to_mr->lkey},
		{(uintptr_t)tags_buffer(t, e.slot) + e.len / 2, e.len - e.len / 2, t->to_mr->lkey}};
	struct ibv_ops_wr wr = {
		.wr_id = t->base + TAGS_OP + e.slot, .opcode = IBV_WR_TAG_ADD, .flags = e.flags};
	int ret;

	if (!e.two)
		sge[0].length = e.len;
	sge[0].lkey ^= e.bad_key;
	wr.tm.unexpected_cnt = e.count;
	wr.tm.add.recv_wr_id = t->base + TAGS_RECV + e.slot;
	wr.tm.add.sg_list = sge;
	wr.tm.add.num_sge = e.two ? 2 : 1;
	wr.tm.add.tag = e.tag;
	wr.tm.add.mask = e.mask;
	ret = tags_post(t, &wr);
	if (handle)
		*handle = wr.tm.handle;
	return ret;
}

bool tags_must_add(struct tags *t, struct tags_entry e, uint32_t *handle)
{
	int ret;

	e.flags |= IBV_OPS_SIGNALED;
	ret = tags_add(t, e, handle);
	if (ret)
		KIT_FAULT(t->k, "IBV_WR_TAG_ADD was refused with %s", errno_name(ret));
	return !ret && tags_expect(t, TAGS_OP + e.slot, IBV_WC_TM_ADD, IBV_WC_SUCCESS, e.sync_req);
}

bool tags_sync(struct tags *t, uint32_t count, unsigned int flags)
{
	struct ibv_ops_wr wr = {.wr_id = t->base + TAGS_OP + 99,
				.opcode = IBV_WR_TAG_SYNC,
				.flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC,
				.tm = {.unexpected_cnt = count}};
	int ret = tags_post(t, &wr);

	if (ret)
		KIT_FAULT(t->k, "IBV_WR_TAG_SYNC was refused with %s", errno_name(ret));
	return !ret && tags_expect(t, t->base + TAGS_OP + 99, IBV_WC_TM_SYNC, IBV_WC_SUCCESS, flags);
}

bool tags_recv(struct tags *t, unsigned int slot)
{
	struct ibv_sge sge = {(uintptr_t)tags_buffer(t, slot), TAGS_SLOT, t->to_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = t->base + TAGS_RECV + slot, .sg_list = &sge, .num_sge = 1}, *bad;
	int ret = ibv_post_srq_recv(t->srq, &wr, &bad);

	return KIT_MUST(t->k, !ret, "ibv_post_srq_recv failed with %s", errno_name(ret));
}

bool tags_send(struct tags *t, uint8_t opcode, uint64_t tag, uint32_t len)
{
	const struct ibv_tmh tmh = {.opcode = opcode, .app_ctx = htobe32(TAGS_PRIV), .tag = htobe64(tag)};
	struct ibv_sge sge = {(uintptr_t)t->from, len, t->from_mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x5e4d, IBV_WR_SEND, &sge);
	int ret;

	memcpy(t->from, &tmh, sizeof(tmh));
	ret = kit_post(t->k, t->l.qp, t->l.peer, &wr, NULL);
	if (ret)
		KIT_FAULT(t->k, "posting the message failed with %s", errno_name(ret));
	return !ret && kit_expect(t->k, &t->l, t->l.cq, t->l.qp, 0x5e4d, IBV_WC_SUCCESS);
}

uint32_t tags_longest_request(struct tags *t)
{
	struct ibv_device_attr_ex attr = {};
	int ret = ibv_query_device_ex(t->k->r->dut.responder.ctx, NULL, &attr);

	if (ret)
		KIT_FAULT(t->k, "ibv_query_device_ex failed with %s", errno_name(ret));
	else if (attr.tm_caps.max_rndv_hdr_size < TAGS_BOTH)
		KIT_FAULT(t->k, "max_rndv_hdr_size is %u", attr.tm_caps.max_rndv_hdr_size);
	return KIT_GOOD(t->k) ? attr.tm_caps.max_rndv_hdr_size : 0;
}

bool tags_request(struct tags *t, uint64_t tag, uint32_t len, uint32_t key_bits)
{
	const struct ibv_rvh rvh = {.va = htobe64((uintptr_t)t->from + TAGS_SLOT),
				    .rkey = htobe32(t->from_mr->rkey ^ key_bits),
				    .len = htobe32(len)};

	memcpy(t->from + sizeof(struct ibv_tmh), &rvh, sizeof(rvh));
	return tags_send(t, IBV_TMH_RNDV, tag, TAGS_BOTH + t->meta);
}

/* ---- Completions ---- */

static bool take(struct tags *t, struct tags_wc *wc)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc_tm_info info;

	if (ibv_start_poll(t->cq, &attr))
		return false;
	*wc = (struct tags_wc){.wr_id = t->cq->wr_id, .status = t->cq->status};
	wc->opcode = ibv_wc_read_opcode(t->cq);
	wc->flags = ibv_wc_read_wc_flags(t->cq);
	wc->byte_len = ibv_wc_read_byte_len(t->cq);
	wc->qp_num = ibv_wc_read_qp_num(t->cq);
	ibv_wc_read_tm_info(t->cq, &info);
	wc->tag = info.tag;
	wc->priv = info.priv;
	ibv_end_poll(t->cq);
	return true;
}

bool tags_next(struct tags *t)
{
	struct watchdog p = watchdog(t->k->r->dut.timeout_ms);

	while (!take(t, &t->wc))
		if (watchdog_expired(&p)) {
			KIT_FAULT(t->k, "a completion of the tag list did not come");
			return false;
		}
	seen(t->k->res, "tag list CQE 0x%llx opcode %d status %d flags 0x%x; ",
	     (unsigned long long)t->wc.wr_id, t->wc.opcode, t->wc.status, t->wc.flags);
	return true;
}

bool tags_expect(struct tags *t, uint64_t wr_id, enum ibv_wc_opcode opcode, enum ibv_wc_status status,
		 unsigned int flags)
{
	const struct tags_wc *wc = &t->wc;

	if (!tags_next(t))
		return false;
	if (wc->wr_id != wr_id)
		KIT_FAULT(t->k, "wr_id is 0x%llx, expected 0x%llx", (unsigned long long)wc->wr_id,
			  (unsigned long long)wr_id);
	if (wc->status != status)
		KIT_FAULT(t->k, "status is %d, expected %d", wc->status, status);
	if (flags == TAGS_FAILED)
		return KIT_GOOD(t->k);
	if (wc->opcode != opcode)
		KIT_FAULT(t->k, "opcode is %d, expected %d", wc->opcode, opcode);
	if (wc->flags != flags)
		KIT_FAULT(t->k, "wc_flags are 0x%x, expected 0x%x", wc->flags, flags);
	return KIT_GOOD(t->k);
}

void tags_expect_none(struct tags *t)
{
	struct tags_wc wc;

	if (KIT_GOOD(t->k) && take(t, &wc))
		KIT_FAULT(t->k, "there is a completion of wr_id 0x%llx, opcode %d, which nothing caused",
			  (unsigned long long)wc.wr_id, wc.opcode);
}

bool tags_data(struct tags *t, unsigned int slot, const uint8_t *from, uint32_t len)
{
	if (memcmp(tags_buffer(t, slot), from, len))
		KIT_FAULT(t->k, "bytes are wrong in buffer %u", slot);
	if (tags_buffer(t, slot)[len])
		KIT_FAULT(t->k, "bytes behind the data in buffer %u were written", slot);
	return KIT_GOOD(t->k);
}
