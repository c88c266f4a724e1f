/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Missing memory: unmapped or protected after its registration, or never mapped, in every role that memory
 * can have. The host refuses the access and the work request fails. Unaligned memory is not an error.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "hostile_fixture.h"

#define PAGE 4096u

enum loss { UNMAPPED, PROTECTED, READ_ONLY, SECOND_PAGE, NUM_LOSSES };

static const char *const loss_names[NUM_LOSSES] = {"unmapped", "protected", "read-only", "its second page"};

struct role {
	const char *name;
	enum ibv_wr_opcode op;
	int end; /* end whose memory is missing */
	bool written;
	int status, vendor; /* of the send's completion */
};

#define FAULT HCASIM_VENDOR_ERR_DMA_FAULT

static const struct role roles[] = {
	{"source of a WRITE", IBV_WR_RDMA_WRITE, 0, false, IBV_WC_LOC_PROT_ERR, FAULT},
	{"source of a SEND", IBV_WR_SEND, 0, false, IBV_WC_LOC_PROT_ERR, FAULT},
	{"place of a READ", IBV_WR_RDMA_READ, 0, true, IBV_WC_LOC_PROT_ERR, FAULT},
	{"result of an atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, true, IBV_WC_LOC_PROT_ERR, FAULT},
	{"target of a WRITE", IBV_WR_RDMA_WRITE, 1, true, IBV_WC_REM_ACCESS_ERR, 0},
	{"source of a READ", IBV_WR_RDMA_READ, 1, false, IBV_WC_REM_ACCESS_ERR, 0},
	{"target of an atomic", IBV_WR_ATOMIC_CMP_AND_SWP, 1, true, IBV_WC_REM_ACCESS_ERR, 0},
	{"receive", IBV_WR_SEND, 1, true, IBV_WC_REM_OP_ERR, 0},
};

static char *map_pages(size_t n)
{
	char *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	memset(p, 0, n * PAGE);
	return p;
}

static void lose(char *pages, enum loss loss)
{
	int bad = 0;

	if (loss == UNMAPPED)
		bad = munmap(pages, 2 * PAGE);
	else if (loss == SECOND_PAGE)
		bad = munmap(pages + PAGE, PAGE);
	else
		bad = mprotect(pages, 2 * PAGE, loss == READ_ONLY ? PROT_READ : PROT_NONE);
	CHECK(!bad);
}

static void lost(const struct role *role, enum loss loss)
{
	bool atomic = role->op == IBV_WR_ATOMIC_FETCH_AND_ADD || role->op == IBV_WR_ATOMIC_CMP_AND_SWP;
	uint32_t len = atomic ? 8 : 2 * PAGE;
	char *pages = map_pages(2), name[64];
	struct ibv_sge sge[2];
	struct ibv_mr *mr;
	struct fixture r;

	snprintf(name, sizeof(name), "%s, %s", role->name, loss_names[loss]);
	fixture_fill();
	fixture_open(&r, IBV_QPT_RC);
	mr = ibv_reg_mr(r.l->pd[role->end], pages, 2 * PAGE,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(mr);
	for (int end = 0; end < 2; end++)
		sge[end] = (struct ibv_sge){(uintptr_t)r.l->buf[end], len, r.l->mr[end]->lkey};
	sge[role->end] = (struct ibv_sge){(uintptr_t)pages + (atomic && loss == SECOND_PAGE ? PAGE : 0), len,
					  mr->lkey};
	lose(pages, loss);
	if (role->op == IBV_WR_SEND)
		fixture_receive(&r, 1, &sge[1]);
	fixture_prepare(&r, role->op, 2, &sge[0], sge[1].addr, sge[1].lkey);
	fixture_prepare_good(&r, IBV_WR_RDMA_WRITE, 3);
	fixture_ring(&r);
	fixture_expect(&r, 0, name, 2, role->status, role->vendor);
	fixture_expect(&r, 0, name, 3, IBV_WC_WR_FLUSH_ERR, 0);
	if (role->op == IBV_WR_SEND && role->end == 1)
		fixture_expect(&r, 1, name, 1, IBV_WC_LOC_PROT_ERR, FAULT);
	fixture_expect_silence(&r, name);
	CU_ASSERT_EQUAL(fixture_state(&r, 0), IBV_QPS_ERR);
	/* Only data of the mapped part, and of later requests, may have arrived. */
	CU_ASSERT(fixture_untouched(1, len));
	CU_ASSERT(fixture_untouched(0, len));
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	fixture_close(&r);
	munmap(pages, 2 * PAGE);
}

static void memory_that_went_away(void)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		for (enum loss loss = 0; loss < NUM_LOSSES; loss++)
			if (loss != READ_ONLY || roles[i].written)
				lost(&roles[i], loss);
	fixture_fresh_pair_works(IBV_QPT_RC);
}

static void refused(void *addr, size_t len, int access, int err, const char *what)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(fixture_link.pd[0], addr, len, access);
	if (mr || errno != err)
		fprintf(stderr, "\nregistration of %s: %s\n", what, mr ? "accepted" : strerror(errno));
	CU_ASSERT_PTR_NULL(mr);
	CU_ASSERT_EQUAL(errno, err);
}

