// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Programs that a program executes stay on the machine. One that is given an empty environment (env -i, a login)
 * would lose it: what leads to the machine is put back. One that is given the rest without LD_PRELOAD leaves it:
 * `env -u LD_PRELOAD` is how to.
 *
 * May run in a child of vfork(): system calls, and nothing that allocates or takes locks.
 */
#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"
#include "preload/obstacle.h"

#define RUNTIME "HCASIM_RUNTIME="
#define PRELOAD "LD_PRELOAD="

/* What `hcasim run` set, as this program was given it; LD_PRELOAD up to our library. */
static const char *const names[] = {RUNTIME,        PRELOAD,          "LD_LIBRARY_PATH=", "RDMAV_DRIVERS=",
				    "IBV_DRIVERS=", "VALGRIND_OPTS=", "ASAN_OPTIONS="};
#define NUM_NAMES (sizeof(names) / sizeof(names[0]))
static char *kept[NUM_NAMES];

static char *find(char *const *envp, const char *name)
{
	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, strlen(name)))
			return *envp;
	return NULL;
}

static const char *own_name(void)
{
	Dl_info own;

	return dladdr(&names, &own) ? own.dli_fname : "";
}

/* Looked up before the first fork(): its child may not find the loader's locks free. */
static __typeof__(&execvpe) next_execvpe(void)
{
	return REAL(execvpe);
}

static __typeof__(&fexecve) next_fexecve(void)
{
	return REAL(fexecve);
}

__attribute__((constructor)) static void keep(void)
{
	const char *entry, *own;

	if (!path_runtime() || !next_execvpe() || !next_fexecve())
		return;
	for (unsigned int i = 0; i < NUM_NAMES; i++) {
		entry = find(environ, names[i]);
		kept[i] = entry ? strdup(entry) : NULL;
	}
	own = kept[1] ? strstr(kept[1], own_name()) : NULL;
	if (own)
		kept[1][own - kept[1] + (ptrdiff_t)strlen(own_name())] = '\0';
}

/* ---- Environments -------------------------------------------------------------------------------- */

static size_t length(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* Memory until an exec failed: a child of vfork() has no heap of its own, and its stack may be small. */
struct room {
	void *at;
	size_t len;
};

static void *take(struct room *room, size_t len)
{
	room->len = len;
	room->at = (void *)syscall(SYS_mmap, NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
	if (room->at == MAP_FAILED)
		room->at = NULL;
	return room->at;
}

static void give_back(const struct room *room)
{
	int saved = errno;

	if (room->at)
		syscall(SYS_munmap, room->at, room->len);
	errno = saved;
}

/* Another list of libraries to preload: ours come first. */
static char *joined(char *text, const char *theirs)
{
	sprintf(text, "%s:%s", kept[1], theirs + strlen(PRELOAD));
	return text;
}

/* The environment to execute with: `envp`, or what is made of it in `room`. */
static char *const *amend(char *const *envp, struct room *room)
{
	char *preload = find(envp, PRELOAD), **list, **out;
	const size_t n = length(envp), pointers = (n + NUM_NAMES + 1) * sizeof(char *);
	bool wiped = !find(envp, RUNTIME);

	room->at = NULL;
	if (!kept[1] || (!wiped && (!preload || strstr(preload, own_name()))))
		return envp;
	out = list = take(room, pointers + strlen(kept[1]) + (preload ? strlen(preload) : 0) + 2);
	if (!list)
		return envp;
	for (size_t i = 0; i < n; i++)
		*out++ = envp[i] == preload ? joined((char *)list + pointers, preload) : envp[i];
	for (unsigned int i = 0; i < NUM_NAMES && wiped; i++)
		if (kept[i] && !find(envp, names[i]))
			*out++ = kept[i];
	*out = NULL;
	return list;
}

/* ---- What will not see the machine --------------------------------------------------------------- */

/* Once for each program on a machine. */
static bool is_news(const char *path)
{
	char mark[PATH_MAX];
	struct stat st;
	int fd;

	if (syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0))
		return false;
	snprintf(mark, sizeof(mark), "%.4000s/told-%lx-%lx", path_runtime(), (unsigned long)st.st_dev,
		 (unsigned long)st.st_ino);
	fd = (int)syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		syscall(SYS_close, fd);
	return fd >= 0 || errno != EEXIST;
}

static void tell(const char *path, char *const *envp)
{
	char text[PATH_MAX + 200], line[PATH_MAX + 210];
	int saved = errno;

	/* valgrind's launcher executes a static program, which loads the preload libraries of its guest. */
	if (!path_runtime() || find(envp, "VALGRIND_LAUNCHER=") || !hcasim_obstacle(path, text, sizeof(text)))
		return;
	if (is_news(path))
		syscall(SYS_write, STDERR_FILENO, line, snprintf(line, sizeof(line), "hcasim: %s\n", text));
	errno = saved;
}

/* As execvp() finds a program. */
static void tell_found(const char *file, char *const *envp)
{
	const char *at = getenv("PATH"), *end;
	char path[PATH_MAX];

	if (!path_runtime() || strchr(file, '/')) {
		tell(file, envp);
		return;
	}
	for (at = at ? at : _PATH_DEFPATH;; at = end + 1) {
		end = strchrnul(at, ':');
		snprintf(path, sizeof(path), "%.*s%s%.255s", (int)(end - at), at, end == at ? "" : "/", file);
		if (!syscall(SYS_faccessat, AT_FDCWD, path, X_OK)) {
			tell(path, envp);
			return;
		}
		if (!*end)
			return;
	}
}

/* ---- libc's functions ---------------------------------------------------------------------------- */

PRELOAD_API int execve(const char *path, char *const argv[], char *const envp[])
{
	struct room room;
	int ret;

	tell(path, envp);
	ret = (int)syscall(SYS_execve, path, argv, amend(envp, &room));
	give_back(&room);
	return ret;
}

PRELOAD_API int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

PRELOAD_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct room room;
	int ret;

	tell_found(file, envp);
	ret = next_execvpe()(file, argv, amend(envp, &room));
	give_back(&room);
	return ret;
}

