// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Matchers and flows of mlx5dv, which libmlx5 makes in the kernel: those of mlx5dv_create_flow(), and of the root table
 * of mlx5dv_dr. A flow here is one of the adapter's own, which raw QPs receive by; what those cannot match is refused.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/devx/devx.h"

#define GET(field, v)  HCASIM_FIELD_GET(HCASIM_MLX5_MATCH_OUTER_##field##_MASK, v)
#define CRITERIA_OUTER 1u
#define ETH_IPV4       0x0800u
#define ETH_IPV6       0x86ddu
#define PROTO_TCP      6
#define PROTO_UDP      17
#define NO_IP          0
#define ANY_IP_VERSION 0xfu /* all bits of the mask */

typedef struct hcasim_mlx5_match_outer match_t;

/* The first bytes are the outer headers of a frame; nothing behind them can be matched. */
static int get_match(struct drv_call *c, uint16_t id, match_t *out)
{
	static const uint8_t zero[sizeof(struct mlx5_ib_match_params)];
	uint8_t all[sizeof(struct mlx5_ib_match_params)];
	const int ret = c->ops->get(c, id, all, sizeof(all));

	if (ret)
		return ret;
	memcpy(out, all, sizeof(*out));
	return memcmp(all + sizeof(*out), zero, sizeof(all) - sizeof(*out)) ? -EOPNOTSUPP : 0;
}

static int check_mask(const match_t *mask)
{
	const uint16_t kind = be16toh(mask->kind);
	const uint16_t version = GET(IP_VERSION, kind);

	if (mask->reserved || mask->ipv4_checks || GET(TCP_FLAGS, kind) || GET(FRAG, kind) ||
	    GET(SVLAN_TAG, kind) || GET(CVLAN_TAG, kind))
		return -EOPNOTSUPP;
	if (version && version != ANY_IP_VERSION)
		return -EOPNOTSUPP;
	return (mask->tcp_sport || mask->tcp_dport) && (mask->udp_sport || mask->udp_dport) ? -EOPNOTSUPP : 0;
}

/* Of the received frames: the adapter steers none that are sent. */
static int check_table(struct drv_call *c)
{
	uint64_t type = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, flags = 0;
	int ret = 0;

	if (c->ops->has(c, MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE))
		ret = c->ops->get(c, MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE, &type, sizeof(type));
	if (!ret && c->ops->has(c, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS))
		ret = c->ops->get(c, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS, &flags, sizeof(flags));
	if (ret)
		return ret;
	return flags || type != MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX ? -EOPNOTSUPP : 0;
}

int mlx5_create_matcher(struct drv_call *c)
{
	struct mlx5_matcher m = {0}, *obj;
	uint8_t criteria;
	int ret;

	ret = check_table(c);
	if (!ret)
		ret = get_match(c, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK, &m.mask);
	if (!ret)
		ret = c->ops->get(c, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA, &criteria, sizeof(criteria));
	if (!ret)
		ret = c->ops->get(c, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_TYPE, &m.priority, sizeof(m.priority));
	if (ret)
		return ret;
	if (criteria & ~CRITERIA_OUTER)
		return -EOPNOTSUPP;
	if (!criteria)
		m.mask = (match_t){0};
	ret = check_mask(&m.mask);
	if (ret)
		return ret;
	obj = c->ops->create(c, MLX5_IB_ATTR_FLOW_MATCHER_CREATE_HANDLE, sizeof(*obj));
	if (!obj)
		return -ENOMEM;
	*obj = m;
	return 0;
}

int mlx5_destroy_matcher(void *matcher)
{
	(void)matcher;
	return 0;
}

/* Numbers are compared under the mask, so those of `val` are cut to it. */
static void fill_ether(struct hca_flow_fields *f, const match_t *v, const match_t *mask)
{
	for (unsigned int i = 0; i < sizeof(f->smac); i++) {
		f->smac[i] = v->smac[i] & mask->smac[i];
		f->dmac[i] = v->dmac[i] & mask->dmac[i];
	}
	f->ether_type = be16toh(v->ethertype & mask->ethertype);
	f->vlan_tci = be16toh(v->first_tci & mask->first_tci);
}

static void fill_ip(struct hca_flow_fields *f, const match_t *v, const match_t *mask, uint8_t ip)
{
	const unsigned int first = ip == 4 ? 12 : 0;

	for (unsigned int i = first; i < sizeof(v->src_ip); i++) {
		f->sip[i - first] = v->src_ip[i] & mask->src_ip[i];
		f->dip[i - first] = v->dst_ip[i] & mask->dst_ip[i];
	}
	f->proto = v->ip_protocol & mask->ip_protocol;
	f->tos = v->ip_tos & mask->ip_tos;
	f->ttl = v->ip_ttl & mask->ip_ttl;
}

static void fill_ports(struct hca_flow_fields *f, const match_t *v, const match_t *mask)
{
	f->sport = be16toh((v->tcp_sport & mask->tcp_sport) | (v->udp_sport & mask->udp_sport));
	f->dport = be16toh((v->tcp_dport & mask->tcp_dport) | (v->udp_dport & mask->udp_dport));
}

