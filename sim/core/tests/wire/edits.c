// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flows that change headers: what the receiver gets, byte by byte, and its checksums. */
#include "raw_frames.h"
#include "core/wire/frame.h"

#define PORT    5000
#define CHANGED 6000
#define PAYLOAD 33 /* odd */
#define L3      ETH_LEN
#define L4      (L3 + IPV4_LEN)
#define V6_L4   (L3 + IPV6_LEN)

#define SET_(header_, at, bits_, v)                                                                          \
	{                                                                                                    \
		.header = HCA_HEADER_##header_, .to = at, .bits = bits_, .value = v                          \
	}
#define ADD_(header_, at, bits_, v)                                                                          \
	{                                                                                                    \
		.kind = HCA_EDIT_ADD, .header = HCA_HEADER_##header_, .to = at, .bits = bits_, .value = v    \
	}
#define COPY_(header_, at, bits_, from_header_, from_)                                                       \
	{                                                                                                    \
		.kind = HCA_EDIT_COPY, .header = HCA_HEADER_##header_, .to = at, .bits = bits_,              \
		.from_header = HCA_HEADER_##from_header_, .from = from_                                      \
	}
#define LIST(...) ((const struct hca_edit[]){__VA_ARGS__})

/* ---- Frames, and their checksums by another way than the adapter's ---- */

static uint32_t words(const uint8_t *p, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	return sum;
}

static uint16_t ones(uint32_t sum)
{
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)(sum + (sum >> 16));
}

static uint16_t pseudo(const uint8_t *frame, bool v6, uint8_t proto, uint32_t len)
{
	return ones((v6 ? words(frame + L3 + IPV6_SRC, 32) : words(frame + L3 + IPV4_SRC, 8)) + proto + len);
}

/* The sum of a frame without options, checksums included: 0xffff for those that are right. */
static uint16_t l4_of(const uint8_t *frame, uint32_t len, bool v6, uint8_t proto)
{
	const uint32_t at = v6 ? V6_L4 : L4;

	return ones(pseudo(frame, v6, proto, len - at) + words(frame + at, len - at));
}

static uint32_t udp_frame(struct pair *p)
{
	const uint32_t len = raw_frame(p, PORT, PAYLOAD);
	uint8_t *m = p->mem[0];

	for (uint32_t i = L4 + UDP_LEN; i < len; i++)
		m[i] = (uint8_t)(i * 7);
	put16(m + L3 + IPV4_SUM, (uint16_t)~ones(words(m + L3, IPV4_LEN)));
	put16(m + L4 + UDP_SUM, (uint16_t)~l4_of(m, len, false, IP_PROTO_UDP));
	return len;
}

static uint32_t tcp6_frame(struct pair *p)
{
	const uint32_t len = V6_L4 + TCP_LEN + PAYLOAD;
	uint8_t *m = p->mem[0];

	raw_frame(p, 0, 0);
	memset(m + L3, 0, len - L3);
	put16(m + ETH_TYPE, ETH_TYPE_IPV6);
	m[L3] = 0x6a; /* class 0xa5 */
	m[L3 + 1] = 0x51;
	put16(m + L3 + IPV6_PAYLOAD, TCP_LEN + PAYLOAD);
	m[L3 + IPV6_NEXT] = IP_PROTO_TCP;
	m[L3 + IPV6_HOPS] = 64;
	for (uint32_t i = 0; i < 32; i++)
		m[L3 + IPV6_SRC + i] = (uint8_t)(0x20 + i);
	put32(m + V6_L4 + TCP_SEQ, 0xfffffff0);
	m[V6_L4 + TCP_DATA] = 0x50;
	m[V6_L4 + TCP_FLAGS] = 0x10;
	m[V6_L4 + TCP_LEN] = 0x77;
	put16(m + V6_L4 + TCP_SUM, (uint16_t)~l4_of(m, len, true, IP_PROTO_TCP));
	return len;
}

/* ---- Flows ---- */

static struct hca_flow_attr flow(uint8_t side, uint8_t action, const struct hca_edit *edit, uint32_t num)
{
	return (struct hca_flow_attr){
		.table = side, .action = action, .port = 1, .edit = edit, .num_edits = num};
}

static uint32_t add(const struct pair *p, unsigned int side, const struct hca_flow_attr *a)
{
	uint32_t id = 0;

	CU_ASSERT_EQUAL(hca_flow_create(p->fixture->hca[side], a, &id), 0);
	return id;
}

