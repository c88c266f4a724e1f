// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What an adapter does to frames and says of them: headers from the WQE, checksums, kinds of headers. */
#include "raw_frames.h"
#include "core/wire/frame.h"
#include "core/wire/net.h"

#define HOP_BY_HOP 0
#define V6_PART    44
#define OPTION     8 /* bytes */

/* ---- Frames ---- */

struct shape {
	uint8_t ip; /* 4, 6 */
	uint8_t proto;
	uint8_t tcp_flags;
	bool vlan, option, part;
	uint32_t data;
};

static uint8_t *put_l2(uint8_t *p, const struct shape *s)
{
	p[0] = 2;
	p[6] = 4;
	p += ETH_TYPE;
	if (s->vlan) {
		put16(p, ETH_TYPE_VLAN);
		put16(p + 2, 7);
		p += VLAN_LEN;
	}
	put16(p, s->ip == 4 ? ETH_TYPE_IPV4 : ETH_TYPE_IPV6);
	return p + 2;
}

static uint8_t *put_v4(uint8_t *h, const struct shape *s, uint32_t behind)
{
	const uint32_t hlen = IPV4_LEN + (s->option ? OPTION : 0);

	h[0] = (uint8_t)(0x40 | hlen / 4);
	put16(h + IPV4_TOTAL, hlen + behind);
	put16(h + IPV4_FRAG, s->part ? 0x2000 : 0); /* the first of several */
	h[IPV4_PROTO] = s->proto;
	put32(h + IPV4_SRC, 0x0a000001);
	put32(h + IPV4_DST, 0x0a000002);
	return h + hlen;
}

static uint8_t *put_v6(uint8_t *h, const struct shape *s, uint32_t behind)
{
	const uint32_t more = s->option || s->part ? OPTION : 0;

	h[0] = 0x60;
	put16(h + IPV6_PAYLOAD, more + behind);
	h[IPV6_SRC] = 0xfd;
	h[IPV6_DST] = 0xfe;
	h[IPV6_NEXT] = s->part ? V6_PART : s->option ? HOP_BY_HOP : s->proto;
	if (more)
		h[IPV6_LEN] = s->proto;
	return h + IPV6_LEN + more;
}

/* Headers without checksums, then data; the bytes of the frame. */
static uint32_t frame_of(uint8_t *p, const struct shape *s)
{
	const uint32_t l4_len = s->proto == IP_PROTO_TCP ? TCP_LEN : UDP_LEN;
	uint8_t *h;

	memset(p, 0, 200);
	h = put_l2(p, s);
	h = s->ip == 4 ? put_v4(h, s, l4_len + s->data) : put_v6(h, s, l4_len + s->data);
	put16(h, 7777);
	put16(h + L4_DPORT, 5000);
	if (s->proto == IP_PROTO_TCP) {
		h[TCP_DATA] = 0x50;
		h[TCP_FLAGS] = s->tcp_flags;
	} else {
		put16(h + UDP_LENGTH, UDP_LEN + s->data);
	}
	h += l4_len;
	for (uint32_t i = 0; i < s->data; i++)
		h[i] = (uint8_t)(i + 1);
	return (uint32_t)(h - p) + s->data;
}

/* ---- Kinds of headers ---- */

static struct hca_headers seen(const uint8_t *p, uint32_t len)
{
	struct hca_headers h;

	net_headers(p, len, NET_ETHERNET, &h);
	return h;
}

