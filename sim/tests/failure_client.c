/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An application that meets a failure during traffic. It prints what it sees and exits with 0 if that is
 * correct. Plain libibverbs and system calls. Started by `hcasim run`.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "link.h"

#define SIZE 65536

struct traffic {
	struct link l;
	struct pair p;
};

static void traffic_open(struct traffic *t)
{
	link_open(&t->l, SIZE);
	pair_open(&t->p, &t->l);
}

static enum ibv_wc_status write_once(struct traffic *t)
{
	pair_post_write(&t->p, 1, 4096);
	return link_wait(t->p.cq[0]).status;
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

/* ---- The device process is killed ---- */

static void expect_fatal(struct ibv_context *ctx)
{
	while (link_event(ctx).event_type != IBV_EVENT_DEVICE_FATAL)
		;
}

/* Writes until a flush error; then every call that needs the device fails at once. */
static int do_writes(void)
{
	enum ibv_wc_status status;
	struct traffic t;
	unsigned int n = 0;

	traffic_open(&t);
	while (!(status = write_once(&t)))
		if (n++ == 0)
			say("traffic");
	CHECK(status == IBV_WC_WR_FLUSH_ERR);
	for (int end = 0; end < 2; end++) {
		struct ibv_port_attr port;

		expect_fatal(t.l.ctx[end]);
		CHECK(!ibv_alloc_pd(t.l.ctx[end]) && errno == EIO);
		CHECK(!ibv_reg_mr(t.l.pd[end], t.l.buf[end], 4096, 0) && errno == EIO);
		CHECK(ibv_query_port(t.l.ctx[end], 1, &port));
		ibv_destroy_qp(t.p.qp[end]);
		ibv_destroy_cq(t.p.cq[end]);
	}
	say("fatal");
	return 0;
}

/* Sleeps in poll() when the device is lost; the completion channel or the asynchronous event wakes it. */
static int do_sleeps(void)
{
	struct pollfd p[2];
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct link l;

	link_open(&l, SIZE);
	channel = ibv_create_comp_channel(l.ctx[0]);
	CHECK(channel);
	cq = ibv_create_cq(l.ctx[0], 16, NULL, channel, 0);
	CHECK(cq && !ibv_req_notify_cq(cq, 0));
	p[0] = (struct pollfd){.fd = channel->fd, .events = POLLIN};
	p[1] = (struct pollfd){.fd = l.ctx[0]->async_fd, .events = POLLIN};
	say("traffic");
	CHECK(poll(p, 2, LINK_WAIT_S * 1000) >= 1);
	expect_fatal(l.ctx[0]);
	say("fatal");
	return 0;
}

/* ---- The peer is killed ---- */

struct address {
	uint32_t qpn, rkey;
	uint64_t addr;
};

/* Opens end `end` of a link whose other end is in another process. */
static void half_open(struct traffic *t, int end, int sock)
{
	struct address mine, theirs;
	struct ibv_qp *qp[2];

	link_open(&t->l, SIZE);
	t->p = (struct pair){.l = &t->l};
	t->p.cq[end] = link_create_cq(&t->l, end, 64);
	t->p.qp[end] = link_create_qp(&t->l, end, t->p.cq[end], NULL);
	mine = (struct address){t->p.qp[end]->qp_num, t->l.mr[end]->rkey, (uintptr_t)t->l.buf[end]};
	CHECK(write(sock, &mine, sizeof(mine)) == sizeof(mine));
	CHECK(read(sock, &theirs, sizeof(theirs)) == sizeof(theirs));
	/* Only this end's QP is connected; of the other only the number is known. */
	qp[end] = t->p.qp[end];
	link_connect_end(&t->l, qp[end], end, theirs.qpn);
	t->l.mr[!end]->rkey = theirs.rkey;
	t->l.buf[!end] = (char *)(uintptr_t)theirs.addr;
	CHECK(write(sock, "", 1) == 1);
	CHECK(read(sock, &theirs, 1) == 1);
}

static int do_widow(void)
{
	struct traffic t;
	int sock[2], status;
	pid_t peer;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	peer = fork();
	CHECK(peer >= 0);
	if (!peer) {
		half_open(&t, 1, sock[1]);
		for (;;)
			pause();
	}
	half_open(&t, 0, sock[0]);
	for (int i = 0; i < 500; i++)
		CHECK(write_once(&t) == IBV_WC_SUCCESS);
	for (int i = 0; i < 8; i++)
		pair_post_write(&t.p, i, 4096);
	CHECK(!kill(peer, SIGKILL));
	CHECK(waitpid(peer, &status, 0) == peer && WIFSIGNALED(status));
	pair_post_write(&t.p, 8, 4096);
	pair_post_write(&t.p, 9, 4096);
	for (int i = 0; i < 10; i++) {
		enum ibv_wc_status s = link_wait(t.p.cq[0]).status;

		if (!s)
			continue; /* completed before the kill */
		CHECK(s == IBV_WC_RETRY_EXC_ERR || s == IBV_WC_REM_ACCESS_ERR);
		for (i++; i < 10; i++)
			CHECK(link_wait(t.p.cq[0]).status == IBV_WC_WR_FLUSH_ERR);
		say("error, then flushed");
	}
	traffic_open(&t);
	CHECK(write_once(&t) == IBV_WC_SUCCESS);
	say("a fresh pair works");
	return 0;
}

/* ---- Actions of the application ---- */

/* Children start and exit during traffic; each uses its own adapter. */
static int do_fork(void)
{
	struct traffic t, own;
	int status;

	traffic_open(&t);
	for (int i = 0; i < 10; i++) {
		pid_t child;

		pair_post_write(&t.p, 1, 4096);
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			traffic_open(&own);
			CHECK(write_once(&own) == IBV_WC_SUCCESS);
			exit(0); /* also closes what it inherited */
		}
		CHECK(link_wait(t.p.cq[0]).status == IBV_WC_SUCCESS);
		CHECK(write_once(&t) == IBV_WC_SUCCESS);
		CHECK(waitpid(child, &status, 0) == child && !status);
		CHECK(write_once(&t) == IBV_WC_SUCCESS);
	}
	return 0;
}

