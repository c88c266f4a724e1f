/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <string.h>

#include "link/link_xrc.h"
#include "hcasim_wire.h"
#include "link/link_modify.h"
#include "suites/objects/own.h"

#define CONNECTED_INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define PATH           (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define ANSWER         (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RETRY          (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

/* The tables of ibv_modify_qp(3); XRC's two ends have RC's requester and responder attributes. */
static const struct {
	enum ibv_qp_type type;
	int init, rtr, rts;
} tables[] = {
	{IBV_QPT_RC, CONNECTED_INIT, PATH | ANSWER, RETRY | IBV_QP_SQ_PSN},
	{IBV_QPT_UC, CONNECTED_INIT, PATH, IBV_QP_SQ_PSN},
	{IBV_QPT_UD, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN},
	{IBV_QPT_RAW_PACKET, IBV_QP_PORT, 0, 0},
	{IBV_QPT_XRC_SEND, CONNECTED_INIT, PATH, RETRY | IBV_QP_SQ_PSN},
	{IBV_QPT_XRC_RECV, CONNECTED_INIT, PATH | ANSWER, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN},
};

int own_required(enum ibv_qp_type type, enum ibv_qp_state to)
{
	size_t i = 0;

	while (tables[i].type != type)
		i++;
	return to == IBV_QPS_INIT  ? tables[i].init
	       : to == IBV_QPS_RTR ? tables[i].rtr
	       : to == IBV_QPS_RTS ? tables[i].rts
				   : 0;
}

/* Members of struct ibv_qp_attr that ibv_query_qp() reports as they were set. */
#define FIELD(bit, member)                                                                                   \
	{                                                                                                    \
		IBV_QP_##bit, #member, offsetof(struct ibv_qp_attr, member),                                 \
			sizeof(((struct ibv_qp_attr *)0)->member)                                            \
	}
static const struct field {
	int bit;
	const char *name;
	size_t at, size;
} fields[] = {
	FIELD(STATE, qp_state),
	FIELD(ACCESS_FLAGS, qp_access_flags),
	FIELD(PKEY_INDEX, pkey_index),
	FIELD(PORT, port_num),
	FIELD(QKEY, qkey),
	FIELD(PATH_MTU, path_mtu),
	FIELD(TIMEOUT, timeout),
	FIELD(RETRY_CNT, retry_cnt),
	FIELD(RNR_RETRY, rnr_retry),
	FIELD(RQ_PSN, rq_psn),
	FIELD(MAX_QP_RD_ATOMIC, max_rd_atomic),
	FIELD(MIN_RNR_TIMER, min_rnr_timer),
	FIELD(SQ_PSN, sq_psn),
	FIELD(MAX_DEST_RD_ATOMIC, max_dest_rd_atomic),
	FIELD(DEST_QPN, dest_qp_num),
	/* not hop_limit: on RoCE the address resolution of Linux replaces it */
	FIELD(AV, ah_attr.grh.dgid),
	FIELD(AV, ah_attr.grh.flow_label),
	FIELD(AV, ah_attr.grh.sgid_index),
	FIELD(AV, ah_attr.grh.traffic_class),
	FIELD(AV, ah_attr.dlid),
	FIELD(AV, ah_attr.sl),
	FIELD(AV, ah_attr.is_global),
	FIELD(AV, ah_attr.port_num),
};
#define NUM_FIELDS (sizeof(fields) / sizeof(fields[0]))

const char *own_bit(int bit)
{
	for (size_t i = 0; i < NUM_FIELDS; i++)
		if (fields[i].bit == bit)
			return bit == IBV_QP_AV ? "ah_attr" : fields[i].name;
	return bit == IBV_QP_CUR_STATE  ? "cur_qp_state"
	       : bit == IBV_QP_CAP      ? "cap"
	       : bit == IBV_QP_ALT_PATH ? "alt_ah_attr"
					: "another attribute";
}

const char *own_state(enum ibv_qp_state state)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "UNKNOWN";
}

bool own_begin(struct kit *k, struct own *o, enum ibv_qp_type type)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;

	o->init.qp_type = type;
	/* different sizes, so that one cannot be taken for the other */
	o->send_cq = ibv_create_cq(ctx, 64, o, NULL, 0);
	o->recv_cq = ibv_create_cq(ctx, 96, k, NULL, 0);
	if (!o->send_cq || !o->recv_cq)
		KIT_FAULT(k, "ibv_create_cq failed with %s", errno_name(errno));
	if (type == IBV_QPT_XRC_RECV) {
		o->xrcd = link_xrcd(ctx);
		if (!o->xrcd)
			KIT_FAULT(k, "ibv_open_xrcd failed with %s", errno_name(errno));
	}
	return KIT_GOOD(k);
}

