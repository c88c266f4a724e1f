// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* DEVX: commands of any length and content, what they answer, and what their objects leave behind. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "core/personality.h"
#include "mlx5_devx_world.h"
#include "suite.h"

/* Libraries that know less of the capabilities ask for fewer bytes. */
#define SHORT_CAP_OUT (sizeof(struct hcasim_mlx5_cmd_out) + sizeof(struct hcasim_mlx5_hca_cap))
#define QPNS          (1u << HCASIM_MLX5_LOG_RESERVED_QPNS)

/* ---- Capabilities ---- */

static void query(uint16_t type, bool most, void *cap, size_t size)
{
	const struct hcasim_mlx5_cmd_in in =
		devx_command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, (uint16_t)(type << 1 | !most));
	struct devx_call c = {.object = NULL};

	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_other, &in, sizeof(in), CAP_OUT), 0);
	CU_ASSERT_EQUAL(devx_answer(&c).status, HCASIM_MLX5_CMD_STATUS_OK);
	CU_ASSERT_EQUAL(devx_answer(&c).syndrome, 0);
	memcpy(cap, c.out + sizeof(struct hcasim_mlx5_cmd_out), size);
}

static uint32_t bits(uint32_t mask, __be32 dw)
{
	return (be32toh(dw) & mask) / (mask & -mask);
}

static void test_capabilities(void)
{
	struct hcasim_mlx5_hca_cap cap, most;
	struct hcasim_mlx5_hca_cap_2 cap_2;
	uint8_t none[HCASIM_MLX5_HCA_CAP_SIZE];
	struct hcasim_mlx5_hca_cap_atomic atomic;
	struct hcasim_mlx5_hca_cap_dm dm;

	query(HCASIM_MLX5_CAP_GENERAL, false, &cap, sizeof(cap));
	query(HCASIM_MLX5_CAP_GENERAL, true, &most, sizeof(most));
	query(HCASIM_MLX5_CAP_GENERAL_2, false, &cap_2, sizeof(cap_2));
	query(HCASIM_MLX5_CAP_ATOMIC, false, &atomic, sizeof(atomic));
	query(HCASIM_MLX5_CAP_DEVICE_MEM, false, &dm, sizeof(dm));
	query(HCASIM_MLX5_CAP_ATOMIC + 1, false, none, sizeof(none));
	CU_ASSERT_TRUE(!none[0] && !memcmp(none, none + 1, sizeof(none) - 1));
	CU_ASSERT_EQUAL(memcmp(&cap, &most, sizeof(cap)), 0);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_NUM_PORTS_MASK, cap.dw13), 1);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_LOG_MAX_QP_MASK, cap.dw4), 4);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_LOG_MAX_RA_RES_QP_MASK, cap.dw10), 4);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_LOG_MAX_RMP_MASK, cap.dw28), 4);
	CU_ASSERT_EQUAL(be64toh(cap.general_obj_types),
			1ull << HCASIM_MLX5_CMD_OBJ_RESERVED_QPN |
				1ull << HCASIM_MLX5_CMD_OBJ_SCHEDULING_ELEMENT);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_2_LOG_RESERVED_QPN_GRANULARITY_MASK, cap_2.dw4),
			HCASIM_MLX5_LOG_RESERVED_QPNS);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_2_FLOW_COUNTER_BULK_LOG_MAX_ALLOC_MASK, cap_2.dw18), 9);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_FLOW_COUNTER_BULK_ALLOC_MASK, cap.dw24), 7);
	CU_ASSERT_EQUAL(be16toh(atomic.size_qp), 8);
	CU_ASSERT_EQUAL(be32toh(dm.max_size), HCASIM_MLX5_BAR_DM_SIZE);
	CU_ASSERT_EQUAL(be32toh(dm.operations), 3);
	CU_ASSERT_TRUE(dm.increment_sizes == 1 && dm.test_and_set_sizes == 1);
}

