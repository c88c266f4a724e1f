// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Scheduling elements: when each frame leaves, and whose it is. Time stands still but for timers. */
#include "fixture.h"

#define QPS    4u
#define FRAMES 400u
#define SIZE   1500u
#define MBIT   12u /* SIZE takes a millisecond */

static struct {
	unsigned int n, of[QPS]; /* frames: all, and of each QP, which is in their first byte */
	uint8_t who[FRAMES];
	hca_ps at[FRAMES];
} seen;

static struct pair p;
static struct fixture_qp *qp[QPS];
static uint32_t root;

static enum untimed_fate note(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	const unsigned int who = pkt->data[0];

	CU_ASSERT_FATAL(who < QPS && seen.n < FRAMES);
	seen.at[seen.n] = untimed_now(fixture->u);
	seen.who[seen.n++] = (uint8_t)who;
	seen.of[who]++;
	return UNTIMED_DROP;
}

static uint32_t elem(uint32_t parent, bool leaf, uint32_t share, uint32_t rate)
{
	const struct hca_sched_attr attr = {.parent = parent, .leaf = leaf, .share = share, .rate = rate};
	uint32_t id = 0;

	CU_ASSERT_EQUAL_FATAL(hca_sched_create(p.fixture->hca[0], &attr, &id), 0);
	CU_ASSERT_NOT_EQUAL(id, 0);
	return id;
}

static int join(unsigned int who, uint32_t leaf)
{
	return hca_qp_sched(p.fixture->hca[0], qp[who]->qpn, leaf, 0);
}

/* Raw QPs, and a tree without leaves. */
static void begin(void)
{
	unsigned int i;

	memset(&seen, 0, sizeof(seen));
	pair_new(&p, HCASIM_QPT_RAW_PACKET, NULL, NULL, 0, QPS * 4096);
	memset(p.mem[0], 0, p.len);
	p.fixture->wire = note;
	for (i = 0; i < QPS; i++) {
		p.mem[0][i * 4096] = (uint8_t)i;
		qp[i] = i ? fixture_qp(p.fixture, 0, HCASIM_QPT_RAW_PACKET, p.scq[0], p.rcq[0]) : p.qp[0];
		if (i)
			fixture_connect(qp[i], qp[i], NULL);
	}
	root = elem(0, false, 0, 0);
	fixture_settle(p.fixture, 100 * MS); /* of which no rate has saved up more than a frame */
}

static void put(unsigned int who, unsigned int n)
{
	while (n--)
		fixture_send(qp[who], HCASIM_WQE_OP_SEND, 0,
			     fixture_sge(p.mem[0] + who * 4096, SIZE, p.key[0]), 0, 0);
}

/* All of them are posted before any is sent, as the elements of a tree see it. */
static void post(unsigned int n0, unsigned int n1, unsigned int n2)
{
	put(0, n0);
	put(1, n1);
	put(2, n2);
	fixture_run(p.fixture);
}

/* The last frame left so long after the first; a tree that was idle may begin with two frames at once. */
static void expect_time(unsigned int n, hca_ps ps)
{
	CU_ASSERT_EQUAL_FATAL(seen.n, n);
	CU_ASSERT_EQUAL(seen.at[n - 1] - seen.at[0], ps);
}

/* Two queues of a leaf together, in turns; others are not held up. */
static void limit(void)
{
	uint32_t leaf;
	unsigned int i;

	begin();
	leaf = elem(root, true, 0, MBIT);
	CU_ASSERT_EQUAL(join(0, leaf), 0);
	CU_ASSERT_EQUAL(join(1, leaf), 0);
	post(30, 30, 30);
	CU_ASSERT_EQUAL(seen.of[2], 30);
	CU_ASSERT_EQUAL(seen.of[0] + seen.of[1], 2);
	fixture_settle(p.fixture, 28 * MS);
	CU_ASSERT_EQUAL(seen.of[0], 16); /* which was alone when the first two left */
	CU_ASSERT_EQUAL(seen.of[1], 14);
	fixture_settle(p.fixture, 100 * MS);
	expect_time(90, 58 * MS);
	for (i = 34; i < 90; i++)
		CU_ASSERT_EQUAL(seen.at[i] - seen.at[i - 1], MS);
	/* A long pause saves up no more than one frame. */
	seen.n = 0;
	post(5, 0, 0);
	fixture_settle(p.fixture, 100 * MS);
	expect_time(5, 3 * MS);
	pair_free(&p);
}

