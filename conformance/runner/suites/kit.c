/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "post/journal.h"
#include "judge/watchdog.h"
#include "suites/kit.h"

int kit_arg(const struct kit *k, const char *name, int fallback)
{
	json_t *value = json_object_get(k->cell->args, name);

	return value ? (int)json_integer_value(value) : fallback;
}

bool kit_holds(struct kit *k, bool condition)
{
	return condition != (++k->checks == k->wrong);
}

bool kit_link_second(struct kit *k, struct link *l, enum api api, const struct link_opts *opts)
{
	struct cell cell = *k->cell;
	int ret;

	cell.api = api;
	cell.create = CREATE_OK;
	cell.post = POST_OK;
	ret = link_create_opts(l, &k->r->dut, &cell, opts, &k->res->log);
	if (ret) {
		k->res->err = ret;
		KIT_FAULT(k, "%s failed with %s", l->step, errno_name(ret));
	}
	return !ret;
}

bool kit_link(struct kit *k, enum api api, const struct link_opts *opts)
{
	link_destroy(k->l);
	return kit_link_second(k, k->l, api, opts);
}

void kit_unmake(struct kit *k)
{
	char check[VERDICT_CHECK];
	int err = 0;
	const char *failed = made_end(&err);

	k->l = &k->r->link;
	*k->l = (struct link){0};
	made_begin();
	if (!failed || !KIT_GOOD(k)) /* after a fault an object may be in use */
		return;
	snprintf(check, sizeof(check), "%s-failed-with-", failed);
	observe(&k->res->verdict, check, errno_name(err), "%s failed with %s", failed, errno_name(err));
}

bool kit_plan(struct kit *k, struct plan *plans)
{
	int ret = 0;

	arena_reset(&k->l->local);
	if (k->l->opts.mixed)
		arena_reset(&k->l->second);
	arena_reset(&k->l->target);
	for (unsigned int i = 0; i < k->cell->num_wr && !ret; i++)
		ret = plan_wr(&plans[i], k->l, &k->cell->wr[i], i, k->r->seed);
	if (!ret)
		ret = link_fill_recv(k->l);
	if (ret)
		KIT_FAULT(k, "buffers of the case: %s", errno_name(ret));
	else
		link_push(k->l);
	return !ret;
}

void kit_list(struct kit *k, struct plan *plans, unsigned int num, struct ibv_send_wr *wr)
{
	for (unsigned int i = 0; i < num; i++) {
		post_fill(&wr[i], k->l, &plans[i]);
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
	}
}

/* As C: one without a name as its number. */
static const char *opcode_text(enum ibv_wr_opcode op, char *buf, size_t size)
{
	const char *name = value_name(op_names, op);

	if (*name == '?')
		snprintf(buf, size, "(enum ibv_wr_opcode)%d", (int)op);
	else
		snprintf(buf, size, "IBV_WR_%s", name);
	return buf;
}

int kit_post(struct kit *k, struct ibv_qp *qp, struct ibv_qp *to, struct ibv_send_wr *wr, int *bad)
{
	struct ibv_send_wr *failed = NULL, *one;
	char flags[128], opcode[48];
	int rc, i = 0;

	for (one = wr; one; one = one->next)
		log_call(&k->res->log,
			 "wr[%d] = (struct ibv_send_wr){.wr_id = 0x%llx, .opcode = %s, .num_sge = %d, "
			 ".send_flags = %s}",
			 i++, (unsigned long long)one->wr_id,
			 opcode_text(one->opcode, opcode, sizeof(opcode)), one->num_sge,
			 flags_name(send_flag_names, "IBV_SEND_", one->send_flags, flags, sizeof(flags)));
	log_call(&k->res->log, "ibv_post_send(%s, wr, &bad_wr)", qp == k->l->peer ? "peer" : "qp");
	end_push();
	rc = ibv_post_send(qp, wr, &failed);
	journal_list(&k->res->log, qp, to, wr, rc, failed);
	if (rc < 0)
		KIT_FAULT(k, "ibv_post_send returned %d, which is no value of errno", rc);
	if (!bad)
		return rc;
	*bad = rc ? i : -1;
	for (i = 0, one = wr; one && rc; one = one->next, i++)
		if (one == failed)
			*bad = i;
	return rc;
}

