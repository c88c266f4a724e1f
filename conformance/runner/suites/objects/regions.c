/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Registration of memory: which rights go together, what is no memory, and what ibv_rereg_mr() changes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suites/objects/own.h"

#define SIZE   8192
#define ALL    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define RIGHTS (ALL | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

static void no_region(struct kit *k, struct ibv_mr *mr, const char *what)
{
	const int err = errno;

	if (mr)
		ibv_dereg_mr(mr);
	KIT_CHECK(k, !mr && err > 0, "a region %s: %s", what,
		  mr ? "was registered" : "refused without an errno");
	k->res->err = err;
}
#define NO_REGION(k, call, what) no_region(k, (errno = 0, call), what)

static void rights(struct kit *k, struct ibv_pd *pd, uint8_t *bytes)
{
	for (int access = 0; access <= RIGHTS; access++) {
		const bool remote = access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
		struct ibv_mr *mr;

		if (access & ~RIGHTS)
			continue;
		if (remote && !(access & IBV_ACCESS_LOCAL_WRITE)) {
			NO_REGION(k, ibv_reg_mr(pd, bytes, SIZE, access),
				  "with remote and without local write access");
			continue;
		}
		mr = ibv_reg_mr(pd, bytes + access, SIZE - 2 * (size_t)access, access);
		KIT_CHECK(k, mr, "ibv_reg_mr with access 0x%x failed with %s", access, errno_name(errno));
		KIT_CHECK(k,
			  mr->context == pd->context && mr->pd == pd && mr->addr == bytes + access &&
				  mr->length == SIZE - 2 * (size_t)access,
			  "a region with access 0x%x is not what was registered", access);
		KIT_CHECK(k, !ibv_dereg_mr(mr), "ibv_dereg_mr with access 0x%x failed", access);
	}
}

static void registration(struct kit *k)
{
	const struct end *end = &k->r->dut.requester;
	uint8_t *bytes = end_alloc(end->pd, SIZE);
	struct ibv_mr *mr;

	rights(k, end->pd, bytes);
	NO_REGION(k, ibv_reg_mr(end->pd, bytes, SIZE, 1 << 19), "with an unknown right");
	NO_REGION(k, ibv_reg_mr(end->pd, bytes, (size_t)1 << 46, 0), "longer than all memory");
	NO_REGION(k, ibv_reg_mr(end->pd, bytes, SIZE_MAX, 0), "that ends behind the last address");
	NO_REGION(k, ibv_reg_mr(end->pd, bytes, SIZE_MAX, IBV_ACCESS_ON_DEMAND | ALL),
		  "of all addresses that begins at one");
	NO_REGION(k, ibv_reg_mr(end->pd, NULL, SIZE, 0), "at an address without memory");
	NO_REGION(k, ibv_reg_dmabuf_mr(end->pd, 0, SIZE, 0, -1, ALL), "of a dma-buf that is none");
	NO_REGION(k, ibv_reg_dmabuf_mr(end->pd, 0, SIZE, 0, STDERR_FILENO, ALL),
		  "of a file that is no dma-buf");
	mr = ibv_reg_mr(end->pd, bytes, SIZE,
			IBV_ACCESS_RELAXED_ORDERING | ALL); /* optional: always accepted */
	if (!mr || ibv_dereg_mr(mr))
		KIT_FAULT(k, "ibv_reg_mr with IBV_ACCESS_RELAXED_ORDERING failed with %s", errno_name(errno));
}

SCENARIO(registration) = {
	{"reg_mr", SUITE("objects"), QPS("RC"), CLAUSE("ibv_reg_mr/DESCRIPTION/local-write"),
	 NEEDS("memory_windows/2"),
	 SAYS("every set of rights is granted, or refused if it has remote and not local write access; "
	      "so is what is no memory")},
	{},
};

struct rereg {
	struct kit *k;
	struct own own;
	struct ibv_pd *pd, *other_pd;
	uint8_t *bytes;
	struct ibv_mr *local, *mr;
};

