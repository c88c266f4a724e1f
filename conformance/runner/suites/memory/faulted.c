/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages into on-demand memory whose pages the device does not have, on QPs that are connected to themselves; and QPs
 * that stop while their pages are being brought. What an unreliable QP loses for that is sent again, as another message.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "judge/watchdog.h"
#include "link/link_modify.h"
#include "suites/objects/own.h"

#define PAGE     4096u
#define PAGES    48 /* more than all cases use */
#define SIZE     (PAGES * (size_t)PAGE)
#define PARTS    3
#define COMMANDS 4    /* what the device does meanwhile */
#define LENGTH   600u /* of what a QP is stopped at */
#define ACCESS   (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

struct faulted {
	struct kit *k;
	struct own own;
	struct ibv_ah *ah;
	struct ibv_srq *srq;           /* or NULL */
	uint8_t *plain, *paged, *want; /* want: what paged must hold */
	struct ibv_mr *plain_mr, *paged_mr;
	unsigned int serial;
};

static uint32_t grh(const struct faulted *f)
{
	return f->k->cell->qpt == IBV_QPT_UD ? LINK_GRH_LEN : 0;
}

static bool reliable(const struct faulted *f)
{
	return f->k->cell->qpt == IBV_QPT_RC;
}

/* To RTS, where a message waits for its receive for as long as it takes. */
static bool rise(struct faulted *f)
{
	struct ibv_qp_attr attr = own_values(f->k, &f->own, 0);
	int ret;

	if (!reliable(f))
		return own_reach(f->k, &f->own, IBV_QPS_RTS);
	if (!own_reach(f->k, &f->own, IBV_QPS_RTR))
		return false;
	attr.qp_state = IBV_QPS_RTS;
	attr.rnr_retry = 7;
	ret = own_modify(&f->own, &attr, IBV_QP_STATE | own_required(IBV_QPT_RC, IBV_QPS_RTS));
	return KIT_MUST(f->k, !ret, "the QP cannot be moved to RTS: %s", errno_name(ret));
}

static bool bring_up(struct faulted *f)
{
	if (!rise(f))
		return false;
	return true;
}

static bool give_srq(struct faulted *f)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = PARTS}};

	if (!kit_arg(f->k, "srq", 0))
		return true;
	f->own.init.srq = f->srq = ibv_create_srq(f->k->r->dut.requester.pd, &init);
	return f->srq != NULL;
}

static bool set_up(struct faulted *f)
{
	const struct end *end = &f->k->r->dut.requester;
	struct ibv_ah_attr av;

	f->own.to_itself = true;
	f->own.init.cap = (struct ibv_qp_cap){4, 4, PARTS, PARTS, 0};
	f->plain = made_pages(SIZE, MAP_PRIVATE);
	f->paged = made_pages(SIZE, MAP_PRIVATE);
	f->want = made_pages(SIZE, MAP_PRIVATE);
	if (f->plain && f->paged && f->want) {
		f->plain_mr = ibv_reg_mr(end->pd, f->plain, SIZE, ACCESS);
		f->paged_mr = ibv_reg_mr(end->pd, f->paged, SIZE, ACCESS | IBV_ACCESS_ON_DEMAND);
	}
	link_address(end, end, &av);
	f->ah = grh(f) ? ibv_create_ah(end->pd, &av) : NULL;
	if (!f->plain_mr || !f->paged_mr || (grh(f) && !f->ah) || !give_srq(f)) {
		KIT_FAULT(f->k, "the regions, the address handle or the SRQ: %s", errno_name(errno));
		return false;
	}
	return own_create(f->k, &f->own, f->k->cell->qpt) && bring_up(f);
}

/* Another message at each call. */
static void fill(uint8_t *at, uint32_t len, unsigned int serial)
{
	for (uint32_t i = 0; i < len; i++)
		at[i] = (uint8_t)(serial * 37 + i * 3 + i / 256 + 1);
}

static bool post(struct faulted *f, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int ret;

	if (f->ah) {
		wr->wr.ud.ah = f->ah;
		wr->wr.ud.remote_qpn = f->own.qp->qp_num;
		wr->wr.ud.remote_qkey = f->own.known.qkey;
	}
	ret = ibv_post_send(f->own.qp, wr, &bad);
	return KIT_MUST(f->k, !ret, "posting was refused with %s", errno_name(ret));
}

