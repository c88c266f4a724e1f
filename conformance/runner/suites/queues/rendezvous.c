/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tag matching: more rendezvous requests at a time than a device serves at once, and QPs that stop meanwhile. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "hcasim_wire.h"
#include "judge/watchdog.h"
#include "link/link_modify.h"
#include "suites/queues/tags.h"

#define MOST   20 /* requests at a time */
#define BYTES  4200u
#define PLACE  8192u /* of a buffer */
#define GAP    100u  /* between the two SGEs of a buffer */
#define SOURCE 65536u
#define FINS   4096u /* where the sender's receives begin, in its memory */

static uint8_t *place(const struct tags *t, unsigned int i)
{
	return t->to + (size_t)i * PLACE;
}

static uint8_t *source(const struct tags *t, unsigned int i)
{
	return t->from + SOURCE + (size_t)i * PLACE;
}

/* An entry for each request: two SGEs, of which the first is shorter than the data, and the last longer than the rest. */
static bool add(struct tags *t, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++) {
		const uint32_t first = 700 + i * 100;
		struct ibv_sge sge[2] = {
			{(uintptr_t)place(t, i), first, t->to_mr->lkey},
			{(uintptr_t)place(t, i) + first + GAP, BYTES - first + 10, t->to_mr->lkey}};
		struct ibv_ops_wr wr = {.wr_id = i, .opcode = IBV_WR_TAG_ADD, .flags = IBV_OPS_SIGNALED};

		wr.tm.add = (typeof(wr.tm.add)){.recv_wr_id = TAGS_RECV + i,
						.sg_list = sge,
						.num_sge = 2,
						.tag = 0x700 + i,
						.mask = UINT64_MAX};
		memset(place(t, i), 0, PLACE);
		if (tags_post(t, &wr)) {
			KIT_FAULT(t->k, "IBV_WR_TAG_ADD was refused");
			return false;
		}
		if (!tags_expect(t, i, IBV_WC_TM_ADD, IBV_WC_SUCCESS, 0))
			return false;
	}
	return true;
}

/* The requests as one list, and receives for the answers. */
static bool request(struct tags *t, unsigned int num)
{
	struct ibv_send_wr wr[MOST];
	struct ibv_sge sge[MOST];

	for (unsigned int i = 0; i < num; i++) {
		struct ibv_sge fin = {(uintptr_t)t->from + FINS + i * 64, 64, t->from_mr->lkey};
		struct ibv_recv_wr recv = {.wr_id = 0xf1000 + i, .sg_list = &fin, .num_sge = 1}, *bad;
		const struct ibv_tmh tmh = {.opcode = IBV_TMH_RNDV, .tag = htobe64(0x700 + i)};
		const struct ibv_rvh rvh = {.va = htobe64((uintptr_t)source(t, i)),
					    .rkey = htobe32(t->from_mr->rkey),
					    .len = htobe32(BYTES - i)};
		uint8_t *at = t->from + i * 64;

		memcpy(at, &tmh, sizeof(tmh));
		memcpy(at + sizeof(tmh), &rvh, sizeof(rvh));
		sge[i] = (struct ibv_sge){(uintptr_t)at, TAGS_BOTH, t->from_mr->lkey};
		wr[i] = kit_wr(0x5000 + i, IBV_WR_SEND, &sge[i]);
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
		if (ibv_post_recv(t->l.qp, &recv, &bad)) {
			KIT_FAULT(t->k, "ibv_post_recv failed");
			return false;
		}
	}
	if (kit_post(t->k, t->l.qp, t->l.peer, wr, NULL))
		KIT_FAULT(t->k, "posting the requests failed");
	return KIT_GOOD(t->k);
}

/* Both completions of each entry, each kind in order. */
static bool matched(struct tags *t, unsigned int num)
{
	unsigned int match = 0, data = 0;

	while (match < num || data < num) {
		if (!tags_next(t))
			return false;
		if (!kit_holds(t->k, !t->wc.status && t->wc.opcode == IBV_WC_TM_RECV)) {
			KIT_FAULT(t->k, "a completion of status %d, opcode %d", t->wc.status, t->wc.opcode);
			return false;
		}
		if (t->wc.flags == IBV_WC_TM_MATCH && t->wc.wr_id == TAGS_RECV + match &&
		    t->wc.tag == 0x700 + match) {
			match++;
		} else if (t->wc.flags == IBV_WC_TM_DATA_VALID && t->wc.wr_id == TAGS_RECV + data &&
			   data < match && t->wc.byte_len == BYTES - data) {
			data++;
		} else {
			KIT_FAULT(t->k,
				  "wr_id 0x%llx, flags 0x%x, byte_len %u after %u matches and %u with data",
				  (unsigned long long)t->wc.wr_id, t->wc.flags, t->wc.byte_len, match, data);
			return false;
		}
	}
	return true;
}

/* The sender's requests and the answers to them, each kind in order. */
static bool answered(struct tags *t, unsigned int num)
{
	unsigned int sent = 0, fins = 0;
	struct ibv_wc wc;

	while (sent < num || fins < num) {
		if (!kit_wait(t->k, &t->l, t->l.cq, &wc))
			return false;
		if (!wc.status && wc.wr_id == 0x5000 + sent) {
			sent++;
		} else if (!wc.status && wc.wr_id == 0xf1000 + fins) {
			const uint8_t *at = t->from + FINS + fins * 64;

			if (at[0] != IBV_TMH_FIN || memcmp(at + 1, t->from + fins * 64 + 1, TAGS_BOTH - 1))
				KIT_FAULT(t->k, "answer %u is not that of its request", fins);
			fins++;
		} else {
			KIT_FAULT(t->k, "wr_id 0x%llx, status %s after %u requests and %u answers",
				  (unsigned long long)wc.wr_id, value_name(status_names, wc.status), sent,
				  fins);
		}
		if (!KIT_GOOD(t->k))
			return false;
	}
	return true;
}

