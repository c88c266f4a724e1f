// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Objects: limits, references, addresses, memory rights, mappings; nothing is left after a release. */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bench.h"
#include "harness.h"

#define CM(n) IB_USER_VERBS_CMD_##n
#define LOCAL HCASIM_ACCESS_LOCAL_WRITE

static void ready(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
}

static void device_files(void)
{
	struct kfile *f;
	dev_t dev;

	CHECK_ERR(kernel_stat(w.k, "uverbs1", &dev), 0);
	CU_ASSERT_EQUAL(dev, makedev(231, 193));
	CHECK_ERR(kernel_stat(w.k, "uverbs2", &dev), -ENOENT);
	CHECK_ERR(kernel_stat(w.k, "rdma_cm", &dev), 0);
	CU_ASSERT_EQUAL(dev, makedev(10, 122));
	CHECK_ERR(kernel_stat(w.k, "rdma_cm0", &dev), -ENOENT);
	CHECK_ERR(kernel_stat(w.k, "uverbs01", &dev), -ENOENT);
	CHECK_ERR(kernel_open(w.k, &w.task, "", 0, &f), -ENOENT);
	CHECK_ERR(kernel_open(w.k, &w.task, "uverbs1", 0, &f), 0);
	CU_ASSERT_EQUAL(kernel_file_device(f), 1);
	kernel_release(f);
}

static void windows(void)
{
	ready();
	CHECK_ERR(make_mw(0), -EINVAL);
	CHECK_ERR(make_mw(3), -EINVAL);
	for (unsigned int i = 0; i < 16; i++)
		CHECK_ERR(make_mw(1 + i % 2), 0);
	CHECK_ERR(make_mw(1), -ENOMEM);
	CHECK_ERR(destroy(CM(DEALLOC_PD), w.pd), -EBUSY);
	CHECK_ERR(destroy(CM(DEREG_MR), w.mw), -EINVAL);
	CHECK_ERR(destroy(CM(DEALLOC_MW), w.mw), 0);
	CHECK_ERR(destroy(CM(DEALLOC_MW), w.mw), -ENOENT);
	CHECK_ERR(make_mw(2), 0);
	w.pd++;
	CHECK_ERR(make_mw(1), -ENOENT);
	file_close(); /* destroys the rest */
	ready();
	for (unsigned int i = 0; i < 16; i++)
		CHECK_ERR(make_mw(1), 0);
	file_close();
}

static void references(void)
{
	struct ib_uverbs_destroy_cq_resp cr;
	struct ib_uverbs_destroy_qp_resp qr;

	ready();
	CHECK_ERR(make_mr(w.arena, 4096, LOCAL), 0);
	CHECK_ERR(destroy(CM(DEALLOC_PD), w.pd), -EBUSY);
	CHECK_ERR(destroy(CM(DEREG_MR), w.mr), 0);
	CHECK_ERR(destroy(CM(DEREG_MR), w.mr), -ENOENT);
	CHECK_ERR(make_ah((uint8_t[16]){[10] = 0xff, 0xff, 10, 77, 0, 1}, 1), 0);
	CHECK_ERR(destroy(CM(DEALLOC_PD), w.pd), -EBUSY);
	CHECK_ERR(destroy(CM(DESTROY_AH), w.ah), 0);
	CHECK_ERR(make_cq(4, -1), 0);
	CHECK_ERR(make_qp(HCASIM_QPT_RC), 0);
	CHECK_ERR(destroy(CM(DEALLOC_PD), w.pd), -EBUSY);
	CHECK_ERR(destroy_cq(w.cq, &cr), -EBUSY);
	CHECK_ERR(destroy_qp(w.qp, &qr), 0);
	CHECK_ERR(destroy_cq(w.cq, &cr), 0);
	CHECK_ERR(destroy(CM(DEALLOC_PD), w.pd), 0);
	CHECK(TAILQ_EMPTY(&w.f->objects));
	file_close();
}

