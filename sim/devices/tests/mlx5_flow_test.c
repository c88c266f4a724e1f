// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Matchers of mlx5dv, and what flows by them match: what they become, and what is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>
#include <arpa/inet.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/driver/driver.h"
#include "suite.h"

#define VERSION(v) htons((uint16_t)HCASIM_FIELD_PREP(HCASIM_MLX5_MATCH_OUTER_IP_VERSION_MASK, v))

typedef struct hcasim_mlx5_match_outer match_t;

/* ---- Conversion ---- */

static struct hca_flow_attr convert(match_t v, match_t mask)
{
	const struct mlx5_matcher m = {.mask.outer = mask, .priority = 3};
	const struct mlx5_match value = {.outer = v};
	struct hca_flow_attr a;

	memset(&a, 0xff, sizeof(a));
	CU_ASSERT_EQUAL(mlx5_flow_attr(&value, &m, &a), 0);
	CU_ASSERT(!a.geneve && !a.mask.vni);
	CU_ASSERT(a.port == 1 && a.kind == HCA_FLOW_NORMAL && a.priority == 3);
	return a;
}

static int refusal(match_t v, match_t mask)
{
	const struct mlx5_matcher m = {.mask.outer = mask};
	const struct mlx5_match value = {.outer = v};
	struct hca_flow_attr a;

	return mlx5_flow_attr(&value, &m, &a);
}

static void test_ether(void)
{
	const match_t v = {.smac = {1, 2, 3, 4, 5, 6}, .dmac = {7, 8, 9}, .ethertype = htons(0x88b5)};
	const match_t mask = {.smac = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, .first_tci = htons(0xfff)};
	const struct hca_flow_attr a = convert(v, mask);

	CU_ASSERT(!memcmp(a.val.smac, v.smac, 6) && !memcmp(a.mask.smac, mask.smac, 6));
	CU_ASSERT(!a.val.dmac[0] && !a.mask.dmac[0] && !a.val.ether_type && !a.mask.ether_type);
	CU_ASSERT(a.mask.vlan_tci == 0xfff && !a.ip && !a.l4);
}

static void test_ipv4(void)
{
	const match_t v = {.ethertype = htons(0x0800),
			   .ip_protocol = 17,
			   .ip_tos = 0xb9,
			   .src_ip = {[12] = 192, 0, 2, 1},
			   .udp_dport = htons(4791)};
	const match_t mask = {.ethertype = 0xffff,
			      .ip_protocol = 0xff,
			      .ip_tos = 0xfc,
			      .src_ip = {[12] = 0xff, 0xff, 0xff, 0xff},
			      .udp_dport = 0xffff};
	const struct hca_flow_attr a = convert(v, mask);
	static const uint8_t sip[16] = {192, 0, 2, 1};

	CU_ASSERT(a.ip == 4 && a.l4 == 17 && a.val.ether_type == 0x800);
	CU_ASSERT(!memcmp(a.val.sip, sip, sizeof(sip)) && a.mask.sip[3] == 0xff && !a.mask.sip[4]);
	CU_ASSERT(a.val.tos == 0xb8 && a.mask.tos == 0xfc && a.val.proto == 17);
	CU_ASSERT(a.val.dport == 4791 && a.mask.dport == 0xffff && !a.mask.sport);
}

static void test_ipv6(void)
{
	const match_t v = {
		.kind = VERSION(6), .dst_ip = {0x20, [15] = 9}, .tcp_sport = htons(80), .ip_ttl = 5};
	const match_t mask = {
		.kind = VERSION(15), .dst_ip = {0xff, [15] = 0xff}, .tcp_sport = 0xffff, .ip_ttl = 0xff};
	const struct hca_flow_attr a = convert(v, mask);

	CU_ASSERT(a.ip == 6 && a.l4 == 6 && a.val.sport == 80 && a.val.ttl == 5);
	CU_ASSERT(a.val.dip[0] == 0x20 && a.val.dip[15] == 9 && a.mask.dip[15] == 0xff);
}

