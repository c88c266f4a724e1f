/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A context imported while its original is open, with its protection domain, region and device memory. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "suites/objects/own.h"

#define SIZE   4096
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

struct imports {
	struct kit *k;
	struct runner there; /* as the runner, with the imported context and PD */
	struct kit in;       /* the scenario in that context */
	struct ibv_context *ctx;
	struct ibv_pd *pd, *imported_pd;
	struct ibv_mr *mr, *imported_mr;
	struct ibv_dm *dm, *imported_dm;
	uint8_t *bytes;
};

static void no_import(struct kit *k, const void *object, const char *what)
{
	KIT_CHECK(k, !object, "the import of %s succeeded", what);
	KIT_CHECK(k, errno > 0, "the import of %s failed without an errno", what);
	k->res->err = errno;
}
#define NO_IMPORT(k, call, what) no_import(k, (errno = 0, (const void *)(call)), what)

static bool open_original(struct imports *i)
{
	struct ibv_context *ctx = i->k->r->dut.requester.ctx;

	i->pd = ibv_alloc_pd(ctx);
	i->bytes = i->pd ? end_alloc(i->pd, SIZE) : NULL;
	i->mr = i->bytes ? ibv_reg_mr(i->pd, i->bytes, SIZE - 24, RIGHTS) : NULL;
	return KIT_MUST(i->k, i->mr, "objects of the case: %s", errno_name(errno));
}

static bool import_device(struct imports *i)
{
	struct ibv_context *ctx = i->k->r->dut.requester.ctx;
	const int fd = dup(ctx->cmd_fd), other = dup(STDERR_FILENO);
	struct ibv_device_attr attr;

	log_call(&i->k->res->log, "/* ibv_import_device(dup(ctx->cmd_fd)) */");
	NO_IMPORT(i->k, ibv_import_device(other), "a file that is no device");
	close(other);
	i->ctx = ibv_import_device(fd);
	if (!i->ctx) {
		close(fd);
		KIT_FAULT(i->k, "ibv_import_device failed with %s", errno_name(errno));
	} else if (i->ctx == ctx ||
		   strcmp(ibv_get_device_name(i->ctx->device), ibv_get_device_name(ctx->device))) {
		KIT_FAULT(i->k, "ibv_import_device: the context is not one of its own for the same device");
	} else if (ibv_query_device(i->ctx, &attr) ||
		   memcmp(&attr, &i->k->r->dut.requester.attr,
			  offsetof(struct ibv_device_attr, phys_port_cnt) + sizeof(attr.phys_port_cnt))) {
		KIT_FAULT(i->k, "the imported context reports other attributes");
	}
	return KIT_GOOD(i->k);
}

static bool import_objects(struct imports *i)
{
	struct kit *k = i->k;

	NO_IMPORT(k, ibv_import_pd(i->ctx, i->mr->handle), "the handle of a region as a PD");
	NO_IMPORT(k, ibv_import_pd(i->ctx, i->pd->handle ^ 1u << 20), "a handle that is none as a PD");
	i->imported_pd = ibv_import_pd(i->ctx, i->pd->handle);
	if (!KIT_MUST(k, i->imported_pd, "ibv_import_pd failed with %s", errno_name(errno)))
		return false;
	NO_IMPORT(k, ibv_import_mr(i->imported_pd, i->pd->handle), "the handle of a PD as a region");
	NO_IMPORT(k, ibv_import_mr(i->imported_pd, i->mr->handle ^ 1u << 20),
		  "a handle that is none as a region");
	i->imported_mr = ibv_import_mr(i->imported_pd, i->mr->handle);
	if (!i->imported_mr)
		KIT_FAULT(k, "ibv_import_mr failed with %s", errno_name(errno));
	else if (i->imported_pd->context != i->ctx || i->imported_mr->context != i->ctx ||
		 i->imported_mr->pd != i->imported_pd)
		KIT_FAULT(k, "an imported object has another context or PD");
	else if (i->imported_mr->lkey != i->mr->lkey || i->imported_mr->rkey != i->mr->rkey ||
		 i->imported_mr->length != i->mr->length || i->imported_mr->addr)
		KIT_FAULT(k, "the imported region has other keys or another length, or an address");
	i->there = *k->r;
	i->there.dut.requester.ctx = i->ctx;
	i->there.dut.requester.pd = i->imported_pd;
	i->in = *k;
	i->in.r = &i->there;
	return KIT_GOOD(k);
}