/* Status of an RDMA WRITE or READ of 64 bytes at `at` of the region; the QP can be used again afterwards. */
static int rdma(struct rereg *r, enum ibv_wr_opcode op, const uint8_t *at)
{
	struct ibv_sge sge = {(uintptr_t)r->bytes, 64, r->local->lkey};
	struct ibv_send_wr wr = kit_wr(7, op, &sge), *bad;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)at;
	wr.wr.rdma.rkey = r->mr->rkey;
	if (ibv_post_send(r->own.qp, &wr, &bad) || !own_wait(r->k, &r->own, r->own.send_cq, &wc))
		return -1;
	if (wc.status && (!own_reset(r->k, &r->own) || !own_reach(r->k, &r->own, IBV_QPS_RTS)))
		return -1;
	return (int)wc.status;
}

/* Whether the region can be written and read at an address: 1 write, 2 read. */
static void can(struct rereg *r, const uint8_t *at, int want, const char *what)
{
	struct kit *k = r->k;

	for (int i = 0; i < 2; i++) {
		const int status = rdma(r, i ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, at);

		/* the QP is its own responder, which may be in ERR before the requester knows why: WR_FLUSH_ERR */
		KIT_CHECK(k,
			  want >> i & 1 ? status == IBV_WC_SUCCESS
					: status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_WR_FLUSH_ERR,
			  "%s: an RDMA %s completed with %s", what, i ? "READ" : "WRITE",
			  value_name(status_names, status));
	}
}

static void reregister(struct rereg *r, int flags, struct ibv_pd *pd, uint8_t *at, size_t length, int access)
{
	struct kit *k = r->k;
	const int ret = ibv_rereg_mr(r->mr, flags, pd, at, length, access);

	log_call(&k->res->log, "ibv_rereg_mr(mr, %d, pd, addr, %zu, 0x%x)", flags, length, access);
	KIT_CHECK(k, !ret, "ibv_rereg_mr with flags %d returned %d, errno %s", flags, ret, errno_name(errno));
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		KIT_CHECK(k, r->mr->addr == at && r->mr->length == length,
			  "addr or length are not the new ones");
	if (flags & IBV_REREG_MR_CHANGE_PD)
		KIT_CHECK(k, r->mr->pd == pd, "pd is not the new one");
}

