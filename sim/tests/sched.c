// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Scheduling elements and packet pacing of mlx5dv. test_sched.py checks in the trace when each packet leaves. It knows
 * raw frames by the byte after the Ethernet header, and requests by their destination's number, which is printed.
 */
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include "hcasim_mlx5.h"
#include "link.h"

#define MBIT     12u         /* a millisecond for each frame */
#define NODE     400u        /* Mbit/s of the node whose leaves have shares */
#define MESSAGE  (1u << 20)  /* of each queue with a share: 256 packets */
#define READ_LEN (64u << 10) /* with a limit of its responses */

enum frame { LEAF, LEAF_TOO, UNLIMITED, PACED, NUM_FRAMES };

static struct link l;
static struct ibv_cq *cq;

static struct mlx5dv_sched_attr attr_of(struct mlx5dv_sched_node *parent, uint32_t share, uint32_t rate)
{
	return (struct mlx5dv_sched_attr){
		.parent = parent,
		.flags = (share ? MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE : 0) |
			 (rate ? MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW : 0),
		.bw_share = share,
		.max_avg_bw = rate,
	};
}

static struct mlx5dv_sched_node *node(unsigned int end, struct mlx5dv_sched_node *parent, uint32_t rate)
{
	const struct mlx5dv_sched_attr attr = attr_of(parent, 0, rate);
	struct mlx5dv_sched_node *n = mlx5dv_sched_node_create(l.ctx[end], &attr);

	CHECK(n);
	return n;
}

static struct mlx5dv_sched_leaf *leaf(unsigned int end, struct mlx5dv_sched_node *parent, uint32_t share,
				      uint32_t rate)
{
	const struct mlx5dv_sched_attr attr = attr_of(parent, share, rate);
	struct mlx5dv_sched_leaf *f = mlx5dv_sched_leaf_create(l.ctx[end], &attr);

	CHECK(f);
	return f;
}

/* ---- Raw frames ---- */

static struct ibv_qp *raw_qp(void)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RAW_PACKET,
					.send_cq = cq,
					.recv_cq = cq,
					.cap = {LINK_FRAMES, 1, 1, 1, 0}};
	const struct ibv_qp_attr attr = {.port_num = 1};
	struct ibv_qp *qp = ibv_create_qp(l.pd[0], &init);

	CHECK(qp);
	link_modify(qp, &attr, IBV_QPS_RTS);
	return qp;
}

static void take(int n)
{
	while (n--)
		CHECK(link_wait(cq).status == IBV_WC_SUCCESS);
}

/* The queue with the entry's rate: what a driver of send queues says with MODIFY_SQ. */
static void set_index(struct ibv_qp *qp, uint32_t index)
{
	const struct hcasim_mlx5_cmd_in head = {.opcode = htobe16(HCASIM_MLX5_CMD_MODIFY_SQ)};
	struct hcasim_mlx5_cmd_modify_sq in = {
		.number = htobe32((uint32_t)HCASIM_MLX5_SQ_STATE_RDY << 28 | qp->qp_num),
		.modify_bitmask = htobe64(HCASIM_MLX5_CMD_MODIFY_SQ_SET_RATE_LIMIT_MASK),
		.dw0 = htobe32(HCASIM_MLX5_SQ_STATE_RDY << 20),
		.dw7 = htobe32(index),
	};
	uint8_t out[16];

	memcpy(in.head, &head, sizeof(in.head));
	CHECK(!(errno = mlx5dv_devx_qp_modify(qp, &in, sizeof(in), out, sizeof(out))));
}

