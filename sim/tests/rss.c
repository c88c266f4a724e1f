// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive side scaling through the plain verbs API: frames of 32 UDP flows over four work queues. Each frame
 * must arrive in the queue given by the Toeplitz hash, which is computed here bit by bit. A work queue in
 * RESET drops its frames, and one whose CQ overruns raises an event.
 */
#include "link.h"

#include <arpa/inet.h>

#define WQS     4u
#define LOG_WQS 2
#define FLOWS   32u
#define CQES    15 /* fewer than the receives of a work queue */
#define SLOT    256u
#define FRAME   64u
#define SPORT   34 /* offset of the UDP header after Ethernet and IPv4 */
#define KEY_LEN 40

static struct link l;
static struct ibv_cq *send_cq, *cq[WQS];
static struct ibv_qp *sender, *rss;
static struct ibv_wq *wq[WQS];
static uint8_t key[KEY_LEN];
static bool mlx5; /* libmlx5 drives the adapters */

static void move(unsigned int i, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state};

	CHECK(!(errno = ibv_modify_wq(wq[i], &attr)));
}

static void post(unsigned int i, unsigned int n)
{
	struct ibv_sge sge = {(uintptr_t)l.buf[1] + (size_t)i * SLOT, SLOT, l.mr[1]->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	for (; n; n--)
		CHECK(!(errno = ibv_post_wq_recv(wq[i], &wr, &bad)));
}

static void open_wqs(void)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 2 * FLOWS, .max_sge = 1, .pd = l.pd[1]};
	struct ibv_recv_wr wr = {0}, *bad;
	unsigned int i;

	for (i = 0; i < WQS; i++) {
		init.cq = cq[i] = link_create_cq(&l, 1, CQES);
		wq[i] = ibv_create_wq(l.ctx[1], &init);
		CHECK(wq[i]);
		if (!mlx5) /* libmlx5 takes it, and forgets it on the way to RDY */
			CHECK(ibv_post_wq_recv(wq[i], &wr, &bad) == EINVAL);
		move(i, IBV_WQS_RDY);
		post(i, 2 * FLOWS);
	}
	init.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	init.create_flags = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	CHECK(mlx5 || (!ibv_create_wq(l.ctx[1], &init) && errno == EOPNOTSUPP));
}

static struct ibv_qp *open_rss(struct ibv_rwq_ind_table *table, uint64_t fields)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = l.pd[1],
		.rwq_ind_tbl = table,
		.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, KEY_LEN, key, fields},
	};

	return ibv_create_qp_ex(l.ctx[1], &init);
}

static void open_sender(void)
{
	send_cq = link_create_cq(&l, 0, 64);
	sender = link_create_single(&l, 0, IBV_QPT_RAW_PACKET, send_cq, (struct ibv_qp_cap){16, 0, 1, 0, 0},
				    IBV_QPS_RTS);
}

static struct ibv_wc take(struct ibv_cq *from)
{
	struct ibv_wc wc = link_wait(from);

	CHECK(wc.status == IBV_WC_SUCCESS);
	return wc;
}

/* Sends a frame from 192.0.2.1 to 192.0.2.2, to the broadcast MAC. */
static void send_flow(uint16_t sport)
{
	static const uint8_t hdr[FRAME] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0,    0,    0, 1, 8,   0,
					   0x45, 0,    0,    50,   0,    0,    0, 0, 64,   17,   0, 0, 192, 0,
					   2,    1,    192,  0,    2,    2,    0, 0, 0x1f, 0x90, 0, 30};
	struct ibv_sge sge = {(uintptr_t)l.buf[0], FRAME, l.mr[0]->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};

	memcpy(l.buf[0], hdr, sizeof(hdr));
	l.buf[0][SPORT] = (char)(sport >> 8);
	l.buf[0][SPORT + 1] = (char)sport;
	link_post(sender, &wr);
	take(send_cq);
}

/* For each set bit i of the input, XOR the hash with the 32 bits of the key from bit i on. */
static unsigned int expected(uint16_t sport)
{
	const uint8_t data[12] = {192, 0, 2, 1, 192, 0, 2, 2, sport >> 8, sport & 0xff, 0x1f, 0x90};
	uint32_t hash = 0;

	for (unsigned int i = 0; i < 96; i++)
		for (unsigned int b = 0; b < 32 && data[i / 8] >> (7 - i % 8) & 1; b++)
			hash ^= (uint32_t)(key[(i + b) / 8] >> (7 - (i + b) % 8) & 1) << (31 - b);
	return hash & (WQS - 1);
}

static uint16_t flow_to(unsigned int i)
{
	uint16_t sport = 1000;

	while (expected(sport) != i)
		sport++;
	return sport;
}

