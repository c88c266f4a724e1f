// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* DEVX: commands of any length and content, what they answer, and what their objects leave behind. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "core/personality.h"
#include "devices/mlx5/devx/devx.h"

#define CAP_OUT (sizeof(struct hcasim_mlx5_cmd_out) + HCASIM_MLX5_HCA_CAP_SIZE)
/* Libraries that know less of the capabilities ask for fewer bytes. */
#define SHORT_CAP_OUT (sizeof(struct hcasim_mlx5_cmd_out) + sizeof(struct hcasim_mlx5_hca_cap))
#define QPNS          (1u << HCASIM_MLX5_LOG_RESERVED_QPNS)

static struct {
	struct hca_config cfg;
	struct drv_device dev;
	struct mlx5_ucontext ctx;
	struct drv_qp qp;
} w;

static hca_ps op_now(void *host)
{
	return 0;
}

static void op_ready(void *host, enum hca_stage stage)
{
}

static void op_dma(void *host, struct hca_dma *dma)
{
	hca_dma_done(w.dev.hca, dma);
}

static void op_tx(void *host, uint8_t port, struct hca_packet *pkt)
{
	hca_packet_free(pkt);
}

static void op_msix(void *host, unsigned int vector)
{
}

static void op_timer(void *host, hca_ps deadline)
{
}

static int open_context(uint32_t flags)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .flags = flags, .max_cqe_version = 1};
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct drv_udata u = {.in = &req, .in_len = sizeof(req), .out = &resp, .out_len = sizeof(resp)};

	memset(&w.ctx, 0, sizeof(w.ctx));
	w.ctx.base.base.dev = &w.dev;
	return mlx5_drv_ops.alloc_ucontext(&w.ctx.base.base, &u);
}

static int create_qp(uint8_t type)
{
	struct hca_cq_attr cq = {.ring = {.entries = 4, .stride = 64}, .eqn = native_dev(&w.dev)->eq[1].eqn};
	struct hca_qp_attr_create attr = {.type = type, .pdn = 1, .sq = {.entries = 4, .stride = 64}};

	w.qp = (struct drv_qp){.dev = &w.dev, .type = type};
	return hca_cq_create(w.dev.hca, &cq, &attr.send_cqn) ||
	       (attr.recv_cqn = attr.send_cqn, hca_qp_create(w.dev.hca, &attr, &w.qp.qpn));
}

static void set_state(uint8_t state)
{
	const struct hca_qp_attr attr = {.state = state};

	CU_ASSERT_EQUAL(hca_qp_modify(w.dev.hca, w.qp.qpn, &attr, HCASIM_QP_ATTR_STATE), 0);
}

static int world_init(void)
{
	static const struct hca_ops ops = {.now = op_now,
					   .stage_ready = op_ready,
					   .dma = op_dma,
					   .tx = op_tx,
					   .msix = op_msix,
					   .timer = op_timer};
	static const struct drv_upcalls upcalls;

	w.cfg = (struct hca_config){
		.num_ports = 1, .max_qp = 16, .max_cq = 16, .max_mr = 16, .max_mw = 16, .max_rd_atomic = 16};
	w.dev = (struct drv_device){.cfg = &w.cfg, .ops = &mlx5_drv_ops};
	w.dev.hca = hca_create(&w.cfg, mlx5_drv_ops.personality, &ops, NULL);
	return !w.dev.hca || mlx5_drv_ops.probe(&w.dev, &upcalls) || open_context(MLX5_IB_ALLOC_UCTX_DEVX) ||
	       create_qp(HCASIM_QPT_RC);
}

static int world_exit(void)
{
	mlx5_drv_ops.dealloc_ucontext(&w.ctx.base.base);
	mlx5_drv_ops.remove(&w.dev);
	hca_destroy(w.dev.hca);
	return 0;
}

/* ---- A call: a command, an answer, and an object ---- */

struct fake_call {
	struct drv_call base;
	const void *in; /* exactly as long as it says: reading further is an error of the sanitizer */
	uint16_t in_id;
	size_t in_len, out_len;
	uint8_t out[CAP_OUT + 64];
	bool answered;
	void *object;
	uint16_t type;
	unsigned int held; /* objects that the new one uses */
};

static size_t call_size(struct drv_call *c, uint16_t id)
{
	const struct fake_call *call = (const struct fake_call *)c;

	return id == call->in_id ? call->in_len : call->out_len;
}