/* The rate of each element above holds: here that of the node is less than what its leaves may send. */
static void ancestors(void)
{
	uint32_t node, leaf[2];

	begin();
	node = elem(elem(root, false, 0, 2 * MBIT), false, 0, 0);
	leaf[0] = elem(node, true, 0, 10 * MBIT);
	leaf[1] = elem(node, true, 0, MBIT / 2);
	CU_ASSERT_EQUAL(join(0, leaf[0]), 0);
	CU_ASSERT_EQUAL(join(1, leaf[1]), 0);
	post(120, 50, 0);
	fixture_settle(p.fixture, 50 * MS);
	CU_ASSERT_TRUE(seen.n >= 100 && seen.n <= 102);       /* 24 Mbit/s together */
	CU_ASSERT_TRUE(seen.of[1] >= 25 && seen.of[1] <= 27); /* 6 of them; the other has the rest */
	pair_free(&p);
}

/* Of a node with a limit, by time: 1 to 3, with two queues of the greater one. */
static void shares(void)
{
	uint32_t node, leaf[2];

	begin();
	node = elem(root, false, 0, MBIT);
	leaf[0] = elem(node, true, 1, 0);
	leaf[1] = elem(node, true, 3, 0);
	CU_ASSERT_EQUAL(join(0, leaf[0]), 0);
	CU_ASSERT_EQUAL(join(1, leaf[1]), 0);
	CU_ASSERT_EQUAL(join(2, leaf[1]), 0);
	post(100, 100, 100);
	fixture_settle(p.fixture, 98 * MS);
	CU_ASSERT_EQUAL(seen.n, 100);
	CU_ASSERT_TRUE(seen.of[0] >= 24 && seen.of[0] <= 26);
	CU_ASSERT_TRUE(seen.of[1] >= 37 && seen.of[1] <= 38);
	/* From now on 1 to 1. */
	CU_ASSERT_EQUAL(hca_sched_modify(p.fixture->hca[0], leaf[1], 1, 0), 0);
	seen.n = seen.of[0] = 0;
	fixture_settle(p.fixture, 60 * MS);
	CU_ASSERT_EQUAL(seen.n, 60);
	CU_ASSERT_TRUE(seen.of[0] >= 29 && seen.of[0] <= 31);
	pair_free(&p);
}

/* Of a root without one, which the FIFOs behind it slow down: by the order in which they leave. */
static void order(void)
{
	uint32_t leaf[2];
	unsigned int i, n[QPS] = {0};

	begin();
	CU_ASSERT_EQUAL(hca_sched_modify(p.fixture->hca[0], root, 0, 1), 0);
	leaf[0] = elem(elem(root, false, 3, 0), true, 0, 0);
	leaf[1] = elem(root, true, 0, 0); /* a share of 1 */
	CU_ASSERT_EQUAL(join(0, leaf[0]), 0);
	CU_ASSERT_EQUAL(join(1, leaf[1]), 0);
	post(60, 60, 0);
	CU_ASSERT_EQUAL(hca_sched_modify(p.fixture->hca[0], root, 0, 0), 0);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL_FATAL(seen.n, 120);
	for (i = 0; i < 60; i++)
		n[seen.who[i]]++;
	CU_ASSERT_TRUE(n[0] >= 44 && n[0] <= 46);
	pair_free(&p);
}

/* Who has nothing to send leaves its share to the others, and has not saved it up. */
static void idle(void)
{
	uint32_t node, leaf[2];

	begin();
	node = elem(root, false, 0, MBIT);
	leaf[0] = elem(node, true, 1, 0);
	leaf[1] = elem(node, true, 1, 0);
	CU_ASSERT_EQUAL(join(0, leaf[0]), 0);
	CU_ASSERT_EQUAL(join(1, leaf[1]), 0);
	post(100, 0, 0);
	fixture_settle(p.fixture, 40 * MS);
	CU_ASSERT_EQUAL(seen.of[0], 42);
	post(0, 50, 0);
	fixture_settle(p.fixture, 40 * MS);
	CU_ASSERT_TRUE(seen.of[1] >= 19 && seen.of[1] <= 21);
	pair_free(&p);
}

