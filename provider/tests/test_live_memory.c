// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory of every kind that applications register, and lists of SGEs that go wrong. Needs an adapter. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

#include "live.h"

#define SIZE (2u << 20)

static const struct ibv_qp_cap cap = {8, 8, 3, 3, 0};

static void *map(int flags, int fd)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *of_heap(void)
{
	return malloc(SIZE);
}

static void *of_anonymous(void)
{
	return map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void *of_huge_page(void) /* NULL where none is set aside */
{
	return map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
}

static void *not_for_children(void)
{
	void *p = of_anonymous();

	CU_ASSERT_EQUAL_FATAL(madvise(p, SIZE, MADV_DONTFORK), 0);
	return p;
}

static void *of_shared_file(void)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);
	void *p;

	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, SIZE), 0);
	p = map(MAP_SHARED, fd);
	close(fd);
	return p;
}

static void *of_system_v(void)
{
	int id = shmget(IPC_PRIVATE, SIZE, 0600);
	void *p = shmat(id, NULL, 0);

	shmctl(id, IPC_RMID, NULL);
	return p == (void *)-1 ? NULL : p;
}

static void give_back(void *p, void *(*kind)(void))
{
	if (kind == of_heap)
		free(p);
	else if (kind == of_system_v)
		shmdt(p);
	else
		munmap(p, SIZE);
}

/* From one half of the memory to the other, over the pages' borders. */
static void transfer(struct live *l, uint8_t *p)
{
	const uint32_t len = SIZE / 2 - 3;
	struct ibv_mr *mr = ibv_reg_mr(l->pd, p, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_sge sge = {.addr = (uintptr_t)p + 1, .length = len};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;
	struct ibv_wc wc;
	uint32_t i;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	for (i = 0; i < SIZE; i++)
		p[i] = (uint8_t)(i < SIZE / 2 ? i * 7 + i / 4096 : 0);
	sge.lkey = mr->lkey;
	wr.wr.rdma.rkey = mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)p + SIZE / 2 + 2;
	CU_ASSERT_EQUAL(ibv_post_send(l->qp, &wr, &bad), 0);
	CU_ASSERT_EQUAL(live_poll(l->cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(p + 1, p + SIZE / 2 + 2, len), 0);
	CU_ASSERT_EQUAL(p[SIZE / 2 + 1] | p[SIZE - 1], 0);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
}

static void test_kinds(void)
{
	static void *(*const kinds[])(void) = {of_heap,          of_anonymous,   of_huge_page,
					       not_for_children, of_shared_file, of_system_v};
	struct live l;
	size_t i;
	void *p;

	live_open(&l, &cap, 16);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		p = kinds[i]();
		if (!p && kinds[i] == of_huge_page)
			continue;
		CU_ASSERT_PTR_NOT_NULL_FATAL(p);
		transfer(&l, p);
		give_back(p, kinds[i]);
	}
	live_close(&l);
}

/* Three SGEs, of which one does not work: nothing of the list is where the list does not say. */
static void write_list(unsigned int which, uint32_t length, uint32_t lkey)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr = {.sg_list = sge,
				 .num_sge = 3,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;
	struct ibv_wc wc;
	struct live l;
	uint32_t i;

	live_open(&l, &cap, 16);
	for (i = 0; i < 3; i++) {
		memset(l.buf + 64 * i, 0x11 * (i + 1), 64);
		sge[i] = (struct ibv_sge){(uintptr_t)l.buf + 64 * i, 64, l.mr->lkey};
	}
	if (length)
		sge[which].length = length;
	sge[which].lkey ^= lkey;
	wr.wr.rdma.rkey = l.mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)l.buf + LIVE_SIZE / 2;
	CU_ASSERT_EQUAL(ibv_post_send(l.qp, &wr, &bad), 0);
	CU_ASSERT_EQUAL(live_poll(l.cq, 1, &wc), 1);
	CU_ASSERT_TRUE(wc.status == IBV_WC_LOC_PROT_ERR || wc.status == IBV_WC_LOC_LEN_ERR);
	/* What arrived, if anything did, is the beginning of the message. */
	for (i = 0; i < 192; i++) {
		uint8_t byte = l.buf[LIVE_SIZE / 2 + i];

		CU_ASSERT_TRUE_FATAL(!byte || byte == 0x11 * (i / 64 + 1));
	}
	live_close(&l);
}

static void test_bad_sge(void)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		write_list(i, 0, 0xff00);
		write_list(i, LIVE_SIZE + 1, 0);
		/* The sum of the lengths is 2^32, and modulo that it is nothing. */
		write_list(i, UINT32_MAX - 127, 0);
		write_list(i, 0x80000000, 0);
	}
}

/* A process without free descriptors gets an error, and continues when some are closed. */
static void test_no_descriptors(void)
{
	struct ibv_comp_channel *channel;
	struct rlimit old, none;
	int next = dup(0);

	close(next);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = (rlim_t)next;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &none), 0);
	errno = 0;
	channel = ibv_create_comp_channel(live_ctx);
	CU_ASSERT_PTR_NULL(channel);
	CU_ASSERT_EQUAL(errno, EMFILE);
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &old), 0);
	channel = ibv_create_comp_channel(live_ctx);
	CU_ASSERT_PTR_NOT_NULL_FATAL(channel);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(channel), 0);
}

int main(void)
{
	static const struct live_test tests[] = {
		{"memory of every kind", test_kinds},
		{"an SGE that does not work", test_bad_sge},
		{"no descriptors left", test_no_descriptors},
		{},
	};

	return live_main("memory", tests);
}