static void test_not_said(void)
{
	CU_ASSERT_EQUAL(refusal((match_t){.ip_ttl = 1}, (match_t){.ip_ttl = 0xff}), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(refusal((match_t){.kind = VERSION(4)}, (match_t){.kind = VERSION(15), .src_ip = {1}}),
			-EOPNOTSUPP);
	CU_ASSERT_EQUAL(refusal((match_t){.kind = VERSION(5)}, (match_t){.kind = VERSION(15)}), -EINVAL);
}

static void test_geneve(void)
{
	const struct hcasim_mlx5_match_misc misc = {.geneve = htonl(0x12345601),
						    .geneve_type = htonl(0x00036558)};
	const struct mlx5_match value = {.misc = misc};
	struct mlx5_matcher m = {.side = HCA_FLOW_RX};
	uint8_t mask[sizeof(struct mlx5_match)] = {0};
	struct hca_flow_attr a;

	memcpy(mask + sizeof(match_t), &misc, sizeof(misc));
	CU_ASSERT_EQUAL(mlx5_match_mask(mask, sizeof(mask), 2, &m), 0);
	CU_ASSERT_EQUAL(mlx5_flow_attr(&value, &m, &a), 0);
	CU_ASSERT(a.geneve && a.val.vni == 0x123456 && a.val.oam == 1 && a.mask.vni == 0x123456);
	CU_ASSERT(a.val.tunnel_type == 0x6558 && a.val.options == 3 && a.mask.options == 3);
	m.side = HCA_FLOW_TX;
	CU_ASSERT_EQUAL(mlx5_match_mask(mask, sizeof(mask), 2, &m), -EOPNOTSUPP);
	m.side = HCA_FLOW_RX;
	CU_ASSERT_EQUAL(mlx5_match_mask(mask, sizeof(mask), 1, &m), 0);
	CU_ASSERT_EQUAL(mlx5_flow_attr(&value, &m, &a), 0);
	CU_ASSERT(!a.geneve && !a.mask.vni && !a.val.vni);
	mask[sizeof(match_t) + 27] |= 2; /* geneve_tlv_option_0_exist */
	CU_ASSERT_EQUAL(mlx5_match_mask(mask, sizeof(mask), 2, &m), -EOPNOTSUPP);
}

/* ---- Methods ---- */

struct fake_call {
	struct drv_call base;
	uint8_t match[sizeof(struct mlx5_ib_match_params)];
	uint8_t criteria;
	uint64_t table, flags, has; /* has: bits of the attributes that the method may have */
	struct mlx5_matcher *made;
};

#define BIT(id) (1ull << ((id)&63))

static bool call_has(struct drv_call *c, uint16_t id)
{
	return ((struct fake_call *)c)->has & BIT(id);
}

static int call_get(struct drv_call *base, uint16_t id, void *dst, size_t size)
{
	const struct fake_call *c = (struct fake_call *)base;

	memset(dst, 0, size);
	if (id == MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK)
		memcpy(dst, c->match, size);
	else if (id == MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA)
		memcpy(dst, &c->criteria, size);
	else if (id == MLX5_IB_ATTR_FLOW_MATCHER_FLOW_TYPE)
		memset(dst, 0x11, size);
	else
		memcpy(dst, id == MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE ? &c->table : &c->flags, size);
	return 0;
}

static void *call_create(struct drv_call *base, uint16_t id, size_t size)
{
	return ((struct fake_call *)base)->made = calloc(1, size);
}

static const struct drv_call_ops call_ops = {.has = call_has, .get = call_get, .create = call_create};

static int create(struct fake_call c)
{
	int ret;

	c.base.ops = &call_ops;
	ret = mlx5_create_matcher(&c.base);
	if (!ret) {
		CU_ASSERT_EQUAL(c.made->priority, 0x1111);
		CU_ASSERT_EQUAL(c.made->mask.outer.smac[0], c.criteria & 1 ? c.match[0] : 0);
		mlx5_destroy_matcher(c.made);
	}
	free(c.made);
	return ret;
}

static void test_matcher(void)
{
	CU_ASSERT_EQUAL(create((struct fake_call){.criteria = 1, .match = {0xff}}), 0);
	CU_ASSERT_EQUAL(create((struct fake_call){.criteria = 0, .match = {0xff}}), 0);
	CU_ASSERT_EQUAL(create((struct fake_call){.criteria = 2, .match = {0xff}}), 0);
	CU_ASSERT_EQUAL(create((struct fake_call){.criteria = 4}), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(create((struct fake_call){.criteria = 1, .match = {[sizeof(match_t)] = 1}}), 0);
	CU_ASSERT_EQUAL(create((struct fake_call){.criteria = 3, .match = {[sizeof(match_t)] = 1}}),
			-EOPNOTSUPP);
	CU_ASSERT_EQUAL(create((struct fake_call){.criteria = 3, .match = {[sizeof(struct mlx5_match)] = 1}}),
			-EOPNOTSUPP);
}

/* The side, or the error. */
static int side(uint64_t table, uint64_t flags, uint64_t has)
{
	struct fake_call c = {.base.ops = &call_ops, .table = table, .flags = flags, .has = has};
	int ret = mlx5_create_matcher(&c.base);

	if (!ret)
		ret = c.made->side;
	free(c.made);
	return ret;
}

static void test_sides(void)
{
	const uint64_t type = BIT(MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE),
		       flags = BIT(MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS);

	CU_ASSERT_EQUAL(side(1, 4, 0), HCA_FLOW_RX);
	CU_ASSERT_EQUAL(side(MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0, type), HCA_FLOW_RX);
	CU_ASSERT_EQUAL(side(MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, 0, type), HCA_FLOW_TX);
	CU_ASSERT_EQUAL(side(MLX5_IB_UAPI_FLOW_TABLE_TYPE_FDB, 0, type), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(side(MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_RX, 0, type), HCA_FLOW_ROCE_RX);
	CU_ASSERT_EQUAL(side(MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_TX, 0, type), HCA_FLOW_ROCE_TX);
	CU_ASSERT_EQUAL(side(5, 0, type), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(side(UINT64_MAX, 0, type), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(side(0, 0, flags), HCA_FLOW_RX);
	CU_ASSERT_EQUAL(side(0, 1u << 2, flags), HCA_FLOW_TX); /* egress */
	CU_ASSERT_EQUAL(side(0, 1, flags), -EINVAL);
	CU_ASSERT_EQUAL(side(0, 0, type | flags), -EINVAL);
}

static int create_masked(match_t mask)
{
	struct fake_call c = {.criteria = 1};

	memcpy(c.match, &mask, sizeof(mask));
	return create(c);
}

static void test_masks(void)
{
	CU_ASSERT_EQUAL(create_masked((match_t){.kind = VERSION(15)}), 0);
	CU_ASSERT_EQUAL(create_masked((match_t){.kind = VERSION(4)}), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(create_masked((match_t){.kind = htons(1)}), -EOPNOTSUPP);      /* TCP flags */
	CU_ASSERT_EQUAL(create_masked((match_t){.kind = htons(0x2000)}), -EOPNOTSUPP); /* fragments */
	CU_ASSERT_EQUAL(create_masked((match_t){.kind = htons(0x8000)}), -EOPNOTSUPP); /* tagged */
	CU_ASSERT_EQUAL(create_masked((match_t){.ipv4_checks = 1}), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(create_masked((match_t){.tcp_sport = 1, .udp_dport = 1}), -EOPNOTSUPP);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"Ethernet", test_ether},   {"IPv4", test_ipv4},
		{"IPv6", test_ipv6},        {"what flows cannot say", test_not_said},
		{"matchers", test_matcher}, {"sides", test_sides},
		{"masks", test_masks},      {"GENEVE", test_geneve},
		CU_TEST_INFO_NULL};

	return suite_run("mlx5 flows", NULL, NULL, tests);
}