static void registrations(void)
{
	char *pages = map_pages(2);

	CU_ASSERT_EQUAL(munmap(pages + PAGE, PAGE), 0);
	refused(pages, 2 * PAGE, IBV_ACCESS_LOCAL_WRITE, EFAULT, "memory whose second half is not mapped");
	refused(pages + PAGE, 1, 0, EFAULT, "memory that is not mapped");
	refused((void *)0xdead00000000, 8, 0, EFAULT, "an address that no process has");
	refused((void *)-4096ul, 8192, 0, EINVAL, "a range that wraps");
	refused(pages, SIZE_MAX, 0, EINVAL, "a length that wraps");
	refused(pages, 1, IBV_ACCESS_REMOTE_WRITE, EINVAL, "remote rights without local ones");
	CU_ASSERT_EQUAL(mprotect(pages, PAGE, PROT_READ), 0);
	refused(pages, PAGE, IBV_ACCESS_LOCAL_WRITE, EFAULT, "read-only memory for writing");
	CU_ASSERT_EQUAL(munmap(pages, PAGE), 0);
}

/* Copies with each alignment of source and target, in both directions; guard bytes stay unchanged. */
static void copy(struct fixture *r, enum ibv_wr_opcode op, uint32_t from, uint32_t to, uint32_t len)
{
	int dst = op == IBV_WR_RDMA_WRITE;
	uint32_t at[2] = {dst ? from : to, dst ? to : from};
	struct ibv_sge sge = {(uintptr_t)r->l->buf[0] + at[0], len, r->l->mr[0]->lkey};
	const char *src = r->l->buf[!dst] + from, *out = r->l->buf[dst];

	for (uint32_t i = 0; i < FIXTURE_SIZE / 4; i++)
		r->l->buf[!dst][i] = (char)(i * 7 + from + 1);
	memset(r->l->buf[dst], 0, FIXTURE_SIZE / 4);
	fixture_prepare(r, op, 1, &sge, (uintptr_t)r->l->buf[1] + at[1], r->l->mr[1]->rkey);
	fixture_ring(r);
	fixture_expect(r, 0, "unaligned memory", 1, IBV_WC_SUCCESS, 0);
	CU_ASSERT_EQUAL(memcmp(out + to, src, len), 0);
	for (uint32_t i = 0; i < FIXTURE_SIZE / 4; i++)
		if (out[i] && (i < to || i >= to + len))
			CU_FAIL("written outside of the target");
}

static void unaligned(void)
{
	struct fixture r;

	fixture_open(&r, IBV_QPT_RC);
	for (uint32_t i = 0; i < 64; i++) {
		copy(&r, IBV_WR_RDMA_WRITE, i, 63 - i, 1 + i * 131);
		copy(&r, IBV_WR_RDMA_READ, 4093 + i, i * 3, 8255 - i * 127);
	}
	fixture_close(&r);
}

void add_memory_suite(void)
{
	CU_pSuite s = CU_add_suite("memory", fixture_setup, fixture_teardown);

	CU_add_test(s, "memory that went away after its registration", memory_that_went_away);
	CU_add_test(s, "registrations of what is not there", registrations);
	CU_add_test(s, "unaligned memory", unaligned);
}