static void fill_init(struct kit *k, struct own *o)
{
	struct ibv_qp_init_attr_ex *init = &o->init;
	const bool sends_only = init->qp_type == IBV_QPT_XRC_SEND;

	if (init->qp_type == IBV_QPT_XRC_RECV) {
		init->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
		init->xrcd = o->xrcd;
		return;
	}
	init->comp_mask |= IBV_QP_INIT_ATTR_PD;
	if (!init->pd)
		init->pd = k->r->dut.requester.pd;
	if (!init->cap.max_send_wr)
		init->cap = (struct ibv_qp_cap){9, sends_only ? 0 : 5, 3, sends_only ? 0 : 2, 0};
	init->send_cq = o->send_cq;
	init->recv_cq = sends_only ? NULL : o->recv_cq;
	if (!init->qp_context)
		init->qp_context = o;
}

bool own_create_qp(struct kit *k, struct own *o)
{
	fill_init(k, o);
	log_call(&k->res->log, "/* ibv_create_qp_ex(ctx, attr): IBV_QPT_%s */",
		 o->xrcd ? "XRC_RECV" : value_name(qpt_names, o->init.qp_type));
	o->qp = ibv_create_qp_ex(k->r->dut.requester.ctx, &o->init);
	if (!o->qp)
		KIT_FAULT(k, "ibv_create_qp_ex failed with %s", errno_name(errno));
	o->known_mask = IBV_QP_STATE;
	o->known.qp_state = IBV_QPS_RESET;
	return o->qp;
}

bool own_create(struct kit *k, struct own *o, enum ibv_qp_type type)
{
	return own_begin(k, o, type) && own_create_qp(k, o);
}

void own_destroy(struct own *o)
{
	if (o->qp)
		ibv_destroy_qp(o->qp);
	if (o->xrcd)
		ibv_close_xrcd(o->xrcd);
	if (o->send_cq)
		ibv_destroy_cq(o->send_cq);
	if (o->recv_cq)
		ibv_destroy_cq(o->recv_cq);
	*o = (struct own){0};
}

bool own_wait(struct kit *k, const struct own *o, struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct link l = {.dut = &k->r->dut, .cq = o->send_cq, .peer_cq = o->recv_cq};

	return kit_wait(k, &l, cq, wc);
}

bool own_expect(struct kit *k, const struct own *o, struct ibv_cq *cq, uint64_t wr_id,
		enum ibv_wc_status status)
{
	struct link l = {.dut = &k->r->dut, .cq = o->send_cq, .peer_cq = o->recv_cq};

	return kit_expect(k, &l, cq, o->qp, wr_id, status);
}

static unsigned int at_most(int limit, unsigned int n)
{
	return (unsigned int)limit < n ? (unsigned int)limit : n;
}

struct ibv_qp_attr own_values(const struct kit *k, const struct own *o, unsigned int set)
{
	const uint32_t itself = (0x123456 + (o->resets << 16)) & HCASIM_PSN_MASK;
	const struct end *end = &k->r->dut.requester;
	struct ibv_qp_attr a = {
		.path_mtu = set ? IBV_MTU_256 : k->r->dut.mtu,
		.qkey = set ? 0x7a8b9c0d : 0x11223344,
		.rq_psn = o->to_itself ? itself
			  : set        ? 0xffffff
				       : 0x123456,
		.sq_psn = o->to_itself ? itself
			  : set        ? 0x800001
				       : 0xfedcba,
		.dest_qp_num = o->to_itself ? o->qp->qp_num
			       : set        ? 0xfedcb1
					    : 0x0a1b2c,
		.qp_access_flags =
			set ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.port_num = end->port,
		/* powers of two: rxe rounds up to one */
		.max_rd_atomic = at_most(end->attr.max_qp_init_rd_atom, set ? 8 : 2),
		.max_dest_rd_atomic = at_most(end->attr.max_qp_rd_atom, set ? 1 : 4),
		.min_rnr_timer = set ? 21 : 12,
		.timeout = set ? 19 : 14,
		.retry_cnt = set ? 3 : 5,
		.rnr_retry = set ? 2 : 6,
	};

