/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

void die(const char *what)
{
	fprintf(stderr, "hcasim-bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_end(struct link *l, int end, struct ibv_device *device, uint32_t cqes)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	l->ctx[end] = ibv_open_device(device);
	if (!l->ctx[end])
		die("ibv_open_device");
	l->pd[end] = ibv_alloc_pd(l->ctx[end]);
	if (!l->pd[end])
		die("ibv_alloc_pd");
	l->cq[end] = ibv_create_cq(l->ctx[end], cqes, NULL, NULL, 0);
	if (!l->cq[end])
		die("ibv_create_cq");
	l->buf[end] = aligned_alloc(4096, BUF_SIZE);
	if (!l->buf[end])
		die("aligned_alloc");
	memset(l->buf[end], 'a' + end, BUF_SIZE);
	l->mr[end] = ibv_reg_mr(l->pd[end], l->buf[end], BUF_SIZE, access);
	if (!l->mr[end])
		die("ibv_reg_mr");
}

void link_open(struct link *l, uint32_t cqes)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		die("no device: start this with `hcasim run`");
	open_end(l, 0, list[0], cqes);
	open_end(l, 1, list[1] ? list[1] : list[0], cqes);
	ibv_free_device_list(list);
}

static struct ibv_qp *create_qp(struct link *l, int end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = l->cq[end],
		.recv_cq = l->cq[end],
		.cap = {.max_send_wr = SQ_DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	struct ibv_qp *qp = ibv_create_qp(l->pd[end], &init);

	if (!qp)
		die("ibv_create_qp");
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("ibv_modify_qp to INIT");
	return qp;
}

/* The last entry that is a RoCE v2 address: the IPv4 one where there are both. */
static int gid_index(struct ibv_context *ctx)
{
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	int found = -1;

	if (ibv_query_port(ctx, 1, &port))
		die("ibv_query_port");
	for (int i = 0; i < port.gid_tbl_len; i++)
		if (!ibv_query_gid_ex(ctx, 1, i, &entry, 0) && entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			found = i;
	if (found < 0)
		die("no RoCE v2 GID");
	return found;
}

static void to_rts(struct link *l, struct ibv_qp *qp, int end, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = dest_qpn,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64},
	};
	int index = gid_index(l->ctx[!end]);

	attr.ah_attr.grh.sgid_index = gid_index(l->ctx[end]);
	if (ibv_query_gid(l->ctx[!end], 1, index, &attr.ah_attr.grh.dgid))
		die("ibv_query_gid");
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("ibv_modify_qp to RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 16,
	};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("ibv_modify_qp to RTS");
}

void link_connect(struct link *l, struct ibv_qp *qp[2])
{
	for (int end = 0; end < 2; end++)
		qp[end] = create_qp(l, end);
	for (int end = 0; end < 2; end++)
		to_rts(l, qp[end], end, qp[!end]->qp_num);
}

static uint64_t number(const char *name, const char *text, uint64_t max)
{
	char *rest;
	uint64_t value = strtoull(text, &rest, 10);

	if (!*text || *rest || !value || value > max) {
		fprintf(stderr, "hcasim-bench: %s is '%s': give 1..%llu\n", name, text,
			(unsigned long long)max);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "primitives") && argc == 2) {
		bench_primitives();
	} else if (!strcmp(what, "qps") && argc == 3) {
		bench_qps(number("COUNT", argv[2], 4096));
	} else if ((!strcmp(what, "write") || !strcmp(what, "read")) && argc == 5) {
		bench_post(*what == 'w' ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			   number("SIZE", argv[2], BUF_SIZE), number("BATCH", argv[3], SQ_DEPTH),
			   number("WQES", argv[4], 1000000000));
	} else {
		fprintf(stderr, "usage: hcasim-bench write|read SIZE BATCH WQES\n"
				"       hcasim-bench qps COUNT\n"
				"       hcasim-bench primitives\n");
		return 2;
	}
	return 0;
}
