/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INLINE 64

void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static void open_end(struct link *l, int end, struct ibv_device *device)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	l->ctx[end] = ibv_open_device(device);
	if (!l->ctx[end])
		die("ibv_open_device");
	l->pd[end] = ibv_alloc_pd(l->ctx[end]);
	if (!l->pd[end])
		die("ibv_alloc_pd");
	l->buf[end] = aligned_alloc(4096, (l->size + 4095) / 4096 * 4096);
	if (!l->buf[end])
		die("aligned_alloc");
	memset(l->buf[end], 0, l->size);
	l->mr[end] = ibv_reg_mr(l->pd[end], l->buf[end], l->size, access);
	if (!l->mr[end])
		die("ibv_reg_mr");
}

void link_open(struct link *l, size_t size)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0]) {
		errno = ENODEV;
		die("ibv_get_device_list (start this with `hcasim run`)");
	}
	l->size = size;
	open_end(l, 0, list[0]);
	open_end(l, 1, list[1] ? list[1] : list[0]);
	ibv_free_device_list(list);
}

void link_close(struct link *l)
{
	for (int end = 0; end < 2; end++) {
		errno = ibv_dereg_mr(l->mr[end]);
		if (errno)
			die("ibv_dereg_mr");
		errno = ibv_dealloc_pd(l->pd[end]);
		if (errno)
			die("ibv_dealloc_pd");
		if (ibv_close_device(l->ctx[end]))
			die("ibv_close_device");
		free(l->buf[end]);
	}
}

struct ibv_cq *link_create_cq(struct link *l, int end, int cqes)
{
	struct ibv_cq *cq = ibv_create_cq(l->ctx[end], cqes, NULL, NULL, 0);

	if (!cq)
		die("ibv_create_cq");
	return cq;
}

bool link_poll(struct ibv_cq *cq, uint64_t *wr_id)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(cq, 1, &wc);

	if (n < 0)
		die("ibv_poll_cq");
	if (n && wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "%s: completion of WR %llu with '%s'\n", program_invocation_short_name,
			(unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
		exit(1);
	}
	if (n)
		*wr_id = wc.wr_id;
	return n;
}

struct ibv_qp *link_create_qp(struct link *l, int end, struct ibv_cq *cq, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {LINK_SQ_DEPTH, 1, LINK_SGES, 1, INLINE},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd ? pd : l->pd[end],
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(l->ctx[end], &init);

	if (!qp)
		die("ibv_create_qp_ex");
	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (errno)
		die("ibv_modify_qp to INIT");
	return qp;
}

/* The last RoCE v2 entry: the IPv4 one where there are both. */
static int gid_index(struct ibv_context *ctx)
{
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	int found = -1;

	errno = ibv_query_port(ctx, 1, &port);
	if (errno)
		die("ibv_query_port");
	for (int i = 0; i < port.gid_tbl_len; i++)
		if (!ibv_query_gid_ex(ctx, 1, i, &entry, 0) && entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			found = i;
	if (found < 0)
		die("no RoCE v2 GID");
	return found;
}

struct ibv_ah_attr link_path(struct link *l, int end)
{
	struct ibv_ah_attr path = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64};

	path.grh.sgid_index = gid_index(l->ctx[end]);
	if (ibv_query_gid(l->ctx[!end], 1, gid_index(l->ctx[!end]), &path.grh.dgid))
		die("ibv_query_gid");
	return path;
}

static void to_rtr(struct link *l, struct ibv_qp *qp, int end, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = dest_qpn,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 12,
		.ah_attr = link_path(l, end),
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	errno = ibv_modify_qp(qp, &attr, mask);
	if (errno)
		die("ibv_modify_qp to RTR");
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 16,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	errno = ibv_modify_qp(qp, &attr, mask);
	if (errno)
		die("ibv_modify_qp to RTS");
}

void link_connect_end(struct link *l, struct ibv_qp *qp, int end, uint32_t dest_qpn)
{
	to_rtr(l, qp, end, dest_qpn);
	to_rts(qp);
}

void link_connect(struct link *l, struct ibv_qp *qp[2])
{
	for (int end = 0; end < 2; end++)
		to_rtr(l, qp[end], end, qp[!end]->qp_num);
	for (int end = 0; end < 2; end++)
		to_rts(qp[end]);
}
