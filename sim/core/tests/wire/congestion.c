// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* DCQCN: the rate of a flow as in the paper, notifications, and what they do to a QP. */
#include "fixture.h"
#include "core/base/dcqcn.h"
#include "core/wire/frame.h"

#define LINE  40000000u /* kbit/s */
#define US    1000000ull
#define BYTES 4096u

/* The figures of the paper, section 5.2; a rate that is easy to follow. */
static const struct hca_dcqcn figures = {.on = true,
					 .cnp_interval = 50 * US,
					 .alpha_timer = 55 * US,
					 .rate_timer = 55 * US,
					 .byte_counter = 10000000,
					 .fast_recovery = 5,
					 .g = DCQCN_ONE / 256,
					 .additive = 40000,
					 .hyper = 400000,
					 .min_rate = 10000};

static void cuts(void)
{
	struct hca_dcqcn cfg = figures;
	struct dcqcn d = {0};

	dcqcn_cut(&d, &cfg, LINE);
	CU_ASSERT(d.limited && d.rate == 20000000 && d.target == 40000000 && d.alpha == 65536);
	dcqcn_cut(&d, &cfg, LINE);
	CU_ASSERT(d.rate == 10000000 && d.target == 20000000 && d.alpha == 65536);
	dcqcn_decay(&d, &cfg);
	CU_ASSERT_EQUAL(d.alpha, 65280); /* 255/256 */
	dcqcn_decay(&d, &cfg);
	CU_ASSERT_EQUAL(d.alpha, 65025);
	dcqcn_cut(&d, &cfg, LINE); /* by 32512/65536 */
	CU_ASSERT(d.target == 10000000 && d.rate == 10000000 - 4960937 && d.alpha == 65025 - 254 + 256);
	cfg.g *= 2;
	d.alpha = 65536;
	dcqcn_decay(&d, &cfg);
	CU_ASSERT_EQUAL(d.alpha, 65024);
	cfg.min_rate = 5000000;
	for (unsigned int i = 0; i < 20; i++)
		dcqcn_cut(&d, &cfg, LINE);
	CU_ASSERT_EQUAL(d.rate, 5000000);
}

/* Rates after each expiration of the timer. */
static void increases(void)
{
	static const uint32_t expected[] = {30000000, 35000000, 37500000, 38750000, 39375000, 39687500};
	struct hca_dcqcn cfg = figures;
	struct dcqcn d = {0};
	unsigned int i;

	dcqcn_cut(&d, &cfg, LINE);
	for (i = 0; i < 6; i++) { /* additive increase stops at the line's rate */
		dcqcn_timeout(&d, &cfg, LINE);
		CU_ASSERT_EQUAL(d.rate, expected[i]);
		CU_ASSERT_EQUAL(d.target, LINE);
	}
	while (d.limited && i++ < 100)
		dcqcn_timeout(&d, &cfg, LINE);
	CU_ASSERT_EQUAL(i, 25); /* half of what is missing each time: 2^25 > 20,000,000 */
	CU_ASSERT_EQUAL(d.rate, LINE);
}

/* The target after `timeouts` and `laps` of the byte counter, from a cut from 10 to 5 Gb/s. */
static uint32_t target(const struct hca_dcqcn *cfg, unsigned int timeouts, unsigned int laps)
{
	struct dcqcn d = {.limited = true, .rate = 10000000, .alpha = DCQCN_ONE};

	dcqcn_cut(&d, cfg, LINE);
	while (timeouts--)
		dcqcn_timeout(&d, cfg, LINE);
	while (laps)
		laps -= dcqcn_sent(&d, cfg, LINE, 1000000);
	return d.target;
}

