// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two processes, one context: this one sends the descriptor of its device over a socket (SCM_RIGHTS). Another
 * program imports the context, protection domain, region and device memory by their handles, and does RDMA
 * with them. Started by `hcasim run`.
 */
#include "link.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE  4096u
#define PART  64u /* of each kind of memory */
#define THERE 3   /* descriptor of the socket in the other program */

struct handles {
	uint32_t pd, mr, dm;
	uint64_t buf;
};

static void message(struct msghdr *msg, struct iovec *iov, struct handles *h, char *control, size_t len)
{
	*iov = (struct iovec){h, sizeof(*h)};
	*msg = (struct msghdr){
		.msg_iov = iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = len};
}

static void send_fd(int to, struct handles *h, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = {0};
	struct cmsghdr *c;
	struct msghdr msg;
	struct iovec iov;

	message(&msg, &iov, h, control, sizeof(control));
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(sendmsg(to, &msg, 0) == sizeof(*h));
}

static int recv_fd(int from, struct handles *h)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct cmsghdr *c;
	struct msghdr msg;
	struct iovec iov;
	int fd;

	message(&msg, &iov, h, control, sizeof(control));
	CHECK(recvmsg(from, &msg, 0) == sizeof(*h));
	c = CMSG_FIRSTHDR(&msg);
	CHECK(c && c->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* ---- The other program ---- */

struct imported {
	struct link l; /* has its own objects except context and domain of end 0 */
	struct link own;
	struct ibv_mr *mr, *dm_mr, *theirs;
	struct ibv_dm *dm;
	struct pair pair;
};

static void transfer(struct imported *i, enum ibv_wr_opcode op, struct ibv_sge *sge, int num)
{
	struct ibv_send_wr wr = {.sg_list = sge,
				 .num_sge = num,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)i->l.buf[1], i->l.mr[1]->rkey}};

	link_post(i->pair.qp[0], &wr);
	CHECK(link_wait(i->pair.cq[0]).status == IBV_WC_SUCCESS);
}

static void import_all(struct imported *i, int fd, const struct handles *h)
{
	struct link *l = &i->l;

	link_open(&i->own, SIZE);
	*l = i->own;
	CHECK(!ibv_import_device(STDIN_FILENO));
	l->ctx[0] = ibv_import_device(fd);
	CHECK(l->ctx[0]);
	CHECK(!ibv_import_pd(l->ctx[0], h->pd + 1000));
	l->pd[0] = ibv_import_pd(l->ctx[0], h->pd);
	CHECK(l->pd[0]);
	CHECK(!ibv_import_mr(l->pd[0], h->dm));
	i->theirs = ibv_import_mr(l->pd[0], h->mr);
	CHECK(i->theirs);
	CHECK(!ibv_import_dm(l->ctx[0], h->mr));
	i->dm = ibv_import_dm(l->ctx[0], h->dm);
	CHECK(i->dm);
	i->dm_mr = ibv_reg_dm_mr(l->pd[0], i->dm, 0, SIZE, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	CHECK(i->dm_mr);
	/* Memory of this process, not of the one that opened the context. */
	i->mr = ibv_reg_mr(l->pd[0], l->buf[0], SIZE, IBV_ACCESS_LOCAL_WRITE);
	CHECK(i->mr);
	pair_open(&i->pair, l);
}

static void give_back(struct imported *i)
{
	pair_close(&i->pair);
	CHECK(!(errno = ibv_dereg_mr(i->mr)));
	CHECK(!(errno = ibv_dereg_mr(i->dm_mr)));
	ibv_unimport_dm(i->dm);
	ibv_unimport_mr(i->theirs);
	ibv_unimport_pd(i->l.pd[0]);
	CHECK(!(errno = ibv_close_device(i->l.ctx[0])));
	link_close(&i->own);
}

static int other(void)
{
	static struct imported i;
	struct handles h;
	const int fd = recv_fd(THERE, &h);
	char seen[PART];

	import_all(&i, fd, &h);
	struct ibv_sge three[] = {{h.buf, PART, i.theirs->lkey},
				  {0, PART, i.dm_mr->lkey},
				  {(uintptr_t)i.l.buf[0], PART, i.mr->lkey}};
	strcpy(i.l.buf[0], "mine");
	transfer(&i, IBV_WR_RDMA_WRITE, three, 3);
	CHECK(!strcmp(i.l.buf[1], "theirs"));
	CHECK(!strcmp(i.l.buf[1] + PART, "shared"));
	CHECK(!strcmp(i.l.buf[1] + 2 * PART, "mine"));
	strcpy(i.l.buf[1], "to theirs");
	strcpy(i.l.buf[1] + PART, "to shared");
	strcpy(i.l.buf[1] + 2 * PART, "to mine");
	transfer(&i, IBV_WR_RDMA_READ, three, 3);
	CHECK(!strcmp(i.l.buf[0], "to mine"));
	CHECK(!(errno = ibv_memcpy_from_dm(seen, i.dm, 0, PART)));
	CHECK(!strcmp(seen, "to shared"));
	give_back(&i);
	return 0;
}

/* ---- This program ---- */

static void run_other(const struct handles *h, int fd)
{
	struct handles copy = *h;
	int pair[2], status;
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	pid = fork();
	if (!pid) {
		dup2(pair[1], THERE);
		execl("/proc/self/exe", "import", "other", NULL);
		_exit(127);
	}
	send_fd(pair[0], &copy, fd);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

int main(int argc, char **argv)
{
	struct ibv_alloc_dm_attr attr = {.length = SIZE};
	char part[PART] = "shared";
	static struct link l;
	struct ibv_dm *dm;

	if (argc > 1)
		return other();
	link_open(&l, SIZE);
	dm = ibv_alloc_dm(l.ctx[0], &attr);
	CHECK(dm);
	strcpy(l.buf[0], "theirs");
	CHECK(!(errno = ibv_memcpy_to_dm(dm, 0, part, PART)));
	run_other(&(struct handles){l.pd[0]->handle, l.mr[0]->handle, dm->handle, (uintptr_t)l.buf[0]},
		  l.ctx[0]->cmd_fd);
	CHECK(!strcmp(l.buf[0], "to theirs"));
	CHECK(!(errno = ibv_memcpy_from_dm(part, dm, 0, PART)));
	CHECK(!strcmp(part, "to shared"));
	CHECK(!(errno = ibv_free_dm(dm)));
	link_close(&l);
	return 0;
}
