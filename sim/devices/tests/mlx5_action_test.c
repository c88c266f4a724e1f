// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flow actions of mlx5dv that change headers: what each field becomes, and what is refused. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "mlx5_devx_world.h"
#include "suite.h"

#define SET(f, v)  htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_ACTION_IN_##f##_MASK, v))
#define COPY(f, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_COPY_ACTION_IN_##f##_MASK, v))
#define FIELD(f)   HCASIM_MLX5_HEADER_FIELD_OUT_##f
#define KIND(k)    HCASIM_MLX5_HEADER_ACTION_##k

typedef struct hcasim_mlx5_action_in action_in;
typedef struct hcasim_mlx5_copy_action_in copy_in;

struct action_call {
	struct drv_call base;
	const void *list;
	size_t size;
	uint64_t type, reformat;
	bool no_data;
	struct mlx5_flow_action *made;
};

static size_t call_size(struct drv_call *base, uint16_t id)
{
	return ((struct action_call *)base)->size;
}

static bool call_has(struct drv_call *base, uint16_t id)
{
	return !((struct action_call *)base)->no_data;
}

static int call_get(struct drv_call *base, uint16_t id, void *dst, size_t size)
{
	const struct action_call *c = (struct action_call *)base;

	memcpy(dst, id == MLX5_IB_ATTR_CREATE_MODIFY_HEADER_FT_TYPE ? &c->type : c->list, size);
	return 0;
}

static int call_get_reformat(struct drv_call *base, uint16_t id, void *dst, size_t size)
{
	const struct action_call *c = (struct action_call *)base;

	if (id == MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_FT_TYPE)
		memcpy(dst, &c->type, size);
	else
		memcpy(dst, id == MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_TYPE ? &c->reformat : c->list, size);
	return 0;
}

static void *call_create(struct drv_call *base, uint16_t id, size_t size)
{
	return ((struct action_call *)base)->made = calloc(1, size);
}

static int create(struct action_call *c)
{
	static const struct drv_call_ops ops = {.size = call_size, .get = call_get, .create = call_create};

	c->base = (struct drv_call){.ops = &ops, .dev = &w.dev, .ctx = &w.ctx.base};
	c->made = NULL;
	return mlx5_create_modify_header(&c->base);
}

static int create_reformat(struct action_call *c)
{
	static const struct drv_call_ops ops = {
		.has = call_has, .size = call_size, .get = call_get_reformat, .create = call_create};

	c->base = (struct drv_call){.ops = &ops, .dev = &w.dev, .ctx = &w.ctx.base};
	c->made = NULL;
	return mlx5_create_packet_reformat(&c->base);
}

static void end(struct action_call *c)
{
	CU_ASSERT_EQUAL(mlx5_destroy_flow_action(c->made), 0);
	free(c->made);
}

/* One change of a frame that is sent: 0 and what it becomes, or the error. */
static int convert(const void *one, struct hca_edit *edit)
{
	struct action_call c = {.list = one, .size = 8, .type = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX};
	const int ret = create(&c);

	if (ret)
		return ret;
	CU_ASSERT(c.made->num_edits == 1 && c.made->side == HCA_FLOW_TX);
	*edit = c.made->edit[0];
	end(&c);
	return 0;
}

static int one(uint32_t kind, uint32_t field, uint32_t offset, uint32_t length, struct hca_edit *edit)
{
	const action_in in = {.field = SET(ACTION_TYPE, kind) | SET(FIELD, field) | SET(OFFSET, offset) |
				       SET(LENGTH, length),
			      .data = htobe32(0x89abcdef)};

	return convert(&in, edit);
}

/* ---- Fields ---- */

struct field {
	uint16_t number;
	uint8_t header, bits;
	uint16_t at;
};

