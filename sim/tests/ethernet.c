// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Raw frames as DPDK sends and receives them on mlx5: the program builds the WQEs itself, with the first headers in the
 * Ethernet segment, and reads the CQEs itself. UDP over IPv4 goes to a work queue by a hash, the rest to a raw QP.
 */
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include "hcasim_mlx5.h"
#include "link.h"

#define KEY_LEN       40
#define SLOT          256u
#define RECVS         16u
#define L3            14u
#define V4            20u
#define V6            40u
#define DATA          60u
#define CSUM_L3       0x40
#define CSUM_L4       0x80
#define ACK           0x10
#define TYPES(l3, l4) ((l3) << 2 | (l4) << 4) /* of l4_hdr_type_etc */

static struct link l;

/* ---- The sender ---- */

static struct {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct mlx5dv_qp dv;
	uint16_t pi;
} sender;

static void open_sender(void)
{
	struct mlx5dv_obj obj = {.qp.out = &sender.dv};

	sender.cq = link_create_cq(&l, 0, 64);
	sender.qp = link_create_single(&l, 0, IBV_QPT_RAW_PACKET, sender.cq,
				       (struct ibv_qp_cap){16, 1, 4, 1, 0}, IBV_QPS_RTS);
	obj.qp.in = sender.qp;
	CHECK(!(errno = mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP)));
	CHECK(sender.dv.sq.stride == HCASIM_MLX5_WQEBB_SIZE);
}

/* `inside` bytes of the frame are in the Ethernet segment; the rest, if any, is in the sender's buffer. */
static uint32_t build(uint8_t *wqe, const uint8_t *frame, uint32_t len, uint32_t inside, uint8_t cs_flags)
{
	const struct hcasim_mlx5_seg_eth eth = {.cs_flags = cs_flags,
						.inline_hdr_sz = htobe16((uint16_t)inside)};
	const uint32_t more = (inside - 2 + 15) & ~15u;
	struct hcasim_mlx5_wqe_ctrl ctrl = {
		.opmod_idx_opcode = htobe32((uint32_t)sender.pi << 8 | HCASIM_MLX5_OPCODE_SEND),
		.fm_ce_se = HCASIM_MLX5_CE_ALWAYS << 2};
	const struct hcasim_mlx5_seg_data data = {htobe32(len - inside), htobe32(l.mr[0]->lkey),
						  htobe64((uintptr_t)l.buf[0] + inside)};
	const uint32_t size = sizeof(ctrl) + sizeof(eth) + more + (len > inside ? sizeof(data) : 0);

	ctrl.qpn_ds = htobe32(sender.qp->qp_num << 8 | size / 16);
	memcpy(wqe, &ctrl, sizeof(ctrl));
	memcpy(wqe + sizeof(ctrl), &eth, sizeof(eth));
	memcpy(wqe + sizeof(ctrl) + sizeof(eth) - 2, frame, inside);
	if (len > inside)
		memcpy(wqe + size - sizeof(data), &data, sizeof(data));
	memcpy(l.buf[0] + inside, frame + inside, len - inside);
	return size;
}

static void send_frame(const uint8_t *frame, uint32_t len, uint32_t inside, uint8_t cs_flags)
{
	const uint32_t stride = sender.dv.sq.stride, blocks = sender.dv.sq.wqe_cnt;
	uint8_t wqe[512] = {0}, *ring = sender.dv.sq.buf;
	const uint32_t used = (build(wqe, frame, len, inside, cs_flags) + stride - 1) / stride;
	uint64_t first;

	for (uint32_t i = 0; i < used; i++)
		memcpy(ring + (size_t)((sender.pi + i) % blocks) * stride, wqe + (size_t)i * stride, stride);
	sender.pi = (uint16_t)(sender.pi + used);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile __be32 *)&sender.dv.dbrec[MLX5_SND_DBR] = htobe32(sender.pi);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(&first, wqe, sizeof(first));
	*(volatile uint64_t *)sender.dv.bf.reg = first;
	CHECK(link_wait(sender.cq).status == IBV_WC_SUCCESS);
}

