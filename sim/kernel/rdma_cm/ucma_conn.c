// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Commands that connect and disconnect. */
#include <errno.h>
#include <string.h>

#include "kernel/rdma_cm/ucma.h"

/*
 * Builds the header that rdma_cm puts in front of the program's private data: source and destination address.
 */
static int make_private(const struct ucma_id *id, const struct rdma_ucm_conn_param *p,
			struct cm_private *priv)
{
	uint8_t *hdr = priv->data, gid[16];
	const bool four = id->src.ss_family == AF_INET;

	memset(priv, 0, sizeof(*priv));
	if (p->private_data_len + HDR_SIZE > UINT8_MAX) /* the length has 8 bits, in rdma_cm too */
		return -EINVAL;
	priv->len = p->private_data_len + HDR_SIZE;
	memcpy(hdr + HDR_SIZE, p->private_data, p->private_data_len);
	hdr[HDR_IP] = (four ? 4 : 6) << 4;
	put16(hdr + HDR_PORT, ua_port(&id->src));
	ua_gid(&id->src, gid);
	memcpy(hdr + HDR_SRC + (four ? 12 : 0), gid + (four ? 12 : 0), four ? 4 : 16);
	ua_gid(&id->dst, gid);
	memcpy(hdr + HDR_DST + (four ? 12 : 0), gid + (four ? 12 : 0), four ? 4 : 16);
	return 0;
}

static void plain_private(const uint8_t *data, uint8_t len, struct cm_private *priv)
{
	memset(priv, 0, sizeof(*priv));
	priv->len = len;
	memcpy(priv->data, data, len);
}

/* Reads a request that became longer: older programs do not send `ece`. */
static int get_grown(struct ucma_call *c, void *cmd, size_t least, size_t size)
{
	if (c->in_len < least)
		return -EINVAL;
	return ucma_get(c, cmd, c->in_len < size ? c->in_len : size);
}

int uc_connect(struct ucma_call *c)
{
	struct rdma_ucm_connect cmd = {0};
	struct cm_private priv;
	struct ucma_id *id;
	int ret;

	ret = get_grown(c, &cmd, offsetof(struct rdma_ucm_connect, ece), sizeof(cmd));
	if (ret)
		return ret;
	if (!cmd.conn_param.valid)
		return -EINVAL;
	ret = ucma_find_dev(c, cmd.id, &id);
	if (ret)
		return ret;
	if (id->state != ID_ROUTE_RESOLVED)
		return -EINVAL;
	id->qp_num = cmd.conn_param.qp_num & 0xffffff;
	id->srq = cmd.conn_param.srq;
	id->ece = cmd.ece;
	ret = make_private(id, &cmd.conn_param, &priv);
	if (ret)
		return ret;
	id->state = ID_CONNECT;
	if (id->qp_type == HCASIM_QPT_UD)
		ret = cm_send_sidr_req(id, &priv);
	else
		ret = cm_send_req(id, &cmd.conn_param, &priv);
	if (ret)
		id->state = ID_ROUTE_RESOLVED;
	return ret;
}

static int accept_conn(struct ucma_id *id, const struct rdma_ucm_conn_param *p)
{
	struct cm_private priv;

	if (id->state != ID_CONNECT)
		return -EINVAL;
	plain_private(p->private_data, p->valid ? p->private_data_len : 0, &priv);
	if (p->valid) {
		id->qp_num = p->qp_num & 0xffffff;
		id->srq = p->srq;
	}
	if (id->qp_type == HCASIM_QPT_UD) {
		if (!id->qkey)
			id->qkey = UDP_QKEY;
		return cm_send_sidr_rep(id, SIDR_SUCCESS, &priv);
	}
	return p->valid ? cm_send_rep(id, p, &priv) : cm_send_rtu(id);
}

static int reject(struct ucma_id *id, uint8_t reason, const struct cm_private *priv)
{
	if (!id->cm.used)
		return -EINVAL;
	return id->qp_type == HCASIM_QPT_UD ? cm_send_sidr_rep(id, SIDR_REJECT, priv)
					    : cm_send_rej(id, reason, priv);
}

int uc_accept(struct ucma_call *c)
{
	const struct cm_private none = {.len = 0};
	struct rdma_ucm_accept cmd = {0};
	struct ucma_id *id;
	int ret;

	ret = get_grown(c, &cmd, offsetof(struct rdma_ucm_accept, ece), sizeof(cmd));
	if (!ret)
		ret = ucma_find_dev(c, cmd.id, &id);
	if (ret)
		return ret;
	if (id->state != ID_CONNECT)
		return -EINVAL;
	if (cmd.conn_param.valid)
		id->ece = cmd.ece;
	ret = accept_conn(id, &cmd.conn_param);
	if (ret) {
		reject(id, REJ_CONSUMER_DEFINED, &none);
		return ret;
	}
	if (cmd.conn_param.valid)
		id->uid = cmd.uid;
	return 0;
}

int uc_reject(struct ucma_call *c)
{
	struct cm_private priv;
	struct rdma_ucm_reject cmd;
	struct ucma_id *id;
	int ret;

	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	if (!cmd.reason)
		cmd.reason = REJ_CONSUMER_DEFINED;
	if (cmd.reason != REJ_CONSUMER_DEFINED && cmd.reason != REJ_VENDOR_OPTION)
		return -EINVAL;
	ret = ucma_find_dev(c, cmd.id, &id);
	if (ret)
		return ret;
	plain_private(cmd.private_data, cmd.private_data_len, &priv);
	return reject(id, cmd.reason, &priv);
}

int uc_disconnect(struct ucma_call *c)
{
	struct rdma_ucm_disconnect cmd;
	struct ucma_id *id;
	int ret;

	ret = ucma_get_with_dev(c, &cmd, &id);
	if (ret)
		return ret;
	if (!id->cm.used)
		return -EINVAL;
	if (cm_send_dreq(id))
		cm_send_drep(id); /* the peer sent a DREQ first, or there is no connection */
	return 0;
}