/* Bits from the beginning of the header on, as the RFCs draw them. */
static const struct field fields[] = {
	{FIELD(DMAC_47_16), HCA_HEADER_ETHER, 32, 0},       {FIELD(DMAC_15_0), HCA_HEADER_ETHER, 16, 32},
	{FIELD(SMAC_47_16), HCA_HEADER_ETHER, 32, 48},      {FIELD(SMAC_15_0), HCA_HEADER_ETHER, 16, 80},
	{FIELD(ETHERTYPE), HCA_HEADER_TYPE, 16, 0},         {FIELD(FIRST_VID), HCA_HEADER_VLAN, 16, 0},
	{FIELD(IP_DSCP), HCA_HEADER_CLASS, 6, 0},           {FIELD(IP_ECN), HCA_HEADER_CLASS, 2, 6},
	{FIELD(IP_TTL), HCA_HEADER_IPV4, 8, 8 * 8},         {FIELD(SIPV4), HCA_HEADER_IPV4, 32, 12 * 8},
	{FIELD(DIPV4), HCA_HEADER_IPV4, 32, 16 * 8},        {FIELD(IPV6_HOPLIMIT), HCA_HEADER_IPV6, 8, 7 * 8},
	{FIELD(SIPV6_127_96), HCA_HEADER_IPV6, 32, 8 * 8},  {FIELD(SIPV6_95_64), HCA_HEADER_IPV6, 32, 12 * 8},
	{FIELD(SIPV6_63_32), HCA_HEADER_IPV6, 32, 16 * 8},  {FIELD(SIPV6_31_0), HCA_HEADER_IPV6, 32, 20 * 8},
	{FIELD(DIPV6_127_96), HCA_HEADER_IPV6, 32, 24 * 8}, {FIELD(DIPV6_95_64), HCA_HEADER_IPV6, 32, 28 * 8},
	{FIELD(DIPV6_63_32), HCA_HEADER_IPV6, 32, 32 * 8},  {FIELD(DIPV6_31_0), HCA_HEADER_IPV6, 32, 36 * 8},
	{FIELD(TCP_SPORT), HCA_HEADER_TCP, 16, 0},          {FIELD(TCP_DPORT), HCA_HEADER_TCP, 16, 16},
	{FIELD(TCP_SEQ_NUM), HCA_HEADER_TCP, 32, 4 * 8},    {FIELD(TCP_ACK_NUM), HCA_HEADER_TCP, 32, 8 * 8},
	{FIELD(TCP_FLAGS), HCA_HEADER_TCP, 9, 14 * 8 - 9},  {FIELD(UDP_SPORT), HCA_HEADER_UDP, 16, 0},
	{FIELD(UDP_DPORT), HCA_HEADER_UDP, 16, 16},
};

static const struct field *known(uint32_t number)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].number == number)
			return &fields[i];
	}
	return NULL;
}

static bool is_at(const struct hca_edit *e, const struct field *f, uint32_t at, uint32_t bits)
{
	return e->header == f->header && e->to == at && e->bits == bits;
}

/* All numbers that there can be: those of the list, and no others. */
static void test_fields(void)
{
	for (uint32_t number = 0; number < 0x1000; number++) {
		const struct field *f = known(number);
		struct hca_edit e;

		if (!f) {
			CU_ASSERT_EQUAL(one(KIND(SET), number, 0, 1, &e), -EINVAL);
			CU_ASSERT_EQUAL(one(KIND(ADD), number, 0, 0, &e), -EINVAL);
			continue;
		}
		CU_ASSERT_EQUAL(one(KIND(SET), number, 0, f->bits & 31, &e), 0);
		CU_ASSERT(is_at(&e, f, f->at, f->bits) && e.kind == HCA_EDIT_SET && e.value == 0x89abcdef);
		CU_ASSERT_EQUAL(one(KIND(SET), number, 1, 1, &e), 0);
		CU_ASSERT(is_at(&e, f, (uint32_t)(f->at + f->bits - 2), 1));
		CU_ASSERT_EQUAL(one(KIND(SET), number, 1, f->bits & 31, &e), -EINVAL);
		CU_ASSERT_EQUAL(one(KIND(SET), number, 0, 0, &e), f->bits == 32 ? 0 : -EINVAL);
		CU_ASSERT_EQUAL(one(KIND(ADD), number, 3, 5, &e), 0); /* it has no range */
		CU_ASSERT(is_at(&e, f, f->at, f->bits) && e.kind == HCA_EDIT_ADD);
	}
}

