/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rate limits of send queues. Frames of a limited queue never come earlier than its rate allows. That it uses the rate
 * is shown by order: a queue whose limit is several times higher, or was raised, has finished before one that begins
 * after it with a low limit. All times are lower limits, so no speed of a host is assumed.
 */
#include <string.h>

#include "judge/watchdog.h"
#include "suites/objects/own.h"

#define FRAME 1000 /* bytes */
#define LONG  4000 /* if the port takes it */
#define SLOW  1000 /* kbps: a frame each 8 ms; the fast queue: 8000 */

struct paced {
	struct own o;
	unsigned int done; /* completions polled */
};

struct paces {
	struct kit *k;
	uint8_t *mem;
	struct ibv_mr *mr;
	struct paced a, b;
	uint32_t fast; /* kbps */
	uint32_t len;  /* of long frames */
};

static bool limit(struct paces *p, struct paced *q, uint32_t kbps, uint32_t burst, uint16_t typical)
{
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = kbps, .max_burst_sz = burst, .typical_pkt_sz = typical};
	const int ret = ibv_modify_qp_rate_limit(q->o.qp, &attr);

	return KIT_MUST(p->k, !ret, "a limit of %u kbps failed with %s", kbps, errno_name(ret));
}

static bool send_long(struct paces *p, struct paced *q, unsigned int num, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)p->mem, len, p->mr->lkey};
	struct ibv_send_wr wr = kit_wr(0, IBV_WR_SEND, &sge), *bad;
	int ret = 0;

	q->done = 0;
	for (wr.wr_id = 0; wr.wr_id < num && !ret; wr.wr_id++)
		ret = ibv_post_send(q->o.qp, &wr, &bad);
	return KIT_MUST(p->k, !ret, "posting a frame was refused with %s", errno_name(ret));
}

static bool send_frames(struct paces *p, struct paced *q, unsigned int num)
{
	return send_long(p, q, num, FRAME);
}

static bool poll_one(struct paces *p, struct paced *q)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(q->o.send_cq, 1, &wc) != 1)
		return false;
	if (wc.status || wc.wr_id != q->done)
		KIT_FAULT(p->k, "frame %u completes with %s, expected frame %u", (unsigned int)wc.wr_id,
			  value_name(status_names, wc.status), q->done);
	q->done++;
	return true;
}

/* Waits until so many frames have left in all. */
static bool left(struct paces *p, struct paced *q, unsigned int num)
{
	struct watchdog w = watchdog(p->k->r->dut.timeout_ms);

	while (q->done < num && KIT_GOOD(p->k)) {
		if (!poll_one(p, q) && watchdog_expired(&w))
			KIT_FAULT(p->k, "frame %u does not leave", q->done);
	}
	return KIT_GOOD(p->k);
}

/* So many frames must have left. */
static bool have_left(struct paces *p, struct paced *q, unsigned int num, const char *which)
{
	while (q->done < num && KIT_GOOD(p->k))
		if (!poll_one(p, q))
			KIT_FAULT(
				p->k,
				"%s: only %u of %u frames have left, with a higher limit than another queue",
				which, q->done, num);
	return KIT_GOOD(p->k);
}

static bool took(struct paces *p, uint64_t since, uint64_t least_us, const char *which)
{
	const uint64_t us = kit_now_us() - since;

	if (us < least_us)
		KIT_FAULT(p->k, "%s: %llu us, must not be less than %llu us", which, (unsigned long long)us,
			  (unsigned long long)least_us);
	return KIT_GOOD(p->k);
}

/* A fast and a slow queue. */
static bool two_limits(struct paces *p)
{
	const uint64_t since = kit_now_us();

	return limit(p, &p->b, SLOW, 0, 0) && limit(p, &p->a, p->fast, 0, 0) && send_frames(p, &p->a, 6) &&
	       send_frames(p, &p->b, 3) && left(p, &p->a, 6) &&
	       took(p, since, 5000, "six frames at 8 Mbps") && left(p, &p->b, 3) &&
	       took(p, since, 16000, "three frames at 1 Mbps") && send_frames(p, &p->a, 3) &&
	       send_frames(p, &p->b, 2) && left(p, &p->b, 2) && have_left(p, &p->a, 3, "a fast queue");
}

