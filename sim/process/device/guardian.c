// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The guardian: a small process that waits for the end of the device process, and cleans up if it was killed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>

#include "containers/table.h"
#include "devices/family.h"
#include "process/device/guardian.h"
#include "process/device/crash_cleanup.h"

#define EVENT_DEVICE_FATAL 8    /* IBV_EVENT_DEVICE_FATAL */
#define CLEANUP_POLL_MS    2    /* interval of checks for new work after the device process has ended */
#define FINISH_MS          4000 /* longest time without progress after a request to end */

struct queue_memory { /* mapped memory of queues, or the memory of a program */
	struct table_node node;
	uint64_t ino, offset, size; /* file and offset; a program's memory has no size */
	void *mem;                  /* NULL: a program's */
	int file;                   /* of that; else -1 */
	unsigned int queues;
};

struct lost_queue { /* a CQ or a QP */
	LIST_ENTRY(lost_queue) link;
	struct table_node node;
	struct crash_msg msg;
	struct queue_memory *memory;
};

struct lost_queues {
	LIST_HEAD(, lost_queue) all;
	struct table by_number;
};

static struct lost_queues cqs, qps;
static struct table memories;
static const struct crash_shared *shared;
static int *pipes;
static unsigned int num_pipes, room_pipes; /* size of `room_pipes` */

/* ---- Messages of the device process ---------------------------------------------------------------------------- */

/* Closes pipes without a reader. */
static void prune_pipes(void)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < num_pipes; i++) {
		struct pollfd p = {.fd = pipes[i]};

		if (poll(&p, 1, 0) > 0 && (p.revents & POLLERR))
			close(pipes[i]);
		else
			pipes[kept++] = pipes[i];
	}
	num_pipes = kept;
}

/* Prune only if at least half of the pipes can be removed. */
static bool make_room(void)
{
	unsigned int wanted = room_pipes * 2 + 16;
	int *grown;

	prune_pipes();
	if (room_pipes && num_pipes <= room_pipes / 2)
		return true;
	grown = reallocarray(pipes, wanted, sizeof(int));
	if (!grown)
		return false;
	pipes = grown;
	room_pipes = wanted;
	return true;
}

static void add_pipe(int fd)
{
	if (num_pipes == room_pipes && !make_room()) {
		close(fd);
		return;
	}
	pipes[num_pipes++] = fd;
}

static uint64_t key_of_estate(uint64_t ino, uint64_t offset)
{
	return ino ^ offset; /* offsets are page-aligned, so files rarely collide */
}

static struct queue_memory *find_estate(uint64_t ino, const struct crash_msg *msg)
{
	struct table_node *n = table_find(&memories, key_of_estate(ino, msg->file_offset));

	for (; n; n = table_next(n)) {
		struct queue_memory *e = table_entry(n, struct queue_memory, node);

		if (e->ino == ino && e->offset == msg->file_offset && e->size == msg->queue.size)
			return e;
	}
	return NULL;
}

static bool open_estate(struct queue_memory *e, const struct crash_msg *msg, int fd)
{
	e->file = -1;
	if (msg->queue.in_process) {
		e->file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		return e->file >= 0;
	}
	e->mem =
		mmap(NULL, e->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)e->offset);
	return e->mem != MAP_FAILED;
}

static struct queue_memory *map_estate(uint64_t ino, const struct crash_msg *msg, int fd)
{
	struct queue_memory *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->ino = ino;
	e->offset = msg->file_offset;
	e->size = msg->queue.size;
	if (!open_estate(e, msg, fd)) {
		free(e);
		return NULL;
	}
	table_add(&memories, &e->node, key_of_estate(ino, e->offset));
	return e;
}

/* Maps the memory of a queue, once for all queues in it. */
static struct queue_memory *get_estate(const struct crash_msg *msg, int fd)
{
	struct queue_memory *e;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	e = find_estate(st.st_ino, msg);
	if (!e)
		e = map_estate(st.st_ino, msg, fd);
	if (e)
		e->queues++;
	return e;
}

static void put_estate(struct queue_memory *e)
{
	if (--e->queues)
		return;
	table_remove(&memories, &e->node);
	if (e->file >= 0)
		close(e->file);
	else
		munmap(e->mem, e->size);
	free(e);
}

static uint64_t key_of_queue(uint64_t device, uint32_t number)
{
	return device +
	       number; /* the key contains the address of a device's state: addresses differ by more than queue numbers */
}

static void add_queue(struct lost_queues *queues, const struct crash_msg *msg, int fd)
{
	struct lost_queue *h = calloc(1, sizeof(*h));

	if (h)
		h->memory = get_estate(msg, fd);
	close(fd);
	if (!h || !h->memory) {
		free(h);
		return;
	}
	h->msg = *msg;
	h->msg.queue.mem = h->memory->mem;
	h->msg.queue.file = h->memory->file;
	if (msg->queue.mark)
		h->msg.queue.marks = &shared->marks[msg->queue.mark];
	table_add(&queues->by_number, &h->node, key_of_queue(msg->device, msg->queue.number));
	LIST_INSERT_HEAD(&queues->all, h, link);
}

static struct lost_queue *find_queue(const struct lost_queues *queues, uint64_t device, uint32_t number)
{
	struct table_node *n = table_find(&queues->by_number, key_of_queue(device, number));