	link_address(end, set || o->to_itself ? end : &k->r->dut.responder, &a.ah_attr);
	a.ah_attr.sl = set ? 5 : 2;
	a.ah_attr.grh.flow_label = set ? 0xfedcb : 0x12345;
	a.ah_attr.grh.traffic_class = set ? 0x68 : 0x20;
	return a;
}

void own_set(struct ibv_qp_attr *attr, int bit, uint32_t value)
{
	const struct field *f = fields;

	while (f->bit != bit)
		f++;
	if (f->size == 1)
		*((uint8_t *)attr + f->at) = (uint8_t)value;
	else if (f->size == 2)
		*(uint16_t *)((uint8_t *)attr + f->at) = (uint16_t)value;
	else
		*(uint32_t *)((uint8_t *)attr + f->at) = value;
}

int own_modify(struct own *o, struct ibv_qp_attr *attr, int mask)
{
	int ret;

	errno = EDOM; /* not what a call that succeeds may return */
	ret = ibv_modify_qp(o->qp, attr, mask);
	if (ret)
		return ret;
	for (size_t i = 0; i < NUM_FIELDS; i++)
		if (mask & fields[i].bit)
			memcpy((uint8_t *)&o->known + fields[i].at, (uint8_t *)attr + fields[i].at,
			       fields[i].size);
	o->known_mask |= mask;
	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET) {
		o->known_mask = IBV_QP_STATE;
		o->resets++;
	}
	return 0;
}

bool own_reset(struct kit *k, struct own *o)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int ret = own_modify(o, &attr, IBV_QP_STATE);

	return KIT_MUST(k, !ret, "ibv_modify_qp to RESET failed with %s", errno_name(ret));
}

bool own_reach(struct kit *k, struct own *o, enum ibv_qp_state state)
{
	static const enum ibv_qp_state way[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD};
	struct ibv_qp_attr attr = own_values(k, o, 0);
	int ret = 0;

	if (state == IBV_QPS_RESET)
		return true;
	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]) && !ret; i++) {
		attr.qp_state = state == IBV_QPS_ERR ? IBV_QPS_INIT : way[i];
		ret = own_modify(o, &attr, IBV_QP_STATE | own_required(o->qp->qp_type, attr.qp_state));
		if (state == IBV_QPS_ERR || way[i] == state)
			break;
	}
	if (!ret && state == IBV_QPS_ERR) {
		attr.qp_state = IBV_QPS_ERR;
		ret = own_modify(o, &attr, IBV_QP_STATE);
	}
	return KIT_MUST(k, !ret, "ibv_modify_qp to %s failed with %s", own_state(attr.qp_state),
			errno_name(ret));
}

/* The QP as it was created. */
static bool judge_init(struct kit *k, const struct own *o, const struct ibv_qp_init_attr *init,
		       const struct ibv_qp_attr *attr)
{
	const struct ibv_qp_cap *cap = &o->init.cap;

	if (init->qp_context != o->qp->qp_context || init->qp_type != o->init.qp_type ||
	    init->sq_sig_all != o->init.sq_sig_all)
		KIT_FAULT(k, "ibv_query_qp: qp_context, qp_type or sq_sig_all is not that of the creation");
	else if (init->send_cq != o->init.send_cq || init->recv_cq != o->init.recv_cq ||
		 init->srq != o->init.srq)
		KIT_FAULT(k, "ibv_query_qp: send_cq, recv_cq or srq is not that of the creation");
	else if (memcmp(&init->cap, cap, sizeof(*cap)) || memcmp(&attr->cap, cap, sizeof(*cap)))
		KIT_FAULT(k,
			  "ibv_query_qp: cap {%u, %u, %u, %u, %u} of init_attr and {%u, %u, %u, %u, %u} of "
			  "attr, "
			  "expected {%u, %u, %u, %u, %u} as granted",
			  init->cap.max_send_wr, init->cap.max_recv_wr, init->cap.max_send_sge,
			  init->cap.max_recv_sge, init->cap.max_inline_data, attr->cap.max_send_wr,
			  attr->cap.max_recv_wr, attr->cap.max_send_sge, attr->cap.max_recv_sge,
			  attr->cap.max_inline_data, cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge,
			  cap->max_recv_sge, cap->max_inline_data);
	return KIT_GOOD(k);
}

