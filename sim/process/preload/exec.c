// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Programs that are executed stay on the machine. If the environment is empty (env -i, a login), the variables of the
 * machine are added. If it has them, but no LD_PRELOAD, the program leaves the machine: that is the purpose of `env
 * -u LD_PRELOAD`. A program that is linked to another rdma-core than that of `hcasim run` gets its own.
 *
 * May run in a child of vfork(): only system calls, no allocation, no locks.
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

#include "process/preload/preload.h"
#include "process/preload/obstacle.h"
#include "process/preload/verbs.h"

#define RUNTIME   "HCASIM_RUNTIME="
#define PRELOAD   "LD_PRELOAD="
#define LIBRARIES "LD_LIBRARY_PATH="
#define VERBS     "HCASIM_VERBS=" /* the folder that `hcasim run` put first in LD_LIBRARY_PATH */

#ifndef HCASIM_SANITIZER_RUNTIME
#define HCASIM_SANITIZER_RUNTIME "" /* sanitizer runtime, with a colon: it must come first in every process */
#endif

/* Variables set by `hcasim run`, as this program got them; LD_PRELOAD without the user's libraries. */
static const char *const names[] = {RUNTIME,          PRELOAD,        LIBRARIES,          VERBS,
				    "RDMAV_DRIVERS=", "IBV_DRIVERS=", "HCASIM_PROVIDER=", "VALGRIND_OPTS=",
				    "ASAN_OPTIONS="};
#define NUM_NAMES  (sizeof(names) / sizeof(names[0]))
#define PRELOAD_AT 1 /* index among them */
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

/* Looked up before the first fork(): in a child the loader's locks may be taken. */
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
	const char *entry;

	if (!path_runtime() || !next_execvpe() || !next_fexecve())
		return;
	for (unsigned int i = 0; i < NUM_NAMES; i++) {
		entry = i == PRELOAD_AT ? NULL : find(environ, names[i]);
		kept[i] = entry ? strdup(entry) : NULL;
	}
	entry = find(environ, PRELOAD);
	if (entry && strstr(entry, own_name()) &&
	    asprintf(&kept[PRELOAD_AT], PRELOAD HCASIM_SANITIZER_RUNTIME "%s", own_name()) < 0)
		kept[PRELOAD_AT] = NULL;
}

/* ---- Environments -------------------------------------------------------------------------------- */

static size_t length(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* Memory until exec has failed: a child of vfork() has no heap of its own, and its stack may be small. */
struct room {
	void *at;
	size_t len;
};

static void *take(struct room *room, size_t len)
{
	room->len = len;
	room->at = (void *)raw_syscall(SYS_mmap, NULL, len, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room->at == MAP_FAILED)
		room->at = NULL;
	return room->at;
}

static void give_back(const struct room *room, unsigned int num)
{
	int saved = errno;

	for (unsigned int i = 0; i < num; i++)
		if (room[i].at)
			raw_syscall(SYS_munmap, room[i].at, room[i].len);
	errno = saved;
}

/*
 * Our library is the last one in LD_PRELOAD: it takes the place of the kernel, which the other libraries call. A
 * librspreload.so after it would get host addresses that are not an adapter's.
 */
static bool is_last(const char *preload)
{
	const size_t n = strlen(preload), own = strlen(own_name());

	return n >= own && !strcmp(preload + n - own, own_name());
}

/* Another LD_PRELOAD, with our library. */
static char *joined(char *text, const char *theirs)
{
	const char *list = theirs + strlen(PRELOAD), *own = strstr(list, own_name());
	const int before = (int)(own ? own - list : (ptrdiff_t)strlen(list));

	sprintf(text, PRELOAD "%s%.*s%s:%s", own ? "" : HCASIM_SANITIZER_RUNTIME, before, list,
		own ? own + strlen(own_name()) : "", own_name());
	return text;
}

/* The new environment: `envp`, or a changed copy in `room`. */
static char *const *amend(char *const *envp, struct room *room)
{
	char *preload = find(envp, PRELOAD), **list, **out;
	const size_t n = length(envp), pointers = (n + NUM_NAMES + 1) * sizeof(char *);
	bool wiped = !find(envp, RUNTIME);

	room->at = NULL;
	if (!kept[PRELOAD_AT] || (!wiped && (!preload || is_last(preload))))
		return envp;
	out = list = take(room, pointers + strlen(kept[PRELOAD_AT]) + (preload ? strlen(preload) : 0) + 2);
	if (!list)
		return envp;
	for (size_t i = 0; i < n; i++)
		*out++ = preload && envp[i] == preload && !is_last(preload)
				 ? joined((char *)list + pointers, preload)
				 : envp[i];
	for (unsigned int i = 0; i < NUM_NAMES && wiped; i++)
		if (kept[i] && !find(envp, names[i]))
			*out++ = kept[i];
	*out = NULL;
	return list;
}

/* The user's part of LD_LIBRARY_PATH, behind our folder; NULL: our folder is not in it. */
static const char *behind_ours(char *const *envp)
{
	const char *ours = find(envp, VERBS), *all = find(envp, LIBRARIES);
	size_t n;

	if (!ours || !all)
		return NULL;
	ours += strlen(VERBS);
	all += strlen(LIBRARIES);
	n = strlen(ours);
	if (!n || strncmp(all, ours, n) != 0)
		return NULL;
	return all[n] == ':' ? all + n + 1 : !all[n] ? all + n : NULL;
}

/* Without our rdma-core, if the program has its own. */
static char *const *own_verbs(char *const *envp, struct room *room, const char *program)
{
	const char *rest = behind_ours(envp), *all = find(envp, LIBRARIES);
	const size_t pointers = (length(envp) + 1) * sizeof(char *);
	char **list, **out, *text;

	room->at = NULL;
	if (!rest || !hcasim_brings_verbs(program))
		return envp;
	out = list = take(room, pointers + strlen(all) + 1);
	if (!list)
		return envp;
	text = (char *)list + pointers;
	sprintf(text, LIBRARIES "%s", rest);
	for (; *envp; envp++) {
		if (*envp != all)
			*out++ = *envp;
		else if (*rest)
			*out++ = text;
	}
	*out = NULL;
	return list;
}

/* The environment to execute `program` with. */
static char *const *amended(char *const *envp, const char *program, struct room room[2])
{
	return own_verbs(amend(envp, &room[0]), &room[1], program);
}

/* ---- What will not see the machine --------------------------------------------------------------- */

/* One message per program and machine; with `hcasim run --quiet` none. */
static bool is_news(const char *path)
{
	char mark[PATH_MAX];
	struct stat st;
	int fd;

	snprintf(mark, sizeof(mark), "%.4000s/quiet", path_runtime());
	if (!raw_syscall(SYS_faccessat, AT_FDCWD, mark, F_OK))
		return false;
	if (raw_syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0))
		return false;
	snprintf(mark, sizeof(mark), "%.4000s/reported-%lx-%lx", path_runtime(), (unsigned long)st.st_dev,
		 (unsigned long)st.st_ino);
	fd = (int)raw_syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		raw_syscall(SYS_close, fd);
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
		raw_syscall(SYS_write, STDERR_FILENO, line,
			    snprintf(line, sizeof(line), "hcasim: %s\n", text));
	errno = saved;
}

