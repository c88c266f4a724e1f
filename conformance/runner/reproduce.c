/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* main() of a program made from the calls of a report: creates the objects they name as the runner does for a cell. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../reproduce.h"
#undef ibv_create_qp_ex
#undef ibv_wr_complete
#undef ibv_post_send
#undef ibv_post_recv
#undef ibv_post_srq_recv
#undef rdma_post_writev
#include "link/cm.h"
#include "cell/names.h"
#include "post/plan.h"
#include "execute/writev.h"

#define TIMEOUT_MS 5000
#define SGES       (CELL_MAX_WR * CELL_MAX_SGE)

_Static_assert((int)CELL_OWN_WINDOW == NEED_OWN_WINDOW && (int)CELL_PEER_WINDOW == NEED_PEER_WINDOW &&
		       (int)CELL_BOUND == NEED_BOUND && (int)CELL_FLUSH == NEED_FLUSH &&
		       (int)CELL_TSO == NEED_TSO,
	       "needs of reproduce.h and of link.h");

struct ibv_context *ctx;
struct ibv_pd *pd;
struct ibv_qp *qp, *peer, *back, *other;
struct ibv_qp_ex *qpx;
struct ibv_cq *cq, *peer_cq;
struct ibv_srq *srq;
struct rdma_cm_id *id;
struct ibv_mr *mr, *remote_mr;
struct ibv_mw *mw;
void *addr, *recv_addr, *context;
uint32_t lkey, recv_lkey, remote_qpn, srqn, rkey;
struct ibv_sge sg_list[SGES], recv_sg_list[SGES];
struct ibv_data_buf buf_list[SGES];
struct ibv_send_wr wr[CELL_MAX_WR], *bad_wr;
struct ibv_ah *ah;
uint64_t remote_addr;
struct ibv_recv_wr recv_wr[CELL_MAX_WR], *bad_recv_wr;
struct ibv_wc wc[CELL_MAX_WR];
struct ibv_grh *grh;
uint8_t port;
uint64_t compare = PLAN_COMPARE, swap = PLAN_SWAP, add = PLAN_SWAP, value = PLAN_SWAP;
uint8_t hdr[PLAN_TSO_HDR];

static struct dut dut;
static struct link l;
static struct cm cm;
static struct log ignored;
static int status; /* of the program */

static void stop(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, errno_name(err));
	exit(2);
}

int cell_said(const char *call, int ret)
{
	if (ret)
		printf("%s: %s\n", call, errno_name(ret < 0 ? errno : ret));
	else
		printf("%s: accepted\n", call);
	return ret;
}

struct ibv_qp *cell_made(struct ibv_qp *made)
{
	if (!made)
		printf("ibv_create_qp_ex: %s\n", errno_name(errno));
	return made;
}

/* The memory that the requests of a cell access. */
static void show_memory(void)
{
	uint64_t first = PLAN_COMPARE;

	mr = l.local.mr;
	addr = l.local.base;
	lkey = mr->lkey;
	remote_mr = l.target.mr;
	remote_addr = (uintptr_t)l.target.base;
	rkey = remote_mr->rkey;
	memcpy(l.target.base, &first, sizeof(first)); /* the value that atomics read first */
	if (l.qpt == IBV_QPT_RAW_PACKET)
		memcpy(addr, plan_eth_hdr, PLAN_ETH_HDR);
}

void cell_connect(unsigned int needs)
{
	int ret;

	if (!qp)
		stop("there is no QP to be connected", EINVAL);
	l.qp = qp;
	l.qpx = qpx;
	l.extended = qpx;
	l.qpt = qp->qp_type;
	l.ask_sge = 4;
	l.api = needs & CELL_SRQ ? API_SRQ : API_RECV;
	l.needs = needs & ~CELL_SRQ;
	ret = link_finish(&l, &ignored);
	if (ret)
		stop(l.step, ret);
	show_memory();
	recv_addr = l.recv.base;
	recv_lkey = l.recv.mr->lkey;
	peer = l.peer;
	back = l.back.qp;
	remote_qpn = peer->qp_num;
	srq = l.srq;
	srqn = l.srqn;
	mw = l.mw;
	ah = l.ah;
}

