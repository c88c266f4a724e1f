// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "completions.h"

static struct ibv_qp *create_qp(const struct pair *p, int end)
{
	struct ibv_qp_init_attr_ex init = {.cap = {32, 8, 2, 1, 0},
					   .qp_type = IBV_QPT_RC,
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .pd = p->l->pd[end],
					   .srq = end ? p->srq : NULL,
					   .send_cq = p->cq[end],
					   .recv_cq = p->cq[end],
					   .send_ops_flags = IBV_QP_EX_WITH_FLUSH};
	struct ibv_qp *qp = ibv_create_qp_ex(p->l->ctx[end], &init);

	CHECK(qp);
	return qp;
}

static struct ibv_qp_attr attr_of(const struct pair *p, int end, const struct options *o)
{
	struct ibv_qp_attr attr = link_attr(p->l, end, p->qp[!end]->qp_num);

	attr.path_mtu = IBV_MTU_1024;
	attr.min_rnr_timer = 1;
	if (o->access)
		attr.qp_access_flags = o->access;
	if (o->timeout) {
		attr.timeout = o->timeout;
		attr.retry_cnt = o->retry;
		attr.rnr_retry = o->rnr_retry;
	}
	return attr;
}

void rc_open(struct pair *p, const struct link *l, const struct options *o)
{
	struct ibv_srq_init_attr srq = {.attr = {16, 1, 0}};
	struct ibv_qp_attr attr;

	*p = (struct pair){.l = l};
	if (o->srq) {
		p->srq = ibv_create_srq(l->pd[1], &srq);
		CHECK(p->srq);
	}
	for (int end = 0; end < 2; end++) {
		p->cq[end] = link_create_cq(l, end, 64);
		p->qp[end] = create_qp(p, end);
	}
	for (int end = 1; end >= 0; end--) {
		attr = attr_of(p, end, o);
		link_modify(p->qp[end], &attr, end && o->peer_rtr ? IBV_QPS_RTR : IBV_QPS_RTS);
	}
}

void post_write(const struct pair *p, uint64_t wr_id)
{
	pair_post_write(p, wr_id, 64);
}

void post_recv(const struct pair *p, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK(!(errno = p->srq ? ibv_post_srq_recv(p->srq, &wr, &bad) : ibv_post_recv(p->qp[1], &wr, &bad)));
}

void expect_event(const struct link *l, int end, enum ibv_event_type type, const void *object)
{
	struct ibv_async_event event = link_event(l->ctx[end]);

	if (event.event_type != type || event.element.qp != object)
		fprintf(stderr, "event '%s' of %p, not '%s' of %p\n", ibv_event_type_str(event.event_type),
			(void *)event.element.qp, ibv_event_type_str(type), object);
	CHECK(event.event_type == type && event.element.qp == object);
	printf("event %s\n", ibv_event_type_str(type));
}
