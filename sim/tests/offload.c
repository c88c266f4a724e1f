// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Raw Ethernet, checksum offload, TSO and multicast through the plain verbs API. test_offload.py checks the
 * packets in the trace; this program checks what arrives and what the completions report.
 */
#include "link.h"

#include <arpa/inet.h>

#define SLOT    4096u
#define SLOTS   64u
#define QKEY    0x11111111u
#define MAX_HDR 336u /* longest TSO header */
#define MSS     1000u
#define PAYLOAD 3500u

struct end {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	unsigned int posted, taken;
};

static struct link l;

static void open_end(struct end *e, int end, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type,
		.cap = {16, SLOTS, 2, 1, 0},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		.pd = l.pd[end],
		.max_tso_header = MAX_HDR,
		.sq_sig_all = 1,
	};
	const struct ibv_qp_attr attr = {.port_num = 1, .qkey = QKEY};

	memset(e, 0, sizeof(*e));
	e->cq = link_create_cq(&l, end, 256);
	init.send_cq = init.recv_cq = e->cq;
	e->qp = ibv_create_qp_ex(l.ctx[end], &init);
	CHECK(e->qp);
	link_modify(e->qp, &attr, IBV_QPS_RTS);
}

static void close_end(struct end *e)
{
	CHECK(!(errno = ibv_destroy_qp(e->qp)));
	CHECK(!(errno = ibv_destroy_cq(e->cq)));
}

static void post_recv(struct end *e, int end)
{
	struct ibv_sge sge = {(uintptr_t)l.buf[end] + (e->posted % SLOTS) * SLOT, SLOT, l.mr[end]->lkey};
	struct ibv_recv_wr wr = {.wr_id = e->posted++, .sg_list = &sge, .num_sge = 1}, *bad;

	memset((void *)(uintptr_t)sge.addr, 0xee, SLOT);
	CHECK(!(errno = ibv_post_recv(e->qp, &wr, &bad)));
}

static struct ibv_wc take(struct ibv_cq *cq, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = link_wait(cq);

	if (wc.status != IBV_WC_SUCCESS)
		fprintf(stderr, "status %s, vendor error %u\n", ibv_wc_status_str(wc.status), wc.vendor_err);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == opcode);
	return wc;
}

static void send_one(struct end *e, struct ibv_send_wr *wr)
{
	link_post(e->qp, wr);
	take(e->cq, wr->opcode == IBV_WR_TSO ? IBV_WC_TSO : IBV_WC_SEND);
}

static struct ibv_flow *steer(struct end *e, enum ibv_flow_attr_type type, uint16_t port, uint16_t priority)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_tcp_udp l4;
	} rule = {
		.attr = {.type = type,
			 .size = sizeof(rule),
			 .num_of_specs = !!port,
			 .port = 1,
			 .priority = priority},
		.l4 = {.type = IBV_FLOW_SPEC_TCP, .size = sizeof(rule.l4)},
	};
	struct ibv_flow *flow;

	rule.l4.val.dst_port = htons(port);
	rule.l4.mask.dst_port = 0xffff;
	flow = ibv_create_flow(e->qp, &rule.attr);
	CHECK(flow);
	return flow;
}

static void unsteer(struct ibv_flow *flow)
{
	CHECK(!(errno = ibv_destroy_flow(flow)));
}

struct shape {
	bool v6, vlan, udp;
	unsigned int ext; /* IPv6: bytes of a destination options header */
	unsigned int tcp; /* bytes of the TCP header; 0: without options */
};

