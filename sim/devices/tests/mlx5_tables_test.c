// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tables of flows that programs make by DEVX, their groups and entries, and TIRs: what is refused, and any content. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "mlx5_tables.h"
#include "suite.h"

#define BAD_PARAM HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR

static void is_refused(const void *req, size_t size)
{
	devx_fails(mlx5_devx_create, req, size, ANSWER, BAD_PARAM);
}

/* ---- Tables, groups, entries ---- */

static void test_types(void)
{
	static const uint8_t type[] = {TYPE(NIC_RX), TYPE(NIC_TX), TYPE(RDMA_RX), TYPE(RDMA_TX)};
	uint32_t table, group;
	void *obj[3];

	for (unsigned int i = 0; i < sizeof(type); i++) {
		const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_SET_FLOW_TABLE_ENTRY, 0);
		struct entry_req req;

		obj[0] = devx_new_table(type[i], 200, 0, &table);
		obj[1] = devx_new_group(type[i], table, 0, 0, &group);
		req = devx_entry_of(type[i], table, group, 0, ACTION(DROP));
		CU_ASSERT_EQUAL(memcmp(&req, &head, sizeof(req.fte.head)), 0);
		obj[2] = devx_make(&req, sizeof(req.fte), 1, NULL); /* without lists behind it */
		devx_end(obj[2]);
		devx_end(obj[1]);
		devx_end(obj[0]);
	}
	devx_all_gone();
}

static void test_refused_tables(void)
{
	const uint32_t flags[] = {TABLE(REFORMAT_EN, 1), TABLE(DECAP_EN, 1), TABLE(SW_OWNER, 1),
				  TABLE(TERMINATION_TABLE, 1), TABLE(TABLE_MISS_ACTION, 2)};
	table_req req = devx_table_of(TYPE(NIC_RX), 1, HCASIM_MLX5_LOG_MAX_FT_SIZE + 1), chained;
	uint32_t low, other;
	void *obj[2];

	is_refused(&req, sizeof(req));
	req = devx_table_of(4, 1, 0); /* of an embedded switch */
	is_refused(&req, sizeof(req));
	req = devx_table_of(TYPE(NIC_RX), 1, 0);
	req.vport = TABLE(OTHER_VPORT, 1);
	is_refused(&req, sizeof(req));
	for (unsigned int i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		req = devx_table_of(TYPE(NIC_RX), 1, 0);
		req.context |= flags[i];
		is_refused(&req, sizeof(req));
	}
	devx_fails(mlx5_devx_create, &req, sizeof(req) - 1, ANSWER, HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR);

	obj[0] = devx_new_table(TYPE(NIC_RX), 5, 0, &low);
	obj[1] = devx_new_table(TYPE(NIC_TX), 9, 0, &other);
	chained = devx_table_of(TYPE(NIC_RX), 4, 0);
	chained.context |= TABLE(TABLE_MISS_ACTION, HCASIM_MLX5_FLOW_MISS_FWD);
	chained.miss = TABLE(TABLE_MISS_ID, other);
	is_refused(&chained, sizeof(chained));
	chained.miss = TABLE(TABLE_MISS_ID, other + 1);
	is_refused(&chained, sizeof(chained));
	chained.miss = TABLE(TABLE_MISS_ID, low);
	devx_end(devx_make(&chained, sizeof(chained), 1, NULL));
	chained.context ^= TABLE(LEVEL, 4 ^ 5);
	is_refused(&chained, sizeof(chained));
	devx_end(obj[0]);
	devx_end(obj[1]);
	devx_all_gone();
}

static void test_refused_groups(void)
{
	void *table, *group;
	uint32_t number;
	group_req req, other;

	table = devx_new_table(TYPE(NIC_RX), 1, 4, &number);
	group = devx_new_group(TYPE(NIC_RX), number, 4, 7, NULL);
	const struct {
		uint8_t type;
		uint32_t table, first, last;
	} bad[] = {
		{TYPE(NIC_TX), number, 0, 0},  {TYPE(NIC_RX), number + 1, 0, 0},
		{TYPE(NIC_RX), number, 1, 0},  {TYPE(NIC_RX), number, 15, 16},
		{TYPE(NIC_RX), number, 0, 4},  {TYPE(NIC_RX), number, 7, 8},
		{TYPE(NIC_RX), number, 0, 15}, {TYPE(NIC_RX), number, 5, 6},
	};
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		req = devx_group_of(bad[i].type, bad[i].table, bad[i].first, bad[i].last);
		is_refused(&req, sizeof(req));
	}
	devx_end(devx_new_group(TYPE(NIC_RX), number, 0, 3, NULL));
	devx_end(devx_new_group(TYPE(NIC_RX), number, 8, 15, NULL));
	req = devx_group_of(TYPE(NIC_RX), number, 0, 3);
	devx_fails(mlx5_devx_create, &req, sizeof(req) - 1, ANSWER, HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR);
	other = req;
	other.vport = GROUP(OTHER_VPORT, 1);
	is_refused(&other, sizeof(other));
	other = req;
	other.type |= GROUP(GROUP_TYPE, 1);
	is_refused(&other, sizeof(other));
	other = req;
	other.definer = GROUP(MATCH_DEFINER_ID, 1);
	is_refused(&other, sizeof(other));
	other = req;
	other.criteria = GROUP(MATCH_CRITERIA_ENABLE, 4);
	is_refused(&other, sizeof(other));
	other = req;
	other.match_criteria[sizeof(struct mlx5_match)] = 1;
	is_refused(&other, sizeof(other));

	CU_ASSERT_EQUAL(mlx5_devx_destroy(table), -EBUSY);
	devx_end(group);
	devx_end(table);
	devx_all_gone();
}