/* A failed call leaves nothing behind, no matter at which step it failed. */
static void nothing_left(void)
{
	struct ib_uverbs_alloc_pd cmd = {.response = HOSTILE};
	struct cmd_buf *b;

	ready();
	b = user_alloc(sizeof(*b));
	b->hdr = (struct ib_uverbs_cmd_hdr){CM(ALLOC_PD), 4, 3};
	memcpy(b->body, &cmd, sizeof(cmd));
	for (int i = 0; i < 100; i++)
		CHECK_ERR(kernel_write(w.f, &w.task, U(b), 16, &w.reply), -EFAULT);
	CU_ASSERT_EQUAL(w.f->handles.used, 1); /* the first PD's */
	CHECK_ERR(make_cq(4, -1), 0);
	/* These adapters can create at most 64 of each: a failed create must free its place. */
	for (int i = 0; i < 200; i++)
		CHECK_ERR(make_mr((void *)(uintptr_t)HOSTILE, 4096, LOCAL), -EFAULT);
	CHECK_ERR(make_mr(w.arena, 4096, LOCAL), 0);
	file_close();
}

static void limits(void)
{
	struct ib_uverbs_destroy_cq_resp cr;
	unsigned int n;
	int ret = 0;

	ready();
	for (n = 0; !ret && n < 1000; n++)
		ret = make_cq(2, -1);
	CHECK_ERR(ret, -ENOMEM);
	CU_ASSERT_EQUAL(n - 1, 64);
	file_close();
	ready();
	CHECK_ERR(make_cq(0, -1), -EINVAL);
	CHECK_ERR(make_cq(HCASIM_MAX_CQE + 1, -1), -EINVAL);
	CHECK_ERR(make_cq(0xffffffff, -1), -EINVAL);
	CHECK_ERR(make_cq(3, -1), 0);
	CU_ASSERT_EQUAL(w.cq_resp.cqe, 4);
	CHECK_ERR(destroy_cq(w.cq, &cr), 0);
	CHECK_ERR(make_cq(HCASIM_MAX_CQE, -1), 0);
	CHECK_ERR(destroy_cq(w.cq, &cr), 0);
	for (ret = 0, n = 0; !ret && n < 1000; n++)
		ret = make_mr(w.arena, 4096, LOCAL);
	CHECK_ERR(ret, -ENOMEM);
	CU_ASSERT_EQUAL(n - 1, 64);
	file_close();
}

static int qp_with(const struct ib_uverbs_create_qp *attr, struct hcasim_create_qp_req r)
{
	struct ib_uverbs_create_qp c = *attr;
	struct ib_uverbs_create_qp_resp resp;

	c.pd_handle = w.pd;
	c.send_cq_handle = c.recv_cq_handle = w.cq;
	return do_write(CM(CREATE_QP), &c, sizeof(c), &r, sizeof(r), &resp, sizeof(resp), &w.qp_resp,
			sizeof(w.qp_resp));
}

