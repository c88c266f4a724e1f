/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * `hcasim-observe SUBJECT`: what a program sees of the kernel, a line for each observation. test_linux.py compares the
 * lines with those of the same program on a real Linux.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE  4096u
#define READ  0
#define WRITE IBV_ACCESS_LOCAL_WRITE

static struct ibv_context *ctx;
static struct ibv_pd *pd;

static void say(const char *what, int error)
{
	printf("%s: %s\n", what, error ? strerrorname_np(error) : "ok");
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	ctx = list && *list ? ibv_open_device(*list) : NULL;
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	if (!pd) {
		perror("hcasim-observe: no adapter");
		exit(2);
	}
}

/* ---- Memory that can be registered ---------------------------------------------------------------- */

static void try_region(const char *what, const void *addr, size_t len, int access)
{
	struct ibv_mr *mr = addr == MAP_FAILED ? NULL : ibv_reg_mr(pd, (void *)addr, len, access);

	say(what, addr == MAP_FAILED || !mr ? errno : 0);
	if (mr)
		ibv_dereg_mr(mr);
}

static void *map(size_t len, int rights, int flags, int fd)
{
	return mmap(NULL, len, rights, flags, fd, 0);
}

static void files(void)
{
	const int fd = memfd_create("observe", 0), secret = (int)syscall(SYS_memfd_secret, 0);
	const int both = PROT_READ | PROT_WRITE;

	if (fd < 0 || ftruncate(fd, PAGE + 100) || (secret >= 0 && ftruncate(secret, PAGE)))
		perror("file");
	try_region("shared file", map(2 * PAGE, both, MAP_SHARED, fd), 2 * PAGE, WRITE);
	try_region("shared file, behind its end", map(3 * PAGE, both, MAP_SHARED, fd), 3 * PAGE, WRITE);
	try_region("private file, behind its end", map(3 * PAGE, both, MAP_PRIVATE, fd), 3 * PAGE, READ);
	try_region("shared file, read only", map(PAGE, PROT_READ, MAP_SHARED, fd), PAGE, READ);
	try_region("shared file, read only, to write", map(PAGE, PROT_READ, MAP_SHARED, fd), PAGE, WRITE);
	try_region("private file, read only", map(PAGE, PROT_READ, MAP_PRIVATE, fd), PAGE, READ);
	if (secret >= 0)
		try_region("secret memory", map(PAGE, both, MAP_SHARED, secret), PAGE, READ);
	close(fd);
}

static void anonymous(void)
{
	const int plain = MAP_PRIVATE | MAP_ANONYMOUS, both = PROT_READ | PROT_WRITE;
	char *hole = map(3 * PAGE, both, plain, -1), *rights = map(2 * PAGE, both, plain, -1);
	void *segment = shmat(shmget(IPC_PRIVATE, PAGE, 0600), NULL, 0);

	munmap(hole + PAGE, PAGE);
	mprotect(rights + PAGE, PAGE, PROT_READ);
	try_region("a hole", hole, 3 * PAGE, READ);
	try_region("the half is read only", rights, 2 * PAGE, READ);
	try_region("the half is read only, to write", rights, 2 * PAGE, WRITE);
	try_region("no rights", map(PAGE, PROT_NONE, plain, -1), PAGE, READ);
	try_region("no rights, to write", map(PAGE, PROT_NONE, plain, -1), PAGE, WRITE);
	try_region("shared", map(PAGE, both, MAP_SHARED | MAP_ANONYMOUS, -1), PAGE, WRITE);
	try_region("shared, no rights", map(PAGE, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1), PAGE, READ);
	try_region("System V", segment, PAGE, WRITE);
	try_region("stack", &segment, sizeof(segment), WRITE);
	try_region("code", (void *)((uintptr_t)printf & ~(uintptr_t)(PAGE - 1)), PAGE, READ);
	try_region("a constant, to write", "constant", 8, WRITE);
}

