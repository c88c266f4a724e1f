/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Each field of a flow's specifications: a frame that has its value is received, frames that differ in one bit of it
 * are not. Masks are all ones or all zeros: the page leaves others to the vendor.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/kit.h"
#include "suites/transport/bytes.h"

#define ETH   14
#define FRAME 100
#define SLOTS 4
#define TCP   6
#define UDP   17

/* Where a field is in its specification, and in a frame. */
struct field {
	const char *what;
	enum ibv_flow_spec_type type;
	uint8_t whole, val, mask,
		size;  /* bytes of the specification; where its value and its mask begin; bytes of both */
	uint8_t at;    /* in the frame */
	uint32_t bits; /* of the four bytes at `at`; 0: `size` whole bytes */
	uint8_t ip, protocol;
	bool vlan;
};

#define IN(spec, member)                                                                                     \
	sizeof(struct ibv_flow_spec_##spec), offsetof(struct ibv_flow_spec_##spec, val.member),              \
		offsetof(struct ibv_flow_spec_##spec, mask.member),                                          \
		sizeof(((struct ibv_flow_spec_##spec *)NULL)->val.member)

static const struct field fields[] = {
	{"dst_mac", IBV_FLOW_SPEC_ETH, IN(eth, dst_mac), 0, .ip = 4, .protocol = UDP},
	{"src_mac", IBV_FLOW_SPEC_ETH, IN(eth, src_mac), 6, .ip = 4, .protocol = UDP},
	{"ether_type", IBV_FLOW_SPEC_ETH, IN(eth, ether_type), 12, .ip = 6, .protocol = UDP},
	{"ether_type after a VLAN tag", IBV_FLOW_SPEC_ETH, IN(eth, ether_type), 16, .ip = 4, .protocol = UDP,
	 .vlan = true},
	{"vlan_tag", IBV_FLOW_SPEC_ETH, IN(eth, vlan_tag), 14, .ip = 4, .protocol = UDP, .vlan = true},
	{"src_ip", IBV_FLOW_SPEC_IPV4, IN(ipv4, src_ip), ETH + 12, .ip = 4, .protocol = TCP},
	{"dst_ip", IBV_FLOW_SPEC_IPV4, IN(ipv4, dst_ip), ETH + 16, .ip = 4, .protocol = UDP},
	{"src_ip, extended", IBV_FLOW_SPEC_IPV4_EXT, IN(ipv4_ext, src_ip), ETH + 12, .ip = 4,
	 .protocol = UDP},
	{"dst_ip, extended", IBV_FLOW_SPEC_IPV4_EXT, IN(ipv4_ext, dst_ip), ETH + 16, .ip = 4,
	 .protocol = TCP},
	{"proto", IBV_FLOW_SPEC_IPV4_EXT, IN(ipv4_ext, proto), ETH + 9, .ip = 4, .protocol = TCP},
	{"tos", IBV_FLOW_SPEC_IPV4_EXT, IN(ipv4_ext, tos), ETH + 1, .ip = 4, .protocol = UDP},
	{"ttl", IBV_FLOW_SPEC_IPV4_EXT, IN(ipv4_ext, ttl), ETH + 8, .ip = 4, .protocol = UDP},
	{"IPv6 src_ip", IBV_FLOW_SPEC_IPV6, IN(ipv6, src_ip), ETH + 8, .ip = 6, .protocol = TCP},
	{"IPv6 dst_ip", IBV_FLOW_SPEC_IPV6, IN(ipv6, dst_ip), ETH + 24, .ip = 6, .protocol = UDP},
	{"flow_label", IBV_FLOW_SPEC_IPV6, IN(ipv6, flow_label), ETH, 0x000fffff, .ip = 6, .protocol = UDP},
	{"next_hdr", IBV_FLOW_SPEC_IPV6, IN(ipv6, next_hdr), ETH + 6, .ip = 6, .protocol = UDP},
	{"traffic_class", IBV_FLOW_SPEC_IPV6, IN(ipv6, traffic_class), ETH, 0x0ff00000, .ip = 6,
	 .protocol = TCP},
	{"hop_limit", IBV_FLOW_SPEC_IPV6, IN(ipv6, hop_limit), ETH + 7, .ip = 6, .protocol = UDP},
	{"TCP dst_port", IBV_FLOW_SPEC_TCP, IN(tcp_udp, dst_port), ETH + 22, .ip = 4, .protocol = TCP},
	{"TCP src_port", IBV_FLOW_SPEC_TCP, IN(tcp_udp, src_port), ETH + 40, .ip = 6, .protocol = TCP},
	{"UDP dst_port", IBV_FLOW_SPEC_UDP, IN(tcp_udp, dst_port), ETH + 42, .ip = 6, .protocol = UDP},
	{"UDP src_port", IBV_FLOW_SPEC_UDP, IN(tcp_udp, src_port), ETH + 20, .ip = 4, .protocol = UDP},
};

struct flows {
	struct kit *k;
	struct link link; /* for kit_wait() alone */
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *sender, *receiver;
	struct ibv_mr *from_mr, *to_mr;
	uint8_t *from, *to;
	unsigned int posted, used;
};

/* ---- Objects ---- */

static struct ibv_qp *raw_qp(const struct end *end, struct ibv_cq *cq, enum ibv_qp_state last)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = cq, .recv_cq = cq, .cap = {SLOTS, SLOTS, 1, 1, 0}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = end->port};
	struct ibv_qp *qp = cq ? ibv_create_qp(end->pd, &init) : NULL;
	int ret = qp ? ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT) : 0;

	for (attr.qp_state = IBV_QPS_RTR; qp && !ret && attr.qp_state <= last; attr.qp_state++)
		ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	if (!ret)
		return qp;
	ibv_destroy_qp(qp);
	errno = ret;
	return NULL;
}

static bool receive(struct flows *f)
{
	uint8_t *at = f->to + (size_t)(f->posted % SLOTS) * 256;
	struct ibv_sge sge = {(uintptr_t)at, 256, f->to_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = f->posted, .sg_list = &sge, .num_sge = 1}, *bad;
	int ret = ibv_post_recv(f->receiver, &wr, &bad);

	if (ret)
		KIT_FAULT(f->k, "a receive was refused with %s", errno_name(ret));
	f->posted++;
	return !ret;
}

static bool open_all(struct flows *f)
{
	const struct end *here = &f->k->r->dut.requester, *there = &f->k->r->dut.responder;

	f->send_cq = ibv_create_cq(here->ctx, SLOTS, NULL, NULL, 0);
	if (!f->recv_cq)
		f->recv_cq = ibv_create_cq(there->ctx, SLOTS, NULL, NULL, 0);
	f->from = end_alloc(here->pd, 4096);
	f->to = end_alloc(there->pd, 4096);
	f->from_mr = f->from ? ibv_reg_mr(here->pd, f->from, 4096, 0) : NULL;
	f->to_mr = f->to ? ibv_reg_mr(there->pd, f->to, 4096, IBV_ACCESS_LOCAL_WRITE) : NULL;
	f->sender = raw_qp(here, f->send_cq, IBV_QPS_RTS);
	f->receiver = raw_qp(there, f->recv_cq, IBV_QPS_RTR);
	f->link = (struct link){.dut = &f->k->r->dut, .cq = f->send_cq, .peer_cq = f->recv_cq};
	if (!KIT_MUST(f->k, f->from_mr && f->to_mr && f->sender && f->receiver, "objects of the case: %s",
		      errno_name(errno)))
		return false;
	for (int i = 0; i < 2; i++)
		if (!receive(f))
			return false;
	return true;
}

/* ---- Frames ---- */

/* Every field has bytes of its own, none of which is 0. */
static void make_frame(uint8_t *at, const struct field *field)
{
	const unsigned int l2 = field->vlan ? ETH + 4 : ETH, l3 = field->ip == 4 ? 20 : 40;
	uint8_t *ip = at + l2, *l4 = ip + l3;

	for (unsigned int i = 0; i < FRAME; i++)
		at[i] = (uint8_t)(i * 2 + 17);
	at[0] = 0x03; /* a group: no switch drops it */
	at[6] = 0x02; /* local, individual */
	put16(at + 12, 0x8100);
	put16(at + 14, 0xb234);
	put16(ip - 2, field->ip == 4 ? 0x0800 : 0x86dd);
	ip[0] = field->ip == 4 ? 0x45 : 0x6a;
	put16(ip + (field->ip == 4 ? 2 : 4), FRAME - l2 - (field->ip == 4 ? 0 : l3));
	put16(ip + (field->ip == 4 ? 6 : 2), field->ip == 4 ? 0x4000 : 0xbcde); /* no fragment */
	ip[field->ip == 4 ? 9 : 6] = field->protocol;
	put16(l4 + 2, 0x5a3c); /* not the port of RoCE, nor is any other with one bit changed */
	if (field->protocol == UDP) {
		put16(l4 + 4, FRAME - l2 - l3);
		put16(l4 + 6, 0);
	} else {
		l4[12] = 0x50;
	}
}

static void sum_header(uint8_t *at, const struct field *field)
{
	uint8_t *ip = at + (field->vlan ? ETH + 4 : ETH);

	if (field->ip != 4)
		return;
	put16(ip + 10, 0);
	put16(ip + 10, sum_of(0, ip, 20));
}

static bool send(struct flows *f, const struct field *field, const uint8_t *frame)
{
	struct ibv_sge sge = {(uintptr_t)f->from, FRAME, f->from_mr->lkey};
	struct ibv_send_wr wr = kit_wr(1, IBV_WR_SEND, &sge), *bad;
	struct ibv_wc wc;

	memcpy(f->from, frame, FRAME);
	sum_header(f->from, field);
	if (ibv_post_send(f->sender, &wr, &bad))
		KIT_FAULT(f->k, "a frame was refused");
	return KIT_GOOD(f->k) && kit_wait(f->k, &f->link, f->send_cq, &wc);
}

/* ---- Flows ---- */

/* The low `size` bytes of a number, in network order. */
static void put_number(uint8_t *at, uint32_t number, unsigned int size)
{
	while (size--) {
		at[size] = (uint8_t)number;
		number >>= 8;
	}
}

/* A rule for one field as the frame has it. */
static struct ibv_flow *steer(struct flows *f, const struct field *field, const uint8_t *frame)
{
	struct {
		struct ibv_flow_attr attr;
		union {
			struct {
				enum ibv_flow_spec_type type;
				uint16_t size;
			} hdr;
			uint8_t bytes[sizeof(struct ibv_flow_spec_ipv6)];
		} spec;
	} rule = {.attr = {.type = IBV_FLOW_ATTR_NORMAL,
			   .size = sizeof(rule.attr) + field->whole,
			   .num_of_specs = 1,
			   .port = f->k->r->dut.responder.port}};
	uint8_t *val = rule.spec.bytes + field->val, *mask = rule.spec.bytes + field->mask;
	const uint32_t low = field->bits ? field->bits & -field->bits : 1;

	memset(&rule.spec, 0, sizeof(rule.spec));
	rule.spec.hdr.type = field->type;
	rule.spec.hdr.size = field->whole;
	memcpy(val, frame + field->at, field->size);
	memset(mask, 0xff, field->size);
	if (field->bits) {
		put_number(val, (get32(frame + field->at) & field->bits) / low, field->size);
		put_number(mask, field->bits / low, field->size);
	}
	log_call(&f->k->res->log, "/* ibv_create_flow() of a rule with the field %s */", field->what);
	errno = 0;
	return ibv_create_flow(f->receiver, &rule.attr);
}

/* Bit `bit` of the field; of long fields one bit of each byte counts. */
static bool has_bit(const struct field *field, unsigned int bit)
{
	if (field->bits)
		return field->bits << bit & 0x80000000;
	return field->size <= 4 || bit % 8 == bit / 8 * 3 % 8;
}

static void try_field(struct flows *f, const struct field *field)
{
	const unsigned int num = field->bits ? 32 : field->size * 8u;
	uint8_t frame[FRAME], *slot = f->to + (size_t)(f->used % SLOTS) * 256;
	struct kit *k = f->k;
	struct ibv_flow *flow;
	struct ibv_wc wc;

	make_frame(frame, field);
	flow = steer(f, field, frame);
	if (!flow && errno == EOPNOTSUPP)
		seen(k->res, "no flows by %s; ", field->what);
	else if (!flow)
		KIT_FAULT(k, "ibv_create_flow failed with %s", errno_name(errno));
	for (unsigned int bit = 0; bit < num && flow && KIT_GOOD(k); bit++) {
		if (!has_bit(field, bit))
			continue;
		frame[field->at + bit / 8] ^= 0x80 >> bit % 8;
		send(f, field, frame);
		frame[field->at + bit / 8] ^= 0x80 >> bit % 8;
	}
	if (flow && KIT_GOOD(k) && send(f, field, frame) && kit_wait(k, &f->link, f->recv_cq, &wc)) {
		end_sync();
		if (!kit_holds(k, !wc.status && wc.wr_id == f->used && wc.byte_len == FRAME))
			KIT_FAULT(k, "receive %u of %u bytes, status %s", (unsigned int)wc.wr_id, wc.byte_len,
				  value_name(status_names, wc.status));
		judge_bytes(&k->res->verdict, "the frame", f->from, slot, FRAME);
		f->used++;
		receive(f);
	}
	if (flow && ibv_destroy_flow(flow))
		KIT_FAULT(k, "ibv_destroy_flow failed");
	if (!KIT_GOOD(k))
		KIT_FAULT(k, "a flow with the field %s", field->what);
}

static void flow_fields(struct kit *k)
{
	struct flows f = {.k = k};

	if (k->r->dut.remote) {
		seen(k->res, "the responder is in another process, which knows flows of addresses alone; ");
		return;
	}
	if (open_all(&f))
		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && KIT_GOOD(k); i++)
			try_field(&f, &fields[i]);
}

SCENARIO(flow_fields) = {
	{"flow-fields", SUITE("objects"), QPS("RAW_PACKET"), CLAUSE("ibv_create_flow/DESCRIPTION/mask"),
	 SAYS("for each field of Ethernet, IPv4, IPv6, TCP and UDP: a frame with the value of the rule "
	      "is received, none that differs in a bit of it")},
	{},
};

/* A second receiver that is in INIT: it has a receive and the same flow, and gets no frame before it is in RTR. */
static void not_yet(struct flows *f, const uint8_t *frame)
{
	const struct end *there = &f->k->r->dut.responder;
	struct ibv_sge sge = {(uintptr_t)f->to + 2048, 256, f->to_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 99, .sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	struct ibv_cq *cq = ibv_create_cq(there->ctx, 4, NULL, NULL, 0);
	struct ibv_qp *second = raw_qp(there, cq, IBV_QPS_INIT), *first = f->receiver;
	struct ibv_flow *flow = NULL;
	struct kit *k = f->k;
	struct ibv_wc wc;

	log_call(&k->res->log, "/* a receive and a flow of a QP in INIT */");
	f->receiver = second;
	if (second)
		flow = steer(f, &fields[0], frame);
	f->receiver = first;
	if (!flow || ibv_post_recv(second, &wr, &bad))
		KIT_FAULT(k, "a raw QP in INIT refused a flow or a receive");
	else if (send(f, &fields[0], frame) && kit_wait(k, &f->link, f->recv_cq, &wc))
		kit_expect_none(k, &f->link, cq);
	if (KIT_GOOD(k) && ibv_modify_qp(second, &attr, IBV_QP_STATE))
		KIT_FAULT(k, "ibv_modify_qp to RTR failed");
	if (KIT_GOOD(k) && send(f, &fields[0], frame) && kit_wait(k, &f->link, cq, &wc) &&
	    !kit_holds(k, wc.wr_id == 99 && !wc.status))
		KIT_FAULT(k, "receive %u with status %s, expected 99", (unsigned int)wc.wr_id,
			  value_name(status_names, wc.status));
}

static void flow_in_init(struct kit *k)
{
	struct flows f = {.k = k};
	uint8_t frame[FRAME];

	if (k->r->dut.remote) {
		seen(k->res, "the responder is in another process, which knows flows of addresses alone; ");
		return;
	}
	make_frame(frame, &fields[0]);
	if (!open_all(&f))
		return;
	KIT_CHECK(k, steer(&f, &fields[0], frame), "ibv_create_flow failed with %s", errno_name(errno));
	not_yet(&f, frame);
}

SCENARIO(flow_in_init) = {
	{"flow-in-init", SUITE("objects"), QPS("RAW_PACKET"), CLAUSE("ibv_modify_qp/DESCRIPTION/qp_state"),
	 SAYS("a raw QP in INIT with a receive and a flow gets no frame; in RTR it does")},
	{},
};

/* ---- Tags ---- */

#define TAG 0xabcdef /* 24 bits */

static struct ibv_flow *tagged(struct flows *f, const uint8_t *frame)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_action_tag tag;
	} rule = {.attr = {.type = IBV_FLOW_ATTR_NORMAL,
			   .size = sizeof(rule),
			   .num_of_specs = 2,
			   .port = f->k->r->dut.responder.port},
		  .eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth)},
		  .tag = {.type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(rule.tag), .tag_id = TAG}};

	memcpy(rule.eth.val.dst_mac, frame, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	log_call(&f->k->res->log, "/* ibv_create_flow() with IBV_FLOW_SPEC_ACTION_TAG 0x%x */", TAG);
	errno = 0;
	return ibv_create_flow(f->receiver, &rule.attr);
}

