// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Raw QPs and what decides who receives: flows, multicast groups. */
#include "raw_frames.h"
#include "core/wire/net.h"
#include "core/wire/frame.h"

static const uint8_t group[16] = {[10] = 0xff, 0xff, 239, 1, 2, 3};

static void frames(void)
{
	static const uint32_t payload[] = {0, 18, 100, 4096};
	unsigned int i;
	struct pair p;

	raw_pair(&p);
	raw_recv(&p, p.qp[1]);
	raw_send(&p, HCA_WR_SIGNALED, raw_frame(&p, 5000, 100));
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect_none(p.rcq[1]); /* without a flow it receives nothing */
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	for (i = 0; i < 4; i++) {
		uint32_t len = raw_frame(&p, 5000, payload[i]), want = len < ETH_MIN ? ETH_MIN : len;
		struct tiny_cqe c;

		raw_send(&p, 0, len);
		c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
		CU_ASSERT_EQUAL(c.byte_count, want);
		CU_ASSERT_EQUAL(c.flags & TINY_CQE_GRH, 0);
		CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], len), 0);
		raw_recv(&p, p.qp[1]);
	}
	/* Longer than the port's frames, or no Ethernet header: an error of the sender. */
	raw_send(&p, 0, CORE_FRAME_MAX(4096) + 1);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_LEN_ERR).vendor_err,
			HCASIM_VENDOR_ERR_MSG_TOO_LONG);
	fixture_state(p.qp[0], HCASIM_QPS_RTS);
	raw_send(&p, 0, ETH_LEN - 1);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_LEN_ERR).vendor_err,
			HCASIM_VENDOR_ERR_BAD_SEGMENT);
	fixture_expect_none(p.rcq[1]);
	pair_free(&p);
}

/* Puts tags between the addresses and the type of raw_frame(). */
static uint32_t tagged_frame(struct pair *p, const uint16_t (*tag)[2], uint32_t tags)
{
	const uint32_t len = raw_frame(p, 5000, 100);
	uint8_t *at = p->mem[0] + ETH_TYPE;

	memmove(at + VLAN_LEN * tags, at, len - ETH_TYPE);
	for (; tags--; tag++, at += VLAN_LEN) {
		put16(at, (*tag)[0]);
		put16(at + 2, (*tag)[1]);
	}
	return len + (uint32_t)(at - p->mem[0]) - ETH_TYPE;
}

/* Only the outermost tag, and only a customer's; the VLAN 0xfff is reserved. */
static void one_strip(struct pair *p, const uint16_t (*tag)[2], uint32_t tags, bool stripped)
{
	const uint32_t len = tagged_frame(p, tag, tags), gone = stripped ? VLAN_LEN : 0;
	struct tiny_cqe c;

	raw_recv(p, p->qp[1]);
	raw_send(p, 0, len);
	c = fixture_expect(p->rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.byte_count, len - gone);
	CU_ASSERT_EQUAL(c.vlan, stripped ? (*tag)[1] : 0xffff);
	CU_ASSERT_EQUAL(memcmp(p->mem[1], p->mem[0], ETH_TYPE), 0);
	CU_ASSERT_EQUAL(memcmp(p->mem[1] + ETH_TYPE, p->mem[0] + ETH_TYPE + gone, len - ETH_TYPE - gone), 0);
}

static void vlans(void)
{
	static const uint16_t tag[][2] = {{ETH_TYPE_VLAN, 0x6123}, {ETH_TYPE_VLAN, 0x2045}},
			      service[][2] = {{ETH_TYPE_QINQ, 0x6123}, {ETH_TYPE_VLAN, 0x2045}},
			      reserved[][2] = {{ETH_TYPE_VLAN, 0xffff}};
	struct pair p;

	for (int strip = 0; strip < 2; strip++) {
		fixture_strip_vlan = strip;
		raw_pair(&p);
		fixture_strip_vlan = false;
		raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
		one_strip(&p, tag, 0, false);
		one_strip(&p, tag, 1, strip);
		one_strip(&p, tag, 2, strip);
		one_strip(&p, service, 2, false);
		one_strip(&p, reserved, 1, false);
		pair_free(&p);
	}
}

