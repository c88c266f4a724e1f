// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Random bytes where bytes come from somebody else: bounded and seeded. Nothing may crash or hang. */
#include "fixture.h"
#include "core/wire/frame.h"

#define ROUNDS 300

/*
 * Half right is worse than all wrong: WQEs are good ones with some bytes changed. They have what the engine rtl
 * has: both checksums or none, no headers and no inline data with SGEs.
 */
static void fuzz_wqe(struct fixture_qp *qp, struct pair *p)
{
	struct fixture *fixture = p->fixture;
	struct tiny_wqe w = {.op = (uint8_t)(fixture_random(fixture) % 16),
			     .flags = (uint32_t)fixture_random(fixture) & 0x1f,
			     .remote_addr = (uintptr_t)p->mem[!qp->side] + fixture_random(fixture) % 5000,
			     .rkey = p->key[!qp->side],
			     .ud_qpn = p->qp[!qp->side]->qpn};
	struct hca_sge sge[3];
	struct hca_av av = {.port = 1};
	uint8_t *raw;
	uint16_t index;
	unsigned int i;

	untimed_gid(!qp->side, 1, av.dgid);
	untimed_mac(!qp->side, 1, av.dmac);
	for (i = 0; i < 3; i++)
		sge[i] = fixture_sge(p->mem[qp->side] + fixture_random(fixture) % 4000,
				     (uint32_t)(fixture_random(fixture) % 300), p->key[qp->side]);
	if (w.flags & HCA_WR_INLINE)
		w.num_sge = (uint32_t)(fixture_random(fixture) % 48);
	index = fixture_put(qp, &w, qp->type == HCASIM_QPT_UD ? &av : NULL, sge,
			    (uint32_t)(fixture_random(fixture) % 4));
	raw = qp->sq + (size_t)(index & (qp->sq_bbs - 1)) * TINY_BB;
	for (i = 0; i < fixture_random(fixture) % 3; i++)
		raw[fixture_random(fixture) % TINY_BB] = (uint8_t)fixture_random(fixture);
	memcpy(&w, raw, sizeof(w));
	w.flags &= ~(TINY_LEAD | TINY_HEADERS);
	if (w.flags & HCA_WR_IP_CSUM)
		w.flags |= HCA_WR_IP_CSUM;
	memcpy(raw, &w, sizeof(w));
}

static void revive(struct pair *p, unsigned int side)
{
	struct fixture_path path = {.mtu = (uint8_t)(1 + fixture_random(p->fixture) % 5),
				    .timeout = 1,
				    .retry = 1,
				    .rnr_timer = 1,
				    .rnr_retry = 1};

	if (fixture_query(p->qp[side]) == HCASIM_QPS_RTS)
		return;
	fixture_state(p->qp[0], HCASIM_QPS_RESET);
	fixture_state(p->qp[1], HCASIM_QPS_RESET);
	if (p->qp[0]->type == HCASIM_QPT_UD) {
		fixture_ud_up(p->qp[0], 0);
		fixture_ud_up(p->qp[1], 0);
	} else {
		fixture_connect(p->qp[0], p->qp[1], &path);
	}
}

static void empty(struct fixture_cq *cq)
{
	struct tiny_cqe c;

	while (fixture_poll(cq, &c))
		;
	fixture_cq_sync(cq);
}

static void fuzz_wqes(uint8_t type)
{
	struct pair p;
	unsigned int i, k, side;

	pair_new(&p, type, NULL, NULL, 99 + type, 8192);
	if (type == HCASIM_QPT_UD) {
		fixture_ud_up(p.qp[0], 0);
		fixture_ud_up(p.qp[1], 0);
	}
	for (i = 0; i < ROUNDS; i++) {
		for (side = 0; side < 2; side++) {
			for (k = 0; k < 4; k++) {
				struct hca_sge sge = fixture_sge(
					p.mem[side] + fixture_random(p.fixture) % 9000,
					(uint32_t)(fixture_random(p.fixture) % 2000), p.key[side]);

				if (p.qp[side]->rq_pi < 60)
					fixture_recv(p.qp[side], &sge, 1);
				fuzz_wqe(p.qp[side], &p);
			}
			fixture_ring(p.qp[side]);
			if (!(fixture_random(p.fixture) % 8))
				fixture_ring_at(p.qp[side], (uint16_t)fixture_random(p.fixture));
			if (!(fixture_random(p.fixture) % 8))
				p.qp[side]->rec->rq_pi = (uint32_t)fixture_random(p.fixture);
			if (!(fixture_random(p.fixture) % 8))
				fixture_arm(p.scq[side], (unsigned int)fixture_random(p.fixture),
					    fixture_random(p.fixture) & 1);
		}
		fixture_settle(p.fixture, MS);
		for (side = 0; side < 2; side++) {
			empty(p.scq[side]);
			empty(p.rcq[side]);
			revive(&p, side);
		}
		if (cq_find(p.fixture->hca[0], p.scq[0]->cqn)->error ||
		    cq_find(p.fixture->hca[1], p.rcq[1]->cqn)->error)
			break; /* garbage in a record became an overrun: also an answer */
	}
	pair_free(&p);
}

static void wqes(void)
{
	fuzz_wqes(HCASIM_QPT_RC);
	fuzz_wqes(HCASIM_QPT_UC);
	fuzz_wqes(HCASIM_QPT_UD);
}

/* ---- Packets ---- */

