// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Scheduling elements by DEVX, the queues of their leaves, and the table of packet pacing. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/qos/qos.h"
#include "mlx5_devx_world.h"
#include "suite.h"

#define BAD_PARAM  HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR
#define BAD_STATE  HCASIM_MLX5_CMD_STATUS_BAD_RES_STATE_ERR
#define BAD_LEN    HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR
#define ELEM(f, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_SCHED_ELEM_##f##_MASK, v))
#define SQ(f, v)   htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_MODIFY_SQ_##f##_MASK, v))
#define TSAR       HCASIM_MLX5_SCHED_ELEM_TSAR
#define GROUP      HCASIM_MLX5_SCHED_ELEM_QUEUE_GROUP
#define SHARE      HCASIM_MLX5_CMD_SCHED_ELEM_SELECT_BW_SHARE_MASK
#define RATE       HCASIM_MLX5_CMD_SCHED_ELEM_SELECT_MAX_AVERAGE_BW_MASK

typedef struct hcasim_mlx5_cmd_sched_elem elem_req;

static void set_head(void *req, uint16_t opcode, uint16_t op_mod, uint32_t number)
{
	struct hcasim_mlx5_cmd_in head = devx_command(opcode, op_mod);

	head.number = htobe32(number);
	memcpy(req, &head, sizeof(head));
}

static elem_req elem(uint8_t type, uint32_t parent, uint64_t select, uint32_t share, uint32_t rate)
{
	elem_req req = {
		.select = htobe64(select),
		.hierarchy = ELEM(SCHEDULING_HIERARCHY, HCASIM_MLX5_SCHED_HIERARCHY_NIC),
		.element = ELEM(ELEMENT_TYPE, type),
		.attributes = ELEM(TSAR_TYPE, HCASIM_MLX5_SCHED_TSAR_DWRR),
		.parent_element_id = htobe32(parent),
		.bw_share = htobe32(share),
		.max_average_bw = htobe32(rate),
	};

	set_head(&req, HCASIM_MLX5_CMD_CREATE_GENERAL_OBJECT, HCASIM_MLX5_CMD_OBJ_SCHEDULING_ELEMENT, 0);
	return req;
}

static struct devx_call make(const elem_req *req)
{
	struct devx_call c = {.type = MLX5_IB_OBJECT_DEVX_OBJ};

	CU_ASSERT_EQUAL_FATAL(devx_run(&c, mlx5_devx_create, req, sizeof(*req), 16), 0);
	return c;
}

static uint32_t number(const struct devx_call *c)
{
	return ((struct mlx5_devx_obj *)c->object)->number;
}

static void drop(struct devx_call *c)
{
	CU_ASSERT_EQUAL(mlx5_devx_destroy(c->object), 0);
	free(c->object);
	c->object = NULL;
}

static void create_fails(elem_req req)
{
	const uint32_t before = mlx5_dev(&w.dev)->sched.used;

	devx_fails(mlx5_devx_create, &req, sizeof(req), 16, BAD_PARAM);
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->sched.used, before);
}

static struct { /* a root, a node, and a leaf of it */
	struct devx_call root, node, leaf;
} t;

static void plant(void)
{
	elem_req req = elem(TSAR, 0, 0, 0, 0);

	t.root = make(&req);
	CU_ASSERT_EQUAL(t.root.held, 0);
	CU_ASSERT_EQUAL(be32toh(devx_answer(&t.root).number), number(&t.root));
	req = elem(TSAR, number(&t.root), SHARE | RATE, HCASIM_MLX5_MAX_BW_SHARE, 10);
	t.node = make(&req);
	CU_ASSERT_EQUAL(t.node.held, 1);
	req = elem(GROUP, number(&t.node), 0, 1000, 1000); /* values that are not selected do not count */
	t.leaf = make(&req);
	CU_ASSERT_EQUAL(t.leaf.held, 1);
}

static void fell(void)
{
	CU_ASSERT_EQUAL(mlx5_devx_destroy(t.root.object), -EBUSY);
	CU_ASSERT_EQUAL(mlx5_devx_destroy(t.node.object), -EBUSY);
	drop(&t.leaf);
	drop(&t.node);
	drop(&t.root);
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->sched.used, 0);
}