static void changed(void)
{
	struct hca *hca;
	uint32_t leaf;

	begin();
	hca = p.fixture->hca[0];
	leaf = elem(root, true, 0, MBIT);
	CU_ASSERT_EQUAL(join(0, leaf), 0);
	post(60, 0, 0);
	fixture_settle(p.fixture, 10 * MS + MS / 2);
	expect_time(12, 10 * MS);
	/* Half of a frame is owed: at four times the rate it takes an eighth of a millisecond. */
	CU_ASSERT_EQUAL(hca_sched_modify(hca, leaf, 0, 4 * MBIT), 0);
	fixture_settle(p.fixture, MS + MS / 8);
	expect_time(17, 10 * MS + MS / 2 + MS / 8 + MS);
	CU_ASSERT_EQUAL(hca_sched_modify(hca, leaf, 0, 0), 0);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(seen.n, 60);
	/* Out of the leaf, and into it again. */
	CU_ASSERT_EQUAL(hca_sched_modify(hca, leaf, 0, MBIT), 0);
	seen.n = 0;
	post(10, 0, 0);
	CU_ASSERT_EQUAL(seen.n, 1);
	CU_ASSERT_EQUAL(join(0, 0), 0);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(seen.n, 10);
	CU_ASSERT_EQUAL(join(0, leaf), 0);
	post(10, 0, 0);
	CU_ASSERT_EQUAL(seen.n, 10);
	fixture_settle(p.fixture, 100 * MS);
	CU_ASSERT_EQUAL(seen.n, 20);
	pair_free(&p);
}

/* RESET and destruction of the queue whose turn it is, or that waits. */
static void ended(void)
{
	struct hca *hca;
	unsigned int before;
	uint32_t leaf;

	begin();
	hca = p.fixture->hca[0];
	leaf = elem(root, true, 0, MBIT);
	CU_ASSERT_EQUAL(join(0, leaf), 0);
	CU_ASSERT_EQUAL(join(1, leaf), 0);
	CU_ASSERT_EQUAL(join(2, leaf), 0);
	post(20, 20, 20);
	CU_ASSERT_EQUAL(hca_sched_destroy(hca, root), -EBUSY);
	CU_ASSERT_EQUAL(hca_sched_destroy(hca, leaf), -EBUSY);
	fixture_state(qp[0], HCASIM_QPS_RESET);
	CU_ASSERT_EQUAL(hca_qp_destroy(hca, qp[1]->qpn), 0);
	before = seen.of[2];
	seen.n = 0;
	fixture_settle(p.fixture, 100 * MS);
	CU_ASSERT_EQUAL(seen.n, 20 - before);
	CU_ASSERT_EQUAL(seen.of[2], 20);
	CU_ASSERT_EQUAL(hca_sched_destroy(hca, leaf), -EBUSY);
	CU_ASSERT_EQUAL(join(2, 0), 0);
	fixture_connect(qp[0], qp[0], NULL); /* it has no element any more */
	seen.n = 0;
	post(20, 0, 0);
	expect_time(20, 0);
	CU_ASSERT_EQUAL(hca_sched_destroy(hca, leaf), 0);
	CU_ASSERT_EQUAL(hca_sched_destroy(hca, leaf), -EINVAL);
	CU_ASSERT_EQUAL(hca_sched_destroy(hca, root), 0);
	pair_free(&p);
}

static void refused(void)
{
	struct hca_sched_attr attr = {.leaf = true};
	struct fixture_qp *ud;
	struct hca *hca;
	uint32_t leaf, id;

	begin();
	hca = p.fixture->hca[0];
	leaf = elem(root, true, 0, 0);
	CU_ASSERT_EQUAL(hca_sched_create(hca, &attr, &id), -EINVAL); /* a leaf without a parent */
	attr.parent = leaf;
	CU_ASSERT_EQUAL(hca_sched_create(hca, &attr, &id), -EINVAL);
	attr.parent = leaf + 1;
	CU_ASSERT_EQUAL(hca_sched_create(hca, &attr, &id), -EINVAL);
	CU_ASSERT_EQUAL(hca_sched_modify(hca, leaf + 1, 1, 1), -EINVAL);
	CU_ASSERT_EQUAL(hca_sched_modify(hca, 0, 1, 1), -EINVAL);
	CU_ASSERT_EQUAL(join(0, root), -EINVAL);
	CU_ASSERT_EQUAL(join(0, leaf + 1), -EINVAL);
	CU_ASSERT_EQUAL(hca_qp_sched(hca, qp[0]->qpn, leaf, leaf), -EINVAL);
	CU_ASSERT_EQUAL(hca_qp_sched(hca, qp[0]->qpn + 1000, leaf, 0), -EINVAL);
	ud = fixture_qp(p.fixture, 0, HCASIM_QPT_UD, p.scq[0], p.rcq[0]);
	CU_ASSERT_EQUAL(hca_qp_sched(hca, ud->qpn, 0, leaf), -EINVAL);
	CU_ASSERT_EQUAL(hca_qp_sched(hca, ud->qpn, leaf, 0), 0);
	CU_ASSERT_EQUAL(hca_sched_destroy(hca, leaf), -EBUSY);
	pair_free(&p); /* with all of it */
}

