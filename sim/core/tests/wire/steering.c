// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What flows do besides delivery to a QP: drops, tags, further tables, frames that are sent, RoCE packets. */
#include "raw_frames.h"
#include "core/wire/frame.h"

#define PORT  5000
#define OTHER 5001
#define MS    1000000000ull

static struct hca *adapter(const struct pair *p, unsigned int side)
{
	return p->fixture->hca[side];
}

/* A flow for frames to one UDP port. */
static struct hca_flow_attr to_port(uint8_t action, uint16_t dport)
{
	return (struct hca_flow_attr){
		.action = action, .port = 1, .l4 = IP_PROTO_UDP, .val.dport = dport, .mask.dport = 0xffff};
}

static struct hca_flow_attr any(uint8_t action, uint32_t table)
{
	return (struct hca_flow_attr){.action = action, .port = 1, .table = table};
}

static uint32_t add(const struct pair *p, unsigned int side, const struct hca_flow_attr *a)
{
	uint32_t id = 0;

	CU_ASSERT_EQUAL(hca_flow_create(adapter(p, side), a, &id), 0);
	return id;
}

static int refused(const struct pair *p, const struct hca_flow_attr *a)
{
	uint32_t id;

	return hca_flow_create(adapter(p, 1), a, &id);
}

static void drop(const struct pair *p, unsigned int side, uint32_t id)
{
	CU_ASSERT_EQUAL(hca_flow_destroy(adapter(p, side), id), 0);
}

static uint32_t table(const struct pair *p, unsigned int side, struct hca_flow_table_attr a)
{
	uint32_t id = 0;

	CU_ASSERT_EQUAL(hca_flow_table_create(adapter(p, side), &a, &id), 0);
	return id;
}

static void arrives(struct pair *p, uint16_t dport, bool yes)
{
	raw_send(p, 0, raw_frame(p, dport, 100));
	if (!yes) {
		fixture_expect_none(p->rcq[1]);
		return;
	}
	fixture_expect(p->rcq[1], HCASIM_CQE_STATUS_OK);
	raw_recv(p, p->qp[1]);
}

/* A flow ends a frame's way, or shows it past the other normal ones to the defaults. */
static void actions(void)
{
	struct hca_flow_counter dropped = {0}, later = {0};
	struct hca_flow_attr keep = to_port(HCA_FLOW_DROP, PORT), pass = to_port(HCA_FLOW_PASS, PORT),
			     all = {.counter = &later};
	uint32_t id;
	struct pair p;

	raw_pair(&p);
	raw_recv(&p, p.qp[1]);
	keep.counter = &dropped;
	all.counter = &later;
	id = add(&p, 1, &keep);
	raw_flow(p.qp[1], &all, HCA_FLOW_NORMAL, 5);
	arrives(&p, PORT, false);
	arrives(&p, OTHER, true);
	CU_ASSERT(dropped.packets == 1 && later.packets == 1);
	drop(&p, 1, id);
	id = add(&p, 1, &pass);
	arrives(&p, PORT, false); /* there is no default */
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	arrives(&p, PORT, true);
	CU_ASSERT_EQUAL(later.packets, 1);
	drop(&p, 1, id);
	arrives(&p, PORT, true);
	CU_ASSERT_EQUAL(later.packets, 2);
	pair_free(&p);
}

/* Flows with the same rule. */
static void conflicts(void)
{
	struct hca_flow_attr keep = to_port(HCA_FLOW_DROP, PORT), to_qp = to_port(HCA_FLOW_TO_QP, PORT);
	uint32_t id[2];
	struct pair p;

	raw_pair(&p);
	to_qp.qpn = p.qp[1]->qpn;
	id[0] = add(&p, 1, &keep);
	id[1] = add(&p, 1, &keep);
	CU_ASSERT_EQUAL(refused(&p, &to_qp), -EEXIST);
	keep.alone = true;
	CU_ASSERT_EQUAL(refused(&p, &keep), -EEXIST);
	drop(&p, 1, id[0]);
	CU_ASSERT_EQUAL(refused(&p, &to_qp), -EEXIST);
	drop(&p, 1, id[1]);
	add(&p, 1, &to_qp);
	to_qp.tagged = true;
	CU_ASSERT_EQUAL(refused(&p, &to_qp), -EEXIST);
	to_qp.priority = 1;
	add(&p, 1, &to_qp);
	add(&p, 1, &to_qp);
	to_qp.tag = 1;
	CU_ASSERT_EQUAL(refused(&p, &to_qp), -EEXIST);
	pair_free(&p);
}