static int copy(uint32_t src, uint32_t from, uint32_t dst, uint32_t to, uint32_t length, struct hca_edit *e)
{
	const copy_in in = {.src = COPY(ACTION_TYPE, KIND(COPY)) | COPY(SRC_FIELD, src) |
				   COPY(SRC_OFFSET, from) | COPY(LENGTH, length),
			    .dst = COPY(DST_FIELD, dst) | COPY(DST_OFFSET, to)};

	return convert(&in, e);
}

static void test_copies(void)
{
	struct hca_edit e;

	CU_ASSERT_EQUAL(copy(FIELD(SIPV4), 8, FIELD(UDP_DPORT), 0, 16, &e), 0);
	CU_ASSERT(e.kind == HCA_EDIT_COPY && e.bits == 16 && e.header == HCA_HEADER_UDP && e.to == 16);
	CU_ASSERT(e.from_header == HCA_HEADER_IPV4 && e.from == 13 * 8);
	CU_ASSERT_EQUAL(copy(FIELD(SIPV4), 0, FIELD(DIPV4), 0, 0, &e), 0);
	CU_ASSERT(e.bits == 32 && e.from == 12 * 8 && e.to == 16 * 8);
	CU_ASSERT_EQUAL(copy(FIELD(SIPV4), 17, FIELD(UDP_DPORT), 0, 16, &e), -EINVAL);
	CU_ASSERT_EQUAL(copy(FIELD(SIPV4), 0, FIELD(UDP_DPORT), 1, 16, &e), -EINVAL);
	CU_ASSERT_EQUAL(copy(FIELD(SIPV4), 0, 0, 0, 8, &e), -EINVAL);
	CU_ASSERT_EQUAL(copy(0xfff, 0, FIELD(SIPV4), 0, 8, &e), -EINVAL);
}

/* ---- Lists ---- */

static int list(uint64_t type, size_t num)
{
	action_in in[HCASIM_MLX5_MAX_MODIFY_ACTIONS + 1];
	struct action_call c = {.list = in, .size = num * sizeof(in[0]), .type = type};
	int ret;

	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		in[i] = (action_in){.field = SET(ACTION_TYPE, KIND(ADD)) | SET(FIELD, FIELD(IP_TTL))};
	ret = create(&c);
	if (ret)
		return ret;
	CU_ASSERT(c.made->num_edits == num && c.made->side == (type ? HCA_FLOW_TX : HCA_FLOW_RX));
	end(&c);
	return 0;
}

