// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "untimed.h"

#define MAX_RANGES 64

struct frame {
	struct frame *next;
	struct hca_packet *pkt;
};

struct end { /* one adapter, and what is on its way from and to it */
	struct untimed *u;
	unsigned int index;
	struct hca *hca;
	struct hca_dma *dma_head, **dma_tail;
	hca_ps deadline;
};

struct untimed {
	unsigned int num;
	hca_ps now;
	uint64_t rand;
	bool shuffle;
	struct untimed_hooks hooks;
	struct frame *wire, **wire_tail, *late;
	struct {
		uintptr_t base;
		size_t len;
	} mem[MAX_RANGES];
	unsigned int turn;
	struct end end[];
};

/* xorshift64: not for statistics, only to visit orders. */
static uint64_t next_random(struct untimed *u)
{
	u->rand ^= u->rand << 13;
	u->rand ^= u->rand >> 7;
	u->rand ^= u->rand << 17;
	return u->rand;
}

/* ---- Addresses ---- */

void untimed_mac(unsigned int hca, uint8_t port, uint8_t mac[6])
{
	memcpy(mac, (uint8_t[6]){0x02, 0, 0, 0, (uint8_t)hca, port}, 6);
}

void untimed_gid(unsigned int hca, uint8_t port, uint8_t gid[16])
{
	memcpy(gid, (uint8_t[16]){[10] = 0xff, 0xff, 10, port, 0, (uint8_t)(hca + 1)}, 16);
}

/* ---- Memory ---- */

bool untimed_mem(struct untimed *u, const void *base, size_t len)
{
	unsigned int i;

	for (i = 0; i < MAX_RANGES; i++) {
		if (u->mem[i].len)
			continue;
		u->mem[i].base = (uintptr_t)base;
		u->mem[i].len = len;
		return true;
	}
	return false;
}

void untimed_mem_close(struct untimed *u, const void *base)
{
	unsigned int i;

	for (i = 0; i < MAX_RANGES; i++)
		if (u->mem[i].base == (uintptr_t)base)
			u->mem[i].len = 0;
}

static bool range_open(const struct untimed *u, uint64_t addr, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < MAX_RANGES; i++)
		if (addr >= u->mem[i].base && addr - u->mem[i].base <= u->mem[i].len &&
		    len <= u->mem[i].len - (addr - u->mem[i].base))
			return true;
	return false;
}

static int transfer(struct end *e, struct hca_dma *d)
{
	struct untimed *u = e->u;
	uint8_t *buf = d->buf;
	uint32_t i;

	if (u->hooks.dma && !u->hooks.dma(u->hooks.ctx, e->index, d))
		return -EFAULT;
	if (d->pasid == HCA_PASID_DEVICE)
		return 0;
	for (i = 0; i < d->nseg; i++)
		if (!range_open(u, d->seg[i].addr, d->seg[i].len))
			return -EFAULT;
	for (i = 0; i < d->nseg; i++) {
		void *mem = (void *)(uintptr_t)d->seg[i].addr;

		if (d->write)
			memcpy(mem, buf, d->seg[i].len);
		else
			memcpy(buf, mem, d->seg[i].len);
		buf += d->seg[i].len;
	}
	return 0;
}

/* Device memory is nearer than the host's: such transfers end before all others. */
static struct hca_dma **nearest(struct end *e)
{
	struct hca_dma **at = &e->dma_head;

	while (*at && (*at)->pasid != HCA_PASID_DEVICE)
		at = &(*at)->next;
	return *at ? at : &e->dma_head;
}

/* The first transfer, or with a seed any read that no write stands before. */
static struct hca_dma *take_dma(struct end *e)
{
	struct hca_dma **at = nearest(e), *d;
	unsigned int reads = 0;

	if ((*at)->pasid != HCA_PASID_DEVICE && e->u->shuffle) {
		for (d = e->dma_head; d && !d->write; d = d->next)
			reads++;
		for (reads = reads ? (unsigned int)(next_random(e->u) % reads) : 0; reads; reads--)
			at = &(*at)->next;
	}
	d = *at;
	*at = d->next;
	if (!d->next)
		e->dma_tail = at;
	return d;
}

