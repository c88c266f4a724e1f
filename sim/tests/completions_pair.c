// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "completions.h"

#include <poll.h>
#include <time.h>

static void to_rtr(struct link *l, struct ibv_qp *qp, int end, uint32_t dest, const struct options *o)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = o->access ? o->access
					     : IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = link_path(l, end),
	};

	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	CHECK(!errno);
	attr.qp_state = IBV_QPS_RTR;
	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	CHECK(!errno);
}

static void to_rts(struct ibv_qp *qp, const struct options *o)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = o->timeout ? o->timeout : 14,
		.retry_cnt = o->timeout ? o->retry : 7,
		.rnr_retry = o->timeout ? o->rnr_retry : 7,
		.max_rd_atomic = 4,
	};

	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	CHECK(!errno);
}

void pair_open(struct pair *p, struct link *l, const struct options *o)
{
	*p = (struct pair){.l = l};
	for (int end = 0; end < 2; end++) {
		struct ibv_qp_init_attr_ex init = {.cap = {32, 8, 2, 1, 0},
						   .qp_type = IBV_QPT_RC,
						   .qp_context = p,
						   .comp_mask = IBV_QP_INIT_ATTR_PD |
								IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
						   .pd = l->pd[end],
						   .send_ops_flags = IBV_QP_EX_WITH_FLUSH};
		struct ibv_srq_init_attr srq = {.attr = {16, 1, 0}};

		p->cq[end] = link_create_cq(l, end, end == 0 && o->cqes ? o->cqes : 64);
		if (end == 1 && o->srq) {
			p->srq = ibv_create_srq(l->pd[1], &srq);
			CHECK(p->srq);
			init.srq = p->srq;
		}
		init.send_cq = init.recv_cq = p->cq[end];
		p->qp[end] = ibv_create_qp_ex(l->ctx[end], &init);
		CHECK(p->qp[end]);
	}
	if (!o->no_peer)
		to_rtr(l, p->qp[1], 1, p->qp[0]->qp_num, o);
	if (!o->no_peer && !o->peer_rtr)
		to_rts(p->qp[1], o);
	to_rtr(l, p->qp[0], 0, p->qp[1]->qp_num, o);
	to_rts(p->qp[0], o);
}

void pair_close(struct pair *p)
{
	for (int end = 0; end < 2; end++)
		CHECK(!(errno = ibv_destroy_qp(p->qp[end])));
	if (p->srq)
		CHECK(!(errno = ibv_destroy_srq(p->srq)));
	for (int end = 0; end < 2; end++)
		CHECK(!(errno = ibv_destroy_cq(p->cq[end])));
}

struct ibv_wc next_wc(struct ibv_cq *cq)
{
	time_t limit = time(NULL) + PATIENCE_S;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		CHECK(time(NULL) < limit);
	CHECK(n == 1);
	return wc;
}

void post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	CHECK(!(errno = ibv_post_send(qp, wr, &bad)));
}

struct ibv_sge at(const struct link *l, int end, uint32_t len)
{
	return (struct ibv_sge){(uintptr_t)l->buf[end], len, l->mr[end]->lkey};
}

void post_write(struct pair *p, uint64_t wr_id)
{
	struct ibv_sge sge = at(p->l, 0, 64);
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)p->l->buf[1], p->l->mr[1]->rkey}};

	post(p->qp[0], &wr);
}

void post_recv(struct pair *p, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK(!(errno = p->srq ? ibv_post_srq_recv(p->srq, &wr, &bad) : ibv_post_recv(p->qp[1], &wr, &bad)));
}

enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK(!(errno = ibv_query_qp(qp, &attr, IBV_QP_STATE, &init)));
	return attr.qp_state;
}

void expect_event(struct link *l, int end, enum ibv_event_type type, const void *object)
{
	struct pollfd p = {.fd = l->ctx[end]->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	CHECK(poll(&p, 1, PATIENCE_S * 1000) == 1);
	CHECK(!ibv_get_async_event(l->ctx[end], &event));
	if (event.event_type != type || event.element.qp != object)
		fprintf(stderr, "event '%s' of %p, not '%s' of %p\n", ibv_event_type_str(event.event_type),
			(void *)event.element.qp, ibv_event_type_str(type), object);
	CHECK(event.event_type == type && event.element.qp == object);
	ibv_ack_async_event(&event);
	printf("event %s\n", ibv_event_type_str(type));
}