	for (; n; n = table_next(n)) {
		struct lost_queue *h = table_entry(n, struct lost_queue, node);

		if (h->msg.queue.number == number && h->msg.device == device)
			return h;
	}
	return NULL;
}

static void drop_queue(struct lost_queues *queues, const struct crash_msg *msg)
{
	struct lost_queue *h = find_queue(queues, msg->device, msg->queue.number);

	if (!h)
		return;
	table_remove(&queues->by_number, &h->node);
	LIST_REMOVE(h, link);
	put_estate(h->memory);
	free(h);
}

static void take(const struct crash_msg *msg, int fd)
{
	switch (msg->kind) {
	case CRASH_ASYNC:
		add_pipe(fd);
		break;
	case CRASH_CQ:
		add_queue(&cqs, msg, fd);
		break;
	case CRASH_QP:
		add_queue(&qps, msg, fd);
		break;
	case CRASH_CQ_GONE:
		drop_queue(&cqs, msg);
		break;
	case CRASH_QP_GONE:
		drop_queue(&qps, msg);
		break;
	}
}

/* Reads one message, if there is one. False at the end. */
static bool listen_to(int fd, int flags)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct crash_msg msg;
	struct iovec iov = {&msg, sizeof(msg)};
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | flags);
	struct cmsghdr *c;
	int got = -1;

	if (n < 0 && errno == EINTR)
		return true;
	if (n != sizeof(msg))
		return false;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&got, CMSG_DATA(c), sizeof(got));
	if (got >= 0 || msg.kind == CRASH_CQ_GONE || msg.kind == CRASH_QP_GONE)
		take(&msg, got);
	return true;
}

/* ---- Clean-up ---------------------------------------------------------------------------------- */

static struct drv_orphan *find_cq(const struct lost_queue *qp, uint32_t cqn)
{
	struct lost_queue *cq = find_queue(&cqs, qp->msg.device, cqn);

	return cq ? &cq->msg.queue : NULL;
}

static void flush_all(void)
{
	struct lost_queue *qp;

	LIST_FOREACH(qp, &qps.all, link)
	{
		const struct drv_ops *family = device_family(qp->msg.family);
		struct drv_orphan *queue = &qp->msg.queue;

		family->flush_orphan(queue, find_cq(qp, queue->send_cqn), find_cq(qp, queue->recv_cqn));
	}
}

/*
 * Also flushes work that an application posts before it notices the loss, as long as an application exists: in a
 * separate process, since the launcher waits for this one.
 */
static void flush_what_comes(void)
{
	if (fork())
		return;
	setsid();
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	prctl(PR_SET_NAME, "hcasim-executor");
	for (prune_pipes(); num_pipes; prune_pipes()) {
		flush_all();
		poll(NULL, 0, CLEANUP_POLL_MS);
	}
	_exit(0);
}

static void carry_out(void)
{
	const struct ib_uverbs_async_event_desc fatal = {.event_type = EVENT_DEVICE_FATAL};

	flush_all();
	for (unsigned int i = 0; i < num_pipes; i++)
		if (write(pipes[i], &fatal, sizeof(fatal)) < 0)
			continue; /* nobody reads it, or it is full */
	flush_what_comes();
}

/* ---- The process --------------------------------------------------------------------------------- */

/* True if the device process was asked to end. */
static bool pass_on(int signal_fd, pid_t child)
{
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) != sizeof(info) || info.ssi_signo == SIGCHLD)
		return false;
	kill(child, (int)info.ssi_signo);
	return true;
}

static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

enum { DEVICE, SIGNALS, LAUNCHER, NUM_SOURCES };

/* Until the device process has ended and all its messages were read. */
static void watch_over(struct pollfd p[NUM_SOURCES], pid_t child)
{
	uint64_t seen = 0, now;
	int timeout_ms = -1;

	for (;;) {
		int ready = poll(p, NUM_SOURCES, timeout_ms);

		if (!ready) {
			now = atomic_load(&shared->steps);
			if (now == seen) { /* it hangs, and does not read the request to end */
				kill(child, SIGKILL);
				timeout_ms = -1;
			}
			seen = now;
		}
		if (ready <= 0)
			continue;
		if (p[SIGNALS].revents && pass_on(p[SIGNALS].fd, child))
			timeout_ms = FINISH_MS;
		if (p[LAUNCHER].revents & (POLLHUP | POLLERR)) { /* the device process reads it, too */
			p[LAUNCHER].fd = -1;
			timeout_ms = FINISH_MS;
		}
		if (p[DEVICE].revents && !listen_to(p[DEVICE].fd, MSG_DONTWAIT))
			return;
	}
}

int guardian_run(int fd, int launcher, pid_t child, const struct crash_shared *with)
{
	struct pollfd p[NUM_SOURCES] = {[DEVICE] = {.fd = fd, .events = POLLIN},
					[SIGNALS] = {.fd = take_signals(), .events = POLLIN},
					[LAUNCHER] = {.fd = launcher}};
	int status = 0;

	shared = with;
	prctl(PR_SET_NAME, "hcasim-guard");
	watch_over(p, child);
	if (launcher >= 0)
		close(launcher); /* `hcasim run` must not take the cleaning process for a running machine */
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) {
		carry_out();
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}
