// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow actions of mlx5dv: what flows do with a frame besides leading it somewhere. What Linux refuses is refused here with
 * its errno, and what the adapter's firmware refuses (BAD_PARAM) is -EINVAL, as Linux passes it on.
 */
#include <endian.h>
#include <errno.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/driver/driver.h"

#define SET(f, v)  HCASIM_FIELD_GET(HCASIM_MLX5_ACTION_IN_##f##_MASK, be32toh(v))
#define COPY(f, v) HCASIM_FIELD_GET(HCASIM_MLX5_COPY_ACTION_IN_##f##_MASK, be32toh(v))

typedef struct hcasim_mlx5_action_in action_in;
typedef struct hcasim_mlx5_copy_action_in copy_in;

/* Where a field is in a header, and its bits. */
struct place {
	uint8_t header, bits;
	uint16_t at;
};

#define FIELD(name, header, at, bits) [HCASIM_MLX5_HEADER_FIELD_OUT_##name] = {HCA_HEADER_##header, bits, at}
static const struct place places[] = {
	FIELD(DMAC_47_16, ETHER, 0, 32),    FIELD(DMAC_15_0, ETHER, 32, 16),
	FIELD(SMAC_47_16, ETHER, 48, 32),   FIELD(SMAC_15_0, ETHER, 80, 16),
	FIELD(ETHERTYPE, TYPE, 0, 16),      FIELD(FIRST_VID, VLAN, 0, 16),
	FIELD(IP_DSCP, CLASS, 0, 6),        FIELD(IP_ECN, CLASS, 6, 2),
	FIELD(IP_TTL, IPV4, 64, 8),         FIELD(SIPV4, IPV4, 96, 32),
	FIELD(DIPV4, IPV4, 128, 32),        FIELD(IPV6_HOPLIMIT, IPV6, 56, 8),
	FIELD(SIPV6_127_96, IPV6, 64, 32),  FIELD(SIPV6_95_64, IPV6, 96, 32),
	FIELD(SIPV6_63_32, IPV6, 128, 32),  FIELD(SIPV6_31_0, IPV6, 160, 32),
	FIELD(DIPV6_127_96, IPV6, 192, 32), FIELD(DIPV6_95_64, IPV6, 224, 32),
	FIELD(DIPV6_63_32, IPV6, 256, 32),  FIELD(DIPV6_31_0, IPV6, 288, 32),
	FIELD(TCP_SPORT, TCP, 0, 16),       FIELD(TCP_DPORT, TCP, 16, 16),
	FIELD(TCP_SEQ_NUM, TCP, 32, 32),    FIELD(TCP_ACK_NUM, TCP, 64, 32),
	FIELD(TCP_FLAGS, TCP, 103, 9),      FIELD(UDP_SPORT, UDP, 0, 16),
	FIELD(UDP_DPORT, UDP, 16, 16),
};

/* ---- Changes of headers ---- */

/* NULL: the adapter cannot change it. */
static const struct place *find_place(uint32_t field)
{
	return field < sizeof(places) / sizeof(places[0]) && places[field].bits ? &places[field] : NULL;
}

/* `bits` of the field from bit `offset`, where 0 is the lowest, on; false: it does not have them. */
static bool find(uint32_t field, uint32_t offset, uint32_t bits, uint8_t *header, uint16_t *at)
{
	const struct place *p = find_place(field);

	if (!p || offset + bits > p->bits)
		return false;
	*header = p->header;
	*at = (uint16_t)(p->at + p->bits - offset - bits);
	return true;
}

static uint32_t bits_of(uint32_t length)
{
	return length ? length : 32;
}

static bool set(const action_in *in, struct hca_edit *e)
{
	e->kind = HCA_EDIT_SET;
	e->bits = (uint8_t)bits_of(SET(LENGTH, in->field));
	e->value = be32toh(in->data);
	return find(SET(FIELD, in->field), SET(OFFSET, in->field), e->bits, &e->header, &e->to);
}

/* To all of the field; what is above its highest bit is lost. */
static bool add(const action_in *in, struct hca_edit *e)
{
	const struct place *p = find_place(SET(FIELD, in->field));

	if (!p)
		return false;
	*e = (struct hca_edit){.kind = HCA_EDIT_ADD,
			       .header = p->header,
			       .to = p->at,
			       .bits = p->bits,
			       .value = be32toh(in->data)};
	return true;
}

static bool copy(const copy_in *in, struct hca_edit *e)
{
	e->kind = HCA_EDIT_COPY;
	e->bits = (uint8_t)bits_of(COPY(LENGTH, in->src));
	return find(COPY(SRC_FIELD, in->src), COPY(SRC_OFFSET, in->src), e->bits, &e->from_header,
		    &e->from) &&
	       find(COPY(DST_FIELD, in->dst), COPY(DST_OFFSET, in->dst), e->bits, &e->header, &e->to);
}

static bool convert(const action_in *in, struct hca_edit *e)
{
	*e = (struct hca_edit){0};
	switch (SET(ACTION_TYPE, in->field)) {
	case HCASIM_MLX5_HEADER_ACTION_SET:
		return set(in, e);
	case HCASIM_MLX5_HEADER_ACTION_ADD:
		return add(in, e);
	case HCASIM_MLX5_HEADER_ACTION_COPY:
		return copy((const copy_in *)in, e);
	default:
		return false;
	}
}

/* The tables of the type; of some that there are no frame can be changed. */
static int get_side(struct drv_call *c, uint16_t id, uint8_t *side)
{
	uint64_t type;
	const int ret = c->ops->get(c, id, &type, sizeof(type));

	if (ret)
		return ret;
	if (type > MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_TX)
		return -EINVAL;
	if (type > MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX)
		return -EOPNOTSUPP;
	*side = type == MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX ? HCA_FLOW_RX : HCA_FLOW_TX;
	return 0;
}

