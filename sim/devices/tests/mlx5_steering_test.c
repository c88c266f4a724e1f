// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flows of mlx5dv: where they lead, and the way of a frame through tables of DEVX. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "core/personality.h"
#include "mlx5_tables.h"
#include "suite.h"

/* ---- Flows of mlx5dv ---- */

struct flow_call {
	struct drv_call base;
	struct mlx5_matcher matcher;
	struct hcasim_mlx5_match_outer value;
	void *devx, *counter;
	struct mlx5_flow_action *action[2]; /* NULL: none */
	struct drv_qp *qp;
	uint64_t flags;
	uint32_t tag, offset;
	bool tagged;
	struct common_flow *flow;
	unsigned int used;
};

static bool flow_has(struct drv_call *base, uint16_t id)
{
	const struct flow_call *c = (const struct flow_call *)base;

	return (id == MLX5_IB_ATTR_CREATE_FLOW_FLAGS && c->flags) ||
	       (id == MLX5_IB_ATTR_CREATE_FLOW_TAG && c->tagged) ||
	       (id == MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX_OFFSET && c->offset);
}

static int flow_get(struct drv_call *base, uint16_t id, void *dst, size_t size)
{
	const struct flow_call *c = (const struct flow_call *)base;

	memset(dst, 0, size);
	if (id == MLX5_IB_ATTR_CREATE_FLOW_FLAGS)
		memcpy(dst, &c->flags, size);
	else if (id == MLX5_IB_ATTR_CREATE_FLOW_TAG)
		memcpy(dst, &c->tag, size);
	else if (id == MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX_OFFSET)
		memcpy(dst, &c->offset, size);
	else
		memcpy(dst, &c->value, sizeof(c->value));
	return 0;
}

static void *flow_object(struct drv_call *base, uint16_t id)
{
	struct flow_call *c = (struct flow_call *)base;

	switch (id) {
	case MLX5_IB_ATTR_CREATE_FLOW_MATCHER:
		return &c->matcher;
	case MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX:
		return c->devx;
	case MLX5_IB_ATTR_CREATE_FLOW_DEST_QP:
		return c->qp;
	case MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX:
		return c->counter;
	default:
		return NULL;
	}
}

static void *flow_object_at(struct drv_call *base, uint16_t id, unsigned int n)
{
	CU_ASSERT_EQUAL(id, MLX5_IB_ATTR_CREATE_FLOW_ARR_FLOW_ACTIONS);
	return n < 2 ? ((struct flow_call *)base)->action[n] : NULL;
}

static void *flow_create(struct drv_call *base, uint16_t id, size_t size)
{
	return ((struct flow_call *)base)->flow = calloc(1, size);
}

static void flow_use(struct drv_call *base, uint16_t id, uint16_t used)
{
	((struct flow_call *)base)->used++;
}

static void flow_hold(struct drv_call *base, uint16_t id, const void *drv)
{
	((struct flow_call *)base)->used++;
}

static int create_flow(struct flow_call *c)
{
	static const struct drv_call_ops ops = {.has = flow_has,
						.get = flow_get,
						.object = flow_object,
						.object_at = flow_object_at,
						.create = flow_create,
						.use = flow_use,
						.hold = flow_hold};

	c->base = (struct drv_call){.ops = &ops, .dev = &w.dev, .ctx = &w.ctx.base};
	return mlx5_create_flow(&c->base);
}

static void end_flow(struct flow_call *c)
{
	CU_ASSERT_EQUAL(common_destroy_flow(&c->flow->base), 0);
	free(c->flow);
}

static struct drv_qp raw_qp(void)
{
	struct hca_cq_attr cq = {.ring = {.entries = 4, .stride = 64}, .eqn = common_dev(&w.dev)->eq[1].eqn};
	struct hca_qp_attr_create attr = {
		.type = HCASIM_QPT_RAW_PACKET, .pdn = 1, .sq = {.entries = 4, .stride = 64}};
	struct drv_qp qp = {.dev = &w.dev, .type = HCASIM_QPT_RAW_PACKET};

	CU_ASSERT_EQUAL_FATAL(hca_cq_create(w.dev.hca, &cq, &attr.send_cqn), 0);
	attr.recv_cqn = attr.send_cqn;
	CU_ASSERT_EQUAL_FATAL(hca_qp_create(w.dev.hca, &attr, &qp.qpn), 0);
	return qp;
}

