// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packet pacing: a token bucket for each QP with a rate limit. It acts before PACKETISE (the send engine is told to
 * pause), so that a waiting QP has no packets in shared FIFOs. A packet may be made if the bucket is not negative,
 * and its full length is subtracted; a packet that is longer than the contents makes it negative. The bucket holds at
 * most the burst less one packet, so that bursts of packets of the typical size have no more bytes than max_burst.
 * Lengths are those of the frame without FCS.
 */
#include "core/egress/egress.h"

static uint64_t ps_of(uint32_t rate, uint64_t bytes)
{
	return bytes * 8000000000ull / rate; /* 8 bits, of 1e9 ps / rate each */
}

static void ready(struct hca *hca, struct timer *t)
{
	qp_update(hca, node_entry(t, struct qp, pace.timer));
}

void pace_init(struct qp *qp)
{
	qp->pace.timer.fire = ready;
}

bool pace_valid(const struct qp *qp, const struct hca_qp_attr *a)
{
	if (qp->c.type != HCASIM_QPT_RAW_PACKET)
		return false;
	if (!a->rate_limit)
		return !a->max_burst && !a->typical_packet;
	return a->rate_limit >= HCASIM_RATE_LIMIT_MIN && a->rate_limit <= HCASIM_RATE_LIMIT_MAX &&
	       a->max_burst <= HCASIM_RATE_LIMIT_BURST;
}

uint32_t pace_rate(const struct qp *qp)
{
	const struct dcqcn *d = &qp->cc.dcqcn;

	if (d->limited && (!qp->a.rate_limit || d->rate < qp->a.rate_limit))
		return d->rate;
	return qp->a.rate_limit;
}

/* Time to fill an empty bucket. */
static hca_ps fill_time(const struct hca *hca, const struct qp *qp)
{
	uint32_t packet = qp->a.typical_packet;

	if (!packet)
		packet = CORE_FRAME_MAX(128u << hca->port[qp->a.port - 1].active_mtu);
	return qp->a.max_burst > packet ? ps_of(pace_rate(qp), qp->a.max_burst - packet) : 0;
}

/* Time until the bucket is no longer negative. */
static void wait(struct hca *hca, struct qp *qp)
{
	hca_ps fill = fill_time(hca, qp);

	if (qp->pace.full > hca_now(hca) + fill)
		timer_set(hca, &qp->pace.timer, qp->pace.full - fill);
}

void pace_clear(struct hca *hca, struct qp *qp)
{
	qp->pace.full = 0;
	timer_cancel(hca, &qp->pace.timer);
}

/*
 * The first limit starts with a full bucket. A new one starts with an empty bucket: a negative balance is filled at
 * the new rate (it is at most one packet, so the product fits).
 */
void pace_changed(struct hca *hca, struct qp *qp, uint32_t before)
{
	hca_ps now = hca_now(hca), owed = 0;
	uint32_t rate = pace_rate(qp);

	if (qp->pace.timer.at.pos && qp->pace.timer.at.key > now)
		owed = qp->pace.timer.at.key - now;
	pace_clear(hca, qp);
	if (!before || !rate)
		return;
	qp->pace.full = now + owed * before / rate + fill_time(hca, qp);
	wait(hca, qp);
}

void pace_set(struct hca *hca, struct qp *qp, const struct hca_qp_attr *a)
{
	uint32_t before = pace_rate(qp);

	qp->a.rate_limit = a->rate_limit;
	qp->a.max_burst = a->max_burst;
	qp->a.typical_packet = a->typical_packet;
	pace_changed(hca, qp, before);
}

bool pace_limited(const struct hca *hca, const struct qp *qp)
{
	return qp->pace.timer.at.pos || qp_paused(hca, qp);
}

bool pace_waits(const struct hca *hca, const struct qp *qp, enum sched_side side)
{
	return pace_limited(hca, qp) || (qp->sched && !sched_open(qp, side));
}

void pace_charge(struct hca *hca, struct qp *qp, enum sched_side side, uint32_t len)
{
	hca_ps now;

	if (qp->sched)
		sched_charge(hca, qp, side, len);
	congestion_sent(hca, qp, len);
	if (!pace_rate(qp))
		return;
	now = hca_now(hca);
	if (qp->pace.full < now)
		qp->pace.full = now;
	qp->pace.full += ps_of(pace_rate(qp), len);
	wait(hca, qp);
}