static void expect_tag(struct pair *p, bool tagged, uint32_t tag)
{
	struct tiny_cqe c;

	raw_recv(p, p->qp[1]);
	raw_send(p, 0, raw_frame(p, PORT, 100));
	c = fixture_expect(p->rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT(c.tagged == tagged && c.flow_tag == tag);
}

/* The last tag on the way counts, and no other flow's. */
static void tags(void)
{
	struct hca_flow_attr first = to_port(HCA_FLOW_TO_QP, PORT), in = any(HCA_FLOW_TO_QP, 0);
	uint32_t id, t;
	struct pair p;

	raw_pair(&p);
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	expect_tag(&p, false, 0);
	first.tagged = true;
	first.qpn = in.qpn = p.qp[1]->qpn;
	id = add(&p, 1, &first);
	expect_tag(&p, true, 0);
	drop(&p, 1, id);
	t = table(&p, 1, (struct hca_flow_table_attr){.level = 9, .miss = HCA_FLOW_PASS});
	first.action = HCA_FLOW_TO_TABLE;
	first.next = t;
	first.tag = 0x123;
	add(&p, 1, &first);
	expect_tag(&p, false, 0); /* of the default, behind the table's miss */
	in.table = t;
	id = add(&p, 1, &in);
	expect_tag(&p, true, 0x123);
	drop(&p, 1, id);
	in.tagged = true;
	in.tag = 0xffffff;
	add(&p, 1, &in);
	expect_tag(&p, true, 0xffffff);
	pair_free(&p);
}

/* Root, first table, last table: each takes what the one before it has left. */
static void chain(void)
{
	struct hca_flow_counter counter[2] = {{0}, {0}};
	struct hca_flow_attr root = any(HCA_FLOW_TO_TABLE, HCA_FLOW_RX), keep, in;
	uint32_t last, first, id[3];
	struct pair p;

	raw_pair(&p);
	raw_recv(&p, p.qp[1]);
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	last = table(&p, 1, (struct hca_flow_table_attr){.level = 200, .miss = HCA_FLOW_DROP});
	first = table(&p, 1,
		      (struct hca_flow_table_attr){.level = 1, .miss = HCA_FLOW_TO_TABLE, .next = last});
	root.next = first;
	root.counter = &counter[0];
	id[0] = add(&p, 1, &root);
	arrives(&p, PORT, false); /* dropped by the last one, which is empty */
	in = to_port(HCA_FLOW_TO_QP, PORT);
	in.table = last;
	in.qpn = p.qp[1]->qpn;
	id[1] = add(&p, 1, &in);
	arrives(&p, PORT, true);
	arrives(&p, OTHER, false);
	keep = to_port(HCA_FLOW_DROP, PORT);
	keep.table = first;
	keep.counter = &counter[1];
	id[2] = add(&p, 1, &keep);
	arrives(&p, PORT, false);
	CU_ASSERT(counter[0].packets == 4 && counter[1].packets == 1);

	CU_ASSERT_EQUAL(hca_flow_table_destroy(adapter(&p, 1), first), -EBUSY);
	drop(&p, 1, id[2]);
	CU_ASSERT_EQUAL(hca_flow_table_destroy(adapter(&p, 1), first), -EBUSY); /* the root leads there */
	drop(&p, 1, id[0]);
	drop(&p, 1, id[1]);
	CU_ASSERT_EQUAL(hca_flow_table_destroy(adapter(&p, 1), last), -EBUSY); /* misses lead there */
	CU_ASSERT_EQUAL(hca_flow_table_destroy(adapter(&p, 1), first), 0);
	CU_ASSERT_EQUAL(hca_flow_table_destroy(adapter(&p, 1), first), -EINVAL);
	CU_ASSERT_EQUAL(hca_flow_table_destroy(adapter(&p, 1), last), 0);
	CU_ASSERT_EQUAL(hca_flow_table_destroy(adapter(&p, 1), HCA_FLOW_RX), -EINVAL); /* a root */
	arrives(&p, OTHER, true);
	pair_free(&p);
}

/* A rule that leads to a QP and to a table does both. */
static void both(void)
{
	struct hca_flow_attr to_qp = to_port(HCA_FLOW_TO_QP, PORT), on = to_port(HCA_FLOW_TO_TABLE, PORT),
			     in = any(HCA_FLOW_TO_QP, 0);
	struct tiny_cqe cqe;
	struct pair p;

	raw_pair(&p);
	on.next = in.table = table(&p, 1, (struct hca_flow_table_attr){.level = 1, .miss = HCA_FLOW_DROP});
	to_qp.qpn = in.qpn = p.qp[1]->qpn;
	add(&p, 1, &to_qp);
	add(&p, 1, &on);
	add(&p, 1, &in);
	raw_recv(&p, p.qp[1]);
	raw_recv(&p, p.qp[1]);
	raw_send(&p, 0, raw_frame(&p, PORT, 100));
	CU_ASSERT_TRUE(fixture_poll(p.rcq[1], &cqe));
	CU_ASSERT_TRUE(fixture_poll(p.rcq[1], &cqe));
	pair_free(&p);
}

static int table_refused(const struct pair *p, struct hca_flow_table_attr a)
{
	uint32_t id;

	return hca_flow_table_create(adapter(p, 1), &a, &id);
}

/* What leads backwards, to another side, or nowhere. */
static void refusals(void)
{
	struct hca_flow_attr a = any(HCA_FLOW_TO_TABLE, HCA_FLOW_RX);
	uint32_t low, high, sent;
	struct pair p;

	raw_pair(&p);
	low = table(&p, 1, (struct hca_flow_table_attr){.miss = HCA_FLOW_DROP});
	high = table(&p, 1, (struct hca_flow_table_attr){.level = 7, .miss = HCA_FLOW_DROP});
	sent = table(&p, 1,
		     (struct hca_flow_table_attr){.side = HCA_FLOW_TX, .level = 7, .miss = HCA_FLOW_PASS});
	a.next = low;
	CU_ASSERT_EQUAL(refused(&p, &a), -EINVAL);
	a.next = sent;
	CU_ASSERT_EQUAL(refused(&p, &a), -EINVAL);
	a.next = sent + 1;
	CU_ASSERT_EQUAL(refused(&p, &a), -EINVAL);
	a.table = a.next = high;
	CU_ASSERT_EQUAL(refused(&p, &a), -EINVAL);
	a = any(HCA_FLOW_DROP, sent + 1);
	CU_ASSERT_EQUAL(refused(&p, &a), -EINVAL);
	a = any(HCA_FLOW_PASS + 1, high);
	CU_ASSERT_EQUAL(refused(&p, &a), -EINVAL);
	a = any(HCA_FLOW_DROP, high);
	a.kind = HCA_FLOW_SNIFFER;
	CU_ASSERT_EQUAL(refused(&p, &a), -EINVAL);
	a = any(HCA_FLOW_TO_QP, sent);
	a.qpn = p.qp[1]->qpn;
	CU_ASSERT_EQUAL(refused(&p, &a), -EINVAL);
	a = any(HCA_FLOW_DROP, HCA_FLOW_ROCE_TX);
	a.tagged = true;
	CU_ASSERT_EQUAL(refused(&p, &a), -EINVAL);

	CU_ASSERT_EQUAL(table_refused(&p, (struct hca_flow_table_attr){.side = HCA_FLOW_SIDES,
								       .miss = HCA_FLOW_DROP}),
			-EINVAL);
	CU_ASSERT_EQUAL(table_refused(&p, (struct hca_flow_table_attr){.miss = HCA_FLOW_TO_QP}), -EINVAL);
	CU_ASSERT_EQUAL(table_refused(&p, (struct hca_flow_table_attr){.miss = HCA_FLOW_PASS + 1}), -EINVAL);
	CU_ASSERT_EQUAL(table_refused(&p, (struct hca_flow_table_attr){.level = 7,
								       .miss = HCA_FLOW_TO_TABLE,
								       .next = high}),
			-EINVAL);
	pair_free(&p); /* with its tables */
}

/* Frames that leave: the sender's completion says nothing of a drop. */
static void sent(void)
{
	struct hca_flow_counter counter = {0};
	struct hca_flow_attr keep = to_port(HCA_FLOW_DROP, PORT), on = any(HCA_FLOW_TO_TABLE, HCA_FLOW_TX);
	struct hca_counters before, after;
	struct pair p;

	raw_pair(&p);
	raw_recv(&p, p.qp[1]);
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	on.next = keep.table = table(
		&p, 0, (struct hca_flow_table_attr){.side = HCA_FLOW_TX, .level = 3, .miss = HCA_FLOW_PASS});
	keep.counter = &counter;
	add(&p, 0, &on);
	add(&p, 0, &keep);
	hca_counters(adapter(&p, 0), &before);
	raw_send(&p, HCA_WR_SIGNALED, raw_frame(&p, PORT, 100));
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect_none(p.rcq[1]);
	hca_counters(adapter(&p, 0), &after);
	CU_ASSERT(counter.packets == 1 && after.tx_packets == before.tx_packets);
	arrives(&p, OTHER, true);
	keep = any(HCA_FLOW_DROP, HCA_FLOW_ROCE_TX); /* not the side of raw QPs */
	add(&p, 0, &keep);
	arrives(&p, OTHER, true);
	pair_free(&p);
}

static void write_to(struct pair *p)
{
	fixture_send(p->qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED,
		     fixture_sge(p->mem[0], 64, p->key[0]), (uintptr_t)p->mem[1], p->key[1]);
	fixture_run(p->fixture);
}

/* A rule for RoCE packets stops the transport for as long as it exists. */
static void stops(unsigned int side, uint8_t table, uint8_t action, bool yes)
{
	struct hca_flow_counter counter = {0};
	struct hca_flow_attr a = any(action, table);
	struct pair p;
	uint32_t id;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 16384);
	fixture_fill(p.mem[0], 64, 1);
	a.counter = &counter;
	a.ip = 4;
	id = add(&p, side, &a);
	write_to(&p);
	CU_ASSERT_EQUAL(counter.packets, 1);
	CU_ASSERT_EQUAL(counter.octets > 64, true);
	CU_ASSERT_EQUAL(!memcmp(p.mem[0], p.mem[1], 64), !yes);
	if (yes) {
		fixture_expect_none(p.scq[0]);
		drop(&p, side, id);
		fixture_settle(p.fixture, 1000 * MS); /* it is sent again */
	}
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 64), 0);
	pair_free(&p);
}

