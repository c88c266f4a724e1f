// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Programs that a program executes stay on the machine. One that is given an empty environment (env -i, a login)
 * would lose it: what leads to the machine is put back. One that is given the rest without LD_PRELOAD leaves it:
 * `env -u LD_PRELOAD` is how to.
 *
 * May run in a child of vfork(): only system calls, and memory of the stack.
 */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"
#include "preload/obstacle.h"

#define RUNTIME "HCASIM_RUNTIME="
#define PRELOAD "LD_PRELOAD="

/* What `hcasim run` set, as this program was given it; LD_PRELOAD up to our library. */
static const char *const names[] = {
	RUNTIME, PRELOAD, "LD_LIBRARY_PATH=", "RDMAV_DRIVERS=", "IBV_DRIVERS=", "VALGRIND_OPTS="};
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

/* Room for what amend() makes. */
static size_t amended_size(char *const *envp)
{
	const char *preload = find(envp, PRELOAD);

	return (length(envp) + NUM_NAMES + 1) * sizeof(char *) + (preload ? strlen(preload) : 0) +
	       (kept[1] ? strlen(kept[1]) : 0) + 2;
}

/* Another list of libraries to preload: ours come first. */
static char *joined(char *text, const char *theirs)
{
	sprintf(text, "%s:%s", kept[1], theirs + strlen(PRELOAD));
	return text;
}

static char *const *amend(char *const *envp, void *room)
{
	char *preload = find(envp, PRELOAD), **out = room;
	const size_t n = length(envp);
	bool wiped = !find(envp, RUNTIME);
	char *text = (char *)(out + n + NUM_NAMES + 1);

	if (!kept[1] || (!wiped && (!preload || strstr(preload, own_name()))))
		return envp;
	for (size_t i = 0; i < n; i++)
		*out++ = envp[i] == preload ? joined(text, preload) : envp[i];
	for (unsigned int i = 0; i < NUM_NAMES && wiped; i++)
		if (kept[i] && !find(envp, names[i]))
			*out++ = kept[i];
	*out = NULL;
	return room;
}

/* The environment to execute with, in the caller's frame. */
#define AMEND(amended, envp)                                                                                 \
	void *room_ = alloca(amended_size(envp));                                                            \
	char *const *amended = amend(envp, room_)

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
	AMEND(amended, envp);

	tell(path, envp);
	return (int)syscall(SYS_execve, path, argv, amended);
}

PRELOAD_API int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

PRELOAD_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	AMEND(amended, envp);

	tell_found(file, envp);
	return next_execvpe()(file, argv, amended);
}

PRELOAD_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

PRELOAD_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	AMEND(amended, envp);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	tell(path, envp);
	return next_fexecve()(fd, argv, amended);
}

/* The arguments of execl() and its kin, from `arg` to NULL, as an array; `ap` is behind them then. */
static size_t num_args(va_list ap)
{
	size_t n = 1;

	while (va_arg(ap, char *))
		n++;
	return n;
}

#define ARGUMENTS(argv, ap, arg)                                                                             \
	do {                                                                                                 \
		size_t n_;                                                                                   \
		va_start(ap, arg);                                                                           \
		n_ = num_args(ap);                                                                           \
		va_end(ap);                                                                                  \
		argv = alloca((n_ + 1) * sizeof(char *));                                                    \
		argv[0] = (char *)arg;                                                                       \
		va_start(ap, arg);                                                                           \
		for (size_t i_ = 1; i_ <= n_; i_++)                                                          \
			argv[i_] = va_arg(ap, char *);                                                       \
	} while (0)

PRELOAD_API int execl(const char *path, const char *arg, ...)
{
	char **argv;
	va_list ap;

	ARGUMENTS(argv, ap, arg);
	va_end(ap);
	return execve(path, argv, environ);
}

PRELOAD_API int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	va_list ap;

	ARGUMENTS(argv, ap, arg);
	va_end(ap);
	return execvpe(file, argv, environ);
}

PRELOAD_API int execle(const char *path, const char *arg, ...)
{
	char **argv, **envp;
	va_list ap;

	ARGUMENTS(argv, ap, arg);
	envp = va_arg(ap, char **);
	va_end(ap);
	return execve(path, argv, envp);
}

PRELOAD_API int posix_spawn(pid_t *restrict pid, const char *restrict path,
			    const posix_spawn_file_actions_t *restrict actions,
			    const posix_spawnattr_t *restrict attr, char *const argv[restrict],
			    char *const envp[restrict])
{
	AMEND(amended, envp);

	tell(path, envp);
	return REAL(posix_spawn)(pid, path, actions, attr, argv, amended);
}

PRELOAD_API int posix_spawnp(pid_t *restrict pid, const char *restrict file,
			     const posix_spawn_file_actions_t *restrict actions,
			     const posix_spawnattr_t *restrict attr, char *const argv[restrict],
			     char *const envp[restrict])
{
	AMEND(amended, envp);

	tell_found(file, envp);
	return REAL(posix_spawnp)(pid, file, actions, attr, argv, amended);
}