/* A limit that changes while frames wait counts from then on; 0 is none. */
static bool changed(struct paces *p)
{
	uint64_t since;

	if (!limit(p, &p->a, SLOW, 0, 0) || !send_frames(p, &p->a, 8) || !limit(p, &p->a, p->fast, 0, 0) ||
	    !send_frames(p, &p->b, 2) || !left(p, &p->b, 2) ||
	    !have_left(p, &p->a, 4, "a queue whose limit was raised") || !left(p, &p->a, 8))
		return false;
	since = kit_now_us();
	if (!limit(p, &p->a, SLOW, 0, 0) || !send_frames(p, &p->a, 3) || !left(p, &p->a, 3) ||
	    !took(p, since, 16000, "three frames, with a limit that was lowered"))
		return false;
	return limit(p, &p->a, p->fast, 0, 0) && send_frames(p, &p->a, 30) && limit(p, &p->a, 0, 0, 0) &&
	       send_frames(p, &p->b, 2) && left(p, &p->b, 2) &&
	       have_left(p, &p->a, 30, "a queue whose limit was removed");
}

/* Frames that wait 32 ms each at the limit that was, and at most 4 ms with the new one, or none. */
static bool waiting(struct paces *p)
{
	static const uint32_t fast[] = {8000, 0};

	for (unsigned int i = 0; i < 2; i++)
		if (!limit(p, &p->a, SLOW, 0, 0) || !send_long(p, &p->a, 3, p->len) ||
		    !limit(p, &p->a, fast[i], 0, 0) || !send_frames(p, &p->b, 3) || !left(p, &p->b, 3) ||
		    !have_left(p, &p->a, 3, "frames that waited when the limit changed"))
			return false;
	return true;
}

/* Of more frames than a burst has, those behind it come at the rate. */
static bool behind_burst(struct paces *p, unsigned int num)
{
	const uint64_t since = kit_now_us();

	return send_frames(p, &p->a, 4 + num) && left(p, &p->a, 4 + num) &&
	       took(p, since, num * 8000, "frames behind a burst");
}

/* A queue that was idle, however long, may send max_burst_sz bytes at once, and no more. */
static bool bursts(struct paces *p)
{
	return limit(p, &p->a, SLOW, 4 * FRAME, FRAME) && behind_burst(p, 1) && behind_burst(p, 3) &&
	       send_frames(p, &p->b, 8) && left(p, &p->b, 8) && behind_burst(p, 1) &&
	       send_frames(p, &p->b, 8) && left(p, &p->b, 8) && send_frames(p, &p->a, 5) &&
	       send_frames(p, &p->b, 2) && left(p, &p->b, 2) && have_left(p, &p->a, 4, "a burst") &&
	       left(p, &p->a, 5) && limit(p, &p->a, 0, 0, 0);
}

static bool create(struct paces *p)
{
	const struct end *end = &p->k->r->dut.requester;

	p->a.o.init.cap = p->b.o.init.cap = (struct ibv_qp_cap){32, 1, 1, 1, 0};
	p->mem = end_alloc(end->pd, LONG);
	if (!p->mem)
		return false;
	memset(p->mem, 0x5a, LONG);
	memcpy(p->mem, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x88\xb5", 14); /* for nobody; an experimental type */
	p->mr = ibv_reg_mr(end->pd, p->mem, LONG, 0);
	return p->mr && own_create(p->k, &p->a.o, IBV_QPT_RAW_PACKET) &&
	       own_reach(p->k, &p->a.o, IBV_QPS_RTS) && own_create(p->k, &p->b.o, IBV_QPT_RAW_PACKET) &&
	       own_reach(p->k, &p->b.o, IBV_QPS_RTS);
}

static void rate_limit(struct kit *k)
{
	const bool jumbo = k->r->dut.requester.port_attr.active_mtu == IBV_MTU_4096;
	struct paces p = {.k = k, .fast = kit_arg(k, "kbps", 8000), .len = jumbo ? LONG : FRAME};
	struct ibv_device_attr_ex attr = {0};
	const struct ibv_packet_pacing_caps *caps = &attr.packet_pacing_caps;

	if (ibv_query_device_ex(k->r->dut.requester.ctx, NULL, &attr))
		KIT_FAULT(k, "ibv_query_device_ex failed");
	else if (!(caps->supported_qpts & 1u << IBV_QPT_RAW_PACKET) || caps->qp_rate_limit_min > SLOW)
		seen(k->res, "the device has no such limits; ");
	else if (!create(&p))
		KIT_FAULT(k, "the QPs cannot be created");
	else if (two_limits(&p) && changed(&p) && waiting(&p))
		bursts(&p);
}

SCENARIO(rate_limit) = {
	{"rate-limit", SUITE("pacing"), QPS("RAW_PACKET"), ARGS({"kbps", 8000}),
	 CLAUSE("ibv_modify_qp_rate_limit/DESCRIPTION/rate_limit"), LEVEL("SHOULD"), ERRATA("RATE-LIMIT"),
	 SAYS("frames never leave earlier than the limit allows, behind a burst too; a queue with a "
	      "higher limit, with a limit that was raised or removed, or with a burst, has finished "
	      "before a slow one")},
	{},
};
