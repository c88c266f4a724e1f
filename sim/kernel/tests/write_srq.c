// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Valid requests of the commands for shared receive queues and XRC. */
#include "write_srq.h"

void fill_create_srq(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_create_srq *c = (void *)req;

	CHECK_ERR(make_pd(), 0);
	c->pd_handle = w.pd;
	c->max_wr = 8;
	c->max_sge = 1;
	*(struct hcasim_create_srq_req *)uhw =
		(struct hcasim_create_srq_req){.wqe_count = HCASIM_MAX_SRQ_WR, .stride = 32};
}

void fill_create_xsrq(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_create_xsrq *c = (void *)req;

	CHECK_ERR(make_pd(), 0);
	c->srq_type = IB_UVERBS_SRQT_BASIC;
	c->pd_handle = w.pd;
	c->max_wr = 8;
	c->max_sge = 1;
	*(struct hcasim_create_srq_req *)uhw =
		(struct hcasim_create_srq_req){.wqe_count = HCASIM_MAX_SRQ_WR, .stride = 32};
}

void fill_open_xrcd(uint8_t *req, uint8_t *uhw)
{
	((struct ib_uverbs_open_xrcd *)req)->fd = UINT32_MAX;
}

void fill_close_xrcd(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_xrcd(-1, 0), 0);
	memcpy(req, &w.xrcd, 4);
}

/* Creates the QP and the objects it needs first. */
void fill_open_qp(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_open_qp *c = (void *)req;

	CHECK_ERR(make_xrcd(-1, 0), 0);
	w.pd = w.xrcd;
	CHECK_ERR(make_qp(HCASIM_QPT_XRC_RECV), 0);
	c->pd_handle = w.xrcd;
	c->qpn = w.qpn;
	c->qp_type = HCASIM_QPT_XRC_RECV;
}

static void some_srq(void)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_srq(8, 0), 0);
}

void fill_modify_srq(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_modify_srq *c = (void *)req;

	some_srq();
	c->srq_handle = w.srq;
	c->attr_mask = 3;
	c->max_wr = 16;
	c->srq_limit = 9;
}

void fill_query_srq(uint8_t *req, uint8_t *uhw)
{
	some_srq();
	((struct ib_uverbs_query_srq *)req)->srq_handle = w.srq;
}

void fill_destroy_srq(uint8_t *req, uint8_t *uhw)
{
	some_srq();
	((struct ib_uverbs_destroy_srq *)req)->srq_handle = w.srq;
}
