// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A mapping holds the file that it is of, as on Linux: an application that closes the descriptor of its device
 * goes on posting and polling, and what it made is released with its last mapping. Started by `hcasim run`.
 */
#include "hcasim.h"
#include "link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct link l;
static struct ibv_cq *cq[2];
static struct ibv_qp *qp[2];

static void check(bool good, const char *what)
{
	if (!good) {
		errno = EPROTO;
		die(what);
	}
}

static void transfer(uint64_t n)
{
	struct ibv_sge sge = {(uintptr_t)l.buf[0], 8, l.mr[0]->lkey};
	struct ibv_send_wr *bad, wr = {
					 .wr_id = n,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_RDMA_WRITE,
					 .send_flags = IBV_SEND_SIGNALED,
					 .wr.rdma = {(uintptr_t)l.buf[1], l.mr[1]->rkey},
				 };
	uint64_t done;

	memcpy(l.buf[0], &n, sizeof(n));
	errno = ibv_post_send(qp[0], &wr, &bad);
	if (errno)
		die("ibv_post_send");
	while (!link_poll(cq[0], &done))
		;
	check(done == n && !memcmp(l.buf[0], l.buf[1], sizeof(n)), "data of a transfer");
}

/* A completion channel ends with the file that it belongs to. */
static bool released(struct ibv_comp_channel *channel)
{
	struct pollfd p = {.fd = channel->fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* A child has the mappings of its parent; that it ends takes nothing from the parent. */
static void fork_and_end(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child)
		_exit(0);
	check(child > 0 && waitpid(child, &status, 0) == child && !status, "child");
}

/* The rings of one end: libibverbs would have to ask the file that is closed. */
static void unmap_rings(void)
{
	const struct hcasim_map of_qp = to_hqp(qp[0])->chunk->map, of_cq = to_hcq(cq[0])->chunk->map;

	munmap(of_qp.addr, of_qp.size);
	munmap(of_cq.addr, of_cq.size);
}

int main(void)
{
	static struct ibv_comp_channel *channel; /* what is released with the file leaves its memory here */
	void *page;

	link_open(&l, 4096);
	for (int end = 0; end < 2; end++) {
		cq[end] = link_create_cq(&l, end, LINK_SQ_DEPTH);
		qp[end] = link_create_qp(&l, end, cq[end], NULL);
	}
	link_connect(&l, qp);
	channel = ibv_create_comp_channel(l.ctx[0]);
	check(channel, "ibv_create_comp_channel");
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, l.ctx[0]->cmd_fd, 0);
	check(page != MAP_FAILED, "mmap of the device");

	transfer(1);
	close(l.ctx[0]->cmd_fd);
	transfer(2);
	fork_and_end();
	munmap(page, 4096);
	check(!released(channel), "the file while it is mapped");
	transfer(3);

	unmap_rings();
	check(!released(channel), "the file while its doorbell page is mapped");
	ibv_close_device(l.ctx[0]);
	check(released(channel), "the file without a mapping");
	return 0;
}
