// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Paths that are redirected into the simulated machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#include "process/preload/preload.h"

static char runtime_dir[PATH_MAX];
static bool have_runtime;

/* A program that runs as another user than the machine. */
static void say_closed(void)
{
	char line[PATH_MAX + 200];
	int n;

	if (!raw_syscall(SYS_faccessat, AT_FDCWD, runtime_dir, X_OK) || errno != EACCES)
		return;
	n = snprintf(line, sizeof(line),
		     "hcasim: pid %d: user %d may not enter %s, the folder of the machine, which belongs to "
		     "another user: "
		     "the simulated adapters are not seen\n",
		     (int)getpid(), (int)getuid(), runtime_dir);
	if (raw_syscall(SYS_write, STDERR_FILENO, line, n) < 0)
		return;
}

__attribute__((constructor(101))) static void find_runtime(void)
{
	const char *dir = getenv(PROTO_ENV_RUNTIME);

	if (!dir || !*dir || strlen(dir) >= sizeof(runtime_dir) - 256)
		return;
	strcpy(runtime_dir, dir);
	have_runtime = true;
	say_closed();
}

const char *path_runtime(void)
{
	return have_runtime ? runtime_dir : NULL;
}

/* Doubled slashes and "." components away: enough for how paths are put together in practice. */
static bool tidy(const char *path, char *out, size_t size)
{
	size_t n = 0;

	for (const char *p = path; *p; p++) {
		if (*p == '/' && n && out[n - 1] == '/')
			continue;
		if (*p == '.' && n && out[n - 1] == '/' && (p[1] == '/' || !p[1]))
			continue;
		if (n + 1 >= size)
			return false;
		out[n++] = *p;
	}
	out[n] = '\0';
	return true;
}

static bool below(const char *path, const char *folder, const char **rest)
{
	for (; *folder; folder++, path++) {
		if (*path != *folder)
			return false;
	}
	if (*path && *path != '/')
		return false;
	*rest = *path ? path + 1 : path;
	return true;
}

static bool exists(const char *path)
{
	int saved = errno;
	bool yes = !raw_syscall(SYS_faccessat, AT_FDCWD, path, F_OK);

	errno = saved;
	return yes;
}

/* devices/pciDDDD:BB/DDDD:BB:SS.F of an adapter, or below it. */
static bool is_adapter(const char *rest)
{
	static const char devices[] = "devices/pci";
	char folder[PATH_MAX];
	const char *end;

	if (strncmp(rest, devices, sizeof(devices) - 1))
		return false;
	end = strchr(rest + sizeof(devices) - 1, '/');
	if (!end || !end[1])
		return false;
	end += 1 + strcspn(end + 1, "/");
	snprintf(folder, sizeof(folder), "%.3000s/" PROTO_SYSFS_NAME "/%.*s", runtime_dir, (int)(end - rest),
		 rest);
	return exists(folder);
}

/*
 * Classes of RDMA devices are always ours, so that the host's own devices are hidden. An adapter or a network interface
 * hides a host's device with the same address, or interface with the same name. Everything else below /sys (devices of
 * these classes, their network interfaces) is ours if it exists in the simulated tree and not on the host.
 */
static void lookup_sysfs(const char *path, const char *rest, struct path *p)
{
	snprintf(p->real, sizeof(p->real), "%.3000s/" PROTO_SYSFS_NAME "/%.1000s", runtime_dir, rest);
	if (!strncmp(rest, "class/infiniband", 16) ||
	    (!strncmp(rest, "class/net/", 10) && rest[10] && exists(p->real)) ||
	    !strncmp(rest, "class/misc/rdma_cm", 18) || is_adapter(rest) ||
	    (exists(p->real) && !exists(path)))
		p->kind = PATH_TREE;
}

/*
 * libibverbs loads the providers that its configuration folder names. A machine has only those that `hcasim run` chose:
 * that folder is empty.
 */
static void lookup_config(const char *path, struct path *p)
{
	static const char name[] = "/libibverbs.d";
	const char *at = strstr(path, name);

	if (!at || (at[sizeof(name) - 1] && at[sizeof(name) - 1] != '/'))
		return;
	snprintf(p->real, sizeof(p->real), "%.3000s/" PROTO_EMPTY_NAME "%.1000s", runtime_dir,
		 at + sizeof(name) - 1);
	p->kind = PATH_TREE;
}

const char *path_lookup(const char *path, struct path *p)
{
	char clean[PATH_MAX];
	const char *rest;

	p->kind = PATH_OTHER;
	if (!have_runtime || !path || path[0] != '/')
		return path;
	while (path[1] == '/')
		path++;
	if (path[1] == 'u' || path[1] == 'e') /* /usr, /etc */
		lookup_config(path, p);
	if (p->kind == PATH_TREE)
		return p->real;
	if ((path[1] != 's' && path[1] != 'd') || !tidy(path, clean, sizeof(clean)))
		return path;
	if (below(clean, "/sys", &rest)) {
		lookup_sysfs(clean, rest, p);
	} else if (below(clean, "/dev/infiniband", &rest) && strncmp(rest, "..", 2)) {
		snprintf(p->real, sizeof(p->real), "%.3000s/" PROTO_DEV_NAME "/%.1000s", runtime_dir, rest);
		p->kind = *rest && !strchr(rest, '/') ? PATH_DEVICE : PATH_TREE;
		p->name = strrchr(p->real, '/') + 1;
	} else if (!strcmp(clean, "/dev/infiniband/..")) {
		strcpy(p->real, "/dev"); /* for listings; the host may not have such a folder */
		p->kind = PATH_TREE;
	}
	return p->kind == PATH_OTHER ? path : p->real;
}