/* With no checksum, with one, with both; and with one bit of the data turned. */
static void one_kind(const struct shape *s, int l4)
{
	uint8_t p[200];
	const uint32_t len = frame_of(p, s);
	struct hca_headers h = seen(p, len);

	CU_ASSERT_EQUAL(h.ip, s->ip);
	CU_ASSERT_EQUAL((int)h.l4, l4);
	CU_ASSERT_EQUAL(h.fragment, s->part);
	CU_ASSERT_EQUAL(h.options, s->option);
	CU_ASSERT_EQUAL(h.l3_ok, s->ip == 6);
	CU_ASSERT_FALSE(h.l4_ok);
	net_put_sums(p, len, NET_ETHERNET, HCA_WR_L4_CSUM);
	h = seen(p, len);
	CU_ASSERT_EQUAL(h.l3_ok, s->ip == 6);
	CU_ASSERT_EQUAL(h.l4_ok, l4 != HCA_L4_NONE);
	net_put_sums(p, len, NET_ETHERNET, HCA_WR_L3_CSUM);
	h = seen(p, len);
	CU_ASSERT_TRUE(h.l3_ok);
	CU_ASSERT_EQUAL(h.l4_ok, l4 != HCA_L4_NONE);
	p[len - 1] ^= 1;
	h = seen(p, len);
	CU_ASSERT_TRUE(h.l3_ok);
	CU_ASSERT_FALSE(h.l4_ok);
}

static void kinds(void)
{
	for (uint8_t ip = 4; ip <= 6; ip += 2) {
		struct shape s = {.ip = ip, .proto = IP_PROTO_UDP, .data = 21};

		one_kind(&s, HCA_L4_UDP);
		s.vlan = true;
		one_kind(&s, HCA_L4_UDP);
		s.option = true;
		one_kind(&s, HCA_L4_UDP);
		s.proto = IP_PROTO_TCP;
		s.tcp_flags = TCP_PSH;
		one_kind(&s, HCA_L4_TCP);
		s.tcp_flags = TCP_ACK;
		one_kind(&s, HCA_L4_TCP_ACK_DATA);
		s.data = 0;
		one_kind(&s, HCA_L4_TCP_ACK);
		s = (struct shape){.ip = ip, .proto = IP_PROTO_UDP, .data = 21, .part = true};
		one_kind(&s, HCA_L4_NONE);
		s = (struct shape){.ip = ip, .proto = 89, .data = 21}; /* OSPF */
		one_kind(&s, HCA_L4_NONE);
	}
}

/* Headers whose lengths are not those of the frame have their kind, and are not right. */
static void wrong_lengths(void)
{
	const struct shape s = {.ip = 6, .proto = IP_PROTO_TCP, .tcp_flags = TCP_ACK, .data = 9};
	uint8_t p[200];
	const uint32_t len = frame_of(p, &s);
	struct hca_headers h;

	net_put_sums(p, len, NET_ETHERNET, HCA_WR_IP_CSUM);
	h = seen(p, len);
	CU_ASSERT(h.l3_ok && h.l4_ok);
	h = seen(p, len - 1);
	CU_ASSERT_EQUAL(h.ip, 6);
	CU_ASSERT_EQUAL(h.l4, HCA_L4_TCP_ACK_DATA);
	CU_ASSERT(!h.l3_ok && !h.l4_ok);
	h = seen(p, len + 50); /* padding */
	CU_ASSERT(h.l3_ok && h.l4_ok);
	h = seen(p, ETH_LEN + 1);
	CU_ASSERT(!h.ip && h.l4 == HCA_L4_NONE && !h.l3_ok && !h.l4_ok);
}

/* ---- Checksums of sent frames ---- */

