// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queries of an id: addresses, path, and the attributes of its QP. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "kernel/rdma_cm/ucma.h"

#define EXACTLY 2 /* selector of a path record (IBTA 15.2.5.16) */

#define Q(name) HCASIM_QP_ATTR_##name

static uint8_t path_mtu(const struct ucma_id *id)
{
	return id->dev->port[id->port - 1].active_mtu;
}

/* enum ib_rate for the port's speed (IBTA 15.2.5.16, and Linux's additions). */
static uint8_t path_rate(const struct ucma_id *id)
{
	static const struct {
		uint32_t mbps;
		uint8_t rate;
	} tab[] = {{2500, 2}, {10000, 3}, {30000, 4}, {40000, 7}, {56000, 12}, {100000, 16}, {200000, 17}};
	const uint32_t mbps = id->dev->drv.cfg->port_rate ? id->dev->drv.cfg->port_rate : 40000;

	for (size_t i = 0; i < sizeof(tab) / sizeof(tab[0]); i++) {
		if (mbps <= tab[i].mbps)
			return tab[i].rate;
	}
	return 17;
}

static uint8_t path_life(const struct ucma_id *id)
{
	return id->timeout_set && id->timeout ? id->timeout - 1 : CM_PACKET_LIFETIME;
}

static const uint8_t *own_gid(const struct ucma_id *id)
{
	return id->dev->gid[id->port - 1][id->sgid_index].raw;
}

static void fill_device(const struct ucma_id *id, struct rdma_ucm_query_addr_resp *resp)
{
	if (!id->dev)
		return;
	resp->node_guid = htobe64(id->dev->drv.cfg->node_guid);
	resp->port_num = id->port;
	resp->pkey = 0xffff;
	resp->ibdev_index = id->dev->index;
}