static bool post_receive(struct faulted *f, struct ibv_sge *sge, int num)
{
	struct ibv_recv_wr wr = {.wr_id = 0x4ec0, .sg_list = sge, .num_sge = num}, *bad;
	int ret = f->srq ? ibv_post_srq_recv(f->srq, &wr, &bad) : ibv_post_recv(f->own.qp, &wr, &bad);

	return KIT_MUST(f->k, !ret, "posting a receive was refused with %s", errno_name(ret));
}

/* Commands to the device; `lost`: so many messages were given up for lost, and each next one has twice as long. */
static unsigned int pause_after(unsigned int lost)
{
	return 1u << (lost < 12 ? lost : 12);
}

static void pause_once(struct faulted *f)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ibv_query_qp(f->own.qp, &attr, IBV_QP_STATE, &init);
}

/*
 * The request's completion; then that of the message that it sent, if one comes in time. The one of an SRQ is polled
 * first: a library may have to post the receive again before its message can come.
 */
static bool sent(struct faulted *f, struct ibv_wc *wc, unsigned int lost, bool *came)
{
	const bool first = reliable(f) && f->srq;

	*came = first && own_wait(f->k, &f->own, f->own.recv_cq, wc);
	if ((first && !*came) || !own_expect(f->k, &f->own, f->own.send_cq, f->serial, IBV_WC_SUCCESS))
		return false;
	if (first)
		return true;
	if (reliable(f)) {
		*came = own_wait(f->k, &f->own, f->own.recv_cq, wc);
		return *came;
	}
	*came = false;
	for (unsigned int n = pause_after(lost); n && !*came; n--) {
		pause_once(f);
		*came = ibv_poll_cq(f->own.recv_cq, 1, wc) == 1;
	}
	return true;
}

/* ---- Receives ---- */

struct part { /* of a receive: `pinned` memory or a place whose page is absent */
	bool pinned;
	uint32_t at, len;
};

static const struct layout {
	struct part part[PARTS];
	uint32_t bytes;
} layouts[] = {
	/* one page, its last byte, two pages, three pages and more than is used of them */
	{{{false, 0x0010, 1200}}, 900},
	{{{true, 0x0100, 100}, {false, 0x1fff, 1}, {true, 0x0200, 900}}, 700},
	{{{false, 0x2f80, 1024}}, 800},
	{{{false, 0x4ff0, 2 * PAGE}}, 640},
	/* absent, pinned, absent; nothing in the middle; the last element is not reached */
	{{{false, 0x7100, 61}, {true, 0x0300, 300}, {false, 0x8ffe, 700}}, 900},
	{{{false, 0xafff, 100}, {false, 0xb800, 0}, {false, 0xcffc, 800}}, 820},
	{{{true, 0x0400, 500}, {false, 0xe000, 400}, {false, 0xf000, 400}}, 860},
	/* a first element of 40 bytes: those in front of a datagram; a message of nothing */
	{{{false, 0x10fe0, 40}, {false, 0x12ff0, 32}, {true, 0x0500, 1000}}, 900},
	{{{false, 0x14ff0, 64}}, 0},
	/* of the next two the second is in the pages of the first */
	{{{false, 0x16f00, 1100}}, 1000},
	{{{false, 0x16800, 1100}}, 1000},
};

/* Copies the message to where the parts of the receive are; what is in front of it is not checked. */
static void scatter(struct faulted *f, const struct layout *l, uint8_t *plain, const uint8_t *message)
{
	uint32_t done = 0, skip = grh(f), left = skip + l->bytes;

	for (unsigned int i = 0; i < PARTS; i++) {
		const struct part *p = &l->part[i];
		uint32_t n = p->len < left ? p->len : left;
		uint8_t *to = (p->pinned ? plain : f->want) + p->at;
		const uint8_t *from = (p->pinned ? f->plain : f->paged) + p->at;

		for (uint32_t j = 0; j < n; j++, done++)
			to[j] = done < skip ? from[j] : message[done - skip];
		left -= n;
	}
}

