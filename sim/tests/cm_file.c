// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /dev/infiniband/rdma_cm as a file: waiting, polling, duplicates, children, descriptors sent to other
 * processes, closing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CUnit/Basic.h>
#include <rdma/rdma_user_cm.h>

static int cmd(int fd, uint32_t number, const void *req, size_t len, size_t resp_len)
{
	uint8_t buf[1024];
	const struct rdma_ucm_cmd_hdr hdr = {number, len, resp_len};

	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), req, len);
	return write(fd, buf, sizeof(hdr) + len) == (ssize_t)(sizeof(hdr) + len) ? 0 : -errno;
}

static int get_event(int fd)
{
	struct rdma_ucm_event_resp e;
	const struct rdma_ucm_get_event req = {(uintptr_t)&e};
	int ret = cmd(fd, RDMA_USER_CM_CMD_GET_EVENT, &req, sizeof(req), sizeof(e));

	return ret ? ret : (int)e.event;
}

static uint32_t new_id(int fd)
{
	struct rdma_ucm_create_id_resp resp = {UINT32_MAX};
	const struct rdma_ucm_create_id req = {.uid = 1, .response = (uintptr_t)&resp, .ps = RDMA_PS_TCP};

	CU_ASSERT_TRUE(!cmd(fd, RDMA_USER_CM_CMD_CREATE_ID, &req, sizeof(req), sizeof(resp)));
	return resp.id;
}

/* Causes one event: ADDR_RESOLVED, which is number 0. */
static int resolve(int fd, uint32_t id)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(7), .sin_addr = {htonl(0x0a4d0001)}};
	struct rdma_ucm_resolve_addr req = {.id = id, .timeout_ms = 2000, .dst_size = sizeof(to)};

	memcpy(&req.dst_addr, &to, sizeof(to));
	return cmd(fd, RDMA_USER_CM_CMD_RESOLVE_ADDR, &req, sizeof(req), 0);
}

static int destroy(int fd, uint32_t id)
{
	struct rdma_ucm_destroy_id_resp resp;
	const struct rdma_ucm_destroy_id req = {.response = (uintptr_t)&resp, .id = id};

	return cmd(fd, RDMA_USER_CM_CMD_DESTROY_ID, &req, sizeof(req), sizeof(resp));
}

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1 && p.revents == POLLIN;
}

static int open_cm(int flags)
{
	int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC | flags);

	if (fd < 0)
		abort();
	return fd;
}

static void a_device(void)
{
	struct stat st;
	int fd = open_cm(0);

	CU_ASSERT_TRUE(!fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == 10);
	CU_ASSERT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV);
	close(fd);
}

static void polling(void)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	int fd = open_cm(O_NONBLOCK), ep = epoll_create1(0);
	uint32_t ids[100];

	CU_ASSERT_TRUE(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	CU_ASSERT_TRUE(get_event(fd) == -EAGAIN && !readable(fd) && !epoll_wait(ep, &ev, 1, 0));
	for (int i = 0; i < 100; i++) {
		ids[i] = new_id(fd);
		CU_ASSERT_TRUE(!resolve(fd, ids[i]));
	}
	CU_ASSERT_TRUE(epoll_wait(ep, &ev, 1, 0) == 1 && !epoll_wait(ep, &ev, 1, 0));
	for (int i = 0; i < 50; i++)
		CU_ASSERT_TRUE(readable(fd) && get_event(fd) == 0);
	for (int i = 50; i < 99; i++) /* destroying an id removes its events */
		CU_ASSERT_TRUE(!destroy(fd, ids[i]) && readable(fd));
	CU_ASSERT_TRUE(!destroy(fd, ids[99]) && !readable(fd) && get_event(fd) == -EAGAIN);
	CU_ASSERT_TRUE(!resolve(fd, new_id(fd)));
	CU_ASSERT_TRUE(epoll_wait(ep, &ev, 1, 0) == 1);
	close(ep);
	close(fd);
}

static void *wait_for_event(void *arg)
{
	return (void *)(intptr_t)get_event(*(int *)arg);
}

static void waiting(void)
{
	int fd = open_cm(0);
	uint32_t id = new_id(fd);
	pthread_t thread;
	void *got;

	pthread_create(&thread, NULL, wait_for_event, &fd);
	CU_ASSERT_TRUE(!resolve(fd, id)); /* before or after the other thread has begun to wait */
	pthread_join(thread, &got);
	CU_ASSERT_TRUE(got == NULL);
	pthread_create(&thread, NULL, wait_for_event, &fd);
	pthread_cancel(thread); /* rping ends its thread like this */
	pthread_join(thread, &got);
	CU_ASSERT_TRUE(got == PTHREAD_CANCELED);
	close(fd);
}