static void roce(void)
{
	stops(0, HCA_FLOW_ROCE_TX, HCA_FLOW_DROP, true);
	stops(1, HCA_FLOW_ROCE_RX, HCA_FLOW_DROP, true);
	stops(0, HCA_FLOW_ROCE_TX, HCA_FLOW_PASS, false);
	stops(1, HCA_FLOW_ROCE_RX, HCA_FLOW_PASS, false);
}

/* A raw QP gets the transport's packets as frames, in its place. */
static void roce_to_raw(void)
{
	struct hca_flow_attr a = any(HCA_FLOW_TO_QP, HCA_FLOW_ROCE_RX);
	struct fixture_qp *raw;
	struct fixture_cq *cq;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 16384);
	cq = fixture_cq(p.fixture, 1, 64);
	raw = fixture_qp(p.fixture, 1, HCASIM_QPT_RAW_PACKET, p.scq[1], cq);
	fixture_connect(raw, raw, NULL);
	a.qpn = raw->qpn;
	add(&p, 1, &a);
	raw_recv(&p, raw);
	write_to(&p);
	fixture_expect(cq, HCASIM_CQE_STATUS_OK);
	fixture_expect_none(p.scq[0]);
	hca_qp_destroy(adapter(&p, 1), raw->qpn); /* its flow goes with it */
	fixture_settle(p.fixture, 1000 * MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	pair_free(&p);
}

/* Frames that are no RoCE packets do not meet the rules for these. */
static void not_roce(void)
{
	struct hca_flow_counter counter = {0};
	struct hca_flow_attr keep = any(HCA_FLOW_DROP, HCA_FLOW_ROCE_RX);
	struct pair p;

	raw_pair(&p);
	raw_recv(&p, p.qp[1]);
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	keep.counter = &counter;
	add(&p, 1, &keep);
	arrives(&p, OTHER, true);
	CU_ASSERT_EQUAL(counter.packets, 0);
	pair_free(&p);
}

const struct test steering_tests[] = {
	{"actions", actions},
	{"flows with the same rule", conflicts},
	{"tags", tags},
	{"chain of tables", chain},
	{"QP and table", both},
	{"what leads nowhere", refusals},
	{"frames that are sent", sent},
	{"RoCE packets", roce},
	{"RoCE packets for a raw QP", roce_to_raw},
	{"frames that are not RoCE", not_roce},
	{NULL, NULL},
};
