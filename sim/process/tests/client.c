// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An application for the tests of the border: plain libibverbs and system calls. Prints what it sees,
 * ends with 0 if all was as it must be.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "link.h" /* CHECK */

#define UAR_OFFSET 0 /* of the native device's doorbell page */
#define CLOCK      0x18

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	CHECK(list && list[0]);
	ctx = ibv_open_device(list[0]);
	CHECK(ctx);
	ibv_free_device_list(list);
	return ctx;
}

static int pd_works(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	return pd && !ibv_dealloc_pd(pd);
}

static volatile uint64_t *map_uar(int fd)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, UAR_OFFSET);

	CHECK(p != MAP_FAILED);
	return p;
}

/* Is this descriptor a device file, and does it look like a character device? */
static void check_device_file(int fd)
{
	struct stat st, by_path;

	CHECK(!fstat(fd, &st) && S_ISCHR(st.st_mode));
	CHECK(!stat("/dev/infiniband/uverbs0", &by_path) && S_ISCHR(by_path.st_mode));
	CHECK(st.st_rdev == by_path.st_rdev && major(st.st_rdev) == 231);
}

static int do_files(void)
{
	struct ibv_context *ctx = open_device();
	struct stat st;
	int copy, high, plain;

	check_device_file(ctx->cmd_fd);
	CHECK((copy = dup(ctx->cmd_fd)) >= 0);
	check_device_file(copy);
	CHECK((high = fcntl(ctx->cmd_fd, F_DUPFD_CLOEXEC, 200)) >= 200);
	check_device_file(high);
	CHECK(dup2(high, 77) == 77);
	check_device_file(77);
	/* Known by what they are, not by the request: other files keep their own answers. */
	plain = open("/dev/null", O_RDWR);
	CHECK(ioctl(plain, RDMA_VERBS_IOCTL, &st) == -1 && errno == ENOTTY);
	CHECK(write(plain, "x", 1) == 1 && !fstat(plain, &st) && minor(st.st_rdev) == 3);
	CHECK(ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, NULL) == -1 && errno == EFAULT);
	CHECK(write(ctx->cmd_fd, "x", 1) == -1 && errno == EINVAL);
	CHECK(open("/dev/infiniband/uverbs17", O_RDWR) == -1 && errno == ENOENT);
	CHECK(access("/dev/infiniband/uverbs0", R_OK | W_OK) == 0);
	/* The context lives as long as any of its descriptors. */
	CHECK(!close(copy) && !close(high) && !close(77));
	CHECK(pd_works(ctx));
	CHECK(!ibv_close_device(ctx));
	return 0;
}

static void in_child(void (*body)(struct ibv_context *), struct ibv_context *ctx)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		body(ctx);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
}

static volatile uint64_t *uar;

static void inherited(struct ibv_context *ctx)
{
	uint64_t before = uar[CLOCK / 8];
	struct ibv_context *own;

	check_device_file(ctx->cmd_fd);
	CHECK(before != UINT64_MAX); /* the parent's mapping works in the child, as on Linux */
	own = open_device();
	CHECK(pd_works(own));
	CHECK(!ibv_close_device(own));
}

static int do_fork(void)
{
	struct ibv_context *ctx = open_device();

	uar = map_uar(ctx->cmd_fd);
	in_child(inherited, ctx);
	CHECK(pd_works(ctx) && uar[CLOCK / 8] != UINT64_MAX);
	return 0;
}

/* An exec'd program has the descriptor, and nothing else. */
static int do_exec(void)
{
	struct ibv_context *ctx = open_device();
	char number[16];

	CHECK(!fcntl(ctx->cmd_fd, F_SETFD, 0));
	snprintf(number, sizeof(number), "%d", ctx->cmd_fd);
	execl("/proc/self/exe", "client", "exec2", number, NULL);
	return 1;
}

static int do_exec2(const char *number)
{
	int fd = atoi(number);

	check_device_file(fd);
	CHECK(ioctl(fd, RDMA_VERBS_IOCTL, NULL) == -1 && errno == EFAULT);
	CHECK(pd_works(open_device()));
	return 0;
}

