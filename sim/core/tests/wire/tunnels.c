// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flows that put frames into tunnels and take them out of them. */
#include "raw_frames.h"
#include "core/wire/frame.h"
#include "core/wire/tunnel.h"

#define PORT    5000
#define PAYLOAD 80
#define INNER   (ETH_LEN + IPV4_LEN + UDP_LEN + PAYLOAD)

/* Outer headers: to the receiver, IPv4 or IPv6, and those of the tunnel. Their lengths and the sum of IPv4 are wrong. */
static uint32_t outer_ip(uint8_t *p, bool v6, uint8_t proto)
{
	memset(p, 0, HCA_MAX_HEAD);
	untimed_mac(1, 1, p);
	p[6] = 6;
	put16(p + ETH_TYPE, v6 ? ETH_TYPE_IPV6 : ETH_TYPE_IPV4);
	if (v6) {
		p[ETH_LEN] = 0x60;
		p[ETH_LEN + IPV6_NEXT] = proto;
		p[ETH_LEN + IPV6_HOPS] = 77;
		return ETH_LEN + IPV6_LEN;
	}
	p[ETH_LEN] = 0x45;
	put16(p + ETH_LEN + IPV4_TOTAL, 0xbad);
	put16(p + ETH_LEN + IPV4_SUM, 0xbad);
	p[ETH_LEN + IPV4_TTL] = 77;
	p[ETH_LEN + IPV4_PROTO] = proto;
	put32(p + ETH_LEN + IPV4_SRC, 0xc0000201);
	put32(p + ETH_LEN + IPV4_DST, 0xc0000202);
	return ETH_LEN + IPV4_LEN;
}

static uint32_t gre(uint8_t *p, bool v6, uint16_t flags, uint16_t type)
{
	const uint32_t at = outer_ip(p, v6, 47);

	put16(p + at, flags);
	put16(p + at + 2, type);
	return at + 4 + (flags & 0x8000 ? 4 : 0) + (flags & 0x2000 ? 4 : 0) + (flags & 0x1000 ? 4 : 0);
}

static uint32_t udp(uint8_t *p, bool v6, uint16_t port)
{
	const uint32_t at = outer_ip(p, v6, IP_PROTO_UDP);

	put16(p + at, 0xc000);
	put16(p + at + UDP_DPORT, port);
	return at + UDP_LEN;
}

static uint32_t vxlan(uint8_t *p, bool v6)
{
	const uint32_t at = udp(p, v6, 4789);

	p[at] = 8;
	return at + 8;
}

static uint32_t geneve(uint8_t *p, bool v6, uint8_t words, uint16_t type)
{
	const uint32_t at = udp(p, v6, 6081);

	p[at] = words;
	put16(p + at + 2, type);
	return at + 8 + words * 4u;
}

static struct hca_flow_attr sends(uint8_t strip, const uint8_t *head, uint32_t len)
{
	return (struct hca_flow_attr){.table = HCA_FLOW_TX,
				      .action = HCA_FLOW_PASS,
				      .port = 1,
				      .strip = strip,
				      .head = head,
				      .head_len = len};
}

static struct hca_flow_attr receives(const struct pair *p, const uint8_t *head, uint32_t len)
{
	return (struct hca_flow_attr){.table = HCA_FLOW_RX,
				      .action = HCA_FLOW_TO_QP,
				      .qpn = p->qp[1]->qpn,
				      .port = 1,
				      .strip = HCA_STRIP_TUNNEL,
				      .head = head,
				      .head_len = len};
}

static uint32_t add(const struct pair *p, unsigned int side, const struct hca_flow_attr *a)
{
	uint32_t id = 0;

	CU_ASSERT_EQUAL(hca_flow_create(p->fixture->hca[side], a, &id), 0);
	return id;
}

static void end(const struct pair *p, unsigned int side, uint32_t id)
{
	CU_ASSERT_EQUAL(hca_flow_destroy(p->fixture->hca[side], id), 0);
}

/* Sends the frame; the bytes that arrive, 0: none do. */
static uint32_t arrives(struct pair *p)
{
	struct tiny_cqe c;

	raw_send(p, 0, INNER);
	if (!fixture_poll(p->rcq[1], &c))
		return 0;
	CU_ASSERT_EQUAL(c.status, HCASIM_CQE_STATUS_OK);
	raw_recv(p, p->qp[1]);
	return c.byte_count;
}