static void change(struct rereg *r)
{
	struct kit *k = r->k;
	uint8_t *first = r->bytes + 1024, *second = r->bytes + 4096;

	can(r, first, 3, "as registered");
	KIT_CHECK(k, ibv_rereg_mr(r->mr, 1 << 3, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT,
		  "an unknown flag");
	KIT_CHECK(k,
		  ibv_rereg_mr(r->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, first, 0, 0) ==
			  IBV_REREG_MR_ERR_INPUT,
		  "no length");
	KIT_CHECK(k,
		  ibv_rereg_mr(r->mr, IBV_REREG_MR_CHANGE_PD, r->pd, NULL, 0, ALL) == IBV_REREG_MR_ERR_INPUT,
		  "rights without IBV_REREG_MR_CHANGE_ACCESS");
	can(r, first, 3, "after refusals by libibverbs");
	reregister(r, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
		   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	can(r, first, 2, "without remote write access");
	reregister(r, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, second, 512, 0);
	can(r, second, 2, "elsewhere, with its rights");
	can(r, first, 0, "where it was");
	can(r, second + 512, 0, "beyond its new length");
	reregister(r, IBV_REREG_MR_CHANGE_PD, r->other_pd, NULL, 0, 0);
	can(r, second, 0, "in another PD");
	reregister(r, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_TRANSLATION,
		   r->pd, first, 768, ALL);
	can(r, first + 704, 3, "all three at once");
	KIT_CHECK(k, ibv_rereg_mr(r->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE),
		  "remote write access without local was given");
	KIT_CHECK(k, ibv_dealloc_pd(r->pd) > 0, "a PD was deallocated, its region came back to it");
	KIT_CHECK(k, !ibv_dealloc_pd(r->other_pd), "a PD cannot be deallocated that its region has left");
	r->other_pd = NULL;
}

static void reregistration(struct kit *k)
{
	struct rereg r = {.k = k, .own.to_itself = true};
	struct ibv_context *ctx = k->r->dut.requester.ctx;

	r.pd = ibv_alloc_pd(ctx);
	r.other_pd = ibv_alloc_pd(ctx);
	r.bytes = end_alloc(k->r->dut.requester.pd, SIZE);
	r.own.init.pd = r.pd;
	r.local = ibv_reg_mr(r.pd, r.bytes, 1024, IBV_ACCESS_LOCAL_WRITE);
	r.mr = ibv_reg_mr(r.pd, r.bytes + 1024, 1024, ALL);
	KIT_CHECK(k,
		  r.local && r.mr && own_create(k, &r.own, IBV_QPT_RC) && own_reach(k, &r.own, IBV_QPS_RTS),
		  "objects of the case: %s", errno_name(errno));
	change(&r);
	own_destroy(&r.own);
	KIT_CHECK(k, !ibv_dereg_mr(r.mr) && !ibv_dereg_mr(r.local), "ibv_dereg_mr failed");
	KIT_CHECK(k, (!r.other_pd || !ibv_dealloc_pd(r.other_pd)) && !ibv_dealloc_pd(r.pd),
		  "ibv_dealloc_pd failed, nothing uses the PDs");
}

SCENARIO(reregistration) = {
	{"rereg_mr", SUITE("objects"), QPS("RC"), CLAUSE("ibv_rereg_mr/DESCRIPTION/flags"),
	 SAYS("rights, address and PD, alone and together: what is not named stays, and requests see "
	      "the new ones at once")},
	{},
};

#define NUM_DM 3

/* Copies at the ends of a buffer, and beyond; `size` is that of one piece. */
static void copies(struct kit *k, struct ibv_dm *dm, size_t size, uint8_t seed)
{
	uint8_t out[64], in[64];

	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (uint8_t)(seed + 3 * i);
	for (size_t at = 0; at + 64 <= size; at += 64)
		KIT_CHECK(k, !ibv_memcpy_to_dm(dm, at, out, 64), "ibv_memcpy_to_dm at %zu failed", at);
	out[0] ^= 0xff;
	KIT_CHECK(k, !ibv_memcpy_to_dm(dm, size - 4, out, 4), "ibv_memcpy_to_dm of the last bytes failed");
	KIT_CHECK(k, ibv_memcpy_to_dm(dm, size - 4, out, 8) > 0, "ibv_memcpy_to_dm beyond the end succeeded");
	KIT_CHECK(k, ibv_memcpy_to_dm(dm, size + 4, out, 4) > 0, "ibv_memcpy_to_dm behind the end succeeded");
	KIT_CHECK(k, ibv_memcpy_to_dm(dm, UINT64_MAX - 3, out, 8) > 0, "ibv_memcpy_to_dm at -4 succeeded");
	KIT_CHECK(k, ibv_memcpy_from_dm(in, dm, size - 4, 8) > 0,
		  "ibv_memcpy_from_dm beyond the end succeeded");
	KIT_CHECK(k, ibv_memcpy_from_dm(in, dm, UINT64_MAX - 3, 8) > 0, "ibv_memcpy_from_dm at -4 succeeded");
	KIT_CHECK(k, !ibv_memcpy_from_dm(in, dm, size - 64, 64),
		  "ibv_memcpy_from_dm of the last bytes failed");
	out[0] ^= 0xff;
	KIT_CHECK(k, !memcmp(in, out, 60), "device memory does not hold what was copied to it");
	KIT_CHECK(k, in[60] == 255 - out[0] && !memcmp(in + 61, out + 1, 3), "the last bytes are wrong");
	KIT_CHECK(k, !ibv_memcpy_from_dm(in, dm, size - 4, 4) && !memcmp(in, in + 60, 4) && in[4] == out[4],
		  "a copy of the last 4 bytes alone is wrong");
}

/* No page says that offset and length must be multiples of something: a copy is done as asked, or refused and not begun. */
static void odd_copies(struct kit *k, struct ibv_dm *dm)
{
	static const struct {
		size_t at, length;
	} odd[] = {{8, 6}, {2, 8}, {9, 3}, {0, 1}, {63, 1}, {4, 13}};
	const uint8_t out[16] = {0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8,
				 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf, 0xb0};
	uint8_t want[64], in[64];

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]) && KIT_GOOD(k); i++) {
		size_t at = odd[i].at, length = odd[i].length;

		memset(want, 0x50 + (int)i, sizeof(want));
		KIT_CHECK(k, !ibv_memcpy_to_dm(dm, 0, want, sizeof(want)), "ibv_memcpy_to_dm at 0 failed");
		if (!ibv_memcpy_to_dm(dm, at, out, length))
			memcpy(want + at, out, length);
		KIT_CHECK(k, !ibv_memcpy_from_dm(in, dm, 0, sizeof(in)), "ibv_memcpy_from_dm at 0 failed");
		KIT_CHECK(k, !memcmp(in, want, sizeof(in)), "a copy of %zu bytes to %zu: wrong bytes", length,
			  at);
		memset(in, 0xee, sizeof(in));
		if (ibv_memcpy_from_dm(in, dm, at, length))
			continue;
		KIT_CHECK(k, !memcmp(in, want + at, length) && in[length] == 0xee,
			  "a copy of %zu bytes from %zu: wrong bytes", length, at);
	}
}

