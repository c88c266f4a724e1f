// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging as an application sees it: pages that appear, disappear or are missing, at either end,
 * through regions of the whole address space. Started by `hcasim run --hcas 2`.
 */
#include "link.h"

#include <CUnit/Basic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define SIZE (4 * PAGE)
#define ALL                                                                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                         \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ON_DEMAND)

static struct link l;
static struct ibv_mr *mr[2]; /* implicit */
static struct pair pair;
static char *mem[2];

static unsigned long counter(int end, const char *name)
{
	char path[128], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/hcasim%d/ports/1/hw_counters/%s", end, name);
	file = fopen(path, "r");
	CHECK(file && fgets(text, sizeof(text), file));
	fclose(file);
	return strtoul(text, NULL, 10);
}

static char *map_at(char *where)
{
	char *p = mmap(where, SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED : 0), -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void setup(void)
{
	for (int end = 0; end < 2; end++) {
		mem[end] = map_at(NULL);
		mr[end] = ibv_reg_mr(l.pd[end], NULL, SIZE_MAX, ALL);
		CHECK(mr[end]);
	}
	pair_open(&pair, &l);
}

static void teardown(void)
{
	pair_close(&pair);
	for (int end = 0; end < 2; end++) {
		CHECK(!(errno = ibv_dereg_mr(mr[end])));
		munmap(mem[end], SIZE);
	}
}

static void post(enum ibv_wr_opcode op)
{
	const bool atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = {(uintptr_t)mem[0], atomic ? 8 : SIZE, mr[0]->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op, .send_flags = IBV_SEND_SIGNALED};

	if (atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)mem[1];
		wr.wr.atomic.rkey = mr[1]->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)mem[1];
		wr.wr.rdma.rkey = mr[1]->rkey;
	}
	link_post(pair.qp[0], &wr);
}

static void post_recv(void)
{
	struct ibv_sge sge = {(uintptr_t)mem[1], SIZE, mr[1]->lkey};
	struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};

	CHECK(!(errno = ibv_post_recv(pair.qp[1], &wr, &bad)));
}

static enum ibv_wc_status run(enum ibv_wr_opcode op)
{
	if (op == IBV_WR_SEND)
		post_recv();
	post(op);
	return link_wait(pair.cq[0]).status;
}

static const enum ibv_wr_opcode ops[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
					 IBV_WR_ATOMIC_FETCH_AND_ADD};
#define NUM_OPS (sizeof(ops) / sizeof(ops[0]))

static void come_and_go(void)
{
	unsigned long faults[2], gone;

	setup();
	memset(mem[0], 'a', SIZE);
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(mem[0], mem[1], SIZE), 0);
	for (int end = 0; end < 2; end++)
		faults[end] = counter(end, "num_page_faults");
	CU_ASSERT_TRUE(faults[0] >= 4 && faults[1] >= 4);
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(counter(0, "num_page_faults"), faults[0]);
	gone = counter(0, "num_invalidations");
	CU_ASSERT_EQUAL(madvise(mem[0] + PAGE, 2 * PAGE - 1, MADV_DONTNEED), 0);
	CU_ASSERT_EQUAL(counter(0, "num_invalidations"), gone + 2);
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(counter(0, "num_page_faults"), faults[0] + 2);
	CU_ASSERT_TRUE(mem[1][0] == 'a' && mem[1][PAGE] == 0 && mem[1][3 * PAGE - 1] == 0 &&
		       mem[1][3 * PAGE] == 'a');
	teardown();
}

/* No memory is mapped at the responder's end, or at the requester's. */
static void nothing_there(void)
{
	for (size_t i = 0; i < NUM_OPS; i++) {
		for (int end = 0; end < 2; end++) {
			const bool send = ops[i] == IBV_WR_SEND;
			const enum ibv_wc_status remote = send ? IBV_WC_REM_OP_ERR : IBV_WC_REM_ACCESS_ERR;

			setup();
			CU_ASSERT_EQUAL(run(ops[i]), IBV_WC_SUCCESS);
			CU_ASSERT_TRUE(!send || link_wait(pair.cq[1]).status == IBV_WC_SUCCESS);
			munmap(mem[end], SIZE);
			CU_ASSERT_EQUAL(run(ops[i]), end ? remote : IBV_WC_LOC_PROT_ERR);
			CU_ASSERT_TRUE(!end || !send || link_wait(pair.cq[1]).status == IBV_WC_LOC_PROT_ERR);
			teardown();
		}
	}
}

