// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reasons why there is no loader, or why it ignores LD_PRELOAD (ld.so(8), "Secure-execution mode"). */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/preload/obstacle.h"

#define HEAD 4096 /* bytes of a program that are read: its program headers follow the ELF header */

/* If the program is the loader itself, it needs no other. */
static bool is_loader(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return !strncmp(name, "ld-", 3) || !strncmp(name, "ld.", 3);
}

static bool has_loader(const uint8_t *head, size_t have, const Elf64_Ehdr *elf)
{
	Elf64_Phdr p;

	for (unsigned int i = 0; i < elf->e_phnum; i++) {
		uint64_t at = elf->e_phoff + (uint64_t)i * elf->e_phentsize;

		if (at > have || have - at < sizeof(p))
			return true; /* unusual layout: assume no obstacle */
		memcpy(&p, head + at, sizeof(p));
		if (p.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static const char *of_file(const char *path)
{
	int fd = (int)raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	uint8_t head[HEAD];
	Elf64_Ehdr elf;
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = raw_syscall(SYS_read, fd, head, sizeof(head));
	raw_syscall(SYS_close, fd);
	if (n < (ssize_t)sizeof(elf) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return NULL; /* a script, or not executable */
	memcpy(&elf, head, sizeof(elf));
	if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != EM_X86_64)
		return "is not a program for 64-bit x86";
	if (has_loader(head, (size_t)n, &elf) || is_loader(path))
		return NULL;
	return "is statically linked";
}

/* Same decision about secure execution as Linux's cap_bprm_creds_from_file(). */
static const char *of_privilege(const char *path)
{
	struct statvfs fs;
	struct stat st;

	if (getuid() != geteuid() || getgid() != getegid())
		return "is started with a real and another effective user or group ID";
	if (raw_syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) > 0 || (!statvfs(path, &fs) && (fs.f_flag & ST_NOSUID)))
		return NULL;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return "is a set-user-ID program of another user";
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid())
		return "is a set-group-ID program of another group";
	if (getuid() && raw_syscall(SYS_getxattr, path, "security.capability", NULL, 0) > 0)
		return "has file capabilities";
	return NULL;
}

PRELOAD_API bool hcasim_obstacle(const char *path, char *text, size_t size)
{
	int saved = errno;
	const char *reason = of_file(path);

	if (!reason)
		reason = of_privilege(path);
	errno = saved;
	if (reason)
		snprintf(text, size,
			 "'%s' %s: no library can be preloaded into it, and it will not see the simulated "
			 "adapters",
			 path, reason);
	return reason;
}
