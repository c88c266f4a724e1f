// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The device process's side: reports queues and files to the guardian. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "containers/numbers.h"
#include "devices/family.h"
#include "process/device/guardian.h"
#include "process/device/crash_cleanup.h"
#include "process/device/server.h"

static int guardian_fd = -1;
static struct crash_shared *shared; /* with the guardian */
static struct server *server;
static struct numbers marks; /* of crash_shared.marks */
/* The drivers, each with the functions below in place of its own. */
static struct watched {
	struct drv_ops ops;
	const struct drv_ops *real;
} watched[DEVICE_MAX_HCAS];

int crash_start(int listener, int launcher, int *status)
{
	pid_t parent = getpid(), child;
	int fds[2];

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -1;
	child = fork();
	if (child < 0)
		return -1;
	if (child) {
		close(fds[1]);
		close(listener);
		*status = guardian_run(fds[0], launcher, child, shared);
		return 1;
	}
	close(fds[0]);
	guardian_fd = fds[1];
	numbers_init(&marks, 1, CRASH_MARKS, CRASH_MARKS - 1);
	/* Without its guardian the device process ends, as on a request to end. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		raise(SIGTERM);
	return 0;
}

void crash_step(void)
{
	atomic_fetch_add_explicit(&shared->steps, 1, memory_order_relaxed);
}

/* Waits while the guardian is busy; returns if the guardian has ended. */
static void tell(const struct crash_msg *msg, int fd)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.room = {0}};
	struct iovec iov = {(void *)msg, sizeof(*msg)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.hdr.cmsg_level = SOL_SOCKET;
		control.hdr.cmsg_type = SCM_RIGHTS;
		control.hdr.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.hdr), &fd, sizeof(fd));
	}
	while (guardian_fd >= 0 && sendmsg(guardian_fd, &m, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

void crash_async(int fd)
{
	const struct crash_msg msg = {.kind = CRASH_ASYNC};
	char path[40];
	int writer;

	/* Opening the /proc link of the pipe's read end gives a write end. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (writer < 0)
		return;
	tell(&msg, writer);
	close(writer);
}

static const struct drv_ops *real(const struct drv_device *dev)
{
	return ((const struct watched *)dev->ops)->real;
}

/*
 * The guardian gets the memory as a file, which stays that of this address space: neither a process that gets the same
 * number later nor Yama, for which the guardian's end is the end of a permission, matters then.
 */
static void tell_in_process(const struct drv_ucontext *ctx, struct crash_msg *msg)
{
	const struct mm *mm = mm_find(server, ctx->pasid);
	char path[40];
	int memory;

	if (!mm || mm->dead)
		return;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)mm->pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		return;
	msg->file_offset = ctx->pasid;
	tell(msg, memory);
	close(memory);
}

static void tell_queue(struct drv_ucontext *ctx, enum crash_kind kind, const struct drv_orphan *queue)
{
	struct crash_msg msg = {.kind = kind, .device = (uintptr_t)ctx->dev, .queue = *queue};
	struct drv_mmap dm;

	snprintf(msg.family, sizeof(msg.family), "%s", ctx->dev->ops->name);
	if (queue->in_process) {
		tell_in_process(ctx, &msg);
		return;
	}
	/* A QP without rings (XRC_RECV) has nothing to flush. */
	if (!queue->size || real(ctx->dev)->mmap(ctx, queue->mmap_offset, queue->size, &dm) ||
	    dm.kind != DRV_MMAP_MEMORY)
		return;
	msg.file_offset = dm.memfd_offset;
	tell(&msg, dm.memfd);
}

static void tell_gone(struct drv_ucontext *ctx, enum crash_kind kind, uint32_t number)
{
	const struct crash_msg msg = {
		.kind = kind, .device = (uintptr_t)ctx->dev, .queue = {.number = number}};

	tell(&msg, -1);
}

static int create_cq(struct drv_cq *cq, uint32_t cqe, uint32_t vector, uint32_t flags, struct drv_udata *u)
{
	int ret = real(cq->ctx->dev)->create_cq(cq, cqe, vector, flags, u);

	if (!ret)
		tell_queue(cq->ctx, CRASH_CQ, &cq->orphan);
	return ret;
}

static int resize_cq(struct drv_cq *cq, uint32_t cqe, struct drv_udata *u)
{
	int ret = real(cq->ctx->dev)->resize_cq(cq, cqe, u);

	if (ret)
		return ret;
	tell_gone(cq->ctx, CRASH_CQ_GONE, cq->cqn);
	tell_queue(cq->ctx, CRASH_CQ, &cq->orphan);
	return 0;
}

static int destroy_cq(struct drv_cq *cq)
{
	uint32_t cqn = cq->cqn;
	int ret;

	crash_step();
	ret = real(cq->ctx->dev)->destroy_cq(cq);
	if (!ret)
		tell_gone(cq->ctx, CRASH_CQ_GONE, cqn);
	return ret;
}

/* Without marks the guardian could not tell completed requests from outstanding ones. */
static void keep_marks(struct drv_qp *qp)
{
	struct drv_orphan *o = &qp->orphan;

	if (numbers_add(&marks, qp, &o->mark))
		o->in_process = false;
	else
		hca_qp_marks(qp->dev->hca, qp->qpn, &shared->marks[o->mark]);
}

static int create_qp(struct drv_qp *qp, struct drv_qp_init *init, struct drv_udata *u)
{
	int ret = real(qp->dev)->create_qp(qp, init, u);

	if (ret || !qp->pd)
		return ret;
	if (qp->orphan.in_process)
		keep_marks(qp);
	tell_queue(qp->pd->ctx, CRASH_QP, &qp->orphan);
	return 0;
}

static int destroy_qp(struct drv_qp *qp)
{
	uint32_t qpn = qp->qpn;
	int ret;

	crash_step();
	ret = real(qp->dev)->destroy_qp(qp);
	if (ret)
		return ret;
	if (qp->pd)
		tell_gone(qp->pd->ctx, CRASH_QP_GONE, qpn);
	if (qp->orphan.mark)
		numbers_remove(&marks, qp->orphan.mark);
	return 0;
}

/* Every removal counts as progress: a process may leave thousands of objects. */
#define STEP(op, object, device)                                                                             \
	static int op(struct object *obj)                                                                    \
	{                                                                                                    \
		crash_step();                                                                                \
		return real(device)->op(obj);                                                                \
	}
STEP(dereg_mr, drv_mr, obj->pd->ctx->dev)
STEP(dealloc_mw, drv_mw, obj->pd->ctx->dev)
STEP(destroy_srq, drv_srq, obj->pd->ctx->dev)
STEP(destroy_ah, drv_ah, obj->pd->ctx->dev)
STEP(destroy_flow, drv_flow, obj->dev)

/* An operation that the family does not have stays NULL. */
#define WATCH(op) (w->ops.op = ops->op ? op : NULL)

const struct drv_ops *crash_watch(struct server *s, const struct drv_ops *ops)
{
	struct watched *w = watched;

	server = s;
	while (w->real && w->real != ops)
		w++;
	w->real = ops;
	w->ops = *ops;
	WATCH(create_cq);
	WATCH(resize_cq);
	WATCH(destroy_cq);
	WATCH(create_qp);
	WATCH(destroy_qp);
	WATCH(dereg_mr);
	WATCH(dealloc_mw);
	WATCH(destroy_srq);
	WATCH(destroy_ah);
	WATCH(destroy_flow);
	return &w->ops;
}