static int attempt(const struct pair *p, const struct hca_flow_attr *a)
{
	uint32_t id;

	return hca_flow_create(p->fixture->hca[1], a, &id);
}

static uint32_t table(const struct pair *p, unsigned int side, struct hca_flow_table_attr a)
{
	uint32_t id = 0;

	CU_ASSERT_EQUAL(hca_flow_table_create(p->fixture->hca[side], &a, &id), 0);
	return id;
}

/* Receives the frame in p->mem[0], as a flow of the sender changes it. */
static const uint8_t *changed(struct pair *p, uint32_t len, const struct hca_edit *edit, uint32_t num)
{
	const struct hca_flow_attr a = flow(HCA_FLOW_TX, HCA_FLOW_PASS, edit, num);
	const uint32_t id = add(p, 0, &a);
	struct tiny_cqe c;

	raw_recv(p, p->qp[1]);
	raw_send(p, 0, len);
	c = fixture_expect(p->rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.byte_count, len);
	CU_ASSERT_EQUAL(hca_flow_destroy(p->fixture->hca[0], id), 0);
	return p->mem[1];
}

#define CHANGED_(p, len, ...)                                                                                \
	changed(p, len, LIST(__VA_ARGS__), sizeof(LIST(__VA_ARGS__)) / sizeof(struct hca_edit))

