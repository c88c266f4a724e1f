// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "mlx5_devx_world.h"

struct devx_world w;

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

int devx_open(uint32_t flags)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .flags = flags, .max_cqe_version = 1};
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct drv_udata u = {.in = &req, .in_len = sizeof(req), .out = &resp, .out_len = sizeof(resp)};

	memset(&w.ctx, 0, sizeof(w.ctx));
	w.ctx.base.dev = &w.dev;
	return mlx5_drv_ops.alloc_ucontext(&w.ctx.base, &u);
}

static int create_qp(uint8_t type)
{
	struct hca_cq_attr cq = {.ring = {.entries = 4, .stride = 64}, .eqn = common_dev(&w.dev)->eq[1].eqn};
	struct hca_qp_attr_create attr = {.type = type, .pdn = 1, .sq = {.entries = 4, .stride = 64}};

	w.qp = (struct drv_qp){.dev = &w.dev, .type = type};
	return hca_cq_create(w.dev.hca, &cq, &attr.send_cqn) ||
	       (attr.recv_cqn = attr.send_cqn, hca_qp_create(w.dev.hca, &attr, &w.qp.qpn));
}

void devx_set_state(uint8_t state)
{
	const struct hca_qp_attr attr = {.state = state};

	CU_ASSERT_EQUAL(hca_qp_modify(w.dev.hca, w.qp.qpn, &attr, HCASIM_QP_ATTR_STATE), 0);
}

int devx_world_init(void)
{
	static const struct hca_ops ops = {.now = op_now,
					   .stage_ready = op_ready,
					   .dma = op_dma,
					   .tx = op_tx,
					   .msix = op_msix,
					   .timer = op_timer};
	static const struct drv_upcalls upcalls;

	w.cfg = (struct hca_config){.num_ports = 1,
				    .max_qp = 16,
				    .max_cq = 16,
				    .max_mr = 16,
				    .max_mw = 16,
				    .max_srq = 16,
				    .max_rd_atomic = 16};
	w.dev = (struct drv_device){.cfg = &w.cfg, .ops = &mlx5_drv_ops};
	w.dev.hca = hca_create(&w.cfg, mlx5_drv_ops.personality, &ops, NULL);
	return !w.dev.hca || mlx5_drv_ops.probe(&w.dev, &upcalls) || devx_open(MLX5_IB_ALLOC_UCTX_DEVX) ||
	       create_qp(HCASIM_QPT_RC);
}

int devx_world_exit(void)
{
	mlx5_drv_ops.dealloc_ucontext(&w.ctx.base);
	mlx5_drv_ops.remove(&w.dev);
	hca_destroy(w.dev.hca);
	return 0;
}

/* ---- A call: a command, an answer, and an object ---- */

static size_t call_size(struct drv_call *c, uint16_t id)
{
	const struct devx_call *call = (const struct devx_call *)c;

	return id == call->in_id ? call->in_len : call->out_len;
}

static int call_get(struct drv_call *c, uint16_t id, void *dst, size_t size)
{
	const struct devx_call *call = (const struct devx_call *)c;

	memset(dst, 0, size);
	memcpy(dst, call->in, size < call->in_len ? size : call->in_len);
	return 0;
}

static int call_put(struct drv_call *c, uint16_t id, const void *src, size_t size)
{
	struct devx_call *call = (struct devx_call *)c;

	CU_ASSERT_FATAL(size <= call->out_len);
	memcpy(call->out, src, size);
	call->answered = true;
	return 0;
}

static void *call_object(struct drv_call *c, uint16_t id)
{
	return ((struct devx_call *)c)->object;
}

static uint16_t call_type(struct drv_call *c, uint16_t id)
{
	return ((struct devx_call *)c)->type;
}

static void call_hold(struct drv_call *c, uint16_t id, const void *drv)
{
	CU_ASSERT_PTR_NOT_NULL(drv);
	((struct devx_call *)c)->held++;
}

static void *call_create(struct drv_call *c, uint16_t id, size_t size)
{
	return ((struct devx_call *)c)->object = calloc(1, size);
}

int devx_run(struct devx_call *c, int (*handler)(struct drv_call *c), const void *in, size_t in_len,
	     size_t out_len)
{
	static const struct drv_call_ops ops = {.size = call_size,
						.get = call_get,
						.put = call_put,
						.object = call_object,
						.type = call_type,
						.create = call_create,
						.hold = call_hold};

	c->base = (struct drv_call){.ops = &ops, .dev = &w.dev, .ctx = &w.ctx.base};
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

struct hcasim_mlx5_cmd_out devx_answer(const struct devx_call *c)
{
	struct hcasim_mlx5_cmd_out out;

	CU_ASSERT_TRUE(c->answered);
	memcpy(&out, c->out, sizeof(out));
	return out;
}

struct hcasim_mlx5_cmd_in devx_command(uint16_t opcode, uint16_t op_mod)
{
	return (struct hcasim_mlx5_cmd_in){.opcode = htobe16(opcode), .op_mod = htobe16(op_mod)};
}

void devx_fails(int (*handler)(struct drv_call *c), const void *in, size_t in_len, size_t out_len,
		uint8_t status)
{
	struct devx_call c = {.object = NULL};
	struct hcasim_mlx5_cmd_out out;

	CU_ASSERT_EQUAL(devx_run(&c, handler, in, in_len, out_len), -EREMOTEIO);
	out = devx_answer(&c);
	CU_ASSERT_EQUAL(out.status, status);
	CU_ASSERT_NOT_EQUAL(out.syndrome, 0);
	if (c.object)
		CU_ASSERT_EQUAL(mlx5_devx_destroy(c.object), 0);
	free(c.object);
}

/* ---- Registered memory ---- */

static int umem_get(struct drv_call *c, uint16_t id, void *dst, size_t size)
{
	const struct umem_call *u = (const struct umem_call *)c;
	const uint64_t *src = id == MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR     ? &u->addr
			      : id == MLX5_IB_ATTR_DEVX_UMEM_REG_LEN    ? &u->length
			      : id == MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS ? &u->access
									: &u->sizes;

	if ((src == &u->access && !u->has_access) || (src == &u->sizes && !u->has_sizes))
		return -ENOENT;
	memcpy(dst, src, size);
	return 0;
}

static int umem_put(struct drv_call *c, uint16_t id, const void *src, size_t size)
{
	CU_ASSERT_EQUAL(id, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID);
	memcpy(&((struct umem_call *)c)->id, src, size);
	return 0;
}

static void *umem_create(struct drv_call *c, uint16_t id, size_t size)
{
	return ((struct umem_call *)c)->umem = calloc(1, size);
}

static int umem_pin(struct drv_call *c, uint64_t addr, uint64_t size, bool write)
{
	return addr + size > DEVX_UNMAPPED ? -EFAULT : 0;
}

int devx_reg_umem(struct umem_call *u)
{
	static const struct drv_call_ops ops = {
		.get = umem_get, .put = umem_put, .create = umem_create, .pin = umem_pin};

	u->base = (struct drv_call){.ops = &ops, .dev = &w.dev, .ctx = &w.ctx.base};
	return mlx5_devx_reg_umem(&u->base);
}

void devx_free_umem(struct umem_call *u)
{
	if (u->umem)
		CU_ASSERT_EQUAL(mlx5_devx_dereg_umem(u->umem), 0);
	free(u->umem);
	u->umem = NULL;
}

struct umem_call devx_memory(void)
{
	return (struct umem_call){.addr = DEVX_BUFFER,
				  .length = DEVX_BYTES,
				  .access = IB_UVERBS_ACCESS_LOCAL_WRITE,
				  .has_access = true};
}