static struct ibv_dm *alloc_dm(struct kit *k, size_t length, uint32_t log_align, uint32_t comp_mask)
{
	struct ibv_alloc_dm_attr attr = {
		.length = length, .log_align_req = log_align, .comp_mask = comp_mask};

	errno = 0;
	return ibv_alloc_dm(k->r->dut.requester.ctx, &attr);
}

static void no_dm(struct kit *k, size_t length, uint32_t log_align, uint32_t comp_mask, const char *what)
{
	struct ibv_dm *dm = alloc_dm(k, length, log_align, comp_mask);

	if (dm)
		ibv_free_dm(dm);
	KIT_CHECK(k, !dm && errno > 0, "ibv_alloc_dm %s: %s", what, dm ? "succeeded" : "no errno");
}

static void dm_regions(struct kit *k, struct ibv_dm *dm, size_t size)
{
	struct ibv_pd *pd = k->r->dut.requester.pd;
	struct ibv_mr *mr;

	NO_REGION(k, ibv_reg_dm_mr(pd, dm, 0, size, ALL), "of device memory without IBV_ACCESS_ZERO_BASED");
	NO_REGION(k, ibv_reg_dm_mr(pd, dm, 64, size, ALL | IBV_ACCESS_ZERO_BASED), "beyond device memory");
	NO_REGION(k, ibv_reg_dm_mr(pd, dm, size + 64, 64, ALL | IBV_ACCESS_ZERO_BASED),
		  "behind device memory");
	NO_REGION(k, ibv_reg_dm_mr(pd, dm, 0, size, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED),
		  "of device memory with remote and without local write access");
	mr = ibv_reg_dm_mr(pd, dm, 64, size - 64, ALL | IBV_ACCESS_ZERO_BASED);
	KIT_CHECK(k, mr, "ibv_reg_dm_mr failed with %s", errno_name(errno));
	KIT_CHECK(k, mr->pd == pd && mr->length == size - 64,
		  "a region of device memory is not what was registered");
	KIT_CHECK(k, ibv_free_dm(dm) > 0, "device memory with a region was freed");
	KIT_CHECK(k, !ibv_dereg_mr(mr), "ibv_dereg_mr of device memory failed");
}

/* Requests of no bytes, one by one: with a doorbell each. */
static void ring_often(struct kit *k, struct own *o)
{
	struct ibv_send_wr wr = kit_wr(0, IBV_WR_RDMA_WRITE, NULL), *bad;

	for (wr.wr_id = 0; wr.wr_id < 100 && KIT_GOOD(k); wr.wr_id++) {
		KIT_CHECK(k, !ibv_post_send(o->qp, &wr, &bad), "posting was refused");
		own_expect(k, o, o->send_cq, wr.wr_id, IBV_WC_SUCCESS);
	}
}