static void open_pair(struct pair *p)
{
	raw_pair(p);
	raw_flow(p->qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
}

/* All but the bytes that are named is as it was sent. */
static bool rest_is_same(const struct pair *p, uint32_t len, const uint16_t *but, unsigned int num)
{
	for (uint32_t i = 0; i < len; i++) {
		bool named = false;

		for (unsigned int k = 0; k < num; k++)
			named |= but[k] == i;
		if (!named && p->mem[0][i] != p->mem[1][i])
			return false;
	}
	return true;
}

/* ---- Tests ---- */

static void udp(void)
{
	static const uint16_t but[] = {10,      11,     0,       1,       2,       3,       4,       5,
				       L3 + 1,  L3 + 8, L3 + 10, L3 + 11, L3 + 12, L3 + 13, L3 + 14, L3 + 15,
				       L3 + 19, L4,     L4 + 1,  L4 + 3,  L4 + 6,  L4 + 7};
	struct pair p;
	const uint8_t *m;
	uint8_t mac[6];
	uint32_t len;

	open_pair(&p);
	len = udp_frame(&p);
	memcpy(mac, p.mem[0], 6);
	memset(p.mem[0], 0x44, 6); /* of no adapter: the frame gets the receiver's */
	m = CHANGED_(&p, len, SET_(ETHER, 0, 32, get32(mac)), SET_(ETHER, 32, 16, get16(mac + 4)),
		     SET_(ETHER, 80, 16, 0xddee), ADD_(IPV4, 64, 8, 0xff), SET_(CLASS, 0, 6, 0x2e),
		     SET_(IPV4, 96, 32, 0xc0000201), SET_(IPV4, 152, 8, 77), SET_(UDP, 0, 16, 0xfffe),
		     COPY_(UDP, 24, 8, IPV4, 64));
	CU_ASSERT(!memcmp(m, mac, 6) && get16(m + 10) == 0xddee);
	CU_ASSERT(m[L3 + IPV4_TTL] == 8 && m[L3 + IPV4_TOS] == 0x2e << 2);
	CU_ASSERT(get32(m + L3 + IPV4_SRC) == 0xc0000201 && get32(m + L3 + IPV4_DST) == 0x0a00004d);
	CU_ASSERT(get16(m + L4) == 0xfffe && m[L4 + 3] == 8 && m[L4 + 2] == PORT >> 8);
	CU_ASSERT(rest_is_same(&p, len, but, sizeof(but) / sizeof(but[0])));
	CU_ASSERT_EQUAL(ones(words(m + L3, IPV4_LEN)), 0xffff);
	CU_ASSERT_EQUAL(l4_of(m, len, false, IP_PROTO_UDP), 0xffff);
	pair_free(&p);
}

static void tcp6(void)
{
	struct pair p;
	const uint8_t *m;
	uint32_t len;

	open_pair(&p);
	len = tcp6_frame(&p);
	m = CHANGED_(&p, len, SET_(IPV6, 56, 8, 3), SET_(IPV6, 96, 32, 0x01020304),
		     SET_(IPV6, 288, 32, 0xfffefdfc), ADD_(TCP, 32, 32, 0x20), SET_(TCP, 64, 32, 0x89abcdef),
		     SET_(TCP, 103, 9, 0x1c2), SET_(TCP, 0, 16, 80), COPY_(TCP, 16, 16, TCP, 0),
		     SET_(CLASS, 6, 2, 2));
	CU_ASSERT(m[L3] == 0x6a && m[L3 + 1] == 0x61 && m[L3 + IPV6_HOPS] == 3);
	CU_ASSERT(get32(m + L3 + 12) == 0x01020304 && get32(m + L3 + 36) == 0xfffefdfc);
	CU_ASSERT(get32(m + V6_L4 + TCP_SEQ) == 0x10 && get32(m + V6_L4 + 8) == 0x89abcdef);
	CU_ASSERT(m[V6_L4 + TCP_DATA] == 0x51 && m[V6_L4 + TCP_FLAGS] == 0xc2);
	CU_ASSERT(get16(m + V6_L4) == 80 && get16(m + V6_L4 + 2) == 80);
	CU_ASSERT_EQUAL(l4_of(m, len, true, IP_PROTO_TCP), 0xffff);
	pair_free(&p);
}

/* A tag, or a header, that a frame does not have; a UDP frame without a checksum; a new EtherType. */
static void absent(void)
{
	struct pair p;
	const uint8_t *m;
	uint32_t len;

	open_pair(&p);
	len = udp_frame(&p);
	CHANGED_(&p, len, SET_(TCP, 0, 16, 1), SET_(IPV6, 56, 8, 1), SET_(VLAN, 4, 12, 5),
		 ADD_(IPV6, 64, 32, 9), COPY_(UDP, 0, 16, TCP, 0));
	CU_ASSERT(rest_is_same(&p, len, NULL, 0));
	put16(p.mem[0] + L4 + UDP_SUM, 0);
	m = CHANGED_(&p, len, SET_(UDP, 0, 16, 1));
	CU_ASSERT(get16(m + L4) == 1 && !get16(m + L4 + UDP_SUM));
	m = CHANGED_(&p, len, SET_(TYPE, 0, 16, 0x88b5), SET_(IPV4, 64, 8, 1));
	CU_ASSERT(get16(m + ETH_TYPE) == 0x88b5 && m[L3 + IPV4_TTL] == 1);
	CU_ASSERT_EQUAL(ones(words(m + L3, IPV4_LEN)), 0xffff);
	pair_free(&p);
}

static void tagged(void)
{
	struct pair p;
	const uint8_t *m;
	uint32_t len;

	open_pair(&p);
	len = udp_frame(&p);
	memmove(p.mem[0] + ETH_TYPE + VLAN_LEN, p.mem[0] + ETH_TYPE, len - ETH_TYPE);
	put16(p.mem[0] + ETH_TYPE, ETH_TYPE_VLAN);
	put16(p.mem[0] + ETH_TYPE + 2, 0x6123);
	m = CHANGED_(&p, len + VLAN_LEN, SET_(VLAN, 4, 12, 0xabc), ADD_(IPV4, 64, 8, 1));
	CU_ASSERT(get16(m + ETH_TYPE) == ETH_TYPE_VLAN && get16(m + ETH_TYPE + 2) == 0x6abc);
	CU_ASSERT_EQUAL(m[L3 + VLAN_LEN + IPV4_TTL], 10);
	CU_ASSERT_EQUAL(ones(words(m + L3 + VLAN_LEN, IPV4_LEN)), 0xffff);
	pair_free(&p);
}

/* Received frames: a table behind the change matches the changed field, and counts what came. */
static void received(void)
{
	struct hca_flow_attr root = flow(HCA_FLOW_RX, HCA_FLOW_TO_TABLE, LIST(SET_(UDP, 16, 16, CHANGED)), 1),
			     in = flow(HCA_FLOW_RX, HCA_FLOW_TO_QP, LIST(ADD_(IPV4, 64, 8, 5)), 1);
	struct hca_flow_counter counter = {0};
	struct pair p;
	uint32_t len;

	open_pair(&p);
	root.next = in.table = table(&p, 1, (struct hca_flow_table_attr){.level = 1, .miss = HCA_FLOW_DROP});
	in.qpn = p.qp[1]->qpn;
	in.l4 = IP_PROTO_UDP;
	in.val.dport = CHANGED;
	in.mask.dport = 0xffff;
	root.counter = &counter;
	add(&p, 1, &root);
	add(&p, 1, &in);
	len = udp_frame(&p);
	raw_recv(&p, p.qp[1]);
	raw_send(&p, 0, len);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT(get16(p.mem[1] + L4 + UDP_DPORT) == CHANGED && p.mem[1][L3 + IPV4_TTL] == 14);
	CU_ASSERT_EQUAL(ones(words(p.mem[1] + L3, IPV4_LEN)), 0xffff);
	CU_ASSERT_EQUAL(l4_of(p.mem[1], len, false, IP_PROTO_UDP), 0xffff);
	CU_ASSERT(counter.packets == 1 && counter.octets == len);
	pair_free(&p);
}

/* After a change and PASS a frame meets the defaults as it is now: it was for one address, now it is for a group. */
static void passed(void)
{
	const struct hca_flow_attr a = flow(HCA_FLOW_RX, HCA_FLOW_PASS, LIST(SET_(ETHER, 0, 8, 0x01)), 1);
	struct pair p;

	raw_pair(&p);
	raw_flow(p.qp[1], NULL, HCA_FLOW_MC_DEFAULT, 0);
	raw_recv(&p, p.qp[1]);
	raw_send(&p, 0, udp_frame(&p));
	fixture_expect_none(p.rcq[1]);
	add(&p, 1, &a);
	raw_send(&p, 0, udp_frame(&p));
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(p.mem[1][0], 1);
	pair_free(&p);
}

/* Three flows of one rule make its change once, and do not see what is changed behind the others. */
static void copies(void)
{
	const struct hca_edit more = ADD_(IPV4, 64, 8, 1), again = ADD_(IPV4, 64, 8, 20);
	struct hca_flow_attr on = flow(HCA_FLOW_RX, HCA_FLOW_TO_TABLE, &more, 1),
			     to_qp = flow(HCA_FLOW_RX, HCA_FLOW_TO_QP, &more, 1),
			     in = flow(HCA_FLOW_RX, HCA_FLOW_TO_QP, &again, 1);
	struct hca_sge at;
	struct pair p;

	raw_pair(&p);
	on.next = in.table = table(&p, 1, (struct hca_flow_table_attr){.level = 1, .miss = HCA_FLOW_DROP});
	to_qp.qpn = in.qpn = p.qp[1]->qpn;
	add(&p, 1, &to_qp);
	add(&p, 1, &on);
	add(&p, 1, &to_qp);
	add(&p, 1, &in);
	for (unsigned int i = 0; i < 3; i++) {
		at = fixture_sge(p.mem[1] + i * 512, 512, p.key[1]);
		fixture_recv(p.qp[1], &at, 1);
	}
	raw_send(&p, 0, udp_frame(&p));
	for (unsigned int i = 0; i < 3; i++) {
		struct tiny_cqe c;

		CU_ASSERT_TRUE(fixture_poll(p.rcq[1], &c));
		CU_ASSERT_EQUAL(p.mem[1][i * 512 + L3 + IPV4_TTL], i == 1 ? 30 : 10);
	}
	pair_free(&p);
}

/* Of two flows one passes the frame on, changed: the defaults get that, whatever the other one got. */
static void onward(void)
{
	const struct hca_edit more = ADD_(IPV4, 64, 8, 20);
	struct hca_flow_attr on = flow(HCA_FLOW_RX, HCA_FLOW_TO_TABLE, NULL, 0),
			     to_qp = flow(HCA_FLOW_RX, HCA_FLOW_TO_QP, NULL, 0),
			     in = flow(HCA_FLOW_RX, HCA_FLOW_PASS, &more, 1);
	struct hca_sge at;
	struct pair p;

	open_pair(&p);
	on.next = in.table = table(&p, 1, (struct hca_flow_table_attr){.level = 1, .miss = HCA_FLOW_DROP});
	to_qp.qpn = p.qp[1]->qpn;
	add(&p, 1, &on);
	add(&p, 1, &to_qp);
	add(&p, 1, &in);
	for (unsigned int i = 0; i < 2; i++) {
		at = fixture_sge(p.mem[1] + i * 512, 512, p.key[1]);
		fixture_recv(p.qp[1], &at, 1);
	}
	raw_send(&p, 0, udp_frame(&p));
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT(p.mem[1][L3 + IPV4_TTL] == 9 && p.mem[1][512 + L3 + IPV4_TTL] == 29);
	pair_free(&p);
}

static void refused(void)
{
	const struct hca_edit ttl = ADD_(IPV4, 64, 8, 1);
	struct hca_edit bad[] = {SET_(IPV4, 64, 0, 1), SET_(IPV4, 64, 33, 1),      SET_(UDP, 49, 16, 1),
				 SET_(TYPE, 1, 16, 1), COPY_(UDP, 0, 16, UDP, 49), SET_(UDP, 0, 16, 1),
				 SET_(UDP, 0, 16, 1)};
	struct hca_edit many[HCA_MAX_EDITS + 1];
	struct hca_flow_attr a = flow(HCA_FLOW_RX, HCA_FLOW_DROP, &ttl, 1);
	struct pair p;

	raw_pair(&p);
	bad[5].header = HCA_HEADERS;
	bad[6].kind = HCA_EDIT_COPY + 1;
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		a.edit = &bad[i];
		CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	}
	for (unsigned int i = 0; i <= HCA_MAX_EDITS; i++)
		many[i] = ttl;
	a = flow(HCA_FLOW_RX, HCA_FLOW_DROP, many, HCA_MAX_EDITS + 1);
	CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	a.num_edits--;
	CU_ASSERT_EQUAL(attempt(&p, &a), 0);
	CU_ASSERT_EQUAL(attempt(&p, &a), 0); /* the same change again */
	a.num_edits--;
	CU_ASSERT_EQUAL(attempt(&p, &a), -EEXIST);
	many[0].value = 2;
	a.num_edits++;
	CU_ASSERT_EQUAL(attempt(&p, &a), -EEXIST);
	a.num_edits = 0;
	CU_ASSERT_EQUAL(attempt(&p, &a), -EEXIST);
	a = flow(HCA_FLOW_ROCE_TX, HCA_FLOW_DROP, &ttl, 1);
	CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	a.table = HCA_FLOW_ROCE_RX;
	CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	a = flow(HCA_FLOW_RX, HCA_FLOW_DROP, &ttl, 1);
	a.dont_trap = true;
	a.priority = 1;
	CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	a.dont_trap = false;
	a.kind = HCA_FLOW_ALL_DEFAULT;
	CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	pair_free(&p);
}