static void entry_refused(struct entry_req req)
{
	is_refused(&req, sizeof(req));
}

static void test_refused_places(void)
{
	struct place p, other;
	struct entry_req req;
	void *entry;

	devx_set_up(&p, TYPE(NIC_RX), 1);
	devx_set_up(&other, TYPE(NIC_RX), 1);
	entry_refused(devx_entry_of(TYPE(NIC_TX), p.table_id, p.group_id, 2, ACTION(DROP)));
	entry_refused(devx_entry_of(TYPE(NIC_RX), other.table_id, p.group_id, 2, ACTION(DROP)));
	entry_refused(devx_entry_of(TYPE(NIC_RX), p.table_id, other.group_id, 2, ACTION(DROP)));
	entry_refused(devx_entry_of(TYPE(NIC_RX), other.table_id + 1, p.group_id, 2, ACTION(DROP)));
	entry_refused(devx_entry_of(TYPE(NIC_RX), p.table_id, other.group_id + 1, 2, ACTION(DROP)));
	entry_refused(devx_entry_of(TYPE(NIC_RX), p.table_id, p.group_id, 1, ACTION(DROP)));
	entry_refused(devx_entry_of(TYPE(NIC_RX), p.table_id, p.group_id, 4, ACTION(DROP)));
	req = devx_entry_of(TYPE(NIC_RX), p.table_id, p.group_id, 2, ACTION(DROP));
	devx_fails(mlx5_devx_create, &req, sizeof(req.fte) - 1, ANSWER,
		   HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR);
	entry = devx_make(&req, sizeof(req), 1, NULL);
	req.fte.match_value[DMAC] = 1;
	entry_refused(req); /* the index is in use */
	req.fte.flow_index = htobe32(3);
	devx_end(devx_make(&req, sizeof(req), 1, NULL));
	req.fte.match_value[DMAC] = 0;
	entry_refused(req); /* so is the value */
	CU_ASSERT_EQUAL(mlx5_devx_destroy(p.group), -EBUSY);
	CU_ASSERT_EQUAL(mlx5_devx_destroy(p.table), -EBUSY);
	devx_end(entry);
	devx_tear_down(&p);
	devx_tear_down(&other);
	devx_all_gone();
}

static void test_refused_actions(void)
{
	const __be32 action[] = {0, ACTION(COUNT), ACTION(DROP) | ACTION(FWD_DEST), ACTION(ALLOW),
				 ACTION(DROP) | FTE(ACTION, 0x10)};
	struct entry_req req, good;
	struct place p, behind;
	uint32_t counter_id;
	void *counter;

	devx_set_up(&p, TYPE(NIC_RX), 1);
	devx_set_up(&behind, TYPE(NIC_RX), 2);
	counter = devx_new_counter(&counter_id);
	for (unsigned int i = 0; i < sizeof(action) / sizeof(action[0]); i++)
		entry_refused(devx_entry_of(TYPE(NIC_RX), p.table_id, p.group_id, 2, action[i]));
	good = devx_entry_of(TYPE(NIC_RX), p.table_id, p.group_id, 2, 0);
	devx_lead(&good, behind.table_id);
	good.fte.actions |= ACTION(COUNT);
	good.fte.counters = FTE(FLOW_COUNTER_LIST_SIZE, 1);
	good.item[2] = htobe32(counter_id);
	devx_end(devx_make(&good, sizeof(good), 3, NULL));
	devx_fails(mlx5_devx_create, &good, sizeof(good) - 8, ANSWER, BAD_PARAM); /* the counter is missing */
	devx_fails(mlx5_devx_create, &good, sizeof(good) - 16, ANSWER, BAD_PARAM);
	for (unsigned int i = 0; i < 10; i++) {
		req = good;
		switch (i) {
		case 0:
			devx_lead(&req, p.table_id); /* to itself */
			break;
		case 1:
			devx_lead(&req, behind.table_id + 1);
			break;
		case 2:
			req.item[0] ^= htobe32(2u << 24); /* to what there is not */
			break;
		case 3:
			req.item[1] = htobe32(1);
			break;
		case 4:
			req.fte.destinations = FTE(DESTINATION_LIST_SIZE, 2);
			break;
		case 5:
			req.item[2] = htobe32(counter_id + 1);
			break;
		case 6:
			req.fte.counters = FTE(FLOW_COUNTER_LIST_SIZE, 2);
			break;
		case 7:
			req.fte.actions ^= ACTION(COUNT);
			break;
		case 8:
			req.fte.modify = FTE(IGNORE_FLOW_LEVEL, 1);
			break;
		default:
			req.fte.head[7] = 1; /* op_mod: change it */
		}
		entry_refused(req);
	}
	devx_tear_down(&p);
	devx_tear_down(&behind);
	devx_end(counter);
	devx_all_gone();
}