static void fix_icrc(struct hca_packet *pkt, uint32_t seed)
{
	uint32_t icrc;

	if (pkt->len < ETH_LEN + IPV6_LEN + UDP_LEN + 12 + 4)
		return;
	icrc = htole32(icrc_frame(seed, pkt->data, pkt->len - 4));
	memcpy(pkt->data + pkt->len - 4, &icrc, 4);
}

/* Frames of the run, with bytes changed behind the UDP header; most get a right ICRC again. */
static enum untimed_fate mutate(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	unsigned int i, n = (unsigned int)(fixture_random(fixture) % 4);

	if (fixture_random(fixture) % 3)
		return (enum untimed_fate)(fixture_random(fixture) % 4);
	for (i = 0; i < n; i++)
		pkt->data[fixture_random(fixture) % 8 ? 42 + fixture_random(fixture) % (pkt->len - 42)
						      : fixture_random(fixture) % pkt->len] =
			(uint8_t)fixture_random(fixture);
	if (fixture_random(fixture) % 8 == 0)
		pkt->data[42] = (uint8_t)(fixture_random(fixture) % 0x18);
	fix_icrc(pkt, fixture->hca[0]->icrc_seed);
	if (fixture_random(fixture) % 16 == 0)
		pkt->len = (uint32_t)(fixture_random(fixture) % pkt->len);
	return UNTIMED_DELIVER;
}

static void fuzz_packets(uint8_t type)
{
	static const uint8_t ops[] = {HCASIM_WQE_OP_SEND,       HCASIM_WQE_OP_SEND_IMM,
				      HCASIM_WQE_OP_RDMA_WRITE, HCASIM_WQE_OP_RDMA_WRITE_IMM,
				      HCASIM_WQE_OP_RDMA_READ,  HCASIM_WQE_OP_ATOMIC_CS,
				      HCASIM_WQE_OP_ATOMIC_FA};
	struct pair p;
	unsigned int i, k, side;

	pair_new(&p, type, NULL, NULL, 7 + type, 65536);
	p.fixture->wire = mutate;
	for (i = 0; i < ROUNDS; i++) {
		for (side = 0; side < 2; side++) {
			for (k = 0; k < 6; k++) {
				uint8_t op = ops[fixture_random(p.fixture) % (type == HCASIM_QPT_RC ? 7 : 4)];
				uint32_t len = op >= HCASIM_WQE_OP_ATOMIC_CS
						       ? 8
						       : (uint32_t)(fixture_random(p.fixture) % 5000);
				struct hca_sge sge = fixture_sge(p.mem[side], 6000, p.key[side]);

				if (p.qp[side]->rq_pi < 60)
					fixture_recv(p.qp[side], &sge, 1);
				fixture_send(p.qp[side], op, HCA_WR_SIGNALED,
					     fixture_sge(p.mem[side] + 8000, len, p.key[side]),
					     (uintptr_t)p.mem[!side] + 16000, p.key[!side]);
			}
		}
		fixture_settle(p.fixture, 10 * MS);
		for (side = 0; side < 2; side++) {
			empty(p.scq[side]);
			empty(p.rcq[side]);
			revive(&p, side);
		}
	}
	pair_free(&p);
}

static void packets(void)
{
	fuzz_packets(HCASIM_QPT_RC);
	fuzz_packets(HCASIM_QPT_UC);
}

static void random_frames(void)
{
	struct hca_counters c;
	unsigned int i, k;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	for (i = 0; i < 20000; i++) {
		uint32_t len = (uint32_t)(fixture_random(p.fixture) % 200);
		struct hca_packet *pkt = hca_packet_alloc(len);

		pkt->len = len;
		for (k = 0; k < len; k++)
			pkt->data[k] = (uint8_t)fixture_random(p.fixture);
		if (len > 36 && i & 1) {
			put16(pkt->data + ETH_TYPE, ETH_TYPE_IPV4);
			pkt->data[14] = 0x45;
		}
		hca_rx(p.fixture->hca[1], (uint8_t)(i % 4), pkt);
		if (i % 64 == 0)
			fixture_run(p.fixture);
	}
	fixture_run(p.fixture);
	hca_counters(p.fixture->hca[1], &c);
	CU_ASSERT_EQUAL(c.rx_packets, 0);
	CU_ASSERT_EQUAL(c.rx_dropped, 20000);
	pair_free(&p);
}

static void random_stores(void)
{
	uint8_t data[64];
	unsigned int i, k;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 5, 4096);
	for (i = 0; i < 20000; i++) {
		for (k = 0; k < 64; k++)
			data[k] = (uint8_t)fixture_random(p.fixture);
		if (i & 1) { /* plausible */
			memset(data, 0, 16);
			data[0] = (uint8_t)p.qp[0]->qpn;
			data[4] = (uint8_t)p.qp[0]->qpn;
			data[2] = 1;
			data[3] = (uint8_t)(fixture_random(p.fixture) % 20);
		}
		hca_mmio_write(p.fixture->hca[0], TINY_BAR_UAR,
			       fixture_random(p.fixture) % 2
				       ? TINY_BF + fixture_random(p.fixture) % 64 * 8
				       : fixture_random(p.fixture) % (2 * TINY_UAR_PAGE),
			       data, (uint32_t)(1 + fixture_random(p.fixture) % 64));
		if (i % 16 == 0)
			fixture_run(p.fixture);
	}
	fixture_settle(p.fixture, 10 * MS);
	pair_free(&p);
}

const struct test fuzz_tests[] = {
	{"WQEs", wqes},
	{"packets", packets},
	{"random frames", random_frames},
	{"random stores", random_stores},
	{NULL, NULL},
};
