// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands: flow steering and multicast groups. Linux requires CAP_NET_RAW for flows and raw QPs. Here every
 * user may create them, since the frames reach no real network.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "containers/hash.h"
#include "kernel/uverbs/ioctl.h"

/* include/rdma/ib_verbs.h: enum ib_flow_flags, enum ib_flow_attr_type, enum ib_flow_spec_type */
#define FLAG_DONT_TRAP (1u << 1)
#define FLAG_EGRESS    (1u << 2)
#define FLAGS_RESERVED (1u << 3)
#define ATTR_NORMAL    0
#define ATTR_SNIFFER   3
#define SPEC_ETH       0x20
#define SPEC_IPV4      0x30
#define SPEC_IPV6      0x31
#define SPEC_TCP       0x40
#define SPEC_UDP       0x41
#define SPEC_TAG       0x1000
#define MOST_TAG       0xffffff
#define MAX_SPECS      10
#define PROTO_TCP      6
#define PROTO_UDP      17

/* The longest spec of any type. */
#define SPEC_MAX sizeof(struct ib_uverbs_flow_spec_ipv6)

#define COPY(dst, src) memcpy(dst, src, sizeof(dst))

static int add_eth(struct hca_flow_attr *a, const struct ib_uverbs_flow_spec_eth *s)
{
	COPY(a->val.dmac, s->val.dst_mac);
	COPY(a->mask.dmac, s->mask.dst_mac);
	COPY(a->val.smac, s->val.src_mac);
	COPY(a->mask.smac, s->mask.src_mac);
	a->val.ether_type = ntohs(s->val.ether_type);
	a->mask.ether_type = ntohs(s->mask.ether_type);
	a->val.vlan_tci = ntohs(s->val.vlan_tag);
	a->mask.vlan_tci = ntohs(s->mask.vlan_tag);
	return 0;
}

static int add_ipv4(struct hca_flow_attr *a, const struct ib_uverbs_flow_spec_ipv4 *s)
{
	if (a->ip)
		return -EINVAL;
	a->ip = 4;
	memcpy(a->val.sip, &s->val.src_ip, 4);
	memcpy(a->mask.sip, &s->mask.src_ip, 4);
	memcpy(a->val.dip, &s->val.dst_ip, 4);
	memcpy(a->mask.dip, &s->mask.dst_ip, 4);
	a->val.proto = s->val.proto;
	a->mask.proto = s->mask.proto;
	a->val.tos = s->val.tos;
	a->mask.tos = s->mask.tos;
	a->val.ttl = s->val.ttl;
	a->mask.ttl = s->mask.ttl;
	a->val.ip_flags = s->val.flags;
	a->mask.ip_flags = s->mask.flags;
	return 0;
}

static int add_ipv6(struct hca_flow_attr *a, const struct ib_uverbs_flow_spec_ipv6 *s)
{
	if (a->ip || s->val.reserved || s->mask.reserved || ntohl(s->mask.flow_label) > 0xfffff ||
	    ntohl(s->val.flow_label) > 0xfffff)
		return -EINVAL;
	a->ip = 6;
	COPY(a->val.sip, s->val.src_ip);
	COPY(a->mask.sip, s->mask.src_ip);
	COPY(a->val.dip, s->val.dst_ip);
	COPY(a->mask.dip, s->mask.dst_ip);
	a->val.flow_label = ntohl(s->val.flow_label);
	a->mask.flow_label = ntohl(s->mask.flow_label);
	a->val.proto = s->val.next_hdr;
	a->mask.proto = s->mask.next_hdr;
	a->val.tos = s->val.traffic_class;
	a->mask.tos = s->mask.traffic_class;
	a->val.ttl = s->val.hop_limit;
	a->mask.ttl = s->mask.hop_limit;
	return 0;
}

static int add_l4(struct hca_flow_attr *a, const struct ib_uverbs_flow_spec_tcp_udp *s)
{
	if (a->l4)
		return -EINVAL;
	a->l4 = s->type == SPEC_TCP ? PROTO_TCP : PROTO_UDP;
	a->val.dport = ntohs(s->val.dst_port);
	a->mask.dport = ntohs(s->mask.dst_port);
	a->val.sport = ntohs(s->val.src_port);
	a->mask.sport = ntohs(s->mask.src_port);
	return 0;
}

/*
 * A filter may be shorter than ours, as that of libibverbs' plain IPv4 spec is (missing fields are ignored),
 * or longer if the rest of the mask is zero (spec_filter_size() in Linux).
 */
static int whole_spec(const uint8_t *spec, size_t size, uint8_t *whole, size_t whole_size)
{
	const size_t head = sizeof(struct ib_uverbs_flow_spec_hdr), filter = (size - head) / 2;
	const size_t ours = (whole_size - head) / 2, n = filter < ours ? filter : ours;

	if (filter % 4)
		return -EINVAL;
	for (size_t i = ours; i < filter; i++)
		if (spec[head + filter + i])
			return -EINVAL;
	memset(whole, 0, whole_size);
	memcpy(whole, spec, head + n);
	memcpy(whole + head + ours, spec + head + filter, n);
	return 0;
}

