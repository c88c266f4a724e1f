// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Open device files: one socket pair each; end of file at our end means that their last descriptor was closed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "process/device/server.h"
#include "process/device/crash_cleanup.h"

/* The abstract address of the application's end, by which the preload library recognises the file. */
static int name_socket(int fd, uint64_t id, dev_t rdev)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int n = snprintf(addr.sun_path + 1, PROTO_FILE_ADDR_MAX, PROTO_FILE_PREFIX "%llx:%x:%x",
			 (unsigned long long)id, major(rdev), minor(rdev));

	if (bind(fd, (struct sockaddr *)&addr, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)))
		return -errno;
	return 0;
}

static int make_pair(uint64_t id, dev_t rdev, int fds[2])
{
	int ret;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return errno == EMFILE || errno == ENFILE ? -ENFILE : -ENOMEM;
	ret = fcntl(fds[0], F_SETFL, O_NONBLOCK) ? -errno : name_socket(fds[1], id, rdev);
	if (ret) {
		close(fds[0]);
		close(fds[1]);
	}
	return ret;
}

struct file_user {
	struct table_node node; /* by the address space's number */
	LIST_ENTRY(file_user) link;
	struct mm *mm;
};

int file_use(struct file *f, struct mm *mm)
{
	struct file_user *u;

	if (table_find(&f->users, mm->pasid))
		return 0;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->mm = mm;
	mm_ref(mm);
	table_add(&f->users, &u->node, mm->pasid);
	LIST_INSERT_HEAD(&f->all_users, u, link);
	return 0;
}

static void forget_users(struct file *f)
{
	struct file_user *u;

	while ((u = LIST_FIRST(&f->all_users))) {
		LIST_REMOVE(u, link);
		mm_put(u->mm);
		free(u);
	}
	table_free(&f->users);
}

int file_create(struct server *s, struct mm *mm, const char *name, int oflags, int *app_fd)
{
	struct file *f = calloc(1, sizeof(*f));
	struct stat st;
	dev_t rdev;
	int fds[2], ret;

	if (!f)
		return -ENOMEM;
	f->source.kind = SOURCE_FILE;
	f->server = s;
	f->id = s->next_file++;
	ret = kernel_stat(s->kernel, name, &rdev);
	if (!ret)
		ret = file_use(f, mm);
	if (!ret)
		ret = make_pair(f->id, rdev, fds);
	if (ret)
		goto err_file;
	ret = kernel_open(s->kernel, &mm->task, name, oflags, &f->kfile);
	if (ret)
		goto err_pair;
	f->fd = fds[0];
	if (!fstat(fds[1], &st))
		kernel_file_ready(f->kfile, f->fd, st.st_ino);
	ret = source_watch(s, f->fd, &f->source);
	if (ret)
		goto err_kfile;
	LIST_INSERT_HEAD(&s->files, f, link);
	table_add(&s->files_by_id, &f->by_id, f->id);
	*app_fd = fds[1];
	return 0;

err_kfile:
	kernel_release(f->kfile);
err_pair:
	close(fds[0]);
	close(fds[1]);
err_file:
	forget_users(f);
	free(f);
	return ret;
}

struct file *file_find(struct server *s, uint64_t id)
{
	struct table_node *node = table_find(&s->files_by_id, id);

	return node ? table_entry(node, struct file, by_id) : NULL;
}

void file_event(struct file *f)
{
	struct pollfd p = {.fd = f->fd, .events = POLLRDHUP};
	char waste[4096];

	/* Only calls that bypass the library send bytes; a character device would refuse them. */
	while (recv(f->fd, waste, sizeof(waste), MSG_DONTWAIT) > 0)
		;
	if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)))
		file_close(f);
}

void file_close(struct file *f)
{
	crash_step();
	kernel_release(f->kfile);
	close(f->fd);
	LIST_REMOVE(f, link);
	table_remove(&f->server->files_by_id, &f->by_id);
	forget_users(f);
	source_bury(f->server, &f->source);
}