static void put16(uint8_t *p, unsigned int value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

/* Writes a header from 192.0.2.1 to 192.0.2.2 with a wrong checksum. Returns its length. */
static unsigned int ipv4(uint8_t *p, uint8_t protocol, unsigned int len)
{
	static const uint8_t hdr[20] = {0x45, [4] = 0xff, 0xfe, 0x40, 0,   64, 0, 0xde, 0xad,
					192,  0,          2,    1,    192, 0,  2, 2};

	memcpy(p, hdr, sizeof(hdr));
	put16(p + 2, sizeof(hdr) + len);
	p[9] = protocol;
	return sizeof(hdr);
}

/* Writes a header from fd00::1 to fd00::2 with padding options. Returns its length. */
static unsigned int ipv6(uint8_t *p, uint8_t protocol, unsigned int ext, unsigned int len)
{
	static const uint8_t hdr[40] = {0x60, [7] = 64, [8] = 0xfd, [23] = 1, [24] = 0xfd, [39] = 2};

	memcpy(p, hdr, sizeof(hdr));
	memset(p + sizeof(hdr), 0, ext);
	put16(p + 4, ext + len);
	p[6] = ext ? 60 : protocol;
	if (ext) {
		p[40] = protocol;
		p[41] = (uint8_t)(ext / 8 - 1);
		p[42] = 1; /* PadN */
		p[43] = (uint8_t)(ext - 4);
	}
	return sizeof(hdr) + ext;
}

static unsigned int tcp(uint8_t *p, unsigned int size, uint8_t flags, uint16_t port)
{
	static const uint8_t hdr[20] = {0x30, 0x39, 0,    0, 0xff, 0xff, 0xff, 0x00, 0, 0,
					0,    1,    0x50, 0, 0x20, 0,    0xbe, 0xef, 0, 0};

	memset(p, 1, size); /* NOPs */
	memcpy(p, hdr, sizeof(hdr));
	put16(p + 2, port);
	p[12] = (uint8_t)(size / 4 << 4);
	p[13] = flags;
	return size;
}

static unsigned int udp(uint8_t *p, unsigned int payload, uint16_t port)
{
	put16(p, 12345);
	put16(p + 2, port);
	put16(p + 4, 8 + payload);
	put16(p + 6, 0xbeef);
	return 8;
}

/* Writes broadcast Ethernet, IP, TCP or UDP headers with wrong checksums, and with lengths only if given. */
static unsigned int headers(uint8_t *p, struct shape s, unsigned int payload, uint8_t flags, uint16_t port)
{
	static const uint8_t mac[12] = {255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1};
	unsigned int off = 12, size = s.udp ? 8 : s.tcp ? s.tcp : 20;
	uint8_t protocol = s.udp ? 17 : 6;

	memcpy(p, mac, 12);
	if (s.vlan) {
		memcpy(p + off, (uint8_t[]){0x81, 0x00, 0x20, 0x05}, 4);
		off += 4;
	}
	put16(p + off, s.v6 ? 0x86dd : 0x0800);
	off += 2;
	off += s.v6 ? ipv6(p + off, protocol, s.ext, size + payload)
		    : ipv4(p + off, protocol, size + payload);
	return off + (s.udp ? udp(p + off, payload, port) : tcp(p + off, size, flags, port));
}

static void fill(uint8_t *p, unsigned int len)
{
	for (unsigned int i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 31 + (i >> 8) + 1);
}

/* Turns the last 4 bytes of the Ethernet header into an IPoIB header; returns its offset. */
static unsigned int to_ipoib(uint8_t *p)
{
	memcpy(p + 10, p + 12, 2);
	memset(p + 12, 0, 2);
	return 10;
}

static void to_ud(struct ibv_send_wr *wr, struct ibv_ah *ah, uint32_t qpn)
{
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = qpn;
	wr->wr.ud.remote_qkey = QKEY;
}

/* With the checksum flag, or without it: then the wrong checksum stays. `ah`: as IPoIB over UD. */
static void checksum(struct end *a, struct end *b, struct shape s, bool offload, struct ibv_ah *ah)
{
	uint8_t *p = (uint8_t *)l.buf[0] + SLOTS * SLOT;
	unsigned int payload = 333, hdr = headers(p, s, payload, 0x18, 4000);
	unsigned int skip = ah ? to_ipoib(p) : 0, grh = ah ? 40 : 0, len = hdr + payload - skip;
	struct ibv_sge sge = {(uintptr_t)p + skip, len, l.mr[0]->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = offload ? IBV_SEND_IP_CSUM : 0};
	const char *got;
	struct ibv_wc wc;

	if (ah)
		to_ud(&wr, ah, b->qp->qp_num);
	fill(p + hdr, payload);
	post_recv(b, 1);
	send_one(a, &wr);
	wc = take(b->cq, IBV_WC_RECV);
	got = l.buf[1] + (b->taken++ % SLOTS) * SLOT + grh;
	CHECK(wc.byte_len == grh + len);
	CHECK(!!(wc.wc_flags & IBV_WC_IP_CSUM_OK) == (offload && !s.v6));
	CHECK(!memcmp(got + hdr - skip, p + hdr, payload));
}

static void checksums(struct end *a, struct end *b, struct ibv_ah *ah)
{
	for (int kind = 0; kind < 16; kind++) {
		struct shape s = {.v6 = kind & 1, .vlan = kind & 2, .udp = kind & 8};

		if (!s.vlan || !ah)
			checksum(a, b, s, kind & 4, ah);
	}
}

static void tso(struct end *a, struct end *b, struct shape s, uint16_t port, struct ibv_ah *ah)
{
	uint8_t hdr[10 + MAX_HDR], *p = (uint8_t *)l.buf[0] + SLOTS * SLOT;
	unsigned int size = headers(hdr, s, 0, 0x99, port); /* CWR, ACK, PSH, FIN */
	unsigned int skip = ah ? to_ipoib(hdr) : 0, grh = ah ? 40 : 0;
	struct ibv_sge sge[2] = {{(uintptr_t)p, 1, l.mr[0]->lkey},
				 {(uintptr_t)p + 1, PAYLOAD - 1, l.mr[0]->lkey}};
	struct ibv_send_wr wr = {.opcode = IBV_WR_TSO, .sg_list = sge, .num_sge = 2};

	size -= skip;
	if (ah)
		to_ud(&wr, ah, b->qp->qp_num);
	wr.tso.hdr = hdr + skip;
	wr.tso.hdr_sz = size;
	wr.tso.mss = MSS;
	fill(p, PAYLOAD);
	for (unsigned int at = 0; at < PAYLOAD; at += MSS)
		post_recv(b, 1);
	send_one(a, &wr);
	for (unsigned int at = 0; at < PAYLOAD; at += MSS) {
		unsigned int len = PAYLOAD - at < MSS ? PAYLOAD - at : MSS;
		struct ibv_wc wc = take(b->cq, IBV_WC_RECV);
		const char *got = l.buf[1] + (b->taken++ % SLOTS) * SLOT + grh + size;

		CHECK(wc.byte_len == grh + size + len);
		CHECK(!!(wc.wc_flags & IBV_WC_IP_CSUM_OK) == !s.v6);
		CHECK(!memcmp(got, p + at, len));
	}
}

/*
 * The longest headers, up to the limit, have TCP options. On Ethernet no combination has exactly 336 bytes.
 */
static void segments(struct end *a, struct end *b, struct ibv_ah *ah)
{
	for (int v6 = 0; v6 < 2; v6++) {
		tso(a, b, (struct shape){.v6 = v6}, 5000, ah);
		if (!ah)
			tso(a, b, (struct shape){.v6 = v6, .vlan = true}, 5001, ah);
	}
	tso(a, b, (struct shape){.v6 = true, .ext = ah ? 232 : 224, .tcp = ah ? 60 : 56}, 5002, ah);
}

/* The first matching flow gets the frame; sniffers get a copy. */
static void steering(struct end *a, struct end *b)
{
	uint8_t *p = (uint8_t *)l.buf[0] + SLOTS * SLOT;
	unsigned int hdr = headers(p, (struct shape){}, 100, 0x10, 4000);
	struct ibv_sge sge = {(uintptr_t)p, hdr + 100, l.mr[0]->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1};
	struct ibv_flow *by_port, *all, *low, *sniff;
	struct end c, d;

	open_end(&c, 1, IBV_QPT_RAW_PACKET);
	open_end(&d, 1, IBV_QPT_RAW_PACKET);
	low = steer(&c, IBV_FLOW_ATTR_NORMAL, 4000, 5);
	by_port = steer(b, IBV_FLOW_ATTR_NORMAL, 4000, 1);
	all = steer(&c, IBV_FLOW_ATTR_MC_DEFAULT, 0, 0);
	sniff = steer(&d, IBV_FLOW_ATTR_SNIFFER, 0, 0);
	for (int i = 0; i < 4; i++) {
		post_recv(b, 1);
		post_recv(&c, 1);
		post_recv(&d, 1);
	}
	send_one(a, &wr); /* to b and d */
	take(d.cq, IBV_WC_RECV);
	take(b->cq, IBV_WC_RECV);
	unsteer(by_port);
	send_one(a, &wr); /* to c, by its flow of low priority */
	take(d.cq, IBV_WC_RECV);
	take(c.cq, IBV_WC_RECV);
	unsteer(low);
	send_one(a, &wr); /* to c, as a multicast frame */
	take(d.cq, IBV_WC_RECV);
	take(c.cq, IBV_WC_RECV);
	unsteer(all);
	send_one(a, &wr); /* only to the sniffer */
	take(d.cq, IBV_WC_RECV);
	CHECK(!ibv_poll_cq(b->cq, 1, &(struct ibv_wc){}) && !ibv_poll_cq(c.cq, 1, &(struct ibv_wc){}));
	CHECK(ibv_destroy_qp(d.qp) == EBUSY);
	unsteer(sniff);
	close_end(&c);
	close_end(&d);
}

/* One field of a flow specification, and what `headers` puts there. */
struct field {
	const char *name;
	enum ibv_flow_spec_type type;
	size_t spec, val, mask, size;
	enum { IN_V4, IN_V6, IN_VLAN, IN_UDP } shape;
	uint8_t value[16];
};

static const struct shape shape_of[] = {
	[IN_V6] = {.v6 = true}, [IN_VLAN] = {.vlan = true}, [IN_UDP] = {.udp = true}};

#define PART(kind, TYPE, what, from, bytes, frame, ...)                                                      \
	{                                                                                                    \
		.name = #TYPE "." #what, .type = IBV_FLOW_SPEC_##TYPE,                                       \
		.spec = sizeof(struct ibv_flow_spec_##kind),                                                 \
		.val = offsetof(struct ibv_flow_spec_##kind, val.what) + (from),                             \
		.mask = offsetof(struct ibv_flow_spec_##kind, mask.what) + (from), .size = bytes,            \
		.shape = frame, .value = {                                                                   \
			__VA_ARGS__                                                                          \
		}                                                                                            \
	}
#define FIELD(kind, TYPE, what, frame, ...)                                                                  \
	PART(kind, TYPE, what, 0, sizeof(((struct ibv_flow_spec_##kind *)0)->val.what), frame, __VA_ARGS__)

static const struct field fields[] = {
	FIELD(eth, ETH, dst_mac, IN_V4, 255, 255, 255, 255, 255, 255),
	FIELD(eth, ETH, src_mac, IN_V4, 2, 0, 0, 0, 0, 1),
	FIELD(eth, ETH, ether_type, IN_V4, 0x08, 0x00),
	FIELD(eth, ETH, ether_type, IN_V6, 0x86, 0xdd),
	FIELD(eth, ETH, vlan_tag, IN_VLAN, 0x20, 0x05),
	FIELD(ipv4, IPV4, src_ip, IN_V4, 192, 0, 2, 1),
	FIELD(ipv4, IPV4, dst_ip, IN_V4, 192, 0, 2, 2),
	FIELD(ipv4_ext, IPV4_EXT, src_ip, IN_V4, 192, 0, 2, 1),
	FIELD(ipv4_ext, IPV4_EXT, proto, IN_V4, 6),
	FIELD(ipv4_ext, IPV4_EXT, tos, IN_V4, 0),
	FIELD(ipv4_ext, IPV4_EXT, ttl, IN_V4, 64),
	FIELD(ipv6, IPV6, src_ip, IN_V6, 0xfd, [15] = 1),
	FIELD(ipv6, IPV6, dst_ip, IN_V6, 0xfd, [15] = 2),
	PART(ipv6, IPV6, flow_label, 2, 2, IN_V6, 0), /* 20 bits */
	FIELD(ipv6, IPV6, next_hdr, IN_V6, 6),
	FIELD(ipv6, IPV6, traffic_class, IN_V6, 0),
	FIELD(ipv6, IPV6, hop_limit, IN_V6, 64),
	FIELD(tcp_udp, TCP, src_port, IN_V4, 0x30, 0x39),
	FIELD(tcp_udp, TCP, dst_port, IN_V6, 0x0f, 0xa0),
	FIELD(tcp_udp, UDP, src_port, IN_UDP, 0x30, 0x39),
	FIELD(tcp_udp, UDP, dst_port, IN_UDP, 0x0f, 0xa0),
};

/* Creates a flow for the field's value (match) or another value: the frame goes to `b`, or to `rest`. */
static void steer_by(struct end *a, struct end *b, struct end *rest, const struct field *f, bool match)
{
	uint8_t *p = (uint8_t *)l.buf[0] + SLOTS * SLOT;
	unsigned int hdr = headers(p, shape_of[f->shape], 100, 0x10, 4000);
	struct ibv_sge sge = {(uintptr_t)p, hdr + 100, l.mr[0]->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1};
	struct {
		struct ibv_flow_attr attr;
		uint8_t spec[sizeof(struct ibv_flow_spec_ipv6)];
	} rule = {.attr = {.size = sizeof(rule.attr) + f->spec, .num_of_specs = 1, .port = 1}};
	const struct ibv_flow_spec_eth head = {.type = f->type, .size = f->spec};
	struct ibv_flow *flow;

	printf("flow by %s\n", f->name);
	memcpy(rule.spec, &head, offsetof(struct ibv_flow_spec_eth, val));
	memcpy(rule.spec + f->val, f->value, f->size);
	rule.spec[f->val + f->size - 1] ^= !match;
	memset(rule.spec + f->mask, 0xff, f->size);
	flow = ibv_create_flow(b->qp, &rule.attr);
	CHECK(flow);
	post_recv(b, 1);
	post_recv(rest, 1);
	send_one(a, &wr);
	take(match ? b->cq : rest->cq, IBV_WC_RECV);
	CHECK(!ibv_poll_cq(match ? rest->cq : b->cq, 1, &(struct ibv_wc){}));
	unsteer(flow);
}

static void specifications(struct end *a)
{
	struct ibv_flow *all;
	struct end b, rest;

	for (size_t i = 0; i < 2 * sizeof(fields) / sizeof(fields[0]); i++) {
		open_end(&b, 1, IBV_QPT_RAW_PACKET);
		open_end(&rest, 1, IBV_QPT_RAW_PACKET);
		all = steer(&rest, IBV_FLOW_ATTR_ALL_DEFAULT, 0, 0);
		steer_by(a, &b, &rest, &fields[i / 2], i & 1);
		unsteer(all);
		close_end(&b);
		close_end(&rest);
	}
}

/* Every QP of every adapter that is in the group gets the datagram; one that left does not. */
static void multicast(void)
{
	static const union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	struct ibv_ah_attr path = link_path(&l, 0);
	uint8_t *p = (uint8_t *)l.buf[0] + SLOTS * SLOT;
	struct ibv_sge sge = {(uintptr_t)p, 500, l.mr[0]->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1};
	struct end e[4], from;
	struct ibv_ah *ah;

	path.grh.dgid = group;
	ah = ibv_create_ah(l.pd[0], &path);
	CHECK(ah);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = QKEY;
	open_end(&from, 0, IBV_QPT_UD);
	for (int i = 0; i < 4; i++) {
		open_end(&e[i], i & 1, IBV_QPT_UD);
		CHECK(!(errno = ibv_attach_mcast(e[i].qp, &group, 0)));
		post_recv(&e[i], i & 1);
		post_recv(&e[i], i & 1);
	}
	fill(p, 500);
	send_one(&from, &wr);
	for (int i = 0; i < 4; i++) {
		struct ibv_wc wc = take(e[i].cq, IBV_WC_RECV);

		CHECK(wc.byte_len == 540 && wc.src_qp == from.qp->qp_num);
		CHECK(!memcmp(l.buf[i & 1] + wc.wr_id * SLOT + 40, p, 500));
	}
	for (int i = 0; i < 2; i++) {
		CHECK(!(errno = ibv_detach_mcast(e[i].qp, &group, 0)));
	}
	send_one(&from, &wr);
	take(e[2].cq, IBV_WC_RECV);
	take(e[3].cq, IBV_WC_RECV);
	for (int i = 0; i < 2; i++)
		CHECK(!ibv_poll_cq(e[i].cq, 1, &(struct ibv_wc){}));
	CHECK(ibv_destroy_qp(e[2].qp) == EBUSY);
	for (int i = 2; i < 4; i++)
		CHECK(!(errno = ibv_detach_mcast(e[i].qp, &group, 0)));
	for (int i = 0; i < 4; i++)
		close_end(&e[i]);
	close_end(&from);
	CHECK(!(errno = ibv_destroy_ah(ah)));
}

static void caps(void)
{
	struct ibv_device_attr_ex attr;
	const uint32_t want =
		IBV_DEVICE_UD_IP_CSUM | IBV_DEVICE_RAW_IP_CSUM | IBV_DEVICE_MANAGED_FLOW_STEERING;

	CHECK(!(errno = ibv_query_device_ex(l.ctx[0], NULL, &attr)));
	CHECK((attr.orig_attr.device_cap_flags & want) == want);
	CHECK(attr.raw_packet_caps == IBV_RAW_PACKET_CAP_IP_CSUM);
	CHECK(attr.tso_caps.max_tso >= PAYLOAD &&
	      attr.tso_caps.supported_qpts == (1u << IBV_QPT_UD | 1u << IBV_QPT_RAW_PACKET));
}

int main(void)
{
	struct ibv_flow *flow;
	struct ibv_ah_attr path;
	struct ibv_ah *ah;
	struct end a, b;

	link_open(&l, 2 * SLOTS * SLOT);
	caps();
	open_end(&a, 0, IBV_QPT_RAW_PACKET);
	open_end(&b, 1, IBV_QPT_RAW_PACKET);
	flow = steer(&b, IBV_FLOW_ATTR_ALL_DEFAULT, 0, 0);
	checksums(&a, &b, NULL);
	segments(&a, &b, NULL);
	unsteer(flow);
	steering(&a, &b);
	specifications(&a);
	close_end(&a);
	close_end(&b);
	open_end(&a, 0, IBV_QPT_UD);
	open_end(&b, 1, IBV_QPT_UD);
	path = link_path(&l, 0);
	ah = ibv_create_ah(l.pd[0], &path);
	CHECK(ah);
	checksums(&a, &b, ah);
	segments(&a, &b, ah);
	CHECK(!(errno = ibv_destroy_ah(ah)));
	close_end(&a);
	close_end(&b);
	multicast();
	link_close(&l);
	printf("offloads, steering and groups: ok\n");
	return 0;
}