static void test_lists(void)
{
	static const action_in in[2];
	struct action_call odd = {.list = in, .size = 12};
	struct hca_edit e;

	CU_ASSERT_EQUAL(list(MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 1), 0);
	CU_ASSERT_EQUAL(list(MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, HCASIM_MLX5_MAX_MODIFY_ACTIONS), 0);
	CU_ASSERT_EQUAL(list(MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, HCASIM_MLX5_MAX_MODIFY_ACTIONS + 1),
			-EOPNOTSUPP);
	CU_ASSERT_EQUAL(list(MLX5_IB_UAPI_FLOW_TABLE_TYPE_FDB, 1), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(list(MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_RX, 1), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(list(MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_TX, 1), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(list(MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_TX + 1, 1), -EINVAL);
	CU_ASSERT_EQUAL(create(&odd), -EINVAL);
	CU_ASSERT_EQUAL(one(0, FIELD(IP_TTL), 0, 8, &e), -EINVAL);
	CU_ASSERT_EQUAL(one(4, FIELD(IP_TTL), 0, 8, &e), -EINVAL);
}

static void test_limit(void)
{
	const action_in in = {.field = SET(ACTION_TYPE, KIND(ADD)) | SET(FIELD, FIELD(IP_TTL))};
	static struct action_call c[(1u << HCASIM_MLX5_LOG_MODIFY_HEADERS) + 1];
	const unsigned int last = (1u << HCASIM_MLX5_LOG_MODIFY_HEADERS);

	for (unsigned int i = 0; i <= last; i++) {
		c[i] = (struct action_call){.list = &in, .size = sizeof(in)};
		CU_ASSERT_EQUAL(create(&c[i]), i < last ? 0 : -EAGAIN);
	}
	end(&c[0]);
	CU_ASSERT_EQUAL(create(&c[last]), 0);
	for (unsigned int i = 1; i <= last; i++)
		end(&c[i]);
}

/* ---- Tunnels ---- */

/* 0, and what becomes of it, or the error. */
static int reformat(uint64_t type, uint64_t tables, size_t size, uint8_t strip)
{
	uint8_t head[HCASIM_MLX5_MAX_ENCAP_HEADER + 1];
	struct action_call c = {
		.list = head, .size = size, .reformat = type, .type = tables, .no_data = !size};
	int ret;

	for (size_t i = 0; i < sizeof(head); i++)
		head[i] = (uint8_t)i;
	ret = create_reformat(&c);
	if (ret)
		return ret;
	CU_ASSERT(c.made->strip == strip && c.made->side == (tables ? HCA_FLOW_TX : HCA_FLOW_RX));
	CU_ASSERT(c.made->head_len == size && !c.made->num_edits && !memcmp(c.made->head, head, size));
	end(&c);
	return 0;
}

static void test_reformats(void)
{
	enum { DECAP, ENCAP, DECAP_IP, ENCAP_IP, NONE };
	const uint64_t rx = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, tx = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX;
	const size_t most = HCASIM_MLX5_MAX_ENCAP_HEADER;

	CU_ASSERT_EQUAL(reformat(DECAP, rx, 0, HCA_STRIP_TUNNEL), 0);
	CU_ASSERT_EQUAL(reformat(DECAP_IP, rx, 14, HCA_STRIP_TUNNEL), 0);
	CU_ASSERT_EQUAL(reformat(DECAP_IP, rx, 18, HCA_STRIP_TUNNEL), 0);
	CU_ASSERT_EQUAL(reformat(DECAP_IP, rx, 16, 0), -EINVAL);
	CU_ASSERT_EQUAL(reformat(DECAP_IP, rx, 0, 0), -ENOENT);
	CU_ASSERT_EQUAL(reformat(ENCAP, tx, most, HCA_STRIP_NONE), 0);
	CU_ASSERT_EQUAL(reformat(ENCAP, tx, most + 1, 0), -EINVAL);
	CU_ASSERT_EQUAL(reformat(ENCAP, tx, 13, 0), -EINVAL);
	CU_ASSERT_EQUAL(reformat(ENCAP, tx, 0, 0), -ENOENT);
	CU_ASSERT_EQUAL(reformat(ENCAP_IP, tx, 50, HCA_STRIP_ETHER), 0);
	CU_ASSERT_EQUAL(reformat(DECAP, tx, 0, 0), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(reformat(DECAP_IP, tx, 14, 0), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(reformat(ENCAP, rx, 50, 0), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(reformat(ENCAP_IP, rx, 50, 0), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(reformat(ENCAP, MLX5_IB_UAPI_FLOW_TABLE_TYPE_FDB, 50, 0), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(reformat(NONE, tx, 50, 0), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->num_reformats, 0);
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"fields", test_fields},     {"copies", test_copies},
					    {"lists", test_lists},       {"limit", test_limit},
					    {"tunnels", test_reformats}, CU_TEST_INFO_NULL};

	return suite_run("mlx5 flow actions", devx_world_init, devx_world_exit, tests);
}
