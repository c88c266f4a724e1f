// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mistakes with memory regions: keys, bounds, rights, lifetimes. */
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "mistakes.h"

#define ALL                                                                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static struct ibv_mr *region(int end, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(l.pd[end], l.buf[end], SIZE, access);

	CHECK(mr);
	return mr;
}

/* A buffer on the stack, with the key of another buffer. */
static void unregistered(void)
{
	char message[MESSAGE] = "hello";
	struct ibv_sge sge = {(uintptr_t)message, sizeof(message), l.mr[0]->lkey};
	struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, 7);

	connect_pair();
	post_receive(1, 1);
	say_value("addr", sge.addr);
	say_value("lkey", sge.lkey);
	POST(wr);
}

/* The memory was registered in another domain than the queue pair's. */
static void other_domain(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(l.ctx[0]);
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, l.buf[0], SIZE, 0) : NULL;
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	CHECK(mr);
	connect_pair();
	sge.lkey = mr->lkey;
	say_value("lkey", sge.lkey);
	POST(wr);
}

/* The key is that of the local region, which the peer does not have. */
static void wrong_rkey(void)
{
	struct ibv_mr *local[4];
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	for (int i = 0; i < 4; i++) /* the first keys of both adapters are the same */
		local[i] = region(0, ALL);
	connect_pair();
	wr.wr.rdma.rkey = local[3]->rkey;
	say_value("rkey", wr.wr.rdma.rkey);
	POST(wr);
	say_event(1);
}

/* Twice as long as the region that it writes to. */
static void past_the_end(void)
{
	char *big = aligned_alloc(4096, 2 * SIZE);
	struct ibv_mr *mr = ibv_reg_mr(l.pd[0], big, 2 * SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = {(uintptr_t)big, 2 * SIZE, mr ? mr->lkey : 0};
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	CHECK(mr);
	connect_pair();
	say_value("rkey", wr.wr.rdma.rkey);
	say_value("addr", wr.wr.rdma.remote_addr);
	POST(wr);
}

/* The address went through htonl(), which has 32 bits. */
static void byte_order(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	connect_pair();
	wr.wr.rdma.remote_addr = ntohl(htonl((uint32_t)wr.wr.rdma.remote_addr));
	say_value("rkey", wr.wr.rdma.rkey);
	say_value("addr", wr.wr.rdma.remote_addr);
	POST(wr);
}

/* The peer sent the key in network byte order. */
static void swapped_rkey(void)
{
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	connect_pair();
	say_value("right", wr.wr.rdma.rkey);
	wr.wr.rdma.rkey = htonl(wr.wr.rdma.rkey);
	say_value("rkey", wr.wr.rdma.rkey);
	POST(wr);
}

/* The peer registered its memory for READs only. */
static void not_for_remote(void)
{
	struct ibv_mr *mr = region(1, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	connect_pair();
	wr.wr.rdma.rkey = mr->rkey;
	say_value("rkey", wr.wr.rdma.rkey);
	POST(wr);
}

/* Remote writes need local write access, too. */
static void remote_without_local(void)
{
	struct ibv_mr *mr = ibv_reg_mr(l.pd[1], l.buf[1], SIZE, IBV_ACCESS_REMOTE_WRITE);

	say_error("ibv_reg_mr", mr ? 0 : errno);
}

/* The READ must write its data to memory that was registered without IBV_ACCESS_LOCAL_WRITE. */
static void read_into_read_only(void)
{
	struct ibv_mr *mr = region(0, 0);
	struct ibv_sge sge = {(uintptr_t)l.buf[0], MESSAGE, mr->lkey};
	struct ibv_send_wr wr = request(IBV_WR_RDMA_READ, &sge, 7);

	connect_pair();
	say_value("lkey", sge.lkey);
	POST(wr);
}

/* The peer deregistered the memory before the last request came. */
static void deregistered(void)
{
	struct ibv_mr *mr = region(1, ALL);
	struct ibv_sge sge = link_sge(&l, 0, MESSAGE);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, 7);

	connect_pair();
	wr.wr.rdma.rkey = mr->rkey;
	say_value("rkey", mr->rkey);
	POST(wr);
	CHECK(!(errno = ibv_dereg_mr(mr)));
	wr.wr_id = 8;
	POST(wr);
}

/* Atomics work on 8 bytes at a multiple of 8. */
static void unaligned_atomic(void)
{
	struct ibv_mr *mr = region(1, ALL);
	struct ibv_sge sge = link_sge(&l, 0, 8);
	struct ibv_send_wr wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 7);

	connect_pair();
	wr.wr.atomic.rkey = mr->rkey;
	wr.wr.atomic.remote_addr += 4;
	say_value("addr", wr.wr.atomic.remote_addr);
	POST(wr);
}