static int call_get(struct drv_call *c, uint16_t id, void *dst, size_t size)
{
	const struct fake_call *call = (const struct fake_call *)c;

	memset(dst, 0, size);
	memcpy(dst, call->in, size < call->in_len ? size : call->in_len);
	return 0;
}

static int call_put(struct drv_call *c, uint16_t id, const void *src, size_t size)
{
	struct fake_call *call = (struct fake_call *)c;

	CU_ASSERT_FATAL(size <= call->out_len);
	memcpy(call->out, src, size);
	call->answered = true;
	return 0;
}

static void *call_object(struct drv_call *c, uint16_t id)
{
	return ((struct fake_call *)c)->object;
}

static uint16_t call_type(struct drv_call *c, uint16_t id)
{
	return ((struct fake_call *)c)->type;
}

static void call_hold(struct drv_call *c, uint16_t id, const void *drv)
{
	CU_ASSERT_PTR_NOT_NULL(drv);
	((struct fake_call *)c)->held++;
}

static void *call_create(struct drv_call *c, uint16_t id, size_t size)
{
	return ((struct fake_call *)c)->object = calloc(1, size);
}

static int run(struct fake_call *c, int (*handler)(struct drv_call *c), const void *in, size_t in_len,
	       size_t out_len)
{
	static const struct drv_call_ops ops = {.size = call_size,
						.get = call_get,
						.put = call_put,
						.object = call_object,
						.type = call_type,
						.create = call_create,
						.hold = call_hold};

	c->base = (struct drv_call){.ops = &ops, .dev = &w.dev, .ctx = &w.ctx.base.base};
	/* Each method numbers its attributes from the same number on. */
	c->in_id = handler == mlx5_devx_other ? MLX5_IB_ATTR_DEVX_OTHER_CMD_IN
					      : MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN;
	c->in = in;
	c->in_len = in_len;
	c->out_len = out_len;
	c->answered = false;
	memset(c->out, 0xff, sizeof(c->out));
	return handler(&c->base);
}

static struct hcasim_mlx5_cmd_out answer(const struct fake_call *c)
{
	struct hcasim_mlx5_cmd_out out;

	CU_ASSERT_TRUE(c->answered);
	memcpy(&out, c->out, sizeof(out));
	return out;
}

static struct hcasim_mlx5_cmd_in command(uint16_t opcode, uint16_t op_mod)
{
	return (struct hcasim_mlx5_cmd_in){.opcode = htobe16(opcode), .op_mod = htobe16(op_mod)};
}

static void fails(int (*handler)(struct drv_call *c), const void *in, size_t in_len, size_t out_len,
		  uint8_t status)
{
	struct fake_call c = {.object = NULL};
	struct hcasim_mlx5_cmd_out out;

	CU_ASSERT_EQUAL(run(&c, handler, in, in_len, out_len), -EREMOTEIO);
	out = answer(&c);
	CU_ASSERT_EQUAL(out.status, status);
	CU_ASSERT_NOT_EQUAL(out.syndrome, 0);
	if (c.object)
		CU_ASSERT_EQUAL(mlx5_devx_destroy(c.object), 0);
	free(c.object);
}

/* ---- Capabilities ---- */

static void query(uint16_t type, bool most, void *cap, size_t size)
{
	const struct hcasim_mlx5_cmd_in in =
		command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, (uint16_t)(type << 1 | !most));
	struct fake_call c = {.object = NULL};

	CU_ASSERT_EQUAL(run(&c, mlx5_devx_other, &in, sizeof(in), CAP_OUT), 0);
	CU_ASSERT_EQUAL(answer(&c).status, HCASIM_MLX5_CMD_STATUS_OK);
	CU_ASSERT_EQUAL(answer(&c).syndrome, 0);
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
	CU_ASSERT_EQUAL(be64toh(cap.general_obj_types), 1ull << HCASIM_MLX5_CMD_OBJ_RESERVED_QPN);
	CU_ASSERT_EQUAL(bits(HCASIM_MLX5_HCA_CAP_2_LOG_RESERVED_QPN_GRANULARITY_MASK, cap_2.dw4),
			HCASIM_MLX5_LOG_RESERVED_QPNS);
	CU_ASSERT_EQUAL(be16toh(atomic.size_qp), 8);
	CU_ASSERT_EQUAL(be32toh(dm.max_size), HCASIM_MLX5_BAR_DM_SIZE);
	CU_ASSERT_EQUAL(be32toh(dm.operations), 3);
	CU_ASSERT_TRUE(dm.increment_sizes == 1 && dm.test_and_set_sizes == 1);
}

