/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "post/journal.h"
#include "remote/remote.h"
#include "post/post.h"

static void fill_operation(struct ibv_send_wr *wr, struct link *l, struct plan *p)
{
	switch (p->wr->op) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr->wr.atomic.remote_addr = arena_address(&l->target, p->target);
		wr->wr.atomic.rkey = p->rkey;
		wr->wr.atomic.compare_add = p->wr->op == IBV_WR_ATOMIC_CMP_AND_SWP ? p->compare : p->operand;
		/* an addition has one operand */
		wr->wr.atomic.swap = p->wr->op == IBV_WR_ATOMIC_CMP_AND_SWP ? p->operand : ~p->operand;
		break;
	case IBV_WR_BIND_MW:
		wr->bind_mw.mw = l->mw;
		wr->bind_mw.rkey = l->mw ? ibv_inc_rkey(l->mw->rkey) : 0;
		wr->bind_mw.bind_info =
			(struct ibv_mw_bind_info){l->local.mr, (uintptr_t)l->local.base, l->local.size,
						  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE};
		break;
	case IBV_WR_TSO:
		wr->tso.hdr = p->tso_hdr;
		wr->tso.hdr_sz = PLAN_TSO_HDR;
		wr->tso.mss = PLAN_TSO_MSS;
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wr->invalidate_rkey = p->inv_rkey;
		break;
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		break;
	default:
		wr->wr.rdma.remote_addr = arena_address(&l->target, p->target);
		wr->wr.rdma.rkey = p->rkey;
		break;
	}
	if (p->wr->imm)
		wr->imm_data = p->imm;
}

void post_fill(struct ibv_send_wr *wr, struct link *l, struct plan *p)
{
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = p->wr_id;
	wr->sg_list = p->num_sge ? p->sge : NULL;
	wr->num_sge = p->num_sge;
	wr->opcode = p->wr->op;
	wr->send_flags = p->wr->flags | (plan_is_inline(p) ? IBV_SEND_INLINE : 0);
	fill_operation(wr, l, p);
	if (p->wr->qp_setter == QPSET_UD_ADDR) {
		wr->wr.ud.ah = p->ah;
		wr->wr.ud.remote_qpn = p->qpn;
		wr->wr.ud.remote_qkey = p->qkey;
	}
	if (p->wr->qp_setter == QPSET_XRC_SRQN)
		wr->qp_type.xrc.remote_srqn = p->srqn;
}

/* The initializers that depend on the operation or the destination. */
static void name_operation(const struct link *l, const struct plan *p, char *buf, size_t size)
{
	const char *atomic = p->wr->op == IBV_WR_ATOMIC_CMP_AND_SWP ? "compare" : "add";

	buf[0] = '\0';
	switch (p->wr->op) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		snprintf(buf, size, ", .wr.atomic = {remote_addr, %s, swap, rkey}", atomic);
		break;
	case IBV_WR_BIND_MW:
		snprintf(buf, size,
			 ", .bind_mw = {mw, ibv_inc_rkey(mw->rkey), {mr, (uintptr_t)mr->addr, mr->length, "
			 "IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE}}");
		break;
	case IBV_WR_TSO:
		snprintf(buf, size, ", .tso = {hdr, %d, %d}", PLAN_TSO_HDR, PLAN_TSO_MSS);
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		snprintf(buf, size, ", .invalidate_rkey = %s", l->mw ? "mw->rkey" : "0");
		break;
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		break;
	default:
		if (p->wr->qp_setter != QPSET_UD_ADDR)
			snprintf(buf, size, ", .wr.rdma = {remote_addr, rkey}");
		break;
	}
}

static void name_rest(const struct plan *p, char *buf, size_t size)
{
	size_t used = strlen(buf);

	if (p->wr->imm)
		used += snprintf(buf + used, size - used, ", .imm_data = htonl(0x%x)", be32toh(p->imm));
	if (p->wr->qp_setter == QPSET_UD_ADDR && p->wr->op != IBV_WR_ATOMIC_CMP_AND_SWP &&
	    p->wr->op != IBV_WR_ATOMIC_FETCH_AND_ADD)
		snprintf(buf + used, size - used, ", .wr.ud = {ah, remote_qpn, 0x%x}", p->qkey);
	if (p->wr->qp_setter == QPSET_XRC_SRQN)
		snprintf(buf + used, size - used, ", .qp_type.xrc.remote_srqn = srqn");
}

static void log_wr(struct log *log, const struct link *l, const struct plan *p, const struct ibv_send_wr *wr,
		   unsigned int index, unsigned int sges)
{
	const struct log_list list = {"sg_list", "addr", "lkey", sges};
	char flags[128], more[256], next[32] = "NULL";

	if (wr->next)
		snprintf(next, sizeof(next), "&wr[%u]", index + 1);
	name_operation(l, p, more, sizeof(more));
	name_rest(p, more, sizeof(more));
	log_sges(log, &list, p->sge, p->num_sge);
	log_call(log,
		 "wr[%u] = (struct ibv_send_wr){.wr_id = 0x%llx, .next = %s, .sg_list = &sg_list[%u], "
		 ".num_sge = %d "
		 "/* %u bytes */, .opcode = IBV_WR_%s, .send_flags = %s%s}",
		 index, (unsigned long long)wr->wr_id, next, sges, wr->num_sge, p->total,
		 value_name(op_names, wr->opcode),
		 flags_name(send_flag_names, "IBV_SEND_", wr->send_flags, flags, sizeof(flags)), more);
}

struct posted post_list(struct link *l, struct plan *plans, unsigned int num, struct log *log)
{
	struct ibv_send_wr wr[CELL_MAX_WR], *bad = NULL;
	struct posted posted = {.bad = -1};
	unsigned int sges = 0;

	for (unsigned int i = 0; i < num; i++) {
		post_fill(&wr[i], l, &plans[i]);
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
		log_wr(log, l, &plans[i], &wr[i], i, sges);
		sges += plans[i].num_sge;
	}
	link_push(l);
	log_call(log, "ibv_post_send(qp, wr, &bad_wr)");
	posted.rc = ibv_post_send(l->qp, wr, &bad);
	if (posted.rc)
		posted.bad = num; /* no work request of the list, unless found below */
	for (unsigned int i = 0; i < num && posted.rc; i++)
		if (bad == &wr[i])
			posted.bad = i;
	journal_list(log, l->qp, l->peer, wr, posted.rc, bad);
	for (unsigned int i = 0; i < num; i++)
		plan_scribble(&plans[i], l);
	return posted;
}