static void one_sum(struct pair *p, uint32_t flags, uint32_t len)
{
	const uint8_t *got = p->mem[1] + ETH_LEN;
	struct hca_headers h;
	struct tiny_cqe c;

	raw_recv(p, p->qp[1]);
	raw_send(p, flags, len);
	c = fixture_expect(p->rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(!!(c.flags & TINY_CQE_CSUM), flags == HCA_WR_IP_CSUM);
	h = seen(p->mem[1], len);
	CU_ASSERT_EQUAL(h.l3_ok, !!(flags & HCA_WR_L3_CSUM));
	CU_ASSERT_EQUAL(h.l4_ok, !!(flags & HCA_WR_L4_CSUM));
	CU_ASSERT_EQUAL(!!get16(got + IPV4_SUM), h.l3_ok);
	CU_ASSERT_EQUAL(!!get16(got + IPV4_LEN + UDP_SUM), h.l4_ok);
	/* The sender's own memory is as it was. */
	CU_ASSERT_EQUAL(get16(p->mem[0] + ETH_LEN + IPV4_SUM), 0);
}

static void sums(void)
{
	struct pair p;
	uint32_t len;

	raw_pair(&p);
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	len = raw_frame(&p, 5000, 101);
	one_sum(&p, 0, len);
	one_sum(&p, HCA_WR_L3_CSUM, len);
	one_sum(&p, HCA_WR_L4_CSUM, len);
	one_sum(&p, HCA_WR_IP_CSUM, len);
	pair_free(&p);
}

/* ---- Headers in the WQE ---- */

/* `headers` bytes of the frame, then `lead` inline ones, then `rest` by an SGE. */
static void send_parts(struct pair *p, uint32_t flags, uint32_t headers, uint32_t lead, uint32_t rest)
{
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_SEND, .flags = flags | TINY_HEADERS, .compare = headers};
	const uint32_t inside = headers + lead;
	const struct hca_sge sge = fixture_sge(p->mem[0] + inside, rest, p->key[0]);
	uint8_t data[400 + sizeof(sge)];

	memcpy(data, p->mem[0], inside);
	if (rest) {
		w.flags |= TINY_LEAD;
		w.swap_add = lead;
		memcpy(data + inside, &sge, sizeof(sge));
	} else {
		w.flags |= HCA_WR_INLINE;
		w.num_sge = lead;
	}
	fixture_put(p->qp[0], &w, NULL, data, rest ? 1 : 0);
	fixture_ring(p->qp[0]);
	fixture_run(p->fixture);
}

static void headers_first(void)
{
	static const struct {
		uint32_t headers, lead, rest;
	} parts[] = {{18, 0, 200}, {2, 0, 300}, {14, 0, 46},  {42, 30, 200},
		     {18, 42, 0},  {60, 0, 0},  {300, 100, 0}};
	struct tiny_cqe c;
	struct pair p;

	raw_pair(&p);
	raw_flow(p.qp[1], NULL, HCA_FLOW_ALL_DEFAULT, 0);
	raw_frame(&p, 5000, 1000);
	fixture_fill(p.mem[0] + ETH_LEN + IPV4_LEN + UDP_LEN, 1000, 1);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const uint32_t len = parts[i].headers + parts[i].lead + parts[i].rest;

		raw_recv(&p, p.qp[1]);
		send_parts(&p, 0, parts[i].headers, parts[i].lead, parts[i].rest);
		c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
		CU_ASSERT_EQUAL(c.byte_count, len);
		CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], len), 0);
	}
	/* Checksums are of the whole frame. */
	raw_frame(&p, 5000, 100);
	raw_recv(&p, p.qp[1]);
	send_parts(&p, HCA_WR_IP_CSUM, 18, 0, ETH_LEN + IPV4_LEN + UDP_LEN + 100 - 18);
	c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_TRUE(c.flags & TINY_CQE_CSUM);
	pair_free(&p);
}

/* They are part of what has a limit. */
static void headers_count(void)
{
	struct pair p;

	raw_pair(&p);
	send_parts(&p, 0, 7, 6, 0);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_LEN_ERR).vendor_err,
			HCASIM_VENDOR_ERR_BAD_SEGMENT);
	fixture_state(p.qp[0], HCASIM_QPS_RTS);
	send_parts(&p, 0, 18, 0, CORE_FRAME_MAX(4096) - 17);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_LEN_ERR).vendor_err,
			HCASIM_VENDOR_ERR_MSG_TOO_LONG);
	pair_free(&p);
}

const struct test offload_tests[] = {
	{"kinds of headers", kinds},           {"wrong lengths", wrong_lengths},        {"checksums", sums},
	{"headers in the WQE", headers_first}, {"lengths with headers", headers_count}, {NULL, NULL},
};