static void test_short_capabilities(void)
{
	const struct hcasim_mlx5_cmd_in in = command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, 1);
	struct fake_call all = {.object = NULL}, few = {.object = NULL};

	CU_ASSERT_EQUAL(run(&all, mlx5_devx_other, &in, sizeof(in), CAP_OUT), 0);
	CU_ASSERT_EQUAL(run(&few, mlx5_devx_other, &in, sizeof(in), SHORT_CAP_OUT), 0);
	CU_ASSERT_EQUAL(memcmp(all.out, few.out, SHORT_CAP_OUT), 0);
}

static void test_refused_general(void)
{
	const struct hcasim_mlx5_cmd_in cap = command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, 0),
					type = command(HCASIM_MLX5_CMD_QUERY_HCA_CAP,
						       (HCASIM_MLX5_CAP_GENERAL_2 + 1) << 1),
					lag = command(HCASIM_MLX5_CMD_QUERY_LAG, 0),
					sync = command(HCASIM_MLX5_CMD_SYNC_STEERING, 0);
	const struct hcasim_mlx5_cmd_in not_general[] = {command(0, 0), command(0xd00, 0), command(0xffff, 0),
							 command(HCASIM_MLX5_CMD_CREATE_QP, 0)};
	struct fake_call c = {.object = NULL};

	fails(mlx5_devx_other, &cap, sizeof(cap), SHORT_CAP_OUT - 1, HCASIM_MLX5_CMD_STATUS_BAD_OUTP_LEN_ERR);
	fails(mlx5_devx_other, &type, sizeof(type), CAP_OUT, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	fails(mlx5_devx_other, &lag, sizeof(lag), 16, HCASIM_MLX5_CMD_STATUS_BAD_OP_ERR);
	fails(mlx5_devx_other, &sync, sizeof(sync), 16, HCASIM_MLX5_CMD_STATUS_BAD_OP_ERR);
	for (unsigned int i = 0; i < sizeof(not_general) / sizeof(not_general[0]); i++) {
		CU_ASSERT_EQUAL(run(&c, mlx5_devx_other, &not_general[i], sizeof(not_general[i]), CAP_OUT),
				-EINVAL);
		CU_ASSERT_FALSE(c.answered);
	}
}

/* Without a whole head there is no command, and no place for an answer. */
static void test_lengths(void)
{
	const struct hcasim_mlx5_cmd_in in = command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, 0);
	struct fake_call c = {.object = NULL};

	for (size_t len = 0; len < sizeof(in); len++) {
		CU_ASSERT_EQUAL(run(&c, mlx5_devx_other, &in, len, CAP_OUT), -EINVAL);
		CU_ASSERT_EQUAL(run(&c, mlx5_devx_other, &in, sizeof(in), len), -EINVAL);
		CU_ASSERT_FALSE(c.answered);
	}
}

static void test_context_without_devx(void)
{
	const struct hcasim_mlx5_cmd_in in = command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, 0);
	struct fake_call c = {.object = NULL};

	mlx5_drv_ops.dealloc_ucontext(&w.ctx.base.base);
	CU_ASSERT_EQUAL_FATAL(open_context(0), 0);
	CU_ASSERT_EQUAL(run(&c, mlx5_devx_other, &in, sizeof(in), CAP_OUT), -EINVAL);
	CU_ASSERT_EQUAL(run(&c, mlx5_devx_create, &in, sizeof(in), CAP_OUT), -EINVAL);
	CU_ASSERT_PTR_NULL(c.object);
	mlx5_drv_ops.dealloc_ucontext(&w.ctx.base.base);
	CU_ASSERT_EQUAL(open_context(MLX5_IB_ALLOC_UCTX_DEVX << 1), -EOPNOTSUPP);
	CU_ASSERT_EQUAL_FATAL(open_context(MLX5_IB_ALLOC_UCTX_DEVX), 0);
}

/* ---- Reserved numbers of queue pairs ---- */

static struct hcasim_mlx5_cmd_in reserve(uint32_t log)
{
	struct hcasim_mlx5_cmd_in in =
		command(HCASIM_MLX5_CMD_CREATE_GENERAL_OBJECT, HCASIM_MLX5_CMD_OBJ_RESERVED_QPN);

