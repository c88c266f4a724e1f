// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Regions of dma-bufs: ranges, rights, and how long the attachment lasts. */
#include "bench.h"
#include "harness.h"
#include "kernel/newer_abi.h"

#define SIZE 16384ull /* size of dmabuf_fd() */

static void start(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
}

static int reg(uint64_t offset, uint64_t length, uint64_t iova, uint32_t access)
{
	struct ioc *i = dmabuf_ioc(offset, length, iova, dmabuf_fd(), access);
	const int ret = ioc_run(i);

	w.mr = i->attrs[0].data;
	w.lkey = *(uint32_t *)(uintptr_t)i->attrs[7].data;
	return ret;
}

static void ranges(void)
{
	start();
	CHECK_ERR(reg(0, 0, 0, 0), -EINVAL);
	CHECK_ERR(reg(0, SIZE + 1, 0, 0), -EINVAL);
	CHECK_ERR(reg(1, SIZE, 1, 0), -EINVAL);
	CHECK_ERR(reg(SIZE, 1, 0, 0), -EINVAL);
	CHECK_ERR(reg(~4095ull, 8192, 0, 0), -EINVAL); /* wraps */
	CHECK_ERR(reg(1, 8, 2, 0), -EINVAL);           /* a different offset in the page */
	CHECK(w.attached == 0);
	CHECK_ERR(reg(SIZE - 1, 1, 8191, 0), 0);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_DEREG_MR, w.mr), 0);
	file_close();
}

static void rights(void)
{
	start();
	CHECK_ERR(reg(0, 1, 0, IB_UVERBS_ACCESS_REMOTE_WRITE), -EINVAL); /* without LOCAL_WRITE */
	CHECK_ERR(reg(0, 1, 0, IB_UVERBS_ACCESS_MW_BIND), -EINVAL);
	CHECK_ERR(reg(0, 1, 0, IB_UVERBS_ACCESS_ZERO_BASED), -EINVAL);
	CHECK_ERR(reg(0, 1, 0, IB_UVERBS_ACCESS_ON_DEMAND), -EINVAL);
	CHECK_ERR(reg(0, 1, 0, 1u << 31), -EINVAL);
	CHECK_ERR(reg(0, 1, 0, IB_UVERBS_ACCESS_RELAXED_ORDERING | IB_UVERBS_ACCESS_REMOTE_READ), 0);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_DEREG_MR, w.mr), 0);
	file_close();
}

static void attached(void)
{
	struct ib_uverbs_rereg_mr cmd = {.flags = 4};
	struct ib_uverbs_rereg_mr_resp resp;
	struct hca_mr_attr attr;

	start();
	CHECK_ERR(reg(8192, 8192, 4096, IB_UVERBS_ACCESS_LOCAL_WRITE), 0);
	CHECK_ERR(hca_mr_query(bench_core(0), w.lkey, &attr), 0);
	CHECK(attr.pasid == 9 && attr.va == 8192 && attr.iova == 4096 && attr.length == 8192);
	cmd.mr_handle = w.mr;
	CHECK_ERR(do_write(IB_USER_VERBS_CMD_REREG_MR, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), NULL,
			   0),
		  -EINVAL);
	CHECK(w.attached == 1);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_DEREG_MR, w.mr), 0);
	CHECK(w.attached == 0);
	CHECK_ERR(reg(0, SIZE, 0, 0), 0);
	CHECK_ERR(reg(0, SIZE, 0, 0), 0);
	CHECK(w.attached == 2);
	file_close();
	CHECK(w.attached == 0);
}

static int reg_fd(int fd)
{
	return ioc_run(dmabuf_ioc(0, SIZE, 0, fd, 0));
}

static void descriptors(void)
{
	start();
	CHECK_ERR(reg_fd(9999), -EBADF);
	CHECK_ERR(reg_fd(-1), -EBADF);
	CHECK_ERR(reg_fd(w.async_fd), -EINVAL);
	CHECK(w.attached == 0);
	CHECK_ERR(reg_fd(dmabuf_fd()), 0);
	file_close();
}

/* The newer method, which accepts both kinds of memory. */
static struct ioc *reg_fd_ioc(uint64_t offset, uint64_t length, uint32_t access)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_MR, ABI_METHOD_REG_MR);

	ioc_obj(i, ABI_ATTR_REG_MR_HANDLE, 0);
	ioc_obj(i, ABI_ATTR_REG_MR_PD_HANDLE, w.pd);
	ioc_in(i, ABI_ATTR_REG_MR_IOVA, &offset, sizeof(offset));
	ioc_in(i, ABI_ATTR_REG_MR_LENGTH, &length, sizeof(length));
	ioc_in(i, ABI_ATTR_REG_MR_ACCESS_FLAGS, &access, sizeof(access));
	ioc_out(i, ABI_ATTR_REG_MR_RESP_LKEY, user_alloc(8), 4);
	ioc_out(i, ABI_ATTR_REG_MR_RESP_RKEY, user_alloc(8), 4);
	ioc_add(i, ABI_ATTR_REG_MR_FD)->data_s64 = dmabuf_fd();
	ioc_in(i, ABI_ATTR_REG_MR_FD_OFFSET, &offset, sizeof(offset));
	return i;
}

static void newer_method(void)
{
	struct ioc *i;

	start();
	CHECK_ERR(ioc_run(reg_fd_ioc(0, SIZE + 1, 0)), -EINVAL);
	CHECK_ERR(ioc_run(reg_fd_ioc(0, SIZE, IB_UVERBS_ACCESS_MW_BIND)), -EINVAL);
	i = reg_fd_ioc(0, SIZE, 0);
	i->hdr.num_attrs--; /* no offset */
	CHECK_ERR(ioc_run(i), -EINVAL);
	CHECK(w.attached == 0);
	i = reg_fd_ioc(0, SIZE, 0);
	i->attrs[7].len = 4;
	CHECK_ERR(ioc_run(i), -EINVAL); /* a descriptor must be in the attribute itself */
	i = reg_fd_ioc(0, SIZE, 0);
	i->attrs[7].data |= 1ull << 32;
	CHECK_ERR(ioc_run(i), -EINVAL);
	CHECK(w.attached == 0);
	i = reg_fd_ioc(4096, SIZE - 4096, 0);
	CHECK_ERR(ioc_run(i), 0);
	CHECK(w.attached == 1);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_DEREG_MR, i->attrs[0].data), 0);
	CHECK(w.attached == 0);
	file_close();
}

void add_dmabuf_suite(void)
{
	CU_pSuite s = CU_add_suite("dma-bufs", world_init, world_exit);

	CU_add_test(s, "ranges", ranges);
	CU_add_test(s, "rights", rights);
	CU_add_test(s, "attached as long as the region lives", attached);
	CU_add_test(s, "descriptors", descriptors);
	CU_add_test(s, "REG_MR with a descriptor", newer_method);
}
