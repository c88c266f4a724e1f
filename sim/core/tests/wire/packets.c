// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Frames: ICRC vectors from elsewhere, build and parse of every opcode, malformed ones. */
#include "fixture.h"
#include "core/wire/frame.h"

/* UC SEND only: the example of scapy's RoCE layer, with an ICRC that hardware made. */
static const uint8_t uc_frame[] = {
	0x24, 0x8a, 0x07, 0xa8, 0xfa, 0x22, 0x24, 0x8a, 0x07, 0xa8, 0xfa, 0x22, 0x08, 0x00, 0x45, 0x01,
	0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11, 0xb4, 0xd5, 0xc0, 0xa8, 0x00, 0x07, 0xc0, 0xa8,
	0x00, 0x07, 0xc0, 0x00, 0x12, 0xb7, 0x00, 0x2c, 0xac, 0xa2, 0x24, 0x60, 0xff, 0xff, 0x00, 0x00,
	0x00, 0xd3, 0x00, 0xcf, 0x17, 0x10, 0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9, 0x0e, 0x9a,
	0x95, 0x50, 0x54, 0x01, 0xbe, 0x88, 0x5e, 0x50, 0x00, 0x00, 0x78, 0xf3, 0x53, 0xf3,
};
/* Congestion notification, captured from a ConnectX-4 Lx. */
static const uint8_t cnp_frame[] = {
	0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2, 0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32, 0x08, 0x00, 0x45,
	0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11, 0x01,
	0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00, 0x81, 0x00, 0xff,
	0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a,
};

static struct hca_packet *packet_of(const uint8_t *data, uint32_t len)
{
	struct hca_packet *pkt = hca_packet_alloc(len);

	pkt->len = len;
	memcpy(pkt->data, data, len);
	return pkt;
}

static void check_vector(const uint8_t *frame, uint32_t len)
{
	uint32_t icrc = htole32(icrc_frame(icrc_seed(), frame, len - 4));

	CU_ASSERT_EQUAL(memcmp(&icrc, frame + len - 4, 4), 0);
}

static void icrc_vectors(void)
{
	check_vector(uc_frame, sizeof(uc_frame));
	check_vector(cnp_frame, sizeof(cnp_frame));
}

static void parse_captured(void)
{
	struct fixture *fixture = fixture_new(NULL, 0);
	struct hca_packet *pkt = packet_of(uc_frame, sizeof(uc_frame));
	struct pkt_info info;

	CU_ASSERT_TRUE(packet_parse(fixture->hca[0], 1, pkt, &info));
	CU_ASSERT_EQUAL(info.op->op, HCASIM_BTH_OP_UC_SEND_ONLY);
	CU_ASSERT_EQUAL(info.dqpn, 211);
	CU_ASSERT_EQUAL(info.psn, 13571856);
	CU_ASSERT_EQUAL(info.payload_len, 18);
	CU_ASSERT_EQUAL(info.payload_off, 54);
	hca_packet_free(pkt);
	fixture_free(fixture);
}

static void finish(struct hca *hca, struct hca_packet *pkt)
{
	uint32_t icrc = htole32(icrc_frame(hca->icrc_seed, pkt->data, pkt->len - 4));

	memcpy(pkt->data + pkt->len - 4, &icrc, 4);
}

/* First packets of SENDs and of READ responses, WRITEs with immediate data, responses to atomics. */
static bool has_descriptor(uint8_t opcode)
{
	switch (opcode & HCASIM_BTH_CODE_MASK) {
	case HCASIM_BTH_OP_RC_SEND_FIRST:
	case HCASIM_BTH_OP_RC_SEND_ONLY:
	case HCASIM_BTH_OP_RC_SEND_ONLY_WITH_IMMEDIATE:
	case HCASIM_BTH_OP_RC_SEND_ONLY_WITH_INVALIDATE:
	case HCASIM_BTH_OP_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE:
	case HCASIM_BTH_OP_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE:
	case HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_FIRST:
	case HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_ONLY:
	case HCASIM_BTH_OP_RC_ATOMIC_ACKNOWLEDGE:
		return true;
	default:
		return false;
	}
}