/* The tag of a table's entry is not that of the next flow of the rule that leads there. */
static void outer_tag(void)
{
	struct hca_flow_attr root = flow(HCA_FLOW_RX, HCA_FLOW_TO_TABLE, NULL, 0), on = root,
			     to_qp = flow(HCA_FLOW_RX, HCA_FLOW_TO_QP, NULL, 0), in = to_qp;
	static const uint32_t expected[] = {0x222, 0x111};
	struct tiny_cqe c;
	struct pair p;

	raw_pair(&p);
	root.next = on.table = to_qp.table =
		table(&p, 1, (struct hca_flow_table_attr){.level = 1, .miss = HCA_FLOW_DROP});
	on.next = in.table = table(&p, 1, (struct hca_flow_table_attr){.level = 2, .miss = HCA_FLOW_DROP});
	root.tagged = in.tagged = true;
	root.tag = 0x111;
	in.tag = 0x222;
	to_qp.qpn = in.qpn = p.qp[1]->qpn;
	add(&p, 1, &root);
	add(&p, 1, &on);
	add(&p, 1, &to_qp);
	add(&p, 1, &in);
	raw_recv(&p, p.qp[1]);
	raw_recv(&p, p.qp[1]);
	raw_send(&p, 0, udp_frame(&p));
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_TRUE(fixture_poll(p.rcq[1], &c));
		CU_ASSERT(c.tagged && c.flow_tag == expected[i]);
	}
	pair_free(&p);
}

const struct test edit_tests[] = {
	{"UDP over IPv4", udp},
	{"TCP over IPv6", tcp6},
	{"absent headers", absent},
	{"frames with a VLAN tag", tagged},
	{"received frames", received},
	{"defaults after a change", passed},
	{"several flows of a rule", copies},
	{"what goes on", onward},
	{"refused changes", refused},
	{"tag of the second flow of a rule", outer_tag},
	{NULL, NULL},
};
