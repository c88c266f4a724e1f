/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An on-demand region with addresses of its own (ibv_reg_mr_iova): its pages are those of its memory. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "suites/objects/own.h"

#define PAGE   4096u
#define PAGES  6
#define BEGIN  100u                  /* of the region in its first page */
#define IOVA   0xfffe123456000000ull /* where no program has memory */
#define LEN    64u
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

struct paged {
	struct kit *k;
	struct own own;
	uint8_t *plain, *bytes;
	struct ibv_mr *plain_mr, *mr;
};

static bool set_up(struct paged *p)
{
	struct ibv_pd *pd = p->k->r->dut.requester.pd;

	p->own.to_itself = true;
	p->plain = made_pages(PAGES * (size_t)PAGE, MAP_PRIVATE);
	p->bytes = made_pages(PAGES * (size_t)PAGE, MAP_PRIVATE);
	if (p->plain && p->bytes) {
		p->plain_mr = ibv_reg_mr(pd, p->plain, PAGES * (size_t)PAGE, ACCESS);
		p->mr = ibv_reg_mr_iova2(pd, p->bytes + BEGIN, (PAGES - 1) * (size_t)PAGE, IOVA + BEGIN,
					 ACCESS | IBV_ACCESS_ON_DEMAND);
	}
	if (!KIT_MUST(p->k, p->plain_mr && p->mr, "the regions: %s", errno_name(errno)))
		return false;
	if (!own_create(p->k, &p->own, IBV_QPT_RC) || !own_reach(p->k, &p->own, IBV_QPS_RTS))
		return false;
	return true;
}

/* 64 bytes over a border between two pages, to or from the paged region, which is the local or the remote one. */
static void move(struct paged *p, unsigned int turn)
{
	const bool local = turn & 1, read = turn & 2, into = local == read;
	const uint32_t at = (turn + 1) * PAGE - 20;
	struct ibv_sge sge = {local ? IOVA + at : (uintptr_t)p->plain + at, LEN,
			      local ? p->mr->lkey : p->plain_mr->lkey};
	struct ibv_send_wr wr = kit_wr(turn, read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, &sge), *bad;
	struct kit *k = p->k;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = local ? (uintptr_t)p->plain + at : IOVA + at;
	wr.wr.rdma.rkey = local ? p->plain_mr->rkey : p->mr->rkey;
	for (uint32_t i = 0; i < LEN; i++)
		(into ? p->plain : p->bytes)[at + i] = (uint8_t)(turn * 71 + i * 3 + 1);
	KIT_CHECK(k, !ibv_post_send(p->own.qp, &wr, &bad), "posting was refused");
	if (!own_wait(k, &p->own, p->own.send_cq, &wc))
		return;
	KIT_CHECK(k, !wc.status, "an RDMA %s, with the paged region as its %s memory, completes with %s",
		  read ? "READ" : "WRITE", local ? "local" : "remote", value_name(status_names, wc.status));
	judge_bytes(&k->res->verdict, "the bytes that were moved", (into ? p->plain : p->bytes) + at,
		    (into ? p->bytes : p->plain) + at, LEN);
}

static void paged_iova(struct kit *k)
{
	struct paged p = {.k = k};

	if (set_up(&p))
		for (unsigned int turn = 0; turn < 4 && KIT_GOOD(k); turn++)
			move(&p, turn);
}

SCENARIO(paged_iova) = {
	{"iova", SUITE("paging"), QPS("RC"), ARGS({"sent_again", 1}), CLAUSE("ibv_reg_mr/DESCRIPTION/iova"),
	 ALSO("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"),
	 NEEDS("on_demand/{qp}/WRITE on_demand/{qp}/READ"),
	 SAYS("an on-demand region whose addresses are not those of its memory is written and read, as "
	      "local and as remote memory, over the borders of pages that the device has not had yet")},
	{},
};