static void round_trip(struct hca *hca, uint8_t opcode, uint32_t len, const struct hca_av *av)
{
	struct pkt_spec s = {.opcode = opcode,
			     .port = 1,
			     .av = av,
			     .sport = 0xc123,
			     .dqpn = 0x123456,
			     .psn = 0xfedcba,
			     .qkey = 0x80010203,
			     .sqpn = 0x654321,
			     .se = true,
			     .ackreq = true,
			     .va = 0x0102030405060708ull,
			     .swap_add = 0x1112131415161718ull,
			     .compare = 0x2122232425262728ull,
			     .orig = 0x3132333435363738ull,
			     .rkey = 0x41424344,
			     .dmalen = 0x51525354,
			     .imm = htobe32(0x61626364),
			     .aeth_kind = HCASIM_AETH_KIND_NAK,
			     .aeth_value = 3,
			     .msn = 0x717273,
			     .payload_len = len};
	struct pkt_info i = {0};
	struct hca_packet *pkt;
	uint32_t off, h, has = 0;

	pkt = packet_build(hca, &s, &off);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pkt);
	fixture_fill(pkt->data + off, len, opcode);
	finish(hca, pkt);
	CU_ASSERT_TRUE(packet_parse(hca, 1, pkt, &i));
	CU_ASSERT_EQUAL(packet_descriptors(pkt), has_descriptor(opcode));
	CU_ASSERT_EQUAL(i.op->op, opcode);
	CU_ASSERT_EQUAL(i.payload_off, off);
	CU_ASSERT_EQUAL(i.payload_len, len);
	CU_ASSERT_TRUE(i.dqpn == s.dqpn && i.psn == s.psn && i.se && i.ackreq && i.pkey == 0xffff);
	CU_ASSERT_EQUAL(memcmp(i.dgid, av->dgid, 16), 0);
	CU_ASSERT_EQUAL(memcmp(i.sgid, hca->port[0].gid[av->sgid_index], 16), 0);
	CU_ASSERT_EQUAL(i.v1, av->sgid_index >= 2);
	CU_ASSERT_EQUAL(get16(pkt->data + ETH_TYPE) == HCASIM_ROCE_ETH_TYPE, i.v1);
	for (h = 0; h < i.op->num_hdrs; h++)
		has |= 1u << i.op->hdr[h];
	if (has & 1u << HCASIM_HDR_DETH)
		CU_ASSERT_TRUE(i.qkey == s.qkey && i.sqpn == s.sqpn);
	if (has & 1u << HCASIM_HDR_RETH)
		CU_ASSERT_TRUE(i.va == s.va && i.rkey == s.rkey && i.dmalen == s.dmalen);
	if (has & 1u << HCASIM_HDR_ATOMICETH)
		CU_ASSERT_TRUE(i.va == s.va && i.rkey == s.rkey && i.swap_add == s.swap_add &&
			       i.compare == s.compare);
	if (has & 1u << HCASIM_HDR_AETH)
		CU_ASSERT_TRUE(i.aeth_kind == s.aeth_kind && i.aeth_value == s.aeth_value && i.msn == s.msn);
	if (has & 1u << HCASIM_HDR_ATOMICACKETH)
		CU_ASSERT_EQUAL(i.orig, s.orig);
	if (has & 1u << HCASIM_HDR_IMMDT)
		CU_ASSERT_EQUAL(i.imm, s.imm);
	hca_packet_free(pkt);
}

/* Over IPv4, IPv6, and RoCEv1 with GIDs of both kinds. */
static void every_opcode(void)
{
	static const uint8_t v6[16] = {0xfe, 0x80, [15] = 9};
	struct fixture *fixture = fixture_new(NULL, 0);
	struct hca_av av = {.hop_limit = 3, .traffic_class = 1, .flow_label = 5};
	unsigned int op, len;
	uint8_t v4[16];

	untimed_gid(0, 1, v4);
	hca_gid_set(fixture->hca[0], 1, 1, v6, false);
	hca_gid_set(fixture->hca[0], 1, 2, v4, true);
	hca_gid_set(fixture->hca[0], 1, 3, v6, true);
	for (av.sgid_index = 0; av.sgid_index < 4; av.sgid_index++) {
		if (av.sgid_index & 1)
			memcpy(av.dgid, v6, 16);
		else
			untimed_gid(1, 1, av.dgid);
		for (op = 0; op < 256; op++) {
			const struct hcasim_bth_op_info *info = hcasim_bth_op_info((uint8_t)op);

			if (!info)
				continue;
			for (len = 0; len <= (info->flags & HCASIM_BTH_F_PAYLOAD ? 9 : 0); len++)
				round_trip(fixture->hca[0], (uint8_t)op, len, &av);
		}
	}
	fixture_free(fixture);
}