/* The result of an atomic has 8 bytes. */
static void short_atomic(void)
{
	struct ibv_mr *mr = region(1, ALL);
	struct ibv_sge sge = link_sge(&l, 0, 4);
	struct ibv_send_wr wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 7);

	connect_pair();
	wr.wr.atomic.rkey = mr->rkey;
	POST(wr);
}

/* The window is bound to a region without IBV_ACCESS_MW_BIND. */
static void unbindable(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(l.pd[0], IBV_MW_TYPE_2);
	struct ibv_send_wr wr = request(IBV_WR_BIND_MW, NULL, 7);

	CHECK(mw);
	wr.num_sge = 0;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){l.mr[0], (uintptr_t)l.buf[0], MESSAGE, IBV_ACCESS_REMOTE_READ};
	connect_pair();
	POST(wr);
}

/* The peer's receive has a key that is none. */
static void bad_receive(void)
{
	struct ibv_sge from = link_sge(&l, 0, MESSAGE),
		       to = {(uintptr_t)l.buf[1], MESSAGE, l.mr[1]->lkey ^ 1};
	struct ibv_recv_wr recv = receive(&to, 3), *bad;
	struct ibv_send_wr wr = request(IBV_WR_SEND, &from, 7);

	connect_pair();
	say_error("ibv_post_recv", ibv_post_recv(p.qp[1], &recv, &bad));
	POST(wr);
	say_completion(p.cq[1]);
}

/* Nothing is mapped there. */
static void not_mapped(void)
{
	char *hole = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	CHECK(hole != MAP_FAILED && !munmap(hole + SIZE, SIZE));
	say_value("addr", (uintptr_t)hole);
	mr = ibv_reg_mr(l.pd[0], hole, 2 * SIZE, IBV_ACCESS_LOCAL_WRITE);
	say_error("ibv_reg_mr", mr ? 0 : errno);
}

/* 1 MiB, where 64 KiB are allowed. */
static void locked_memory(void)
{
	const struct rlimit limit = {65536, 65536};
	void *big = aligned_alloc(4096, 1 << 20);
	struct ibv_mr *mr;

	if (!getuid()) /* who may lock any memory */
		CHECK(!setuid(65534));
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	mr = ibv_reg_mr(l.pd[0], big, 1 << 20, IBV_ACCESS_LOCAL_WRITE);
	say_error("ibv_reg_mr", mr ? 0 : errno);
}

/* The domain still has a region. */
static void busy_domain(void)
{
	say_error("ibv_dealloc_pd", ibv_dealloc_pd(l.pd[0]));
}

const struct mistake memory_mistakes[] = {
	{"unregistered", unregistered},
	{"other_domain", other_domain},
	{"wrong_rkey", wrong_rkey},
	{"past_the_end", past_the_end},
	{"byte_order", byte_order},
	{"swapped_rkey", swapped_rkey},
	{"not_for_remote", not_for_remote},
	{"remote_without_local", remote_without_local},
	{"read_into_read_only", read_into_read_only},
	{"deregistered", deregistered},
	{"unaligned_atomic", unaligned_atomic},
	{"short_atomic", short_atomic},
	{"unbindable", unbindable},
	{"bad_receive", bad_receive},
	{"not_mapped", not_mapped},
	{"locked_memory", locked_memory},
	{"busy_domain", busy_domain},
	{},
};
