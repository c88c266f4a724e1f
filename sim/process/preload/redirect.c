// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* libc's functions that take a path, or query a descriptor, redirected into the simulated machine. */
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 0 /* the checked variants are defined here, too */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/net/netif.h"

#define DEVICE_MODE (S_IFCHR | 0666)

/* ---- open ------------------------------------------------------------------------------------- */

static int do_open(int (*next)(int, const char *, int, ...), int dir, const char *path, int flags,
		   mode_t mode)
{
	struct path p;
	const char *real = path_lookup(path, &p);
	int fd = netif_proc(path);

	if (fd >= 0)
		return fd;
	if (p.kind == PATH_DEVICE && !(flags & O_PATH))
		return file_open(p.name, flags);
	file_show(&p);
	return next(dir, real, flags, mode);
}

#define OPEN_MODE(flags, mode)                                                                               \
	do {                                                                                                 \
		va_list ap;                                                                                  \
		va_start(ap, flags);                                                                         \
		mode = ((flags) & (O_CREAT | O_TMPFILE)) ? va_arg(ap, mode_t) : 0;                           \
		va_end(ap);                                                                                  \
	} while (0)

PRELOAD_API int open(const char *path, int flags, ...)
{
	mode_t mode;

	OPEN_MODE(flags, mode);
	return do_open(REAL(openat), AT_FDCWD, path, flags, mode);
}

PRELOAD_API int open64(const char *path, int flags, ...)
{
	mode_t mode;

	OPEN_MODE(flags, mode);
	return do_open(REAL(openat64), AT_FDCWD, path, flags, mode);
}

PRELOAD_API int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;

	OPEN_MODE(flags, mode);
	return do_open(REAL(openat), dir, path, flags, mode);
}

PRELOAD_API int openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode;

	OPEN_MODE(flags, mode);
	return do_open(REAL(openat64), dir, path, flags, mode);
}

/* What _FORTIFY_SOURCE calls instead, when there is no mode. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

PRELOAD_API int __open_2(const char *path, int flags)
{
	return do_open(REAL(openat), AT_FDCWD, path, flags, 0);
}

PRELOAD_API int __open64_2(const char *path, int flags)
{
	return do_open(REAL(openat64), AT_FDCWD, path, flags, 0);
}

PRELOAD_API int __openat_2(int dir, const char *path, int flags)
{
	return do_open(REAL(openat), dir, path, flags, 0);
}

PRELOAD_API int __openat64_2(int dir, const char *path, int flags)
{
	return do_open(REAL(openat64), dir, path, flags, 0);
}

static FILE *do_fopen(FILE *(*next)(const char *, const char *), const char *path, const char *mode)
{
	struct path p;
	const char *real = path_lookup(path, &p);
	int fd = netif_proc(path);

	if (fd >= 0)
		return fdopen(fd, mode);
	file_show(&p);
	return next(real, mode);
}

PRELOAD_API FILE *fopen(const char *path, const char *mode)
{
	return do_fopen(REAL(fopen), path, mode);
}

PRELOAD_API FILE *fopen64(const char *path, const char *mode)
{
	return do_fopen(REAL(fopen64), path, mode);
}

/* ---- stat ------------------------------------------------------------------------------------- */

static int patch(mode_t *mode, dev_t *rdev, dev_t value)
{
	*mode = DEVICE_MODE;
	*rdev = value;
	return 0;
}

/* After a successful stat of a path: a device file is an ordinary file in our folder. */
static int finish_path(int ret, const struct path *p, mode_t *mode, dev_t *rdev)
{
	dev_t value;

	if (ret || p->kind != PATH_DEVICE)
		return ret;
	if (file_stat(p->name, &value))
		return -1;
	return patch(mode, rdev, value);
}

static int finish_fd(int ret, int fd, mode_t *mode, dev_t *rdev)
{
	uint64_t id;
	dev_t value = 0;

	if (ret || !S_ISSOCK(*mode) || !file_lookup(fd, &id, &value))
		return ret;
	return patch(mode, rdev, value);
}