static void judge(struct faulted *f, const struct layout *l, const struct ibv_wc *wc, const uint8_t *plain)
{
	static uint8_t message[PAGE], want[SIZE];

	KIT_CHECK(f->k,
		  !wc->status && wc->byte_len == grh(f) + l->bytes && wc->wc_flags & IBV_WC_WITH_IMM &&
			  be32toh(wc->imm_data) <= f->serial,
		  "a message of %u bytes: status %s, byte_len %u", l->bytes,
		  value_name(status_names, wc->status), wc->byte_len);
	fill(message, l->bytes, be32toh(wc->imm_data));
	memcpy(want, plain, SIZE);
	scatter(f, l, want, message);
	judge_bytes(&f->k->res->verdict, "the paged memory", f->want, f->paged, SIZE);
	judge_bytes(&f->k->res->verdict, "the pinned memory", want, f->plain, SIZE);
}

/* With an RNR NAK of the receiver in between, if it comes in time. */
static bool post_before_receive(struct faulted *f, struct ibv_send_wr *wr, struct ibv_sge *to, int num)
{
	if (!post(f, wr))
		return false;
	for (unsigned int i = 0; i < COMMANDS; i++)
		pause_once(f);
	return post_receive(f, to, num);
}

static bool is_late(const struct faulted *f, const struct ibv_wc *wc, uint32_t first)
{
	return !reliable(f) && !wc->status && wc->wc_flags & IBV_WC_WITH_IMM && be32toh(wc->imm_data) < first;
}

/* Empty ones are left out of an SRQ's receive: what they mean there is of suite/sges. */
static int elements(const struct faulted *f, const struct layout *l, struct ibv_sge *to)
{
	int num = 0;

	for (unsigned int i = 0; i < PARTS; i++) {
		const struct part *p = &l->part[i];

		if (p->len || !f->srq)
			to[num++] = (struct ibv_sge){(uintptr_t)(p->pinned ? f->plain : f->paged) + p->at,
						     p->len, (p->pinned ? f->plain_mr : f->paged_mr)->lkey};
	}
	return num;
}

/* One receive, and messages until one of them has come; `late`: the first one is there before its receive. */
static void deliver(struct faulted *f, const struct layout *l, bool late)
{
	struct watchdog limit = watchdog(f->k->r->dut.timeout_ms);
	struct ibv_sge from = {(uintptr_t)f->plain + SIZE - PAGE, l->bytes, f->plain_mr->lkey}, to[PARTS];
	const uint32_t first = f->serial + 1;
	static uint8_t plain[SIZE];
	unsigned int lost = 0;
	struct ibv_wc wc;
	const int num = elements(f, l, to);
	bool came = false;

	if (!late && !post_receive(f, to, num))
		return;
	while (!came) {
		struct ibv_send_wr wr = kit_wr(++f->serial, IBV_WR_SEND_WITH_IMM, &from);

		wr.imm_data = htobe32(f->serial);
		fill(f->plain + SIZE - PAGE, l->bytes, f->serial);
		memcpy(plain, f->plain, SIZE);
		if (!(late ? post_before_receive(f, &wr, to, num) : post(f, &wr)) ||
		    !sent(f, &wc, lost++, &came))
			return;
		KIT_CHECK(f->k, came || !watchdog_expired(&limit), "no message of %u bytes arrives",
			  l->bytes);
		/* one that was given up for lost came in place of a message of this receive */
		if (came && is_late(f, &wc, first)) {
			memcpy(f->want, f->paged, SIZE);
			came = false;
			if (!post_receive(f, to, num))
				return;
		}
	}
	judge(f, l, &wc, plain);
}

/*
 * Three packets, of which the second one needs an absent page, and the short third one none if it takes the place of
 * the second.
 */
static void deliver_packets(struct faulted *f)
{
	const uint32_t mtu = 128u << f->k->r->dut.mtu;
	const struct layout l = {{{true, 0x1000, mtu + 20}, {false, 0x18f00, mtu}}, 2 * mtu + 10};

	if (!grh(f) && l.bytes <= PAGE)
		deliver(f, &l, false);
}

static void paged_receives(struct kit *k)
{
	struct faulted f = {.k = k};

	if (set_up(&f)) {
		for (size_t i = 0; i < SIZE; i++)
			f.want[i] = f.paged[i] = (uint8_t)(i * 5 + i / PAGE);
		for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]) && KIT_GOOD(k); i++)
			deliver(&f, &layouts[i], reliable(&f) && i % 2);
		if (KIT_GOOD(k))
			deliver_packets(&f);
	}
}