/* Searches a program as execvp() does; "": not found. */
static const char *find_program(const char *file, char path[PATH_MAX])
{
	const char *at = getenv("PATH"), *end;

	if (!path_runtime() || strchr(file, '/'))
		return file;
	for (at = at ? at : _PATH_DEFPATH;; at = end + 1) {
		end = strchrnul(at, ':');
		snprintf(path, PATH_MAX, "%.*s%s%.255s", (int)(end - at), at, end == at ? "" : "/", file);
		if (!raw_syscall(SYS_faccessat, AT_FDCWD, path, X_OK))
			return path;
		if (!*end)
			return "";
	}
}

/* ---- libc's functions ---------------------------------------------------------------------------- */

PRELOAD_API int execve(const char *path, char *const argv[], char *const envp[])
{
	struct room room[2];
	int ret;

	tell(path, envp);
	ret = (int)raw_syscall(SYS_execve, path, argv, amended(envp, path, room));
	give_back(room, 2);
	return ret;
}

PRELOAD_API int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

PRELOAD_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	char path[PATH_MAX];
	const char *program = find_program(file, path);
	struct room room[2];
	int ret;

	tell(program, envp);
	ret = next_execvpe()(file, argv, amended(envp, program, room));
	give_back(room, 2);
	return ret;
}

PRELOAD_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

PRELOAD_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct room room[2];
	char path[32];
	int ret;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	tell(path, envp);
	ret = next_fexecve()(fd, argv, amended(envp, path, room));
	give_back(room, 2);
	return ret;
}

typedef int exec_fn(const char *path, char *const argv[], char *const envp[]);

/*
 * execl() and related functions: `arg` and the following arguments up to NULL; with `has_envp`, then the environment.
 */
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
	give_back(&room, 1);
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

static const char *same(const char *path, char room[PATH_MAX])
{
	return path;
}

#define SPAWN(name, find)                                                                                    \
	PRELOAD_API int name(pid_t *restrict pid, const char *restrict file,                                 \
			     const posix_spawn_file_actions_t *restrict actions,                             \
			     const posix_spawnattr_t *restrict attr, char *const argv[restrict],             \
			     char *const envp[restrict])                                                     \
	{                                                                                                    \
		char path[PATH_MAX];                                                                         \
		const char *program = find(file, path);                                                      \
		struct room room[2];                                                                         \
		int ret;                                                                                     \
		tell(program, envp);                                                                         \
		ret = REAL(name)(pid, file, actions, attr, argv, amended(envp, program, room));              \
		give_back(room, 2);                                                                          \
		return ret;                                                                                  \
	}
SPAWN(posix_spawn, same)
SPAWN(posix_spawnp, find_program)