/* Different memory at the same address, with the same region. */
static void mapped_again(void)
{
	setup();
	memset(mem[0], 'b', SIZE);
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	munmap(mem[0], SIZE);
	map_at(mem[0]);
	map_at(mem[1]); /* replaces the old mapping */
	memset(mem[0], 'c', SIZE);
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(mem[0], mem[1], SIZE), 0);
	CU_ASSERT_EQUAL(mem[1][SIZE - 1], 'c');
	teardown();
}

static void read_only(void)
{
	setup();
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	mprotect(mem[0], SIZE, PROT_READ);
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	mprotect(mem[1], SIZE, PROT_READ);
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
	teardown();
}

static void moved(void)
{
	char *to, *old;

	setup();
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	old = mem[0];
	to = map_at(NULL);
	memset(old, 'd', SIZE);
	to = mremap(old, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(to, MAP_FAILED);
	mem[0] = to;
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(mem[1][SIZE - 1], 'd');
	mem[0] = old;
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_LOC_PROT_ERR);
	mem[0] = to;
	teardown();
}

/* The child keeps the old contents; the parent's pages are written to. */
static void forked(void)
{
	int status = -1, go[2];
	unsigned long gone;
	pid_t child;

	setup();
	memset(mem[1], 'e', SIZE);
	memset(mem[0], 'f', SIZE);
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_READ), IBV_WC_SUCCESS);
	gone = counter(0, "num_invalidations");
	CHECK(!pipe(go));
	child = fork();
	if (!child) {
		char c;

		close(go[1]);
		_exit(read(go[0], &c, 1) || mem[0][0] != 'e' || mem[1][0] != 'e');
	}
	close(go[0]);
	CU_ASSERT_TRUE(counter(0, "num_invalidations") >= gone + 4);
	memset(mem[1], 'g', SIZE);
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_READ), IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(mem[0][SIZE - 1], 'g');
	close(go[1]);
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
	teardown();
}

static void advise(int end, enum ibv_advise_mr_advice advice)
{
	struct ibv_sge sge = {(uintptr_t)mem[end], SIZE, mr[end]->lkey};

	CHECK(!(errno = ibv_advise_mr(l.pd[end], advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1)));
}

/* Prefetched pages do not fault; NO_FAULT fetches the pages that the program has touched. */
static void prefetched(void)
{
	unsigned long faults, fetched;

	setup();
	advise(1, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
	fetched = counter(0, "num_prefetch");
	mem[0][0] = mem[0][2 * PAGE] = 1;
	advise(0, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT);
	CU_ASSERT_EQUAL(counter(0, "num_prefetch"), fetched + 2);
	advise(0, IBV_ADVISE_MR_ADVICE_PREFETCH);
	CU_ASSERT_EQUAL(counter(0, "num_prefetch"), fetched + 4);
	faults = counter(0, "num_page_faults") + counter(1, "num_page_faults");
	CU_ASSERT_EQUAL(run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(counter(0, "num_page_faults") + counter(1, "num_page_faults"), faults);
	teardown();
}

int main(void)
{
	unsigned int failed;
	CU_pSuite s;

	if (CU_initialize_registry())
		return 1;
	link_open(&l, PAGE);
	for (int end = 0; end < 2; end++)
		link_count_now(&l, end);
	s = CU_add_suite("paging", NULL, NULL);
	CU_add_test(s, "pages come and go", come_and_go);
	CU_add_test(s, "nothing there", nothing_there);
	CU_add_test(s, "mapped again", mapped_again);
	CU_add_test(s, "read only", read_only);
	CU_add_test(s, "moved", moved);
	CU_add_test(s, "fork", forked);
	CU_add_test(s, "prefetched", prefetched);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	link_close(&l);
	return failed != 0;
}