SCENARIO(paged_receives) = {
	{"receives", SUITE("paging"), QPS("RC UC UD"), CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"),
	 NEEDS("on_demand/{qp}/RECV"),
	 SAYS("receives whose SGEs are partly of an on-demand region without its pages hold the "
	      "message that completes them, and nothing around them is written; what an unreliable QP "
	      "loses meanwhile is lost as a whole")},
	{"receives-srq", QPS("RC UD"), ARGS({"srq", 1}), NEEDS("on_demand/{qp}/SRQ_RECV"),
	 SAYS("receives of an SRQ whose SGEs are partly of an on-demand region without its pages hold "
	      "the message that completes them, and nothing around them is written; what an unreliable "
	      "QP loses meanwhile is lost as a whole")},
	{},
};

/* ---- Stopped QPs ---- */

static const struct act {
	enum ibv_wr_opcode op;
	bool local; /* whether the page that is absent is the request's own, or the other side's */
} acts[] = {
	{IBV_WR_SEND, true},        {IBV_WR_SEND, false},     {IBV_WR_RDMA_WRITE, true},
	{IBV_WR_RDMA_WRITE, false}, {IBV_WR_RDMA_READ, true}, {IBV_WR_RDMA_READ, false},
};
#define ACTS (sizeof(acts) / sizeof(acts[0]))

static bool possible(const struct faulted *f, const struct act *act)
{
	return act->op == IBV_WR_SEND || reliable(f) ||
	       (f->k->cell->qpt == IBV_QPT_UC && act->op == IBV_WR_RDMA_WRITE);
}

/* Where a request's bytes come from, and where they go; one of both is paged. */
static uint8_t *source(const struct faulted *f, const struct act *act, size_t at)
{
	return (act->local == (act->op != IBV_WR_RDMA_READ) ? f->paged : f->plain) + at;
}

static uint8_t *sink(const struct faulted *f, const struct act *act, size_t at)
{
	return (act->local == (act->op != IBV_WR_RDMA_READ) ? f->plain : f->paged) + at;
}

static struct ibv_mr *region(const struct faulted *f, const uint8_t *at)
{
	return at >= f->paged && at < f->paged + SIZE ? f->paged_mr : f->plain_mr;
}

/* A request that has a page at the offset `at` of the paged region. */
static bool again(struct faulted *f, const struct act *act, size_t at)
{
	uint8_t *from = source(f, act, at), *to = sink(f, act, at);
	uint8_t *own = act->op == IBV_WR_RDMA_READ ? to : from, *other = own == to ? from : to;
	struct ibv_sge sge = {(uintptr_t)own, LENGTH, region(f, own)->lkey};
	struct ibv_send_wr wr = kit_wr(++f->serial, act->op, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)other;
	wr.wr.rdma.rkey = region(f, other)->rkey;
	return post(f, &wr);
}

static bool begin(struct faulted *f, const struct act *act, size_t at)
{
	fill(source(f, act, at), LENGTH, f->serial + 1);
	return again(f, act, at);
}

static bool receive(struct faulted *f, const struct act *act, size_t at)
{
	uint8_t *to = act->op == IBV_WR_SEND ? sink(f, act, at) - grh(f) : f->plain;
	struct ibv_sge sge = {(uintptr_t)to, grh(f) + LENGTH, region(f, to)->lkey};

	return post_receive(f, &sge, 1);
}

static bool moved(const struct faulted *f, const struct act *act, size_t at)
{
	return !memcmp(sink(f, act, at), source(f, act, at), LENGTH);
}

/* The completion of a request that is no SEND; then its bytes, if they come in time. */
static bool written(struct faulted *f, const struct act *act, size_t at, unsigned int lost, bool *done)
{
	if (!own_expect(f->k, &f->own, f->own.send_cq, f->serial, IBV_WC_SUCCESS))
		return false;
	*done = moved(f, act, at);
	for (unsigned int n = reliable(f) ? 0 : pause_after(lost); n && !*done; n--) {
		pause_once(f);
		*done = moved(f, act, at);
	}
	return true;
}

