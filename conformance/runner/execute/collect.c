/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <string.h>

#include "execute/collect.h"
#include "judge/watchdog.h"
#include "remote/remote.h"

struct side {
	const char *name;
	struct ibv_cq *cq;
	const struct expect *expect;
	unsigned int done;
};

void read_current(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc){
		.wr_id = cq->wr_id,
		.status = cq->status,
		.vendor_err = ibv_wc_read_vendor_err(cq),
		.qp_num = ibv_wc_read_qp_num(cq),
	};
	if (!cq->status) { /* the other fields are valid only on success */
		wc->opcode = ibv_wc_read_opcode(cq);
		wc->byte_len = ibv_wc_read_byte_len(cq);
		wc->wc_flags = ibv_wc_read_wc_flags(cq);
		wc->src_qp = ibv_wc_read_src_qp(cq);
		wc->slid = ibv_wc_read_slid(cq);
		wc->sl = ibv_wc_read_sl(cq);
		wc->dlid_path_bits = ibv_wc_read_dlid_path_bits(cq);
		if (wc->wc_flags & IBV_WC_WITH_INV)
			wc->invalidated_rkey = ibv_wc_read_invalidated_rkey(cq);
		else
			wc->imm_data = ibv_wc_read_imm_data(cq);
	}
}

int poll_extended(struct ibv_cq_ex *cq, struct ibv_wc *wc, uint64_t *timestamp)
{
	struct ibv_poll_cq_attr attr = {};
	int ret = ibv_start_poll(cq, &attr);

	if (ret)
		return ret == ENOENT ? 0 : -ret;
	read_current(cq, wc);
	if (timestamp)
		*timestamp = ibv_wc_read_completion_ts(cq);
	ibv_end_poll(cq);
	return 1;
}

int collect_poll(const struct link *l, struct ibv_cq *cq, struct ibv_wc *wc)
{
	/* struct ibv_cq_ex begins with the members of struct ibv_cq (verbs.h) */
	return l->opts.cq_ex ? poll_extended((struct ibv_cq_ex *)cq, wc, NULL) : ibv_poll_cq(cq, 1, wc);
}

/* A flushed completion of something that was never posted, where the DUT file says that such ones come. */
static bool is_known_extra(const struct side *s, const struct ibv_wc *wc, const struct verdict *v)
{
	char check[VERDICT_CHECK];
	const char *known;

	snprintf(check, sizeof(check), "%s.wc.extra", s->name);
	known = excuse(v, check);
	return known && !strcmp(known, value_name(status_names, wc->status)) &&
	       wc->wr_id != s->expect->wc[s->done].wr_id && !s->expect->wc[s->done].foreign;
}

/* False if the CQ is empty. */
static bool take_one(const struct link *l, struct side *s, struct result *res)
{
	struct ibv_wc wc = {0};
	int ret = collect_poll(l, s->cq, &wc);

	if (ret < 0)
		fault(&res->verdict, "ibv_poll_cq of the %s: %d", s->name, ret);
	if (ret != 1)
		return false;
	seen(res, "%s CQE %s", s->name, value_name(status_names, wc.status));
	if (wc.status == IBV_WC_SUCCESS)
		seen(res, " %s", value_name(wc_names, wc.opcode));
	seen(res, "; ");
	if (s->done < s->expect->num && !is_known_extra(s, &wc, &res->verdict))
		judge_wc(&res->verdict, s->name, &s->expect->wc[s->done++], &wc);
	else
		judge_extra_wc(&res->verdict, s->name, &wc);
	return true;
}

static bool complete(const struct side *s)
{
	return s->done == s->expect->num;
}

void collect(struct link *l, const struct expect *requester, const struct expect *responder,
	     struct result *res)
{
	struct side sides[] = {{"requester", l->cq, requester, 0}, {"responder", l->peer_cq, responder, 0}};
	struct watchdog p = watchdog(l->dut->timeout_ms);

	if (requester->num || responder->num)
		log_call(&res->log, "cell_wait(%u, %u)", requester->num, responder->num);
	while (!(complete(&sides[0]) && complete(&sides[1])) && !res->verdict.num && !remote_broken()) {
		bool any = take_one(l, &sides[0], res);

		any |= take_one(l, &sides[1], res);
		if (!any && watchdog_expired(&p))
			break;
	}
	for (unsigned int i = 0; i < 2; i++)
		if (!res->verdict.num && !complete(&sides[i]))
			judge_missing_wc(&res->verdict, sides[i].name, &sides[i].expect->wc[sides[i].done]);
}

void collect_extra(struct link *l, struct result *res)
{
	static const struct expect nothing;
	struct side sides[] = {{"requester", l->cq, &nothing, 0}, {"responder", l->peer_cq, &nothing, 0}};

	for (unsigned int i = 0; i < 2; i++)
		while (take_one(l, &sides[i], res))
			;
}

bool collect_event(struct link *l, bool wait)
{
	struct ibv_cq *cq;
	void *context;

	if (!end_cq_event_ready(l->channel, wait ? l->dut->timeout_ms : 0) ||
	    ibv_get_cq_event(l->channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* A completion on UC says that a message was sent, and nothing of its arrival. */
static void wait_for_writes(struct link *l)
{
	struct watchdog w = watchdog(l->dut->timeout_ms);

	while (!arena_is_expected(&l->target) && !watchdog_expired(&w) && !remote_broken())
		link_fetch(l);
}

void collect_received(struct link *l, unsigned int first_use, struct result *res)
{
	link_fetch(l);
	for (unsigned int i = first_use; i != l->next_use; i++) {
		uint8_t *buf = l->slot[i % LINK_RECV_SLOTS];

		memcpy(arena_shadow(&l->recv, buf), buf, l->loose[i % LINK_RECV_SLOTS]);
	}
	arena_judge(&res->verdict, &l->recv);
}

void collect_memory(struct link *l, unsigned int first_use, struct result *res)
{
	link_fetch(l);
	if (l->qpt == IBV_QPT_UC)
		wait_for_writes(l);
	arena_judge(&res->verdict, &l->local);
	if (l->opts.mixed)
		arena_judge(&res->verdict, &l->second);
	arena_judge(&res->verdict, &l->target);
	collect_received(l, first_use, res);
	if (!res->verdict.num)
		seen(res, "all memory as it must be; ");
}