/* ---- The receivers ---- */

struct receiver {
	struct ibv_cq *cq;
	struct mlx5dv_cq dv;
	uint32_t ci;
	char *buf;
};

static struct receiver hashed, other;

static void open_receiver(struct receiver *r, size_t at)
{
	struct mlx5dv_obj obj = {.cq.out = &r->dv};

	r->cq = obj.cq.in = link_create_cq(&l, 1, 2 * RECVS);
	CHECK(!(errno = mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ)));
	CHECK(r->dv.cqe_size == sizeof(struct hcasim_mlx5_cqe));
	r->buf = l.buf[1] + at;
}

/* The next CQE. Receives have one buffer, which the caller compares before the next frame is sent. */
static struct hcasim_mlx5_cqe next_cqe(struct receiver *r)
{
	const uint32_t at = r->ci & (r->dv.cqe_cnt - 1);
	volatile struct hcasim_mlx5_cqe *slot = (struct hcasim_mlx5_cqe *)r->dv.buf + at;
	struct hcasim_mlx5_cqe cqe;
	uint8_t own;

	do {
		own = slot->op_own;
	} while (own >> 4 == HCASIM_MLX5_CQE_OPCODE_INVALID || (own & 1) != !!(r->ci & r->dv.cqe_cnt));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(&cqe, (void *)slot, sizeof(cqe));
	*(volatile __be32 *)&r->dv.dbrec[0] = htobe32(++r->ci & 0xffffff);
	CHECK(cqe.op_own >> 4 == HCASIM_MLX5_CQE_OPCODE_RESP_SEND);
	CHECK(!be32toh(cqe.sop_drop_qpn)); /* no flow has tagged it */
	return cqe;
}

static struct ibv_wq *open_wq(void)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = RECVS, .max_sge = 1, .pd = l.pd[1], .cq = hashed.cq};
	struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
	struct ibv_sge sge = {(uintptr_t)hashed.buf, SLOT, l.mr[1]->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_wq *wq = ibv_create_wq(l.ctx[1], &init);

	CHECK(wq);
	CHECK(!(errno = ibv_modify_wq(wq, &attr)));
	for (unsigned int i = 0; i < RECVS; i++)
		CHECK(!(errno = ibv_post_wq_recv(wq, &wr, &bad)));
	return wq;
}

static struct ibv_qp *open_rss(struct ibv_wq *wq, uint8_t *key, struct ibv_rwq_ind_table **table)
{
	struct ibv_rwq_ind_table_init_attr init = {.ind_tbl = &wq};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = l.pd[1],
		.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, KEY_LEN, key,
				 IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_PORT_UDP |
					 IBV_RX_HASH_DST_PORT_UDP},
	};
	struct ibv_qp *qp;

	*table = attr.rwq_ind_tbl = ibv_create_rwq_ind_table(l.ctx[1], &init);
	CHECK(*table);
	qp = ibv_create_qp_ex(l.ctx[1], &attr);
	CHECK(qp);
	return qp;
}

static struct ibv_flow *flow_of_udp(struct ibv_qp *qp)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_ipv4 ip;
		struct ibv_flow_spec_tcp_udp udp;
	} f = {.attr = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(f), .num_of_specs = 2, .port = 1},
	       .ip = {.type = IBV_FLOW_SPEC_IPV4, .size = sizeof(f.ip)},
	       .udp = {.type = IBV_FLOW_SPEC_UDP, .size = sizeof(f.udp)}};
	struct ibv_flow *flow = ibv_create_flow(qp, &f.attr);

	CHECK(flow);
	return flow;
}