static void judge(struct tags *t, unsigned int num)
{
	static uint8_t want[PLACE];

	for (unsigned int i = 0; i < num && KIT_GOOD(t->k); i++) {
		const uint32_t first = 700 + i * 100;

		memset(want, 0, sizeof(want));
		memcpy(want, source(t, i), first);
		memcpy(want + first + GAP, source(t, i) + first, BYTES - i - first);
		judge_bytes(&t->k->res->verdict, "the buffer of a request", want, place(t, i), PLACE);
	}
}

static void carry(struct tags *t, unsigned int num)
{
	if (add(t, num) && request(t, num) && matched(t, num) && answered(t, num))
		judge(t, num);
}

static void many(struct kit *k, struct tags *t)
{
	for (unsigned int turn = 0; turn < 2 && KIT_GOOD(k); turn++)
		carry(t, MOST);
}

static void tag_rendezvous_many(struct kit *k)
{
	const struct tags_opts opts = {.num_tags = MOST, .max_ops = MOST, .depth = MOST};

	tags_run(k, &opts, many);
}

SCENARIO(tag_rendezvous_many) = {
	{"rndv-many", SUITE("tags"), QPS("RC"), CLAUSE("tag_matching/fin"), NEEDS("tag_matching"), NARROW,
	 SAYS("more requests at a time than a device serves at once: each is matched, read and "
	      "answered, in order, twice")},
	{},
};

/* Both QPs to RESET and up again; what they had completed is gone, or polled here. */
static bool again(struct tags *t)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_poll_cq_attr none = {};
	struct ibv_wc wc;

	if (ibv_modify_qp(t->l.peer, &reset, IBV_QP_STATE) || ibv_modify_qp(t->l.qp, &reset, IBV_QP_STATE)) {
		KIT_FAULT(t->k, "ibv_modify_qp to RESET failed");
		return false;
	}
	/* another PSN: packets from before may still be on their way */
	t->l.opts.psn = ((t->l.opts.psn ? t->l.opts.psn : LINK_PSN) + 0x10000) & HCASIM_PSN_MASK;
	while (ibv_poll_cq(t->l.cq, 1, &wc) == 1)
		;
	while (!ibv_start_poll(t->cq, &none))
		ibv_end_poll(t->cq);
	if (link_peer_steps(&t->l, 0, 3) || link_restart(&t->l))
		KIT_FAULT(t->k, "the QPs do not come up again");
	return KIT_GOOD(t->k);
}

/* In ERR each match has its second completion, with the data or flushed, and then the QP takes no more. */
static bool flushed(struct tags *t, unsigned int matches, unsigned int ends)
{
	struct ibv_context *ctx = t->k->r->dut.responder.ctx;
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};

	kit_drain_async(ctx);
	if (ibv_modify_qp(t->l.peer, &err, IBV_QP_STATE)) {
		KIT_FAULT(t->k, "ibv_modify_qp to ERR failed");
		return false;
	}
	while (ends < matches) {
		if (!tags_next(t))
			return false;
		if (!t->wc.status && t->wc.flags == IBV_WC_TM_MATCH)
			matches++;
		else if (kit_holds(t->k, !t->wc.status || t->wc.status == IBV_WC_WR_FLUSH_ERR))
			ends++;
		else
			KIT_FAULT(t->k, "wr_id 0x%llx ended with status %d", (unsigned long long)t->wc.wr_id,
				  t->wc.status);
	}
	return KIT_GOOD(t->k) && kit_expect_async(t->k, ctx, IBV_EVENT_QP_LAST_WQE_REACHED, t->l.peer);
}

/* Some are served, some wait, some have not come yet. */
static void stopped(struct kit *k, struct tags *t)
{
	const bool err = kit_arg(k, "err", 0);

	for (unsigned int turn = 0; turn < 4 && KIT_GOOD(k); turn++) {
		unsigned int matches = 0;

		if (!add(t, MOST) || !request(t, MOST))
			return;
		for (unsigned int i = 0; i < 6 * turn; i++) {
			if (!tags_next(t))
				return;
			matches += t->wc.flags == IBV_WC_TM_MATCH;
		}
		if ((!err || flushed(t, matches, 6 * turn - matches)) && again(t))
			carry(t, 3);
	}
}

static void tag_rendezvous_stopped(struct kit *k)
{
	const struct tags_opts opts = {.num_tags = 8 * MOST, .max_ops = MOST, .depth = MOST};

	tags_run(k, &opts, stopped);
}

SCENARIO(tag_rendezvous_stopped) = {
	{"rndv-stopped", SUITE("tags"), QPS("RC"), CLAUSE("tag_matching/fin"), ERRATA("QP-RECYCLE"),
	 NEEDS("tag_matching"), NARROW,
	 SAYS("QPs that go to RESET while requests are served forget them; the next ones are matched, "
	      "read and answered")},
	{"rndv-err", ARGS({"err", 1}), NARROW,
	 SAYS("each request that was matched has a second completion when its QP goes to ERR: with its "
	      "data, or flushed")},
	{},
};