static void ranges(void)
{
	char *p = map(PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	try_region("no bytes", p, 0, READ);
	try_region("up to the end of the address space", p, SIZE_MAX - (uintptr_t)p, READ);
	try_region("behind the end of the address space", p, SIZE_MAX, READ);
	try_region("addresses of the kernel", (void *)0xffff888000000000, PAGE, READ);
	try_region("NULL", NULL, PAGE, READ);
}

static void observe_memory(void)
{
	open_device();
	files();
	anonymous();
	ranges();
}

/* ---- RLIMIT_MEMLOCK --------------------------------------------------------------------------------- */

static struct ibv_mr *pin(const char *what, char *p, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, p, len, access);

	say(what, mr ? 0 : errno);
	return mr;
}

static void observe_memlock(void)
{
	const struct rlimit limit = {16 * PAGE, 16 * PAGE}, none = {0, 0};
	char *p = map(32 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct ibv_mr *first;

	open_device();
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		perror("setrlimit");
	if (!getuid())
		try_region("32 pages with CAP_IPC_LOCK", p, 32 * PAGE, READ);
	if (!getuid() && setuid(65534))
		perror("setuid");
	open_device(); /* with the rights of now */
	pin("17 pages", p, 17 * PAGE, READ);
	first = pin("12 pages", p, 12 * PAGE, WRITE);
	pin("the same 12 pages again", p, 12 * PAGE, READ);
	pin("4 pages", p + PAGE / 2, 3 * PAGE + PAGE / 2, READ);
	pin("1 page", p, 1, READ);
	if (first)
		ibv_dereg_mr(first);
	pin("12 pages after 12 are free", p, 12 * PAGE, READ);
	say("a queue of 4096 entries", ibv_create_cq(ctx, 4096, NULL, NULL, 0) ? 0 : errno);
	setrlimit(RLIMIT_MEMLOCK, &none);
	pin("1 page with a limit of 0", p, 1, READ);
}

/* ---- Queues ------------------------------------------------------------------------------------------ */

#define UNKNOWN 0xdeadbeef /* a handle */

static struct ibv_qp *create_qp(enum ibv_qp_type type)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .cap = {8, 8, 1, 1, 0}};

	return ibv_create_qp(pd, &attr);
}

static void srq_limit(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1, .srq_limit = 3}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_srq_attr attr = {0};
	struct pollfd event = {.fd = ctx->async_fd, .events = POLLIN};

	say("an SRQ with a limit", srq && !ibv_query_srq(srq, &attr) ? 0 : errno);
	printf("its limit: %u\n", attr.srq_limit);
	printf("its events: %d\n", poll(&event, 1, 0));
}

static void unknown_handles(void)
{
	struct ibv_qp *qp = create_qp(IBV_QPT_RC);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp_init_attr init;
	uint32_t handle = qp->handle;

	qp->handle = UNKNOWN;
	say("ibv_modify_qp of an unknown handle",
	    ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	say("ibv_query_qp of an unknown handle", ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	qp->handle = handle;
	handle = qp->send_cq->handle;
	qp->send_cq->handle = UNKNOWN;
	errno = 0;
	init = (struct ibv_qp_init_attr){.send_cq = qp->send_cq,
					 .recv_cq = qp->send_cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = {8, 8, 1, 1, 0}};
	say("ibv_create_qp with an unknown CQ", ibv_create_qp(pd, &init) ? 0 : errno);
	qp->send_cq->handle = handle;
	handle = pd->handle;
	pd->handle = UNKNOWN;
	try_region("ibv_reg_mr with an unknown PD", &init, sizeof(init), READ);
	pd->handle = handle;
}

static void set_qkey(const char *what, uint32_t qkey)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey};

	say(what, ibv_modify_qp(create_qp(IBV_QPT_UD), &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
}

static void observe_queues(void)
{
	open_device();
	srq_limit();
	unknown_handles();
	if (!getuid())
		set_qkey("a controlled Q_Key with CAP_NET_RAW", 0x80000001);
	if (!getuid() && setuid(65534))
		perror("setuid");
	set_qkey("a Q_Key", 0x7fffffff);
	set_qkey("a controlled Q_Key", 0x80000001);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*observe)(void);
	} subjects[] = {{"memory", observe_memory}, {"memlock", observe_memlock}, {"queues", observe_queues}};

	for (size_t i = 0; argc == 2 && i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		if (!strcmp(subjects[i].name, argv[1])) {
			subjects[i].observe();
			return 0;
		}
	}
	fprintf(stderr, "usage: hcasim-observe memory|memlock|queues\n");
	return 2;
}