static void qp_caps(void)
{
	const struct ib_uverbs_create_qp c = {.max_send_wr = 8,
					      .max_recv_wr = 8,
					      .max_send_sge = 2,
					      .max_recv_sge = 1,
					      .max_inline_data = 32,
					      .qp_type = HCASIM_QPT_RC};
	const struct hcasim_create_qp_req r = {.sq_wqebb = 16, .rq_wqe_count = 8, .rq_stride = 32};
	struct drv_mmap d;
#define C(m, v)                                                                                              \
	({                                                                                                   \
		struct ib_uverbs_create_qp x = c;                                                            \
		x.m = v;                                                                                     \
		qp_with(&x, r);                                                                              \
	})
#define R(m, v)                                                                                              \
	({                                                                                                   \
		struct hcasim_create_qp_req x = r;                                                           \
		x.m = v;                                                                                     \
		qp_with(&c, x);                                                                              \
	})

	ready();
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(qp_with(&c, r), 0);
	CHECK_ERR(C(max_send_wr, HCASIM_MAX_QP_WR + 1), -EINVAL);
	CHECK_ERR(C(max_recv_wr, HCASIM_MAX_QP_WR + 1), -EINVAL);
	CHECK_ERR(C(max_send_sge, HCASIM_MAX_SGE + 1), -EINVAL);
	CHECK_ERR(C(max_recv_sge, HCASIM_MAX_SGE + 1), -EINVAL);
	CHECK_ERR(C(max_inline_data, HCASIM_MAX_INLINE + 1), -EINVAL);
	CHECK_ERR(C(qp_type, 0), -EINVAL);
	CHECK_ERR(C(qp_type, HCASIM_QPT_RAW_PACKET), 0);
	CHECK_ERR(C(qp_type, HCASIM_QPT_XRC_SEND), -EINVAL); /* with a receive queue */
	CHECK_ERR(C(qp_type, HCASIM_QPT_XRC_RECV), -EINVAL);
	CHECK_ERR(C(qp_type, HCASIM_QPT_DRIVER), -EOPNOTSUPP);
	CHECK_ERR(C(is_srq, 1), -EINVAL);
	CHECK_ERR(R(sq_wqebb, 15), -EINVAL);
	CHECK_ERR(R(sq_wqebb, 4), -EINVAL);
	CHECK_ERR(R(sq_wqebb, HCASIM_MAX_SQ_WQEBB * 2), -EINVAL);
	CHECK_ERR(R(rq_wqe_count, 7), -EINVAL);
	CHECK_ERR(R(rq_wqe_count, 4), -EINVAL);
	CHECK_ERR(R(rq_wqe_count, 0), -EINVAL);
	CHECK_ERR(R(rq_wqe_count, HCASIM_MAX_QP_WR * 2), -EINVAL);
	CHECK_ERR(R(rq_stride, 16), -EINVAL);
	CHECK_ERR(R(rq_stride, 48), -EINVAL);
	CHECK_ERR(R(rq_stride, 0x80000000), -EINVAL);
	/* A thread domain's page must have been mapped. */
	CHECK_ERR(R(uar_index, 1), -EINVAL);
	CHECK_ERR(kernel_mmap(w.f, &w.task, 4096, PROT_READ | PROT_WRITE, 4096, &d), 0);
	CHECK_ERR(R(uar_index, 1), 0);
	CHECK_ERR(R(uar_index, UINT32_MAX), -EINVAL);
	CHECK_ERR(R(rq_stride, 64), 0);
	file_close();
}

static void access_rights(void)
{
	static const struct {
		uint32_t access;
		int err;
	} tab[] = {
		{0, 0},
		{HCASIM_ACCESS_REMOTE_READ, 0},
		{HCASIM_ACCESS_REMOTE_WRITE, -EINVAL},
		{HCASIM_ACCESS_REMOTE_ATOMIC, -EINVAL},
		{LOCAL | HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_ATOMIC, 0},
		{HCASIM_ACCESS_RELAXED_ORDERING | LOCAL, 0},
		{HCASIM_ACCESS_ON_DEMAND, 0},
		{HCASIM_ACCESS_FLUSH_GLOBAL, 0},
		{HCASIM_ACCESS_FLUSH_PERSISTENT, -EOPNOTSUPP},
		{1u << 10, -EINVAL},
		{1u << 31, -EINVAL},
	};

	ready();
	for (size_t i = 0; i < sizeof(tab) / sizeof(tab[0]); i++)
		CHECK_ERR(make_mr(w.arena, 4096, tab[i].access), tab[i].err);
	file_close();
}

static int mr_with(uint64_t start, uint64_t length, uint64_t iova)
{
	struct ib_uverbs_reg_mr cmd = {.start = start, .length = length, .hca_va = iova, .pd_handle = w.pd};
	struct ib_uverbs_reg_mr_resp resp = {0};

	return do_write(CM(REG_MR), &cmd, sizeof(cmd), NULL, 0, &resp, 12, NULL, 0);
}

