// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/base/dcqcn.h"

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t part(uint32_t v, uint32_t fraction)
{
	return (uint32_t)((uint64_t)v * fraction / DCQCN_ONE);
}

/* Equation 1. Fast recovery begins. */
void dcqcn_cut(struct dcqcn *d, const struct hca_dcqcn *cfg, uint32_t line)
{
	if (!d->limited)
		*d = (struct dcqcn){.limited = true, .rate = line, .alpha = DCQCN_ONE};
	d->target = d->rate;
	d->rate = most(d->rate - part(d->rate, d->alpha / 2), least(cfg->min_rate, line));
	d->alpha = d->alpha - part(d->alpha, cfg->g) + cfg->g;
	d->timeouts = d->laps = 0;
	d->bytes = 0;
}

/* Equation 2. */
void dcqcn_decay(struct dcqcn *d, const struct hca_dcqcn *cfg)
{
	d->alpha -= part(d->alpha, cfg->g);
}

/* Figure 7: fast recovery, additive and hyper increase. */
static void increase(struct dcqcn *d, const struct hca_dcqcn *cfg, uint32_t line)
{
	if (least(d->timeouts, d->laps) > cfg->fast_recovery)
		d->target += cfg->hyper;
	else if (most(d->timeouts, d->laps) >= cfg->fast_recovery)
		d->target += cfg->additive;
	d->target = least(d->target, line);
	d->rate = d->rate + (d->target - d->rate + 1) / 2;
	if (d->rate >= line)
		d->limited = false;
}

void dcqcn_timeout(struct dcqcn *d, const struct hca_dcqcn *cfg, uint32_t line)
{
	d->timeouts++;
	increase(d, cfg, line);
}

bool dcqcn_sent(struct dcqcn *d, const struct hca_dcqcn *cfg, uint32_t line, uint32_t bytes)
{
	d->bytes += bytes;
	if (d->bytes < cfg->byte_counter)
		return false;
	d->bytes = 0;
	d->laps++;
	increase(d, cfg, line);
	return true;
}