static void phases(void)
{
	struct hca_dcqcn cfg = figures;

	CU_ASSERT_EQUAL(target(&cfg, 4, 4), 10000000);
	CU_ASSERT_EQUAL(target(&cfg, 7, 0), 10000000 + 3 * 40000);
	CU_ASSERT_EQUAL(target(&cfg, 0, 7), 10000000 + 3 * 40000);
	CU_ASSERT_EQUAL(target(&cfg, 6, 7), 10000000 + (2 + 5) * 40000 + 2 * 400000);
	cfg.additive *= 2;
	CU_ASSERT_EQUAL(target(&cfg, 6, 7), 10000000 + (2 + 5) * 80000 + 2 * 400000);
	cfg.hyper *= 2;
	CU_ASSERT_EQUAL(target(&cfg, 6, 7), 10000000 + (2 + 5) * 80000 + 2 * 800000);
	cfg.fast_recovery *= 2;
	CU_ASSERT_EQUAL(target(&cfg, 6, 7), 10000000);
	CU_ASSERT_EQUAL(target(&cfg, 11, 0), 10000000 + 2 * 80000);
}

static void byte_counter(void)
{
	struct hca_dcqcn cfg = figures;
	struct dcqcn d = {0};

	for (unsigned int twice = 1; twice <= 2; twice++) {
		cfg.byte_counter = twice * 10 * BYTES;
		d.bytes = 0;
		for (unsigned int i = 1; i < twice * 10; i++)
			CU_ASSERT_FALSE(dcqcn_sent(&d, &cfg, LINE, BYTES));
		CU_ASSERT(dcqcn_sent(&d, &cfg, LINE, BYTES));
		CU_ASSERT_EQUAL(d.laps, twice);
	}
}

/* ---- On adapters ---- */

static struct {
	unsigned int n[2], cnps; /* data packets of side 0, marked and all; CNPs of side 1 */
	hca_ps last;
	bool mark;
	uint8_t cnp[ETH_LEN + IPV4_LEN + UDP_LEN + 12 + HCASIM_CNP_PAYLOAD + 4];
} seen;

static enum untimed_fate look(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	uint8_t opcode = pkt->data[ETH_LEN + IPV4_LEN + UDP_LEN];

	if (opcode == HCASIM_BTH_OP_CNP) {
		CU_ASSERT_EQUAL_FATAL(pkt->len, sizeof(seen.cnp));
		memcpy(seen.cnp, pkt->data, pkt->len);
		seen.cnps++;
	} else if (!from) {
		seen.last = untimed_now(fixture->u);
		seen.n[1]++;
		seen.n[0] += seen.mark && hca_packet_mark(pkt);
	}
	return UNTIMED_DELIVER;
}

static void begin(struct pair *p, uint8_t type, const struct hca_dcqcn *dcqcn)
{
	const struct hca_config cfg = {.num_ports = 1,
				       .max_qp = 16,
				       .max_cq = 16,
				       .max_mr = 16,
				       .max_rd_atomic = 16,
				       .acks_after_landing = 1,
				       .port_rate = LINE / 1000,
				       .dcqcn = *dcqcn};

	memset(&seen, 0, sizeof(seen));
	seen.mark = true;
	pair_new(p, type, NULL, &cfg, 0, 65536);
	p->fixture->wire = look;
}

static void write_one(struct pair *p, uint32_t len)
{
	fixture_send(p->qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p->mem[0], len, p->key[0]),
		     (uintptr_t)p->mem[1], p->key[1]);
	fixture_run(p->fixture);
}

static struct hca_counters counters(struct pair *p, unsigned int side)
{
	struct hca_counters c;

	hca_counters(p->fixture->hca[side], &c);
	return c;
}