static void mr_ranges(void)
{
	const uint64_t a = U(w.arena);

	ready();
	CHECK_ERR(mr_with(a, 0, a), -EINVAL);
	CHECK_ERR(mr_with(a, 4096, a + 1), -EINVAL);
	CHECK_ERR(mr_with(a, 4096, 0x12345000), 0);
	CHECK_ERR(mr_with(a, ARENA_SIZE, a), 0);
	CHECK_ERR(mr_with(a, ARENA_SIZE + 1, a), -EFAULT);
	CHECK_ERR(mr_with(a, ~0ull, a), -EINVAL);
	CHECK_ERR(mr_with(a, ~0ull - a, a), -EINVAL);
	CHECK_ERR(mr_with(HOSTILE, 8, HOSTILE), -EFAULT);
	CHECK_ERR(mr_with(~0ull - 4095, 4096, ~0ull - 4095), -EINVAL);
	file_close();
}

static int rereg(uint32_t flags, uint64_t start, uint64_t length, uint32_t access, uint32_t pd,
		 struct ib_uverbs_rereg_mr_resp *resp)
{
	struct ib_uverbs_rereg_mr cmd = {.mr_handle = w.mr,
					 .flags = flags,
					 .start = start,
					 .length = length,
					 .hca_va = start,
					 .pd_handle = pd,
					 .access_flags = access};

	return do_write(CM(REREG_MR), &cmd, sizeof(cmd), NULL, 0, resp, 8, NULL, 0);
}

static void reregister(void)
{
	struct ib_uverbs_rereg_mr_resp resp;
	const uint64_t a = U(w.arena);
	uint32_t first;

	ready();
	first = w.pd;
	CHECK_ERR(make_mr(w.arena, 8192, 0), 0);
	CHECK_ERR(rereg(0, a, 4096, 0, first, &resp), -EINVAL);
	CHECK_ERR(rereg(8, a, 4096, 0, first, &resp), -EOPNOTSUPP);
	CHECK_ERR(rereg(4, 0, 0, HCASIM_ACCESS_REMOTE_WRITE, 0, &resp), -EINVAL);
	CHECK_ERR(rereg(1, HOSTILE, 4096, 0, 0, &resp), -EFAULT);
	CHECK_ERR(rereg(2, 0, 0, 0, 999, &resp), -ENOENT);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(rereg(2, 0, 0, 0, w.pd, &resp), 0);
	/* The region now uses the second PD and not the first. */
	CHECK_ERR(destroy(CM(DEALLOC_PD), w.pd), -EBUSY);
	CHECK_ERR(destroy(CM(DEALLOC_PD), first), 0);
	CHECK_ERR(rereg(5, a + 4096, 4096, LOCAL, 0, &resp), 0);
	CU_ASSERT_EQUAL(resp.lkey, resp.rkey);
	CU_ASSERT_EQUAL(((struct uobj *)numbers_find(&w.f->handles, w.mr))->mr.start, a + 4096);
	CHECK_ERR(destroy(CM(DEREG_MR), w.mr), 0);
	CHECK_ERR(destroy(CM(DEALLOC_PD), w.pd), 0);
	file_close();
}

