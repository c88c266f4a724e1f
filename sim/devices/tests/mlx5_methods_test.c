// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ioctl methods of the mlx5 family: device memory, and queries of domains, ports and contexts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/driver/driver.h"
#include "suite.h"

#define MAX_VALUES 8
#define DM_PAGES   (HCASIM_MLX5_BAR_DM_SIZE / MLX5_PAGE_SIZE)

static struct {
	struct hca_config cfg;
	struct drv_device dev;
	struct mlx5_ucontext ctx;
	struct common_pd pd;
	hca_ps now;
	bool mapped, op_mapped; /* all of it; only operations on it */
} w;

static hca_ps op_now(void *host)
{
	return w.now;
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

static bool bar_mapped(struct drv_device *dev, unsigned int bar, uint64_t offset, uint64_t length)
{
	return w.mapped || (w.op_mapped && offset >= HCASIM_MLX5_BAR_DM_SIZE);
}

static int world_init(void)
{
	static const struct hca_ops ops = {.now = op_now,
					   .stage_ready = op_ready,
					   .dma = op_dma,
					   .tx = op_tx,
					   .msix = op_msix,
					   .timer = op_timer};
	static const struct drv_upcalls upcalls = {.bar_mapped = bar_mapped};
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .max_cqe_version = 1};
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct mlx5_ib_alloc_pd_resp pd_resp;
	struct drv_udata u = {.in = &req, .in_len = sizeof(req), .out = &resp, .out_len = sizeof(resp)};
	struct drv_udata none = {.in = &req, .out = &pd_resp, .out_len = sizeof(pd_resp)};

	w.cfg = (struct hca_config){.num_ports = 1, .max_qp = 16, .max_cq = 16, .max_mr = 16, .max_mw = 16};
	w.dev = (struct drv_device){.cfg = &w.cfg, .ops = &mlx5_drv_ops};
	w.dev.hca = hca_create(&w.cfg, mlx5_drv_ops.personality, &ops, NULL);
	w.ctx.base.dev = &w.dev;
	w.pd.base.ctx = &w.ctx.base;
	return !w.dev.hca || mlx5_drv_ops.probe(&w.dev, &upcalls) ||
	       mlx5_drv_ops.alloc_ucontext(&w.ctx.base, &u) || mlx5_drv_ops.alloc_pd(&w.pd.base, &none);
}

static int world_exit(void)
{
	mlx5_drv_ops.dealloc_pd(&w.pd.base);
	mlx5_drv_ops.dealloc_ucontext(&w.ctx.base);
	mlx5_drv_ops.remove(&w.dev);
	hca_destroy(w.dev.hca);
	return 0;
}

/* ---- A call ---- */

struct value {
	uint16_t id;
	uint64_t v;
};

struct fake_call {
	struct drv_call base;
	struct value in[MAX_VALUES], out[MAX_VALUES];
	unsigned int num_out;
	void *object; /* of its only IDR attribute */
};

static const struct value *find(const struct value *list, uint16_t id)
{
	for (unsigned int i = 0; i < MAX_VALUES; i++) {
		if (list[i].id == id)
			return &list[i];
	}
	return NULL;
}

static bool call_has(struct drv_call *c, uint16_t id)
{
	return find(((struct fake_call *)c)->in, id);
}

static int call_get(struct drv_call *c, uint16_t id, void *dst, size_t size)
{
	const struct value *v = find(((struct fake_call *)c)->in, id);

	if (!v)
		return -ENOENT;
	memcpy(dst, &v->v, size);
	return 0;
}

static int call_put(struct drv_call *c, uint16_t id, const void *src, size_t size)
{
	struct fake_call *call = (struct fake_call *)c;
	struct value *v = &call->out[call->num_out++];

	*v = (struct value){id, 0};
	memcpy(&v->v, src, size < sizeof(v->v) ? size : sizeof(v->v));
	return 0;
}

static void *call_object(struct drv_call *c, uint16_t id)
{
	return ((struct fake_call *)c)->object;
}

static void *call_create(struct drv_call *c, uint16_t id, size_t size)
{
	return ((struct fake_call *)c)->object = calloc(1, size);
}