/* RDMA WRITE of 64 bytes within the region, through a QP of the context of `in`; status, or -1. */
static int write_bytes(struct kit *in, struct ibv_pd *pd, const struct ibv_mr *mr, uint8_t *bytes)
{
	struct own o = {.init.pd = pd, .to_itself = true};
	struct ibv_wc wc = {.status = -1};

	o.init.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	o.init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	for (unsigned int i = 0; i < 64; i++)
		bytes[i] += (uint8_t)(i + 1);
	if (own_create(in, &o, IBV_QPT_RC) && own_reach(in, &o, IBV_QPS_RTS)) {
		struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(o.qp);
		int ret;

		ibv_wr_start(qpx);
		qpx->wr_id = 9;
		qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qpx, mr->rkey, (uintptr_t)bytes + 1024);
		ibv_wr_set_sge(qpx, mr->lkey, (uintptr_t)bytes, 64);
		ret = ibv_wr_complete(qpx);
		if (ret)
			KIT_FAULT(in, "a region was refused with %s", errno_name(ret));
		else
			own_wait(in, &o, o.send_cq, &wc);
	}
	own_destroy(&o);
	return (int)wc.status;
}

static bool must_write(struct imports *i, struct kit *in, struct ibv_pd *pd, const struct ibv_mr *mr,
		       const char *what)
{
	const int status = write_bytes(in, pd, mr, i->bytes);

	if (KIT_GOOD(i->k) && (status || memcmp(i->bytes, i->bytes + 1024, 64)))
		KIT_FAULT(i->k, "an RDMA WRITE %s: status %s, or no byte arrived", what,
			  value_name(status_names, status));
	return KIT_GOOD(i->k);
}

/* Each context sees what the other one writes, up to the last bytes. */
static void device_memory(struct imports *i)
{
	struct ibv_context *ctx = i->k->r->dut.requester.ctx;
	struct ibv_alloc_dm_attr attr = {.length = 8256};
	uint8_t out[64], in[64];
	struct ibv_mr *mr;
	struct kit *k = i->k;

	i->dm = ibv_alloc_dm(ctx, &attr);
	KIT_CHECK(k, i->dm, "ibv_alloc_dm failed with %s", errno_name(errno));
	NO_IMPORT(k, ibv_import_dm(i->ctx, i->dm->handle ^ 1u << 20),
		  "a handle that is none as device memory");
	NO_IMPORT(k, ibv_import_dm(i->ctx, i->pd->handle), "the handle of a PD as device memory");
	i->imported_dm = ibv_import_dm(i->ctx, i->dm->handle);
	KIT_CHECK(k, i->imported_dm, "ibv_import_dm failed with %s", errno_name(errno));
	KIT_CHECK(k, i->imported_dm->context == i->ctx && i->imported_dm->handle == i->dm->handle,
		  "the imported device memory has another context or handle");
	for (unsigned int at = 0; at < sizeof(out); at++)
		out[at] = (uint8_t)(at * 5 + 3);
	for (size_t at = 0; at <= attr.length - 64; at += attr.length - 64) {
		KIT_CHECK(k,
			  !ibv_memcpy_to_dm(i->dm, at, out, 64) &&
				  !ibv_memcpy_from_dm(in, i->imported_dm, at, 64) && !memcmp(in, out, 64),
			  "the imported device memory does not hold what was copied to the original at %zu",
			  at);
		out[5] ^= 0xff;
		KIT_CHECK(k,
			  !ibv_memcpy_to_dm(i->imported_dm, at, out, 64) &&
				  !ibv_memcpy_from_dm(in, i->dm, at, 64) && !memcmp(in, out, 64),
			  "the original device memory does not hold what was copied to the imported at %zu",
			  at);
	}
	KIT_CHECK(k, ibv_memcpy_to_dm(i->imported_dm, attr.length - 4, out, 8) > 0,
		  "a copy beyond imported device memory succeeded");
	mr = ibv_reg_dm_mr(i->imported_pd, i->imported_dm, 64, 128, RIGHTS | IBV_ACCESS_ZERO_BASED);
	KIT_CHECK(k, mr, "ibv_reg_dm_mr of imported device memory failed with %s", errno_name(errno));
	KIT_CHECK(k, ibv_free_dm(i->dm) > 0, "device memory with a region of the imported one was freed");
	KIT_CHECK(k, !ibv_dereg_mr(mr), "ibv_dereg_mr of imported device memory failed");
	ibv_unimport_dm(i->imported_dm);
	KIT_CHECK(k, !ibv_memcpy_from_dm(in, i->dm, 0, 64), "device memory is gone with its import");
}

/* ibv_import_pd(3): either end may deallocate a PD, the other one gives up what it has of it. */
static void dealloc_import(struct imports *i)
{
	struct ibv_pd *original = ibv_alloc_pd(i->k->r->dut.requester.ctx);
	struct ibv_pd *pd = original ? ibv_import_pd(i->ctx, original->handle) : NULL;
	int ret;

	KIT_CHECK(i->k, pd, "another PD, and its import: %s", errno_name(errno));
	ret = ibv_dealloc_pd(pd);
	KIT_CHECK(i->k, !ret, "ibv_dealloc_pd of an imported PD that nothing uses failed with %s",
		  errno_name(ret));
	ibv_unimport_pd(original);
}