/* A SEND of 10 bytes; its GRH by the figures of IBTA 8.3 and A16, its ICRC computed bit by bit. */
static void roce_v1(void)
{
	static const uint8_t to[16] = {[10] = 0xff, 0xff, 10, 77, 0, 2};
	static const uint8_t grh[8] = {0x6a, 0x51, 0x23, 0x45, 0, 12 + 12 + 4, 0x1b, 9};
	struct fixture *fixture = fixture_new(NULL, 0);
	const struct hca_av av = {.hop_limit = 9,
				  .traffic_class = 0xa5,
				  .flow_label = 0x12345,
				  .dgid = {[10] = 0xff, 0xff, 10, 77, 0, 2}};
	const struct pkt_spec s = {.opcode = HCASIM_BTH_OP_RC_SEND_ONLY,
				   .port = 1,
				   .av = &av,
				   .dqpn = 3,
				   .psn = 4,
				   .payload_len = 10};
	struct hca_packet *pkt;
	uint32_t off, crc = ~0u;
	uint8_t seen[8 + 40 + 12 + 12];

	hca_gid_set(fixture->hca[0], 1, 0, to, true);
	pkt = packet_build(fixture->hca[0], &s, &off);
	memset(pkt->data + off, 0x5a, 10);
	finish(fixture->hca[0], pkt);
	CU_ASSERT_EQUAL_FATAL(pkt->len, ETH_LEN + 40 + 12 + 12 + 4);
	CU_ASSERT_EQUAL(get16(pkt->data + ETH_TYPE), 0x8915);
	CU_ASSERT_EQUAL(memcmp(pkt->data + ETH_LEN, grh, sizeof(grh)), 0);
	CU_ASSERT_EQUAL(memcmp(pkt->data + ETH_LEN + 24, to, 16), 0);
	CU_ASSERT_EQUAL(hca_packet_priority(pkt), 0);
	CU_ASSERT_FALSE(hca_packet_mark(pkt));
	memset(seen, 0xff, 8);
	memcpy(seen + 8, pkt->data + ETH_LEN, sizeof(seen) - 8);
	memset(seen + 8, 0xff, 4);
	seen[8] = 0x6f;
	seen[8 + 7] = seen[8 + 40 + 4] = 0xff;
	for (uint32_t bit = 0; bit < sizeof(seen) * 8; bit++)
		crc = crc >> 1 ^ ((crc ^ seen[bit / 8] >> bit % 8) & 1 ? 0xedb88320 : 0);
	crc = htole32(~crc);
	CU_ASSERT_EQUAL(memcmp(&crc, pkt->data + pkt->len - 4, 4), 0);
	hca_packet_free(pkt);
	fixture_free(fixture);
}

/* Each frame of the EtherType is the transport's: one that is cut, or has another GRH, is malformed. */
static void roce_v1_malformed(void)
{
	static const struct {
		uint32_t at, flip;
		uint8_t refused;
	} tab[] = {
		{ETH_LEN, 0x20, HCASIM_COUNTER_REFUSED_MALFORMED},     /* version */
		{ETH_LEN + 6, 0x01, HCASIM_COUNTER_REFUSED_MALFORMED}, /* next header */
		{ETH_LEN + 4, 0x10, HCASIM_COUNTER_REFUSED_MALFORMED}, /* length */
		{ETH_LEN + 5, 0x04, HCASIM_COUNTER_REFUSED_ICRC},
		{ETH_LEN + 8, 0x01, HCASIM_COUNTER_REFUSED_ICRC},           /* source */
		{ETH_LEN + 40 + 1, 0x01, HCASIM_COUNTER_REFUSED_MALFORMED}, /* version of the transport */
		{ETH_LEN + 1, 0x10, 0},                                     /* traffic class */
		{ETH_LEN + 7, 0x10, 0},                                     /* hop limit */
		{ETH_TYPE + 1, 0x01, 0},
	};
	struct fixture *fixture = fixture_new(NULL, 0);
	const struct hca_av av = {.hop_limit = 9};
	const struct pkt_spec s = {
		.opcode = HCASIM_BTH_OP_RC_SEND_ONLY, .port = 1, .av = &av, .payload_len = 12};
	struct hca_packet *pkt;
	struct pkt_info info;
	uint32_t off;

	hca_gid_set(fixture->hca[0], 1, 0, av.dgid, true);
	pkt = packet_build(fixture->hca[0], &s, &off);
	finish(fixture->hca[0], pkt);
	for (unsigned int i = 0; i < sizeof(tab) / sizeof(tab[0]); i++) {
		pkt->data[tab[i].at] ^= (uint8_t)tab[i].flip;
		CU_ASSERT_EQUAL(packet_parse(fixture->hca[0], 1, pkt, &info),
				!tab[i].refused && tab[i].at != ETH_TYPE + 1);
		CU_ASSERT_EQUAL(info.refused, tab[i].refused);
		pkt->data[tab[i].at] ^= (uint8_t)tab[i].flip;
	}
	for (pkt->len = pkt->cap - 1; pkt->len > ETH_LEN; pkt->len--) {
		CU_ASSERT_FALSE(packet_parse(fixture->hca[0], 1, pkt, &info));
		CU_ASSERT_EQUAL(info.refused, HCASIM_COUNTER_REFUSED_MALFORMED);
		CU_ASSERT_EQUAL(packet_dqpn(pkt), 0);
	}
	hca_packet_free(pkt);
	fixture_free(fixture);
}