/* ---- TIRs ---- */

/* A work queue of verbs of the same program. */
static void new_wq(struct drv_qp *wq, struct drv_pd *pd)
{
	struct hca_cq_attr cq = {.ring = {.entries = 4, .stride = 64}, .eqn = common_dev(&w.dev)->eq[1].eqn};
	struct hca_qp_attr_create attr = {
		.type = HCASIM_QPT_RAW_PACKET, .wq = true, .pdn = 1, .rq = {.entries = 4, .stride = 64}};

	*wq = (struct drv_qp){.dev = &w.dev, .type = HCASIM_QPT_RAW_PACKET, .wq = true, .pd = pd};
	CU_ASSERT_EQUAL_FATAL(hca_cq_create(w.dev.hca, &cq, &attr.recv_cqn), 0);
	CU_ASSERT_EQUAL_FATAL(common_create_qp(wq, &attr), 0);
}

static struct hcasim_mlx5_cmd_create_tir tir_of(uint32_t rqn)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_CREATE_TIR, 0);
	struct hcasim_mlx5_cmd_create_tir req = {.rq = htobe32(rqn)};

	memcpy(&req, &head, sizeof(head));
	return req;
}

static void tirs_refused(const struct hcasim_mlx5_cmd_create_tir *good)
{
	struct hcasim_mlx5_cmd_create_tir bad[8];

	for (unsigned int i = 0; i < 8; i++)
		bad[i] = *good;
	bad[0].kind = htobe32(1u << 28); /* by a table */
	bad[1].lro = htobe32(1u << 8);
	bad[2].vhca = htobe32(1u << 31);
	bad[3].rq |= htobe32(1u << 24);
	bad[4].table = htobe32(1);
	bad[5].hash = htobe32(1u << 28);
	bad[6].rq = htobe32(w.qp.qpn);
	bad[7].rq = htobe32(0xfffff0);
	for (unsigned int i = 0; i < 8; i++)
		is_refused(&bad[i], sizeof(bad[i]));
	devx_fails(mlx5_devx_create, good, sizeof(*good) - 1, ANSWER, HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR);
}

static void test_tirs(void)
{
	static struct mlx5_ucontext other;
	struct drv_pd pd = {.ctx = &w.ctx.base};
	struct hcasim_mlx5_cmd_create_tir req;
	struct entry_req entry;
	struct place p, sent;
	struct drv_qp wq;
	uint32_t number;
	void *tir;

	new_wq(&wq, &pd);
	req = tir_of(wq.qpn);
	tirs_refused(&req);
	tir = devx_make(&req, sizeof(req), 1, &number);
	devx_set_up(&p, TYPE(NIC_RX), 1);
	devx_set_up(&sent, TYPE(NIC_TX), 1);
	entry = devx_entry_of(TYPE(NIC_RX), p.table_id, p.group_id, 2, 0);
	devx_lead(&entry, number);
	entry.item[0] = htobe32(HCASIM_MLX5_FLOW_DEST_TIR << 24 | number);
	devx_end(devx_make(&entry, sizeof(entry), 2, NULL));
	entry.item[0] = htobe32(HCASIM_MLX5_FLOW_DEST_TIR << 24 | (number + 1));
	entry_refused(entry);
	entry = devx_entry_of(TYPE(NIC_TX), sent.table_id, sent.group_id, 2, 0);
	devx_lead(&entry, number);
	entry.item[0] = htobe32(HCASIM_MLX5_FLOW_DEST_TIR << 24 | number);
	entry_refused(entry);
	devx_tear_down(&p);
	devx_tear_down(&sent);
	devx_end(tir);
	pd.ctx = &other.base;
	is_refused(&req, sizeof(req));
	CU_ASSERT_EQUAL(common_destroy_qp(&wq), 0);
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->tirs.used, 0);
	devx_all_gone();
}