static void open_pair(struct pair *p)
{
	raw_pair(p);
	raw_frame(p, PORT, PAYLOAD);
	for (uint32_t i = INNER - PAYLOAD; i < INNER; i++)
		p->mem[0][i] = (uint8_t)(i * 11);
	raw_recv(p, p->qp[1]);
}

static uint16_t ones(const uint8_t *p, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i += 2)
		sum += get16(p + i);
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)(sum + (sum >> 16));
}

/* ---- Tests ---- */

/* What is on the wire: head, frame, and the lengths. */
static void on_the_wire(struct pair *p, const uint8_t *head, uint32_t len, bool v6, bool has_udp)
{
	const struct hca_flow_attr in = sends(HCA_STRIP_NONE, head, len);
	const uint32_t id = add(p, 0, &in), l3 = len + INNER - ETH_LEN;
	const uint8_t *m = p->mem[1];

	CU_ASSERT_EQUAL(arrives(p), len + INNER);
	CU_ASSERT(!memcmp(m, head, ETH_LEN) && !memcmp(m + len, p->mem[0], INNER));
	if (v6) {
		CU_ASSERT_EQUAL(get16(m + ETH_LEN + IPV6_PAYLOAD), l3 - IPV6_LEN);
	} else {
		CU_ASSERT_EQUAL(get16(m + ETH_LEN + IPV4_TOTAL), l3);
		CU_ASSERT_EQUAL(ones(m + ETH_LEN, IPV4_LEN), 0xffff);
		CU_ASSERT(!memcmp(m + ETH_LEN + IPV4_TTL, head + ETH_LEN + IPV4_TTL, 2));
		CU_ASSERT(!memcmp(m + ETH_LEN + IPV4_SRC, head + ETH_LEN + IPV4_SRC, 8));
	}
	if (has_udp) {
		const uint32_t at = ETH_LEN + (v6 ? IPV6_LEN : IPV4_LEN);

		CU_ASSERT_EQUAL(get16(m + at + UDP_LENGTH), l3 + ETH_LEN - at);
		CU_ASSERT(!get16(m + at + UDP_SUM) && !memcmp(m + at, head + at, 4));
	}
	end(p, 0, id);
}

static void encapsulation(void)
{
	uint8_t head[HCA_MAX_HEAD];
	struct pair p;

	open_pair(&p);
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	for (unsigned int v6 = 0; v6 < 2; v6++) {
		on_the_wire(&p, head, gre(head, v6, 0, 0x6558), v6, false);
		on_the_wire(&p, head, vxlan(head, v6), v6, true);
		on_the_wire(&p, head, geneve(head, v6, 2, 0x6558), v6, true);
	}
	pair_free(&p);
}

/* Through a tunnel of frames and out of it: the frame is as before. */
static void there_and_back(struct pair *p, const uint8_t *head, uint32_t len)
{
	const struct hca_flow_attr in = sends(HCA_STRIP_NONE, head, len);
	const uint32_t id = add(p, 0, &in);

	memset(p->mem[1], 0, INNER);
	CU_ASSERT_EQUAL(arrives(p), INNER);
	CU_ASSERT(!memcmp(p->mem[0], p->mem[1], INNER));
	end(p, 0, id);
}

static void frames(void)
{
	uint8_t head[HCA_MAX_HEAD];
	struct hca_flow_attr out;
	struct pair p;

	open_pair(&p);
	out = receives(&p, NULL, 0);
	add(&p, 1, &out);
	for (unsigned int v6 = 0; v6 < 2; v6++) {
		there_and_back(&p, head, gre(head, v6, 0, 0x6558));
		there_and_back(&p, head, gre(head, v6, 0xb000, 0x6558));
		there_and_back(&p, head, gre(head, v6, 0x2000, 0x6558));
		there_and_back(&p, head, vxlan(head, v6));
		there_and_back(&p, head, geneve(head, v6, 0, 0x6558));
		there_and_back(&p, head, geneve(head, v6, 3, 0x6558));
	}
	CU_ASSERT_EQUAL(arrives(&p), 0); /* in no tunnel */
	pair_free(&p);
}