static void test_qos(void)
{
	struct hcasim_mlx5_hca_cap general;
	struct hcasim_mlx5_hca_cap_qos cap;

	query(HCASIM_MLX5_CAP_GENERAL, false, &general, sizeof(general));
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_QOS_MASK, general.dw16), 1);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_QPC_EXTENSION_MASK, general.dw9), 1);
	query(HCASIM_MLX5_CAP_QOS, false, &cap, sizeof(cap));
	CU_ASSERT_EQUAL(be32toh(cap.dw0), 0x86f00000);
	CU_ASSERT_EQUAL(be32toh(cap.dw1), 0x400c0000);
	CU_ASSERT_EQUAL(be32toh(cap.dw4), HCASIM_MLX5_PP_RATES);
	CU_ASSERT_EQUAL(be32toh(cap.packet_pacing_min_rate), HCASIM_RATE_LIMIT_MIN);
	CU_ASSERT_EQUAL(be32toh(cap.packet_pacing_max_rate), HCASIM_RATE_LIMIT_MAX);
	CU_ASSERT_EQUAL(be32toh(cap.max_tsar_bw_share), HCASIM_MLX5_MAX_BW_SHARE);
	CU_ASSERT_EQUAL(be32toh(cap.dw8), 0x00110001);
}

/* Of the types of tables that there are, and of no other. */
static void test_flow_tables(void)
{
	struct hcasim_mlx5_hca_cap_flow_table cap;
	struct hcasim_mlx5_flow_table_prop rx, tx, sniffer, zero = {.dw0 = 0};
	struct hcasim_mlx5_hca_cap general;

	query(HCASIM_MLX5_CAP_GENERAL, false, &general, sizeof(general));
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_NIC_FLOW_TABLE_MASK, general.dw13), 1);
	query(HCASIM_MLX5_CAP_FLOW_TABLE, false, &cap, sizeof(cap));
	memcpy(&rx, cap.nic_receive, sizeof(rx));
	memcpy(&tx, cap.nic_transmit, sizeof(tx));
	memcpy(&sniffer, cap.nic_receive_sniffer, sizeof(sniffer));
	CU_ASSERT_EQUAL(memcmp(&sniffer, &zero, sizeof(zero)), 0);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_FLOW_TABLE_PROP_FT_SUPPORT_MASK, rx.dw0), 1);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_FLOW_TABLE_PROP_FLOW_TAG_MASK, rx.dw0), 1);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_FLOW_TABLE_PROP_FLOW_TAG_MASK, tx.dw0), 0);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_FLOW_TABLE_PROP_LOG_MAX_FT_NUM_MASK, tx.dw3), 8);
	CU_ASSERT(be32toh(rx.fields) == 0xff0dfc3c && be32toh(rx.field_bits) == 0xef0dfc3c);
	CU_ASSERT(be32toh(tx.fields) == 0xff0dfc00 && be32toh(tx.field_bits) == 0xef0dfc00);
}

static uint32_t word(const void *cap, size_t at)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)cap + at, sizeof(v));
	return be32toh(v);
}

/* What flows change, by the offsets of mlx5_ifc.h; tables of RoCE packets change nothing. */
static void test_flow_changes(void)
{
	enum { RX = 64, RX_RDMA = 128, TX = 256, TX_RDMA = 320, MODIFY_RX = 512, MODIFY_TX = 896, ADD = 32 };
	struct hcasim_mlx5_hca_cap_flow_table cap;

	query(HCASIM_MLX5_CAP_FLOW_TABLE, false, &cap, sizeof(cap));
	CU_ASSERT_EQUAL(word(&cap, 4), 0x800c0080); /* headers of tunnels: 128 bytes, 4096 of them */
	CU_ASSERT(word(&cap, RX) == 0xe1802800 && word(&cap, RX_RDMA) == 0xe0000000);
	CU_ASSERT(word(&cap, TX) == 0xa1001800 && word(&cap, TX_RDMA) == 0xa0000000);
	CU_ASSERT((word(&cap, RX + 4) & 0xffff00) == 0x0c1000 && !(word(&cap, RX_RDMA + 4) & 0xffff00));
	CU_ASSERT((word(&cap, TX + 4) & 0xffff00) == 0x0c1000 && !(word(&cap, TX_RDMA + 4) & 0xffff00));
	for (size_t at = MODIFY_RX; at <= MODIFY_TX; at += MODIFY_TX - MODIFY_RX) {
		CU_ASSERT(word(&cap, at) == 0xef0cfe00 && word(&cap, at + ADD) == 0xef0cfe00);
		CU_ASSERT(word(&cap, at + 8) == 0x40 && word(&cap, at + ADD + 8) == 0x40);
	}
}