static struct ibv_flow *flow_of_rest(struct ibv_qp *qp)
{
	struct ibv_flow_attr any = {.type = IBV_FLOW_ATTR_ALL_DEFAULT, .size = sizeof(any), .port = 1};
	struct ibv_flow *flow = ibv_create_flow(qp, &any);

	CHECK(flow);
	for (unsigned int i = 0; i < RECVS; i++)
		link_post_recv(qp, (struct ibv_sge){(uintptr_t)other.buf, SLOT, l.mr[1]->lkey});
	return flow;
}

/* ---- Frames ---- */

/* UDP over IPv4 from 192.0.2.1 to 192.0.2.2, broadcast, without checksums. */
static uint32_t udp_frame(uint8_t *p)
{
	static const uint8_t headers[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0, 0,   0, 0,
					  1,    8,    0,    0x45, 0,    0,    88, 0, 0,   0, 0,
					  64,   17,   0,    0,    192,  0,    2,  1, 192, 0, 2,
					  2,    0x1f, 0x40, 0x1f, 0x90, 0,    68, 0, 0};

	memcpy(p, headers, sizeof(headers));
	for (uint32_t i = 0; i < DATA; i++)
		p[sizeof(headers) + i] = (uint8_t)(i * 7 + 1);
	return sizeof(headers) + DATA;
}

/* TCP over IPv6 from fd::1 to fd::2, broadcast, an ACK without a checksum and with or without data. */
static uint32_t tcp_frame(uint8_t *p, uint32_t data)
{
	uint8_t *ip = p + L3, *tcp = ip + V6;

	memset(p, 0, L3 + V6 + 20 + data);
	memset(p, 0xff, 6);
	p[6] = 2;
	p[12] = 0x86;
	p[13] = 0xdd;
	ip[0] = 0x60;
	ip[5] = (uint8_t)(20 + data);
	ip[6] = 6;
	ip[8] = ip[24] = 0xfd;
	ip[23] = 1;
	ip[39] = 2;
	tcp[0] = tcp[2] = 0x1f;
	tcp[12] = 0x50;
	tcp[13] = ACK;
	for (uint32_t i = 0; i < data; i++)
		tcp[20 + i] = (uint8_t)(i * 7 + 1);
	return L3 + V6 + 20 + data;
}

/* For each set bit i of the input, XOR the hash with the 32 bits of the key from bit i on. */
static uint32_t toeplitz(const uint8_t *key, const uint8_t *data, uint32_t len)
{
	uint32_t hash = 0;

	for (uint32_t i = 0; i < 8 * len; i++)
		for (uint32_t b = 0; b < 32 && data[i / 8] >> (7 - i % 8) & 1; b++)
			hash ^= (uint32_t)(key[(i + b) / 8] >> (7 - (i + b) % 8) & 1) << (31 - b);
	return hash;
}

static void check_frame(const char *got, uint8_t *want, uint32_t len, uint32_t l3_sum, uint32_t l4_sum,
			uint8_t cs_flags)
{
	/* Checksums that were asked for are there; the CQE says whether they are right. */
	if (l3_sum && cs_flags & CSUM_L3) {
		CHECK(got[l3_sum] | got[l3_sum + 1]);
		memcpy(want + l3_sum, got + l3_sum, 2);
	}
	if (cs_flags & CSUM_L4) {
		CHECK(got[l4_sum] | got[l4_sum + 1]);
		memcpy(want + l4_sum, got + l4_sum, 2);
	}
	CHECK(!memcmp(got, want, len));
}

