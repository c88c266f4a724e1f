/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * READs of an on-demand region, which come again when pages of it are no longer there: packets made by hand, so that the
 * pages are gone before the repeated request comes.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "judge/watchdog.h"
#include "suites/transport/packet_qp.h"

#define PAGE    4096u
#define PAGES   3 /* nothing is mapped behind them */
#define SIZE    (PAGES * (size_t)PAGE)
#define MAPPING (SIZE + PAGE)

struct absent {
	struct packet_qp t; /* its region is the one below, while the scenario runs */
	uint8_t *mem, *old_mem;
	struct ibv_mr *mr, *old_mr;
	bool refuses; /* the device answers with an RNR NAK when pages are missing; it need not, but then does each time */
};

/* A READ, and the pages that are unmapped between its two requests. */
static const struct lost {
	uint32_t at, len;
	unsigned int first, pages;
	uint32_t packet; /* the first one that needs one of these pages */
} losses[] = {
	{PAGE - 600, 1300, 1, 1, 2},       /* the page of the last packets */
	{PAGE - 512, 1100, 1, 1, 2},       /* between two packets */
	{PAGE - 600, 1300, 0, 1, 0},       /* that of the first ones */
	{PAGE - 700, PAGE + 900, 1, 2, 2}, /* in the middle, and those behind it */
	{SIZE - PAGE - 300, PAGE, 2, 1, 1},
	{SIZE - PAGE - 900, PAGE + 900, 2, 1, 3}, /* up to the end of the mapping */
	{SIZE - 5, 5, 2, 1, 0},
};

static bool set_up(struct absent *a)
{
	struct packet_qp *t = &a->t;
	void *at;

	at = mmap(NULL, MAPPING, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	a->mem = at == MAP_FAILED ? NULL : at;
	if (!a->mem || munmap(a->mem + SIZE, PAGE)) {
		KIT_FAULT(t->k, "no memory");
		return false;
	}
	for (size_t i = 0; i < SIZE; i++)
		a->mem[i] = t->want[i] = (uint8_t)(i * 7 + i / 256 * 3 + i / PAGE);
	mprotect(a->mem, SIZE, PROT_READ);
	a->mr = ibv_reg_mr(t->qp->pd, a->mem, SIZE, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	if (!KIT_MUST(t->k, a->mr, "the on-demand region: %s", errno_name(errno)))
		return false;
	a->old_mem = t->mem;
	a->old_mr = t->mr;
	t->mem = a->mem;
	t->mr = a->mr;
	return true;
}

static bool is_refusal(const struct packet_qp *t, const struct packet *got)
{
	return got->opcode == pqp_op(t, HCASIM_BTH_CODE_ACKNOWLEDGE) && got->kind == HCASIM_AETH_KIND_RNR;
}

/* Packet `next` of the READ's answer, or an RNR NAK in its place. */
static bool is_next(struct absent *a, const struct packet *got, const struct lost *l, uint32_t psn,
		    uint32_t next)
{
	struct packet_qp *t = &a->t;
	const uint32_t left = l->len - next * PQP_MTU, part = left < PQP_MTU ? left : PQP_MTU;
	bool refusal = is_refusal(t, got);

	if (!kit_holds(t->k, got->psn == ((psn + next) & HCASIM_PSN_MASK)) ||
	    (refusal ? got->value != t->rnr_timer : got->kind || got->len != part))
		KIT_FAULT(t->k,
			  "an answer with opcode 0x%x, PSN 0x%x, syndrome %u.%u, %u bytes; expected packet "
			  "%u of a READ "
			  "with PSN 0x%x, or an RNR NAK with %u",
			  got->opcode, got->psn, got->kind, got->value, got->len, next, psn, t->rnr_timer);
	else if (!refusal)
		judge_bytes(&t->k->res->verdict, "answer of a READ", t->want + l->at + (size_t)next * PQP_MTU,
			    got->payload, part);
	return KIT_GOOD(t->k);
}

/*
 * Asks for the READ's packets until each has come; the MSN of an RNR NAK is this one. refused: the first packet in whose
 * place an RNR NAK comes; none: their number
 */
static bool bring(struct absent *a, const struct lost *l, uint32_t psn, uint32_t msn, uint32_t *refused)
{
	const uint32_t num = (l->len + PQP_MTU - 1) / PQP_MTU;
	struct packet_qp *t = &a->t;
	struct watchdog limit = watchdog(t->k->r->dut.timeout_ms);
	bool good = pqp_ask_read(t, psn, l->at, l->len);
	struct packet got;
	uint32_t next = 0;

	*refused = num;
	while (good && next < num) {
		good = port_get(&t->port, &got) && is_next(a, &got, l, psn, next);
		if (!good || !is_refusal(t, &got)) {
			next++;
			continue;
		}
		if (next < *refused)
			*refused = next;
		if (got.msn != msn || watchdog_expired(&limit)) {
			KIT_FAULT(t->k, "an RNR NAK for packet %u with MSN %u, expected MSN %u", next,
				  got.msn, msn);
			return false;
		}
		good = pqp_ask_read(t, psn + next, l->at + next * PQP_MTU, l->len - next * PQP_MTU);
	}
	return good;
}

/* The READ, and the same again without its pages. */
static bool read_twice(struct absent *a, const struct lost *l)
{
	const uint32_t num = (l->len + PQP_MTU - 1) / PQP_MTU;
	struct packet_qp *t = &a->t;
	const uint32_t psn = t->psn;
	uint32_t refused;

	if (!bring(a, l, psn, t->msn++, &refused))
		return false;
	a->refuses |= refused < num;
	t->psn = (psn + num) & HCASIM_PSN_MASK;
	if (madvise(a->mem + l->first * PAGE, l->pages * PAGE, MADV_DONTNEED))
		KIT_FAULT(t->k, "madvise failed");
	if (!bring(a, l, psn, t->msn, &refused))
		return false;
	if (a->refuses && refused != l->packet)
		KIT_FAULT(t->k,
			  "a READ of %u bytes at 0x%x again without page %u: %u packets come before an RNR "
			  "NAK, expected "
			  "%u",
			  l->len, l->at, l->first, refused, l->packet);
	return KIT_GOOD(t->k);
}

static bool in_one_process(struct kit *k)
{
	if (k->r->dut.remote)
		seen(k->res, "the responder's memory is in another process; ");
	return !k->r->dut.remote;
}

/* With several values of min_rnr_timer, and PSNs that wrap. */
static void packet_absent(struct kit *k)
{
	static const uint8_t timers[] = {1, 9, 22, 31};
	static struct absent a;
	bool good;

	if (!in_one_process(k))
		return;
	a = (struct absent){0};
	good = pqp_open(k, &a.t) && set_up(&a);
	for (size_t i = 0; i < sizeof(timers) && good; i++) {
		a.t.rnr_timer = timers[i];
		good = pqp_again(&a.t, 0xfffff4 + i * 0x3000);
		for (size_t n = 0; n < sizeof(losses) / sizeof(losses[0]) && good; n++)
			good = read_twice(&a, &losses[n]);
	}
}

SCENARIO(packet_absent) = {
	{"read-again", SUITE("paging"), QPS("RC"), CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"),
	 LEVEL("SHOULD"), ERRATA("ODP-ABSENT PSN-REPEATED"),
	 NEEDS("on_demand/{qp}/READ operations/RAW_PACKET operations/UC"),
	 SAYS("a READ that comes again when pages of it were unmapped is answered up to them, then "
	      "with an RNR NAK if the first request was, and with every byte once they have come")},
	{},
};