/* By the offsets of mlx5_ifc.h: results are in the order of the host, as ibv_query_device() says. */
static void test_atomic(void)
{
	struct hcasim_mlx5_hca_cap_atomic cap;

	query(HCASIM_MLX5_CAP_ATOMIC, false, &cap, sizeof(cap));
	CU_ASSERT_EQUAL(word(&cap, 8), 0x42000000);
	CU_ASSERT_EQUAL(word(&cap, 16), 3);
	CU_ASSERT_EQUAL(word(&cap, 20), 8);
}

/* Answered with zeros: no bond. */
static void test_lag(void)
{
	const struct hcasim_mlx5_cmd_in in = devx_command(HCASIM_MLX5_CMD_QUERY_LAG, 0);
	const uint8_t zero[16] = {0};
	struct devx_call c = {.object = NULL};

	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_other, &in, sizeof(in), 16), 0);
	CU_ASSERT_TRUE(c.answered && !memcmp(c.out, zero, sizeof(zero)));
}

static void test_short_capabilities(void)
{
	const struct hcasim_mlx5_cmd_in in = devx_command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, 1);
	struct devx_call all = {.object = NULL}, few = {.object = NULL};

	CU_ASSERT_EQUAL(devx_run(&all, mlx5_devx_other, &in, sizeof(in), CAP_OUT), 0);
	CU_ASSERT_EQUAL(devx_run(&few, mlx5_devx_other, &in, sizeof(in), SHORT_CAP_OUT), 0);
	CU_ASSERT_EQUAL(memcmp(all.out, few.out, SHORT_CAP_OUT), 0);
}

static void test_refused_general(void)
{
	const struct hcasim_mlx5_cmd_in cap = devx_command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, 0),
					type = devx_command(HCASIM_MLX5_CMD_QUERY_HCA_CAP,
							    (HCASIM_MLX5_CAP_GENERAL_2 + 1) << 1),
					issi = devx_command(HCASIM_MLX5_CMD_QUERY_ISSI, 0),
					sync = devx_command(HCASIM_MLX5_CMD_SYNC_STEERING, 0);
	const struct hcasim_mlx5_cmd_in not_general[] = {devx_command(0, 0), devx_command(0xd00, 0),
							 devx_command(0xffff, 0),
							 devx_command(HCASIM_MLX5_CMD_CREATE_QP, 0)};
	struct devx_call c = {.object = NULL};

	devx_fails(mlx5_devx_other, &cap, sizeof(cap), SHORT_CAP_OUT - 1,
		   HCASIM_MLX5_CMD_STATUS_BAD_OUTP_LEN_ERR);
	devx_fails(mlx5_devx_other, &type, sizeof(type), CAP_OUT, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	devx_fails(mlx5_devx_other, &issi, sizeof(issi), 16, HCASIM_MLX5_CMD_STATUS_BAD_OP_ERR);
	devx_fails(mlx5_devx_other, &sync, sizeof(sync), 16, HCASIM_MLX5_CMD_STATUS_BAD_OP_ERR);
	for (unsigned int i = 0; i < sizeof(not_general) / sizeof(not_general[0]); i++) {
		CU_ASSERT_EQUAL(
			devx_run(&c, mlx5_devx_other, &not_general[i], sizeof(not_general[i]), CAP_OUT),
			-EINVAL);
		CU_ASSERT_FALSE(c.answered);
	}
}

/* Without a whole head there is no command, and no place for an answer. */
static void test_lengths(void)
{
	const struct hcasim_mlx5_cmd_in in = devx_command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, 0);
	struct devx_call c = {.object = NULL};

	for (size_t len = 0; len < sizeof(in); len++) {
		CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_other, &in, len, CAP_OUT), -EINVAL);
		CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_other, &in, sizeof(in), len), -EINVAL);
		CU_ASSERT_FALSE(c.answered);
	}
}

