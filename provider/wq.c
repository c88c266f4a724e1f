// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Work queues, and indirection tables of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hcasim.h"

/* What the driver does not see, and a size that is needed, and must be a ring's, before it can say no. */
static int check_wq(const struct ibv_wq_init_attr *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_WQ_INIT_ATTR_FLAGS))
		return EOPNOTSUPP;
	return !attr->max_wr || attr->max_wr > HCASIM_MAX_QP_WR ? EINVAL : 0;
}

static int post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct hcasim_wq *wq = to_hwq(ibwq);

	return hcasim_post_to_rq(&wq->qp, ibwq->state == IBV_WQS_RESET, wr, bad_wr);
}

static int create_in_device(struct hcasim_wq *wq, struct ibv_wq_init_attr *attr,
			    struct hcasim_cmd_create_wq *cmd)
{
	struct hcasim_context *ctx = wq->qp.ctx;
	struct hcasim_cmd_create_wq_resp resp = {};
	int err;

	err = ibv_cmd_create_wq(&ctx->ibv_ctx.context, attr, &wq->ibv_wq, &cmd->ibv_cmd, sizeof(*cmd),
				&resp.ibv_resp, sizeof(resp));
	if (err)
		return err;
	wq->qp.rq.max_wr = attr->max_wr;
	wq->qp.rq.max_sge = attr->max_sge;
	err = hcasim_map_rings(&wq->qp, &resp.drv_payload);
	if (!err) {
		pthread_mutex_lock(&ctx->table_lock);
		err = hcasim_table_insert(&ctx->qps, wq->ibv_wq.wq_num, &wq->qp);
		pthread_mutex_unlock(&ctx->table_lock);
	}
	if (err) {
		hcasim_chunk_put(ctx, wq->qp.chunk);
		ibv_cmd_destroy_wq(&wq->ibv_wq);
	}
	return err;
}

struct ibv_wq *hcasim_create_wq(struct ibv_context *ibctx, struct ibv_wq_init_attr *attr)
{
	const struct ibv_qp_init_attr_ex as_qp = {.cap.max_recv_wr = attr->max_wr,
						  .cap.max_recv_sge = attr->max_sge};
	struct hcasim_context *ctx = to_hctx(ibctx);
	struct hcasim_cmd_create_wq cmd = {};
	struct hcasim_wq *wq;
	int err;

	err = check_wq(attr);
	if (err)
		return hcasim_failed(NULL, err);
	wq = calloc(1, sizeof(*wq));
	if (!wq)
		return NULL;
	wq->qp.ctx = ctx;
	wq->qp.pd = to_hpd(attr->pd);
	hcasim_plan_rq(&as_qp.cap, &cmd.drv_payload);
	err = hcasim_alloc_queues(&wq->qp, &as_qp, &cmd.drv_payload);
	if (err)
		goto err_wq;
	err = create_in_device(wq, attr, &cmd);
	if (err)
		goto err_queues;
	hcasim_pd_get(wq->qp.pd);
	wq->ibv_wq.post_recv = post_wq_recv;
	return &wq->ibv_wq;

err_queues:
	hcasim_free_queues(&wq->qp);
err_wq:
	return hcasim_failed(wq, err);
}

/* As for a QP in RESET: it is empty, and its old completions are not delivered. */
static void reset_queue(struct hcasim_wq *wq)
{
	struct hcasim_cq *cq = to_hcq(wq->ibv_wq.cq);

	hcasim_cq_lock(cq);
	hcasim_cq_clean(cq, wq->ibv_wq.wq_num, 0);
	atomic_store(&wq->qp.rq.pi, 0);
	atomic_store(&wq->qp.rq.ci, 0);
	hcasim_store_record(&wq->qp.record->rq_pi, 0);
	hcasim_cq_unlock(cq);
}