bool own_judge(struct kit *k, struct own *o, int mask, const char *when)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret;

	memset(&init, 0xa5, sizeof(init));
	memset(&attr, 0xa5, sizeof(attr));
	ret = ibv_query_qp(o->qp, &attr, mask | IBV_QP_STATE | IBV_QP_CAP, &init);
	if (!KIT_MUST(k, !ret, "ibv_query_qp failed with %s", errno_name(ret)))
		return false;
	for (size_t i = 0; i < NUM_FIELDS; i++) {
		const struct field *f = &fields[i];

		if (!(o->known_mask & mask & f->bit) ||
		    !memcmp((uint8_t *)&attr + f->at, (uint8_t *)&o->known + f->at, f->size))
			continue;
		KIT_FAULT(k, "ibv_query_qp: %s is not what was set %s", f->name, when);
		return false;
	}
	return judge_init(k, o, &init, &attr);
}

/* One SEND through a QP of this PD, which is connected to itself. */
static void send_one(struct kit *k, struct ibv_pd *pd, struct ibv_mr *mr)
{
	struct own o = {.init.pd = pd, .to_itself = true};
	struct ibv_sge sge = {(uintptr_t)mr->addr, 8, mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = kit_wr(1, IBV_WR_SEND, &sge), *bad;
	struct ibv_wc wc;

	if (own_create(k, &o, IBV_QPT_RC) && own_reach(k, &o, IBV_QPS_RTS)) {
		int ret = ibv_post_recv(o.qp, &recv, &bad_recv);

		ret = ret ? ret : ibv_post_send(o.qp, &send, &bad);
		if (ret || o.qp->pd != pd)
			KIT_FAULT(k, "a posting in the PD failed with %s", errno_name(ret));
		else if (own_wait(k, &o, o.send_cq, &wc) && wc.status)
			KIT_FAULT(k, "a SEND in the PD: status %s", value_name(status_names, wc.status));
		else
			own_wait(k, &o, o.recv_cq, &wc);
	}
	own_destroy(&o);
}

void own_use_work_queue(struct kit *k, struct ibv_pd *pd)
{
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ, .max_wr = 5, .max_sge = 1, .pd = pd};
	struct ibv_wq *wq = NULL;

	init.cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	if (init.cq)
		wq = ibv_create_wq(ctx, &init);
	if (!wq)
		KIT_FAULT(k, "ibv_create_wq in the PD failed with %s", errno_name(errno));
	else if (ibv_dealloc_pd(pd) <= 0)
		KIT_FAULT(k, "a PD with a work queue was deallocated");
	else if (ibv_destroy_wq(wq))
		KIT_FAULT(k, "ibv_destroy_wq in the PD failed");
	if (init.cq)
		ibv_destroy_cq(init.cq);
}

/* A shared receive queue with a tag list, if the device has them. */
static void use_tag_list(struct kit *k, struct ibv_pd *pd)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = {.max_wr = 7, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = pd,
		.tm_cap = {.max_num_tags = 3, .max_ops = 5},
	};
	struct ibv_device_attr_ex attr = {};
	struct ibv_srq *srq;

	if (ibv_query_device_ex(pd->context, NULL, &attr) || !attr.tm_caps.max_num_tags)
		return;
	init.cq = ibv_create_cq(pd->context, 8, NULL, NULL, 0);
	srq = init.cq ? ibv_create_srq_ex(pd->context, &init) : NULL;
	if (!srq || ibv_destroy_srq(srq))
		KIT_FAULT(k, "ibv_create_srq_ex or ibv_destroy_srq of a tag list in the PD failed with %s",
			  errno_name(errno));
	if (init.cq && ibv_destroy_cq(init.cq))
		KIT_FAULT(k, "ibv_destroy_cq failed, nothing uses it");
}

void own_use(struct kit *k, struct ibv_pd *pd)
{
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 7, .max_sge = 2}};
	struct ibv_srq *srq = ibv_create_srq(pd, &srq_attr);
	uint8_t *bytes = end_alloc(pd, 4096);
	struct ibv_mr *mr = ibv_reg_mr(pd, bytes, 4096, IBV_ACCESS_LOCAL_WRITE);

	if (!srq || !mr)
		KIT_FAULT(k, "ibv_create_srq or ibv_reg_mr in the PD failed with %s", errno_name(errno));
	else if (mr->pd != pd || srq->pd != pd)
		KIT_FAULT(k, "pd of the region or the SRQ is another one");
	else
		send_one(k, pd, mr);
	if (KIT_GOOD(k))
		use_tag_list(k, pd);
	if (srq && ibv_destroy_srq(srq))
		KIT_FAULT(k, "ibv_destroy_srq in the PD failed");
	if (mr && ibv_dereg_mr(mr))
		KIT_FAULT(k, "ibv_dereg_mr in the PD failed");
	end_free(bytes);
}
