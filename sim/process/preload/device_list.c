// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_get_device_list(): for an adapter of the machine that is not in the list, a message says why. libibverbs does not
 * say it if no provider takes the adapter.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/preload/verbs.h"

#undef ibv_get_device_list
#define NAME "ibv_get_device_list"

typedef struct ibv_device **list_function(int *num_devices);

struct adapter { /* a line of PROTO_PROVIDERS_NAME */
	char name[PROTO_NAME_MAX], provider[PROTO_NAME_MAX], ids[128];
};

/* That of a libibverbs that came with dlopen() is in the scope of its caller alone. NULL: there is none. */
static list_function *find_real(const void *caller)
{
	void *function = dlsym(RTLD_NEXT, NAME), *handle;
	Dl_info file;

	if (function || !dladdr(caller, &file))
		return (list_function *)function;
	handle = dlopen(file.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		function = dlsym(handle, NAME);
		dlclose(handle);
	}
	return (list_function *)function;
}

static bool is_listed(struct ibv_device **list, const char *name)
{
	for (; *list; list++)
		if (!strcmp((*list)->name, name))
			return true;
	return false;
}

static void say(const struct adapter *a, const char *why)
{
	char line[4 * PATH_MAX];
	int n = snprintf(line, sizeof(line), "hcasim: pid %d: %s is not in the device list: %s\n",
			 (int)getpid(), a->name, why);

	if (n > 0 && raw_syscall(SYS_write, STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

static void explain(const struct adapter *a, const char *folder)
{
	const char *drivers = getenv("RDMAV_DRIVERS");
	char why[3 * PATH_MAX], file[PATH_MAX];
	bool loaded;

	if (!verbs_provider(folder, a->provider, file, sizeof(file), &loaded))
		snprintf(why, sizeof(why),
			 "%s/libibverbs.so.1 has no provider '%s': build it in the same rdma-core, and put "
			 "lib%s-rdmavNN.so into its folder, or into libibverbs/ there",
			 folder, a->provider, a->provider);
	else if (!loaded)
		snprintf(why, sizeof(why),
			 "libibverbs has not loaded %s: LD_DEBUG=libs says why; RDMAV_DRIVERS is '%s'", file,
			 drivers ? drivers : "");
	else
		snprintf(why, sizeof(why),
			 "%s does not take a device with this name, %s: see its match table", file, a->ids);
	say(a, why);
}

/* A message for each provider. */
static void explain_missing(struct ibv_device **list, const void *real)
{
	char path[PATH_MAX], folder[PATH_MAX], last[PROTO_NAME_MAX] = "";
	struct adapter a;
	FILE *file;

	snprintf(path, sizeof(path), "%.4000s/quiet", path_runtime());
	if (!raw_syscall(SYS_faccessat, AT_FDCWD, path, F_OK) || !verbs_folder(real, folder))
		return;
	snprintf(path, sizeof(path), "%.4000s/" PROTO_PROVIDERS_NAME, path_runtime());
	file = fopen(path, "re");
	while (file && fscanf(file, "%63s %63s %127[^\n]", a.name, a.provider, a.ids) == 3) {
		if (is_listed(list, a.name) || !strcmp(last, a.provider))
			continue;
		explain(&a, folder);
		strcpy(last, a.provider);
	}
	if (file)
		fclose(file);
}

PRELOAD_API struct ibv_device **ibv_get_device_list(int *num_devices)
{
	static bool looked; /* a program may list the devices often */
	list_function *real = find_real(__builtin_return_address(0));
	struct ibv_device **list;
	int saved;

	if (!real) {
		errno = ENOSYS;
		return NULL;
	}
	list = real(num_devices);
	saved = errno;
	if (list && path_runtime() && !__atomic_exchange_n(&looked, true, __ATOMIC_RELAXED))
		explain_missing(list, (const void *)real);
	errno = saved;
	return list;
}