/* Of a flow on each side, which lead to what: 0, or the error. */
static void test_destinations(void)
{
	enum { NONE, QP, TABLE_, COUNTER_, DROP_, MISS, BOTH, QP_DROP, QP_TABLE, TABLE_DROP, OTHER, NUM };
	static const int expected[HCA_FLOW_SIDES][NUM] = {
		[HCA_FLOW_RX] = {-EINVAL, 0, 0, -EINVAL, 0, 0, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL},
		[HCA_FLOW_ROCE_RX] = {-EINVAL, 0, 0, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL,
				      -EINVAL, -EINVAL},
		[HCA_FLOW_TX] = {0, -EINVAL, 0, -EINVAL, 0, 0, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL},
		[HCA_FLOW_ROCE_TX] = {0, -EINVAL, 0, -EINVAL, 0, 0, -EINVAL, -EINVAL, -EINVAL, -EINVAL,
				      -EINVAL},
	};
	static const uint8_t type[] = {[HCA_FLOW_RX] = TYPE(NIC_RX),
				       [HCA_FLOW_ROCE_RX] = TYPE(RDMA_RX),
				       [HCA_FLOW_TX] = TYPE(NIC_TX),
				       [HCA_FLOW_ROCE_TX] = TYPE(RDMA_TX)};
	const uint64_t drop = MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP,
		       miss = MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DEFAULT_MISS;
	struct drv_qp qp = raw_qp();
	void *counter = devx_new_counter(NULL);

	for (unsigned int side = 0; side < HCA_FLOW_SIDES; side++) {
		void *table = devx_new_table(type[side], 1, 0, NULL),
		     *foreign = devx_new_table(type[(side + 1) % HCA_FLOW_SIDES], 1, 0, NULL);
		struct flow_call c[NUM] = {
			[QP] = {.qp = &qp},
			[TABLE_] = {.devx = table},
			[COUNTER_] = {.devx = counter},
			[DROP_] = {.flags = drop},
			[MISS] = {.flags = miss},
			[BOTH] = {.flags = drop | miss},
			[QP_DROP] = {.qp = &qp, .flags = drop},
			[QP_TABLE] = {.qp = &qp, .devx = table},
			[TABLE_DROP] = {.devx = table, .flags = drop},
			[OTHER] = {.devx = foreign},
		};

		for (unsigned int i = 0; i < NUM; i++) {
			c[i].matcher.side = (uint8_t)side;
			CU_ASSERT_EQUAL(create_flow(&c[i]), expected[side][i]);
			if (!c[i].flow)
				continue;
			CU_ASSERT_EQUAL(c[i].used, 1 + (c[i].qp || c[i].devx));
			CU_ASSERT_EQUAL(mlx5_devx_destroy(table), c[i].devx ? -EBUSY : 0);
			if (!c[i].devx) {
				free(table);
				table = devx_new_table(type[side], 1, 0, NULL);
				c[TABLE_].devx = c[QP_TABLE].devx = c[TABLE_DROP].devx = table;
			}
			end_flow(&c[i]);
		}
		devx_end(table);
		devx_end(foreign);
	}
	devx_end(counter);
	CU_ASSERT_EQUAL(hca_qp_destroy(w.dev.hca, qp.qpn), 0);
	devx_all_gone();
}

static void test_refused_flows(void)
{
	struct flow_call tagged = {.tagged = true, .tag = 0xffffff}, drop, c;
	struct drv_qp qp = raw_qp(), rc = {.dev = &w.dev, .type = HCASIM_QPT_RC, .qpn = w.qp.qpn};

	tagged.qp = &qp;
	CU_ASSERT_EQUAL(create_flow(&tagged), 0);
	c = (struct flow_call){.qp = &qp, .tagged = true, .tag = 0x1000000};
	CU_ASSERT_EQUAL(create_flow(&c), -EINVAL);
	c.tag = 5;
	CU_ASSERT_EQUAL(create_flow(&c), -EEXIST); /* the same rule with another tag */
	drop = (struct flow_call){.flags = MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP};
	CU_ASSERT_EQUAL(create_flow(&drop), -EEXIST);
	end_flow(&tagged);
	drop.flags = 4;
	CU_ASSERT_EQUAL(create_flow(&drop), -EINVAL);
	c = (struct flow_call){.qp = &rc};
	CU_ASSERT_EQUAL(create_flow(&c), -EINVAL);
	CU_ASSERT_EQUAL(hca_qp_destroy(w.dev.hca, qp.qpn), 0);
}

static int count_by(void *counter, uint32_t offset)
{
	struct flow_call c = {
		.flags = MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP, .counter = counter, .offset = offset};
	const int ret = create_flow(&c);

	if (!ret)
		end_flow(&c);
	return ret;
}