static void judge_tag(struct flows *f)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)f->recv_cq;
	struct watchdog wait = watchdog(f->k->r->dut.timeout_ms);
	struct ibv_poll_cq_attr none = {};
	int ret;

	do {
		ret = ibv_start_poll(cq, &none);
	} while (ret == ENOENT && !watchdog_expired(&wait));
	KIT_CHECK(f->k, !ret, "the completion of the frame did not come: %s", errno_name(ret));
	ret = ibv_wc_read_flow_tag(cq);
	ibv_end_poll(cq);
	KIT_CHECK(f->k, ret == TAG, "ibv_wc_read_flow_tag says 0x%x, expected 0x%x", ret, TAG);
}

static void flow_tags(struct kit *k)
{
	struct ibv_cq_init_attr_ex init = {.cqe = SLOTS, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG};
	struct flows f = {.k = k};
	struct ibv_flow *flow = NULL;
	uint8_t frame[FRAME];

	if (k->r->dut.remote) {
		seen(k->res, "the responder is in another process, which knows flows of addresses alone; ");
		return;
	}
	make_frame(frame, &fields[0]);
	errno = 0;
	f.recv_cq = (struct ibv_cq *)ibv_create_cq_ex(k->r->dut.responder.ctx, &init);
	if (!kit_holds(k, f.recv_cq || errno == EOPNOTSUPP))
		KIT_FAULT(k, "ibv_create_cq_ex failed with %s", errno_name(errno));
	else if (!f.recv_cq)
		seen(k->res, "no completions with a flow tag; ");
	else if (open_all(&f))
		flow = tagged(&f, frame);
	if (flow && send(&f, &fields[0], frame))
		judge_tag(&f);
	else if (f.receiver && !flow && !kit_holds(k, errno == EOPNOTSUPP))
		KIT_FAULT(k, "ibv_create_flow with a tag failed with %s", errno_name(errno));
}