/* Through a tunnel of IP packets: it gets another Ethernet header, here one with a VLAN tag. */
static void packets(void)
{
	static const uint8_t link[18] = {2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 0x81, 0, 0, 5, 8, 0};
	uint8_t head[HCA_MAX_HEAD];
	struct hca_flow_attr out, in = sends(HCA_STRIP_ETHER, head, gre(head, false, 0, 0x0800));
	const uint32_t rest = INNER - ETH_LEN;
	uint32_t id;
	struct pair p;

	open_pair(&p);
	out = receives(&p, link, sizeof(link));
	add(&p, 1, &out);
	id = add(&p, 0, &in);
	CU_ASSERT_EQUAL(arrives(&p), sizeof(link) + rest);
	CU_ASSERT(!memcmp(p.mem[1], link, sizeof(link)));
	CU_ASSERT(!memcmp(p.mem[1] + sizeof(link), p.mem[0] + ETH_LEN, rest));
	end(&p, 0, id);
	in = sends(HCA_STRIP_ETHER, head, geneve(head, true, 1, 0x0800));
	id = add(&p, 0, &in);
	CU_ASSERT_EQUAL(arrives(&p), sizeof(link) + rest);
	end(&p, 0, id);
	in = sends(HCA_STRIP_ETHER, head, geneve(head, true, 1, 0x86dd)); /* it is not IPv6 */
	id = add(&p, 0, &in);
	CU_ASSERT_EQUAL(arrives(&p), 0);
	end(&p, 0, id);
	in = sends(HCA_STRIP_NONE, head, vxlan(head, false)); /* a frame, where a packet is expected */
	add(&p, 0, &in);
	CU_ASSERT_EQUAL(arrives(&p), 0);
	pair_free(&p);
}

/* Changes are of the inner frame, before it goes in and after it has come out. */
static void with_edits(void)
{
	const struct hca_edit ttl = {
		.kind = HCA_EDIT_ADD, .header = HCA_HEADER_IPV4, .to = 64, .bits = 8, .value = 1};
	uint8_t head[HCA_MAX_HEAD];
	const uint32_t len = vxlan(head, false);
	struct hca_flow_attr in = sends(HCA_STRIP_NONE, head, len), out;
	struct pair p;
	uint32_t id;

	open_pair(&p);
	in.edit = &ttl;
	in.num_edits = 1;
	add(&p, 0, &in);
	id = raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	CU_ASSERT_EQUAL(arrives(&p), len + INNER);
	CU_ASSERT(p.mem[1][ETH_LEN + IPV4_TTL] == 77 && p.mem[1][len + ETH_LEN + IPV4_TTL] == 10);
	end(&p, 1, id);
	out = receives(&p, NULL, 0);
	out.edit = &ttl;
	out.num_edits = 1;
	add(&p, 1, &out);
	CU_ASSERT_EQUAL(arrives(&p), INNER);
	CU_ASSERT_EQUAL(p.mem[1][ETH_LEN + IPV4_TTL], 11);
	pair_free(&p);
}

static int attempt(const struct pair *p, const struct hca_flow_attr *a)
{
	uint32_t id;

	return hca_flow_create(p->fixture->hca[0], a, &id);
}

static void refused(void)
{
	uint8_t head[HCA_MAX_HEAD + 1] = {0};
	struct hca_flow_attr a = sends(HCA_STRIP_TUNNEL + 1, head, 50);
	struct pair p;

	raw_pair(&p);
	vxlan(head, false);
	CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	a = sends(HCA_STRIP_NONE, head, HCA_MAX_HEAD + 1);
	CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	a = sends(HCA_STRIP_NONE, head, ETH_LEN - 1);
	CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	a = sends(HCA_STRIP_ETHER, NULL, 0);
	CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	a = sends(HCA_STRIP_NONE, head, 50);
	a.table = HCA_FLOW_ROCE_TX;
	CU_ASSERT_EQUAL(attempt(&p, &a), -EINVAL);
	a.table = HCA_FLOW_TX;
	CU_ASSERT_EQUAL(attempt(&p, &a), 0);
	CU_ASSERT_EQUAL(attempt(&p, &a), 0);
	a.head_len--;
	CU_ASSERT_EQUAL(attempt(&p, &a), -EEXIST);
	a.head_len++;
	a.strip = HCA_STRIP_ETHER;
	CU_ASSERT_EQUAL(attempt(&p, &a), -EEXIST);
	a.strip = HCA_STRIP_NONE;
	head[20]++;
	CU_ASSERT_EQUAL(attempt(&p, &a), -EEXIST);
	pair_free(&p);
}

