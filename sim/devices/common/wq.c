// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Work queues, indirection tables, and QPs that receive by them (receive side scaling). */
#include <errno.h>
#include <string.h>

#include "devices/common/common.h"

void common_rss_caps(const struct drv_device *dev, struct ib_uverbs_ex_query_device_resp *out)
{
	out->rss_caps.supported_qpts = 1u << HCASIM_QPT_RAW_PACKET;
	out->rss_caps.max_rwq_indirection_tables = HCASIM_MAX_RSS_TABLES;
	out->rss_caps.max_rwq_indirection_table_size = HCASIM_MAX_RSS_TABLE_SIZE;
	out->max_wq_type_rq = dev->cfg->max_qp; /* they have numbers of QPs */
}

static uint32_t wq_state(const struct drv_qp *wq)
{
	struct hca_qp_attr attr = {0};

	hca_qp_query(wq->dev->hca, wq->qpn, &attr);
	if (attr.state == HCASIM_QPS_ERR)
		return HCA_WQ_ERR;
	return attr.state == HCASIM_QPS_RESET ? HCA_WQ_RESET : HCA_WQ_RDY;
}

int common_modify_wq(struct drv_qp *wq, uint32_t cur_state, uint32_t state)
{
	return cur_state == wq_state(wq) ? hca_wq_modify(wq->dev->hca, wq->qpn, state) : -EINVAL;
}

int common_create_rwq_table(struct drv_rwq_table *table)
{
	if (table->log_size > 31 || 1u << table->log_size > HCASIM_MAX_RSS_TABLE_SIZE)
		return -EINVAL;
	return numbers_add(&common_dev(table->dev)->rwq_tables, table, &table->number);
}

void common_destroy_rwq_table(struct drv_rwq_table *table)
{
	numbers_remove(&common_dev(table->dev)->rwq_tables, table->number);
}

int common_enter_rss(struct drv_qp *base, const struct drv_qp_init *init, uint32_t fields, const uint8_t *key)
{
	const struct drv_rwq_table *table = init->table;
	struct hca_qp_attr_create attr = {.type = init->type, .pdn = common_pdn(base->pd)};
	struct hca_rss rss;
	int ret;

	rss = (struct hca_rss){.log_size = table->log_size, .wqn = table->wqn, .fields = fields};
	memcpy(rss.key, key, sizeof(rss.key));
	attr.rss = &rss;
	ret = common_create_qp(base, &attr);
	base->rss = true;
	return ret;
}
