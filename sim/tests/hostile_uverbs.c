/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The suites of sim/kernel/tests for ioctl() and write(), on the device file that an application uses: good
 * calls, then every attribute, length, pointer and number wrong in turn. At the end libibverbs works as
 * before. Started by `hcasim run`.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/tests/harness.h"
#undef CHECK /* the kernel suites have their own, which continues after a failure */
#include "link.h"

#define MAX_FD 4096

/* Here a file pointer holds the descriptor plus one, since 0 would be NULL. */
static struct kfile *file_of(int fd)
{
	return (struct kfile *)(uintptr_t)(fd + 1);
}

static int fd_of(const struct kfile *f)
{
	return (int)(uintptr_t)f - 1;
}

int kernel_open(struct kernel *k, struct task *t, const char *name, int oflags, struct kfile **out)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC | oflags);
	*out = file_of(fd);
	return fd < 0 ? -errno : 0;
}

long kernel_ioctl(struct kfile *f, struct task *t, unsigned long cmd, uint64_t arg, struct kreply *reply)
{
	int ret = ioctl(fd_of(f), cmd, arg);

	return ret < 0 ? -errno : ret;
}

ssize_t kernel_write(struct kfile *f, struct task *t, uint64_t buf, size_t len, struct kreply *reply)
{
	ssize_t ret = write(fd_of(f), (void *)(uintptr_t)buf, len);

	return ret < 0 ? -errno : ret;
}

void kernel_release(struct kfile *f)
{
	close(fd_of(f));
}

/* The descriptor numbers are already where the call wants them. */
void take_reply(void)
{
}

/* ---- Descriptors ---- */

static bool ours[MAX_FD]; /* open before the first test */

static unsigned int each_fd(void (*visit)(int fd))
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;
	struct dirent *e;

	if (!d)
		abort();
	while ((e = readdir(d))) {
		int fd = atoi(e->d_name);

		n++;
		if (e->d_name[0] != '.' && fd != dirfd(d) && fd < MAX_FD && visit)
			visit(fd);
	}
	closedir(d);
	return n;
}

static void keep(int fd)
{
	ours[fd] = true;
}

static void close_given(int fd)
{
	if (!ours[fd])
		close(fd);
}

unsigned int count_fds(void)
{
	return each_fd(NULL);
}

/* ---- The world ---- */

int world_init(void)
{
	int fd;

	w.arena = mmap(NULL, ARENA_SIZE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w.arena == MAP_FAILED || mprotect(w.arena + ARENA_SIZE, 4096, PROT_NONE))
		return 1;
	/* The first use opens the library's own connection. */
	fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	if (fd < 0 || close(fd))
		return 1;
	each_fd(keep);
	return 0;
}

int world_exit(void)
{
	return munmap(w.arena, ARENA_SIZE + 4096);
}

void run_machine(void)
{
}

void file_open(void)
{
	w.used = 0;
	w.async_fd = w.comp_fd = -1;
	if (kernel_open(NULL, NULL, "uverbs0", 0, &w.f))
		abort();
}

void file_close(void)
{
	each_fd(close_given);
}

/* ---- Afterwards ---- */

static void traffic(void)
{
	struct link l;
	struct pair p;

	link_open(&l, 4096);
	pair_open(&p, &l);
	strcpy(l.buf[0], "as before");
	pair_post_write(&p, 42, 10);
	CU_ASSERT_EQUAL(link_wait(p.cq[0]).wr_id, 42);
	CU_ASSERT_STRING_EQUAL(l.buf[1], "as before");
	pair_close(&p);
	link_close(&l);
}

int main(void)
{
	unsigned int failed;

	if (CU_initialize_registry())
		return 1;
	add_ioctl_suite();
	add_write_suite();
	CU_add_test(CU_add_suite("afterwards", NULL, NULL), "an application works", traffic);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	return failed != 0;
}
