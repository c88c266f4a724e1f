// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A mapping keeps its file open, as on Linux: an application that closes the descriptor of its device can
 * still post and poll, and its objects are released with the last mapping. Started by `hcasim run`.
 */
#include "hcasim.h"
#include "link.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct link l;
static struct pair pair;

static void transfer(uint64_t n)
{
	memcpy(l.buf[0], &n, sizeof(n));
	pair_post_write(&pair, n, sizeof(n));
	CHECK(link_wait(pair.cq[0]).status == IBV_WC_SUCCESS);
	CHECK(!memcmp(l.buf[0], l.buf[1], sizeof(n)));
}

/* A completion channel is closed when the file that it belongs to is released. */
static bool released(struct ibv_comp_channel *channel)
{
	struct pollfd p = {.fd = channel->fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* A child inherits the mappings of its parent; its exit must not release them for the parent. */
static void fork_and_end(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child)
		_exit(0);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
}

/* Unmaps the rings of one end directly, since libibverbs would need the closed file. */
static void unmap_rings(void)
{
	const struct hcasim_map of_qp = to_hqp(pair.qp[0])->chunk->map,
				of_cq = to_hcq(pair.cq[0])->chunk->map;

	munmap(of_qp.addr, of_qp.size);
	munmap(of_cq.addr, of_cq.size);
}

int main(void)
{
	static struct ibv_comp_channel *channel; /* static: memory of released objects stays reachable */
	void *page;

	link_open(&l, 4096);
	pair_open(&pair, &l);
	channel = ibv_create_comp_channel(l.ctx[0]);
	CHECK(channel);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, l.ctx[0]->cmd_fd, 0);
	CHECK(page != MAP_FAILED);

	transfer(1);
	close(l.ctx[0]->cmd_fd);
	transfer(2);
	fork_and_end();
	munmap(page, 4096);
	CHECK(!released(channel));
	transfer(3);

	unmap_rings();
	CHECK(!released(channel));
	ibv_close_device(l.ctx[0]);
	CHECK(released(channel));
	return 0;
}
