// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Work queues, and QPs that receive by a table of them. */
#include <errno.h>
#include <string.h>

#include "driver.h"

#define FUNC_TOEPLITZ 1 /* enum ibv_rx_hash_function_flags */

int native_create_wq(struct drv_qp *wq, struct drv_qp_init *init, struct drv_udata *u)
{
	if (init->create_flags)
		return -EOPNOTSUPP;
	if (!init->max_recv_wr || init->max_recv_wr > HCASIM_MAX_QP_WR || init->max_recv_sge > HCASIM_MAX_SGE)
		return -EINVAL;
	return native_create_queues(wq, init, u);
}

int native_modify_wq(struct drv_qp *wq, uint32_t cur_state, uint32_t state)
{
	const int ret = common_modify_wq(wq, cur_state, state);

	if (!ret && state == HCA_WQ_RESET)
		native_clear_rings((struct native_qp *)wq);
	return ret;
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

int native_create_rss(struct drv_qp *base, struct drv_qp_init *init, struct drv_udata *u)
{
	struct hcasim_create_rss_qp_req req;
	int ret;

	ret = common_udata_get(u, &req, sizeof(req));
	if (!ret)
		ret = check_rss(init, &req);
	return ret ? ret : common_enter_rss(base, init, (uint32_t)req.fields, req.key);
}