static void frames(void)
{
	struct mlx5dv_sched_node *root = node(0, NULL, 0);
	struct mlx5dv_sched_leaf *limited = leaf(0, root, 0, MBIT);
	const __be32 rate = htobe32(MBIT * 1000);
	struct mlx5dv_pp *pp = mlx5dv_pp_alloc(l.ctx[0], sizeof(rate), &rate, 0);
	struct ibv_qp *qp[NUM_FRAMES];

	CHECK(pp);
	for (int i = 0; i < NUM_FRAMES; i++)
		qp[i] = raw_qp();
	CHECK(!(errno = mlx5dv_modify_qp_sched_elem(qp[LEAF], limited, NULL)));
	CHECK(!(errno = mlx5dv_modify_qp_sched_elem(qp[LEAF_TOO], limited, NULL)));
	set_index(qp[PACED], pp->index);
	for (int i = 0; i < NUM_FRAMES; i++)
		link_post_frames(&l, qp[i], i);
	take(NUM_FRAMES);
	CHECK(mlx5dv_sched_leaf_destroy(limited) && mlx5dv_sched_node_destroy(root)); /* in use */
	for (int i = 0; i < NUM_FRAMES; i++)
		CHECK(!(errno = ibv_destroy_qp(qp[i])));
	mlx5dv_pp_free(pp);
	CHECK(!mlx5dv_sched_leaf_destroy(limited) && !mlx5dv_sched_node_destroy(root));
}

/* ---- Requests ---- */

static void write_message(struct ibv_qp *qp)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)l.buf[1], l.mr[1]->rkey}};

	link_post(qp, &wr);
}

static void open_pair(struct ibv_cq *other, struct ibv_qp *qp[2])
{
	qp[0] = link_create_qp(&l, 0, cq, NULL);
	qp[1] = link_create_qp(&l, 1, other, NULL);
	link_connect(&l, qp);
}

/* Two queues of a node with a limit, 1 to 3. Both are posted to while the node's limit is low: then it is raised. */
static void shares(struct ibv_cq *other)
{
	struct mlx5dv_sched_node *root = node(0, NULL, 0), *limited = node(0, root, 1);
	struct mlx5dv_sched_leaf *of[2] = {leaf(0, limited, 1, 0), leaf(0, limited, 3, 0)};
	const struct mlx5dv_sched_attr full = attr_of(root, 0, NODE);
	struct ibv_qp *qp[2][2];

	for (int i = 0; i < 2; i++) {
		open_pair(other, qp[i]);
		CHECK(!(errno = mlx5dv_modify_qp_sched_elem(qp[i][0], of[i], NULL)));
		printf("share %u\n", qp[i][1]->qp_num);
	}
	for (int i = 0; i < 2; i++)
		write_message(qp[i][0]);
	CHECK(!(errno = mlx5dv_sched_node_modify(limited, &full)));
	take(2);
	for (int i = 0; i < 2; i++) {
		CHECK(!(errno = ibv_destroy_qp(qp[i][0])) && !(errno = ibv_destroy_qp(qp[i][1])));
		CHECK(!mlx5dv_sched_leaf_destroy(of[i]));
	}
	CHECK(!mlx5dv_sched_node_destroy(limited) && !mlx5dv_sched_node_destroy(root));
}

/* What the other end answers with. It is left as it is: the driver removes what a program leaves. */
static void responses(struct ibv_cq *other)
{
	struct ibv_sge sge = link_sge(&l, 0, READ_LEN);
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_READ,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)l.buf[1], l.mr[1]->rkey}};
	struct mlx5dv_sched_leaf *limited = leaf(1, node(1, NULL, 0), 0, NODE);
	struct ibv_qp *qp[2];

	open_pair(other, qp);
	CHECK(!(errno = mlx5dv_modify_qp_sched_elem(qp[1], NULL, limited)));
	printf("read %u\n", qp[0]->qp_num);
	link_post(qp[0], &wr);
	take(1);
}

int main(void)
{
	struct ibv_cq *other;

	link_open(&l, MESSAGE);
	cq = link_create_cq(&l, 0, 2 * LINK_FRAMES);
	other = link_create_cq(&l, 1, 2 * LINK_FRAMES);
	frames();
	shares(other);
	responses(other);
	printf("scheduling elements: ok\n");
	return 0;
}