/* A CNP for a marked packet, and no other before the interval has passed. */
static void notification(void)
{
	/* What a ConnectX-4 Lx sends, from the packet's type of service and from its BTH on, with its QPN. */
	static const uint8_t bth[] = {0x81, 0x00, 0xff, 0xff, 0x40};

	for (unsigned int twice = 1; twice <= 2; twice++) {
		struct hca_dcqcn cfg = figures;
		struct pair p;

		cfg.cnp_interval *= twice;
		begin(&p, HCASIM_QPT_RC, &cfg);
		write_one(&p, 64);
		CU_ASSERT_EQUAL(seen.cnps, 1);
		CU_ASSERT_EQUAL(seen.cnp[ETH_LEN + IPV4_TOS], 0xc2);
		CU_ASSERT_EQUAL(memcmp(seen.cnp + ETH_LEN + IPV4_LEN + UDP_LEN, bth, sizeof(bth)), 0);
		CU_ASSERT_EQUAL(seen.cnp[ETH_LEN + IPV4_LEN + UDP_LEN + 7], p.qp[0]->qpn);
		fixture_settle(p.fixture, twice * 50 * US - 1);
		write_one(&p, 64);
		CU_ASSERT_EQUAL(seen.cnps, 1);
		fixture_settle(p.fixture, US); /* the flow's rate makes the third one wait */
		write_one(&p, 64);
		CU_ASSERT_EQUAL(seen.cnps, 2);
		CU_ASSERT_EQUAL(counters(&p, 1).np_ecn_marked_roce_packets, 3);
		CU_ASSERT_EQUAL(counters(&p, 1).np_cnp_sent, 2);
		CU_ASSERT_EQUAL(counters(&p, 0).rp_cnp_handled, 2);
		pair_free(&p);
	}
}

/* After a CNP packets keep the distance of half the line's rate; the timer lets it grow. */
static void pacing(void)
{
	struct hca_dcqcn cfg = figures;
	struct pair p;
	hca_ps start;

	begin(&p, HCASIM_QPT_RC, &cfg);
	write_one(&p, 64);
	seen.mark = false;
	write_one(&p, 64);
	start = untimed_now(p.fixture->u);
	write_one(&p, 64);
	write_one(&p, 64);
	CU_ASSERT_EQUAL(seen.n[1], 2); /* the second is paid for after it has left */
	fixture_settle(p.fixture, US);
	CU_ASSERT_EQUAL(seen.n[1], 4);
	/* 138 bytes: Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, data 64, ICRC 4, at 20 Gb/s */
	CU_ASSERT_EQUAL(seen.last - start, 2 * 138 * 8 * 50);
	fixture_settle(p.fixture, 26 * 55 * US);
	start = untimed_now(p.fixture->u);
	for (unsigned int i = 0; i < 4; i++)
		write_one(&p, 64);
	CU_ASSERT_EQUAL(seen.last, start); /* as fast as before */
	pair_free(&p);
}

/* Steps of 1 us until the value changes. */
static unsigned int changes_after(struct pair *p, const uint32_t *value)
{
	const uint32_t before = *value;
	unsigned int us = 0;

	while (*value == before && us < 1000) {
		fixture_settle(p->fixture, US);
		us++;
	}
	return us;
}

/* Each timer has its own time. */
static void timers(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		const unsigned int alpha = i & 1 ? 110 : 55, rate = i & 2 ? 140 : 70;
		struct hca_dcqcn cfg = figures;
		struct pair p;

		cfg.alpha_timer = alpha * US;
		cfg.rate_timer = rate * US;
		begin(&p, HCASIM_QPT_RC, &cfg);
		write_one(&p, 64);
		CU_ASSERT_EQUAL(changes_after(&p, &qp_find(p.fixture->hca[0], p.qp[0]->qpn)->cc.dcqcn.alpha),
				alpha);
		pair_free(&p);
		begin(&p, HCASIM_QPT_RC, &cfg);
		write_one(&p, 64);
		CU_ASSERT_EQUAL(changes_after(&p, &qp_find(p.fixture->hca[0], p.qp[0]->qpn)->cc.dcqcn.rate),
				rate);
		pair_free(&p);
	}
}

static void off(void)
{
	const struct hca_dcqcn cfg = {.on = false};
	struct pair p;

	begin(&p, HCASIM_QPT_RC, &cfg);
	write_one(&p, 64);
	CU_ASSERT(seen.n[1] == 1 && seen.n[0] == 0 && seen.cnps == 0); /* it does not take part */
	pair_free(&p);
}

const struct test congestion_tests[] = {
	{"cuts", cuts},
	{"increases", increases},
	{"phases", phases},
	{"byte counter", byte_counter},
	{"notification", notification},
	{"pacing", pacing},
	{"timers", timers},
	{"off", off},
	{NULL, NULL},
};
