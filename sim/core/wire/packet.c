// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCE frames: Ethernet; IPv4 or IPv6, and UDP (RoCEv2, IBTA annex A17), or a GRH (RoCEv1, annex A16); BTH and extension
 * headers.
 */
#include "core/wire/wire.h"
#include "core/wire/frame.h"

#define FIELD_GET(mask, v)  HCASIM_FIELD_GET(mask, v)
#define FIELD_PREP(mask, v) HCASIM_FIELD_PREP(mask, v)

struct hca_packet *hca_packet_alloc(uint32_t cap)
{
	struct hca_packet *pkt = malloc(sizeof(*pkt) + cap);

	if (pkt) {
		pkt->len = 0;
		pkt->cap = cap;
		pkt->number = 0;
	}
	return pkt;
}

struct hca_packet *hca_packet_dup(const struct hca_packet *pkt)
{
	struct hca_packet *copy = hca_packet_alloc(pkt->len);

	if (copy) {
		copy->len = pkt->len;
		copy->number = pkt->number;
		memcpy(copy->data, pkt->data, pkt->len);
	}
	return copy;
}

void hca_packet_free(struct hca_packet *pkt)
{
	free(pkt);
}

bool gid_is_v4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid, mapped, sizeof(mapped));
}

static uint16_t ip_sum(const uint8_t *p)
{
	uint32_t i, sum = 0;

	for (i = 0; i < IPV4_LEN; i += 2)
		sum += get16(p + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Of RoCEv2. With ECN the packet says that its sender takes part (RFC 3168, ECT). */
static uint8_t traffic_class(const struct hca *hca, const struct hca_av *av)
{
	return hca->cfg.dcqcn.on ? (uint8_t)((av->traffic_class & ~ECN_CE) | ECN_ECT0) : av->traffic_class;
}

static uint8_t *put_ipv4(uint8_t *p, const struct hca_av *av, uint8_t class_, const uint8_t *sgid,
			 uint32_t udp_len)
{
	memset(p, 0, IPV4_LEN);
	p[0] = 0x45;
	p[IPV4_TOS] = class_;
	put16(p + IPV4_TOTAL, IPV4_LEN + udp_len);
	put16(p + IPV4_FRAG, 0x4000); /* do not fragment */
	p[IPV4_TTL] = av->hop_limit ? av->hop_limit : 64;
	p[IPV4_PROTO] = IP_PROTO_UDP;
	memcpy(p + IPV4_SRC, sgid + 12, 4);
	memcpy(p + IPV4_DST, av->dgid + 12, 4);
	put16(p + IPV4_SUM, ip_sum(p));
	return p + IPV4_LEN;
}

/* `next`: protocol of the `len` bytes behind. A GRH has the same layout (IBTA 8.3). */
static uint8_t *put_ipv6(uint8_t *p, const struct hca_av *av, uint8_t class_, const uint8_t *sgid,
			 uint8_t next, uint32_t len)
{
	p[0] = (uint8_t)(0x60 | class_ >> 4);
	p[1] = (uint8_t)(class_ << 4 | (av->flow_label >> 16 & 0xf));
	put16(p + 2, av->flow_label & 0xffff);
	put16(p + IPV6_PAYLOAD, len);
	p[IPV6_NEXT] = next;
	p[IPV6_HOPS] = av->hop_limit ? av->hop_limit : 64;
	memcpy(p + IPV6_SRC, sgid, 16);
	memcpy(p + IPV6_DST, av->dgid, 16);
	return p + IPV6_LEN;
}

static uint8_t *put_udp(uint8_t *p, uint16_t sport, uint32_t udp_len)
{
	put16(p, sport);
	put16(p + UDP_DPORT, HCASIM_ROCE_UDP_PORT);
	put16(p + UDP_LENGTH, udp_len);
	put16(p + 6, 0); /* no checksum: the ICRC covers the packet */
	return p + UDP_LEN;
}

static void put_bth(uint8_t *p, const struct pkt_spec *s, uint32_t pad)
{
	const bool cnp = s->opcode == HCASIM_BTH_OP_CNP; /* A17.9.3: only BECN is set */
	struct hcasim_bth bth = {
		.opcode = s->opcode,
		.flags = (uint8_t)(FIELD_PREP(HCASIM_BTH_SE_MASK, s->se) |
				   FIELD_PREP(HCASIM_BTH_MIGREQ_MASK, !cnp) |
				   FIELD_PREP(HCASIM_BTH_PAD_MASK, pad)),
		.pkey = htobe16(HCASIM_DEFAULT_PKEY),
		.dqpn = htobe32(FIELD_PREP(HCASIM_BTH_BECN_MASK, cnp) | s->dqpn),
		.psn = htobe32(FIELD_PREP(HCASIM_BTH_ACKREQ_MASK, s->ackreq) | s->psn),
	};

	memcpy(p, &bth, sizeof(bth));
}

static void put_header(uint8_t *p, unsigned int hdr, const struct pkt_spec *s)
{
	switch (hdr) {
	case HCASIM_HDR_DETH: {
		struct hcasim_deth h = {.qkey = htobe32(s->qkey), .sqpn = htobe32(s->sqpn)};

		memcpy(p, &h, sizeof(h));
		break;
	}
	case HCASIM_HDR_XRCETH: {
		struct hcasim_xrceth h = {.srqn = htobe32(s->srqn)};

		memcpy(p, &h, sizeof(h));
		break;
	}
	case HCASIM_HDR_RETH: {
		struct hcasim_reth h = {htobe64(s->va), htobe32(s->rkey), htobe32(s->dmalen)};

		memcpy(p, &h, sizeof(h));
		break;
	}
	case HCASIM_HDR_ATOMICETH: {
		uint64_t va = htobe64(s->va), swap = htobe64(s->swap_add), cmp = htobe64(s->compare);
		uint32_t rkey = htobe32(s->rkey);

		memcpy(p + offsetof(struct hcasim_atomiceth, addr), &va, 8);
		memcpy(p + offsetof(struct hcasim_atomiceth, rkey), &rkey, 4);
		memcpy(p + offsetof(struct hcasim_atomiceth, swap_add), &swap, 8);
		memcpy(p + offsetof(struct hcasim_atomiceth, compare), &cmp, 8);
		break;
	}
	case HCASIM_HDR_AETH: {
		uint32_t v = htobe32(FIELD_PREP(HCASIM_AETH_KIND_MASK, s->aeth_kind) |
				     FIELD_PREP(HCASIM_AETH_VALUE_MASK, s->aeth_value) |
				     FIELD_PREP(HCASIM_AETH_MSN_MASK, s->msn & HCASIM_PSN_MASK));

		memcpy(p, &v, sizeof(v));
		break;
	}
	case HCASIM_HDR_ATOMICACKETH: {
		uint64_t v = htobe64(s->orig);

		memcpy(p, &v, sizeof(v));
		break;
	}
	case HCASIM_HDR_IMMDT:
		memcpy(p, &s->imm, sizeof(s->imm));
		break;
	case HCASIM_HDR_FETH: {
		uint32_t v = htobe32(FIELD_PREP(HCASIM_FETH_SEL_MASK, s->sel) |
				     FIELD_PREP(HCASIM_FETH_PLT_MASK, s->plt));

		memcpy(p, &v, sizeof(v));
		break;
	}
	case HCASIM_HDR_IETH: {
		uint32_t v = htobe32(s->inv_rkey);

		memcpy(p, &v, sizeof(v));
		break;
	}
	}
}

/* A packet of RoCEv2 to this address is IPv4. */
static bool sends_v4(const struct port *port, const struct hca_av *av)
{
	return gid_is_v4(port->gid[av->sgid_index % CORE_GIDS]) && gid_is_v4(av->dgid);
}

/* Writes all headers in front of the BTH; `len` bytes follow, from the BTH to the ICRC. Returns where the BTH begins. */
static uint8_t *put_net(const struct hca *hca, const struct pkt_spec *s, uint8_t *p, uint32_t len)
{
	const struct port *port = &hca->port[s->port - 1];
	const uint8_t *sgid = port->gid[s->av->sgid_index % CORE_GIDS];
	const bool v4 = sends_v4(port, s->av);

	memcpy(p, s->av->dmac, 6);
	memcpy(p + 6, hca->cfg.mac[s->port - 1], 6);
	if (port_sends_v1(port, s->av)) {
		put16(p + ETH_TYPE, HCASIM_ROCE_ETH_TYPE);
		return put_ipv6(p + ETH_LEN, s->av, s->av->traffic_class, sgid, HCASIM_GRH_NEXT_HEADER, len);
	}
	put16(p + ETH_TYPE, v4 ? ETH_TYPE_IPV4 : ETH_TYPE_IPV6);
	p += ETH_LEN;
	len += UDP_LEN;
	if (v4)
		p = put_ipv4(p, s->av, traffic_class(hca, s->av), sgid, len);
	else
		p = put_ipv6(p, s->av, traffic_class(hca, s->av), sgid, IP_PROTO_UDP, len);
	return put_udp(p, s->sport, len);
}

/* Bytes in front of the BTH. */
static uint32_t net_len(const struct hca *hca, const struct pkt_spec *s)
{
	const struct port *port = &hca->port[s->port - 1];

	if (port_sends_v1(port, s->av))
		return ETH_LEN + HCASIM_GRH_SIZE;
	return ETH_LEN + (sends_v4(port, s->av) ? IPV4_LEN : IPV6_LEN) + UDP_LEN;
}

struct hca_packet *packet_build(struct hca *hca, const struct pkt_spec *s, uint32_t *payload_off)
{
	const struct hcasim_bth_op_info *info = hcasim_bth_op_info(s->opcode);
	const uint32_t pad = -s->payload_len & 3, bth = net_len(hca, s);
	const uint32_t len = info->hdr_len + s->payload_len + pad + HCASIM_ICRC_SIZE;
	struct hca_packet *pkt = hca_packet_alloc(bth + len);
	unsigned int i;
	uint8_t *p;

	if (!pkt)
		return NULL;
	pkt->len = pkt->cap;
	p = put_net(hca, s, pkt->data, len);
	put_bth(p, s, pad);
	for (i = 1; i < info->num_hdrs; i++)
		put_header(p + info->hdr_offset[info->hdr[i]], info->hdr[i], s);
	*payload_off = bth + info->hdr_len;
	memset(pkt->data + *payload_off + s->payload_len, 0, pad);
	return pkt;
}

/* ---- Parsing ---- */

static bool parse_ipv4(const uint8_t *p, uint32_t len, struct pkt_info *info, uint32_t *udp_len)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (len < IPV4_LEN || p[0] != 0x45 || p[IPV4_PROTO] != IP_PROTO_UDP)
		return false;
	if (get16(p + IPV4_TOTAL) > len || get16(p + IPV4_TOTAL) < IPV4_LEN + UDP_LEN || ip_sum(p))
		return false;
	if (get16(p + IPV4_FRAG) & 0x3fff)
		return false;
	*udp_len = get16(p + IPV4_TOTAL) - IPV4_LEN;
	memcpy(info->sgid, mapped, 12);
	memcpy(info->sgid + 12, p + IPV4_SRC, 4);
	memcpy(info->dgid, mapped, 12);
	memcpy(info->dgid + 12, p + IPV4_DST, 4);
	info->ce = (p[IPV4_TOS] & ECN_CE) == ECN_CE;
	/* The bytes before a datagram: 20 unused bytes, then the IPv4 header (A17.4.5.1). */
	memset(info->grh, 0, 20);
	memcpy(info->grh + 20, p, IPV4_LEN);
	return true;
}

static bool parse_ipv6(const uint8_t *p, uint32_t len, struct pkt_info *info, uint32_t *udp_len)
{
	if (len < IPV6_LEN || p[0] >> 4 != 6 || p[IPV6_NEXT] != IP_PROTO_UDP)
		return false;
	*udp_len = get16(p + IPV6_PAYLOAD);
	if (*udp_len > len - IPV6_LEN || *udp_len < UDP_LEN)
		return false;
	memcpy(info->sgid, p + IPV6_SRC, 16);
	memcpy(info->dgid, p + IPV6_DST, 16);
	info->ce = (p[1] >> 4 & ECN_CE) == ECN_CE;
	memcpy(info->grh, p, IPV6_LEN);
	return true;
}

static bool parse_bth(const uint8_t *p, uint32_t len, struct pkt_info *info)
{
	struct hcasim_bth bth;
	uint32_t pad;

	if (len < sizeof(bth) + HCASIM_ICRC_SIZE)
		return false;
	memcpy(&bth, p, sizeof(bth));
	pad = FIELD_GET(HCASIM_BTH_PAD_MASK, bth.flags);
	info->op = hcasim_bth_op_info(bth.opcode);
	if (!info->op || FIELD_GET(HCASIM_BTH_TVER_MASK, bth.flags))
		return false;
	if (len < info->op->hdr_len + pad + HCASIM_ICRC_SIZE || len & 3)
		return false;
	info->payload_len = len - info->op->hdr_len - pad - HCASIM_ICRC_SIZE;
	if (info->payload_len + pad && !(info->op->flags & HCASIM_BTH_F_PAYLOAD))
		return false;
	info->se = FIELD_GET(HCASIM_BTH_SE_MASK, bth.flags);
	info->pkey = be16toh(bth.pkey);
	info->dqpn = be32toh(bth.dqpn) & HCASIM_PSN_MASK;
	info->ackreq = FIELD_GET(HCASIM_BTH_ACKREQ_MASK, be32toh(bth.psn));
	info->psn = be32toh(bth.psn) & HCASIM_PSN_MASK;
	return true;
}

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static void parse_header(const uint8_t *p, unsigned int hdr, struct pkt_info *info)
{
	switch (hdr) {
	case HCASIM_HDR_DETH:
		info->qkey = load32(p);
		info->sqpn = load32(p + offsetof(struct hcasim_deth, sqpn)) & HCASIM_PSN_MASK;
		break;
	case HCASIM_HDR_XRCETH:
		info->srqn = load32(p) & HCASIM_PSN_MASK;
		break;
	case HCASIM_HDR_RETH:
		info->va = load64(p);
		info->rkey = load32(p + offsetof(struct hcasim_reth, rkey));
		info->dmalen = load32(p + offsetof(struct hcasim_reth, length));
		break;
	case HCASIM_HDR_ATOMICETH:
		info->va = load64(p);
		info->rkey = load32(p + offsetof(struct hcasim_atomiceth, rkey));
		info->swap_add = load64(p + offsetof(struct hcasim_atomiceth, swap_add));
		info->compare = load64(p + offsetof(struct hcasim_atomiceth, compare));
		break;
	case HCASIM_HDR_AETH:
		info->aeth_kind = (uint8_t)FIELD_GET(HCASIM_AETH_KIND_MASK, load32(p));
		info->aeth_value = (uint8_t)FIELD_GET(HCASIM_AETH_VALUE_MASK, load32(p));
		info->msn = FIELD_GET(HCASIM_AETH_MSN_MASK, load32(p));
		break;
	case HCASIM_HDR_ATOMICACKETH:
		info->orig = load64(p);
		break;
	case HCASIM_HDR_IMMDT:
		memcpy(&info->imm, p, sizeof(info->imm));
		break;
	case HCASIM_HDR_FETH:
		info->sel = (uint8_t)FIELD_GET(HCASIM_FETH_SEL_MASK, load32(p));
		info->plt = (uint8_t)FIELD_GET(HCASIM_FETH_PLT_MASK, load32(p));
		break;
	case HCASIM_HDR_IETH:
		info->inv_rkey = load32(p);
		break;
	}
}

/*
 * A17.4.5.1: the completion of a datagram reports whether it came over IPv4 or IPv6. Verbs has no field for that;
 * RoCE packets have no service level, and adapters use its field: bit 3 RoCEv2, bits 2:0 the network header (ConnectX
 * PRM, CQE; UCX's ud_verbs depends on it).
 */
#define ROCE_V1      0x0
#define ROCE_V2_IPV6 0x9
#define ROCE_V2_IPV4 0xa

/* False: it is RoCEv1 nevertheless, but malformed. */
static bool parse_grh(const uint8_t *p, uint32_t len, struct pkt_info *info, uint32_t *bth_len)
{
	info->v1 = true;
	info->packet_type = ROCE_V1;
	info->refused = HCASIM_COUNTER_REFUSED_MALFORMED;
	if (len < HCASIM_GRH_SIZE || p[0] >> 4 != 6 || p[IPV6_NEXT] != HCASIM_GRH_NEXT_HEADER)
		return false;
	*bth_len = get16(p + IPV6_PAYLOAD);
	if (*bth_len > len - HCASIM_GRH_SIZE)
		return false;
	memcpy(info->sgid, p + IPV6_SRC, 16);
	memcpy(info->dgid, p + IPV6_DST, 16);
	info->ce = false;
	memcpy(info->grh, p, HCASIM_GRH_SIZE);
	info->refused = 0;
	return true;
}

static bool parse_udp(const uint8_t *p, uint32_t len)
{
	return get16(p + UDP_DPORT) == HCASIM_ROCE_UDP_PORT && get16(p + UDP_LENGTH) == len;
}

/* Finds BTH and its length up to the end of the ICRC. False: it is not RoCE, or info->refused says what is wrong. */
static bool parse_net(const struct hca_packet *pkt, struct pkt_info *info, uint32_t *bth, uint32_t *bth_len)
{
	const uint32_t left = pkt->len - ETH_LEN, type = pkt->len < ETH_LEN ? 0 : get16(pkt->data + ETH_TYPE);
	const uint8_t *p = pkt->data + ETH_LEN;
	uint32_t ip, udp_len;

	info->refused = 0;
	if (pkt->len < ETH_LEN)
		return false;
	memcpy(info->smac, pkt->data + 6, 6);
	*bth = ETH_LEN + HCASIM_GRH_SIZE;
	if (type == HCASIM_ROCE_ETH_TYPE)
		return parse_grh(p, left, info, bth_len);
	info->v1 = false;
	info->packet_type = type == ETH_TYPE_IPV4 ? ROCE_V2_IPV4 : ROCE_V2_IPV6;
	ip = type == ETH_TYPE_IPV4 ? IPV4_LEN : IPV6_LEN;
	if (!(type == ETH_TYPE_IPV4 && parse_ipv4(p, left, info, &udp_len)) &&
	    !(type == ETH_TYPE_IPV6 && parse_ipv6(p, left, info, &udp_len)))
		return false;
	*bth = ETH_LEN + ip + UDP_LEN;
	*bth_len = udp_len - UDP_LEN;
	return parse_udp(p + ip, udp_len);
}

static bool icrc_ok(const struct hca *hca, const struct hca_packet *pkt, uint32_t end)
{
	uint32_t icrc;

	memcpy(&icrc, pkt->data + end - HCASIM_ICRC_SIZE, sizeof(icrc));
	return le32toh(icrc) == icrc_frame(hca->icrc_seed, pkt->data, end - HCASIM_ICRC_SIZE);
}

/* Frames are untrusted: check the length before every field. */
bool packet_parse(struct hca *hca, uint8_t port, const struct hca_packet *pkt, struct pkt_info *info)
{
	uint32_t bth, len, i;
	const uint8_t *p;

	info->number = pkt->number;
	info->dqpn = info->psn = 0;
	if (!parse_net(pkt, info, &bth, &len))
		return false;
	p = pkt->data + bth;
	info->refused = HCASIM_COUNTER_REFUSED_MALFORMED;
	if (!parse_bth(p, len, info))
		return false;
	info->refused = HCASIM_COUNTER_REFUSED_ICRC;
	if (!icrc_ok(hca, pkt, bth + len))
		return false;
	info->refused = 0;
	for (i = 1; i < info->op->num_hdrs; i++)
		parse_header(p + info->op->hdr_offset[info->op->hdr[i]], info->op->hdr[i], info);
	info->payload_off = bth + info->op->hdr_len;
	return true;
}

/* Of a frame that is still to be parsed. False: it is not RoCE. */
static bool peek_bth(const struct hca_packet *pkt, struct hcasim_bth *bth)
{
	struct pkt_info info;
	uint32_t off, len;

	if (!parse_net(pkt, &info, &off, &len) || len < sizeof(*bth))
		return false;
	memcpy(bth, pkt->data + off, sizeof(*bth));
	return true;
}

uint32_t packet_dqpn(const struct hca_packet *pkt)
{
	struct hcasim_bth bth;

	return peek_bth(pkt, &bth) ? be32toh(bth.dqpn) & HCASIM_PSN_MASK : 0;
}

/* A frame that is not RoCE is for the receive of a raw QP. */
uint8_t packet_descriptors(const struct hca_packet *pkt)
{
	const struct hcasim_bth_op_info *op;
	struct hcasim_bth bth;

	if (!peek_bth(pkt, &bth))
		return 1;
	op = hcasim_bth_op_info(bth.opcode);
	if (!op)
		return 0;
	if (op->flags & HCASIM_BTH_F_WRITE)
		return op->flags & HCASIM_BTH_F_IMM ? 1 : 0;
	if (op->flags & HCASIM_BTH_F_RESP)
		return op->flags & HCASIM_BTH_F_START &&
		       op->flags & (HCASIM_BTH_F_READ | HCASIM_BTH_F_ATOMIC);
	return op->flags & HCASIM_BTH_F_SEND && op->flags & HCASIM_BTH_F_START;
}

bool port_has_gid(const struct port *port, const uint8_t gid[16], bool v1)
{
	unsigned int i;

	for (i = 0; i < CORE_GIDS; i++)
		if (port->gid_v1[i] == v1 && !memcmp(port->gid[i], gid, 16))
			return true;
	return false;
}