/* The request has been carried out; unreliable ones are repeated until one has been. */
static void carry_out(struct faulted *f, const struct act *act, size_t at)
{
	struct watchdog limit = watchdog(f->k->r->dut.timeout_ms);
	bool done, posted = false;
	unsigned int lost = 0;
	struct ibv_wc wc;

	fill(source(f, act, at), LENGTH, f->serial + 1);
	memset(sink(f, act, at), 0, LENGTH);
	do {
		if (act->op == IBV_WR_SEND && !posted && !receive(f, act, at))
			return;
		if (!again(f, act, at))
			return;
		if (act->op == IBV_WR_SEND ? !sent(f, &wc, lost, &done) : !written(f, act, at, lost, &done))
			return;
		posted = act->op != IBV_WR_SEND || !done;
		/* an earlier message, which was given up for lost, may come in place of this one */
		if (act->op == IBV_WR_SEND && !reliable(f) && done)
			done = moved(f, act, at);
		lost++;
		KIT_CHECK(f->k, done || (!reliable(f) && !watchdog_expired(&limit)),
			  "request %d was not executed", (int)act->op);
	} while (!done);
	judge_bytes(&f->k->res->verdict, "what was moved", source(f, act, at), sink(f, act, at), LENGTH);
}

/* One request of `len` bytes, with whatever its source has: they come to the other side. */
static void move(struct faulted *f, const struct act *act, size_t at, uint32_t len)
{
	uint8_t *to = sink(f, act, at), *from = source(f, act, at);
	uint8_t *own = act->op == IBV_WR_RDMA_READ ? to : from, *other = own == to ? from : to;
	struct ibv_sge sge = {(uintptr_t)own, len, region(f, own)->lkey};
	struct ibv_send_wr wr = kit_wr(++f->serial, act->op, &sge);
	struct ibv_wc wc;

	memset(to, 0, len);
	wr.wr.rdma.remote_addr = (uintptr_t)other;
	wr.wr.rdma.rkey = region(f, other)->rkey;
	if ((act->op == IBV_WR_SEND && !receive(f, act, at)) || !post(f, &wr) ||
	    !own_expect(f->k, &f->own, f->own.send_cq, f->serial, IBV_WC_SUCCESS))
		return;
	if (act->op == IBV_WR_SEND && !own_wait(f->k, &f->own, f->own.recv_cq, &wc))
		return;
	judge_bytes(&f->k->res->verdict, "what was moved", from, to, len);
}

/* Both end flushed, or as if nothing had happened meanwhile. */
static void flushed(struct faulted *f)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < 2; i++) {
		if (!own_wait(f->k, &f->own, i ? f->own.recv_cq : f->own.send_cq, &wc))
			return;
		KIT_CHECK(f->k, wc.status == IBV_WC_WR_FLUSH_ERR || !wc.status, "the %s ended with %s",
			  i ? "receive" : "request", value_name(status_names, wc.status));
	}
}

static bool stop(struct faulted *f, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = {.qp_state = to};
	int ret;

	if (to == IBV_QPS_UNKNOWN) { /* a new QP in its place */
		ibv_destroy_qp(f->own.qp);
		return own_create_qp(f->k, &f->own);
	}
	ret = own_modify(&f->own, &attr, IBV_QP_STATE);
	if (ret)
		KIT_FAULT(f->k, "ibv_modify_qp to %s failed with %s", own_state(to), errno_name(ret));
	if (!ret && to == IBV_QPS_ERR)
		flushed(f);
	return KIT_GOOD(f->k) && (to == IBV_QPS_RESET || own_reset(f->k, &f->own));
}

static void live(struct faulted *f, const struct act *act, size_t at, enum ibv_qp_state to)
{
	struct ibv_wc wc;

	if (!receive(f, act, at) || !begin(f, act, at) || !stop(f, to))
		return;
	KIT_CHECK(f->k, !ibv_poll_cq(f->own.send_cq, 1, &wc) && !ibv_poll_cq(f->own.recv_cq, 1, &wc),
		  "a completion after the QP was stopped");
	/* the same page, which may still be on its way, and others */
	if (!bring_up(f))
		return;
	for (unsigned int i = 0; i < 3 && KIT_GOOD(f->k); i++)
		carry_out(f, act, at + i * 2 * PAGE);
	KIT_CHECK(f->k, !ibv_poll_cq(f->own.send_cq, 1, &wc) && !ibv_poll_cq(f->own.recv_cq, 1, &wc),
		  "a completion of nothing that was posted");
}

