// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* VLAN tags of frames that a raw QP, or a work queue, receives: they stay, or they are in the completions. */
#include <time.h>

#include "link.h"

#define TCI    0x6123
#define FRAME  64 /* bytes with the tag */
#define TAG    12 /* its offset */
#define TAGLEN 4
#define SLOT   1024

static struct link l;
static struct ibv_cq *send_cq;
static struct ibv_cq_ex *cq;
static struct ibv_qp *sender;

static struct ibv_qp *open_qp(int end, struct ibv_cq *to, uint32_t flags)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = {16, 16, 1, 1, 0},
		.sq_sig_all = 1,
		.send_cq = to,
		.recv_cq = to,
		.comp_mask = IBV_QP_INIT_ATTR_PD | (flags ? IBV_QP_INIT_ATTR_CREATE_FLAGS : 0),
		.pd = l.pd[end],
		.create_flags = flags,
	};
	const struct ibv_qp_attr attr = {.port_num = 1};
	struct ibv_qp *qp = ibv_create_qp_ex(l.ctx[end], &init);

	CHECK(qp);
	link_modify(qp, &attr, IBV_QPS_RTS);
	return qp;
}

static struct ibv_flow *steer(struct ibv_qp *qp)
{
	struct ibv_flow_attr any = {.type = IBV_FLOW_ATTR_ALL_DEFAULT, .size = sizeof(any), .port = 1};
	struct ibv_flow *flow = ibv_create_flow(qp, &any);

	CHECK(flow);
	return flow;
}

/* Broadcast, with a tag and a type of its own. */
static void send_frame(void)
{
	static const uint8_t tag[] = {0x81, 0, TCI >> 8, TCI & 0xff, 0x88, 0xb5};
	struct ibv_sge sge = {(uintptr_t)l.buf[0], FRAME, l.mr[0]->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	uint8_t *p = (uint8_t *)l.buf[0];

	memset(p, 0xff, 6);
	memset(p + 6, 2, 6);
	for (int i = TAG; i < FRAME; i++)
		p[i] = (uint8_t)i;
	memcpy(p + TAG, tag, sizeof(tag));
	link_post(sender, &wr);
	CHECK(link_wait(send_cq).status == IBV_WC_SUCCESS);
}

/* The next completion has this tag (0: none), and the frame's memory not, if `stripped`. */
static void expect(uint16_t vlan, bool stripped)
{
	const uint32_t gone = stripped ? TAGLEN : 0;
	struct ibv_poll_cq_attr attr = {0};
	time_t end = time(NULL) + LINK_WAIT_S;
	int ret;

	while ((ret = ibv_start_poll(cq, &attr)) == ENOENT)
		CHECK(time(NULL) < end);
	CHECK(!ret && cq->status == IBV_WC_SUCCESS);
	CHECK(ibv_wc_read_byte_len(cq) == FRAME - gone);
	CHECK(ibv_wc_read_cvlan(cq) == vlan);
	ibv_end_poll(cq);
	CHECK(!memcmp(l.buf[1], l.buf[0], TAG));
	CHECK(!memcmp(l.buf[1] + TAG, l.buf[0] + TAG + gone, FRAME - TAG - gone));
}

static struct ibv_recv_wr receive(struct ibv_sge *sge)
{
	*sge = (struct ibv_sge){(uintptr_t)l.buf[1], SLOT, l.mr[1]->lkey};
	return (struct ibv_recv_wr){.sg_list = sge, .num_sge = 1};
}

static void of_qp(bool strip)
{
	struct ibv_qp *qp = open_qp(1, ibv_cq_ex_to_cq(cq), strip ? IBV_QP_CREATE_CVLAN_STRIPPING : 0);
	struct ibv_flow *flow = steer(qp);
	struct ibv_sge sge;
	struct ibv_recv_wr wr = receive(&sge), *bad;

	CHECK(!(errno = ibv_post_recv(qp, &wr, &bad)));
	send_frame();
	expect(strip ? TCI : 0, strip);
	CHECK(!(errno = ibv_destroy_flow(flow)));
	CHECK(!(errno = ibv_destroy_qp(qp)));
}

static void set_flags(struct ibv_wq *wq, uint32_t flags, uint32_t mask, int expected)
{
	struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_FLAGS, .flags = flags, .flags_mask = mask};

	CHECK((errno = ibv_modify_wq(wq, &attr)) == expected);
}

static void frame_to(struct ibv_wq *wq, bool strip)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = receive(&sge), *bad;

	CHECK(!(errno = ibv_post_wq_recv(wq, &wr, &bad)));
	send_frame();
	expect(strip ? TCI : 0, strip);
}

static void of_wq(void)
{
	const uint32_t strip = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ,
					.max_wr = 16,
					.max_sge = 1,
					.pd = l.pd[1],
					.cq = ibv_cq_ex_to_cq(cq),
					.comp_mask = IBV_WQ_INIT_ATTR_FLAGS,
					.create_flags = strip};
	struct ibv_wq_attr ready = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
	struct ibv_wq *wq = ibv_create_wq(l.ctx[1], &init);
	struct ibv_rwq_ind_table_init_attr one = {.ind_tbl = &wq};
	uint8_t key[40] = {0};
	struct ibv_qp_init_attr_ex rss = {.qp_type = IBV_QPT_RAW_PACKET,
					  .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
						       IBV_QP_INIT_ATTR_RX_HASH,
					  .pd = l.pd[1],
					  .rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(key), key, 0}};
	struct ibv_flow *flow;
	struct ibv_qp *qp;

	CHECK(wq && !(errno = ibv_modify_wq(wq, &ready)));
	CHECK((rss.rwq_ind_tbl = ibv_create_rwq_ind_table(l.ctx[1], &one)));
	CHECK((qp = ibv_create_qp_ex(l.ctx[1], &rss)));
	flow = steer(qp);
	frame_to(wq, true);
	set_flags(wq, strip, 0, 0); /* it is not in the mask */
	frame_to(wq, true);
	set_flags(wq, 0, strip, 0);
	frame_to(wq, false);
	set_flags(wq, IBV_WQ_FLAGS_SCATTER_FCS | strip, IBV_WQ_FLAGS_SCATTER_FCS | strip, EOPNOTSUPP);
	frame_to(wq, false);
	set_flags(wq, strip, strip, 0);
	frame_to(wq, true);
	CHECK(!(errno = ibv_destroy_flow(flow)) && !(errno = ibv_destroy_qp(qp)));
	CHECK(!(errno = ibv_destroy_rwq_ind_table(rss.rwq_ind_tbl)) && !(errno = ibv_destroy_wq(wq)));
}

int main(void)
{
	struct ibv_cq_init_attr_ex init = {.cqe = 64,
					   .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_CVLAN};
	struct ibv_device_attr_ex dev;

	link_open(&l, SLOT);
	CHECK(!(errno = ibv_query_device_ex(l.ctx[1], NULL, &dev)));
	CHECK(dev.raw_packet_caps & IBV_RAW_PACKET_CAP_CVLAN_STRIPPING);
	CHECK((cq = ibv_create_cq_ex(l.ctx[1], &init)));
	send_cq = link_create_cq(&l, 0, 64);
	sender = open_qp(0, send_cq, 0);
	of_qp(false);
	of_qp(true);
	of_wq();
	CHECK(!(errno = ibv_destroy_qp(sender)) && !(errno = ibv_destroy_cq(send_cq)));
	CHECK(!(errno = ibv_destroy_cq(ibv_cq_ex_to_cq(cq))));
	link_close(&l);
	return 0;
}