/* A flow for a GENEVE header; frames without one, and those with other values, do not meet it. */
static void matched(void)
{
	struct hca_flow_counter counter = {0}, others = {0};
	const struct hca_flow_attr any = {
		.action = HCA_FLOW_DROP, .port = 1, .geneve = true, .priority = 1, .counter = &others};
	uint8_t head[HCA_MAX_HEAD];
	struct hca_flow_attr in, match;
	struct pair p;
	uint32_t id, at;

	open_pair(&p);
	match = receives(&p, NULL, 0);
	match.geneve = true;
	match.val = (struct hca_flow_fields){.vni = 0x123456, .oam = 1, .tunnel_type = 0x6558, .options = 2};
	match.mask =
		(struct hca_flow_fields){.vni = 0xffffff, .oam = 1, .tunnel_type = 0xffff, .options = 0x3f};
	match.counter = &counter;
	add(&p, 1, &match);
	add(&p, 1, &any);
	CU_ASSERT_EQUAL(arrives(&p), 0); /* in no tunnel */
	CU_ASSERT_EQUAL(others.packets, 0);
	at = geneve(head, false, 2, 0x6558) - 8 - 8;
	head[at + 1] = 0x80;
	put32(head + at + 4, 0x12345600);
	for (unsigned int bad = 0; bad < 5; bad++) {
		static const uint8_t offset[] = {0, 1, 3, 6};
		uint8_t *byte = bad < 4 ? &head[at + offset[bad]] : &head[at - UDP_LEN + UDP_DPORT + 1];
		const uint8_t mask = bad == 1 ? 0x80 : 1;

		*byte ^= mask;
		in = sends(HCA_STRIP_NONE, head, at + 16);
		id = add(&p, 0, &in);
		CU_ASSERT_EQUAL(arrives(&p), 0);
		end(&p, 0, id);
		*byte ^= mask;
	}
	CU_ASSERT_EQUAL(counter.packets, 0);
	in = sends(HCA_STRIP_NONE, head, at + 16);
	add(&p, 0, &in);
	CU_ASSERT_EQUAL(arrives(&p), INNER);
	CU_ASSERT_EQUAL(counter.packets, 1);
	CU_ASSERT_EQUAL(others.packets, 4); /* all but that with another port */
	pair_free(&p);
}

/* Of every length, with what a header may have wrong: what is taken off is in the frame, and leaves something. */
static void cut_short(void)
{
	uint8_t head[HCA_MAX_HEAD], *cut;
	const uint32_t len[] = {gre(head, false, 0xb000, 0x6558), vxlan(head, true),
				geneve(head, false, 5, 0x6558)};
	bool ether;

	for (unsigned int i = 0; i < 3; i++) {
		if (i == 0)
			gre(head, false, 0xb000, 0x6558);
		else if (i == 1)
			vxlan(head, true);
		else
			geneve(head, false, 5, 0x6558);
		for (uint32_t n = ETH_LEN; n <= sizeof(head); n++) {
			cut = malloc(n); /* of this size: AddressSanitizer sees what is read behind it */
			memcpy(cut, head, n);
			CU_ASSERT_EQUAL(tunnel_headers(cut, n, &ether), n >= len[i] + ETH_LEN ? len[i] : 0);
			free(cut);
		}
	}
	CU_ASSERT_EQUAL(gre(head, false, 1, 0x6558),
			tunnel_headers(head, sizeof(head), &ether)); /* version 1 */
	gre(head, false, 0x4000, 0x6558);                            /* routing */
	CU_ASSERT_EQUAL(tunnel_headers(head, sizeof(head), &ether), 0);
	geneve(head, false, 0x40, 0x6558);
	CU_ASSERT_EQUAL(tunnel_headers(head, sizeof(head), &ether), 0);
	udp(head, false, 4790);
	CU_ASSERT_EQUAL(tunnel_headers(head, sizeof(head), &ether), 0);
}

const struct test tunnel_tests[] = {
	{"what is on the wire", encapsulation},
	{"tunnels of frames", frames},
	{"tunnels of IP packets", packets},
	{"with changes", with_edits},
	{"refused tunnels", refused},
	{"match of GENEVE", matched},
	{"headers that end too early", cut_short},
	{NULL, NULL},
};