/*
 * Objects that mlx5_ib lets a program make and this adapter does not have: PSVs, SRQs, XRC SRQs, DCTs, XRQs, counters of
 * queues, elements, multicast groups, XRC domains, VXLAN ports, MAC addresses, SQs, RQs, TISs, RQTs, headers, changes.
 */
static void test_absent_objects(void)
{
	static const uint16_t opcodes[] = {0x600, 0x700, 0x705, 0x710, 0x717, 0x771, 0x782, 0x806, 0x80e,
					   0x827, 0x829, 0x904, 0x908, 0x912, 0x916, 0x93d, 0x940};

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		const struct hcasim_mlx5_cmd_in in = devx_command(opcodes[i], 0);
		struct devx_call c = {.object = NULL};

		CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_create, &in, sizeof(in), 16), -EOPNOTSUPP);
		CU_ASSERT_FALSE(c.answered);
		free(c.object);
	}
}

/* The adapter does not have these commands: a library takes them for a feature that is absent. */
static void test_absent_commands(void)
{
	const struct hcasim_mlx5_cmd_in query = devx_command(HCASIM_MLX5_CMD_QUERY_FLOW_TABLE, 0),
					change = devx_command(HCASIM_MLX5_CMD_SET_FLOW_TABLE_ENTRY, 1),
					create = devx_command(HCASIM_MLX5_CMD_CREATE_FLOW_TABLE, 0);
	struct devx_call c = {.type = MLX5_IB_OBJECT_DEVX_OBJ};
	struct place p;

	devx_set_up(&p, TYPE(NIC_RX), 1);
	c.object = p.table;
	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_query, &query, sizeof(query), ANSWER), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_modify, &change, sizeof(change), ANSWER), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_query, &create, sizeof(create), ANSWER), -EINVAL);
	CU_ASSERT_FALSE(c.answered);
	devx_tear_down(&p);
	devx_all_gone();
}

/* Programs have numbers of their own. */
static void test_other_context(void)
{
	static struct mlx5_ucontext other;
	struct mlx5_devx_obj *table;
	struct place p;

	devx_set_up(&p, TYPE(NIC_RX), 1);
	table = p.table;
	table->ctx = &other.base;
	const group_req group = devx_group_of(TYPE(NIC_RX), p.table_id, 0, 0);
	is_refused(&group, sizeof(group));
	entry_refused(devx_entry_of(TYPE(NIC_RX), p.table_id, p.group_id, 2, ACTION(DROP)));
	devx_tear_down(&p);
	devx_all_gone();
}

/* ---- Any content ---- */

static void random_bytes(uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		at[i] = rand() % 40 ? 0 : (uint8_t)(rand() % 4 ? rand() % 4 : rand());
}

/* Right where `like` is, but for some bytes, and as long as it happens to be. */
static void random_command(const void *like, size_t size)
{
	const size_t len = sizeof(struct hcasim_mlx5_cmd_in) + (size_t)rand() % 900,
		     same = size < len ? size : len;
	struct devx_call c = {.object = NULL};
	uint8_t *bytes = malloc(len), change;

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	random_bytes(bytes, len);
	for (size_t i = 0; i < same; i++) {
		change = i < 2 ? 0 : bytes[i];
		bytes[i] = ((const uint8_t *)like)[i] ^ change;
	}
	devx_run(&c, mlx5_devx_create, bytes, len, ANSWER);
	free(bytes);
	if (c.object)
		devx_end(c.object);
}

static void test_random(void)
{
	struct place p, behind;
	struct entry_req entry;
	group_req group;
	table_req table;

	devx_set_up(&p, TYPE(NIC_RX), 1);
	devx_set_up(&behind, TYPE(NIC_RX), 2);
	table = devx_table_of(TYPE(NIC_RX), 1, 2);
	group = devx_group_of(TYPE(NIC_RX), p.table_id, 0, 1);
	entry = devx_entry_of(TYPE(NIC_RX), p.table_id, p.group_id, 2, 0);
	devx_lead(&entry, behind.table_id);
	for (unsigned int i = 0; i < 20000; i++) {
		random_command(&table, sizeof(table));
		random_command(&group, sizeof(group));
		random_command(&entry, sizeof(entry));
	}
	devx_tear_down(&p);
	devx_tear_down(&behind);
	devx_all_gone();
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"types of tables", test_types},
					    {"refused tables", test_refused_tables},
					    {"refused groups", test_refused_groups},
					    {"refused places", test_refused_places},
					    {"refused actions", test_refused_actions},
					    {"TIRs", test_tirs},
					    {"absent objects", test_absent_objects},
					    {"absent commands", test_absent_commands},
					    {"other context", test_other_context},
					    {"random commands", test_random},
					    CU_TEST_INFO_NULL};

	return suite_run("mlx5 tables", devx_world_init, devx_world_exit, tests);
}
