// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The loader searches LD_LIBRARY_PATH before DT_RUNPATH (ld.so(8)), so a program that was linked to another rdma-core
 * would load ours, and fail because of missing symbol versions.
 *
 * The providers of rdma-core belong to one libibverbs: they are next to it in a build folder, and in its sub-folder
 * libibverbs where it is installed.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/preload/verbs.h"

#define MAX_SEGMENTS 64
#define MAX_DYNAMIC  512
#define ORIGIN       "$ORIGIN"
#define ORIGIN_ALSO  "${ORIGIN}"

static bool read_at(int fd, uint64_t at, void *to, size_t size)
{
	return raw_syscall(SYS_pread64, fd, to, size, at) == (ssize_t)size;
}

/* Offset in the file of an address of the program; 0: none. */
static uint64_t file_offset(int fd, const Elf64_Ehdr *elf, uint64_t address)
{
	Elf64_Phdr p;

	for (unsigned int i = 0; i < elf->e_phnum && i < MAX_SEGMENTS; i++) {
		if (!read_at(fd, elf->e_phoff + i * sizeof(p), &p, sizeof(p)))
			return 0;
		if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
			return p.p_offset + (address - p.p_vaddr);
	}
	return 0;
}

static bool find_dynamic(int fd, const Elf64_Ehdr *elf, uint64_t *at)
{
	Elf64_Phdr p;

	for (unsigned int i = 0; i < elf->e_phnum && i < MAX_SEGMENTS; i++) {
		if (!read_at(fd, elf->e_phoff + i * sizeof(p), &p, sizeof(p)))
			return false;
		*at = p.p_offset;
		if (p.p_type == PT_DYNAMIC)
			return true;
	}
	return false;
}