bool kit_posts(struct kit *k, struct ibv_qp *qp, struct ibv_qp *to, struct ibv_send_wr *wr)
{
	int rc = kit_post(k, qp, to, wr, NULL);

	if (rc)
		KIT_FAULT(k, "posting was refused with %s", errno_name(rc));
	return !rc;
}

struct ibv_send_wr kit_wr(uint64_t wr_id, enum ibv_wr_opcode op, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){.wr_id = wr_id,
				    .opcode = op,
				    .send_flags = IBV_SEND_SIGNALED,
				    .sg_list = sge,
				    .num_sge = sge ? 1 : 0};
}

uint64_t kit_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

bool kit_wait(struct kit *k, struct link *l, struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct watchdog p = watchdog(l->dut->timeout_ms);
	const char *side = cq == l->cq ? "requester" : "responder";
	int ret;

	do
		ret = collect_poll(l, cq, wc);
	while (!ret && !watchdog_expired(&p) && !remote_broken());
	if (ret == 1) {
		seen(k->res, "%s CQE %s; ", side, value_name(status_names, wc->status));
		return true;
	}
	KIT_FAULT(k, ret ? "polling the CQ of the %s failed" : "a CQE of the %s did not come", side);
	return false;
}

bool kit_expect(struct kit *k, struct link *l, struct ibv_cq *cq, const struct ibv_qp *qp, uint64_t wr_id,
		enum ibv_wc_status status)
{
	struct wc_expect want = {.wr_id = wr_id, .status = status, .qp_num = qp->qp_num};
	struct ibv_wc wc;

	if (!kit_wait(k, l, cq, &wc))
		return false;
	if (!kit_holds(k, true))
		want.status = status == IBV_WC_SUCCESS ? IBV_WC_GENERAL_ERR : IBV_WC_SUCCESS;
	want.opcode = wc.opcode;
	want.frame = qp->qp_type == IBV_QPT_RAW_PACKET && wc.opcode & IBV_WC_RECV;
	if (wc.status == IBV_WC_SUCCESS) {
		want.with_imm = wc.wc_flags & IBV_WC_WITH_IMM;
		want.with_inv = wc.wc_flags & IBV_WC_WITH_INV;
		want.imm = wc.imm_data;
		want.inv_rkey = wc.invalidated_rkey;
	}
	judge_wc(&k->res->verdict, cq == l->cq ? "requester" : "responder", &want, &wc);
	return KIT_GOOD(k);
}

void kit_expect_none(struct kit *k, struct link *l, struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (collect_poll(l, cq, &wc) == 1)
		judge_extra_wc(&k->res->verdict, cq == l->cq ? "requester" : "responder", &wc);
}

int kit_atomic_write(struct kit *k, uint64_t wr_id, uint32_t rkey, const uint8_t *to, const uint8_t *bytes)
{
	struct link *l = k->l;

	log_call(&k->res->log, "ibv_wr_start(qpx), ibv_wr_atomic_write(qpx, rkey, remote_addr, &value), "
			       "ibv_wr_complete(qpx)");
	end_push();
	ibv_wr_start(l->qpx);
	l->qpx->wr_id = wr_id;
	l->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(l->qpx, rkey, (uintptr_t)to, bytes);
	if (l->qpt == IBV_QPT_XRC_SEND)
		ibv_wr_set_xrc_srqn(l->qpx, l->srqn);
	return ibv_wr_complete(l->qpx);
}

void kit_alive(struct kit *k, struct link *l)
{
	const struct cell_wr send = {
		.op = IBV_WR_SEND,
		.data = DATA_SGE,
		.data_of = -1,
		.qp_setter = link_setter(l),
		.num_len = 1,
		.len = {64},
		.flags = IBV_SEND_SIGNALED,
		.effect = EFFECT_SEND,
		.wc = IBV_WC_SEND,
		.recv = IBV_WC_RECV,
	};
	struct expect requester = {0}, responder = {0};
	static struct plan plan;
	struct posted posted;
	int ret = plan_wr(&plan, l, &send, CELL_MAX_WR, k->r->seed);

	if (!ret)
		ret = link_fill_recv(l);
	KIT_CHECK(k, !ret, "a following SEND does not fit: %s", errno_name(ret));
	log_call(&k->res->log, "/* a following SEND */");
	posted = post_list(l, &plan, 1, &k->res->log);
	KIT_CHECK(k, !posted.rc, "a following SEND was refused with %s", errno_name(posted.rc));
	plan_execute(&plan, l, &requester, &responder);
	collect(l, &requester, &responder, k->res);
}