int hcasim_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr)
{
	struct ibv_modify_wq cmd = {};
	int err;

	err = ibv_cmd_modify_wq(ibwq, attr, &cmd, sizeof(cmd));
	if (!err && attr->attr_mask & IBV_WQ_ATTR_STATE && attr->wq_state == IBV_WQS_RESET)
		reset_queue(to_hwq(ibwq));
	return hcasim_error(err);
}

int hcasim_destroy_wq(struct ibv_wq *ibwq)
{
	struct hcasim_wq *wq = to_hwq(ibwq);
	struct hcasim_context *ctx = wq->qp.ctx;
	struct hcasim_cq *cq = to_hcq(ibwq->cq);
	int err;

	/* The device may reuse the number at once, so take it out of the table first. */
	pthread_mutex_lock(&ctx->table_lock);
	err = ibv_cmd_destroy_wq(ibwq);
	if (!err) {
		hcasim_cq_lock(cq);
		hcasim_cq_clean(cq, ibwq->wq_num, 0);
		hcasim_table_remove(&ctx->qps, ibwq->wq_num);
		hcasim_cq_unlock(cq);
	}
	pthread_mutex_unlock(&ctx->table_lock);
	if (err)
		return hcasim_error(err);
	hcasim_chunk_put(ctx, wq->qp.chunk);
	hcasim_free_queues(&wq->qp);
	hcasim_pd_put(wq->qp.pd);
	free(wq);
	return 0;
}

struct ibv_rwq_ind_table *hcasim_create_rwq_ind_table(struct ibv_context *ibctx,
						      struct ibv_rwq_ind_table_init_attr *attr)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {};
	struct ibv_rwq_ind_table *table;
	int err;

	/* libibverbs allocates this many handles on its stack. */
	if (attr->log_ind_tbl_size > (uint32_t)__builtin_ctz(HCASIM_MAX_RSS_TABLE_SIZE))
		return hcasim_failed(NULL, EINVAL);
	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	err = ibv_cmd_create_rwq_ind_table(ibctx, attr, table, &resp, sizeof(resp));
	if (err)
		return hcasim_failed(table, err);
	return table;
}

int hcasim_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	int err = ibv_cmd_destroy_rwq_ind_table(table);

	if (!err)
		free(table);
	return hcasim_error(err);
}

/* ---- QPs over a table ---- */

/* What the driver does not see, and what is needed before it can say no. */
static int check_rss(const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t needs = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
	const struct ibv_rx_hash_conf *hash = &attr->rx_hash_conf;

	if (!check_comp_mask(attr->comp_mask, needs | IBV_QP_INIT_ATTR_CREATE_FLAGS) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags))
		return EOPNOTSUPP;
	if ((attr->comp_mask & needs) != needs || !attr->rwq_ind_tbl || attr->send_cq ||
	    attr->cap.max_send_wr)
		return EINVAL;
	return hash->rx_hash_key_len != HCASIM_RSS_KEY_SIZE || !hash->rx_hash_key ? EINVAL : 0;
}

struct hcasim_qp *hcasim_create_rss(struct hcasim_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct hcasim_cmd_create_rss_qp_resp resp = {};
	struct ibv_qp_init_attr_ex known = *attr;
	struct hcasim_cmd_create_rss_qp cmd = {};
	struct hcasim_qp *qp;
	int err;

	err = check_rss(attr);
	if (err)
		return hcasim_failed(NULL, err);
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	cmd.drv_payload.fields = attr->rx_hash_conf.rx_hash_fields_mask;
	cmd.drv_payload.function = attr->rx_hash_conf.rx_hash_function;
	cmd.drv_payload.key_len = attr->rx_hash_conf.rx_hash_key_len;
	memcpy(cmd.drv_payload.key, attr->rx_hash_conf.rx_hash_key, sizeof(cmd.drv_payload.key));
	known.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE;
	err = hcasim_cmd_create_qp_ex2(&ctx->ibv_ctx.context, &qp->vqp, &known, &cmd.ibv_cmd, sizeof(cmd),
				       &resp.ibv_resp, sizeof(resp));
	if (err)
		return hcasim_failed(qp, err);
	attr->cap = known.cap;
	return qp;
}