static void test_counters(void)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_ALLOC_FLOW_COUNTER, 0);
	struct hcasim_mlx5_cmd_alloc_flow_counter four = {
		.bulk = htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_ALLOC_FLOW_COUNTER_LOG_BULK_MASK, 2))};
	void *counters, *table = devx_new_table(TYPE(NIC_RX), 1, 0, NULL);

	memcpy(&four, &head, sizeof(four.head));
	counters = devx_make(&four, sizeof(four), 0, NULL);
	CU_ASSERT_EQUAL(count_by(counters, 0), 0);
	CU_ASSERT_EQUAL(count_by(counters, 3), 0);
	CU_ASSERT_EQUAL(count_by(counters, 4), -EINVAL);
	CU_ASSERT_EQUAL(count_by(table, 0), -EINVAL);
	devx_end(counters);
	devx_end(table);
}

/* Changes of a frame that is sent, alone and with what they do not go with. */
static void test_actions(void)
{
	const struct hca_edit ttl = {.kind = HCA_EDIT_ADD, .header = HCA_HEADER_IPV4, .to = 64, .bits = 8};
	struct mlx5_flow_action sent = {.side = HCA_FLOW_TX, .num_edits = 1, .edit = {ttl}},
				received = {.side = HCA_FLOW_RX, .num_edits = 1, .edit = {ttl}},
				into = {.side = HCA_FLOW_TX, .head_len = 50};
	struct flow_call c = {.matcher.side = HCA_FLOW_TX, .action = {&sent}}, none = {.matcher = c.matcher};

	CU_ASSERT_EQUAL(create_flow(&c), 0);
	CU_ASSERT_EQUAL(c.used, 2); /* the matcher, and the action */
	CU_ASSERT_EQUAL(create_flow(&none), -EEXIST);
	end_flow(&c);
	c.action[1] = &sent;
	CU_ASSERT_EQUAL(create_flow(&c), -EINVAL);
	c.action[1] = &into;
	CU_ASSERT_EQUAL(create_flow(&c), 0); /* a list of changes, and a tunnel */
	CU_ASSERT_EQUAL(c.used, 5);
	end_flow(&c);
	c.action[0] = &into;
	CU_ASSERT_EQUAL(create_flow(&c), -EINVAL);
	c.action[0] = &received;
	c.action[1] = NULL;
	CU_ASSERT_EQUAL(create_flow(&c), -EINVAL);
	c = (struct flow_call){.flags = MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP, .action = {&received}};
	CU_ASSERT_EQUAL(create_flow(&c), 0);
	end_flow(&c);
}

/* ---- A frame's way ---- */

static void receive(uint8_t address)
{
	struct hca_packet *pkt = hca_packet_alloc(64);
	struct hca_work work;

	CU_ASSERT_PTR_NOT_NULL_FATAL(pkt);
	memset(pkt->data, 0, 64);
	pkt->len = 64;
	pkt->data[5] = address;
	pkt->data[12] = 0x88;
	pkt->data[13] = 0xb5;
	hca_rx(w.dev.hca, 1, pkt);
	while (hca_stage_pending(w.dev.hca, HCA_STAGE_RX, &work))
		hca_stage_step(w.dev.hca, HCA_STAGE_RX);
}

static uint64_t counted(const void *counter)
{
	return mlx5_devx_flow_counter(counter, 0)->packets;
}