struct waiter {
	int fd, ret;
	atomic_int tid;
	atomic_bool back;
};

static void *wait_and_tell(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	w->ret = get_event(w->fd);
	w->back = true;
	return NULL;
}

/* The system call in which a thread of this process sleeps; -1: it is running or does not exist yet. */
static long sleeps_in(int tid)
{
	char path[64];
	long number = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%ld", &number) != 1)
		number = -1;
	if (f)
		fclose(f);
	return number;
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void stop_device(pid_t pid)
{
	char path[64], state = 0;
	FILE *f;

	kill(pid, SIGSTOP);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (state != 'T') {
		f = fopen(path, "r");
		if (!f || fscanf(f, "%*d %*s %c", &state) != 1)
			abort();
		fclose(f);
	}
}

/*
 * On Linux a call continues when another thread closes its file; rping exits while a thread waits like this.
 * Here the file is closed after the call has begun, but before the device process has read it.
 */
static void closed_meanwhile(void)
{
	struct waiter w = {.fd = open_cm(0)};
	struct ucred device;
	socklen_t len = sizeof(device);
	pthread_t thread;
	int before = descriptors();
	void *got;

	CU_ASSERT_TRUE(!getsockopt(w.fd, SOL_SOCKET, SO_PEERCRED, &device, &len));
	stop_device(device.pid);
	pthread_create(&thread, NULL, wait_and_tell, &w);
	while (!w.tid || sleeps_in(w.tid) != SYS_recvmsg)
		sched_yield();
	syscall(SYS_close, w.fd);
	kill(device.pid, SIGCONT);
	while (!w.back && sleeps_in(w.tid) != SYS_recvfrom)
		sched_yield();
	CU_ASSERT_TRUE(!w.back);
	if (w.back)
		CU_FAIL(strerror(-w.ret));
	pthread_cancel(thread);
	pthread_join(thread, &got);
	CU_ASSERT_TRUE(got == PTHREAD_CANCELED);
	CU_ASSERT_TRUE(descriptors() == before - 1);
}

static void nothing(int number)
{
}

/* Sends signals until one interrupts the call: without SA_RESTART it returns. */
static void interrupted(void)
{
	const struct sigaction sa = {.sa_handler = nothing};
	int fd = open_cm(0), status;
	pid_t parent = getpid(), child;

	sigaction(SIGUSR1, &sa, NULL);
	child = fork();
	if (!child) {
		for (;;)
			kill(parent, SIGUSR1);
	}
	CU_ASSERT_TRUE(get_event(fd) == -EINTR);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	close(fd);
}

/* A duplicate and a child use the same file; it is released with the last descriptor. */
static void duplicates(void)
{
	int fd = open_cm(0), twin = dup(fd), other = open_cm(O_NONBLOCK), status;
	uint32_t id = new_id(fd);
	pid_t child;

	close(fd);
	child = fork();
	if (!child)
		_exit(resolve(twin, id) ? 1 : 0);
	CU_ASSERT_TRUE(waitpid(child, &status, 0) == child && !status);
	CU_ASSERT_TRUE(get_event(twin) == 0);
	CU_ASSERT_TRUE(destroy(other, id) == -EINVAL);
	close(twin);
	CU_ASSERT_TRUE(destroy(other, id) == -ENOENT); /* already destroyed when close() returns */
	close(other);
}

static void sent(void)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.hdr = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control};
	int fd = open_cm(0), pair[2];
	uint32_t id = new_id(fd);

	CU_ASSERT_TRUE(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	memcpy(CMSG_DATA(&control.hdr), &fd, sizeof(fd));
	msg.msg_controllen = sizeof(control);
	CU_ASSERT_TRUE(sendmsg(pair[0], &msg, 0) == 1);
	close(fd);
	CU_ASSERT_TRUE(recvmsg(pair[1], &msg, 0) == 1);
	memcpy(&fd, CMSG_DATA(&control.hdr), sizeof(fd));
	CU_ASSERT_TRUE(!resolve(fd, id) && get_event(fd) == 0);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	unsigned int failed;
	CU_pSuite s;

	if (CU_initialize_registry())
		return 1;
	s = CU_add_suite("rdma_cm as a file", NULL, NULL);
	CU_add_test(s, "a device", a_device);
	CU_add_test(s, "polling", polling);
	CU_add_test(s, "waiting", waiting);
	CU_add_test(s, "closed meanwhile", closed_meanwhile);
	CU_add_test(s, "interrupted", interrupted);
	CU_add_test(s, "duplicates and children", duplicates);
	CU_add_test(s, "sent to others", sent);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}
