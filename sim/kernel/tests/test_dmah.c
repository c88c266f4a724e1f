// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* DMA handles, registrations with one, and the speed of a port. */
#include "bench.h"
#include "harness.h"
#include "kernel/newer_abi.h"

#define NONE (-1)

static uint32_t dmah;

static void start(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
}

static int make_dmah(int cpu, int mem_type, int ph)
{
	struct ioc *i = ioc_new(ABI_OBJECT_DMAH, ABI_METHOD_DMAH_ALLOC);
	int ret;

	ioc_obj(i, ABI_ATTR_ALLOC_DMAH_HANDLE, 0);
	if (cpu != NONE)
		ioc_in(i, ABI_ATTR_ALLOC_DMAH_CPU_ID, &(uint32_t){(uint32_t)cpu}, 4);
	if (mem_type != NONE)
		ioc_add(i, ABI_ATTR_ALLOC_DMAH_TPH_MEM_TYPE)->attr_data.enum_data.elem_id = (uint8_t)mem_type;
	if (ph != NONE)
		ioc_in(i, ABI_ATTR_ALLOC_DMAH_PH, &(uint8_t){(uint8_t)ph}, 1);
	ret = ioc_run(i);
	dmah = i->attrs[0].data;
	return ret;
}

static int free_dmah(void)
{
	struct ioc *i = ioc_new(ABI_OBJECT_DMAH, ABI_METHOD_DMAH_FREE);

	ioc_obj(i, ABI_ATTR_FREE_DMAH_HANDLE, dmah);
	return ioc_run(i);
}

static void handles(void)
{
	struct ioc *i;

	start();
	CHECK_ERR(make_dmah(NONE, NONE, NONE), -EINVAL); /* no hint */
	CHECK_ERR(make_dmah(0, NONE, 0), -EINVAL);       /* a cache id without the kind of memory */
	CHECK_ERR(make_dmah(0, 0, 4), -EINVAL);
	CHECK_ERR(make_dmah(4, 0, 0), -EPERM); /* a processor that the task may not run on */
	CHECK_ERR(make_dmah(0xffff, 0, 3), -EPERM);
	CHECK_ERR(make_dmah(0, 2, 0), -EOPNOTSUPP);
	CHECK_ERR(make_dmah(0, 1, 3), 0);
	CHECK_ERR(free_dmah(), 0);
	CHECK_ERR(free_dmah(), -ENOENT);
	i = ioc_new(ABI_OBJECT_DMAH, ABI_METHOD_DMAH_ALLOC); /* an enum value carries no data */
	ioc_obj(i, ABI_ATTR_ALLOC_DMAH_HANDLE, 0);
	ioc_in(i, ABI_ATTR_ALLOC_DMAH_PH, &(uint8_t){1}, 1);
	ioc_add(i, ABI_ATTR_ALLOC_DMAH_TPH_MEM_TYPE)->len = 4;
	CHECK_ERR(ioc_run(i), -EINVAL);
	i->attrs[2].len = 0;
	i->attrs[2].attr_data.enum_data.reserved = 1;
	CHECK_ERR(ioc_run(i), -EINVAL);
	file_close();
}

static int reg(uint64_t addr, uint64_t length, uint32_t access)
{
	struct ioc *i = reg_mr_ioc(dmah, addr, length, access);
	const int ret = ioc_run(i);

	w.mr = i->attrs[0].data;
	return ret;
}

static void regions(void)
{
	struct hca_mr_attr attr;
	uint32_t *lkey;
	struct ioc *i;

	start();
	CHECK_ERR(make_dmah(2, 1, 3), 0);
	CHECK_ERR(reg(U(w.arena), 0, 0), -EINVAL);
	CHECK_ERR(reg(HOSTILE, 4096, 0), -EFAULT);
	CHECK_ERR(reg(U(w.arena), 4096, IB_UVERBS_ACCESS_REMOTE_WRITE), -EINVAL);
	CHECK_ERR(reg(U(w.arena), 4096, 1u << 31), -EINVAL);
	CHECK_ERR(reg(U(w.arena), 4096, IB_UVERBS_ACCESS_ON_DEMAND), -EOPNOTSUPP);
	i = reg_mr_ioc(dmah, U(w.arena), 4096, 0);
	lkey = (uint32_t *)(uintptr_t)i->attrs[7].data;
	CHECK_ERR(ioc_run(i), 0);
	w.mr = i->attrs[0].data;
	CHECK_ERR(hca_mr_query(bench_core(0), *lkey, &attr), 0);
	CHECK(attr.tph.on && attr.tph.ph == 3 && attr.tph.st == 7);
	CHECK_ERR(free_dmah(), -EBUSY);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_DEREG_MR, w.mr), 0);
	CHECK_ERR(free_dmah(), 0);
	file_close();
}

static void kinds_of_memory(void)
{
	struct ioc *i;

	start();
	CHECK_ERR(make_dmah(NONE, NONE, 0), 0);
	i = reg_mr_ioc(dmah, U(w.arena), 4096, 0);
	ioc_in(i, ABI_ATTR_REG_MR_FD_OFFSET, &(uint64_t){0}, 8);
	CHECK_ERR(ioc_run(i), -EINVAL); /* an offset without a dma-buf */
	i = reg_mr_ioc(dmah, U(w.arena), 4096, 0);
	ioc_obj(i, ABI_ATTR_REG_MR_FD, 0);
	CHECK_ERR(ioc_run(i), -EINVAL); /* both */
	i = reg_mr_ioc(dmah, U(w.arena), 4096, 0);
	i->attrs[4] = i->attrs[--i->hdr.num_attrs]; /* remove the address, the fifth attribute */
	CHECK_ERR(ioc_run(i), -EINVAL);             /* neither */
	file_close();
}

static int speed(uint64_t port, uint64_t *out)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, ABI_METHOD_QUERY_PORT_SPEED);
	uint64_t *resp = user_alloc(8);
	int ret;

	ioc_const(i, ABI_ATTR_QUERY_PORT_SPEED_PORT_NUM, port);
	ioc_out(i, ABI_ATTR_QUERY_PORT_SPEED_RESP, resp, 8);
	ret = ioc_run(i);
	*out = *resp;
	return ret;
}

static void port_speed(void)
{
	uint64_t now;

	start();
	CHECK_ERR(speed(0, &now), -EINVAL);
	CHECK_ERR(speed(2, &now), -EINVAL);
	CHECK_ERR(speed(257, &now), -EINVAL);
	CHECK_ERR(speed(1ull << 32, &now), -EINVAL);
	CHECK_ERR(speed(1, &now), 0);
	CHECK(now == 400); /* in units of 100 Mb/s */
	file_close();
}

void add_dmah_suite(void)
{
	CU_pSuite s = CU_add_suite("DMA handles", world_init, world_exit);

	CU_add_test(s, "handles", handles);
	CU_add_test(s, "regions", regions);
	CU_add_test(s, "kinds of memory", kinds_of_memory);
	CU_add_test(s, "port speed", port_speed);
}