/* The folders of DT_RUNPATH, or else of DT_RPATH; false: none. */
static bool run_path(int fd, char *text, size_t size)
{
	uint64_t at, strings = 0, run = 0, r = 0;
	Elf64_Ehdr elf;
	Elf64_Dyn d;
	ssize_t n;

	if (!read_at(fd, 0, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 || !find_dynamic(fd, &elf, &at))
		return false;
	for (unsigned int i = 0; i < MAX_DYNAMIC; i++, at += sizeof(d)) {
		if (!read_at(fd, at, &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			strings = file_offset(fd, &elf, d.d_un.d_ptr);
		else if (d.d_tag == DT_RUNPATH)
			run = d.d_un.d_val;
		else if (d.d_tag == DT_RPATH)
			r = d.d_un.d_val;
	}
	if (!strings || !(run || r))
		return false;
	n = raw_syscall(SYS_pread64, fd, text, size - 1, strings + (run ? run : r));
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The folder of the program, after resolving links. */
static void origin_of(int fd, char *folder, size_t size)
{
	char link[32], *end;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = raw_syscall(SYS_readlinkat, AT_FDCWD, link, folder, size - 1);
	folder[n > 0 ? n : 0] = '\0';
	end = strrchr(folder, '/');
	if (end)
		*end = '\0';
}

static bool has_verbs(const char *folder, size_t length, const char *origin)
{
	char path[2 * PATH_MAX];
	size_t skip = 0;

	if (!strncmp(folder, ORIGIN, strlen(ORIGIN)))
		skip = strlen(ORIGIN);
	else if (!strncmp(folder, ORIGIN_ALSO, strlen(ORIGIN_ALSO)))
		skip = strlen(ORIGIN_ALSO);
	if (!length || skip > length)
		return false;
	snprintf(path, sizeof(path), "%s%.*s/libibverbs.so.1", skip ? origin : "", (int)(length - skip),
		 folder + skip);
	return !raw_syscall(SYS_faccessat, AT_FDCWD, path, R_OK);
}

PRELOAD_API bool hcasim_brings_verbs(const char *path)
{
	char folders[PATH_MAX], origin[PATH_MAX];
	int saved = errno, fd = (int)raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	bool found = false;

	if (fd >= 0 && run_path(fd, folders, sizeof(folders))) {
		origin_of(fd, origin, sizeof(origin));
		for (const char *at = folders, *end; !found; at = end + 1) {
			end = strchrnul(at, ':');
			found = has_verbs(at, (size_t)(end - at), origin);
			if (!*end)
				break;
		}
	}
	if (fd >= 0)
		raw_syscall(SYS_close, fd);
	errno = saved;
	return found;
}

/* ---- rdma-core's providers, for adapters of other families ---- */

#define OWN  "hcasim"
#define OURS "/lib" OWN /* ends the first entry of `hcasim run` in RDMAV_DRIVERS */

/* It may be a link to another folder's file. */
bool verbs_folder(const void *function, char *folder)
{
	char path[PATH_MAX];
	Dl_info file;

	if (!function || !dladdr(function, &file) || !strchr(file.dli_fname, '/'))
		return false;
	snprintf(path, sizeof(path), "%s", file.dli_fname);
	*strrchr(path, '/') = '\0';
	return realpath(path[0] ? path : "/", folder);
}

static bool is_loaded(const char *file)
{
	void *handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
	return handle;
}

/* A file of a driver as RDMAV_DRIVERS names it: one that is loaded, if there is one. `file` may be NULL. */
static bool find_provider(const char *driver, char *file, size_t size, bool *loaded)
{
	char pattern[PATH_MAX + 20];
	glob_t found;
	bool any;

	snprintf(pattern, sizeof(pattern), "%s-rdmav*.so", driver);
	any = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
	for (size_t i = 0; file && any && i < found.gl_pathc && !*loaded; i++) {
		*loaded = is_loaded(found.gl_pathv[i]);
		snprintf(file, size, "%s", found.gl_pathv[i]);
	}
	globfree(&found);
	return any;
}

bool verbs_provider(const char *folder, const char *name, char *file, size_t size, bool *loaded)
{
	const char *ours = getenv("HCASIM_PROVIDER");
	char driver[PATH_MAX];

	*loaded = false;
	snprintf(driver, sizeof(driver), "%.3000s/lib%s", folder, name);
	if (find_provider(driver, file, size, loaded))
		return true;
	snprintf(driver, sizeof(driver), "%.3000s/libibverbs/lib%s", folder, name);
	if (find_provider(driver, file, size, loaded))
		return true;
	return ours && !strcmp(name, OWN) && find_provider(ours, file, size, loaded);
}

/* Adds FOLDER/libPROVIDER to a list of drivers, if it is there and not yet in the list. */
static void add_provider(char *list, size_t size, const char *folder, const char *provider)
{
	const size_t used = strlen(list);
	char driver[PATH_MAX];

	snprintf(driver, sizeof(driver), "%.3000s/lib%s", folder, provider);
	if (!strstr(list, driver) && find_provider(driver, NULL, 0, NULL))
		snprintf(list + used, size - used, ":%s", driver);
}

/* Those of the machine's adapters. */
static void add_providers(char *list, size_t size, const char *folder)
{
	char path[PATH_MAX], provider[PROTO_NAME_MAX];
	FILE *adapters;

	snprintf(path, sizeof(path), "%.4000s/" PROTO_PROVIDERS_NAME, path_runtime());
	adapters = fopen(path, "re");
	while (adapters && fscanf(adapters, "%*s %63s %*[^\n]", provider) == 1)
		add_provider(list, size, folder, provider);
	if (adapters)
		fclose(adapters);
}

/* Unless the user names drivers. A libhcasim in the folder of libibverbs takes precedence over that of this build. */
__attribute__((constructor)) static void name_providers(void)
{
	const char *drivers = getenv("RDMAV_DRIVERS"), *ours = getenv("HCASIM_PROVIDER");
	char folder[PATH_MAX], installed[PATH_MAX], list[4 * PATH_MAX];
	size_t first;

	if (!path_runtime() || !drivers || !ours)
		return;
	first = strcspn(drivers, ":");
	if (first < strlen(OURS) || strncmp(drivers + first - strlen(OURS), OURS, strlen(OURS)) != 0 ||
	    !verbs_folder(dlsym(RTLD_NEXT, "ibv_get_device_list"), folder))
		return;
	snprintf(list, sizeof(list), "%.3000s" OURS, folder);
	if (!find_provider(list, NULL, 0, NULL))
		snprintf(list, sizeof(list), "%.3000s", ours);
	add_providers(list, sizeof(list), folder);
	snprintf(installed, sizeof(installed), "%.4000s/libibverbs", folder);
	add_providers(list, sizeof(list), installed);
	setenv("RDMAV_DRIVERS", list, 1);
	setenv("IBV_DRIVERS", list, 1);
}
