// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rate limits of RAW_PACKET QPs. When each frame leaves is judged from the trace by test_pacing.py, which knows a
 * frame's step by the byte behind its Ethernet header.
 */
#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FRAMES 40
#define SIZE   1500u
#define RATE   12000u /* kbit/s: a millisecond for each frame */
#define WAIT_S 20

enum step { LIMITED, UNLIMITED_BESIDE, FASTER, REMOVED, BURSTS };

static struct link l;

static void expect(int want, int got, const char *what)
{
	if (got == want)
		return;
	fprintf(stderr, "%s: %s, not %s\n", what, strerror(got), strerror(want));
	errno = EPROTO;
	die(what);
}

static void caps(struct ibv_packet_pacing_caps *c)
{
	struct ibv_device_attr_ex attr;

	expect(0, ibv_query_device_ex(l.ctx[0], NULL, &attr), "ibv_query_device_ex");
	*c = attr.packet_pacing_caps;
	expect(0, c->supported_qpts == 1u << IBV_QPT_RAW_PACKET ? 0 : EINVAL, "supported_qpts");
	expect(0, c->qp_rate_limit_min && c->qp_rate_limit_min < c->qp_rate_limit_max ? 0 : EINVAL,
	       "rate limits");
}

static struct ibv_qp *raw_qp(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = cq, .recv_cq = cq, .cap = {FRAMES, 1, 1, 1, 0}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .rate_limit = RATE};
	struct ibv_qp *qp = ibv_create_qp(l.pd[0], &init);

	if (!qp)
		die("ibv_create_qp");
	expect(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), "to INIT");
	attr.qp_state = IBV_QPS_RTR;
	expect(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT),
	       "to RTR with a rate limit");
	expect(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE), "to RTR");
	attr.qp_state = IBV_QPS_RTS;
	return qp;
}

static void to_rts(struct ibv_qp *qp, uint32_t rate)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .rate_limit = rate};

	expect(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | (rate ? IBV_QP_RATE_LIMIT : 0)), "to RTS");
}

static void limit(struct ibv_qp *qp, uint32_t rate, uint32_t burst, uint16_t packet, int want)
{
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = rate, .max_burst_sz = burst, .typical_pkt_sz = packet};

	expect(want, ibv_modify_qp_rate_limit(qp, &attr), "ibv_modify_qp_rate_limit");
}

/* All frames of a step, with one doorbell. */
static void post(struct ibv_qp *qp, enum step step)
{
	uint8_t *frame = (uint8_t *)l.buf[0] + step * SIZE;
	struct ibv_sge sge = {(uintptr_t)frame, SIZE, l.mr[0]->lkey};
	struct ibv_send_wr wr[FRAMES], *bad;

	memcpy(frame, (uint8_t[]){2, 0, 0, 0, 0, 99, 2, 0, 0, 0, 0, 98, 0x88, 0xb5, (uint8_t)step}, 15);
	for (int i = 0; i < FRAMES; i++)
		wr[i] = (struct ibv_send_wr){.next = i + 1 < FRAMES ? &wr[i + 1] : NULL,
					     .sg_list = &sge,
					     .num_sge = 1,
					     .opcode = IBV_WR_SEND,
					     .send_flags = i + 1 < FRAMES ? 0 : IBV_SEND_SIGNALED};
	expect(0, ibv_post_send(qp, wr, &bad), "ibv_post_send");
}

static void take(struct ibv_cq *cq, int n)
{
	time_t end = time(NULL) + WAIT_S;
	uint64_t id;

	while (n && time(NULL) < end)
		n -= link_poll(cq, &id);
	expect(0, n ? ETIMEDOUT : 0, "completions");
}

static void refused(struct ibv_qp *raw, struct ibv_cq *cq)
{
	struct ibv_qp_rate_limit_attr unknown = {.rate_limit = RATE, .comp_mask = 1};
	struct ibv_qp *rc = link_create_qp(&l, 0, cq, NULL);
	struct ibv_packet_pacing_caps c;

	caps(&c);
	limit(raw, c.qp_rate_limit_min - 1, 0, 0, EINVAL);
	limit(raw, c.qp_rate_limit_max + 1, 0, 0, EINVAL);
	limit(raw, RATE, UINT32_MAX, 0, EINVAL);
	limit(raw, 0, SIZE, 0, EINVAL);
	limit(rc, RATE, 0, 0, EINVAL);
	expect(EOPNOTSUPP, ibv_modify_qp_rate_limit(raw, &unknown), "comp_mask");
	expect(0, ibv_destroy_qp(rc), "ibv_destroy_qp");
}

int main(void)
{
	struct ibv_qp *limited, *beside;
	struct ibv_cq *cq;

	link_open(&l, (BURSTS + 1) * SIZE);
	cq = link_create_cq(&l, 0, 2 * FRAMES);
	limited = raw_qp(cq);
	beside = raw_qp(cq);
	to_rts(limited, RATE);
	to_rts(beside, 0);
	post(limited, LIMITED);
	post(beside, UNLIMITED_BESIDE);
	take(cq, 2);
	limit(limited, 4 * RATE, 0, 0, 0);
	post(limited, FASTER);
	take(cq, 1);
	limit(limited, 0, 0, 0, 0);
	post(limited, REMOVED);
	take(cq, 1);
	limit(limited, RATE, 10 * SIZE, SIZE, 0);
	refused(limited, cq); /* and leaves the limit as it was */
	post(limited, BURSTS);
	take(cq, 1);
	expect(0, ibv_destroy_qp(limited), "ibv_destroy_qp");
	expect(0, ibv_destroy_qp(beside), "ibv_destroy_qp");
	expect(0, ibv_destroy_cq(cq), "ibv_destroy_cq");
	link_close(&l);
	printf("rate limits: ok\n");
	return 0;
}