/* The queue is full of work when exec replaces this image; the next one finds a working machine. */
static int do_exec(void)
{
	struct traffic t;

	traffic_open(&t);
	for (int i = 0; i < 32; i++)
		pair_post_write(&t.p, i, 4096);
	execl("/proc/self/exe", "failure_client", "once", NULL);
	return 1;
}

static int do_once(void)
{
	struct traffic t;

	traffic_open(&t);
	CHECK(write_once(&t) == IBV_WC_SUCCESS);
	return 0;
}

/* Other files replace the device's descriptors: the calls no longer reach the device. */
static int do_dup2(void)
{
	struct ibv_context *ctx;
	struct traffic t;
	int null = open("/dev/null", O_RDWR);

	traffic_open(&t);
	ctx = t.l.ctx[0];
	CHECK(write_once(&t) == IBV_WC_SUCCESS);
	CHECK(dup2(null, ctx->async_fd) >= 0 && dup2(null, ctx->cmd_fd) >= 0);
	CHECK(!ibv_alloc_pd(ctx) && errno == ENOTTY);
	ibv_destroy_qp(t.p.qp[0]);
	CHECK(close(ctx->cmd_fd) == 0);
	CHECK(!ibv_alloc_pd(ctx) && errno == EBADF);
	return do_once();
}

static pthread_barrier_t started;

static void *post_for_ever(void *arg)
{
	struct traffic *t = arg;

	CHECK(write_once(t) == IBV_WC_SUCCESS);
	pthread_barrier_wait(&started);
	for (;;)
		write_once(t);
}

static void *leave(void *arg)
{
	pthread_barrier_wait(&started);
	exit(0);
}

static int do_exit_in_thread(void)
{
	static struct traffic t[2];
	pthread_t thread[3];

	pthread_barrier_init(&started, NULL, 3);
	for (int i = 0; i < 2; i++) {
		traffic_open(&t[i]);
		CHECK(!pthread_create(&thread[i], NULL, post_for_ever, &t[i]));
	}
	CHECK(!pthread_create(&thread[2], NULL, leave, NULL));
	pthread_join(thread[0], NULL);
	return 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} actions[] = {
		{"writes", do_writes}, {"sleeps", do_sleeps},       {"widow", do_widow},
		{"fork", do_fork},     {"exec", do_exec},           {"once", do_once},
		{"dup2", do_dup2},     {"exit", do_exit_in_thread},
	};

	for (unsigned int i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (argc == 2 && !strcmp(argv[1], actions[i].name))
			return actions[i].run();
	fprintf(stderr, "unknown action\n");
	return 2;
}