/* Both checksums of a frame, or none; offloads.c has the rest. */
static void sums(void)
{
	struct tiny_cqe c;
	struct pair p;
	uint32_t len;

	raw_pair(&p);
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	raw_recv(&p, p.qp[1]);
	raw_recv(&p, p.qp[1]);
	len = raw_frame(&p, 5000, 101);
	raw_send(&p, 0, len);
	c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.flags & TINY_CQE_CSUM, 0);
	raw_send(&p, HCA_WR_IP_CSUM, len);
	c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.flags & TINY_CQE_CSUM, TINY_CQE_CSUM);
	pair_free(&p);
}

/* A flow that asks for one field of the frame; `bit` is one that the frame has otherwise. */
static void one_field(struct pair *p, size_t offset, size_t size)
{
	struct hca_flow_attr a = {.ip = 4, .l4 = IP_PROTO_UDP};
	struct hca_flow_fields fields = {.ether_type = ETH_TYPE_IPV4,
					 .proto = IP_PROTO_UDP,
					 .ttl = 9,
					 .sport = 7777,
					 .dport = 5000,
					 .sip = {10, 0, 0, 1},
					 .dip = {10, 0, 0, 2},
					 .smac = {2}};
	uint32_t id, len = raw_frame(p, 5000, 60);

	untimed_mac(1, 1, fields.dmac);
	memcpy((uint8_t *)&a.val + offset, (uint8_t *)&fields + offset, size);
	memset((uint8_t *)&a.mask + offset, 0xff, size);
	id = raw_flow(p->qp[1], &a, HCA_FLOW_NORMAL, 3);
	raw_recv(p, p->qp[1]);
	raw_send(p, 0, len);
	fixture_expect(p->rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(hca_flow_destroy(p->fixture->hca[1], id), 0);
	CU_ASSERT_EQUAL(hca_flow_destroy(p->fixture->hca[1], id), -EINVAL);
	((uint8_t *)&a.val)[offset] ^= 1;
	id = raw_flow(p->qp[1], &a, HCA_FLOW_NORMAL, 3);
	raw_send(p, 0, len);
	fixture_expect_none(p->rcq[1]);
	((uint8_t *)&a.mask)[offset] ^= 1; /* and now it is not looked at */
	CU_ASSERT_EQUAL(hca_flow_destroy(p->fixture->hca[1], id), 0);
	id = raw_flow(p->qp[1], &a, HCA_FLOW_NORMAL, 3);
	raw_recv(p, p->qp[1]);
	raw_send(p, 0, len);
	fixture_expect(p->rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(hca_flow_destroy(p->fixture->hca[1], id), 0);
	/* Drains what was posted more than was taken. */
	id = raw_flow(p->qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	while (p->qp[1]->rq_pi != p->rcq[1]->ci) {
		raw_send(p, 0, len);
		fixture_expect(p->rcq[1], HCASIM_CQE_STATUS_OK);
	}
	CU_ASSERT_EQUAL(hca_flow_destroy(p->fixture->hca[1], id), 0);
}

#define FIELD(name)                                                                                          \
	one_field(&p, offsetof(struct hca_flow_fields, name), sizeof(((struct hca_flow_fields *)0)->name))

static void fields(void)
{
	struct pair p;

	raw_pair(&p);
	FIELD(dmac);
	FIELD(smac);
	FIELD(ether_type);
	FIELD(sip);
	FIELD(dip);
	FIELD(proto);
	FIELD(tos);
	FIELD(ttl);
	FIELD(ip_flags);
	FIELD(sport);
	FIELD(dport);
	pair_free(&p);
}

/* Who gets the frame, of three QPs: bit 0 is p.qp[1]. */
static unsigned int who(struct pair *p, struct fixture_qp *qp[3])
{
	unsigned int i, got = 0;
	struct tiny_cqe c;

	for (i = 0; i < 3; i++)
		raw_recv(p, qp[i]);
	raw_send(p, 0, raw_frame(p, 5000, 60));
	for (i = 0; i < 3; i++)
		if (fixture_poll(qp[i]->rcq, &c))
			got |= 1u << i;
	return got;
}

static void order(void)
{
	struct hca_flow_attr port = {.l4 = IP_PROTO_UDP, .val.dport = 5000, .mask.dport = 0xffff},
			     pass = port;
	struct fixture_qp *qp[3];
	uint32_t id[4];
	unsigned int i;
	struct pair p;

	raw_pair(&p);
	qp[0] = p.qp[1];
	for (i = 1; i < 3; i++) {
		qp[i] = fixture_qp(p.fixture, 1, HCASIM_QPT_RAW_PACKET, p.scq[1],
				   fixture_cq(p.fixture, 1, 64));
		fixture_connect(qp[i], qp[i], NULL);
	}
	CU_ASSERT_EQUAL(who(&p, qp), 0);
	id[0] = raw_flow(qp[0], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	CU_ASSERT_EQUAL(who(&p, qp), 1);
	id[1] = raw_flow(qp[1], &port, HCA_FLOW_NORMAL, 7);
	CU_ASSERT_EQUAL(who(&p, qp), 2);
	id[2] = raw_flow(qp[2], &port, HCA_FLOW_NORMAL, 2);
	CU_ASSERT_EQUAL(who(&p, qp), 4);
	id[3] = raw_flow(qp[0], &port, HCA_FLOW_NORMAL, 2); /* the same again: shared */
	CU_ASSERT_EQUAL(who(&p, qp), 5);
	CU_ASSERT_EQUAL(hca_flow_destroy(p.fixture->hca[1], id[3]), 0);
	pass.dont_trap = true;
	id[3] = raw_flow(qp[0], &pass, HCA_FLOW_NORMAL, 1);
	CU_ASSERT_EQUAL(who(&p, qp), 5);
	raw_flow(qp[1], NULL, HCA_FLOW_SNIFFER, 0);
	CU_ASSERT_EQUAL(who(&p, qp), 7);
	hca_qp_destroy(p.fixture->hca[1], qp[2]->qpn); /* its flow goes with it */
	CU_ASSERT_EQUAL(hca_flow_destroy(p.fixture->hca[1], id[2]), -EINVAL);
	pair_free(&p);
}

/* ---- Flows against a list of them ---- */

#define LISTED 40u

struct listed {
	struct hca_flow_attr a;
	unsigned int qp;
	uint32_t id; /* 0: gone */
};

static struct hca_flow_attr random_flow(struct fixture *fixture)
{
	struct hca_flow_attr a = {
		.port = 1, .kind = HCA_FLOW_NORMAL, .priority = fixture_random(fixture) % 3};
	const unsigned int about = fixture_random(fixture) % 8;

	if (fixture_random(fixture) % 8 == 0)
		a.kind = 1 + fixture_random(fixture) % 3;
	a.dont_trap = fixture_random(fixture) % 3 == 0;
	if (about & 1)
		a.mask.dport = fixture_random(fixture) % 2 ? 0xffff : 0xfffe;
	if (about & 2)
		a.mask.ttl = 0xff;
	if (about & 4)
		a.l4 = fixture_random(fixture) % 4 ? IP_PROTO_UDP : 6;
	a.val.dport = (5000 + fixture_random(fixture) % 4) & a.mask.dport;
	a.val.ttl = (9 + fixture_random(fixture) % 2) & a.mask.ttl;
	return a;
}

static bool listed_takes(const struct hca_flow_attr *a, uint16_t dport)
{
	if (a->kind != HCA_FLOW_NORMAL)
		return a->kind == HCA_FLOW_ALL_DEFAULT; /* the frames are no multicast */
	return (!a->l4 || a->l4 == IP_PROTO_UDP) && (dport & a->mask.dport) == a->val.dport &&
	       (9 & a->mask.ttl) == a->val.ttl;
}

static bool listed_alike(const struct hca_flow_attr *a, const struct hca_flow_attr *b)
{
	return a->kind == b->kind && a->priority == b->priority && a->l4 == b->l4 &&
	       !memcmp(&a->val, &b->val, sizeof(a->val)) && !memcmp(&a->mask, &b->mask, sizeof(a->mask));
}

/* The place in the order in which flows are asked: sniffers, normal ones by priority, the defaults. */
static int listed_rank(const struct hca_flow_attr *a)
{
	static const int of_kind[] = {[HCA_FLOW_NORMAL] = 1,
				      [HCA_FLOW_ALL_DEFAULT] = 101,
				      [HCA_FLOW_MC_DEFAULT] = 100,
				      [HCA_FLOW_SNIFFER] = 0};

	return of_kind[a->kind] + (a->kind == HCA_FLOW_NORMAL ? a->priority : 0);
}

/* What the head of flow.c says, one flow after the other. */
static void expected(const struct listed *list, uint16_t dport, unsigned int copies[3])
{
	const struct hca_flow_attr *taken = NULL;

	for (int rank = 0; rank <= 101; rank++) {
		for (unsigned int i = 0; i < LISTED; i++) {
			const struct hca_flow_attr *a = &list[i].a;

			if (!list[i].id || listed_rank(a) != rank)
				continue;
			if (a->kind == HCA_FLOW_SNIFFER) {
				copies[list[i].qp]++;
				continue;
			}
			if (!(taken ? listed_alike(a, taken) : listed_takes(a, dport)))
				continue;
			copies[list[i].qp]++;
			if (!a->dont_trap)
				taken = a;
		}
	}
}

static void compare_with_list(struct pair *p, struct fixture_qp *qp[3], const struct listed *list)
{
	for (uint16_t dport = 5000; dport < 5005; dport++) {
		unsigned int want[3] = {0};
		struct tiny_cqe c;

		expected(list, dport, want);
		for (unsigned int i = 0; i < 3; i++)
			for (unsigned int k = 0; k < want[i]; k++)
				raw_recv(p, qp[i]);
		raw_send(p, 0, raw_frame(p, dport, 60));
		for (unsigned int i = 0; i < 3; i++) {
			unsigned int got = 0;

			while (fixture_poll(qp[i]->rcq, &c))
				got++;
			fixture_cq_sync(qp[i]->rcq);
			if (got != want[i])
				CU_FAIL_FATAL("a flow got another number of copies than the list says");
		}
	}
}

static void drop(struct pair *p, struct listed *f)
{
	if (f->id)
		CU_ASSERT_EQUAL(hca_flow_destroy(p->fixture->hca[1], f->id), 0);
	f->id = 0;
}

static void against_list(void)
{
	struct listed list[LISTED];
	struct fixture_qp *qp[3];
	struct pair p;

	raw_pair(&p);
	qp[0] = p.qp[1];
	for (unsigned int i = 1; i < 3; i++) {
		qp[i] = fixture_qp(p.fixture, 1, HCASIM_QPT_RAW_PACKET, p.scq[1],
				   fixture_cq(p.fixture, 1, 64));
		fixture_connect(qp[i], qp[i], NULL);
	}
	for (unsigned int round = 0; round < 50; round++) {
		memset(list, 0, sizeof(list));
		for (unsigned int i = 0; i < LISTED; i++) {
			list[i].a = random_flow(p.fixture);
			list[i].qp = fixture_random(p.fixture) % 3;
			list[i].id = raw_flow(qp[list[i].qp], &list[i].a, list[i].a.kind, list[i].a.priority);
			if (fixture_random(p.fixture) % 2) /* an older one goes */
				drop(&p, &list[fixture_random(p.fixture) % (i + 1)]);
			if (i % 8 == 7)
				compare_with_list(&p, qp, list);
		}
		for (unsigned int i = 0; i < LISTED; i++)
			drop(&p, &list[i]);
	}
	pair_free(&p);
}

/* A frame that a flow takes counts, though its QP has nothing to receive it with; frames of other flows do not. */
static void counted(void)
{
	struct hca_flow_counter counter = {0};
	struct hca_flow_attr a = {
		.counter = &counter, .l4 = IP_PROTO_UDP, .mask.dport = 0xffff, .val.dport = 5000};
	uint32_t len, id;
	struct pair p;

	raw_pair(&p);
	id = raw_flow(p.qp[1], &a, HCA_FLOW_NORMAL, 0);
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	raw_recv(&p, p.qp[1]);
	len = raw_frame(&p, 5000, 100);
	raw_send(&p, 0, len);
	raw_send(&p, 0, len);
	CU_ASSERT(counter.packets == 2 && counter.octets == 2 * len);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	raw_send(&p, 0, raw_frame(&p, 5001, 100));
	CU_ASSERT_EQUAL(counter.packets, 2);
	CU_ASSERT_EQUAL(hca_flow_destroy(p.fixture->hca[1], id), 0);
	raw_send(&p, 0, raw_frame(&p, 5000, 100));
	CU_ASSERT_EQUAL(counter.packets, 2);
	pair_free(&p);
}

/* RoCE belongs to the transport: only a sniffer sees it. */
static void roce(void)
{
	struct hca_flow_attr a = {.port = 1};
	struct fixture_qp *raw, *sniffer;
	struct fixture_cq *cq[2];
	uint32_t id;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 16384);
	cq[0] = fixture_cq(p.fixture, 1, 64);
	cq[1] = fixture_cq(p.fixture, 1, 64);
	raw = fixture_qp(p.fixture, 1, HCASIM_QPT_RAW_PACKET, p.scq[1], cq[0]);
	sniffer = fixture_qp(p.fixture, 1, HCASIM_QPT_RAW_PACKET, p.scq[1], cq[1]);
	fixture_connect(raw, raw, NULL);
	fixture_connect(sniffer, sniffer, NULL);
	raw_flow(raw, NULL, HCA_FLOW_ALL_DEFAULT, 0);
	raw_flow(sniffer, NULL, HCA_FLOW_SNIFFER, 0);
	raw_recv(&p, raw);
	raw_recv(&p, sniffer);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 64, p.key[0]),
		     (uintptr_t)p.mem[1] + 8192, p.key[1]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(cq[1], HCASIM_CQE_STATUS_OK);
	fixture_expect_none(cq[0]);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1] + 8192, 64), 0);
	/* What cannot be steered. */
	a.qpn = p.qp[1]->qpn;
	CU_ASSERT_EQUAL(hca_flow_create(p.fixture->hca[1], &a, &id), -EINVAL);
	a.qpn = raw->qpn;
	a.port = 3;
	CU_ASSERT_EQUAL(hca_flow_create(p.fixture->hca[1], &a, &id), -EINVAL);
	a.port = 1;
	a.kind = 4;
	CU_ASSERT_EQUAL(hca_flow_create(p.fixture->hca[1], &a, &id), -EINVAL);
	CU_ASSERT_EQUAL(hca_mcast_attach(p.fixture->hca[1], raw->qpn, group), -EINVAL);
	pair_free(&p);
}