/* What is stored in device memory rings no doorbell, and a doorbell changes no device memory. */
static void apart(struct kit *k, struct ibv_dm *dm, size_t size)
{
	struct own o = {.to_itself = true};
	const size_t num = size / sizeof(uint64_t);
	uint64_t *out = made_zeroed(2, size), *in = out + num;
	struct ibv_wc wc;

	if (!out || !own_create(k, &o, IBV_QPT_RC) || !own_reach(k, &o, IBV_QPS_RTS))
		return;
	for (unsigned int turn = 0; turn < 4; turn++) {
		for (size_t i = 0; i < num; i++)
			out[i] = o.qp->qp_num | (uint64_t)(1 + turn / 2) << (turn & 1 ? 32 : 24);
		KIT_CHECK(k, !ibv_memcpy_to_dm(dm, 0, out, size),
			  "ibv_memcpy_to_dm of the first device memory failed");
	}
	kit_expect_state(k, o.qp, IBV_QPS_RTS);
	KIT_CHECK(k, !ibv_poll_cq(o.send_cq, 1, &wc), "a completion, and nothing was posted");
	ring_often(k, &o);
	KIT_CHECK(k, !ibv_memcpy_from_dm(in, dm, 0, size) && !memcmp(in, out, size),
		  "device memory has changed while requests were posted");
}

static void device_memory(struct kit *k)
{
	static const size_t sizes[NUM_DM] = {64, 4096, 8256};
	struct ibv_device_attr_ex attr = {0};
	struct ibv_dm *dm[NUM_DM] = {0}, *whole;

	if (ibv_query_device_ex(k->r->dut.requester.ctx, NULL, &attr))
		KIT_FAULT(k, "ibv_query_device_ex failed");
	no_dm(k, 4096, 0, 1u << 30, "with an unknown comp_mask");
	no_dm(k, 4096, 0, 1, "with an unknown comp_mask");
	no_dm(k, attr.max_dm_size + 1, 0, 0, "of more than max_dm_size");
	no_dm(k, SIZE_MAX, 0, 0, "of SIZE_MAX bytes");
	no_dm(k, 64, 63, 0, "aligned to 2^63");
	for (int turn = 0; turn < 2; turn++) {
		for (unsigned int i = 0; i < NUM_DM && KIT_GOOD(k); i++) {
			dm[i] = alloc_dm(k, sizes[i], 4 * i + turn, 0);
			if (!dm[i])
				KIT_FAULT(k, "ibv_alloc_dm failed with %s", errno_name(errno));
			else
				copies(k, dm[i], sizes[i], (uint8_t)(50 * i));
		}
		if (KIT_GOOD(k))
			odd_copies(k, dm[0]);
		if (KIT_GOOD(k))
			dm_regions(k, dm[2], sizes[2]);
		for (unsigned int i = 0; i < NUM_DM; i++) {
			if (dm[i] && ibv_free_dm(dm[i]))
				KIT_FAULT(k, "ibv_free_dm failed");
			dm[i] = NULL;
		}
	}
	whole = alloc_dm(k, attr.max_dm_size, 0, 0);
	for (unsigned int i = 0; whole && i < 2 && KIT_GOOD(k); i++) {
		const size_t from = i ? attr.max_dm_size - 64 : 0;
		struct ibv_mr *mr = ibv_reg_dm_mr(k->r->dut.requester.pd, whole, from,
						  attr.max_dm_size - from, ALL | IBV_ACCESS_ZERO_BASED);

		if (!kit_holds(k, mr && !ibv_dereg_mr(mr)))
			KIT_FAULT(k, "no region of device memory from byte %zu to its end", from);
	}
	if (whole && KIT_GOOD(k))
		apart(k, whole, attr.max_dm_size < 32768 ? attr.max_dm_size : 32768);
	if (!whole || ibv_free_dm(whole))
		KIT_FAULT(k, "all device memory cannot be allocated although none is in use: %s",
			  errno_name(errno));
}

SCENARIO(device_memory) = {
	{"device-memory", SUITE("objects"), QPS("RC"), CLAUSE("ibv_alloc_dm/RETURN-VALUE"),
	 NEEDS("device_memory"),
	 SAYS("buffers keep their own contents up to their last byte; copies, regions and sizes beyond "
	      "are refused")},
	{},
};