/* Each page counts for each region, until that is gone; what fails leaves nothing. */
static void pinned_pages(void)
{
	struct ib_uverbs_rereg_mr_resp resp;
	const uint64_t a = U(w.arena), was = w.pinned;
	uint32_t first;

	ready();
	CHECK_ERR(mr_with(a + 4000, 200, a + 4000), 0);
	CU_ASSERT_EQUAL(w.pinned, was + 2);
	w.pin_limit = was + 5;
	CHECK_ERR(make_mr(w.arena, 3 * 4096, 0), 0);
	first = w.mr;
	CHECK_ERR(make_mr(w.arena, 1, 0), -ENOMEM);
	CHECK_ERR(rereg(1, a, 1, 0, 0, &resp), -EINVAL); /* there is no such region */
	w.mr = first;
	CHECK_ERR(rereg(1, a, 4096, 0, 0, &resp), -ENOMEM); /* the new pages come first */
	w.pin_limit = 0;
	CHECK_ERR(rereg(1, a, 4096, 0, 0, &resp), 0);
	CU_ASSERT_EQUAL(w.pinned, was + 3);
	CHECK_ERR(rereg(4, 0, 0, LOCAL, 0, &resp), 0);
	CU_ASSERT_EQUAL(w.pinned, was + 3);
	CHECK_ERR(destroy(CM(DEREG_MR), w.mr), 0);
	CU_ASSERT_EQUAL(w.pinned, was + 2);
	file_close();
	CU_ASSERT_EQUAL(w.pinned, was);
}

static void addresses(void)
{
	static const struct {
		uint8_t dgid[16], mac[6];
		uint8_t sgid;
		int err;
	} tab[] = {
		/* the adapters' own addresses */
		{{[10] = 0xff, 0xff, 10, 77, 0, 1}, {2, 0, 0, 0, 0x10, 0}, 1, 0},
		{{[10] = 0xff, 0xff, 10, 77, 0, 2}, {2, 0, 0, 0, 0x10, 1}, 1, 0},
		{{0xfe, 0x80, [11] = 0xff, 0xfe, 0, 0x10, 1}, {2, 0, 0, 0, 0x10, 1}, 0, 0},
		/*
		 * unused addresses: IPv4 does not answer ARP, IPv6 has no route; a link-local one contains
		 * its MAC
		 */
		{{[10] = 0xff, 0xff, 10, 77, 0, 3}, {0}, 1, -ETIMEDOUT},
		{{0x20, 0x01, 0x0d, 0xb8, [15] = 1}, {0}, 0, -ENETUNREACH},
		{{0xfe, 0x80, [8] = 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55},
		 {0, 0x11, 0x22, 0x33, 0x44, 0x55},
		 0,
		 0},
		{{0xfe, 0x80, [15] = 1}, {0}, 0, -ETIMEDOUT},
		/* families do not mix */
		{{[10] = 0xff, 0xff, 10, 77, 0, 2}, {0}, 0, -EINVAL},
		{{0xfe, 0x80, [8] = 2, [11] = 0xff, 0xfe}, {0}, 1, -EINVAL},
		/* multicast: RFC 2464 and RFC 1112 */
		{{0xff, 0x0e, [12] = 1, 2, 3, 4}, {0x33, 0x33, 1, 2, 3, 4}, 0, 0},
		{{[10] = 0xff, 0xff, 239, 129, 3, 4}, {1, 0, 0x5e, 1, 3, 4}, 1, 0},
		/* source entries that are empty or do not exist */
		{{[10] = 0xff, 0xff, 10, 77, 0, 2}, {0}, 3, -ENODATA},
		{{[10] = 0xff, 0xff, 10, 77, 0, 2}, {0}, 16, -EINVAL},
	};

	ready();
	for (size_t i = 0; i < sizeof(tab) / sizeof(tab[0]); i++) {
		CHECK_ERR(make_ah(tab[i].dgid, tab[i].sgid), tab[i].err);
		if (!tab[i].err && memcmp(w.arena, tab[i].mac, 6))
			CU_FAIL("MAC of the destination");
	}
	file_close();
}

