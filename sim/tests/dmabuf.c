// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of a dma-buf, local and remote: of /dev/udmabuf if the host has it, else of the sealed memfd
 * itself, which the device process accepts instead. Started by `hcasim run --hcas 2`.
 */
#include "link.h"

#include <CUnit/Basic.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define SIZE (4 * PAGE)
#define ACCESS                                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static struct link l;
static struct pair pair;

struct buffer {
	int memfd, fd;
	char *mem; /* the program's mapping */
};

static struct buffer make_buffer(int seals)
{
	struct buffer b = {.memfd = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
	struct udmabuf_create create = {.flags = UDMABUF_FLAGS_CLOEXEC, .size = SIZE};
	const int exporter = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	CHECK(b.memfd >= 0 && !ftruncate(b.memfd, SIZE) && !fcntl(b.memfd, F_ADD_SEALS, seals));
	b.mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, b.memfd, 0);
	CHECK(b.mem != MAP_FAILED);
	create.memfd = (uint32_t)b.memfd;
	b.fd = exporter < 0 || !(seals & F_SEAL_SHRINK) ? dup(b.memfd)
							: ioctl(exporter, UDMABUF_CREATE, &create);
	CHECK(b.fd >= 0);
	if (exporter >= 0)
		close(exporter);
	return b;
}

static void drop_buffer(struct buffer *b)
{
	munmap(b->mem, SIZE);
	close(b->memfd);
	close(b->fd);
}

static struct ibv_mr *reg(int end, const struct buffer *b, uint64_t offset, size_t length, uint64_t iova)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(l.pd[end], offset, length, iova, b->fd, ACCESS);

	CHECK(mr);
	return mr;
}

static int transfer(enum ibv_wr_opcode op, struct ibv_sge sge, uint64_t to, uint32_t rkey)
{
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {.remote_addr = to, .rkey = rkey}};

	link_post(pair.qp[0], &wr);
	return link_wait(pair.cq[0]).status;
}

/*
 * Pages 1 and 2 of the buffers, at an address that we choose, after the descriptors of the target buffer are
 * closed.
 */
static void both_ends(void)
{
	const uint64_t iova = 0x7000ull;
	struct buffer here = make_buffer(F_SEAL_SHRINK), there = make_buffer(F_SEAL_SHRINK);
	struct ibv_mr *from = reg(0, &here, PAGE, 2 * PAGE, 0), *to = reg(1, &there, PAGE, 2 * PAGE, iova);
	const struct ibv_sge sge = {5, 2 * PAGE - 10, from->lkey};

	close(there.fd);
	close(there.memfd);
	memset(here.mem, 'a', SIZE);
	CU_ASSERT_EQUAL(transfer(IBV_WR_RDMA_WRITE, sge, iova + 7, to->rkey), IBV_WC_SUCCESS);
	for (unsigned int i = 0; i < SIZE; i++)
		if (there.mem[i] != (i >= PAGE + 7 && i < 3 * PAGE - 3 ? 'a' : 0))
			CU_FAIL_FATAL("a byte of the target");
	memset(there.mem, 'b', SIZE);
	CU_ASSERT_EQUAL(transfer(IBV_WR_RDMA_READ, sge, iova, to->rkey), IBV_WC_SUCCESS);
	for (unsigned int i = 0; i < SIZE; i++)
		if (here.mem[i] != (i >= PAGE + 5 && i < 3 * PAGE - 5 ? 'b' : 'a'))
			CU_FAIL_FATAL("a byte of the reader");
	CU_ASSERT_EQUAL(transfer(IBV_WR_RDMA_WRITE, sge, iova + 11, to->rkey), IBV_WC_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(ibv_dereg_mr(from), 0);
	CU_ASSERT_EQUAL(ibv_dereg_mr(to), 0);
	munmap(there.mem, SIZE);
	drop_buffer(&here);
}

static void refuse(int fd, uint64_t offset, size_t length, int access, int err)
{
	errno = 0;
	CU_ASSERT_PTR_NULL(ibv_reg_dmabuf_mr(l.pd[0], offset, length, offset, fd, access));
	CU_ASSERT_EQUAL(errno, err);
}

static void refused(void)
{
	struct buffer b = make_buffer(F_SEAL_SHRINK), unsealed = make_buffer(F_SEAL_GROW);
	int pipes[2];

	CHECK(!pipe(pipes));
	refuse(b.fd, 0, SIZE + 1, ACCESS, EINVAL);
	refuse(b.fd, 1, SIZE, ACCESS, EINVAL);
	refuse(b.fd, 0, SIZE, IBV_ACCESS_ON_DEMAND, EINVAL);
	refuse(b.fd, 0, SIZE, IBV_ACCESS_REMOTE_WRITE, EINVAL);
	refuse(pipes[0], 0, SIZE, ACCESS, EINVAL);
	refuse(l.ctx[0]->cmd_fd, 0, SIZE, ACCESS, EINVAL);
	refuse(9999, 0, SIZE, ACCESS, EBADF);
	/* The file could be truncated while the device uses it. */
	refuse(unsealed.fd, 0, SIZE, ACCESS, EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	drop_buffer(&b);
	drop_buffer(&unsealed);
}

static void run_tests(void)
{
	CU_pSuite s = CU_add_suite("dma-buf", NULL, NULL);

	CU_add_test(s, "refused", refused);
	CU_add_test(s, "WRITE and READ between two buffers", both_ends);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
}

int main(void)
{
	unsigned int failed;

	printf("dma-bufs of %s\n", access("/dev/udmabuf", R_OK | W_OK) ? "sealed memfds" : "/dev/udmabuf");
	link_open(&l, PAGE);
	pair_open(&pair, &l);
	if (CU_initialize_registry())
		return 1;
	run_tests();
	failed = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	pair_close(&pair);
	link_close(&l);
	return failed != 0;
}