/* Frames of raw QPs have one, packets of no known operation none. */
static void descriptors_of_others(void)
{
	struct hca_packet *pkt = packet_of(uc_frame, sizeof(uc_frame));

	pkt->data[ETH_LEN + IPV4_LEN + UDP_LEN] = 0xff; /* the opcode */
	CU_ASSERT_EQUAL(packet_descriptors(pkt), 0);
	pkt->data[ETH_TYPE + 1] = 6; /* ARP */
	CU_ASSERT_EQUAL(packet_descriptors(pkt), 1);
	hca_packet_free(pkt);
}

/* Cut anywhere, or with any one bit turned that the ICRC covers, it is not taken. */
static void damaged(void)
{
	struct fixture *fixture = fixture_new(NULL, 0);
	struct pkt_info info;
	uint32_t i, bit;

	for (i = 0; i < sizeof(uc_frame); i++) {
		struct hca_packet *pkt = packet_of(uc_frame, i);

		CU_ASSERT_FALSE(packet_parse(fixture->hca[0], 1, pkt, &info));
		hca_packet_free(pkt);
	}
	for (bit = 8 * ETH_TYPE; bit < 8 * sizeof(uc_frame); bit++) {
		struct hca_packet *pkt = packet_of(uc_frame, sizeof(uc_frame));
		uint32_t at = bit / 8;
		/* UDP checksum, FECN/BECN/reserved: not covered, other parts change on the way */
		bool open = at == 40 || at == 41 || at == 46;

		pkt->data[at] ^= (uint8_t)(1 << bit % 8);
		CU_ASSERT_EQUAL(packet_parse(fixture->hca[0], 1, pkt, &info), open);
		hca_packet_free(pkt);
	}
	fixture_free(fixture);
}

/* The priority of a frame: of its tag, or of the upper three bits of its DSCP. */
static void priorities(void)
{
	for (unsigned int i = 0; i < 8; i++) {
		struct hca_packet *pkt = packet_of(uc_frame, sizeof(uc_frame));

		pkt->data[ETH_LEN + IPV4_TOS] = (uint8_t)(i << 5 | 0x1f);
		CU_ASSERT_EQUAL(hca_packet_priority(pkt), i);
		put16(pkt->data + ETH_TYPE, ETH_TYPE_IPV6);
		put16(pkt->data + ETH_LEN, 0x6000 | i << 9 | 0x1ff);
		CU_ASSERT_EQUAL(hca_packet_priority(pkt), i);
		put16(pkt->data + ETH_TYPE, i & 1 ? ETH_TYPE_VLAN : ETH_TYPE_QINQ);
		put16(pkt->data + ETH_LEN, i << 13 | 0x1fff);
		CU_ASSERT_EQUAL(hca_packet_priority(pkt), i);
		put16(pkt->data + ETH_TYPE, 0x0806); /* ARP */
		CU_ASSERT_EQUAL(hca_packet_priority(pkt), 0);
		pkt->len = ETH_LEN;
		CU_ASSERT_EQUAL(hca_packet_priority(pkt), 0);
		hca_packet_free(pkt);
	}
}

static void flow_entropy(void)
{
	unsigned int i, differ = 0;

	for (i = 0; i < 100; i++) {
		uint16_t port = packet_sport(0, 17 + i, 1000 + 7 * i);

		CU_ASSERT_TRUE(port >= 0xc000);
		differ += port != packet_sport(0, 18 + i, 1007 + 7 * i);
	}
	CU_ASSERT_TRUE(differ > 90);
	CU_ASSERT_EQUAL(packet_sport(0x12345, 1, 2), packet_sport(0x12345, 3, 4));
}

const struct test packet_tests[] = {
	{"ICRC vectors", icrc_vectors},
	{"captured frame", parse_captured},
	{"every opcode there and back", every_opcode},
	{"RoCEv1", roce_v1},
	{"malformed RoCEv1", roce_v1_malformed},
	{"descriptors of others", descriptors_of_others},
	{"damaged frames", damaged},
	{"priorities", priorities},
	{"UDP source port", flow_entropy},
	{NULL, NULL},
};