static void ah_fields(void)
{
	struct ib_uverbs_create_ah cmd = {.attr = {.port_num = 1, .is_global = 1, .grh = {.sgid_index = 1}}};
	struct ib_uverbs_create_ah_resp resp;

	ready();
	memcpy(cmd.attr.grh.dgid, (uint8_t[16]){[10] = 0xff, 0xff, 10, 77, 0, 2}, 16);
	cmd.pd_handle = w.pd;
	CHECK_ERR(do_write(CM(CREATE_AH), &cmd, sizeof(cmd), NULL, 0, &resp, 4, NULL, 0), 0);
	cmd.attr.is_global = 0;
	CHECK_ERR(do_write(CM(CREATE_AH), &cmd, sizeof(cmd), NULL, 0, &resp, 4, NULL, 0), -EINVAL);
	cmd.attr.is_global = 1;
	cmd.attr.port_num = 2;
	CHECK_ERR(do_write(CM(CREATE_AH), &cmd, sizeof(cmd), NULL, 0, &resp, 4, NULL, 0), -EINVAL);
	cmd.attr.port_num = 0;
	CHECK_ERR(do_write(CM(CREATE_AH), &cmd, sizeof(cmd), NULL, 0, &resp, 4, NULL, 0), -EINVAL);
	file_close();
}

static int try_mmap(uint64_t offset, uint64_t len, struct drv_mmap *d)
{
	return kernel_mmap(w.f, &w.task, len, PROT_READ | PROT_WRITE, offset, d);
}

static void mappings(void)
{
	struct ib_uverbs_destroy_cq_resp cr;
	struct hcasim_create_cq_resp first;
	struct drv_mmap d, e;

	file_open();
	CHECK_ERR(try_mmap(0, 4096, &d), -EINVAL);
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(try_mmap(0, 4096, &d), 0);
	CHECK_ERR(try_mmap(0, 8192, &d), -EINVAL);
	/*
	 * Pages of thread domains: each is different, mapping it again gives the same one, and their number
	 * is limited.
	 */
	CHECK_ERR(try_mmap(4096, 4096, &e), 0);
	CU_ASSERT_NOT_EQUAL(d.bar_offset, e.bar_offset);
	CHECK_ERR(try_mmap(w.context_resp.td_uars * 4096ull, 4096, &d), 0);
	CU_ASSERT_NOT_EQUAL(d.bar_offset, e.bar_offset);
	CHECK_ERR(try_mmap(4096, 4096, &d), 0);
	CU_ASSERT_EQUAL(d.bar_offset, e.bar_offset);
	CHECK_ERR(try_mmap(4096, 8192, &d), -EINVAL);
	CHECK_ERR(try_mmap((w.context_resp.td_uars + 1) * 4096ull, 4096, &d), -EINVAL);
	CHECK_ERR(try_mmap(~0ull & ~4095ull, 4096, &d), -EINVAL);
	CHECK_ERR(make_cq(16, -1), 0);
	first = w.cq_resp;
	CHECK_ERR(try_mmap(first.ring_mmap_offset, first.ring_mmap_size, &d), 0);
	/* The application gets this descriptor: shrinking the file would cause SIGBUS in the device. */
	CHECK_ERR(ftruncate(d.memfd, 0), -1);
	CHECK_ERR(errno, EPERM);
	CHECK_ERR(try_mmap(first.ring_mmap_offset, first.ring_mmap_size + 4096, &d), -EINVAL);
	CHECK_ERR(try_mmap(first.ring_mmap_offset + 4096, 4096, &d), -EINVAL);
	/* A CQ of another size has another mapping. */
	CHECK_ERR(make_cq(4096, -1), 0);
	CHECK_ERR(try_mmap(w.cq_resp.ring_mmap_offset, w.cq_resp.ring_mmap_size, &e), 0);
	CU_ASSERT(e.memfd_offset >= d.memfd_offset + d.length);
	CHECK_ERR(destroy_cq(w.cq, &cr), 0);
	/* Its offset is invalid from now on and is not used for another mapping. */
	CHECK_ERR(try_mmap(w.cq_resp.ring_mmap_offset, w.cq_resp.ring_mmap_size, &e), -EINVAL);
	first = w.cq_resp;
	bench_pass(2);
	CHECK_ERR(make_cq(4096, -1), 0);
	CU_ASSERT_NOT_EQUAL(first.ring_mmap_offset, w.cq_resp.ring_mmap_offset);
	file_close();
}