static int run(struct fake_call *c, uint16_t object, uint16_t id)
{
	static const struct drv_call_ops ops = {.has = call_has,
						.get = call_get,
						.put = call_put,
						.object = call_object,
						.create = call_create};

	c->base = (struct drv_call){.ops = &ops, .dev = &w.dev, .ctx = &w.ctx.base};
	for (unsigned int i = 0; i < MLX5_NUM_METHODS; i++) {
		if (mlx5_methods[i].object == object && mlx5_methods[i].id == id)
			return mlx5_methods[i].handler(&c->base);
	}
	return -EPROTONOSUPPORT;
}

static uint64_t out(const struct fake_call *c, uint16_t id)
{
	const struct value *v = find(c->out, id);

	return v ? v->v : UINT64_MAX;
}

static int alloc_dm(struct fake_call *c, uint64_t length, uint64_t log_align, uint64_t type)
{
	*c = (struct fake_call){.in = {{UVERBS_ATTR_ALLOC_DM_LENGTH, length},
				       {UVERBS_ATTR_ALLOC_DM_ALIGNMENT, log_align},
				       {MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, type}}};
	return run(c, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
}

static void free_dm(struct fake_call *c)
{
	CU_ASSERT_EQUAL(mlx5_drv_ops.free_dm(c->object), 0);
	free(c->object);
}

/* ---- Device memory ---- */

static int map_dm(uint64_t page, uint64_t length, struct drv_mmap *map)
{
	const uint64_t command = (uint64_t)MLX5_IB_MMAP_DEVICE_MEM << MLX5_CMD_SHIFT;
	const uint64_t high = page >> MLX5_CMD_SHIFT << (MLX5_CMD_SHIFT + MLX5_CMD_BITS);
	const uint64_t low = page & ((1u << MLX5_CMD_SHIFT) - 1);

	return mlx5_drv_ops.mmap(&w.ctx.base, (high | command | low) * MLX5_PAGE_SIZE, length, map);
}

static void test_dm(void)
{
	struct fake_call a, b;
	struct drv_mmap map;

	CU_ASSERT_EQUAL_FATAL(alloc_dm(&a, 100, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), 0);
	CU_ASSERT_EQUAL_FATAL(alloc_dm(&b, 2 * MLX5_PAGE_SIZE, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), 0);
	CU_ASSERT_EQUAL(out(&a, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET), 0);
	CU_ASSERT_EQUAL(out(&a, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX), 0);
	CU_ASSERT_EQUAL(out(&b, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX), 1);
	CU_ASSERT_EQUAL(map_dm(1, 2 * MLX5_PAGE_SIZE, &map), 0);
	CU_ASSERT_TRUE(map.kind == DRV_MMAP_BAR && map.bar == HCASIM_MLX5_BAR_DM);
	CU_ASSERT_TRUE(map.bar_offset == MLX5_PAGE_SIZE && map.length == 2 * MLX5_PAGE_SIZE);
	CU_ASSERT_EQUAL(map_dm(1, 3 * MLX5_PAGE_SIZE, &map), -EINVAL);
	CU_ASSERT_EQUAL(map_dm((1u << MLX5_CMD_SHIFT) + 1, MLX5_PAGE_SIZE, &map), -EINVAL);
	free_dm(&b);
	CU_ASSERT_EQUAL(map_dm(1, MLX5_PAGE_SIZE, &map), -EINVAL);
	free_dm(&a);
}

/* As Linux: what is still mapped is given to nobody else. */
static void test_mapped_dm(void)
{
	struct fake_call a, b;

	CU_ASSERT_EQUAL_FATAL(alloc_dm(&a, 1, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), 0);
	free_dm(&a);
	w.mapped = true;
	CU_ASSERT_EQUAL(alloc_dm(&b, 1, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), -ENOMEM);
	w.mapped = false;
	w.op_mapped = true;
	CU_ASSERT_EQUAL(alloc_dm(&b, 1, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), -ENOMEM);
	w.op_mapped = false;
	CU_ASSERT_EQUAL_FATAL(alloc_dm(&b, 1, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), 0);
	free_dm(&b);
}

static void test_refused_dm(void)
{
	struct fake_call c;

	CU_ASSERT_EQUAL(alloc_dm(&c, 0, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), -EINVAL);
	CU_ASSERT_EQUAL(alloc_dm(&c, HCASIM_MLX5_BAR_DM_SIZE + 1, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), -ENOMEM);
	CU_ASSERT_EQUAL(alloc_dm(&c, 1, 63, MLX5_IB_UAPI_DM_TYPE_MEMIC), -ENOMEM);
	CU_ASSERT_EQUAL(alloc_dm(&c, 1, 0, MLX5_IB_UAPI_DM_TYPE_STEERING_SW_ICM), -EOPNOTSUPP);
	CU_ASSERT_PTR_NULL(c.object);
	/* Nothing was taken. */
	CU_ASSERT_EQUAL_FATAL(
		alloc_dm(&c, (uint64_t)DM_PAGES * MLX5_PAGE_SIZE, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), 0);
	free_dm(&c);
}

static void test_query_dm(void)
{
	struct fake_call c, query = {.num_out = 0};

	CU_ASSERT_EQUAL_FATAL(alloc_dm(&c, 5000, 14, MLX5_IB_UAPI_DM_TYPE_MEMIC), 0);
	query.object = c.object;
	CU_ASSERT_EQUAL(run(&query, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY), 0);
	CU_ASSERT_EQUAL(out(&query, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH), 5000);
	CU_ASSERT_EQUAL(out(&query, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET), 0);
	CU_ASSERT_EQUAL(out(&query, MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX),
			out(&c, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX));
	free_dm(&c);
}

static int map_op(const struct fake_call *dm, uint64_t op, struct fake_call *c)
{
	*c = (struct fake_call){.in = {{MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, op}}, .object = dm->object};
	return run(c, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR);
}

static void test_dm_ops(void)
{
	struct fake_call a, c;
	struct drv_mmap map;

	CU_ASSERT_EQUAL_FATAL(alloc_dm(&c, MLX5_PAGE_SIZE, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), 0);
	CU_ASSERT_EQUAL_FATAL(alloc_dm(&a, 100, 0, MLX5_IB_UAPI_DM_TYPE_MEMIC), 0);
	free_dm(&c);
	CU_ASSERT_EQUAL(map_op(&a, HCASIM_MLX5_MEMIC_OP_TEST_AND_SET, &c), 0);
	CU_ASSERT_EQUAL(out(&c, MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET), 0);
	CU_ASSERT_EQUAL(out(&c, MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX), 2 * DM_PAGES + 1);
	CU_ASSERT_EQUAL(map_dm(2 * DM_PAGES + 1, MLX5_PAGE_SIZE, &map), 0);
	CU_ASSERT_EQUAL(map.bar_offset, 2 * HCASIM_MLX5_BAR_DM_SIZE + MLX5_PAGE_SIZE);
	CU_ASSERT_FALSE(map.write_combining);
	CU_ASSERT_EQUAL(map_op(&a, 2, &c), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(map_op(&a, 255, &c), -EOPNOTSUPP);
	/* Pages of nobody, of no operation, and beyond the memory. */
	CU_ASSERT_EQUAL(map_dm(2 * DM_PAGES, MLX5_PAGE_SIZE, &map), -EINVAL);
	CU_ASSERT_EQUAL(map_dm(3 * DM_PAGES + 1, MLX5_PAGE_SIZE, &map), -EINVAL);
	CU_ASSERT_EQUAL(map_dm(2 * DM_PAGES + 1, DM_PAGES * MLX5_PAGE_SIZE, &map), -EINVAL);
	free_dm(&a);
}

/* ---- Queries ---- */

static void test_queries(void)
{
	struct fake_call pd = {.object = &w.pd}, good = {.in = {{MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, 1}}},
			 bad = {.in = {{MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, 2}}};
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct drv_udata u = {.out = &resp, .out_len = sizeof(resp)};

	CU_ASSERT_EQUAL(run(&pd, UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY), 0);
	CU_ASSERT_EQUAL(out(&pd, MLX5_IB_ATTR_QUERY_PD_RESP_PDN), common_pdn(&w.pd.base));
	CU_ASSERT_EQUAL(run(&good, UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT), 0);
	CU_ASSERT_EQUAL(out(&good, MLX5_IB_ATTR_QUERY_PORT), 0); /* the flags */
	CU_ASSERT_EQUAL(run(&bad, UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT), -EINVAL);
	CU_ASSERT_EQUAL(mlx5_drv_ops.query_ucontext(&w.ctx.base, &u), 0);
	CU_ASSERT_EQUAL(u.out_used, sizeof(resp));
	CU_ASSERT_EQUAL(resp.tot_bfregs, 16);
	CU_ASSERT_EQUAL(resp.clock_info_versions, 1u << MLX5_IB_CLOCK_INFO_V1);
}

/* ---- The clock page ---- */

/* What mlx5dv_ts_to_ns() makes of a timestamp. */
static uint64_t time_of_day(const struct mlx5_ib_clock_info *info, uint64_t timestamp)
{
	return info->nsec + (((timestamp - info->cycles) & info->mask) * info->mult >> info->shift);
}

/* In ns. time() would not do: it is the second of the last timer tick, and so up to a tick late. */
static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void test_clock_page(void)
{
	const struct mlx5_ib_clock_info *info;
	struct drv_mmap map;
	uint64_t before;
	void *writable;

	CU_ASSERT_EQUAL_FATAL(mlx5_drv_ops.mmap(&w.ctx.base, 0x700 * 4096, 4096, &map), 0);
	CU_ASSERT_TRUE(map.kind == DRV_MMAP_MEMORY && map.read_only && map.length == 4096);
	writable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, map.memfd, (off_t)map.memfd_offset);
	CU_ASSERT_EQUAL(writable, MAP_FAILED);
	CU_ASSERT_NOT_EQUAL(ftruncate(map.memfd, 0), 0);
	info = mmap(NULL, 4096, PROT_READ, MAP_SHARED, map.memfd, (off_t)map.memfd_offset);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(info, MAP_FAILED);
	CU_ASSERT_EQUAL(time_of_day(info, 777), 777);
	CU_ASSERT_TRUE(info->overflow_period > 0);
	w.now = 5000000000; /* ps */
	before = realtime_ns();
	mlx5_drv_ops.update_clock(&w.dev);
	CU_ASSERT_TRUE(time_of_day(info, 5000000) >= before);
	CU_ASSERT_TRUE(time_of_day(info, 5000000) <= realtime_ns());
	/* A reader that has begun before reads again; none is made to wait. */
	CU_ASSERT_EQUAL(info->sign, 2 * MLX5_IB_CLOCK_INFO_KERNEL_UPDATING);
	w.now += 1000000;
	mlx5_drv_ops.update_clock(&w.dev);
	CU_ASSERT_EQUAL(info->sign, 4 * MLX5_IB_CLOCK_INFO_KERNEL_UPDATING);
	munmap((void *)info, 4096);
}

/* A request as for an older kernel: static pages. One that ends earlier, or within lib_caps, is refused or as one without. */
static void test_short_requests(void)
{
	const size_t without = offsetof(struct mlx5_ib_alloc_ucontext_req_v2, lib_caps);
	struct mlx5_ib_alloc_ucontext_req_v2 req = {.total_num_bfregs = 16,
						    .num_low_latency_bfregs = 4,
						    .max_cqe_version = 1,
						    .lib_caps = MLX5_LIB_CAP_DYN_UAR};
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct drv_udata u = {.in = &req, .out = &resp, .out_len = sizeof(resp)};
	struct drv_mmap map;

	for (u.in_len = 0; u.in_len <= without; u.in_len++) {
		struct mlx5_ucontext ctx = {.base.dev = &w.dev};
		const int ret = mlx5_drv_ops.alloc_ucontext(&ctx.base, &u);

		CU_ASSERT_EQUAL(ret, u.in_len < without ? -EINVAL : 0);
		if (ret)
			continue;
		CU_ASSERT_EQUAL(resp.tot_bfregs, 16);
		CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&ctx.base, 0, 4096, &map), 0);
		mlx5_drv_ops.dealloc_ucontext(&ctx.base);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"device memory", test_dm},
					    {"device memory that is mapped", test_mapped_dm},
					    {"operations on device memory", test_dm_ops},
					    {"refused device memory", test_refused_dm},
					    {"query of device memory", test_query_dm},
					    {"queries", test_queries},
					    {"clock page", test_clock_page},
					    {"requests that end earlier", test_short_requests},
					    CU_TEST_INFO_NULL};

	return suite_run("mlx5 methods", world_init, world_exit, tests);
}