void cell_connect_id(unsigned int sges, unsigned int inline_bytes)
{
	int ret = cm_open(&cm, &dut, sges, inline_bytes, &ignored);

	if (ret)
		stop(cm.step, ret);
	link_destroy(&l); /* the connection has its own CQs */
	ret = writev_lend(&l, &cm, &dut, API_WRITEV);
	if (ret)
		stop(l.step, ret);
	id = cm.client;
	cq = l.cq;
	peer_cq = l.peer_cq;
	show_memory();
}

void cell_receives(void)
{
	int ret = link_fill_recv(&l);

	if (ret)
		stop("posting receives", ret);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

static bool take_one(const char *end, struct ibv_cq *from)
{
	struct ibv_wc one;

	if (ibv_poll_cq(from, 1, &one) < 1)
		return false;
	printf("%s CQE %s", end, value_name(status_names, one.status));
	if (one.status == IBV_WC_SUCCESS)
		printf(" %s, %u bytes, flags 0x%x", value_name(wc_names, one.opcode), one.byte_len,
		       one.wc_flags);
	else
		printf(", vendor_err 0x%x", one.vendor_err);
	if (one.status == IBV_WC_SUCCESS && one.wc_flags & IBV_WC_WITH_IMM)
		printf(", imm_data 0x%08x", be32toh(one.imm_data));
	printf(", wr_id 0x%llx\n", (unsigned long long)one.wr_id);
	return true;
}

static void take(const char *end, struct ibv_cq *from, unsigned int num)
{
	uint64_t deadline = now_ms() + TIMEOUT_MS;
	unsigned int done = 0;

	while (done < num && now_ms() < deadline)
		done += take_one(end, from);
	if (done < num) {
		printf("%s: %u of %u completions came within %d ms\n", end, done, num, TIMEOUT_MS);
		status = 1;
	}
}

void cell_wait(unsigned int requester, unsigned int responder)
{
	take("requester", cq, requester);
	take("responder", peer_cq, responder);
}

/* DEVICE[/PORT[/GID-INDEX]], and the address for rdma_cm. */
static json_t *end_of(const char *text, const char *address)
{
	char name[64];
	int port_number = 1, gid = 0;

	if (sscanf(text, "%63[^/]/%d/%d", name, &port_number, &gid) < 1)
		stop(text, EINVAL);
	return json_pack("{s:s, s:i, s:i, s:s}", "device", name, "port", port_number, "gid_index", gid,
			 "address", address ? address : "");
}

static void open_both(int argc, char **argv)
{
	char err[512];
	json_t *desc = json_pack(
		"{s:o, s:o, s:i, s:i}", "requester", end_of(argv[1], argc > 4 ? argv[3] : NULL), "responder",
		end_of(argv[2], argc > 4 ? argv[4] : NULL), "mtu", 1024, "timeout_ms", TIMEOUT_MS);

	if (dut_open(&dut, desc, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		exit(2);
	}
	json_decref(desc);
}

int main(int argc, char **argv)
{
	int ret;

	if (argc != 3 && argc != 5) {
		fprintf(stderr,
			"usage: %s DEVICE[/PORT[/GID-INDEX]] PEER[/PORT[/GID-INDEX]] [ADDRESS "
			"PEER-ADDRESS]\n",
			argv[0]);
		return 2;
	}
	open_both(argc, argv);
	ignored.calls = json_array();
	l.dut = &dut;
	ret = link_begin(&l);
	if (ret)
		stop(l.step, ret);
	ctx = dut.requester.ctx;
	pd = dut.requester.pd;
	port = dut.requester.port;
	cq = l.cq;
	peer_cq = l.peer_cq;
	memcpy(hdr, plan_tso_hdr, sizeof(hdr));
	reproduce();
	while (take_one("requester", cq) || take_one("responder", peer_cq)) /* unexpected ones */
		;
	return status;
}