static void contexts(void)
{
	static struct kfile *f[HCASIM_UAR_PAGES + 1];
	struct drv_mmap d, e;
	unsigned int n;

	/* Two contexts have two doorbell pages. */
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(try_mmap(0, 4096, &d), 0);
	f[0] = w.f;
	CHECK_ERR(kernel_open(w.k, &w.task, "uverbs0", 0, &w.f), 0);
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(try_mmap(0, 4096, &e), 0);
	CU_ASSERT_NOT_EQUAL(d.bar_offset, e.bar_offset);
	kernel_release(f[0]);
	file_close();
	/* There are 1024 pages, of which the driver uses one. */
	for (n = 0; n < HCASIM_UAR_PAGES; n++) {
		struct ioc *i;

		w.used = 0;
		CHECK_ERR(kernel_open(w.k, &w.task, "uverbs0", 0, &f[n]), 0);
		w.f = f[n];
		i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
		ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_alloc_ucontext_resp));
		if (ioc_run(i))
			break;
	}
	CU_ASSERT(n == HCASIM_UAR_PAGES - 1 || n >= 900); /* or until there are no more descriptors */
	while (n)
		kernel_release(f[n--]);
	kernel_release(f[0]);
}

static void queries(void)
{
	struct ib_uverbs_ex_query_device_resp ex;
	struct hcasim_query_device_ex_resp own = {0};
	const struct ib_uverbs_ex_query_device cmd = {0};
	const struct ib_uverbs_query_port pc = {.port_num = 1};
	struct ib_uverbs_query_port_resp p;

	ready();
	CHECK_ERR(do_write_ex(IB_USER_VERBS_EX_CMD_QUERY_DEVICE, &cmd, sizeof(cmd), NULL, 0, &ex, sizeof(ex),
			      &own, sizeof(own)),
		  0);
	CU_ASSERT_EQUAL(ex.response_length, sizeof(ex));
	CU_ASSERT_EQUAL(own.rate_limit_min, HCASIM_RATE_LIMIT_MIN);
	CU_ASSERT_EQUAL(own.rate_limit_max, HCASIM_RATE_LIMIT_MAX);
	CU_ASSERT_EQUAL(own.rate_limit_qpts, 1u << HCASIM_QPT_RAW_PACKET);
	CU_ASSERT_EQUAL(ex.base.vendor_part_id, HCASIM_PCI_DEVICE);
	CU_ASSERT_EQUAL(ex.base.max_qp, 64);
	CU_ASSERT_EQUAL(ex.base.max_sge, HCASIM_MAX_SGE);
	CU_ASSERT_EQUAL(ex.base.max_mw, 16);
	CU_ASSERT_EQUAL(ex.base.phys_port_cnt, 1);
	CU_ASSERT_EQUAL(ex.base.max_srq, 64);
	CU_ASSERT_EQUAL(ex.base.max_srq_wr, HCASIM_MAX_SRQ_WR);
	CU_ASSERT_EQUAL(ex.hca_core_clock, 1000000000);
	CHECK_ERR(do_write(CM(QUERY_PORT), &pc, sizeof(pc), NULL, 0, &p, sizeof(p), NULL, 0), 0);
	CU_ASSERT_EQUAL(p.state, 4);
	CU_ASSERT_EQUAL(p.link_layer, 2);
	CU_ASSERT_EQUAL(p.lid, 0);
	CU_ASSERT_EQUAL(p.active_mtu, 5);
	CU_ASSERT_EQUAL(p.gid_tbl_len, 16);
	CU_ASSERT_EQUAL(p.pkey_tbl_len, 1);
	file_close();
}