static void udp(const uint8_t *key, uint32_t inside, uint8_t cs_flags)
{
	const uint8_t ok = 1 | (cs_flags & CSUM_L3 ? 2 : 0) | (cs_flags & CSUM_L4 ? 4 : 0);
	uint8_t frame[SLOT];
	const uint32_t len = udp_frame(frame);
	struct hcasim_mlx5_cqe cqe;

	send_frame(frame, len, inside, cs_flags);
	cqe = next_cqe(&hashed);
	CHECK(be32toh(cqe.byte_cnt) == len);
	CHECK(cqe.hds_ip_ext == ok);
	CHECK(cqe.l4_hdr_type_etc == TYPES(HCASIM_MLX5_L3_HDR_IPV4, HCASIM_MLX5_L4_HDR_UDP));
	CHECK(be32toh(cqe.rx_hash_result) == toeplitz(key, frame + L3 + 12, 12));
	CHECK(cqe.rx_hash_type == 0xa5); /* source and destination: IPv4, UDP */
	check_frame(hashed.buf, frame, len, L3 + 10, L3 + V4 + 6, cs_flags);
}

static void tcp(uint32_t inside, uint32_t data, uint8_t cs_flags)
{
	const uint8_t l4 = data ? HCASIM_MLX5_L4_HDR_TCP_ACK_DATA : HCASIM_MLX5_L4_HDR_TCP_ACK;
	const uint8_t ok = 1 | 2 | (cs_flags & CSUM_L4 ? 4 : 0);
	uint8_t frame[SLOT];
	const uint32_t len = tcp_frame(frame, data);
	struct hcasim_mlx5_cqe cqe;

	send_frame(frame, len, inside ? inside : len, cs_flags);
	cqe = next_cqe(&other);
	CHECK(be32toh(cqe.byte_cnt) == len);
	CHECK(cqe.hds_ip_ext == ok);
	CHECK(cqe.l4_hdr_type_etc == TYPES(HCASIM_MLX5_L3_HDR_IPV6, l4));
	CHECK(!cqe.rx_hash_result && !cqe.rx_hash_type);
	check_frame(other.buf, frame, len, 0, L3 + V6 + 16, cs_flags);
}

static void frames(const uint8_t *key)
{
	static const uint32_t inside[] = {2, 14, 18, 34, 60};

	for (unsigned int i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		udp(key, inside[i], CSUM_L3 | CSUM_L4);
	udp(key, 18, 0);
	udp(key, 18, CSUM_L3);
	udp(key, 18, CSUM_L4);
	tcp(18, 0, 0);
	tcp(18, DATA, CSUM_L4);
	tcp(18, DATA, CSUM_L3);          /* IPv6 has none */
	tcp(0, DATA, CSUM_L3 | CSUM_L4); /* all of the frame is in the segment */
}

int main(void)
{
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *rss, *rest;
	struct ibv_flow *flow[2];
	uint8_t key[KEY_LEN];
	struct ibv_wq *wq;

	for (unsigned int i = 0; i < KEY_LEN; i++)
		key[i] = (uint8_t)(i * 37 + 11);
	link_open(&l, 4096);
	open_sender();
	open_receiver(&hashed, 0);
	open_receiver(&other, SLOT);
	wq = open_wq();
	rss = open_rss(wq, key, &table);
	rest = link_create_single(&l, 1, IBV_QPT_RAW_PACKET, other.cq, (struct ibv_qp_cap){1, RECVS, 1, 1, 0},
				  IBV_QPS_RTR);
	flow[0] = flow_of_udp(rss);
	flow[1] = flow_of_rest(rest);
	frames(key);
	CHECK(!(errno = ibv_destroy_flow(flow[0])) && !(errno = ibv_destroy_flow(flow[1])));
	CHECK(!(errno = ibv_destroy_qp(rss)) && !(errno = ibv_destroy_qp(rest)));
	CHECK(!(errno = ibv_destroy_rwq_ind_table(table)) && !(errno = ibv_destroy_wq(wq)));
	CHECK(!(errno = ibv_destroy_cq(hashed.cq)) && !(errno = ibv_destroy_cq(other.cq)));
	CHECK(!(errno = ibv_destroy_qp(sender.qp)) && !(errno = ibv_destroy_cq(sender.cq)));
	link_close(&l);
	return 0;
}