/* This adapter does not support tunnels, ESP, MPLS, GRE, inner headers and actions other than tags. */
static size_t spec_size(uint32_t type)
{
	switch (type) {
	case SPEC_ETH:
		return sizeof(struct ib_uverbs_flow_spec_eth);
	case SPEC_IPV4:
		return sizeof(struct ib_uverbs_flow_spec_ipv4);
	case SPEC_IPV6:
		return sizeof(struct ib_uverbs_flow_spec_ipv6);
	case SPEC_TCP:
	case SPEC_UDP:
		return sizeof(struct ib_uverbs_flow_spec_tcp_udp);
	default:
		return 0;
	}
}

static int add_tag(struct hca_flow_attr *a, const uint8_t *spec, size_t size)
{
	struct ib_uverbs_flow_spec_action_tag s;

	if (size != sizeof(s))
		return -EINVAL;
	memcpy(&s, spec, sizeof(s));
	if (s.reserved1 || s.tag_id > MOST_TAG)
		return -EINVAL;
	a->tagged = true;
	a->tag = s.tag_id;
	return 0;
}

static int add_spec(struct hca_flow_attr *a, const uint8_t *spec, size_t size)
{
	union {
		struct ib_uverbs_flow_spec_hdr hdr;
		struct ib_uverbs_flow_spec_eth eth;
		struct ib_uverbs_flow_spec_ipv4 ipv4;
		struct ib_uverbs_flow_spec_ipv6 ipv6;
		struct ib_uverbs_flow_spec_tcp_udp l4;
		uint8_t bytes[SPEC_MAX];
	} s;
	int ret;

	memcpy(&s.hdr, spec, sizeof(s.hdr));
	if (s.hdr.reserved)
		return -EINVAL;
	if (s.hdr.type == SPEC_TAG)
		return add_tag(a, spec, size);
	if (!spec_size(s.hdr.type))
		return -EOPNOTSUPP;
	ret = whole_spec(spec, size, s.bytes, spec_size(s.hdr.type));
	if (ret)
		return ret;
	switch (s.hdr.type) {
	case SPEC_ETH:
		return add_eth(a, &s.eth);
	case SPEC_IPV4:
		return add_ipv4(a, &s.ipv4);
	case SPEC_IPV6:
		return add_ipv6(a, &s.ipv6);
	default:
		return add_l4(a, &s.l4);
	}
}

/* The specifications follow the command one after another. */
static int read_specs(struct call *c, const struct ib_uverbs_create_flow *cmd, struct hca_flow_attr *a)
{
	uint64_t at = c->in + sizeof(*cmd);
	size_t left = cmd->flow_attr.size;
	struct ib_uverbs_flow_spec_hdr hdr;
	uint64_t spec[(SPEC_MAX + 7) / 8];
	int ret;

	if (sizeof(*cmd) + left > c->in_len)
		return -EINVAL;
	for (unsigned int i = 0; i < cmd->flow_attr.num_of_specs; i++) {
		if (left < sizeof(hdr))
			return -EINVAL;
		if (call_read(c, &hdr, at, sizeof(hdr)))
			return -EFAULT;
		if (hdr.size < sizeof(hdr) || hdr.size > left)
			return -EINVAL;
		if (hdr.size > sizeof(spec))
			return -EOPNOTSUPP;
		if (call_read(c, spec, at, hdr.size))
			return -EFAULT;
		ret = add_spec(a, (const uint8_t *)spec, hdr.size);
		if (ret)
			return ret;
		at += hdr.size;
		left -= hdr.size;
	}
	return left ? -EINVAL : 0;
}

static int check_create(const struct ib_uverbs_create_flow *cmd)
{
	const struct ib_uverbs_flow_attr *a = &cmd->flow_attr;

	if (cmd->comp_mask || a->flags >= FLAGS_RESERVED || a->num_of_specs > MAX_SPECS)
		return -EINVAL;
	if ((a->flags & FLAG_DONT_TRAP) && a->type != ATTR_NORMAL && a->type != ATTR_SNIFFER)
		return -EINVAL;
	if (a->size > a->num_of_specs * SPEC_MAX || a->reserved[0] || a->reserved[1])
		return -EINVAL;
	if (a->type > ATTR_SNIFFER || (a->flags & FLAG_EGRESS))
		return -EOPNOTSUPP;
	/* A default flow takes the frames that match no other flow, so it has no specs. */
	return a->type != ATTR_NORMAL && a->num_of_specs ? -EINVAL : 0;
}

static int make_flow(struct call *c, struct uobj *u, struct uobj *qp, const struct hca_flow_attr *attr)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct drv_flow *flow;
	int ret;

	if (!ops->create_flow)
		return -EOPNOTSUPP;
	flow = drv_alloc(ops->sz_flow, u);
	if (!flow)
		return -ENOMEM;
	flow->qp = qp->drv;
	ret = ops->create_flow(flow, attr);
	if (ret) {
		drv_free(flow);
		return ret;
	}
	u->drv = flow;
	uobj_use(u, qp);
	return 0;
}