bool kit_next_async(struct ibv_context *ctx, unsigned int timeout_ms, struct ibv_async_event *event)
{
	if (!end_async_ready(ctx, timeout_ms) || ibv_get_async_event(ctx, event))
		return false;
	ibv_ack_async_event(event);
	return true;
}

void kit_drain_async(struct ibv_context *ctx)
{
	struct ibv_async_event event;

	while (kit_next_async(ctx, 0, &event))
		;
}

bool kit_expect_async(struct kit *k, struct ibv_context *ctx, enum ibv_event_type type, const void *element)
{
	struct ibv_async_event event;

	/* IBV_EVENT_COMM_EST may come at any time */
	do {
		if (!kit_next_async(ctx, k->r->dut.timeout_ms, &event)) {
			KIT_FAULT(k, "the asynchronous event '%s' did not come", ibv_event_type_str(type));
			return false;
		}
	} while (event.event_type == IBV_EVENT_COMM_EST && type != IBV_EVENT_COMM_EST);
	seen(k->res, "event '%s'; ", ibv_event_type_str(event.event_type));
	if (!kit_holds(k, event.event_type == type))
		KIT_FAULT(k, "the asynchronous event '%s' came, expected '%s'",
			  ibv_event_type_str(event.event_type), ibv_event_type_str(type));
	else if (event.element.qp != element) /* a union of pointers */
		KIT_FAULT(k, "the asynchronous event '%s' names another object", ibv_event_type_str(type));
	return KIT_GOOD(k);
}

void kit_expect_state(struct kit *k, struct ibv_qp *qp, enum ibv_qp_state state)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR", "UNKNOWN"};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret = ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);

	KIT_CHECK(k, !ret, "ibv_query_qp failed with %s", errno_name(ret));
	if (!kit_holds(k, attr.qp_state == state))
		KIT_FAULT(k, "the QP is in state %s, expected %s", names[attr.qp_state], names[state]);
}

static bool is_v4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid, mapped, sizeof(mapped));
}

bool kit_gid(const struct end *end, bool v4, int *index, union ibv_gid *gid)
{
	*index = end->gid_index;
	*gid = end->gid;
	if (is_v4(gid) == v4 && !end->roce_v1)
		return true;
	for (*index = 0; !remote_is(end->ctx) && *index < end->port_attr.gid_tbl_len; ++*index) {
		if (ibv_query_gid(end->ctx, end->port, *index, gid))
			return false;
		if (is_v4(gid) == v4 && (gid->global.interface_id || gid->global.subnet_prefix) &&
		    end_gid_type(end, *index) != IBV_GID_TYPE_ROCE_V1)
			return true;
	}
	return false;
}

__attribute__((noinline)) void kit_dirty_stack(void)
{
	volatile uint8_t bytes[16384];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0xa5;
}

static bool take_gid(struct end *end, bool v4)
{
	if (!kit_gid(end, v4, &end->gid_index, &end->gid))
		return false;
	end->roce_v1 = false;
	return true;
}

bool kit_family(struct kit *k)
{
	static struct end usual[2];
	static bool taken;
	struct dut *dut = &k->r->dut;
	const int family = kit_arg(k, "family", 0);

	if (taken) {
		link_destroy(k->l);
		dut->requester = usual[0];
		dut->responder = usual[1];
	}
	taken = family;
	if (!family)
		return true;
	usual[0] = dut->requester;
	usual[1] = dut->responder;
	if (dut->requester.port_attr.link_layer != IBV_LINK_LAYER_INFINIBAND &&
	    take_gid(&dut->requester, family == 4) && take_gid(&dut->responder, family == 4))
		return true;
	dut->requester = usual[0];
	dut->responder = usual[1];
	seen(k->res, "the ends have no GID for IPv%d; ", family);
	return false;
}
