// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Work queues, indirection tables, and QPs that receive by them (receive side scaling). */
#include <errno.h>
#include <string.h>

#include "driver.h"

#define FUNC_TOEPLITZ 1 /* enum ibv_rx_hash_function_flags */

void native_rss_caps(const struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out)
{
	out->rss_caps.supported_qpts = 1u << HCASIM_QPT_RAW_PACKET;
	out->rss_caps.max_rwq_indirection_tables = HCASIM_MAX_RSS_TABLES;
	out->rss_caps.max_rwq_indirection_table_size = HCASIM_MAX_RSS_TABLE_SIZE;
	out->max_wq_type_rq = dev->cfg->max_qp; /* they have numbers of QPs */
}

int native_create_wq(struct drv_qp *wq, struct drv_qp_init *init, struct drv_udata *u)
{
	if (init->create_flags)
		return -EOPNOTSUPP;
	if (!init->max_recv_wr || init->max_recv_wr > HCASIM_MAX_QP_WR || init->max_recv_sge > HCASIM_MAX_SGE)
		return -EINVAL;
	return native_create_queues(wq, init, u);
}

static uint32_t wq_state(const struct drv_qp *wq)
{
	struct hca_qp_attr attr = {0};

	hca_qp_query(wq->dev->hca, wq->qpn, &attr);
	if (attr.state == HCASIM_QPS_ERR)
		return HCA_WQ_ERR;
	return attr.state == HCASIM_QPS_RESET ? HCA_WQ_RESET : HCA_WQ_RDY;
}

int native_modify_wq(struct drv_qp *wq, uint32_t cur_state, uint32_t state)
{
	int ret;

	if (cur_state != wq_state(wq))
		return -EINVAL;
	ret = hca_wq_modify(wq->dev->hca, wq->qpn, state);
	if (!ret && state == HCA_WQ_RESET)
		native_clear_rings((struct native_qp *)wq);
	return ret;
}

int native_create_rwq_table(struct drv_rwq_table *table)
{
	if (table->log_size > 31 || 1u << table->log_size > HCASIM_MAX_RSS_TABLE_SIZE)
		return -EINVAL;
	return numbers_add(&native_dev(table->dev)->rwq_tables, table, &table->number);
}

void native_destroy_rwq_table(struct drv_rwq_table *table)
{
	numbers_remove(&native_dev(table->dev)->rwq_tables, table->number);
}

/* Refusals are those of mlx5's create_rss_raw_qp_tir(): it receives, and nothing else. */
static int check_rss(const struct drv_qp_init *init, const struct hcasim_create_rss_qp_req *req)
{
	static const uint8_t zero[sizeof(req->reserved)];

	if (init->type != HCASIM_QPT_RAW_PACKET)
		return -EOPNOTSUPP;
	if (init->max_send_wr || init->send_cq)
		return -EINVAL;
	if (req->function != FUNC_TOEPLITZ)
		return -EOPNOTSUPP;
	if (req->key_len != HCASIM_RSS_KEY_SIZE || memcmp(req->reserved, zero, sizeof(zero)))
		return -EINVAL;
	return req->fields > UINT8_MAX ? -EOPNOTSUPP : 0; /* IPsec, inner headers */
}

int native_enter_rss(struct drv_qp *base, const struct drv_qp_init *init, uint32_t fields, const uint8_t *key)
{
	const struct drv_rwq_table *table = init->table;
	struct native_dev *n = native_dev(base->dev);
	struct hca_qp_attr_create attr = {.type = init->type, .pdn = native_pdn(base->pd)};
	struct hca_rss rss;
	int ret;

	rss = (struct hca_rss){.log_size = table->log_size, .wqn = table->wqn, .fields = fields};
	memcpy(rss.key, key, sizeof(rss.key));
	attr.rss = &rss;
	ret = hca_qp_create(n->dev->hca, &attr, &base->qpn);
	if (ret)
		return ret;
	ret = native_enter(&n->qps, base->qpn, base);
	if (ret)
		hca_qp_destroy(n->dev->hca, base->qpn);
	base->rss = true;
	return ret;
}

int native_create_rss(struct drv_qp *base, struct drv_qp_init *init, struct drv_udata *u)
{
	struct hcasim_create_rss_qp_req req;
	int ret;

	ret = native_udata_get(u, &req, sizeof(req));
	if (!ret)
		ret = check_rss(init, &req);
	return ret ? ret : native_enter_rss(base, init, (uint32_t)req.fields, req.key);
}