static void paged_stopped(struct kit *k)
{
	const enum ibv_qp_state to = kit_arg(k, "to", IBV_QPS_RESET);
	struct faulted f = {.k = k};

	if (set_up(&f))
		for (size_t i = 0; i < ACTS && KIT_GOOD(k); i++)
			if (possible(&f, &acts[i]))
				live(&f, &acts[i], (i * 6 + 1) * PAGE - 300, to);
}

SCENARIO(paged_stopped) = {
	{"stopped", SUITE("paging"), QPS("RC"),
	 FORMS({"-reset", {{"to", 0}}}, {"-err", {{"to", 6}}}, {"-destroyed", {{"to", 7}}}),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"), LEVEL("SHOULD"),
	 ERRATA("QP-RECYCLE CQ-PURGE"),
	 NEEDS("on_demand/{qp}/SEND on_demand/{qp}/RECV on_demand/{qp}/WRITE on_demand/{qp}/READ"), NARROW,
	 SAYS("a QP that stops while pages are brought for its request, or for one of its peer, "
	      "executes nothing more of that life, and what is posted in the next one, in the same "
	      "pages and others")},
	{"stopped", QPS("UC"),
	 FORMS({"-reset", {{"to", 0}}}, {"-err", {{"to", 6}}}, {"-destroyed", {{"to", 7}}}),
	 NEEDS("on_demand/{qp}/SEND on_demand/{qp}/RECV on_demand/{qp}/WRITE")},
	{"stopped", QPS("UD"),
	 FORMS({"-reset", {{"to", 0}}}, {"-err", {{"to", 6}}}, {"-destroyed", {{"to", 7}}}),
	 NEEDS("on_demand/{qp}/SEND on_demand/{qp}/RECV")},
	{},
};

/* ---- Memory that may only be read ---- */

/* A region of pages without the right to write, local and remote: what is sent and what is read comes from it. */
static void paged_read_only(struct kit *k)
{
	struct faulted f = {.k = k};

	if (!set_up(&f))
		return;
	for (size_t i = 0; i < SIZE; i++)
		f.paged[i] = (uint8_t)(i * 11 + i / PAGE);
	mprotect(f.paged, SIZE, PROT_READ);
	f.paged_mr = ibv_reg_mr(k->r->dut.requester.pd, f.paged, SIZE,
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	KIT_CHECK(k, f.paged_mr, "the region that may only be read: %s", errno_name(errno));
	for (size_t i = 0; i < ACTS && KIT_GOOD(k); i++)
		if (possible(&f, &acts[i]) && source(&f, &acts[i], 0) == f.paged)
			move(&f, &acts[i], (i + 1) * 3 * PAGE - 300, LENGTH);
}

SCENARIO(paged_read_only) = {
	{"read-only", SUITE("paging"), QPS("RC"), CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"),
	 NEEDS("on_demand/{qp}/SEND on_demand/{qp}/RECV on_demand/{qp}/WRITE on_demand/{qp}/READ"),
	 SAYS("SENDs and WRITEs from pages that may only be read, and READs of them, are executed "
	      "while the device has no such page")},
	{},
};

/* ---- Messages of which the device has a part ---- */

/* The first packets of each are in a page that was used before, the others in one that was not. */
static void paged_partly(struct kit *k)
{
	struct faulted f = {.k = k};

	if (set_up(&f)) {
		for (size_t i = 0; i < SIZE; i++)
			f.paged[i] = f.plain[i] = (uint8_t)(i * 13 + i / 256 + i / PAGE);
		for (size_t i = 0; i < ACTS && KIT_GOOD(k); i++) {
			const size_t border = (i * 4 + 3) * PAGE;

			if (acts[i].op == IBV_WR_SEND)
				continue;
			move(&f, &acts[i], border - 1600, 8);
			if (KIT_GOOD(k))
				move(&f, &acts[i], border - 1500, 3000);
		}
	}
}

SCENARIO(paged_partly) = {
	{"partly", SUITE("paging"), QPS("RC"), CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"),
	 NEEDS("on_demand/{qp}/SEND on_demand/{qp}/RECV on_demand/{qp}/WRITE on_demand/{qp}/READ"),
	 SAYS("WRITEs and READs of which the device has the pages of the first packets, and not those "
	      "of the others, are executed")},
	{},
};
