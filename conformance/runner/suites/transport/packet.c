/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "link/link_modify.h"
#include "suites/transport/bytes.h"
#include "suites/transport/packet.h"

#define RECEIVES 96
#define FRAME    2048 /* bytes of a receive */

#define HELD_SIZE (PACKET_MAX / PACKET_HELD)

#define ETH  14
#define IPV4 20
#define IPV6 40
#define UDP  8

#define LEAST 60 /* bytes of a frame */

#define TRAFFIC_CLASS 0xa9
#define HOP_LIMIT     37
#define FIRST_SPORT   0xc000 /* of the dynamic ports (RFC 6335; Linux IB_ROCE_UDP_ENCAP_VALID_PORT_MIN) */
#define FLOW_LABEL    0x9c35a

/* ---- Checksums ---- */

static uint16_t ip_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < IPV4; i += 2)
		sum += get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static uint32_t crc_bytes(uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len; len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* IBTA 7.8.1 and A17.3: ones in place of an LRH and of all fields that change on the way. */
static uint32_t icrc_of(const uint8_t *frame, bool v4, size_t end)
{
	const size_t ip = v4 ? IPV4 : IPV6, fixed = ip + UDP + sizeof(struct hcasim_bth);
	uint8_t head[IPV6 + UDP + sizeof(struct hcasim_bth)];
	uint32_t crc;

	memset(head, 0xff, 8);
	crc = crc_bytes(~0u, head, 8);
	memcpy(head, frame + ETH, fixed);
	if (v4) {
		head[1] = head[8] = head[10] = head[11] = 0xff;
	} else {
		head[0] |= 0x0f;
		head[1] = head[2] = head[3] = head[7] = 0xff;
	}
	head[ip + 6] = head[ip + 7] = head[ip + UDP + 4] = 0xff;
	crc = crc_bytes(crc, head, fixed);
	return ~crc_bytes(crc, frame + ETH + fixed, end - ETH - fixed);
}

void port_seal_ip(const struct packet_port *p, struct frame *f)
{
	if (!p->v4)
		return;
	put16(f->at + ETH + 10, 0);
	put16(f->at + ETH + 10, ip_sum(f->at + ETH));
}

void port_seal_icrc(const struct packet_port *p, struct frame *f)
{
	uint32_t icrc = htole32(icrc_of(f->at, p->v4, f->len - HCASIM_ICRC_SIZE));

	memcpy(f->at + f->len - HCASIM_ICRC_SIZE, &icrc, sizeof(icrc));
}

void port_seal(const struct packet_port *p, struct frame *f)
{
	port_seal_ip(p, f);
	port_seal_icrc(p, f);
}

/* ---- Sending ---- */

#define PUT(type, ...)                                                                                       \
	do {                                                                                                 \
		const struct type h = {__VA_ARGS__};                                                         \
                                                                                                             \
		memcpy(at, &h, sizeof(h));                                                                   \
	} while (0)

static void put_header(uint8_t *at, unsigned int header, const struct packet *p)
{
	switch (header) {
	case HCASIM_HDR_DETH:
		PUT(hcasim_deth, .qkey = htonl(p->qkey), .sqpn = htonl(p->sqpn));
		break;
	case HCASIM_HDR_XRCETH:
		PUT(hcasim_xrceth, .srqn = htonl(p->srqn));
		break;
	case HCASIM_HDR_RETH:
		PUT(hcasim_reth, .addr = htobe64(p->va), .rkey = htonl(p->rkey), .length = htonl(p->dmalen));
		break;
	case HCASIM_HDR_ATOMICETH:
		PUT(hcasim_atomiceth, .addr = htobe64(p->va), .rkey = htonl(p->rkey),
		    .swap_add = htobe64(p->swap_add), .compare = htobe64(p->compare));
		break;
	case HCASIM_HDR_AETH:
		PUT(hcasim_aeth,
		    .syndrome_msn = htonl((uint32_t)p->kind << 29 | (uint32_t)p->value << 24 | p->msn));
		break;
	case HCASIM_HDR_ATOMICACKETH:
		PUT(hcasim_atomicacketh, .orig = htobe64(p->orig));
		break;
	case HCASIM_HDR_IMMDT:
		PUT(hcasim_immdt, .imm = htonl(p->imm));
		break;
	case HCASIM_HDR_FETH:
		PUT(hcasim_feth, .sel_plt = htonl(p->sel << 4 | p->plt));
		break;
	case HCASIM_HDR_IETH:
		PUT(hcasim_ieth, .rkey = htonl(p->inv_rkey));
		break;
	}
}

static void put_lengths(const struct packet_port *p, struct frame *f)
{
	uint32_t udp = f->len - f->udp;

	put16(f->at + f->udp + 4, udp);
	put16(f->at + f->ip + (p->v4 ? 2 : 4), udp + (p->v4 ? IPV4 : 0));
}

struct frame port_frame(struct packet_port *p, const struct packet *packet)
{
	const struct hcasim_bth_op_info *info = hcasim_bth_op_info(packet->opcode);
	uint32_t pad = -packet->len & 3, at = p->head_len + UDP;
	struct frame f = {p->mem + p->held * HELD_SIZE,
			  at + info->hdr_len + packet->len + pad + HCASIM_ICRC_SIZE, ETH, p->head_len, at};
	struct hcasim_bth bth = {
		.opcode = packet->opcode,
		.flags = packet->se << 7 | 0x40 | pad << 4,
		.pkey = htons(0xffff),
		.dqpn = htonl(packet->dqpn),
		.psn = htonl((uint32_t)packet->ackreq << 31 | (packet->psn & HCASIM_PSN_MASK)),
	};

	memset(f.at, 0, f.len);
	memcpy(f.at, p->head, p->head_len);
	put16(f.at + f.udp, 0xd00d); /* any port */
	put16(f.at + f.udp + 2, HCASIM_ROCE_UDP_PORT);
	memcpy(f.at + at, &bth, sizeof(bth));
	for (unsigned int i = 1; i < info->num_hdrs; i++)
		put_header(f.at + at + info->hdr_offset[info->hdr[i]], info->hdr[i], packet);
	if (packet->len)
		memcpy(f.at + at + info->hdr_len, packet->payload, packet->len);
	put_lengths(p, &f);
	port_seal(p, &f);
	return f;
}

void port_resize(const struct packet_port *p, struct frame *f, uint32_t udp_len)
{
	f->len = f->udp + udp_len;
	put_lengths(p, f);
	port_seal_ip(p, f);
	if (udp_len >= UDP + sizeof(struct hcasim_bth) + HCASIM_ICRC_SIZE)
		port_seal_icrc(p, f);
	if (f->len < LEAST) {
		memset(f->at + f->len, 0, LEAST - f->len);
		f->len = LEAST;
	}
}

static bool wait_cq(struct packet_port *p, struct ibv_cq *cq, struct ibv_wc *wc, const char *what)
{
	struct watchdog w = watchdog(p->k->r->dut.timeout_ms);
	int ret;

	do
		ret = ibv_poll_cq(cq, 1, wc);
	while (!ret && !watchdog_expired(&w) && !remote_broken());
	if (ret != 1)
		KIT_FAULT(p->k, "%s did not come", what);
	else if (wc->status != IBV_WC_SUCCESS)
		KIT_FAULT(p->k, "%s: status %s", what, value_name(status_names, wc->status));
	return KIT_GOOD(p->k);
}

bool port_put(struct packet_port *p, const struct frame *f)
{
	struct ibv_sge sge = {(uintptr_t)f->at, f->len, p->mr->lkey};

	p->sge[p->held++] = sge;
	return p->hold || port_release(p);
}

void port_hold(struct packet_port *p)
{
	p->hold = true;
}

bool port_release(struct packet_port *p)
{
	struct ibv_send_wr wr[PACKET_HELD], *bad;
	unsigned int num = p->held;
	struct ibv_wc wc;
	int ret;

	for (unsigned int i = 0; i < num; i++) {
		wr[i] = kit_wr(0xf4a3e, IBV_WR_SEND, &p->sge[i]);
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
	}
	p->hold = false;
	p->held = 0;
	ret = ibv_post_send(p->qp, wr, &bad);
	if (ret)
		KIT_FAULT(p->k, "posting a frame was refused with %s", errno_name(ret));
	while (!ret && num && wait_cq(p, p->send_cq, &wc, "the completion of a frame"))
		num--;
	return !ret && !num;
}

bool port_send(struct packet_port *p, const struct packet *packet)
{
	struct frame f = port_frame(p, packet);

	return port_put(p, &f);
}

/* ---- Receiving ---- */

static int post_receive(struct packet_port *p, unsigned int i)
{
	struct ibv_sge sge = {(uintptr_t)p->mem + PACKET_MAX + i % RECEIVES * FRAME, FRAME, p->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(p->qp, &wr, &bad);
}

static bool next_frame(struct packet_port *p, struct frame *f)
{
	struct ibv_wc wc;
	unsigned int last = p->next + RECEIVES - 1;

	/* the receive before this one, whose frame is no longer used */
	if (p->next && post_receive(p, last)) {
		KIT_FAULT(p->k, "a receive for frames was refused");
		return false;
	}
	if (!wait_cq(p, p->recv_cq, &wc, "an expected packet"))
		return false;
	*f = (struct frame){
		.at = p->mem + PACKET_MAX + p->next++ % RECEIVES * FRAME, .len = wc.byte_len, .ip = ETH};
	return true;
}

static const uint8_t *find_headers(struct frame *f, bool *v4)
{
	const uint8_t *at = f->at;

	*v4 = get16(at + 12) == 0x0800;
	f->udp = ETH + (*v4 ? IPV4 : IPV6);
	f->bth = f->udp + UDP;
	if (f->len < f->bth + sizeof(struct hcasim_bth) + HCASIM_ICRC_SIZE ||
	    (!*v4 && get16(at + 12) != 0x86dd) || at[ETH + (*v4 ? 9 : 6)] != 17 ||
	    get16(at + f->udp + 2) != HCASIM_ROCE_UDP_PORT)
		return NULL;
	return at + f->bth;
}

/* What every packet of the responder must have: lengths, checksums, and the address vector's fields (A17.4). */
static void judge_ip(struct packet_port *p, struct frame *f, bool v4)
{
	const uint8_t *ip = f->at + ETH, *udp = f->at + f->udp;
	uint32_t len = get16(udp + 4), label = get32(ip) & 0xfffff;
	uint32_t tclass = v4 ? ip[1] : get16(ip) >> 4 & 0xff, hops = ip[v4 ? 8 : 7];
	const struct ibv_global_route *grh = &p->to_here.grh;
	uint32_t icrc;

	KIT_CHECK(p->k, v4 == p->v4, "a packet over IPv%d, expected IPv%d", v4 ? 4 : 6, p->v4 ? 4 : 6);
	KIT_CHECK(p->k, get16(ip + (v4 ? 2 : 4)) == len + (v4 ? IPV4 : 0) && f->udp + len <= f->len,
		  "the lengths of IP and UDP do not match");
	KIT_CHECK(p->k, get16(udp) >= FIRST_SPORT && !get16(udp + 6),
		  "UDP source port 0x%x, checksum 0x%x; expected one from 0x%x on, and 0", get16(udp),
		  get16(udp + 6), FIRST_SPORT);
	f->len = f->udp + len;
	memcpy(&icrc, f->at + f->len - HCASIM_ICRC_SIZE, sizeof(icrc));
	KIT_CHECK(p->k, le32toh(icrc) == icrc_of(f->at, v4, f->len - HCASIM_ICRC_SIZE), "the ICRC is wrong");
	KIT_CHECK(p->k, v4 ? ip[0] == 0x45 && !ip_sum(ip) && get16(ip + 6) == 0x4000 : ip[0] >> 4 == 6,
		  "the IP header is wrong");
	KIT_CHECK(p->k, !memcmp(ip + (v4 ? 16 : 24), grh->dgid.raw + (v4 ? 12 : 0), v4 ? 4 : 16),
		  "the packet is for another address");
	/* the hop limit may be that of the route (Linux: ib_resolve_unicast_gid_dmac) */
	KIT_CHECK(p->k, tclass >> 2 == grh->traffic_class >> 2 && hops,
		  "traffic class 0x%x and hop limit %u, expected 0x%x", tclass, hops, grh->traffic_class);
	KIT_CHECK(p->k, v4 || label == grh->flow_label, "flow label 0x%x, expected 0x%x", label,
		  grh->flow_label);
}

static uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static void parse_header(const uint8_t *h, unsigned int header, struct packet *to)
{
	switch (header) {
	case HCASIM_HDR_AETH:
		to->kind = h[0] >> 5;
		to->value = h[0] & 0x1f;
		to->msn = get32(h) & HCASIM_PSN_MASK;
		break;
	case HCASIM_HDR_ATOMICACKETH:
		to->orig = get64(h);
		break;
	case HCASIM_HDR_RETH:
		to->va = get64(h);
		to->rkey = get32(h + 8);
		to->dmalen = get32(h + 12);
		break;
	case HCASIM_HDR_ATOMICETH:
		to->va = get64(h);
		to->rkey = get32(h + 8);
		to->swap_add = get64(h + 12);
		to->compare = get64(h + 20);
		break;
	case HCASIM_HDR_IMMDT:
		to->imm = get32(h);
		break;
	}
}

static bool parse(struct packet_port *p, struct frame *f, bool v4, struct packet *to)
{
	const struct hcasim_bth_op_info *info;
	const uint8_t *bth = f->at + f->bth;
	uint32_t pad = bth[1] >> 4 & 3;

	judge_ip(p, f, v4);
	info = hcasim_bth_op_info(bth[0]);
	if (KIT_GOOD(p->k) && (!(bth[1] & 0x40) || bth[4]))
		KIT_FAULT(p->k, "a packet without MigReq, or with FECN, BECN or reserved bits: 0x%x, 0x%x",
			  bth[1], bth[4]);
	if (KIT_GOOD(p->k) && (!info || bth[1] & 0xf || get16(bth + 2) != 0xffff))
		KIT_FAULT(p->k, "a packet with opcode 0x%x, version %u, P_Key 0x%x", bth[0], bth[1] & 0xf,
			  get16(bth + 2));
	if (!KIT_GOOD(p->k))
		return false;
	*to = (struct packet){.opcode = bth[0],
			      .se = bth[1] >> 7,
			      .dqpn = get32(bth + 4) & HCASIM_PSN_MASK,
			      .ackreq = bth[8] >> 7,
			      .psn = get32(bth + 8) & HCASIM_PSN_MASK,
			      .payload = bth + info->hdr_len,
			      .sport = get16(f->at + f->udp),
			      .len = f->len - f->bth - info->hdr_len - pad - HCASIM_ICRC_SIZE};
	for (unsigned int i = 1; i < info->num_hdrs; i++)
		parse_header(bth + info->hdr_offset[info->hdr[i]], info->hdr[i], to);
	return true;
}

bool port_get(struct packet_port *p, struct packet *packet)
{
	const uint8_t *bth;
	struct frame f;
	bool v4;

	do {
		if (!next_frame(p, &f))
			return false;
		bth = find_headers(&f, &v4);
	} while (!bth || (get32(bth + 4) & HCASIM_PSN_MASK) != p->qp->qp_num);
	return parse(p, &f, v4, packet);
}

/* ---- The port ---- */

static bool create(struct packet_port *p)
{
	const struct end *end = &p->k->r->dut.requester;
	struct ibv_qp_init_attr init = {.cap = {PACKET_HELD, RECEIVES, 1, 1, 0},
					.qp_type = IBV_QPT_RAW_PACKET};
	struct ibv_flow_attr sniffer = {
		.type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof(sniffer), .port = end->port};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = end->port};
	const size_t size = PACKET_MAX + RECEIVES * FRAME;

	p->mem = end_alloc(end->pd, size);
	p->mr = p->mem ? ibv_reg_mr(end->pd, p->mem, size, IBV_ACCESS_LOCAL_WRITE) : NULL;
	p->send_cq = ibv_create_cq(end->ctx, PACKET_HELD, NULL, NULL, 0);
	p->recv_cq = ibv_create_cq(end->ctx, RECEIVES, NULL, NULL, 0);
	if (!p->mr || !p->send_cq || !p->recv_cq)
		return false;
	init.send_cq = p->send_cq;
	init.recv_cq = p->recv_cq;
	p->qp = ibv_create_qp(end->pd, &init);
	if (!p->qp || ibv_modify_qp(p->qp, &attr, IBV_QP_STATE | IBV_QP_PORT))
		return false;
	for (enum ibv_qp_state s = IBV_QPS_RTR; s <= IBV_QPS_RTS; s++) {
		attr.qp_state = s;
		if (ibv_modify_qp(p->qp, &attr, IBV_QP_STATE))
			return false;
	}
	for (unsigned int i = 0; i < RECEIVES; i++)
		if (post_receive(p, i))
			return false;
	p->flow = ibv_create_flow(p->qp, &sniffer);
	return p->flow;
}

/* An unreliable QP of the responder sends a packet here; its addresses, exchanged, lead back. */
static bool learn_addresses(struct packet_port *p)
{
	const struct end *end = &p->k->r->dut.responder;
	struct ibv_cq *cq = ibv_create_cq(end->ctx, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_UC};
	struct ibv_qp *qp = cq ? ibv_create_qp(end->pd, &init) : NULL;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = end->port,
				   .path_mtu = IBV_MTU_256,
				   .dest_qp_num = p->qp->qp_num,
				   .ah_attr = p->to_here};
	struct ibv_send_wr wr = kit_wr(0, IBV_WR_SEND, NULL), *bad;
	struct frame f = {};
	bool v4, good = qp &&
			!ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	attr.qp_state = IBV_QPS_RTR;
	good = good &&
	       !ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
	attr.qp_state = IBV_QPS_RTS;
	good = good && !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) &&
	       !ibv_post_send(qp, &wr, &bad);
	if (good) {
		do
			good = next_frame(p, &f);
		while (good && !find_headers(&f, &v4));
	}
	if (good) {
		unsigned int src = ETH + (v4 ? 12 : 8), size = v4 ? 4 : 16;

		p->head_len = f.udp;
		memcpy(p->head, f.at, f.udp);
		memcpy(p->head, f.at + 6, 6);
		memcpy(p->head + 6, f.at, 6);
		memcpy(p->head + src, f.at + src + size, size);
		memcpy(p->head + src + size, f.at + src, size);
	}
	return good;
}

bool port_open(struct kit *k, struct packet_port *p, bool v4)
{
	struct dut *dut = &k->r->dut;
	struct ibv_ah_attr *path = &p->to_here;
	union ibv_gid other;
	int index;

	*p = (struct packet_port){.k = k, .v4 = v4};
	link_address(&dut->responder, &dut->requester, path);
	if (!kit_gid(&dut->responder, v4, &index, &other) ||
	    !kit_gid(&dut->requester, v4, &(int){0}, &path->grh.dgid)) {
		seen(k->res, "the ends have no GID for IPv%d; ", v4 ? 4 : 6);
		return false;
	}
	path->grh.sgid_index = index;
	path->grh.traffic_class = TRAFFIC_CLASS;
	path->grh.hop_limit = HOP_LIMIT;
	path->grh.flow_label = FLOW_LABEL;
	if (!create(p) || !learn_addresses(p))
		KIT_FAULT(k, "the RAW_PACKET QP or its flow: %s", errno_name(errno));
	return KIT_GOOD(k);
}