	in.range = htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CMD_IN_LOG_OBJ_RANGE_MASK, log));
	return in;
}

static void test_reserved_qpns(void)
{
	static struct fake_call c[HCASIM_MLX5_RESERVED_QPN_BLOCKS];
	const struct hcasim_mlx5_cmd_in in = reserve(HCASIM_MLX5_LOG_RESERVED_QPNS);
	uint32_t first;

	for (unsigned int i = 0; i < HCASIM_MLX5_RESERVED_QPN_BLOCKS; i++) {
		CU_ASSERT_EQUAL_FATAL(run(&c[i], mlx5_devx_create, &in, sizeof(in), 16), 0);
		first = be32toh(answer(&c[i]).number);
		CU_ASSERT_EQUAL(first, HCASIM_MLX5_RESERVED_QPN_FIRST + i * QPNS);
	}
	CU_ASSERT_TRUE(first + QPNS < HCA_NUMBER_MASK);
	fails(mlx5_devx_create, &in, sizeof(in), 16, HCASIM_MLX5_CMD_STATUS_NO_RES_ERR);
	for (unsigned int i = 0; i < HCASIM_MLX5_RESERVED_QPN_BLOCKS; i++) {
		CU_ASSERT_EQUAL(mlx5_devx_destroy(c[i].object), 0);
		free(c[i].object);
	}
	CU_ASSERT_EQUAL(native_dev(&w.dev)->reserved_qpns.used, 0);
}