SCENARIO(flow_tags) = {
	{"flow-tags", SUITE("objects"), QPS("RAW_PACKET"), CLAUSE("ibv_create_cq_ex/DESCRIPTION/flow_tag"),
	 SAYS("a frame that a flow with a tag of 24 bits takes has this tag in its completion")},
	{},
};

/* A type of specification that does not exist. */
static void no_type(struct flows *f, unsigned int type)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_eth spec;
	} rule = {.attr = {.type = IBV_FLOW_ATTR_NORMAL,
			   .size = sizeof(rule),
			   .num_of_specs = 2,
			   .port = f->k->r->dut.responder.port},
		  .eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth)},
		  .spec = {.type = type, .size = sizeof(rule.spec)}};
	struct ibv_flow *flow;
	int error;

	log_call(&f->k->res->log, "/* ibv_create_flow() with a specification of type 0x%x */", type);
	errno = 0;
	flow = ibv_create_flow(f->receiver, &rule.attr);
	error = errno;
	if (flow)
		ibv_destroy_flow(flow);
	if (!kit_holds(f->k, !flow && error > 0))
		KIT_FAULT(f->k, "type 0x%x: %s, errno %d, but there is none", type,
			  flow ? "created" : "refused", error);
}

static void flow_types(struct kit *k)
{
	struct flows f = {.k = k};

	if (k->r->dut.remote) {
		seen(k->res, "the responder is in another process, which knows flows of addresses alone; ");
		return;
	}
	if (open_all(&f))
		no_type(&f, 0x7f);
}

SCENARIO(flow_types) = {
	{"flow-types", SUITE("objects"), QPS("RAW_PACKET"), CLAUSE("ibv_create_flow/ERRORS/EINVAL"),
	 SAYS("a specification of a type that does not exist is refused with an errno")},
	{},
};