static void test_refused(void)
{
	elem_req req;
	uint32_t root;

	plant();
	root = number(&t.root);
	create_fails(elem(GROUP, 0, 0, 0, 0)); /* a leaf is below a node, */
	create_fails(elem(GROUP, number(&t.leaf), 0, 0, 0));
	create_fails(elem(TSAR, number(&t.leaf), 0, 0, 0));
	create_fails(elem(TSAR, number(&t.leaf) + 1, 0, 0, 0)); /* which there is */
	create_fails(elem(TSAR, 0, SHARE, 1, 0));               /* of a root nothing is limited */
	create_fails(elem(TSAR, 0, RATE, 0, 1));
	create_fails(elem(TSAR, root, SHARE, HCASIM_MLX5_MAX_BW_SHARE + 1, 0));
	create_fails(elem(TSAR, root, 4, 0, 0));
	create_fails(elem(1, root, 0, 0, 0)); /* of an embedded switch */
	req = elem(TSAR, root, 0, 0, 0);
	req.hierarchy = ELEM(SCHEDULING_HIERARCHY, 2);
	create_fails(req);
	req = elem(TSAR, root, 0, 0, 0);
	req.attributes = ELEM(TSAR_TYPE, 1);
	create_fails(req);
	req = elem(TSAR, root, 0, 0, 0);
	devx_fails(mlx5_devx_create, &req, sizeof(req) - 1, 16, BAD_LEN);
	fell();
}

static uint8_t modify(const struct devx_call *c, elem_req req, uint32_t num)
{
	struct devx_call m = {.object = c->object, .type = MLX5_IB_OBJECT_DEVX_OBJ};
	int ret;

	set_head(&req, HCASIM_MLX5_CMD_MODIFY_GENERAL_OBJECT, HCASIM_MLX5_CMD_OBJ_SCHEDULING_ELEMENT, num);
	ret = devx_run(&m, mlx5_devx_modify, &req, sizeof(req), 16);
	if (ret == -EINVAL)
		return 0xff;
	CU_ASSERT_EQUAL(ret, devx_answer(&m).status ? -EREMOTEIO : 0);
	return devx_answer(&m).status;
}

static void test_modify(void)
{
	const struct mlx5_sched_elem *e;

	plant();
	e = &((struct mlx5_devx_obj *)t.node.object)->sched;
	CU_ASSERT_EQUAL(modify(&t.node, elem(TSAR, 0, RATE, 5, 7), number(&t.node)), 0);
	CU_ASSERT_TRUE(e->rate == 7 && e->share == HCASIM_MLX5_MAX_BW_SHARE);
	CU_ASSERT_EQUAL(modify(&t.node, elem(TSAR, 0, SHARE, 5, 9), number(&t.node)), 0);
	CU_ASSERT_TRUE(e->rate == 7 && e->share == 5);
	CU_ASSERT_EQUAL(modify(&t.node, elem(TSAR, 0, SHARE, 101, 0), number(&t.node)), BAD_PARAM);
	CU_ASSERT_EQUAL(modify(&t.node, elem(GROUP, 0, SHARE, 1, 0), number(&t.node)), BAD_PARAM);
	CU_ASSERT_EQUAL(modify(&t.root, elem(TSAR, 0, RATE, 0, 1), number(&t.root)), BAD_PARAM);
	CU_ASSERT_TRUE(e->rate == 7 && e->share == 5);
	/* The number is that of the handle's object. */
	CU_ASSERT_EQUAL(modify(&t.node, elem(TSAR, 0, RATE, 0, 1), number(&t.root)), 0xff);
	fell();
}

/* Another context has none of them. */
static void test_foreign(void)
{
	struct mlx5_devx_obj *obj;

	plant();
	obj = t.root.object;
	obj->ctx = NULL;
	create_fails(elem(TSAR, number(&t.root), 0, 0, 0));
	obj->ctx = &w.ctx.base;
	fell();
}

/* ---- Queues ---- */

struct change {
	struct hcasim_mlx5_cmd_modify_qp qp;
	struct hcasim_mlx5_qpc_ext ext;
};

static struct change attach(uint16_t opcode, uint32_t requester, uint32_t responder)
{
	struct change c = {
		.qp.opt_param_mask_2 = htobe64(HCASIM_MLX5_CMD_MODIFY_QP_OPT_QOS_QUEUE_GROUP_MASK),
		.ext.queue_group_requester = htobe32(requester),
		.ext.queue_group_responder = htobe32(responder),
	};

	set_head(&c, opcode, 0, HCASIM_MLX5_CMD_IN_QPC_EXT_MASK | w.qp.qpn);
	return c;
}

static uint8_t change(const void *req, size_t len)
{
	struct devx_call c = {.object = &w.qp, .type = UVERBS_OBJECT_QP};

	devx_run(&c, mlx5_devx_modify, req, len, 16);
	return devx_answer(&c).status;
}