static void spread(void)
{
	unsigned int seen = 0;

	for (uint16_t sport = 1000; sport < 1000 + FLOWS; sport++) {
		const unsigned int i = expected(sport);
		struct ibv_wc wc;

		send_flow(sport);
		wc = take(cq[i]);
		CHECK(wc.qp_num == (mlx5 ? 0 : wq[i]->wq_num)); /* there it is the tag of the flow */
		CHECK(wc.byte_len == FRAME && wc.wr_id == i);
		CHECK(!memcmp(l.buf[1] + (size_t)i * SLOT, l.buf[0], FRAME));
		seen |= 1u << i;
	}
	CHECK(seen == (1u << WQS) - 1);
}

/* A frame to another work queue, sent later, shows that the earlier frame was dropped. */
static void reset_drops(void)
{
	struct ibv_wc wc;

	move(1, IBV_WQS_RESET);
	send_flow(flow_to(1));
	send_flow(flow_to(2));
	take(cq[2]);
	CHECK(!ibv_poll_cq(cq[1], 1, &wc));
	move(1, IBV_WQS_RDY);
	send_flow(flow_to(1)); /* the queue is empty: dropped */
	send_flow(flow_to(2));
	take(cq[2]);
	CHECK(!ibv_poll_cq(cq[1], 1, &wc));
	post(1, 1);
	send_flow(flow_to(1));
	take(cq[1]);
	post(1, 1);
	move(1, IBV_WQS_ERR);
	wc = link_wait(cq[1]);
	CHECK(wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 1);
}

/* A CQ overrun puts the CQ, and the work queue of the completion, in the error state. libmlx5 grants one entry less. */
static void overrun(void)
{
	bool told[2] = {false, false};

	for (int i = 0; i <= cq[3]->cqe + mlx5; i++)
		send_flow(flow_to(3));
	while (!told[0] || !told[1]) {
		struct ibv_async_event event = link_event(l.ctx[1]);
		bool of_wq = event.event_type == IBV_EVENT_WQ_FATAL;

		CHECK(of_wq || event.event_type == IBV_EVENT_CQ_ERR);
		CHECK(of_wq ? event.element.wq == wq[3] : event.element.cq == cq[3]);
		CHECK(!told[of_wq]);
		told[of_wq] = true;
	}
}

static void close_all(struct ibv_rwq_ind_table *table, struct ibv_flow *flow)
{
	CHECK(ibv_destroy_wq(wq[0]) == EBUSY);
	CHECK(ibv_destroy_rwq_ind_table(table) == EBUSY);
	CHECK(!(errno = ibv_destroy_flow(flow)));
	CHECK(!(errno = ibv_destroy_qp(rss)));
	CHECK(!(errno = ibv_destroy_rwq_ind_table(table)));
	for (unsigned int i = 0; i < WQS; i++) {
		CHECK(!(errno = ibv_destroy_wq(wq[i])));
		CHECK(!(errno = ibv_destroy_cq(cq[i])));
	}
	CHECK(!(errno = ibv_destroy_qp(sender)));
	CHECK(!(errno = ibv_destroy_cq(send_cq)));
}

int main(void)
{
	const uint64_t v4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
	struct ibv_rwq_ind_table_init_attr init = {.log_ind_tbl_size = LOG_WQS, .ind_tbl = wq};
	struct ibv_flow_attr any = {.type = IBV_FLOW_ATTR_ALL_DEFAULT, .size = sizeof(any), .port = 1};
	struct ibv_rwq_ind_table *table;
	struct ibv_device_attr_ex dev;
	struct ibv_flow *flow;

	for (unsigned int i = 0; i < KEY_LEN; i++)
		key[i] = (uint8_t)(i * 37 + 11);
	link_open(&l, 4096);
	mlx5 = !strncmp(ibv_get_device_name(l.ctx[1]->device), "mlx5_", 5);
	CHECK(!(errno = ibv_query_device_ex(l.ctx[1], NULL, &dev)));
	CHECK(dev.rss_caps.supported_qpts == 1u << IBV_QPT_RAW_PACKET && dev.max_wq_type_rq);
	open_wqs();
	table = ibv_create_rwq_ind_table(l.ctx[1], &init);
	CHECK(table);
	CHECK(!open_rss(table, v4 | IBV_RX_HASH_INNER) && errno == EOPNOTSUPP);
	CHECK(!open_rss(table, v4 | IBV_RX_HASH_SRC_IPV6) && errno == EINVAL);
	rss = open_rss(table, v4 | IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP);
	CHECK(rss);
	flow = ibv_create_flow(rss, &any);
	CHECK(flow);
	open_sender();
	spread();
	reset_drops();
	overrun();
	close_all(table, flow);
	link_close(&l);
	return 0;
}