#define STAT_PATH(name, type)                                                                                \
	PRELOAD_API int name(const char *restrict path, struct type *restrict st)                            \
	{                                                                                                    \
		struct path p;                                                                               \
		const char *real = path_lookup(path, &p);                                                    \
		return finish_path(REAL(name)(real, st), &p, &st->st_mode, &st->st_rdev);                    \
	}
STAT_PATH(stat, stat)
STAT_PATH(stat64, stat64)
STAT_PATH(lstat, stat)
STAT_PATH(lstat64, stat64)

#define STAT_FD(name, type)                                                                                  \
	PRELOAD_API int name(int fd, struct type *st)                                                        \
	{                                                                                                    \
		return finish_fd(REAL(name)(fd, st), fd, &st->st_mode, &st->st_rdev);                        \
	}
STAT_FD(fstat, stat)
STAT_FD(fstat64, stat64)

#define STAT_AT(name, type)                                                                                  \
	PRELOAD_API int name(int dir, const char *restrict path, struct type *restrict st, int flags)        \
	{                                                                                                    \
		struct path p;                                                                               \
		int ret = REAL(name)(dir, path_lookup(path, &p), st, flags);                                 \
		if ((flags & AT_EMPTY_PATH) && !*path)                                                       \
			return finish_fd(ret, dir, &st->st_mode, &st->st_rdev);                              \
		return finish_path(ret, &p, &st->st_mode, &st->st_rdev);                                     \
	}
STAT_AT(fstatat, stat)
STAT_AT(fstatat64, stat64)

/* Programs built before glibc 2.33 */
#define XSTAT_PATH(name, type)                                                                               \
	int name(int ver, const char *path, struct type *st);                                                \
	PRELOAD_API int name(int ver, const char *path, struct type *st)                                     \
	{                                                                                                    \
		struct path p;                                                                               \
		const char *real = path_lookup(path, &p);                                                    \
		return finish_path(REAL(name)(ver, real, st), &p, &st->st_mode, &st->st_rdev);               \
	}
XSTAT_PATH(__xstat, stat)
XSTAT_PATH(__xstat64, stat64)
XSTAT_PATH(__lxstat, stat)
XSTAT_PATH(__lxstat64, stat64)

#define XSTAT_FD(name, type)                                                                                 \
	int name(int ver, int fd, struct type *st);                                                          \
	PRELOAD_API int name(int ver, int fd, struct type *st)                                               \
	{                                                                                                    \
		return finish_fd(REAL(name)(ver, fd, st), fd, &st->st_mode, &st->st_rdev);                   \
	}
XSTAT_FD(__fxstat, stat)
XSTAT_FD(__fxstat64, stat64)

#define XSTAT_AT(name, type)                                                                                 \
	int name(int ver, int dir, const char *path, struct type *st, int flags);                            \
	PRELOAD_API int name(int ver, int dir, const char *path, struct type *st, int flags)                 \
	{                                                                                                    \
		struct path p;                                                                               \
		int ret = REAL(name)(ver, dir, path_lookup(path, &p), st, flags);                            \
		return finish_path(ret, &p, &st->st_mode, &st->st_rdev);                                     \
	}
XSTAT_AT(__fxstatat, stat)
XSTAT_AT(__fxstatat64, stat64)

PRELOAD_API int statx(int dir, const char *restrict path, int flags, unsigned int mask,
		      struct statx *restrict stx)
{
	struct path p;
	int ret = REAL(statx)(dir, path_lookup(path, &p), flags, mask, stx);
	mode_t mode = ret ? 0 : stx->stx_mode;
	dev_t rdev = 0;

