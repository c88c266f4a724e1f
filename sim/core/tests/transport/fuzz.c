// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Random bytes where bytes come from somebody else: bounded and seeded. Nothing may crash or hang. */
#include "bed.h"
#include "core/wire/frame.h"

#define ROUNDS 300

/* Half right is worse than all wrong: WQEs are good ones with some bytes changed. */
static void fuzz_wqe(struct bed_qp *qp, struct pair *p)
{
	struct bed *bed = p->bed;
	struct tiny_wqe w = {.op = (uint8_t)(bed_random(bed) % 16),
			     .flags = (uint32_t)bed_random(bed) & 0x1f,
			     .remote_addr = (uintptr_t)p->mem[!qp->side] + bed_random(bed) % 5000,
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
		sge[i] = bed_sge(p->mem[qp->side] + bed_random(bed) % 4000, (uint32_t)(bed_random(bed) % 300),
				 p->key[qp->side]);
	if (w.flags & HCA_WR_INLINE)
		w.num_sge = (uint32_t)(bed_random(bed) % 48);
	index = bed_put(qp, &w, qp->type == HCASIM_QPT_UD ? &av : NULL, sge, (uint32_t)(bed_random(bed) % 4));
	raw = qp->sq + (size_t)(index & (qp->sq_bbs - 1)) * TINY_BB;
	for (i = 0; i < bed_random(bed) % 3; i++)
		raw[bed_random(bed) % TINY_BB] = (uint8_t)bed_random(bed);
}

static void revive(struct pair *p, unsigned int side)
{
	struct bed_path path = {.mtu = (uint8_t)(1 + bed_random(p->bed) % 5),
				.timeout = 1,
				.retry = 1,
				.rnr_timer = 1,
				.rnr_retry = 1};

	if (bed_query(p->qp[side]) == HCASIM_QPS_RTS)
		return;
	bed_state(p->qp[0], HCASIM_QPS_RESET);
	bed_state(p->qp[1], HCASIM_QPS_RESET);
	if (p->qp[0]->type == HCASIM_QPT_UD) {
		bed_ud_up(p->qp[0], 0);
		bed_ud_up(p->qp[1], 0);
	} else {
		bed_connect(p->qp[0], p->qp[1], &path);
	}
}

static void empty(struct bed_cq *cq)
{
	struct tiny_cqe c;

	while (bed_poll(cq, &c))
		;
	bed_cq_sync(cq);
}

static void fuzz_wqes(uint8_t type)
{
	struct pair p;
	unsigned int i, k, side;

	pair_new(&p, type, NULL, NULL, 99 + type, 8192);
	if (type == HCASIM_QPT_UD) {
		bed_ud_up(p.qp[0], 0);
		bed_ud_up(p.qp[1], 0);
	}
	for (i = 0; i < ROUNDS; i++) {
		for (side = 0; side < 2; side++) {
			for (k = 0; k < 4; k++) {
				struct hca_sge sge =
					bed_sge(p.mem[side] + bed_random(p.bed) % 9000,
						(uint32_t)(bed_random(p.bed) % 2000), p.key[side]);

				if (p.qp[side]->rq_pi < 60)
					bed_recv(p.qp[side], &sge, 1);
				fuzz_wqe(p.qp[side], &p);
			}
			bed_ring(p.qp[side]);
			if (!(bed_random(p.bed) % 8))
				bed_ring_at(p.qp[side], (uint16_t)bed_random(p.bed));
			if (!(bed_random(p.bed) % 8))
				p.qp[side]->rec->rq_pi = (uint32_t)bed_random(p.bed);
			if (!(bed_random(p.bed) % 8))
				bed_arm(p.scq[side], (unsigned int)bed_random(p.bed), bed_random(p.bed) & 1);
		}
		bed_settle(p.bed, MS);
		for (side = 0; side < 2; side++) {
			empty(p.scq[side]);
			empty(p.rcq[side]);
			revive(&p, side);
		}
		if (cq_find(p.bed->hca[0], p.scq[0]->cqn)->error ||
		    cq_find(p.bed->hca[1], p.rcq[1]->cqn)->error)
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
static enum untimed_fate mutate(struct bed *bed, unsigned int from, struct hca_packet *pkt)
{
	unsigned int i, n = (unsigned int)(bed_random(bed) % 4);

	if (bed_random(bed) % 3)
		return (enum untimed_fate)(bed_random(bed) % 4);
	for (i = 0; i < n; i++)
		pkt->data[bed_random(bed) % 8 ? 42 + bed_random(bed) % (pkt->len - 42)
					      : bed_random(bed) % pkt->len] = (uint8_t)bed_random(bed);
	if (bed_random(bed) % 8 == 0)
		pkt->data[42] = (uint8_t)(bed_random(bed) % 0x18);
	fix_icrc(pkt, bed->hca[0]->icrc_seed);
	if (bed_random(bed) % 16 == 0)
		pkt->len = (uint32_t)(bed_random(bed) % pkt->len);
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
	p.bed->wire = mutate;
	for (i = 0; i < ROUNDS; i++) {
		for (side = 0; side < 2; side++) {
			for (k = 0; k < 6; k++) {
				uint8_t op = ops[bed_random(p.bed) % (type == HCASIM_QPT_RC ? 7 : 4)];
				uint32_t len = op >= HCASIM_WQE_OP_ATOMIC_CS
						       ? 8
						       : (uint32_t)(bed_random(p.bed) % 5000);
				struct hca_sge sge = bed_sge(p.mem[side], 6000, p.key[side]);

				if (p.qp[side]->rq_pi < 60)
					bed_recv(p.qp[side], &sge, 1);
				bed_send(p.qp[side], op, HCA_WR_SIGNALED,
					 bed_sge(p.mem[side] + 8000, len, p.key[side]),
					 (uintptr_t)p.mem[!side] + 16000, p.key[!side]);
			}
		}
		bed_settle(p.bed, 10 * MS);
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
		uint32_t len = (uint32_t)(bed_random(p.bed) % 200);
		struct hca_packet *pkt = hca_packet_alloc(len);

		pkt->len = len;
		for (k = 0; k < len; k++)
			pkt->data[k] = (uint8_t)bed_random(p.bed);
		if (len > 36 && i & 1) {
			put16(pkt->data + ETH_TYPE, ETH_TYPE_IPV4);
			pkt->data[14] = 0x45;
		}
		hca_rx(p.bed->hca[1], (uint8_t)(i % 4), pkt);
		if (i % 64 == 0)
			bed_run(p.bed);
	}
	bed_run(p.bed);
	hca_counters(p.bed->hca[1], &c);
	CU_ASSERT_EQUAL(c.rx_packets, 20000);
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
			data[k] = (uint8_t)bed_random(p.bed);
		if (i & 1) { /* plausible */
			memset(data, 0, 16);
			data[0] = (uint8_t)p.qp[0]->qpn;
			data[4] = (uint8_t)p.qp[0]->qpn;
			data[2] = 1;
			data[3] = (uint8_t)(bed_random(p.bed) % 20);
		}
		hca_mmio_write(p.bed->hca[0], HCASIM_BAR_UAR,
			       bed_random(p.bed) % 2 ? HCASIM_UAR_BF + bed_random(p.bed) % 64 * 8
						     : bed_random(p.bed) % 8192,
			       data, (uint32_t)(1 + bed_random(p.bed) % 64));
		if (i % 16 == 0)
			bed_run(p.bed);
	}
	bed_settle(p.bed, 10 * MS);
	pair_free(&p);
}

const struct test fuzz_tests[] = {
	{"WQEs", wqes},
	{"packets", packets},
	{"random frames", random_frames},
	{"random stores", random_stores},
	{NULL, NULL},
};
