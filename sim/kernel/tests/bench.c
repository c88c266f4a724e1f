// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <string.h>

#include "devices/family.h"
#include "bench.h"

#define MAX_HCAS 4

struct adapter {
	unsigned int index;
	struct hca_config cfg;
	struct hca *hca;
	struct hca_dma *dma_first, **dma_last;
	uint64_t irqs; /* one bit per vector */
	hca_ps deadline;
};

static struct adapter adapters[MAX_HCAS];
static unsigned int num_adapters;
static struct kernel *kernel;
static hca_ps now_ps;
static bool lose;

static hca_ps op_now(void *host)
{
	return now_ps;
}

static void op_ready(void *host, enum hca_stage stage)
{
}

static void op_dma(void *host, struct hca_dma *dma)
{
	struct adapter *a = host;

	dma->next = NULL;
	*a->dma_last = dma;
	a->dma_last = &dma->next;
}

static void op_tx(void *host, uint8_t port, struct hca_packet *pkt)
{
	if (lose) {
		hca_packet_free(pkt);
		return;
	}
	for (unsigned int i = 0; i < num_adapters; i++) {
		if (!memcmp(adapters[i].cfg.mac[0], pkt->data, 6)) {
			hca_rx(adapters[i].hca, 1, pkt);
			return;
		}
	}
	hca_packet_free(pkt);
}

static void op_msix(void *host, unsigned int vector)
{
	((struct adapter *)host)->irqs |= 1ull << vector;
}

static void op_timer(void *host, hca_ps deadline)
{
	((struct adapter *)host)->deadline = deadline;
}

static const struct hca_ops ops = {
	.now = op_now,
	.stage_ready = op_ready,
	.dma = op_dma,
	.tx = op_tx,
	.msix = op_msix,
	.timer = op_timer,
};

int bench_start(unsigned int num)
{
	for (num_adapters = 0; num_adapters < num; num_adapters++) {
		struct adapter *a = &adapters[num_adapters];
		struct hca_config *c = &a->cfg;

		memset(a, 0, sizeof(*a));
		a->index = num_adapters;
		a->dma_last = &a->dma_first;
		a->deadline = HCA_PS_NEVER;
		snprintf(c->name, sizeof(c->name), "hcasim%u", num_adapters);
		c->node_guid = 0x0002c90300001000ull + num_adapters;
		c->num_ports = 1;
		memcpy(c->mac[0], (uint8_t[]){0x02, 0, 0, 0, 0x10, num_adapters}, 6);
		c->max_qp = 64;
		c->max_cq = 64;
		c->max_mr = 64;
		c->max_mw = 16;
		c->max_srq = 64;
		c->max_rd_atomic = 16;
		a->hca = hca_create(c, device_family(DEVICE_FAMILY_DEFAULT)->personality, &ops, a);
		if (!a->hca)
			return 1;
	}
	return 0;
}

void bench_stop(void)
{
	while (num_adapters)
		hca_destroy(adapters[--num_adapters].hca);
}

struct hca *bench_core(unsigned int index)
{
	return adapters[index].hca;
}

const struct hca_config *bench_config(unsigned int index)
{
	return &adapters[index].cfg;
}

void bench_set_kernel(struct kernel *k)
{
	kernel = k;
}

/* The host memory of every address space is memory of this process. */
static void move(struct hca_dma *dma)
{
	uint8_t *buf = dma->buf;

	for (uint32_t i = 0; i < dma->nseg; i++) {
		void *host = (void *)(uintptr_t)dma->seg[i].addr;

		if (dma->write)
			memcpy(host, buf, dma->seg[i].len);
		else
			memcpy(buf, host, dma->seg[i].len);
		buf += dma->seg[i].len;
	}
	dma->status = 0;
}

static bool settle_adapter(struct adapter *a)
{
	struct hca_work work;
	struct hca_dma *dma;
	bool busy = false;

	for (unsigned int s = 0; s < HCA_NUM_STAGES; s++) {
		while (hca_stage_pending(a->hca, s, &work)) {
			hca_stage_step(a->hca, s);
			busy = true;
		}
	}
	while ((dma = a->dma_first)) {
		a->dma_first = dma->next;
		if (!a->dma_first)
			a->dma_last = &a->dma_first;
		move(dma);
		hca_dma_done(a->hca, dma);
		busy = true;
	}
	for (unsigned int v = 0; a->irqs; v++) {
		if (a->irqs & (1ull << v)) {
			a->irqs &= ~(1ull << v);
			kernel_irq(kernel, a->index, v);
			busy = true;
		}
	}
	return busy;
}

void bench_settle(void)
{
	bool busy;

	do {
		busy = false;
		for (unsigned int i = 0; i < num_adapters; i++)
			busy |= settle_adapter(&adapters[i]);
		now_ps += 1000;
	} while (busy);
}

hca_ps bench_now(void *arg)
{
	return now_ps;
}

void bench_lose(bool all)
{
	lose = all;
}

static hca_ps next_deadline(void)
{
	hca_ps first = HCA_PS_NEVER;

	for (unsigned int i = 0; i < num_adapters; i++) {
		if (adapters[i].deadline < first)
			first = adapters[i].deadline;
	}
	return first;
}

void bench_pass(uint64_t ms)
{
	const hca_ps end = now_ps + ms * 1000000000ull;

	bench_settle();
	while (next_deadline() <= end) {
		if (next_deadline() > now_ps)
			now_ps = next_deadline();
		for (unsigned int i = 0; i < num_adapters; i++)
			hca_timers(adapters[i].hca);
		bench_settle();
	}
	if (now_ps < end)
		now_ps = end;
}