PRELOAD_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

PRELOAD_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct room room;
	char path[32];
	int ret;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	tell(path, envp);
	ret = next_fexecve()(fd, argv, amend(envp, &room));
	give_back(&room);
	return ret;
}

typedef int exec_fn(const char *path, char *const argv[], char *const envp[]);

/* execl() and its kin: `arg` and what follows it, to NULL; then, with `has_envp`, the environment. */
static int exec_list(exec_fn *exec, const char *path, const char *arg, va_list ap, bool has_envp)
{
	struct room room;
	va_list again;
	size_t n = 1;
	char **argv;
	int ret;

	va_copy(again, ap);
	while (va_arg(again, char *))
		n++;
	va_end(again);
	argv = take(&room, (n + 1) * sizeof(char *));
	if (!argv) {
		errno = ENOMEM;
		return -1;
	}
	argv[0] = (char *)arg;
	for (size_t i = 1; i <= n; i++)
		argv[i] = va_arg(ap, char *);
	ret = exec(path, argv, has_envp ? va_arg(ap, char **) : environ);
	give_back(&room);
	return ret;
}

#define EXEC_LIST(name, exec, has_envp)                                                                      \
	PRELOAD_API int name(const char *path, const char *arg, ...)                                         \
	{                                                                                                    \
		va_list ap;                                                                                  \
		int ret;                                                                                     \
		va_start(ap, arg);                                                                           \
		ret = exec_list(exec, path, arg, ap, has_envp);                                              \
		va_end(ap);                                                                                  \
		return ret;                                                                                  \
	}
EXEC_LIST(execl, execve, false)
EXEC_LIST(execlp, execvpe, false)
EXEC_LIST(execle, execve, true)

#define SPAWN(name, tell)                                                                                    \
	PRELOAD_API int name(pid_t *restrict pid, const char *restrict path,                                 \
			     const posix_spawn_file_actions_t *restrict actions,                             \
			     const posix_spawnattr_t *restrict attr, char *const argv[restrict],             \
			     char *const envp[restrict])                                                     \
	{                                                                                                    \
		struct room room;                                                                            \
		int ret;                                                                                     \
		tell(path, envp);                                                                            \
		ret = REAL(name)(pid, path, actions, attr, argv, amend(envp, &room));                        \
		give_back(&room);                                                                            \
		return ret;                                                                                  \
	}
SPAWN(posix_spawn, tell)
SPAWN(posix_spawnp, tell_found)