static void send_fd(int sock, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(sendmsg(sock, &msg, 0) == 1);
}

static int receive_fd(int sock)
{
	char room[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	struct cmsghdr *c;
	int fd;

	CHECK(recvmsg(sock, &msg, 0) == 1);
	c = CMSG_FIRSTHDR(&msg);
	CHECK(c);
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static int pair[2];

static void use_received(struct ibv_context *ctx)
{
	int fd;

	close(ctx->cmd_fd);
	fd = receive_fd(pair[1]);
	check_device_file(fd);
	CHECK(ioctl(fd, RDMA_VERBS_IOCTL, NULL) == -1 && errno == EFAULT);
	uar = map_uar(fd);
	CHECK(uar[CLOCK / 8] != UINT64_MAX);
}

static int do_pass(void)
{
	struct ibv_context *ctx = open_device();

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	send_fd(pair[0], ctx->cmd_fd);
	in_child(use_received, ctx);
	CHECK(pd_works(ctx));
	return 0;
}

static void *load_clock(void *arg)
{
	for (int i = 0; i < 200; i++)
		CHECK(uar[CLOCK / 8] != UINT64_MAX);
	return arg;
}

static void *many_pds(void *arg)
{
	for (int i = 0; i < 200; i++)
		CHECK(pd_works(arg));
	return arg;
}

static void *fork_often(void *arg)
{
	for (int i = 0; i < 20; i++)
		in_child(inherited, arg);
	return arg;
}

static int do_threads(void)
{
	struct ibv_context *ctx = open_device();
	pthread_t t[6];

	uar = map_uar(ctx->cmd_fd);
	for (int i = 0; i < 6; i++)
		CHECK(!pthread_create(&t[i], NULL, i < 3 ? load_clock : i < 5 ? many_pds : fork_often, ctx));
	for (int i = 0; i < 6; i++)
		CHECK(!pthread_join(t[i], NULL));
	return 0;
}

/* An application that closes every descriptor it does not know closes our connection, too. */
static int do_closeall(void)
{
	struct ibv_context *ctx = open_device();

	uar = map_uar(ctx->cmd_fd);
	for (int fd = 3; fd < 2000; fd++)
		if (fd != ctx->cmd_fd && fd != ctx->async_fd)
			close(fd);
	CHECK(open("/dev/zero", O_RDONLY) >= 0);
	CHECK(pd_works(ctx));
	uar[0] = 0;
	CHECK(uar[CLOCK / 8] != UINT64_MAX);
	return 0;
}

/* The clock page of simulated time goes on while nothing happens, and not faster than ours. */
static int do_clock(void)
{
	struct ibv_context *ctx = open_device();
	uint64_t first, last;

	uar = map_uar(ctx->cmd_fd);
	first = uar[CLOCK / 8];
	usleep(100000);
	last = uar[CLOCK / 8];
	printf("%llu\n", (unsigned long long)(last - first));
	return 0;
}

static int do_unmapped(void)
{
	struct ibv_context *ctx = open_device();

	uar = map_uar(ctx->cmd_fd);
	CHECK(!munmap((void *)uar, 4096));
	uar[0] = 1;
	return 0;
}

static int do_locked(void)
{
	struct ibv_context *ctx = open_device();

	uar = map_uar(ctx->cmd_fd);
	__atomic_fetch_add(uar, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int do_wait_fatal(void)
{
	struct ibv_context *ctx = open_device();
	struct ibv_async_event event;

	uar = map_uar(ctx->cmd_fd);
	printf("open\n");
	fflush(stdout);
	CHECK(!ibv_get_async_event(ctx, &event));
	CHECK(event.event_type == IBV_EVENT_DEVICE_FATAL);
	CHECK(!ibv_alloc_pd(ctx) && errno == EIO);
	CHECK(uar[CLOCK / 8] == UINT64_MAX); /* reads return ones, writes vanish */
	for (int i = 0; i < 3000; i++)
		uar[0] = 0;
	printf("fatal\n");
	return 0;
}

static int do_hold(void)
{
	struct ibv_context *ctx = open_device();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	CHECK(pd && ibv_reg_mr(pd, malloc(4096), 4096, IBV_ACCESS_LOCAL_WRITE));
	printf("open\n");
	fflush(stdout);
	pause();
	return 0;
}

/* ---- As UCX and Open MPI watch the memory map: a jump over the first bytes of what programs call -------- */

static unsigned int hooked[2];

static void *hook_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	hooked[0]++;
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

static int hook_munmap(void *addr, size_t len)
{
	hooked[1]++;
	return (int)syscall(SYS_munmap, addr, len);
}

static void write_jump(void *function, const void *hook)
{
	unsigned char jump[] = {0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xe3}; /* mov r11; jmp r11 */
	uintptr_t page = (uintptr_t)function & ~4095ul;

	memcpy(jump + 2, &hook, sizeof(hook));
	CHECK(!mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC));
	memcpy(function, jump, sizeof(jump));
	CHECK(!mprotect((void *)page, 8192, PROT_READ | PROT_EXEC));
}

static int do_hooked(void)
{
	struct ibv_context *ctx;
	void *plain;

	write_jump((void *)mmap, (const void *)hook_mmap);
	write_jump((void *)munmap, (const void *)hook_munmap);
	ctx = open_device();
	CHECK(hooked[0]);
	uar = map_uar(ctx->cmd_fd);
	CHECK(uar[CLOCK / 8] != UINT64_MAX);
	/* Other memory in the page's place is memory. */
	plain = mmap((void *)uar, 4096, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	CHECK(plain == (void *)uar && !uar[CLOCK / 8]);
	CHECK(!munmap(plain, 4096) && hooked[1]);
	CHECK(syscall(SYS_munmap, plain + 1, 4096) == -1 && errno == EINVAL);
	CHECK(!ibv_close_device(ctx));
	return 0;
}

/* Executes `ibv_devinfo -l` with an empty environment, by one of the functions that take arguments one by one. */
static int do_exec_list(const char *function, const char *devinfo)
{
	char *nothing[] = {NULL};

	clearenv();
	if (!strcmp(function, "execl"))
		execl(devinfo, "devinfo", "-l", NULL);
	else if (!strcmp(function, "execlp"))
		execlp(devinfo, "devinfo", "-l", NULL);
	else
		execle(devinfo, "devinfo", "-l", NULL, nothing);
	return 1;
}

/* The listing of `path` goes on at the name that seekdir() or rewinddir() went back to, as scandir() has it. */
static void check_listing(const char *path, int num)
{
	struct dirent **all;
	DIR *dir = opendir(path);
	long second;

	CHECK(scandir(path, &all, NULL, NULL) == num && dir);
	CHECK(!strcmp(readdir(dir)->d_name, all[0]->d_name));
	second = telldir(dir);
	for (int i = 1; i < num; i++)
		CHECK(!strcmp(readdir(dir)->d_name, all[i]->d_name));
	CHECK(!readdir(dir));
	seekdir(dir, second);
	CHECK(!strcmp(readdir64(dir)->d_name, all[1]->d_name));
	rewinddir(dir);
	CHECK(!strcmp(readdir(dir)->d_name, all[0]->d_name));
	closedir(dir);
	while (num--)
		free(all[num]);
	free(all);
}

/* On a machine of 16 adapters. */
static int do_listing(void)
{
	check_listing("/sys/class/infiniband", 2 + 16);
	check_listing("/sys/class/infiniband_verbs/", 2 + 1 + 16);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} actions[] = {
		{"files", do_files},      {"fork", do_fork},         {"exec", do_exec},
		{"pass", do_pass},        {"threads", do_threads},   {"closeall", do_closeall},
		{"clock", do_clock},      {"unmapped", do_unmapped}, {"locked", do_locked},
		{"fatal", do_wait_fatal}, {"hold", do_hold},         {"hooked", do_hooked},
		{"listing", do_listing},
	};

	if (argc == 3 && !strcmp(argv[1], "exec2"))
		return do_exec2(argv[2]);
	if (argc == 3)
		return do_exec_list(argv[1], argv[2]);
	for (unsigned int i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (argc == 2 && !strcmp(argv[1], actions[i].name))
			return actions[i].run();
	fprintf(stderr, "unknown action\n");
	return 2;
}