#define CHANGE(...)                                                                                          \
	({                                                                                                   \
		const struct change change_ = attach(__VA_ARGS__);                                           \
		change(&change_, sizeof(change_));                                                           \
	})

static void test_queue_pair(void)
{
	const uint16_t init = HCASIM_MLX5_CMD_INIT2INIT_QP, rts = HCASIM_MLX5_CMD_RTS2RTS_QP;
	struct change bad;
	uint32_t leaf;

	plant();
	leaf = number(&t.leaf);
	devx_set_state(HCASIM_QPS_RESET);
	CU_ASSERT_EQUAL(CHANGE(init, leaf, 0), BAD_STATE);
	devx_set_state(HCASIM_QPS_INIT);
	CU_ASSERT_EQUAL(CHANGE(rts, leaf, 0), BAD_STATE);
	CU_ASSERT_EQUAL(CHANGE(init, leaf, leaf), 0);
	CU_ASSERT_EQUAL(mlx5_devx_destroy(t.leaf.object), -EBUSY);
	CU_ASSERT_EQUAL(CHANGE(init, 0, 0), 0);
	devx_set_state(HCASIM_QPS_RTR);
	devx_set_state(HCASIM_QPS_RTS);
	CU_ASSERT_EQUAL(CHANGE(rts, leaf + 1, 0), BAD_PARAM);
	CU_ASSERT_EQUAL(CHANGE(rts, 0, number(&t.node)), BAD_PARAM);
	CU_ASSERT_EQUAL(CHANGE(HCASIM_MLX5_CMD_RTR2RTS_QP, leaf, 0), BAD_PARAM);
	bad = attach(rts, leaf, 0);
	CU_ASSERT_EQUAL(change(&bad, sizeof(bad) - 1), BAD_LEN);
	set_head(&bad, rts, 0, w.qp.qpn); /* nothing says that more follows */
	CU_ASSERT_EQUAL(change(&bad, sizeof(bad)), BAD_PARAM);
	w.qp.type = HCASIM_QPT_UC; /* as the command sees it */
	CU_ASSERT_EQUAL(CHANGE(rts, 0, leaf), BAD_PARAM);
	CU_ASSERT_EQUAL(CHANGE(rts, leaf, 0), 0);
	w.qp.type = HCASIM_QPT_RC;
	CU_ASSERT_EQUAL(mlx5_devx_destroy(t.leaf.object), -EBUSY);
	devx_set_state(HCASIM_QPS_RESET);
	fell();
}

static struct drv_qp raw;

static struct hcasim_mlx5_cmd_modify_sq sq(uint64_t select, uint32_t group, uint32_t index)
{
	struct hcasim_mlx5_cmd_modify_sq req = {.modify_bitmask = htobe64(select),
						.dw0 = SQ(STATE, HCASIM_MLX5_SQ_STATE_RDY),
						.dw7 = SQ(RATE_LIMIT_INDEX, index),
						.dw8 = SQ(QUEUE_GROUP, group)};
	struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_MODIFY_SQ, 0);

	memcpy(req.head, &head, sizeof(req.head));
	req.number =
		htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_MODIFY_SQ_SQ_STATE_MASK, HCASIM_MLX5_SQ_STATE_RDY) |
			raw.qpn);
	return req;
}

static uint8_t modify_sq(struct hcasim_mlx5_cmd_modify_sq req)
{
	struct devx_call c = {.object = &raw, .type = UVERBS_OBJECT_QP};

	devx_run(&c, mlx5_devx_modify, &req, sizeof(req), 16);
	return devx_answer(&c).status;
}

static void raw_state(uint8_t state)
{
	const struct hca_qp_attr attr = {.state = state};

	CU_ASSERT_EQUAL(hca_qp_modify(w.dev.hca, raw.qpn, &attr, HCASIM_QP_ATTR_STATE), 0);
}

static void make_raw(void)
{
	struct hca_cq_attr cq = {.ring = {.entries = 4, .stride = 64}, .eqn = common_dev(&w.dev)->eq[1].eqn};
	struct hca_qp_attr_create attr = {
		.type = HCASIM_QPT_RAW_PACKET, .pdn = 1, .sq = {.entries = 4, .stride = 64}};

	raw = (struct drv_qp){.dev = &w.dev, .type = HCASIM_QPT_RAW_PACKET};
	CU_ASSERT_EQUAL_FATAL(hca_cq_create(w.dev.hca, &cq, &attr.send_cqn), 0);
	attr.recv_cqn = attr.send_cqn;
	CU_ASSERT_EQUAL_FATAL(hca_qp_create(w.dev.hca, &attr, &raw.qpn), 0);
}

