/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <endian.h>

#include "post/journal.h"

static json_t *sges(const struct ibv_send_wr *wr)
{
	json_t *list = json_array();

	for (int i = 0; i < wr->num_sge; i++)
		json_array_append_new(list, json_pack("[I, I]", (json_int_t)wr->sg_list[i].addr,
						      (json_int_t)wr->sg_list[i].length));
	return list;
}

static void put(json_t *obj, const char *key, uint64_t value)
{
	json_object_set_new(obj, key, json_integer((json_int_t)value));
}

static void operands(json_t *obj, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		put(obj, "va", wr->wr.atomic.remote_addr);
		put(obj, "rkey", wr->wr.atomic.rkey);
		put(obj, "compare_add", wr->wr.atomic.compare_add);
		put(obj, "swap", wr->wr.atomic.swap);
		break;
	case IBV_WR_TSO:
		put(obj, "hdr", wr->tso.hdr_sz);
		put(obj, "mss", wr->tso.mss);
		break;
	case IBV_WR_SEND:
	case IBV_WR_BIND_MW:
		break;
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		put(obj, "imm", be32toh(wr->imm_data));
		put(obj, "inv", wr->invalidate_rkey);
		break;
	default:
		put(obj, "imm", be32toh(wr->imm_data));
		put(obj, "va", wr->wr.rdma.remote_addr);
		put(obj, "rkey", wr->wr.rdma.rkey);
		break;
	}
}

static json_t *request(const struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	json_t *obj = json_pack("{s:s, s:i, s:o, s:I}", "op", value_name(op_names, wr->opcode), "flags",
				(int)wr->send_flags, "sge", sges(wr), "wr_id", (json_int_t)wr->wr_id);

	operands(obj, wr);
	if (qp->qp_type == IBV_QPT_UD) {
		put(obj, "qpn", wr->wr.ud.remote_qpn);
		put(obj, "qkey", wr->wr.ud.remote_qkey);
	}
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		put(obj, "srqn", wr->qp_type.xrc.remote_srqn);
	return obj;
}

/* bad: index of the request that failed; -1: none, or not reported by the API */
static void region(struct log *log, const struct ibv_qp *qp, const struct ibv_qp *to, const char *api, int rc,
		   int bad, bool abort, json_t *wrs)
{
	if (!log->qpn[0]) {
		log->qpn[0] = qp->qp_num;
		log->qpn[1] = to->qp_num;
	}
	json_array_append_new(log->posts,
			      json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:s, s:i, s:i, s:b, s:i, s:o}", "api",
					api, "dev", ibv_get_device_name(qp->context->device), "peer",
					ibv_get_device_name(to->context->device), "psn",
					(int)(log->psn ? log->psn : LINK_PSN), "qp", (json_int_t)qp->qp_num,
					"to", (json_int_t)to->qp_num, "type",
					value_name(qpt_names, qp->qp_type), "rc", rc, "bad", bad, "abort",
					abort, "mtu", (int)log->mtu, "wrs", wrs));
}

void journal_list(struct log *log, struct ibv_qp *qp, struct ibv_qp *to, struct ibv_send_wr *wr, int rc,
		  const struct ibv_send_wr *bad)
{
	json_t *wrs;
	int at = 0, failed = -1;

	if (!log->posts)
		return;
	wrs = json_array();
	for (; wr; wr = wr->next, at++) {
		json_array_append_new(wrs, request(qp, wr));
		if (rc && wr == bad)
			failed = at;
	}
	region(log, qp, to, "post", rc, failed, false, wrs);
}

void journal_plans(struct log *log, struct link *l, struct plan *plans, unsigned int num, int rc, bool abort)
{
	json_t *wrs;

	if (!log->posts)
		return;
	wrs = json_array();
	for (unsigned int i = 0; i < num; i++) {
		struct ibv_send_wr wr;

		post_fill(&wr, l, &plans[i]);
		if (!plan_is_inline(&plans[i]))
			wr.send_flags &=
				~(unsigned int)IBV_SEND_INLINE; /* has no effect in wr_flags (INLINE-OPS) */
		json_array_append_new(wrs, request(l->qp, &wr));
	}
	region(log, l->qp, l->peer, "wr", rc, -1, abort, wrs);
}