static int query_addr(struct ucma_call *c, struct ucma_id *id, uint64_t response)
{
	struct rdma_ucm_query_addr_resp resp = {0};

	if (c->out_len < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	resp.src_size = ua_size(&id->src, sizeof(id->src));
	resp.dst_size = ua_size(&id->dst, sizeof(id->dst));
	memcpy(&resp.src_addr, &id->src, resp.src_size);
	memcpy(&resp.dst_addr, &id->dst, resp.dst_size);
	fill_device(id, &resp);
	return ucma_put(c, response, &resp, c->out_len < sizeof(resp) ? c->out_len : sizeof(resp));
}

static void fill_ib(const struct ucma_id *id, const struct sockaddr_storage *a, const uint8_t *gid, void *out)
{
	struct addr_ib ib = {.family = AF_IB, .sid_mask = UINT64_MAX};

	if (a->ss_family == AF_IB) {
		memcpy(&ib, a, sizeof(ib));
	} else {
		ib.pkey = id->dev ? 0xffff : 0;
		ib.sid_mask = 0;
		if (gid)
			memcpy(ib.gid, gid, 16);
		ib.sid = htobe64(ua_service(id, a));
	}
	memcpy(out, &ib, sizeof(ib));
}

static int query_gid(struct ucma_call *c, struct ucma_id *id, uint64_t response)
{
	struct rdma_ucm_query_addr_resp resp = {0};

	if (c->out_len < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	fill_device(id, &resp);
	resp.src_size = resp.dst_size = sizeof(struct addr_ib);
	fill_ib(id, &id->src, id->dev ? own_gid(id) : NULL, &resp.src_addr);
	fill_ib(id, &id->dst, id->dev ? id->av.dgid : NULL, &resp.dst_addr);
	return ucma_put(c, response, &resp, c->out_len < sizeof(resp) ? c->out_len : sizeof(resp));
}

/* A path record as subnet administration sends it (IBTA 15.2.5.16). */
static void fill_path(const struct ucma_id *id, uint8_t rec[64])
{
	const uint32_t flow_hop = htobe32(id->av.flow_label << 8 | id->av.hop_limit);
	const uint64_t service = htobe64(ua_service(id, &id->dst));

	memset(rec, 0, 64);
	memcpy(rec, &service, 8);
	memcpy(rec + 8, id->av.dgid, 16);
	memcpy(rec + 24, own_gid(id), 16);
	memcpy(rec + 44, &flow_hop, 4);
	rec[48] = id->av.traffic_class;
	rec[49] = 0x80 | 1; /* reversible, one path */
	rec[50] = rec[51] = 0xff;
	rec[53] = id->av.sl;
	rec[54] = EXACTLY << 6 | path_mtu(id);
	rec[55] = EXACTLY << 6 | path_rate(id);
	rec[56] = EXACTLY << 6 | path_life(id);
}

static int query_path(struct ucma_call *c, struct ucma_id *id, uint64_t response)
{
	struct {
		struct rdma_ucm_query_path_resp head;
		struct ib_path_rec_data path;
	} resp = {.head.num_paths = id->has_route};
	size_t size = sizeof(resp.head);

	if (c->out_len < sizeof(resp.head))
		return -ENOSPC;
	if (id->has_route && c->out_len >= sizeof(resp)) {
		resp.path.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
		fill_path(id, (uint8_t *)resp.path.path_rec);
		size = sizeof(resp);
	}
	return ucma_put(c, response, &resp, size);
}

/* Only InfiniBand subnets have service records, so an id on an Ethernet port has none. */
static int query_ib_service(struct ucma_call *c)
{
	if (!kernel_has(c->f->k, ABI_UCMA_QUERY, 0, 0, UCMA_QUERY_IB_SERVICE))
		return -ENOSYS;
	return c->out_len < sizeof(struct ucma_query_ib_service_resp) ? -ENOSPC : -ENODATA;
}

int uc_query(struct ucma_call *c)
{
	struct rdma_ucm_query cmd;
	struct ucma_id *id;
	int ret;

	ret = ucma_get_with_id(c, &cmd, &id);
	if (ret)
		return ret;
	switch (cmd.option) {
	case RDMA_USER_CM_QUERY_ADDR:
		return query_addr(c, id, cmd.response);
	case RDMA_USER_CM_QUERY_PATH:
		return query_path(c, id, cmd.response);
	case RDMA_USER_CM_QUERY_GID:
		return query_gid(c, id, cmd.response);
	case UCMA_QUERY_IB_SERVICE:
		return query_ib_service(c);
	default:
		return -ENOSYS;
	}
}

static void fill_user_path(const struct ucma_id *id, struct ib_user_path_rec *p)
{
	memcpy(p->dgid, id->av.dgid, 16);
	memcpy(p->sgid, own_gid(id), 16);
	p->pkey = 0xffff;
	if (!id->has_route)
		return;
	p->flow_label = htobe32(id->av.flow_label);
	p->reversible = 1;
	p->mtu = path_mtu(id);
	p->hop_limit = id->av.hop_limit;
	p->traffic_class = id->av.traffic_class;
	p->numb_path = 1;
	p->sl = id->av.sl;
	p->mtu_selector = p->rate_selector = p->packet_life_time_selector = EXACTLY;
	p->rate = path_rate(id);
	p->packet_life_time = path_life(id);
}

int uc_query_route(struct ucma_call *c)
{
	struct rdma_ucm_query_route_resp resp = {0};
	struct rdma_ucm_query cmd;
	struct ucma_id *id;
	int ret;

	if (c->out_len < offsetof(struct rdma_ucm_query_route_resp, ibdev_index))
		return -ENOSPC;
	ret = ucma_get_with_id(c, &cmd, &id);
	if (ret)
		return ret;
	memcpy(&resp.src_addr, &id->src, sizeof(resp.src_addr));
	memcpy(&resp.dst_addr, &id->dst, sizeof(resp.dst_addr));
	if (id->dev) {
		resp.node_guid = htobe64(id->dev->drv.cfg->node_guid);
		resp.port_num = id->port;
		resp.ibdev_index = id->dev->index;
		resp.num_paths = id->has_route;
		fill_user_path(id, &resp.ib_route[0]);
	}
	return ucma_put(c, cmd.response, &resp, c->out_len < sizeof(resp) ? c->out_len : sizeof(resp));
}

/* ---- Attributes of the QP ---- */

void ucma_ah_attr(const struct ucma_id *id, const struct hca_av *av, struct ib_uverbs_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	memcpy(attr->grh.dgid, av->dgid, 16);
	attr->grh.flow_label = av->flow_label;
	attr->grh.sgid_index = av->sgid_index;
	attr->grh.hop_limit = av->hop_limit;
	attr->grh.traffic_class = av->traffic_class;
	attr->sl = av->sl;
	attr->is_global = 1;
	attr->port_num = av->port;
}

static void attr_unconnected(const struct ucma_id *id, struct ib_uverbs_qp_attr *a)
{
	a->qp_attr_mask = Q(STATE) | Q(PKEY_INDEX) | Q(PORT);
	a->port_num = id->port;
	if (id->qp_type == HCASIM_QPT_UD) {
		a->qp_attr_mask |= Q(QKEY);
		a->qkey = id->qkey ? id->qkey : UDP_QKEY;
	} else {
		a->qp_attr_mask |= Q(ACCESS_FLAGS);
	}
}

static void attr_init(const struct ucma_id *id, struct ib_uverbs_qp_attr *a)
{
	a->qp_attr_mask = Q(STATE) | Q(ACCESS_FLAGS) | Q(PKEY_INDEX) | Q(PORT);
	a->qp_access_flags = HCASIM_ACCESS_REMOTE_WRITE;
	if (id->cm.responder_resources)
		a->qp_access_flags |= HCASIM_ACCESS_REMOTE_READ | HCASIM_ACCESS_REMOTE_ATOMIC;
	a->port_num = id->port;
}

static void attr_rtr(const struct ucma_id *id, struct ib_uverbs_qp_attr *a)
{
	a->qp_attr_mask = Q(STATE) | Q(AV) | Q(PATH_MTU) | Q(DEST_QPN) | Q(RQ_PSN);
	ucma_ah_attr(id, &id->av, &a->ah_attr);
	a->path_mtu = path_mtu(id);
	a->dest_qp_num = id->cm.remote.qpn;
	a->rq_psn = id->psn;
	if (id->qp_type == HCASIM_QPT_RC || id->qp_type == HCASIM_QPT_XRC_RECV) {
		a->qp_attr_mask |= Q(MAX_DEST_RD_ATOMIC) | Q(MIN_RNR_TIMER);
		a->max_dest_rd_atomic = id->cm.responder_resources;
	}
}

static void attr_rts(const struct ucma_id *id, struct ib_uverbs_qp_attr *a)
{
	a->qp_attr_mask = Q(STATE) | Q(SQ_PSN);
	a->sq_psn = id->cm.remote.psn;
	switch (id->qp_type) {
	case HCASIM_QPT_RC:
	case HCASIM_QPT_XRC_SEND:
		a->qp_attr_mask |= Q(RETRY_CNT) | Q(RNR_RETRY) | Q(MAX_QP_RD_ATOMIC);
		a->retry_cnt = id->cm.retry_count;
		a->rnr_retry = id->cm.rnr_retry_count;
		a->max_rd_atomic = id->cm.initiator_depth;
		/* fall through */
	case HCASIM_QPT_XRC_RECV:
		a->qp_attr_mask |= Q(TIMEOUT);
		a->timeout = id->timeout_set ? id->timeout : id->cm.ack_timeout;
	}
}

static int fill_attr(const struct ucma_id *id, uint32_t state, struct ib_uverbs_qp_attr *a)
{
	const enum cm_state cm = id->cm.state;

	a->qp_state = state;
	if (!id->cm.used || id->qp_type == HCASIM_QPT_UD) {
		attr_unconnected(id, a);
		return 0;
	}
	if (state == HCASIM_QPS_INIT && cm >= CM_REQ_SENT && cm <= CM_ESTABLISHED) {
		attr_init(id, a);
		return 0;
	}
	if ((state != HCASIM_QPS_RTR && state != HCASIM_QPS_RTS) || cm < CM_REQ_RCVD || cm > CM_ESTABLISHED ||
	    cm == CM_MRA_REQ_RCVD)
		return -EINVAL;
	if (state == HCASIM_QPS_RTR)
		attr_rtr(id, a);
	else
		attr_rts(id, a);
	return 0;
}

int uc_init_qp_attr(struct ucma_call *c)
{
	struct ib_uverbs_qp_attr resp = {0};
	struct rdma_ucm_init_qp_attr cmd;
	struct ucma_id *id;
	int ret;

	if (c->out_len < sizeof(resp))
		return -ENOSPC;
	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	if (cmd.qp_state > HCASIM_QPS_ERR)
		return -EINVAL;
	ret = ucma_find_dev(c, cmd.id, &id);
	if (!ret)
		ret = fill_attr(id, cmd.qp_state, &resp);
	return ret ? ret : ucma_put(c, cmd.response, &resp, sizeof(resp));
}