static void test_send_queue(void)
{
	const uint64_t group = HCASIM_MLX5_CMD_MODIFY_SQ_SET_QUEUE_GROUP_MASK;
	struct hcasim_mlx5_cmd_modify_sq bad;

	plant();
	make_raw();
	CU_ASSERT_EQUAL(modify_sq(sq(group, number(&t.leaf), 0)), BAD_STATE);
	raw_state(HCASIM_QPS_RTS);
	CU_ASSERT_EQUAL(modify_sq(sq(group, number(&t.node), 0)), BAD_PARAM);
	CU_ASSERT_EQUAL(modify_sq(sq(2, 0, 0)), BAD_PARAM);
	bad = sq(group, number(&t.leaf), 0);
	bad.dw0 = SQ(STATE, HCASIM_MLX5_SQ_STATE_ERR);
	CU_ASSERT_EQUAL(modify_sq(bad), BAD_PARAM);
	CU_ASSERT_EQUAL(modify_sq(sq(0, number(&t.node), 9)), 0); /* selects nothing */
	CU_ASSERT_EQUAL(modify_sq(sq(group, number(&t.leaf), 0)), 0);
	CU_ASSERT_EQUAL(mlx5_devx_destroy(t.leaf.object), -EBUSY);
	CU_ASSERT_EQUAL(modify_sq(sq(group, 0, 0)), 0);
	raw.type = HCASIM_QPT_UD;
	CU_ASSERT_EQUAL(modify_sq(sq(group, number(&t.leaf), 0)), BAD_PARAM);
	CU_ASSERT_EQUAL(hca_qp_destroy(w.dev.hca, raw.qpn), 0);
	fell();
}

/* ---- Packet pacing ---- */

struct pp_call {
	struct drv_call base;
	uint64_t flags;
	uint8_t ctx[64];
	size_t len;
	uint16_t index;
	void *object;
};

static size_t pp_size(struct drv_call *c, uint16_t id)
{
	return ((struct pp_call *)c)->len;
}

static int pp_get(struct drv_call *c, uint16_t id, void *dst, size_t size)
{
	const struct pp_call *p = (const struct pp_call *)c;

	memcpy(dst, id == MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX ? (const void *)p->ctx : &p->flags, size);
	return 0;
}

static int pp_put(struct drv_call *c, uint16_t id, const void *src, size_t size)
{
	memcpy(&((struct pp_call *)c)->index, src, size);
	return 0;
}

static void *pp_create(struct drv_call *c, uint16_t id, size_t size)
{
	return ((struct pp_call *)c)->object = calloc(1, size);
}

static struct pp_call pp(uint32_t rate, uint64_t flags)
{
	const __be32 first = htobe32(rate);
	struct pp_call p = {.flags = flags, .len = sizeof(first)};

	memcpy(p.ctx, &first, sizeof(first));
	return p;
}

static int alloc(struct pp_call *p)
{
	static const struct drv_call_ops ops = {
		.size = pp_size, .get = pp_get, .put = pp_put, .create = pp_create};

	p->base = (struct drv_call){.ops = &ops, .dev = &w.dev, .ctx = &w.ctx.base};
	return mlx5_alloc_pp(&p->base);
}

static void release(struct pp_call *p)
{
	CU_ASSERT_EQUAL(mlx5_destroy_pp(p->object), 0);
	free(p->object);
}

static int refuse(struct pp_call p)
{
	const int ret = alloc(&p);

	CU_ASSERT_PTR_NULL(p.object);
	return ret;
}

static void test_entries(void)
{
	const uint64_t own = MLX5_IB_UAPI_PP_ALLOC_FLAGS_DEDICATED_INDEX;
	struct pp_call a = pp(1000, 0), same = pp(1000, 0), other = pp(1001, 0), mine = pp(1000, own),
		       again = pp(1000, own);

	same.len = 48; /* zeros at the end do not count */
	CU_ASSERT_TRUE(!alloc(&mine) && !alloc(&a) && !alloc(&same) && !alloc(&other) && !alloc(&again));
	CU_ASSERT_TRUE(a.index && a.index == same.index && a.index != other.index);
	CU_ASSERT_TRUE(mine.index != a.index && again.index != a.index && mine.index != again.index);
	release(&a);
	a = pp(1000, 0);
	CU_ASSERT_TRUE(!alloc(&a) && a.index == same.index);
	release(&a);
	release(&same);
	a = pp(1000, 0);
	CU_ASSERT_EQUAL(alloc(&a), 0);
	release(&a);
	release(&other);
	release(&mine);
	release(&again);
}

