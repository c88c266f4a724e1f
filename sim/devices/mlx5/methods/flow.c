// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Matchers and flows of mlx5dv, which libmlx5 makes in the kernel: those of mlx5dv_create_flow(), and of the root table
 * of mlx5dv_dr. A flow here is one of the adapter's own, in the root of its side; what those cannot match is refused.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/devx/devx.h"

#define GET(field, v)  HCASIM_FIELD_GET(HCASIM_MLX5_MATCH_OUTER_##field##_MASK, v)
#define MISC(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_MATCH_MISC_##field##_MASK, be32toh(v))
#define CRITERIA_OUTER 1u
#define CRITERIA_MISC  2u
#define ETH_IPV4       0x0800u
#define ETH_IPV6       0x86ddu
#define PROTO_TCP      6
#define PROTO_UDP      17
#define NO_IP          0
#define FLAG_EGRESS    (1u << 2) /* enum ib_flow_flags */
#define TAG_END        (1u << 24)
#define ANY_IP_VERSION 0xfu /* all bits of the mask */

typedef struct hcasim_mlx5_match_outer match_t;

/* The first bytes are those that can be matched. */
static int split(const uint8_t *all, size_t len, struct mlx5_match *out)
{
	memcpy(out, all, sizeof(*out));
	for (size_t i = sizeof(*out); i < len; i++) {
		if (all[i])
			return -EOPNOTSUPP;
	}
	return 0;
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

static bool masks_geneve(const struct hcasim_mlx5_match_misc *mask)
{
	return mask->geneve || mask->geneve_type;
}

/* Of the other headers only those of GENEVE, and as an adapter does it: of received frames. */
static int check_misc(const struct hcasim_mlx5_match_misc *mask, uint8_t side)
{
	const struct hcasim_mlx5_match_misc can = {
		.geneve = mask->geneve & htobe32(HCASIM_MLX5_MATCH_MISC_GENEVE_VNI_MASK |
						 HCASIM_MLX5_MATCH_MISC_GENEVE_OAM_MASK),
		.geneve_type = mask->geneve_type & htobe32(HCASIM_MLX5_MATCH_MISC_GENEVE_OPT_LEN_MASK |
							   HCASIM_MLX5_MATCH_MISC_GENEVE_PROTOCOL_TYPE_MASK)};

	if (memcmp(mask, &can, sizeof(can)))
		return -EOPNOTSUPP;
	return masks_geneve(mask) && side != HCA_FLOW_RX ? -EOPNOTSUPP : 0;
}

int mlx5_match_mask(const uint8_t *mask, size_t len, uint8_t criteria, struct mlx5_matcher *m)
{
	int ret = split(mask, len, &m->mask);

	if (ret)
		return ret;
	if (criteria & ~(CRITERIA_OUTER | CRITERIA_MISC))
		return -EOPNOTSUPP;
	if (!(criteria & CRITERIA_OUTER))
		m->mask.outer = (match_t){0};
	if (!(criteria & CRITERIA_MISC))
		m->mask.misc = (struct hcasim_mlx5_match_misc){0};
	ret = check_mask(&m->mask.outer);
	return ret ? ret : check_misc(&m->mask.misc, m->side);
}

/* Older programs give flags in place of a type, others nothing. */
static int get_type(struct drv_call *c, uint64_t *type)
{
	uint64_t flags = 0;
	int ret;

	*type = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX;
	if (c->ops->has(c, MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE)) {
		if (c->ops->has(c, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS))
			return -EINVAL;
		return c->ops->get(c, MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE, type, sizeof(*type));
	}
	if (!c->ops->has(c, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS))
		return 0;
	ret = c->ops->get(c, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS, &flags, sizeof(flags));
	if (flags)
		*type = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX;
	return ret ? ret : flags & ~(uint64_t)FLAG_EGRESS ? -EINVAL : 0;
}

static int get_side(struct drv_call *c, uint8_t *side)
{
	static const uint8_t sides[] = {
		[MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX] = HCA_FLOW_RX,
		[MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX] = HCA_FLOW_TX,
		[MLX5_IB_UAPI_FLOW_TABLE_TYPE_FDB] = HCA_FLOW_SIDES, /* there is no embedded switch */
		[MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_RX] = HCA_FLOW_ROCE_RX,
		[MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_TX] = HCA_FLOW_ROCE_TX,
	};
	uint64_t type;
	const int ret = get_type(c, &type);

	if (ret)
		return ret;
	if (type >= sizeof(sides) || sides[type] == HCA_FLOW_SIDES)
		return -EOPNOTSUPP;
	*side = sides[type];
	return 0;
}

int mlx5_create_matcher(struct drv_call *c)
{
	uint8_t mask[sizeof(struct mlx5_ib_match_params)];
	struct mlx5_matcher m = {0}, *obj;
	uint8_t criteria;
	int ret;

	ret = get_side(c, &m.side);
	if (!ret)
		ret = c->ops->get(c, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK, mask, sizeof(mask));
	if (!ret)
		ret = c->ops->get(c, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA, &criteria, sizeof(criteria));
	if (!ret)
		ret = c->ops->get(c, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_TYPE, &m.priority, sizeof(m.priority));
	if (!ret)
		ret = mlx5_match_mask(mask, sizeof(mask), criteria, &m);
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

static void fill_geneve(struct hca_flow_fields *f, const struct hcasim_mlx5_match_misc *v,
			const struct hcasim_mlx5_match_misc *mask)
{
	f->vni = MISC(GENEVE_VNI, v->geneve & mask->geneve);
	f->oam = (uint8_t)MISC(GENEVE_OAM, v->geneve & mask->geneve);
	f->tunnel_type = (uint16_t)MISC(GENEVE_PROTOCOL_TYPE, v->geneve_type & mask->geneve_type);
	f->options = (uint8_t)MISC(GENEVE_OPT_LEN, v->geneve_type & mask->geneve_type);
}

int mlx5_flow_attr(const struct mlx5_match *value, const struct mlx5_matcher *m, struct hca_flow_attr *a)
{
	const match_t *v = &value->outer, *mask = &m->mask.outer;
	const uint8_t ip = ip_of(v, mask);

	if (ip != NO_IP && ip != 4 && ip != 6)
		return -EINVAL;
	if ((ip == NO_IP && masks_ip(mask)) || (ip == 4 && masks_ipv6(mask)))
		return -EOPNOTSUPP;
	*a = (struct hca_flow_attr){
		.table = m->side,
		.port = 1,
		.kind = HCA_FLOW_NORMAL,
		.ip = ip,
		.l4 = l4_of(mask),
		.priority = m->priority,
		.geneve = masks_geneve(&m->mask.misc),
	};
	fill(&a->val, v, mask, ip);
	fill(&a->mask, mask, mask, ip);
	fill_geneve(&a->val, &value->misc, &m->mask.misc);
	fill_geneve(&a->mask, &m->mask.misc, &m->mask.misc);
	return 0;
}

static int lead_to_qp(const struct drv_qp *qp, struct hca_flow_attr *a)
{
	a->action = HCA_FLOW_TO_QP;
	a->qpn = qp->qpn;
	return qp->type == HCASIM_QPT_RAW_PACKET ? 0 : -EINVAL;
}

/* RoCE packets go to tables only. */
static int lead_to_object(const struct mlx5_devx_obj *obj, struct hca_flow_attr *a)
{
	if (obj->kind == MLX5_DEVX_TIR && a->table == HCA_FLOW_RX) {
		a->action = HCA_FLOW_TO_QP;
		a->qpn = obj->wq->qpn;
		return 0;
	}
	if (obj->kind != MLX5_DEVX_FLOW_TABLE)
		return -EINVAL;
	a->action = HCA_FLOW_TO_TABLE;
	a->next = obj->table.id;
	return 0;
}

/* Where frames go: to one place, or none; those that are sent go out if nothing else is said. */
static int get_action(struct drv_call *c, struct hca_flow_attr *a)
{
	const struct mlx5_devx_obj *devx = c->ops->object(c, MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX);
	const struct drv_qp *qp = c->ops->object(c, MLX5_IB_ATTR_CREATE_FLOW_DEST_QP);
	uint64_t flags = 0;
	int ret = 0;

	if (c->ops->has(c, MLX5_IB_ATTR_CREATE_FLOW_FLAGS))
		ret = c->ops->get(c, MLX5_IB_ATTR_CREATE_FLOW_FLAGS, &flags, sizeof(flags));
	if (ret)
		return ret;
	if (!!devx + !!qp + !!flags > 1)
		return -EINVAL;
	if (devx)
		return lead_to_object(devx, a);
	if (qp)
		return lead_to_qp(qp, a);
	if (a->table == HCA_FLOW_ROCE_RX)
		return -EINVAL; /* as in Linux: packets must have a destination */
	a->action = flags == MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP ? HCA_FLOW_DROP : HCA_FLOW_PASS;
	if (flags)
		return flags == MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP ||
				       flags == MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DEFAULT_MISS
			       ? 0
			       : -EINVAL;
	return a->table == HCA_FLOW_RX ? -EINVAL : 0;
}

static int get_tag(struct drv_call *c, struct hca_flow_attr *a)
{
	int ret;

	a->tagged = c->ops->has(c, MLX5_IB_ATTR_CREATE_FLOW_TAG);
	if (!a->tagged)
		return 0;
	ret = c->ops->get(c, MLX5_IB_ATTR_CREATE_FLOW_TAG, &a->tag, sizeof(a->tag));
	return ret ? ret : a->tag < TAG_END ? 0 : -EINVAL;
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

static int get_flow(struct drv_call *c, struct hca_flow_attr *a)
{
	uint8_t all[sizeof(struct mlx5_ib_match_params)];
	struct mlx5_match value;
	int ret;

	ret = c->ops->get(c, MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE, all, sizeof(all));
	if (!ret)
		ret = split(all, sizeof(all), &value);
	if (!ret)
		ret = mlx5_flow_attr(&value, c->ops->object(c, MLX5_IB_ATTR_CREATE_FLOW_MATCHER), a);
	if (!ret)
		ret = get_action(c, a);
	if (!ret)
		ret = get_tag(c, a);
	if (!ret)
		ret = mlx5_use_flow_actions(c, a);
	return ret ? ret : get_counter(c, &a->counter);
}

static void use(struct drv_call *c, uint16_t id)
{
	if (c->ops->object(c, id))
		c->ops->use(c, MLX5_IB_ATTR_CREATE_FLOW_HANDLE, id);
}

int mlx5_create_flow(struct drv_call *c)
{
	struct common_flow flow = {.id = 0}, *obj;
	struct hca_flow_attr attr;
	const void *action;
	int ret;

	ret = get_flow(c, &attr);
	if (!ret)
		ret = common_add_flow(c->dev, &flow, &attr);
	if (ret)
		return ret;
	flow.base.qp = c->ops->object(c, MLX5_IB_ATTR_CREATE_FLOW_DEST_QP);
	obj = c->ops->create(c, MLX5_IB_ATTR_CREATE_FLOW_HANDLE, sizeof(*obj));
	if (!obj) {
		common_destroy_flow(&flow.base);
		return -ENOMEM;
	}
	*obj = flow;
	use(c, MLX5_IB_ATTR_CREATE_FLOW_MATCHER);
	use(c, MLX5_IB_ATTR_CREATE_FLOW_DEST_QP);
	use(c, MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX);
	use(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX);
	for (unsigned int i = 0;
	     (action = c->ops->object_at(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_FLOW_ACTIONS, i)); i++)
		c->ops->hold(c, MLX5_IB_ATTR_CREATE_FLOW_HANDLE, action);
	return 0;
}