static bool step_dma(struct end *e)
{
	struct hca_dma *d;

	if (!e->dma_head)
		return false;
	d = take_dma(e);
	d->status = transfer(e, d);
	hca_dma_done(e->hca, d);
	return true;
}

/* ---- Wire ---- */

static bool route(struct untimed *u, const struct hca_packet *pkt, struct end **to, uint8_t *port)
{
	uint8_t mac[6];
	unsigned int i;

	for (i = 0; i < u->num && pkt->len >= 6; i++)
		for (*port = 1; *port <= 2; (*port)++) {
			untimed_mac(i, *port, mac);
			if (memcmp(mac, pkt->data, 6))
				continue;
			*to = &u->end[i];
			return true;
		}
	return false;
}

static void put_frame(struct untimed *u, struct hca_packet *pkt)
{
	struct frame *f = pkt ? malloc(sizeof(*f)) : NULL;

	if (!f) {
		if (pkt)
			hca_packet_free(pkt);
		return;
	}
	f->pkt = pkt;
	f->next = NULL;
	*u->wire_tail = f;
	u->wire_tail = &f->next;
}

static void put_late(struct untimed *u)
{
	struct frame *f = u->late;

	u->late = NULL;
	if (!f)
		return;
	f->next = NULL;
	*u->wire_tail = f;
	u->wire_tail = &f->next;
}

static void on_tx(void *host, uint8_t port, struct hca_packet *pkt)
{
	struct end *e = host;
	struct untimed *u = e->u;
	enum untimed_fate fate = u->hooks.wire ? u->hooks.wire(u->hooks.ctx, e->index, pkt) : UNTIMED_DELIVER;
	struct frame *f;

	switch (fate) {
	case UNTIMED_DROP:
		hca_packet_free(pkt);
		break;
	case UNTIMED_TWICE:
		put_frame(u, hca_packet_dup(pkt));
		put_frame(u, pkt);
		put_late(u);
		break;
	case UNTIMED_LATE:
		put_late(u);
		f = malloc(sizeof(*f));
		if (f)
			f->pkt = pkt;
		else
			hca_packet_free(pkt);
		u->late = f;
		break;
	default:
		put_frame(u, pkt);
		put_late(u);
		break;
	}
}

static bool step_wire(struct untimed *u)
{
	struct frame *f = u->wire;
	struct end *to;
	uint8_t port;

	if (!f)
		return false;
	if (!route(u, f->pkt, &to, &port))
		hca_packet_free(f->pkt);
	else if (hca_rx_ready(to->hca, port))
		hca_rx(to->hca, port, f->pkt);
	else
		return false;
	u->wire = f->next;
	if (!u->wire)
		u->wire_tail = &u->wire;
	free(f);
	return true;
}

/* ---- Host operations ---- */

static hca_ps on_now(void *host)
{
	return ((struct end *)host)->u->now;
}

static void on_dma(void *host, struct hca_dma *dma)
{
	struct end *e = host;

	dma->next = NULL;
	*e->dma_tail = dma;
	e->dma_tail = &dma->next;
}

static void on_msix(void *host, unsigned int vector)
{
	struct end *e = host;

	if (e->u->hooks.msix)
		e->u->hooks.msix(e->u->hooks.ctx, e->index, vector);
}

static void on_timer(void *host, hca_ps deadline)
{
	((struct end *)host)->deadline = deadline;
}

/* ---- Running ---- */

static bool step_stage(struct end *e, unsigned int stage)
{
	struct hca_work w;

	if (!hca_stage_pending(e->hca, stage, &w))
		return false;
	hca_stage_step(e->hca, stage);
	return true;
}