static void fill(struct hca_flow_fields *f, const match_t *v, const match_t *mask, uint8_t ip)
{
	fill_ether(f, v, mask);
	if (ip)
		fill_ip(f, v, mask, ip);
	fill_ports(f, v, mask);
}

/* The version of IP that the flow asks for, by its own field or by the EtherType; NO_IP: it does not. */
static uint8_t ip_of(const match_t *v, const match_t *mask)
{
	const uint16_t type = be16toh(v->ethertype);

	if (GET(IP_VERSION, be16toh(mask->kind)))
		return (uint8_t)GET(IP_VERSION, be16toh(v->kind));
	if (be16toh(mask->ethertype) != UINT16_MAX)
		return NO_IP;
	return type == ETH_IPV4 ? 4 : type == ETH_IPV6 ? 6 : NO_IP;
}

static uint8_t l4_of(const match_t *mask)
{
	if (mask->tcp_sport || mask->tcp_dport)
		return PROTO_TCP;
	return mask->udp_sport || mask->udp_dport ? PROTO_UDP : 0;
}

static bool masks_ip(const match_t *mask)
{
	static const uint8_t zero[sizeof(mask->src_ip)];

	return memcmp(mask->src_ip, zero, sizeof(zero)) || memcmp(mask->dst_ip, zero, sizeof(zero)) ||
	       mask->ip_protocol || mask->ip_tos || mask->ip_ttl;
}

/* An IPv4 flow whose mask reaches into what only an IPv6 address has matches nothing: no frame has it. */
static bool masks_ipv6(const match_t *mask)
{
	static const uint8_t zero[12];

	return memcmp(mask->src_ip, zero, sizeof(zero)) || memcmp(mask->dst_ip, zero, sizeof(zero));
}

int mlx5_flow_attr(const match_t *v, const struct mlx5_matcher *m, struct hca_flow_attr *a)
{
	const uint8_t ip = ip_of(v, &m->mask);

	if (ip != NO_IP && ip != 4 && ip != 6)
		return -EINVAL;
	if ((ip == NO_IP && masks_ip(&m->mask)) || (ip == 4 && masks_ipv6(&m->mask)))
		return -EOPNOTSUPP;
	*a = (struct hca_flow_attr){
		.port = 1, .kind = HCA_FLOW_NORMAL, .ip = ip, .l4 = l4_of(&m->mask), .priority = m->priority};
	fill(&a->val, v, &m->mask, ip);
	fill(&a->mask, &m->mask, &m->mask, ip);
	return 0;
}

/* Frames go to a raw QP, and nothing else is done with them. */
static int check_actions(struct drv_call *c)
{
	if (c->ops->has(c, MLX5_IB_ATTR_CREATE_FLOW_TAG) || c->ops->has(c, MLX5_IB_ATTR_CREATE_FLOW_FLAGS))
		return -EOPNOTSUPP; /* drop, default miss */
	return c->ops->has(c, MLX5_IB_ATTR_CREATE_FLOW_DEST_QP) ? 0 : -EINVAL;
}

/* The counter that the program names, one of a block; 0 and NULL: none. */
static int get_counter(struct drv_call *c, struct hca_flow_counter **counter)
{
	const struct mlx5_devx_obj *obj = c->ops->object(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX);
	uint32_t offset = 0;
	int ret = 0;

	*counter = NULL;
	if (!obj)
		return 0;
	if (c->ops->has(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX_OFFSET))
		ret = c->ops->get(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX_OFFSET, &offset,
				  sizeof(offset));
	if (ret)
		return ret;
	*counter = mlx5_devx_flow_counter(obj, offset);
	return *counter ? 0 : -EINVAL;
}

static int make_flow(struct drv_call *c, struct common_flow *flow)
{
	struct hca_flow_attr attr;
	match_t value;
	int ret;

	ret = check_actions(c);
	if (!ret)
		ret = get_match(c, MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE, &value);
	if (!ret)
		ret = mlx5_flow_attr(&value, c->ops->object(c, MLX5_IB_ATTR_CREATE_FLOW_MATCHER), &attr);
	if (!ret)
		ret = get_counter(c, &attr.counter);
	if (ret)
		return ret;
	flow->base.qp = c->ops->object(c, MLX5_IB_ATTR_CREATE_FLOW_DEST_QP);
	return flow->base.qp->type == HCASIM_QPT_RAW_PACKET ? common_create_flow(&flow->base, &attr)
							    : -EINVAL;
}

int mlx5_create_flow(struct drv_call *c)
{
	struct common_flow flow, *obj;
	const int ret = make_flow(c, &flow);

	if (ret)
		return ret;
	obj = c->ops->create(c, MLX5_IB_ATTR_CREATE_FLOW_HANDLE, sizeof(*obj));
	if (!obj) {
		common_destroy_flow(&flow.base);
		return -ENOMEM;
	}
	*obj = flow;
	c->ops->use(c, MLX5_IB_ATTR_CREATE_FLOW_HANDLE, MLX5_IB_ATTR_CREATE_FLOW_MATCHER);
	c->ops->use(c, MLX5_IB_ATTR_CREATE_FLOW_HANDLE, MLX5_IB_ATTR_CREATE_FLOW_DEST_QP);
	if (c->ops->object(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX))
		c->ops->use(c, MLX5_IB_ATTR_CREATE_FLOW_HANDLE, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX);
	return 0;
}