static void resize(void)
{
	struct ib_uverbs_resize_cq cmd = {.cqe = 64};
	struct ib_uverbs_resize_cq_resp resp;
	struct hcasim_resize_cq_resp drv;
	struct drv_mmap d;
	int ret;

	ready();
	CHECK_ERR(make_cq(16, -1), 0);
	cmd.cq_handle = w.cq;
	ret = do_write(CM(RESIZE_CQ), &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), &drv, sizeof(drv));
	CHECK_ERR(ret, 0);
	CU_ASSERT_EQUAL(resp.cqe, 64);
	CHECK_ERR(try_mmap(drv.ring_mmap_offset, drv.ring_mmap_size, &d), 0);
	CHECK_ERR(try_mmap(w.cq_resp.ring_mmap_offset, w.cq_resp.ring_mmap_size, &d), 0);
	cmd.cqe = 0;
	CHECK_ERR(do_write(CM(RESIZE_CQ), &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), &drv, sizeof(drv)),
		  -EINVAL);
	file_close();
}

static int modify_cq(const struct ib_uverbs_ex_modify_cq *cmd)
{
	return do_write_ex(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_CQ, cmd,
			   sizeof(*cmd), NULL, 0, NULL, 0, NULL, 0);
}

static void moderate(void)
{
	struct ib_uverbs_ex_modify_cq cmd = {.attr_mask = 1, .attr = {65535, 65535}}, bad;

	ready();
	CHECK_ERR(make_cq(16, -1), 0);
	cmd.cq_handle = w.cq;
	CHECK_ERR(modify_cq(&cmd), 0);
	bad = cmd;
	bad.attr_mask = 0;
	CHECK_ERR(modify_cq(&bad), -EINVAL);
	bad.attr_mask = 2;
	CHECK_ERR(modify_cq(&bad), -EOPNOTSUPP);
	bad = cmd;
	bad.reserved = 1;
	CHECK_ERR(modify_cq(&bad), -EINVAL);
	bad = cmd;
	bad.cq_handle++;
	CHECK_ERR(modify_cq(&bad), -ENOENT);
	file_close();
}

/* A process dies with all objects alive; the next one finds the adapter unused. */
static void release_all(void)
{
	const unsigned int fds = count_fds();

	for (int round = 0; round < 100; round++) {
		ready();
		CHECK_ERR(make_channel(), 0);
		for (int i = 0; i < 5; i++) {
			CHECK_ERR(make_cq(64, w.comp_fd), 0);
			CHECK_ERR(make_mr(w.arena, 65536, LOCAL), 0);
			CHECK_ERR(make_ah((uint8_t[16]){[10] = 0xff, 0xff, 10, 77, 0, 2}, 1), 0);
			CHECK_ERR(make_qp(i % 2 ? HCASIM_QPT_UD : HCASIM_QPT_RC), 0);
			CHECK_ERR(qp_to_state(i % 2 ? HCASIM_QPT_UD : HCASIM_QPT_RC, i), 0);
		}
		file_close();
	}
	CU_ASSERT_EQUAL(count_fds(), fds);
	CHECK(TAILQ_EMPTY(&w.k->dev[0].files));
}

void add_object_suite(void)
{
	CU_pSuite s = CU_add_suite("objects", world_init, world_exit);

	CU_add_test(s, "device files", device_files);
	CU_add_test(s, "device and port queries", queries);
	CU_add_test(s, "references", references);
	CU_add_test(s, "a failed call leaves nothing", nothing_left);
	CU_add_test(s, "limits", limits);
	CU_add_test(s, "QP capabilities and rings", qp_caps);
	CU_add_test(s, "access rights", access_rights);
	CU_add_test(s, "ranges of memory regions", mr_ranges);
	CU_add_test(s, "rereg_mr", reregister);
	CU_add_test(s, "pinned pages", pinned_pages);
	CU_add_test(s, "memory windows", windows);
	CU_add_test(s, "addresses", addresses);
	CU_add_test(s, "fields of address handles", ah_fields);
	CU_add_test(s, "mappings", mappings);
	CU_add_test(s, "contexts and doorbell pages", contexts);
	CU_add_test(s, "resize_cq", resize);
	CU_add_test(s, "modify_cq", moderate);
	CU_add_test(s, "release with everything alive", release_all);
}