static void test_refused_entries(void)
{
	struct pp_call all[HCASIM_MLX5_PP_RATES], bad = pp(1000, 0);
	unsigned int i;

	CU_ASSERT_EQUAL(refuse(pp(0, 0)), -EINVAL);
	CU_ASSERT_EQUAL(refuse(pp(HCASIM_RATE_LIMIT_MIN - 1, 0)), -EINVAL);
	CU_ASSERT_EQUAL(refuse(pp(HCASIM_RATE_LIMIT_MAX + 1, 0)), -EINVAL);
	CU_ASSERT_EQUAL(refuse(pp(1000, 2)), -EINVAL);
	bad.len = 12;
	bad.ctx[9] = 1; /* a rate of WQEs */
	CU_ASSERT_EQUAL(refuse(bad), -EINVAL);
	bad.ctx[9] = 0;
	bad.ctx[4] = 0xff;
	CU_ASSERT_EQUAL(refuse(bad), -EINVAL);
	for (i = 1; i < HCASIM_MLX5_PP_RATES; i++) {
		all[i] = pp(1000 + i, 0);
		CU_ASSERT_EQUAL(alloc(&all[i]), 0);
	}
	CU_ASSERT_EQUAL(refuse(pp(1000, 0)), -ENOSPC);
	bad = pp(1001, 0);
	CU_ASSERT_TRUE(!alloc(&bad) && bad.index == all[1].index);
	release(&bad);
	for (i = 1; i < HCASIM_MLX5_PP_RATES; i++)
		release(&all[i]);
	w.ctx.devx = false;
	CU_ASSERT_EQUAL(refuse(pp(1000, 0)), -EINVAL);
	w.ctx.devx = true;
}

/* An index gives a send queue the rate of the entry, also after that has gone; 0 takes it away. */
static void test_index(void)
{
	const uint64_t rate = HCASIM_MLX5_CMD_MODIFY_SQ_SET_RATE_LIMIT_MASK;
	struct pp_call p = pp(12000, MLX5_IB_UAPI_PP_ALLOC_FLAGS_DEDICATED_INDEX);
	struct hca_qp_attr attr;

	make_raw();
	raw_state(HCASIM_QPS_RTS);
	p.len = 12;
	p.ctx[6] = 0x20; /* burst of 8192 */
	p.ctx[10] = 5;   /* packets of 1280 */
	CU_ASSERT_EQUAL(alloc(&p), 0);
	CU_ASSERT_EQUAL(modify_sq(sq(rate, 0, p.index)), 0);
	release(&p);
	CU_ASSERT_EQUAL(hca_qp_query(w.dev.hca, raw.qpn, &attr), 0);
	CU_ASSERT_TRUE(attr.rate_limit == 12000 && attr.max_burst == 8192 && attr.typical_packet == 1280);
	CU_ASSERT_EQUAL(modify_sq(sq(rate, 0, p.index)), BAD_PARAM); /* there is no such entry now */
	CU_ASSERT_EQUAL(modify_sq(sq(rate, 0, HCASIM_MLX5_PP_RATES)), BAD_PARAM);
	p = pp(12000, MLX5_IB_UAPI_PP_ALLOC_FLAGS_DEDICATED_INDEX);
	CU_ASSERT_EQUAL(alloc(&p), 0);
	mlx5_dev(&w.dev)->pp[p.index].owner = &(struct drv_ucontext){.dev = &w.dev};
	CU_ASSERT_EQUAL(modify_sq(sq(rate, 0, p.index)), BAD_PARAM); /* somebody else's */
	release(&p);
	CU_ASSERT_EQUAL(modify_sq(sq(rate, 0, 0)), 0);
	CU_ASSERT_EQUAL(hca_qp_query(w.dev.hca, raw.qpn, &attr), 0);
	CU_ASSERT_EQUAL(attr.rate_limit, 0);
	CU_ASSERT_EQUAL(hca_qp_destroy(w.dev.hca, raw.qpn), 0);
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"refused elements", test_refused},
					    {"changes of elements", test_modify},
					    {"another context's elements", test_foreign},
					    {"queue pairs", test_queue_pair},
					    {"send queues", test_send_queue},
					    {"entries of packet pacing", test_entries},
					    {"refused entries", test_refused_entries},
					    {"rate by index", test_index},
					    CU_TEST_INFO_NULL};

	return suite_run("mlx5 QoS", devx_world_init, devx_world_exit, tests);
}