/* Also those that are not valid, of either version. */
static void roce_malformed(void)
{
	struct pair p;
	uint32_t len;

	raw_pair(&p);
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	raw_recv(&p, p.qp[1]);
	len = raw_frame(&p, HCASIM_ROCE_UDP_PORT, 100);
	raw_send(&p, 0, len);
	fixture_expect_none(p.rcq[1]);
	put16(p.mem[0] + ETH_TYPE, HCASIM_ROCE_ETH_TYPE);
	raw_send(&p, 0, len);
	fixture_expect_none(p.rcq[1]);
	put16(p.mem[0] + ETH_TYPE, HCASIM_ROCE_ETH_TYPE + 1);
	raw_send(&p, 0, len);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	pair_free(&p);
}

/* Every byte of a frame is somebody else's: no prefix of one, and no damage to one, leads out of it. */
static void parser(void)
{
	struct fixture *fixture = fixture_new(NULL, 4711);
	struct hca_headers headers;
	unsigned int i, k;
	struct net n;

	for (i = 0; i < 20000; i++) {
		uint32_t len = (uint32_t)(fixture_random(fixture) % 90);
		uint8_t *p = malloc(len + 1); /* exactly so long: a sanitizer sees what leaves it */

		for (k = 0; k < len; k++)
			p[k] = (uint8_t)fixture_random(fixture);
		if (len > 14)
			put16(p + 12, i & 1 ? ETH_TYPE_IPV4 : i & 2 ? ETH_TYPE_IPV6 : ETH_TYPE_VLAN);
		if (len > 24) {
			p[14] = i & 1 ? 0x45 : 0x60;
			p[i & 1 ? 23 : 20] = i & 4 ? IP_PROTO_TCP : i & 8 ? 0 : IP_PROTO_UDP;
		}
		for (k = 0; k < 4; k++) {
			net_parse(p, len, k & 1, k & 2, &n);
			CU_ASSERT_TRUE(!n.ip || (n.l3_end <= len && n.l3_off < n.l3_end));
			CU_ASSERT_TRUE(!n.l4 || n.l4_off + UDP_LEN <= n.l3_end);
		}
		net_put_sums(p, len, NET_ETHERNET, HCA_WR_IP_CSUM);
		net_headers(p, len, NET_DATAGRAM, &headers);
		tso_header_ok(p, len, NET_ETHERNET);
		free(p);
	}
	fixture_free(fixture);
}

const struct test raw_tests[] = {
	{"frames", frames},
	{"VLAN tags", vlans},
	{"checksums", sums},
	{"fields of flows", fields},
	{"order of flows", order},
	{"flows against a list of them", against_list},
	{"counted frames", counted},
	{"RoCE and sniffers", roce},
	{"malformed RoCE", roce_malformed},
	{"hostile headers", parser},
	{NULL, NULL},
};