static void test_refused_objects(void)
{
	const struct hcasim_mlx5_cmd_in more = reserve(HCASIM_MLX5_LOG_RESERVED_QPNS + 1), one = reserve(0),
					type = command(HCASIM_MLX5_CMD_CREATE_GENERAL_OBJECT, 0),
					tir = command(HCASIM_MLX5_CMD_CREATE_TIR, 0),
					not_create = command(HCASIM_MLX5_CMD_QUERY_HCA_CAP, 0);
	struct fake_call c = {.object = NULL};

	fails(mlx5_devx_create, &more, sizeof(more), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	fails(mlx5_devx_create, &one, sizeof(one), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	fails(mlx5_devx_create, &type, sizeof(type), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	CU_ASSERT_EQUAL(run(&c, mlx5_devx_create, &tir, sizeof(tir), 16), -EOPNOTSUPP);
	free(c.object);
	CU_ASSERT_EQUAL(run(&c, mlx5_devx_create, &not_create, sizeof(not_create), 16), -EINVAL);
	free(c.object);
	CU_ASSERT_EQUAL(native_dev(&w.dev)->reserved_qpns.used, 0);
}

/* ---- Memory keys ---- */

static struct hcasim_mlx5_cmd_create_mkey mkey_of(uint32_t pdn)
{
	const struct hcasim_mlx5_cmd_in head = command(HCASIM_MLX5_CMD_CREATE_MKEY, 0);
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
	struct native_pd pd = {.base = {.ctx = &w.ctx.base.base}};
	struct hcasim_mlx5_cmd_create_mkey req;
	struct fake_call c[17] = {{.object = NULL}};
	unsigned int i;

	CU_ASSERT_EQUAL_FATAL(numbers_add(&native_dev(&w.dev)->pds, &pd, &pd.pdn), 0);
	req = mkey_of(pd.pdn);
	for (i = 0; i < 16; i++) { /* max_mr */
		CU_ASSERT_EQUAL_FATAL(run(&c[i], mlx5_devx_create, &req, sizeof(req), 16), 0);
		CU_ASSERT_NOT_EQUAL(be32toh(answer(&c[i]).number), 0);
	}
	fails(mlx5_devx_create, &req, sizeof(req), 16, HCASIM_MLX5_CMD_STATUS_NO_RES_ERR);
	for (i = 0; i < 16; i++) {
		CU_ASSERT_EQUAL(mlx5_devx_destroy(c[i].object), 0);
		free(c[i].object);
	}
	CU_ASSERT_EQUAL(run(&c[16], mlx5_devx_create, &req, sizeof(req), 16), 0); /* there is space again */
	CU_ASSERT_EQUAL(mlx5_devx_destroy(c[16].object), 0);
	free(c[16].object);
	fails(mlx5_devx_create, &req, sizeof(req) - 1, 16, HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR);
	pd.base.ctx = NULL; /* another program's */
	fails(mlx5_devx_create, &req, sizeof(req), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	numbers_remove(&native_dev(&w.dev)->pds, pd.pdn);
	fails(mlx5_devx_create, &req, sizeof(req), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
}

/* Pages, other kinds of translations, translations in the command, signatures, crypto; not free; without UMR; of a QP. */
static void test_refused_mkeys(void)
{
	struct native_pd pd = {.base = {.ctx = &w.ctx.base.base}};
	struct hcasim_mlx5_cmd_create_mkey req[8];
	unsigned int i;

	CU_ASSERT_EQUAL_FATAL(numbers_add(&native_dev(&w.dev)->pds, &pd, &pd.pdn), 0);
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
		fails(mlx5_devx_create, &req[i], sizeof(req[i]), 16, HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	numbers_remove(&native_dev(&w.dev)->pds, pd.pdn);
}

/* ---- Queue pairs ---- */

static struct hcasim_mlx5_cmd_modify_qp set_sport(uint32_t qpn, uint16_t port)
{
	struct hcasim_mlx5_cmd_in head = command(HCASIM_MLX5_CMD_RTS2RTS_QP, 0);
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
	struct fake_call c = {.object = &w.qp, .type = UVERBS_OBJECT_QP};

	CU_ASSERT_EQUAL(run(&c, mlx5_devx_modify, req, len, 16), -EREMOTEIO);
	CU_ASSERT_EQUAL(answer(&c).status, status);
}

static void test_udp_sport(void)
{
	const struct hcasim_mlx5_cmd_modify_qp req = set_sport(w.qp.qpn, 55555);
	struct fake_call c = {.object = &w.qp, .type = UVERBS_OBJECT_QP};
	struct hcasim_mlx5_cmd_modify_qp other = req;

	modify_fails(&req, sizeof(req), HCASIM_MLX5_CMD_STATUS_BAD_RES_STATE_ERR);
	set_state(HCASIM_QPS_INIT);
	set_state(HCASIM_QPS_RTR);
	set_state(HCASIM_QPS_RTS);
	modify_fails(&req, sizeof(req) - 1, HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR);
	other.opt_param_mask_2 = htobe64(1);
	modify_fails(&other, sizeof(other), HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	other = req;
	other.opt_param_mask = htobe32(1);
	modify_fails(&other, sizeof(other), HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR);
	CU_ASSERT_EQUAL(run(&c, mlx5_devx_modify, &req, sizeof(req), 16), 0);
	CU_ASSERT_EQUAL(answer(&c).status, HCASIM_MLX5_CMD_STATUS_OK);
}

/* The number in the command is that of the handle's object, which is a queue pair. */
static void test_wrong_object(void)
{
	const struct hcasim_mlx5_cmd_modify_qp req = set_sport(w.qp.qpn, 55555),
					       other = set_sport(w.qp.qpn + 1, 55555);
	struct fake_call c = {.object = &w.qp, .type = UVERBS_OBJECT_QP},
			 cq = {.object = &w.qp, .type = UVERBS_OBJECT_CQ},
			 none = {.object = NULL, .type = UVERBS_OBJECT_QP};

	CU_ASSERT_EQUAL(run(&c, mlx5_devx_modify, &other, sizeof(other), 16), -EINVAL);
	CU_ASSERT_EQUAL(run(&cq, mlx5_devx_modify, &req, sizeof(req), 16), -EINVAL);
	CU_ASSERT_EQUAL(run(&none, mlx5_devx_modify, &req, sizeof(req), 16), -EINVAL);
	CU_ASSERT_EQUAL(run(&c, mlx5_devx_query, &req, sizeof(req), 16), -EINVAL);
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"capabilities", test_capabilities},
					    {"short capabilities", test_short_capabilities},
					    {"refused general commands", test_refused_general},
					    {"lengths", test_lengths},
					    {"context without DEVX", test_context_without_devx},
					    {"reserved numbers", test_reserved_qpns},
					    {"memory keys", test_mkeys},
					    {"refused memory keys", test_refused_mkeys},
					    {"refused objects", test_refused_objects},
					    {"UDP source port", test_udp_sport},
					    {"wrong object", test_wrong_object},
					    CU_TEST_INFO_NULL};
	CU_SuiteInfo suites[] = {{.pName = "mlx5 DEVX",
				  .pInitFunc = world_init,
				  .pCleanupFunc = world_exit,
				  .pTests = (CU_TestInfo *)tests},
				 CU_SUITE_INFO_NULL};
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return EXIT_FAILURE;
	CU_basic_run_tests();
	failures = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