/* A thread domain of the imported context: objects of both contexts at a time. */
static void threads(struct imports *i)
{
	struct ibv_td_init_attr none = {0};
	struct ibv_td *td = ibv_alloc_td(i->ctx, &none);
	struct ibv_parent_domain_init_attr attr = {.pd = i->imported_pd, .td = td};
	struct ibv_pd *pd = td ? ibv_alloc_parent_domain(i->ctx, &attr) : NULL;
	struct kit *k = i->k;

	KIT_CHECK(k, pd, "a thread or parent domain of the imported context failed with %s",
		  errno_name(errno));
	own_use(&i->in, pd);
	KIT_CHECK(k, !ibv_dealloc_pd(pd) && !ibv_dealloc_td(td),
		  "a domain of the imported context cannot be deallocated");
}

static bool use_all(struct imports *i)
{
	if (!must_write(i, &i->in, i->imported_pd, i->imported_mr, "in the imported context") ||
	    !must_write(i, i->k, i->pd, i->mr, "in the original context") ||
	    !must_write(i, &i->in, i->imported_pd, i->mr, "in the imported context"))
		return false;
	own_use(&i->in, i->imported_pd);
	threads(i);
	if (KIT_GOOD(i->k))
		dealloc_import(i);
	if (KIT_GOOD(i->k) && kit_arg(i->k, "device_memory", 0))
		device_memory(i);
	return KIT_GOOD(i->k);
}

/* The first of two ends of a region destroys it; the other can only be unimported (ibv_import_mr(3)). */
static bool leave(struct imports *i)
{
	if (ibv_dereg_mr(i->imported_mr))
		KIT_FAULT(i->k, "ibv_dereg_mr of an imported region failed");
	if (KIT_GOOD(i->k) && !write_bytes(i->k, i->pd, i->mr, i->bytes))
		KIT_FAULT(i->k, "a region can be used, its import was deregistered");
	ibv_unimport_mr(i->mr);
	i->mr = ibv_reg_mr(i->pd, i->bytes, SIZE, RIGHTS);
	i->imported_mr = i->mr ? ibv_import_mr(i->imported_pd, i->mr->handle) : NULL;
	if (!i->imported_mr)
		KIT_FAULT(i->k, "another region, and its import: %s", errno_name(errno));
	else
		ibv_unimport_mr(i->imported_mr);
	return KIT_GOOD(i->k) && must_write(i, i->k, i->pd, i->mr, "after its region's import was given up");
}

/* All device memory can be allocated again. */
static void free_memory(struct imports *i)
{
	struct ibv_context *ctx = i->k->r->dut.requester.ctx;
	struct ibv_device_attr_ex attr = {0};
	struct ibv_alloc_dm_attr whole = {0};
	struct ibv_dm *dm;

	KIT_CHECK(i->k, !ibv_free_dm(i->dm), "ibv_free_dm failed after the imported context was closed");
	KIT_CHECK(i->k, !ibv_query_device_ex(ctx, NULL, &attr), "ibv_query_device_ex failed");
	whole.length = attr.max_dm_size;
	dm = ibv_alloc_dm(ctx, &whole);
	KIT_CHECK(i->k, dm && !ibv_free_dm(dm), "all device memory, after a part was imported and freed: %s",
		  errno_name(errno));
}

static void close_import(struct imports *i)
{
	ibv_unimport_pd(i->imported_pd);
	KIT_CHECK(i->k, !ibv_close_device(i->ctx), "ibv_close_device of the imported context failed");
	if (!must_write(i, i->k, i->pd, i->mr, "after the imported context was closed"))
		return;
	if (i->dm)
		free_memory(i);
	KIT_CHECK(i->k, !ibv_dereg_mr(i->mr), "ibv_dereg_mr failed after the imported context was closed");
	KIT_CHECK(i->k, !ibv_dealloc_pd(i->pd),
		  "ibv_dealloc_pd failed after the imported context was closed");
}

static void imports(struct kit *k)
{
	static struct imports i;

	i = (struct imports){.k = k};
	if (open_original(&i) && import_device(&i) && import_objects(&i) && use_all(&i) && leave(&i))
		close_import(&i);
}

SCENARIO(imports) = {
	{"imports", SUITE("objects"), QPS("RC"), CLAUSE("ibv_import_device/DESCRIPTION/context"),
	 ALSO("ibv_import_pd/DESCRIPTION/use ibv_import_mr/DESCRIPTION/unimport "
	      "ibv_import_mr/NOTES/addr"),
	 NEEDS("srq imports"),
	 SAYS("an imported context, with its PD and region, carries requests like the original, at the "
	      "same time; what is imported goes without the original, and a region that one of them "
	      "deregisters is gone for both")},
	{"imports-device-memory", ARGS({"device_memory", 1}), CLAUSE("ibv_import_dm/RETURN-VALUE"), ALSO(""),
	 NEEDS("srq imports device_memory"),
	 SAYS("device memory that is imported holds what is copied to the original, and the other way "
	      "round")},
	{},
};