static void full(void)
{
	const struct hca_sched_attr attr = {.parent = 0};
	uint32_t id, n;

	begin();
	for (n = 1; n < HCA_SCHED_MAX; n++)
		CU_ASSERT_EQUAL(hca_sched_create(p.fixture->hca[0], &attr, &id), 0);
	CU_ASSERT_TRUE(id < HCA_SCHED_END);
	CU_ASSERT_EQUAL(hca_sched_create(p.fixture->hca[0], &attr, &id), -ENOMEM);
	CU_ASSERT_EQUAL(hca_sched_destroy(p.fixture->hca[0], root), 0);
	CU_ASSERT_EQUAL(hca_sched_create(p.fixture->hca[0], &attr, &id), 0);
	pair_free(&p);
}

/* ---- Connected queues ---- */

static unsigned int responses, requests;

static enum untimed_fate count(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	responses += from == 1 && pkt->len > 1000;
	requests += !from && pkt->len > 1000;
	return fixture->n ? UNTIMED_DROP : UNTIMED_DELIVER;
}

static void begin_rc(void)
{
	const struct fixture_path path = {.mtu = HCASIM_MTU_1024, .rd_atomic = 1, .dest_rd_atomic = 1};

	responses = requests = 0;
	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 65536);
	p.fixture->wire = count;
	fixture_settle(p.fixture, 100 * MS);
}

/* READ responses of a side with a leaf for them; its own requests have none. */
static void responder(void)
{
	const uint32_t frame = 1024 + HCASIM_FRAME_OVERHEAD;
	const struct hca_sched_attr node = {.parent = 0};
	struct hca_sched_attr leaf = {.leaf = true, .rate = 8};
	struct hca *hca;
	uint32_t id;

	begin_rc();
	hca = p.fixture->hca[1];
	CU_ASSERT_EQUAL(hca_sched_create(hca, &node, &leaf.parent), 0);
	CU_ASSERT_EQUAL(hca_sched_create(hca, &leaf, &id), 0);
	CU_ASSERT_EQUAL(hca_qp_sched(hca, p.qp[1]->qpn, 0, id), 0);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED,
		     fixture_sge(p.mem[0], 20 * 1024, p.key[0]), (uintptr_t)p.mem[1], p.key[1]);
	fixture_send(p.qp[1], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[1], 512, p.key[1]),
		     (uintptr_t)p.mem[0] + 32768, p.key[0]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(responses, 2);
	fixture_settle(p.fixture, 17 * frame * (MS / 1000)); /* a microsecond for each byte */
	CU_ASSERT_TRUE(responses >= 18 && responses <= 19);
	fixture_settle(p.fixture, 3 * frame * (MS / 1000));
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(responses, 20);
	pair_free(&p);
}

/* A queue that waits for a response does not keep the turn of those that have something to send. */
static void waiting(void)
{
	struct fixture_qp *second[2];
	uint32_t leaf;

	begin_rc();
	second[0] = fixture_qp(p.fixture, 0, HCASIM_QPT_RC, p.scq[0], p.rcq[0]);
	second[1] = fixture_qp(p.fixture, 1, HCASIM_QPT_RC, p.scq[1], p.rcq[1]);
	fixture_connect(second[0], second[1], NULL);
	fixture_connect(second[1], second[0], NULL);
	leaf = elem(elem(0, false, 0, 0), true, 0, 0);
	CU_ASSERT_EQUAL(hca_qp_sched(p.fixture->hca[0], p.qp[0]->qpn, leaf, 0), 0);
	CU_ASSERT_EQUAL(hca_qp_sched(p.fixture->hca[0], second[0]->qpn, leaf, 0), 0);
	p.fixture->n = 1; /* everything is lost */
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, 0, fixture_sge(p.mem[0], 64, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, 0, fixture_sge(p.mem[0], 64, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	fixture_send(second[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 16384, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	CU_ASSERT_TRUE(requests >= 4);
	pair_free(&p);
}

const struct test sched_tests[] = {
	{"rate of a leaf", limit},
	{"rates of all above", ancestors},
	{"shares of a limited node", shares},
	{"shares of a root", order},
	{"idle elements", idle},
	{"changes", changed},
	{"queues that end", ended},
	{"refused", refused},
	{"as many as there can be", full},
	{"READ responses", responder},
	{"a queue that waits", waiting},
	{NULL, NULL},
};
