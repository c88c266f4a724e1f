// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An XRC domain of two processes that open the same file: a message from one process to its own receiving
 * queue pair reaches the shared receive queue of the other. Started by `hcasim run`.
 */
#include "link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct link l;

static struct ibv_xrcd *open_domain(const char *path, int oflags)
{
	struct ibv_xrcd_init_attr attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = open(path, O_RDONLY | O_CREAT, 0600),
					  .oflags = oflags};
	struct ibv_xrcd *xrcd;

	CHECK(attr.fd >= 0);
	xrcd = ibv_open_xrcd(l.ctx[0], &attr);
	close(attr.fd);
	return xrcd;
}

/* ---- The owner of the SRQ ---- */

static void own(const char *path, int sock)
{
	struct ibv_cq *cq;
	struct ibv_srq_init_attr_ex init = {.attr = {4, 1, 0},
					    .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
							 IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					    .srq_type = IBV_SRQT_XRC};
	struct ibv_sge sge;
	struct ibv_recv_wr *bad, wr = {.wr_id = 7, .sg_list = &sge, .num_sge = 1};
	struct ibv_srq *srq;
	struct ibv_wc wc;
	uint32_t number;

	link_open(&l, 4096);
	sge = link_sge(&l, 0, 64);
	init.pd = l.pd[0];
	init.cq = cq = link_create_cq(&l, 0, 8);
	init.xrcd = open_domain(path, O_CREAT);
	CHECK(init.xrcd);
	srq = ibv_create_srq_ex(l.ctx[0], &init);
	CHECK(srq && !ibv_get_srq_num(srq, &number) && !ibv_post_srq_recv(srq, &wr, &bad));
	CHECK(write(sock, &number, sizeof(number)) == sizeof(number));
	wc = link_wait(cq);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == 7 && wc.byte_len == 64);
	CHECK(!strcmp(l.buf[0], "through the file"));
	CHECK(read(sock, &number, 1) == 0); /* the other process is done */
	CHECK(!ibv_destroy_srq(srq) && !ibv_close_xrcd(init.xrcd) && !ibv_destroy_cq(cq));
	link_close(&l);
}

/* ---- The sender ---- */

static struct ibv_qp *create_qp(enum ibv_qp_type type, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = type};

	if (type == IBV_QPT_XRC_RECV) {
		init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		init.xrcd = xrcd;
	} else {
		init.comp_mask = IBV_QP_INIT_ATTR_PD;
		init.pd = l.pd[1];
		init.send_cq = cq;
		init.cap = (struct ibv_qp_cap){.max_send_wr = 4, .max_send_sge = 1};
	}
	return ibv_create_qp_ex(l.ctx[type == IBV_QPT_XRC_SEND], &init);
}

/* Sends to the SRQ through a queue pair of this domain. Returns the completion status. */
static enum ibv_wc_status send_through(struct ibv_xrcd *xrcd, uint32_t srqn)
{
	struct ibv_cq *cq = link_create_cq(&l, 1, 8);
	struct ibv_qp *recv = create_qp(IBV_QPT_XRC_RECV, xrcd, NULL);
	struct ibv_qp *send = create_qp(IBV_QPT_XRC_SEND, NULL, cq);
	struct ibv_sge sge = link_sge(&l, 1, 64);
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = IBV_SEND_SIGNALED,
				 .qp_type.xrc.remote_srqn = srqn};
	enum ibv_wc_status status;

	CHECK(recv && send);
	link_connect_end(&l, recv, 0, send->qp_num);
	link_connect_end(&l, send, 1, recv->qp_num);
	strcpy(l.buf[1], "through the file");
	link_post(send, &wr);
	status = link_wait(cq).status;
	CHECK(!ibv_destroy_qp(send) && !ibv_destroy_qp(recv) && !ibv_destroy_cq(cq));
	return status;
}

static void visit(const char *path, const char *other, int sock)
{
	struct ibv_xrcd *xrcd, *strange;
	uint32_t srqn;

	CHECK(read(sock, &srqn, sizeof(srqn)) == sizeof(srqn));
	link_open(&l, 4096);
	CHECK(!open_domain(other, 0) && errno == EAGAIN); /* no process has opened it yet */
	strange = open_domain(other, O_CREAT | O_EXCL);
	CHECK(strange && !open_domain(path, O_CREAT | O_EXCL) && errno == EINVAL);
	xrcd = open_domain(path, 0);
	CHECK(xrcd);
	CHECK(send_through(strange, srqn) == IBV_WC_REM_INV_REQ_ERR);
	CHECK(send_through(xrcd, srqn) == IBV_WC_SUCCESS);
	CHECK(!ibv_close_xrcd(xrcd) && !ibv_close_xrcd(strange));
	link_close(&l);
}

int main(int argc, char **argv)
{
	int sock[2], status;
	pid_t child;

	if (argc != 3)
		return 2;
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	child = fork();
	CHECK(child >= 0);
	close(sock[!child]);
	if (!child) {
		visit(argv[1], argv[2], sock[0]);
		return 0;
	}
	own(argv[1], sock[1]);
	CHECK(waitpid(child, &status, 0) == child && !status);
	printf("one domain\n");
	return 0;
}
