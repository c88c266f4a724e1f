// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rate limits of RAW_PACKET QPs. test_pacing.py checks in the trace when each frame leaves. It identifies a
 * frame's step by the byte after the Ethernet header.
 */
#include "link.h"

#define RATE 12000u /* kbit/s: a millisecond for each frame */

enum step { LIMITED, UNLIMITED, FASTER, REMOVED, BURSTS };

static struct link l;

static void caps(struct ibv_packet_pacing_caps *c)
{
	struct ibv_device_attr_ex attr;

	CHECK(!(errno = ibv_query_device_ex(l.ctx[0], NULL, &attr)));
	*c = attr.packet_pacing_caps;
	CHECK(c->supported_qpts == 1u << IBV_QPT_RAW_PACKET);
	CHECK(c->qp_rate_limit_min && c->qp_rate_limit_min < c->qp_rate_limit_max);
}

static struct ibv_qp *raw_qp(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RAW_PACKET,
					.send_cq = cq,
					.recv_cq = cq,
					.cap = {LINK_FRAMES, 1, 1, 1, 0}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR, .port_num = 1, .rate_limit = RATE};
	struct ibv_qp *qp = ibv_create_qp(l.pd[0], &init);

	CHECK(qp);
	link_modify(qp, &attr, IBV_QPS_INIT);
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT) == EINVAL);
	link_modify(qp, &attr, IBV_QPS_RTR);
	return qp;
}

static void to_rts(struct ibv_qp *qp, uint32_t rate)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .rate_limit = rate};

	CHECK(!(errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | (rate ? IBV_QP_RATE_LIMIT : 0))));
}

static void limit(struct ibv_qp *qp, uint32_t rate, uint32_t burst, uint16_t packet, int want)
{
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = rate, .max_burst_sz = burst, .typical_pkt_sz = packet};

	CHECK(ibv_modify_qp_rate_limit(qp, &attr) == want);
}

static void take(struct ibv_cq *cq, int n)
{
	while (n--)
		CHECK(link_wait(cq).status == IBV_WC_SUCCESS);
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
	limit(raw, 0, LINK_FRAME_SIZE, 0, EINVAL);
	limit(rc, RATE, 0, 0, EINVAL);
	CHECK(ibv_modify_qp_rate_limit(raw, &unknown) == EOPNOTSUPP);
	CHECK(!(errno = ibv_destroy_qp(rc)));
}

int main(void)
{
	struct ibv_qp *limited, *unlimited;
	struct ibv_cq *cq;

	link_open(&l, (BURSTS + 1) * LINK_FRAME_SIZE);
	cq = link_create_cq(&l, 0, 2 * LINK_FRAMES);
	limited = raw_qp(cq);
	unlimited = raw_qp(cq);
	to_rts(limited, RATE);
	to_rts(unlimited, 0);
	link_post_frames(&l, limited, LIMITED);
	link_post_frames(&l, unlimited, UNLIMITED);
	take(cq, 2);
	limit(limited, 4 * RATE, 0, 0, 0);
	link_post_frames(&l, limited, FASTER);
	take(cq, 1);
	limit(limited, 0, 0, 0, 0);
	link_post_frames(&l, limited, REMOVED);
	take(cq, 1);
	limit(limited, RATE, 10 * LINK_FRAME_SIZE, LINK_FRAME_SIZE, 0);
	refused(limited, cq); /* this does not change the limit */
	link_post_frames(&l, limited, BURSTS);
	take(cq, 1);
	CHECK(!(errno = ibv_destroy_qp(limited)));
	CHECK(!(errno = ibv_destroy_qp(unlimited)));
	CHECK(!(errno = ibv_destroy_cq(cq)));
	link_close(&l);
	printf("rate limits: ok\n");
	return 0;
}
