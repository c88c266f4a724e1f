/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A message that is one byte longer than max_msg_sz of the port is not sent; one of exactly this length is. Its list
 * names the same memory many times, and its rkey is wrong, so that the responder refuses its first packet.
 */
#include <errno.h>
#include <sys/mman.h>

#include "suites/kit.h"

static void judge(struct kit *k, struct ibv_sge *sge, unsigned int num, uint64_t size)
{
	struct link *l = k->l;
	struct ibv_send_wr wr = kit_wr(0xb16, k->cell->wr[0].op, sge);
	const bool more = kit_arg(k, "more", 1);
	struct ibv_wc wc;
	int ret;

	wr.num_sge = (int)num;
	wr.wr.rdma.remote_addr = (uintptr_t)l->target.base;
	wr.wr.rdma.rkey = l->target.mr->rkey ^ (more ? 0 : 0x5500);
	ret = more ? link_fill_recv(l) : 0; /* a refusal would flush them */
	KIT_CHECK(k, !ret, "posting receives failed with %s", errno_name(ret));
	ret = kit_post(k, l->qp, l->peer, &wr, NULL);
	k->res->err = ret;
	KIT_CHECK(k, !ret || more, "a message of max_msg_sz was refused with %s", errno_name(ret));
	if (ret)
		seen(k->res, "refused with %s; ", errno_name(ret));
	else if (!kit_wait(k, l, l->cq, &wc))
		return;
	else
		KIT_CHECK(k, wc.wr_id == 0xb16 && wc.status == k->cell->status,
			  "a message of %llu bytes completes with %s, expected %s", (unsigned long long)size,
			  value_name(status_names, wc.status), value_name(status_names, k->cell->status));
	kit_expect_none(k, l, l->peer_cq); /* no part of it has arrived */
}

static void oversize(struct kit *k)
{
	const uint64_t size = (uint64_t)k->r->dut.requester.port_attr.max_msg_sz + kit_arg(k, "more", 1);
	const struct link_opts opts = {0};
	struct ibv_sge sge[64];
	struct ibv_mr *mr = NULL;
	unsigned int num;
	uint64_t piece;
	void *mem;

	if (!kit_link(k, API_POST, &opts))
		return;
	num = k->l->cap.max_send_sge < 64 ? k->l->cap.max_send_sge : 64;
	KIT_CHECK(k, num, "a QP without SGEs");
	piece = (size + num - 1) / num;
	mem = made_pages(piece, MAP_PRIVATE | MAP_NORESERVE);
	if (mem)
		mr = ibv_reg_mr(k->r->dut.requester.pd, mem, piece, IBV_ACCESS_LOCAL_WRITE);
	if (mr) {
		for (unsigned int i = 0; i < num; i++)
			sge[i] = (struct ibv_sge){(uintptr_t)mem, (uint32_t)piece, mr->lkey};
		sge[num - 1].length = (uint32_t)(size - piece * (num - 1));
		judge(k, sge, num, size);
	} else {
		seen(k->res, "no region of %llu bytes: %s; ", (unsigned long long)piece, errno_name(errno));
	}
}

SCENARIO(oversize) = {
	{"oversize-send", SUITE("mtu"), QPS("RC"), POSTS("SEND 600"), CLAUSE("ibv_poll_cq/DESCRIPTION/error"),
	 LEVEL("SHOULD"), ERRATA("OVERSIZE"), STATUS("LOC_LEN_ERR"), SGES(30),
	 SAYS("a message of max_msg_sz of the port and one byte is refused, or completes with "
	      "IBV_WC_LOC_LEN_ERR; nothing arrives")},
	{"oversize-{short}", QPS("RC UC"), POSTS("{op} 600"), OPS("RDMA_WRITE RDMA_READ"), SGES(30)},
	{"longest-{short}", QPS("RC"), OPS("RDMA_WRITE RDMA_READ"), ARGS({"more", 0}), LEVEL(""),
	 ERRATA("FAILURE-STATUS"), STATUS("REM_ACCESS_ERR"), SGES(30),
	 SAYS("a message of max_msg_sz of the port is no local error: a wrong rkey is refused by the "
	      "responder")},
	{},
};