bool untimed_step(struct untimed *u)
{
	const unsigned int per = HCA_NUM_STAGES + 1, all = u->num * per + 1;
	unsigned int start = u->shuffle ? (unsigned int)(next_random(u) % all) : u->turn, i;

	for (i = 0; i < all; i++) {
		unsigned int at = (start + i) % all;
		struct end *e = &u->end[at / per];

		u->turn = (at + 1) % all;
		if (at == all - 1                ? step_wire(u)
		    : at % per == HCA_NUM_STAGES ? step_dma(e)
						 : step_stage(e, at % per))
			return true;
	}
	if (!u->late)
		return false;
	put_late(u); /* nothing followed it */
	return true;
}

bool untimed_run(struct untimed *u, uint64_t steps)
{
	while (steps--)
		if (!untimed_step(u))
			return true;
	return false;
}

hca_ps untimed_next_timer(const struct untimed *u)
{
	hca_ps first = HCA_PS_NEVER;
	unsigned int i;

	for (i = 0; i < u->num; i++)
		if (u->end[i].deadline < first)
			first = u->end[i].deadline;
	return first;
}

void untimed_advance(struct untimed *u, hca_ps now)
{
	unsigned int i;

	if (now > u->now)
		u->now = now;
	for (i = 0; i < u->num; i++)
		if (u->end[i].deadline <= u->now)
			hca_timers(u->end[i].hca);
}

bool untimed_settle(struct untimed *u, hca_ps until, uint64_t steps)
{
	while (untimed_run(u, steps)) {
		hca_ps next = untimed_next_timer(u);

		if (next > until)
			return true;
		untimed_advance(u, next);
	}
	return false;
}

hca_ps untimed_now(const struct untimed *u)
{
	return u->now;
}

struct hca *untimed_hca(struct untimed *u, unsigned int index)
{
	return u->end[index].hca;
}

/* ---- Life ---- */

static bool end_init(struct untimed *u, unsigned int i, const struct hca_personality *pers,
		     const struct hca_config *cfg)
{
	static const struct hca_ops ops = {
		.now = on_now,
		.dma = on_dma,
		.tx = on_tx,
		.msix = on_msix,
		.timer = on_timer,
	};
	struct hca_config own = {.num_ports = 1,
				 .max_qp = 256,
				 .max_cq = 256,
				 .max_mr = 1024,
				 .max_mw = 64,
				 .max_rd_atomic = 16,
				 .acks_after_landing = 1};
	struct end *e = &u->end[i];
	uint8_t port, gid[16];

	if (cfg)
		own = *cfg;
	own.node_guid = i + 1;
	for (port = 1; port <= own.num_ports; port++)
		untimed_mac(i, port, own.mac[port - 1]);
	e->u = u;
	e->index = i;
	e->dma_tail = &e->dma_head;
	e->deadline = HCA_PS_NEVER;
	e->hca = hca_create(&own, pers, &ops, e);
	for (port = 1; e->hca && port <= own.num_ports; port++) {
		untimed_gid(i, port, gid);
		hca_gid_set(e->hca, port, 0, gid);
	}
	return e->hca;
}

struct untimed *untimed_create(unsigned int num, const struct hca_personality *pers,
			       const struct hca_config *cfg, const struct untimed_hooks *hooks, uint64_t seed)
{
	struct untimed *u = calloc(1, sizeof(*u) + num * sizeof(struct end));
	unsigned int i;

	if (!u)
		return NULL;
	u->num = num;
	u->rand = seed | 1;
	u->shuffle = seed;
	u->wire_tail = &u->wire;
	if (hooks)
		u->hooks = *hooks;
	for (i = 0; i < num; i++) {
		if (!end_init(u, i, pers, cfg)) {
			untimed_destroy(u);
			return NULL;
		}
	}
	return u;
}

void untimed_destroy(struct untimed *u)
{
	struct frame *f;
	unsigned int i;

	for (i = 0; i < u->num; i++)
		hca_destroy(u->end[i].hca);
	put_late(u);
	while ((f = u->wire)) {
		u->wire = f->next;
		hca_packet_free(f->pkt);
		free(f);
	}
	free(u);
}