static int get_edits(struct drv_call *c, struct mlx5_flow_action *a)
{
	const size_t size = c->ops->size(c, MLX5_IB_ATTR_CREATE_MODIFY_HEADER_ACTIONS_PRM);
	action_in in[HCASIM_MLX5_MAX_MODIFY_ACTIONS];
	int ret;

	if (size % sizeof(in[0]))
		return -EINVAL;
	if (size > sizeof(in))
		return -EOPNOTSUPP;
	ret = c->ops->get(c, MLX5_IB_ATTR_CREATE_MODIFY_HEADER_ACTIONS_PRM, in, size);
	if (ret)
		return ret;
	a->num_edits = (uint32_t)(size / sizeof(in[0]));
	for (uint32_t i = 0; i < a->num_edits; i++) {
		if (!convert(&in[i], &a->edit[i]))
			return -EINVAL;
	}
	return 0;
}

/* Makes the object of the call; *count: of its kind, of which there can be 1 << log. NULL: they are not counted. */
static int make(struct drv_call *c, uint16_t id, struct mlx5_flow_action *a, uint32_t *count, uint32_t log)
{
	struct mlx5_flow_action *obj;

	if (count && *count >> log)
		return -EAGAIN; /* NO_RES of the firmware */
	obj = c->ops->create(c, id, sizeof(*obj));
	if (!obj)
		return -ENOMEM;
	a->count = count;
	if (count)
		++*count;
	*obj = *a;
	return 0;
}

int mlx5_create_modify_header(struct drv_call *c)
{
	struct mlx5_flow_action a = {.count = NULL};
	int ret = get_side(c, MLX5_IB_ATTR_CREATE_MODIFY_HEADER_FT_TYPE, &a.side);

	if (!ret)
		ret = get_edits(c, &a);
	return ret ? ret
		   : make(c, MLX5_IB_ATTR_CREATE_MODIFY_HEADER_HANDLE, &a,
			  &mlx5_dev(c->dev)->num_modify_headers, HCASIM_MLX5_LOG_MODIFY_HEADERS);
}

/* ---- Tunnels ---- */

#define REFORMAT(name) MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_##name
#define ETHER          14u
#define ETHER_VLAN     18u

/* Of tables of one side each. */
static int get_reformat(struct drv_call *c, struct mlx5_flow_action *a, uint64_t *type)
{
	uint64_t tables;
	int ret = c->ops->get(c, MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_FT_TYPE, &tables, sizeof(tables));

	if (!ret)
		ret = c->ops->get(c, MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_TYPE, type, sizeof(*type));
	if (ret)
		return ret;
	switch (*type) {
	case REFORMAT(L2_TUNNEL_TO_L2):
	case REFORMAT(L3_TUNNEL_TO_L2):
		a->side = HCA_FLOW_RX;
		a->strip = HCA_STRIP_TUNNEL;
		return tables == MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX ? 0 : -EOPNOTSUPP;
	case REFORMAT(L2_TO_L2_TUNNEL):
	case REFORMAT(L2_TO_L3_TUNNEL):
		a->side = HCA_FLOW_TX;
		a->strip = *type == REFORMAT(L2_TO_L3_TUNNEL) ? HCA_STRIP_ETHER : HCA_STRIP_NONE;
		return tables == MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX ? 0 : -EOPNOTSUPP;
	default:
		return -EOPNOTSUPP;
	}
}

static int get_head(struct drv_call *c, struct mlx5_flow_action *a)
{
	const size_t size = c->ops->size(c, MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_DATA_BUF);

	if (!c->ops->has(c, MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_DATA_BUF))
		return -ENOENT;
	if (size > sizeof(a->head) || size < ETHER)
		return -EINVAL;
	if (a->strip == HCA_STRIP_TUNNEL && size != ETHER && size != ETHER_VLAN)
		return -EINVAL;
	a->head_len = (uint32_t)size;
	return c->ops->get(c, MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_DATA_BUF, a->head, size);
}

int mlx5_create_packet_reformat(struct drv_call *c)
{
	struct mlx5_flow_action a = {.count = NULL};
	const uint16_t id = MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_HANDLE;
	uint64_t type;
	int ret = get_reformat(c, &a, &type);

	if (ret)
		return ret;
	if (type == REFORMAT(L2_TUNNEL_TO_L2)) /* it has no header, and no context of the firmware */
		return make(c, id, &a, NULL, 0);
	ret = get_head(c, &a);
	return ret ? ret
		   : make(c, id, &a, &mlx5_dev(c->dev)->num_reformats, HCASIM_MLX5_LOG_PACKET_REFORMATS);
}

/* ---- Their use ---- */

int mlx5_destroy_flow_action(void *action)
{
	const struct mlx5_flow_action *a = action;

	if (a->count)
		--*a->count;
	return 0;
}

static bool reformats(const struct mlx5_flow_action *f)
{
	return f->strip || f->head_len;
}

int mlx5_use_flow_actions(struct drv_call *c, struct hca_flow_attr *a)
{
	const struct mlx5_flow_action *f;

	for (unsigned int i = 0; (f = c->ops->object_at(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_FLOW_ACTIONS, i));
	     i++) {
		if (f->side != a->table || (reformats(f) ? a->strip || a->head_len : a->num_edits))
			return -EINVAL;
		if (reformats(f)) {
			a->strip = f->strip;
			a->head_len = f->head_len;
			a->head = f->head;
		} else {
			a->num_edits = f->num_edits;
			a->edit = f->edit;
		}
	}
	return 0;
}