static void test_context_without_devx(void)
{
	const struct hcasim_mlx5_cmd_in in = devx_command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, 0);
	struct devx_call c = {.object = NULL};

	mlx5_drv_ops.dealloc_ucontext(&w.ctx.base);
	CU_ASSERT_EQUAL_FATAL(devx_open(0), 0);
	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_other, &in, sizeof(in), CAP_OUT), -EINVAL);
	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_create, &in, sizeof(in), CAP_OUT), -EINVAL);
	CU_ASSERT_PTR_NULL(c.object);
	mlx5_drv_ops.dealloc_ucontext(&w.ctx.base);
	CU_ASSERT_EQUAL(devx_open(MLX5_IB_ALLOC_UCTX_DEVX << 1), -EOPNOTSUPP);
	CU_ASSERT_EQUAL_FATAL(devx_open(MLX5_IB_ALLOC_UCTX_DEVX), 0);
}

/* ---- Reserved numbers of queue pairs ---- */

static struct hcasim_mlx5_cmd_in reserve(uint32_t log)
{
	struct hcasim_mlx5_cmd_in in =
		devx_command(HCASIM_MLX5_CMD_CREATE_GENERAL_OBJECT, HCASIM_MLX5_CMD_OBJ_RESERVED_QPN);

	in.range = htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_IN_LOG_OBJ_RANGE_MASK, log));
	return in;
}

static void test_reserved_qpns(void)
{
	static struct devx_call c[HCASIM_MLX5_RESERVED_QPN_BLOCKS];
	const struct hcasim_mlx5_cmd_in in = reserve(HCASIM_MLX5_LOG_RESERVED_QPNS);
	uint32_t first;

	for (unsigned int i = 0; i < HCASIM_MLX5_RESERVED_QPN_BLOCKS; i++) {
		CU_ASSERT_EQUAL_FATAL(devx_run(&c[i], mlx5_devx_create, &in, sizeof(in), 16), 0);
		first = be32toh(devx_answer(&c[i]).number);
		CU_ASSERT_EQUAL(first, HCASIM_MLX5_RESERVED_QPN_FIRST + i * QPNS);
	}
	CU_ASSERT_TRUE(first + QPNS < HCA_NUMBER_MASK);
	devx_fails(mlx5_devx_create, &in, sizeof(in), 16, HCASIM_MLX5_CMD_STATUS_NO_RES_ERR);
	for (unsigned int i = 0; i < HCASIM_MLX5_RESERVED_QPN_BLOCKS; i++) {
		CU_ASSERT_EQUAL(mlx5_devx_destroy(c[i].object), 0);
		free(c[i].object);
	}
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->reserved_qpns.used, 0);
}

static void test_refused_objects(void)
{
	const struct hcasim_mlx5_cmd_in more = reserve(HCASIM_MLX5_LOG_RESERVED_QPNS + 1), one = reserve(0),
					type = devx_command(HCASIM_MLX5_CMD_CREATE_GENERAL_OBJECT, 0),
					not_create = devx_command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, 0);
	struct devx_call c = {.object = NULL};

	devx_fails(mlx5_devx_create, &more, sizeof(more), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	devx_fails(mlx5_devx_create, &one, sizeof(one), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	devx_fails(mlx5_devx_create, &type, sizeof(type), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_create, &not_create, sizeof(not_create), 16), -EINVAL);
	free(c.object);
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->reserved_qpns.used, 0);
}

/* ---- Flow counters ---- */

#define BULK(f, v)  HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_ALLOC_FLOW_COUNTER_##f##_MASK, v)
#define WHICH(f, v) HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_QUERY_FLOW_COUNTER_##f##_MASK, v)
#define COUNTERS(n) (sizeof(struct hcasim_mlx5_cmd_out) + (n) * sizeof(struct hcasim_mlx5_traffic_counter))

static struct hcasim_mlx5_cmd_alloc_flow_counter block_of(uint32_t bulk)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_ALLOC_FLOW_COUNTER, 0);
	struct hcasim_mlx5_cmd_alloc_flow_counter req;

	memcpy(&req, &head, sizeof(req));
	req.bulk = htobe32(bulk);
	return req;
}