/* From the root to a table, whose entries lead to the next one, or drop. */
static void test_way(void)
{
	struct flow_call root = {.matcher.side = HCA_FLOW_RX};
	struct place first, last;
	struct entry_req req;
	uint32_t id[2];
	void *counter[3], *entry[2];

	CU_ASSERT_EQUAL_FATAL(hca_port_set(w.dev.hca, 1, true, 5), 0);
	for (unsigned int i = 0; i < 3; i++)
		counter[i] = devx_new_counter(i < 2 ? &id[i] : NULL);
	devx_set_up(&first, TYPE(NIC_RX), 1);
	devx_set_up(&last, TYPE(NIC_RX), 2);
	root.devx = first.table;
	root.counter = counter[2];
	CU_ASSERT_EQUAL_FATAL(create_flow(&root), 0);
	CU_ASSERT_EQUAL(root.used, 3);

	req = devx_entry_of(TYPE(NIC_RX), last.table_id, last.group_id, 3, ACTION(DROP) | ACTION(COUNT));
	req.fte.match_value[DMAC + 5] = 7;
	req.fte.counters = FTE(FLOW_COUNTER_LIST_SIZE, 1);
	req.item[0] = htobe32(id[1]);
	entry[1] = devx_make(&req, sizeof(req), 2, NULL);
	req = devx_entry_of(TYPE(NIC_RX), first.table_id, first.group_id, 2, ACTION(COUNT));
	devx_lead(&req, last.table_id);
	req.fte.match_value[DMAC + 5] = 7;
	req.fte.counters = FTE(FLOW_COUNTER_LIST_SIZE, 1);
	req.item[2] = htobe32(id[0]);
	entry[0] = devx_make(&req, sizeof(req), 3, NULL);

	receive(7);
	receive(8);
	CU_ASSERT(counted(counter[2]) == 2 && counted(counter[0]) == 1 && counted(counter[1]) == 1);
	devx_end(entry[1]);
	receive(7);
	CU_ASSERT(counted(counter[2]) == 3 && counted(counter[0]) == 2 && counted(counter[1]) == 1);
	CU_ASSERT_EQUAL(mlx5_devx_destroy(last.table), -EBUSY);
	devx_end(entry[0]);
	receive(7);
	CU_ASSERT(counted(counter[2]) == 4 && counted(counter[0]) == 2);
	devx_tear_down(&last);
	devx_end(first.group);
	CU_ASSERT_EQUAL(mlx5_devx_destroy(first.table), -EBUSY); /* the flow of the root leads there */
	end_flow(&root);
	devx_end(first.table);
	for (unsigned int i = 0; i < 3; i++)
		devx_end(counter[i]);
	CU_ASSERT_EQUAL(hca_port_set(w.dev.hca, 1, false, 5), 0);
	devx_all_gone();
}

static void *counting_drop(const struct place *p, uint32_t group, uint32_t index, uint32_t counter)
{
	struct entry_req req =
		devx_entry_of(TYPE(NIC_RX), p->table_id, group, index, ACTION(DROP) | ACTION(COUNT));

	req.fte.match_value[DMAC + 5] = 7;
	req.fte.counters = FTE(FLOW_COUNTER_LIST_SIZE, 1);
	req.item[0] = htobe32(counter);
	return devx_make(&req, sizeof(req), 2, NULL);
}

/* Of two entries that match a frame the one with the lower index takes it, even if it is younger. */
static void test_order(void)
{
	struct flow_call root = {.matcher.side = HCA_FLOW_RX};
	uint32_t id[2], low;
	void *counter[2], *group, *entry[2];
	struct place p;

	CU_ASSERT_EQUAL_FATAL(hca_port_set(w.dev.hca, 1, true, 5), 0);
	for (unsigned int i = 0; i < 2; i++)
		counter[i] = devx_new_counter(&id[i]);
	devx_set_up(&p, TYPE(NIC_RX), 1);
	group = devx_new_group(TYPE(NIC_RX), p.table_id, 0, 1, &low);
	root.devx = p.table;
	CU_ASSERT_EQUAL_FATAL(create_flow(&root), 0);
	entry[0] = counting_drop(&p, p.group_id, 2, id[0]);
	entry[1] = counting_drop(&p, low, 1, id[1]);
	receive(7);
	CU_ASSERT(counted(counter[0]) == 0 && counted(counter[1]) == 1);
	devx_end(entry[1]);
	receive(7);
	CU_ASSERT(counted(counter[0]) == 1 && counted(counter[1]) == 1);
	devx_end(entry[0]);
	end_flow(&root);
	devx_end(group);
	devx_tear_down(&p);
	devx_end(counter[0]);
	devx_end(counter[1]);
	CU_ASSERT_EQUAL(hca_port_set(w.dev.hca, 1, false, 5), 0);
	devx_all_gone();
}

/* What a program leaves goes with the adapter. */
static void test_left(void)
{
	struct hca_flow_table_attr table = {.side = HCA_FLOW_TX, .level = 1, .miss = HCA_FLOW_PASS};
	struct hca_flow_attr flow = {.port = 1, .table = HCA_FLOW_TX, .action = HCA_FLOW_TO_TABLE};
	uint32_t id;

	CU_ASSERT_EQUAL(hca_flow_table_create(w.dev.hca, &table, &flow.next), 0);
	CU_ASSERT_EQUAL(hca_flow_create(w.dev.hca, &flow, &id), 0);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"destinations", test_destinations}, {"refused flows", test_refused_flows},
		{"counters", test_counters},         {"changes", test_actions},
		{"a frame's way", test_way},         {"order of entries", test_order},
		{"left behind", test_left},          CU_TEST_INFO_NULL};

	return suite_run("mlx5 steering", devx_world_init, devx_world_exit, tests);
}