int cmd_ex_create_flow(struct call *c)
{
	struct ib_uverbs_create_flow_resp resp = {0};
	struct ib_uverbs_create_flow cmd;
	struct hca_flow_attr attr = {0};
	const struct drv_qp *qp;
	struct uobj *u, *q;
	int ret;

	if (call_read(c, &cmd, c->in, sizeof(cmd)))
		return -EFAULT;
	ret = check_create(&cmd);
	if (!ret)
		ret = call_alloc_uobj(c, UVERBS_OBJECT_FLOW, &u);
	if (ret)
		return ret;
	ret = uobj_get(c->f, UVERBS_OBJECT_QP, cmd.qp_handle, &q);
	if (ret)
		return ret;
	qp = q->drv;
	if (!kdev_port_valid(c->f->dev, cmd.flow_attr.port) ||
	    (qp->type != HCASIM_QPT_UD && qp->type != HCASIM_QPT_RAW_PACKET))
		return -EINVAL;
	attr.port = cmd.flow_attr.port;
	attr.kind = cmd.flow_attr.type;
	attr.priority = cmd.flow_attr.priority;
	attr.dont_trap = cmd.flow_attr.flags & FLAG_DONT_TRAP;
	ret = read_specs(c, &cmd, &attr);
	if (!ret)
		ret = make_flow(c, u, q, &attr);
	if (ret)
		return ret;
	resp.flow_handle = u->handle;
	return resp_put(c, &resp, sizeof(resp));
}

int cmd_ex_destroy_flow(struct call *c)
{
	struct ib_uverbs_destroy_flow cmd;
	int ret;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.comp_mask)
		return -EINVAL;
	return uobj_destroy_handle(c->f, UVERBS_OBJECT_FLOW, cmd.flow_handle, NULL);
}

/* ---- Multicast ---- */

struct kmcast { /* a group that a QP is in; the LID is kept as Linux does, but has no meaning on Ethernet */
	struct table_node node;
	LIST_ENTRY(kmcast) link;
	struct uobj *qp;
	uint8_t gid[16];
	uint16_t lid;
};

static uint64_t mcast_key(const struct uobj *u, const uint8_t gid[16], uint16_t lid)
{
	uint64_t hash = hash_bytes(HASH_START, gid, 16);

	hash = hash_bytes(hash, &u->handle, sizeof(u->handle));
	return hash_bytes(hash, &lid, sizeof(lid));
}

static struct kmcast *mcast_find(const struct uobj *u, const uint8_t gid[16], uint16_t lid)
{
	struct table_node *n = table_find(&u->file->mcasts, mcast_key(u, gid, lid));

	for (; n; n = table_next(n)) {
		struct kmcast *m = table_entry(n, struct kmcast, node);

		if (m->qp == u && !memcmp(m->gid, gid, 16) && m->lid == lid)
			return m;
	}
	return NULL;
}

static int mcast_check(struct call *c, const struct uobj *u, const uint8_t gid[16])
{
	const struct drv_qp *qp = u->drv;

	if (!kdev_ops(c->f->dev)->attach_mcast)
		return -EOPNOTSUPP;
	return qp->type == HCASIM_QPT_UD && addr_is_multicast(gid) ? 0 : -EINVAL;
}

static int mcast_leave(struct kmcast *m)
{
	struct uobj *u = m->qp;
	int ret = kdev_ops(u->file->dev)->detach_mcast(u->drv, m->gid);

	table_remove(&u->file->mcasts, &m->node);
	LIST_REMOVE(m, link);
	free(m);
	return ret;
}

/* Memberships are not objects: a QP destroyed at the exit of its process has to leave its groups here. */
static void leave_groups(struct uobj *u)
{
	struct kmcast *m;

	while ((m = LIST_FIRST(&u->qp.mcasts)))
		mcast_leave(m);
}

int cmd_attach_mcast(struct call *c)
{
	struct ib_uverbs_attach_mcast cmd;
	struct kmcast *m;
	struct uobj *u;
	int ret;

	ret = req_find(c, &cmd, qp_handle, UVERBS_OBJECT_QP, &u);
	if (ret)
		return ret;
	if (mcast_find(u, cmd.gid, cmd.mlid))
		return 0;
	ret = mcast_check(c, u, cmd.gid);
	if (ret)
		return ret;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->qp = u;
	memcpy(m->gid, cmd.gid, 16);
	m->lid = cmd.mlid;
	ret = kdev_ops(c->f->dev)->attach_mcast(u->drv, cmd.gid);
	if (ret) {
		free(m);
		return ret;
	}
	table_add(&c->f->mcasts, &m->node, mcast_key(u, m->gid, m->lid));
	LIST_INSERT_HEAD(&u->qp.mcasts, m, link);
	u->detach = leave_groups;
	return 0;
}

int cmd_detach_mcast(struct call *c)
{
	struct ib_uverbs_detach_mcast cmd;
	struct kmcast *m;
	struct uobj *u;
	int ret;

	ret = req_find(c, &cmd, qp_handle, UVERBS_OBJECT_QP, &u);
	if (ret)
		return ret;
	m = mcast_find(u, cmd.gid, cmd.mlid);
	return m ? mcast_leave(m) : -EINVAL;
}