static int query_counters(struct devx_call *c, uint32_t id, uint32_t which, size_t out_len)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_QUERY_FLOW_COUNTER, 0);
	struct hcasim_mlx5_cmd_query_flow_counter req = {.which = htobe32(which),
							 .flow_counter_id = htobe32(id)};

	memcpy(&req, &head, sizeof(req.head));
	c->type = MLX5_IB_OBJECT_DEVX_OBJ;
	return devx_run(c, mlx5_devx_query, &req, sizeof(req), out_len);
}

static bool counted(const struct devx_call *c, unsigned int i, uint64_t packets, uint64_t octets)
{
	struct hcasim_mlx5_traffic_counter got;

	memcpy(&got, c->out + COUNTERS(i), sizeof(got));
	return be64toh(got.packets) == packets && be64toh(got.octets) == octets;
}

static void free_counters(struct devx_call *c)
{
	CU_ASSERT_EQUAL(mlx5_devx_destroy(c->object), 0);
	free(c->object);
}

static void test_flow_counters(void)
{
	const struct hcasim_mlx5_cmd_alloc_flow_counter four = block_of(BULK(LOG_BULK, 2));
	struct devx_call c = {.object = NULL};
	struct hca_flow_counter *third;
	uint32_t id;

	CU_ASSERT_EQUAL_FATAL(devx_run(&c, mlx5_devx_create, &four, sizeof(four), 16), 0);
	id = be32toh(devx_answer(&c).number);
	third = mlx5_devx_flow_counter(c.object, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(third);
	CU_ASSERT_PTR_NULL(mlx5_devx_flow_counter(c.object, 4));
	*third = (struct hca_flow_counter){.packets = 3, .octets = 300};
	CU_ASSERT_EQUAL(query_counters(&c, id, WHICH(NUM_OF_COUNTERS, 4), COUNTERS(4)), 0);
	CU_ASSERT(counted(&c, 0, 0, 0) && counted(&c, 1, 0, 0) && counted(&c, 2, 3, 300) &&
		  counted(&c, 3, 0, 0));
	CU_ASSERT_EQUAL(query_counters(&c, id + 2, WHICH(CLEAR, 1), COUNTERS(1)), 0);
	CU_ASSERT(counted(&c, 0, 3, 300));
	CU_ASSERT(!third->packets && !third->octets);
	free_counters(&c);
}

static void test_refused_counters(void)
{
	const struct hcasim_mlx5_cmd_alloc_flow_counter bad[] = {
		block_of(BULK(LOG_BULK, HCASIM_MLX5_LOG_MAX_FLOW_COUNTERS + 1)), block_of(BULK(LOG_BULK, 31)),
		block_of(BULK(BULK_128, 8)), block_of(BULK(BULK_128, 3)),
		block_of(BULK(BULK_128, 1) | BULK(LOG_BULK, 1))};
	const struct hcasim_mlx5_cmd_alloc_flow_counter most = block_of(BULK(BULK_128, 4)), one = block_of(0);
	struct devx_call c = {.object = NULL};
	uint32_t id;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		devx_fails(mlx5_devx_create, &bad[i], sizeof(bad[i]), 16,
			   HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	CU_ASSERT_EQUAL_FATAL(devx_run(&c, mlx5_devx_create, &most, sizeof(most), 16), 0);
	CU_ASSERT_PTR_NOT_NULL(mlx5_devx_flow_counter(c.object, 511));
	free_counters(&c);
	CU_ASSERT_EQUAL_FATAL(devx_run(&c, mlx5_devx_create, &one, sizeof(one), 16), 0);
	id = be32toh(devx_answer(&c).number);
	CU_ASSERT_EQUAL(query_counters(&c, id - 1, 0, COUNTERS(1)), -EINVAL); /* not of this object */
	CU_ASSERT_EQUAL(query_counters(&c, id + 1, 0, COUNTERS(1)), -EINVAL);
	CU_ASSERT_EQUAL(query_counters(&c, id, WHICH(NUM_OF_COUNTERS, 2), COUNTERS(2)), -EREMOTEIO);
	CU_ASSERT_EQUAL(devx_answer(&c).status, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	CU_ASSERT_EQUAL(query_counters(&c, id, WHICH(DUMP_TO_MEMORY, 1), COUNTERS(1)), -EREMOTEIO);
	CU_ASSERT_EQUAL(devx_answer(&c).status, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	CU_ASSERT_EQUAL(query_counters(&c, id, 0, COUNTERS(1) - 1), -EREMOTEIO);
	CU_ASSERT_EQUAL(devx_answer(&c).status, HCASIM_MLX5_CMD_STATUS_BAD_OUTP_LEN_ERR);
	free_counters(&c);
}

/* ---- Memory keys ---- */

static struct hcasim_mlx5_cmd_create_mkey mkey_of(uint32_t pdn)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_CREATE_MKEY, 0);
	struct hcasim_mlx5_cmd_create_mkey req = {
		.flags = htobe32(1u << 30 | 1 << 15 | 1 << 10 | HCASIM_MLX5_ACCESS_MODE_KLMS << 8),
		.qpn_mkey = htobe32(0xffffff00),
		.flags_pd = htobe32(pdn),
		.translations_octowords = htobe32(4),
	};

	memcpy(&req, &head, sizeof(head));
	return req;
}

static void test_mkeys(void)
{
	struct common_pd pd = {.base = {.ctx = &w.ctx.base}};
	struct hcasim_mlx5_cmd_create_mkey req;
	struct devx_call c[17] = {{.object = NULL}};
	unsigned int i;

	CU_ASSERT_EQUAL_FATAL(numbers_add(&common_dev(&w.dev)->pds, &pd, &pd.pdn), 0);
	req = mkey_of(pd.pdn);
	for (i = 0; i < 16; i++) { /* max_mr */
		CU_ASSERT_EQUAL_FATAL(devx_run(&c[i], mlx5_devx_create, &req, sizeof(req), 16), 0);
		CU_ASSERT_NOT_EQUAL(be32toh(devx_answer(&c[i]).number), 0);
	}
	devx_fails(mlx5_devx_create, &req, sizeof(req), 16, HCASIM_MLX5_CMD_STATUS_NO_RES_ERR);
	for (i = 0; i < 16; i++) {
		CU_ASSERT_EQUAL(mlx5_devx_destroy(c[i].object), 0);
		free(c[i].object);
	}
	CU_ASSERT_EQUAL(devx_run(&c[16], mlx5_devx_create, &req, sizeof(req), 16),
			0); /* there is space again */
	CU_ASSERT_EQUAL(mlx5_devx_destroy(c[16].object), 0);
	free(c[16].object);
	devx_fails(mlx5_devx_create, &req, sizeof(req) - 1, 16, HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR);
	pd.base.ctx = NULL; /* another program's */
	devx_fails(mlx5_devx_create, &req, sizeof(req), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	numbers_remove(&common_dev(&w.dev)->pds, pd.pdn);
	devx_fails(mlx5_devx_create, &req, sizeof(req), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
}

/* Pages, other kinds of translations, translations in the command, signatures, crypto; not free; without UMR; of a QP. */
static void test_refused_mkeys(void)
{
	struct common_pd pd = {.base = {.ctx = &w.ctx.base}};
	struct hcasim_mlx5_cmd_create_mkey req[8];
	unsigned int i;

	CU_ASSERT_EQUAL_FATAL(numbers_add(&common_dev(&w.dev)->pds, &pd, &pd.pdn), 0);
	for (i = 0; i < 8; i++)
		req[i] = mkey_of(pd.pdn);
	req[0].flags ^= htobe32(3 << 8);
	req[1].flags |= htobe32(1 << 26);
	req[2].actual_octowords = htobe32(1);
	req[3].flags_pd |= htobe32(1 << 30);
	req[4].crypto = htobe32(1 << 27);
	req[5].flags ^= htobe32(1 << 30);
	req[6].flags ^= htobe32(1 << 15);
	req[7].qpn_mkey = htobe32(0x1000);
	for (i = 0; i < 8; i++)
		devx_fails(mlx5_devx_create, &req[i], sizeof(req[i]), 16,
			   HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	numbers_remove(&common_dev(&w.dev)->pds, pd.pdn);
}

/* ---- Shared receive queues ---- */

#define RMPC(f, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_RMPC_##f##_MASK, v))

static struct hcasim_mlx5_rmpc rmpc_of(uint32_t pdn, uint32_t umem)
{
	return (struct hcasim_mlx5_rmpc){
		.dw0 = RMPC(STATE, HCASIM_MLX5_RMP_STATE_RDY),
		.wq = RMPC(WQ_TYPE, HCASIM_MLX5_WQ_TYPE_CYCLIC),
		.domain = RMPC(PD, pdn),
		.dbr_addr = htobe64(DEVX_BYTES - 8),
		.sizes = RMPC(LOG_WQ_STRIDE, 5) | RMPC(LOG_WQ_SZ, 11),
		.dbr_umem_id = htobe32(umem),
		.umem_id = htobe32(umem),
	};
}

static struct hcasim_mlx5_cmd_create_rmp create_rmp(const struct hcasim_mlx5_rmpc *c)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_CREATE_RMP, 0);
	struct hcasim_mlx5_cmd_create_rmp req = {0};

	memcpy(&req, &head, sizeof(head));
	memcpy(req.rmpc, c, sizeof(*c));
	return req;
}

static void rmps_refused(uint32_t pdn, uint32_t umem)
{
	struct hcasim_mlx5_rmpc bad[13];
	struct hcasim_mlx5_cmd_create_rmp req;
	unsigned int i;

	for (i = 0; i < 13; i++)
		bad[i] = rmpc_of(pdn, umem);
	bad[0].dw0 = RMPC(STATE, HCASIM_MLX5_RMP_STATE_ERR);
	bad[1].dw1 = RMPC(BASIC_CYCLIC, 1);
	bad[2].wq = RMPC(WQ_TYPE, 2); /* with strides */
	bad[3].wq |= RMPC(WQ_SIGNATURE, 1);
	bad[4].limit = RMPC(LWM, 1);
	bad[5].limit = RMPC(PAGE_OFFSET, 1);
	bad[6].domain = RMPC(PD, pdn + 1);
	bad[7].sizes = RMPC(LOG_WQ_STRIDE, 4) | RMPC(LOG_WQ_SZ, 3);
	bad[8].sizes = RMPC(LOG_WQ_STRIDE, 10) | RMPC(LOG_WQ_SZ, 3);
	bad[9].sizes = RMPC(LOG_WQ_STRIDE, 5) | RMPC(LOG_WQ_SZ, 31);
	bad[10].sizes = RMPC(LOG_WQ_STRIDE, 5) | RMPC(LOG_WQ_SZ, 13); /* more than the memory has */
	bad[11].umem_id = htobe32(umem + 1);
	bad[12].dbr_addr = htobe64(DEVX_BYTES - 4);
	for (i = 0; i < 13; i++) {
		req = create_rmp(&bad[i]);
		devx_fails(mlx5_devx_create, &req, sizeof(req), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	}
}

static void test_rmps(void)
{
	struct common_pd pd = {.base = {.ctx = &w.ctx.base}};
	struct umem_call umem = devx_memory();
	struct devx_call c = {.object = NULL};
	struct hcasim_mlx5_cmd_create_rmp req;
	struct hcasim_mlx5_rmpc context;

	CU_ASSERT_EQUAL_FATAL(numbers_add(&common_dev(&w.dev)->pds, &pd, &pd.pdn), 0);
	CU_ASSERT_EQUAL_FATAL(devx_reg_umem(&umem), 0);
	context = rmpc_of(pd.pdn, umem.id);
	for (unsigned int type = 0; type <= HCASIM_MLX5_WQ_TYPE_CYCLIC; type++) {
		context.wq = RMPC(WQ_TYPE, type);
		req = create_rmp(&context);
		c.held = 0;
		CU_ASSERT_EQUAL_FATAL(devx_run(&c, mlx5_devx_create, &req, sizeof(req), 16), 0);
		CU_ASSERT_EQUAL(c.held, 3);
		CU_ASSERT_PTR_EQUAL(common_find(&common_dev(&w.dev)->srqs, be32toh(devx_answer(&c).number)),
				    c.object);
		CU_ASSERT_EQUAL(mlx5_devx_destroy(c.object), 0);
		free(c.object);
	}
	rmps_refused(pd.pdn, umem.id);
	devx_free_umem(&umem);
	numbers_remove(&common_dev(&w.dev)->pds, pd.pdn);
}

/* ---- Queue pairs ---- */

static struct hcasim_mlx5_cmd_modify_qp set_sport(uint32_t qpn, uint16_t port)
{
	struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_RTS2RTS_QP, 0);
	struct hcasim_mlx5_cmd_modify_qp req = {
		.opt_param_mask_2 = htobe64(HCASIM_MLX5_CMD_MODIFY_QP_OPT_UDP_SPORT_MASK)};
	const struct hcasim_mlx5_ads path = {.dscp_sport = htobe32(port)};
	struct hcasim_mlx5_qpc qpc = {0};

	head.number = htobe32(qpn);
	memcpy(&req, &head, sizeof(head));
	memcpy(qpc.path, &path, sizeof(path));
	memcpy(req.qpc, &qpc, sizeof(qpc));
	return req;
}

static void modify_fails(const struct hcasim_mlx5_cmd_modify_qp *req, size_t len, uint8_t status)
{
	struct devx_call c = {.object = &w.qp, .type = UVERBS_OBJECT_QP};

	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_modify, req, len, 16), -EREMOTEIO);
	CU_ASSERT_EQUAL(devx_answer(&c).status, status);
}

static void test_udp_sport(void)
{
	const struct hcasim_mlx5_cmd_modify_qp req = set_sport(w.qp.qpn, 55555);
	struct devx_call c = {.object = &w.qp, .type = UVERBS_OBJECT_QP};
	struct hcasim_mlx5_cmd_modify_qp other = req;

	modify_fails(&req, sizeof(req), HCASIM_MLX5_CMD_STATUS_BAD_RES_STATE_ERR);
	devx_set_state(HCASIM_QPS_INIT);
	devx_set_state(HCASIM_QPS_RTR);
	devx_set_state(HCASIM_QPS_RTS);
	modify_fails(&req, sizeof(req) - 1, HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR);
	other.opt_param_mask_2 = htobe64(1);
	modify_fails(&other, sizeof(other), HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	other = req;
	other.opt_param_mask = htobe32(1);
	modify_fails(&other, sizeof(other), HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_modify, &req, sizeof(req), 16), 0);
	CU_ASSERT_EQUAL(devx_answer(&c).status, HCASIM_MLX5_CMD_STATUS_OK);
}

/* The number in the command is that of the handle's object, which is a queue pair. */
static void test_wrong_object(void)
{
	const struct hcasim_mlx5_cmd_modify_qp req = set_sport(w.qp.qpn, 55555),
					       other = set_sport(w.qp.qpn + 1, 55555);
	struct devx_call c = {.object = &w.qp, .type = UVERBS_OBJECT_QP},
			 cq = {.object = &w.qp, .type = UVERBS_OBJECT_CQ},
			 none = {.object = NULL, .type = UVERBS_OBJECT_QP};

	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_modify, &other, sizeof(other), 16), -EINVAL);
	CU_ASSERT_EQUAL(devx_run(&cq, mlx5_devx_modify, &req, sizeof(req), 16), -EINVAL);
	CU_ASSERT_EQUAL(devx_run(&none, mlx5_devx_modify, &req, sizeof(req), 16), -EINVAL);
	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_query, &req, sizeof(req), 16), -EINVAL);
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"capabilities", test_capabilities},
					    {"quality of service", test_qos},
					    {"flow tables", test_flow_tables},
					    {"changes by flows", test_flow_changes},
					    {"atomics", test_atomic},
					    {"no bond", test_lag},
					    {"short capabilities", test_short_capabilities},
					    {"refused general commands", test_refused_general},
					    {"lengths", test_lengths},
					    {"context without DEVX", test_context_without_devx},
					    {"reserved numbers", test_reserved_qpns},
					    {"flow counters", test_flow_counters},
					    {"refused flow counters", test_refused_counters},
					    {"memory keys", test_mkeys},
					    {"refused memory keys", test_refused_mkeys},
					    {"refused objects", test_refused_objects},
					    {"shared receive queues", test_rmps},
					    {"UDP source port", test_udp_sport},
					    {"wrong object", test_wrong_object},
					    CU_TEST_INFO_NULL};

	return suite_run("mlx5 DEVX", devx_world_init, devx_world_exit, tests);
}