	if ((flags & AT_EMPTY_PATH) && !*path)
		ret = finish_fd(ret, dir, &mode, &rdev);
	else
		ret = finish_path(ret, &p, &mode, &rdev);
	if (!ret && S_ISCHR(mode) && !S_ISCHR(stx->stx_mode)) {
		stx->stx_mode = (uint16_t)mode;
		stx->stx_rdev_major = major(rdev);
		stx->stx_rdev_minor = minor(rdev);
	}
	return ret;
}

/* ---- Others ------------------------------------------------------------------------------------ */

PRELOAD_API int access(const char *path, int mode)
{
	struct path p;

	return REAL(access)(path_lookup(path, &p), mode);
}

PRELOAD_API int euidaccess(const char *path, int mode)
{
	struct path p;

	return REAL(euidaccess)(path_lookup(path, &p), mode);
}

PRELOAD_API int eaccess(const char *path, int mode)
{
	struct path p;

	return REAL(eaccess)(path_lookup(path, &p), mode);
}

PRELOAD_API int faccessat(int dir, const char *path, int mode, int flags)
{
	struct path p;

	return REAL(faccessat)(dir, path_lookup(path, &p), mode, flags);
}

PRELOAD_API int chdir(const char *path)
{
	struct path p;

	return REAL(chdir)(path_lookup(path, &p));
}

PRELOAD_API ssize_t readlink(const char *restrict path, char *restrict buf, size_t size)
{
	struct path p;

	return REAL(readlink)(path_lookup(path, &p), buf, size);
}

PRELOAD_API ssize_t readlinkat(int dir, const char *restrict path, char *restrict buf, size_t size)
{
	struct path p;

	return REAL(readlinkat)(dir, path_lookup(path, &p), buf, size);
}

ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room);
ssize_t __readlinkat_chk(int dir, const char *path, char *buf, size_t size, size_t room);

PRELOAD_API ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room)
{
	struct path p;

	return REAL(__readlink_chk)(path_lookup(path, &p), buf, size, room);
}

PRELOAD_API ssize_t __readlinkat_chk(int dir, const char *path, char *buf, size_t size, size_t room)
{
	struct path p;

	return REAL(__readlinkat_chk)(dir, path_lookup(path, &p), buf, size, room);
}

/* A detailed listing asks for extended attributes; there are none. */
#define XATTR(name)                                                                                          \
	PRELOAD_API ssize_t name(const char *path, const char *attr, void *value, size_t size)               \
	{                                                                                                    \
		struct path p;                                                                               \
		return REAL(name)(path_lookup(path, &p), attr, value, size);                                 \
	}
XATTR(getxattr)
XATTR(lgetxattr)

/* Name of a path in our folder, as the application knows it: below /sys or /dev. */
static void outside_name(char *path)
{
	static const char sys[] = {'/', 's', 'y', 's'};
	const char *runtime = path_runtime();
	char *rest;
	size_t n;

	if (!runtime || !path)
		return;
	n = strlen(runtime);
	if (strncmp(path, runtime, n) || path[n] != '/')
		return;
	rest = path + n + 1;
	if (!strncmp(rest, PROTO_SYSFS_NAME, strlen(PROTO_SYSFS_NAME)))
		rest += strlen(PROTO_SYSFS_NAME);
	else
		return;
	memmove(path + 4, rest, strlen(rest) + 1);
	memcpy(path, sys, sizeof(sys));
}

PRELOAD_API char *realpath(const char *restrict path, char *restrict out)
{
	struct path p;
	char *ret;

	path_lookup(path, &p);
	if (p.kind == PATH_OTHER)
		return REAL(realpath)(path, out);
	if (p.kind == PATH_DEVICE) /* a device file is not a symbolic link */
		return access(path, F_OK) ? NULL : out ? strcpy(out, path) : strdup(path);
	ret = REAL(realpath)(p.real, out);
	outside_name(ret);
	return ret;
}

char *__realpath_chk(const char *path, char *out, size_t room);

PRELOAD_API char *__realpath_chk(const char *path, char *out, size_t room)
{
	return realpath(path, out);
}

PRELOAD_API char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}
