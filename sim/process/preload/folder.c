// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Directory listings: of the machine's own folders, and of /sys/class/net, with its interfaces after the host's. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <fcntl.h>

#include "process/preload/preload.h"
#include "process/net/netif.h"

#define NET "/sys/class/net"

/* ---- Streams of /sys/class/net -------------------------------------------------------------------- */

struct listing { /* a stream of a host folder, and the position of its reader in ours */
	struct listing *next;
	DIR *dir;
	unsigned int at, num;
	struct netif net[NETIF_MAX];
	union {
		struct dirent entry;
		struct dirent64 entry64;
	};
};
_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "one layout on 64-bit Linux");

static struct listing *listings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* By whatever name it was opened. */
static bool is_net(DIR *dir)
{
	struct stat st, net;

	return path_runtime() && !raw_syscall(SYS_fstat, dirfd(dir), &st) &&
	       !raw_syscall(SYS_newfstatat, AT_FDCWD, NET, &net, 0) && st.st_dev == net.st_dev &&
	       st.st_ino == net.st_ino;
}

static DIR *opened(DIR *dir)
{
	struct listing *l;

	if (!dir || !is_net(dir) || !(l = calloc(1, sizeof(*l))))
		return dir;
	l->dir = dir;
	l->num = netif_list(l->net);
	pthread_mutex_lock(&lock);
	l->next = listings;
	listings = l;
	pthread_mutex_unlock(&lock);
	return dir;
}

static struct listing *find(DIR *dir, bool take)
{
	struct listing **at, *l;

	if (!__atomic_load_n(&listings, __ATOMIC_RELAXED))
		return NULL;
	pthread_mutex_lock(&lock);
	for (at = &listings; *at && (*at)->dir != dir;)
		at = &(*at)->next;
	l = *at;
	if (l && take)
		*at = l->next;
	pthread_mutex_unlock(&lock);
	return l;
}

static bool host_has(const char *name)
{
	char path[sizeof(NET) + 1 + IF_NAMESIZE];

	snprintf(path, sizeof(path), NET "/%.15s", name);
	return !raw_syscall(SYS_faccessat, AT_FDCWD, path, F_OK);
}

/* After the host's last entry: those of ours whose names are not in the host's. */
static struct listing *next_own(DIR *dir)
{
	struct listing *l = find(dir, false);

	while (l && l->at < l->num) {
		const struct netif *n = &l->net[l->at++];

		if (host_has(n->name))
			continue;
		memset(&l->entry, 0, sizeof(l->entry));
		l->entry.d_ino = n->index;
		l->entry.d_off = INT64_MAX;
		l->entry.d_reclen = sizeof(l->entry);
		l->entry.d_type = DT_LNK;
		strcpy(l->entry.d_name, n->name);
		return l;
	}
	return NULL;
}

PRELOAD_API struct dirent *readdir(DIR *dir)
{
	struct dirent *entry = REAL(readdir)(dir);
	struct listing *own = entry ? NULL : next_own(dir);

	return own ? &own->entry : entry;
}

PRELOAD_API struct dirent64 *readdir64(DIR *dir)
{
	struct dirent64 *entry = REAL(readdir64)(dir);
	struct listing *own = entry ? NULL : next_own(dir);

	return own ? &own->entry64 : entry;
}

PRELOAD_API void rewinddir(DIR *dir)
{
	struct listing *l = find(dir, false);

	REAL(rewinddir)(dir);
	if (l)
		l->at = 0;
}

PRELOAD_API int closedir(DIR *dir)
{
	free(find(dir, true));
	return REAL(closedir)(dir);
}

PRELOAD_API DIR *fdopendir(int fd)
{
	return opened(REAL(fdopendir)(fd));
}

PRELOAD_API DIR *opendir(const char *path)
{
	struct path p;
	const char *real = path_lookup(path, &p);

	file_show(&p);
	return opened(REAL(opendir)(real));
}

/* ---- scandir(), which opens by itself ------------------------------------------------------------- */

typedef int scan_filter(const struct dirent *);
typedef int scan_compare(const struct dirent **, const struct dirent **);

PRELOAD_API int scandir(const char *restrict path, struct dirent ***restrict list, scan_filter *filter,
			scan_compare *compare)
{
	struct path p;

	return REAL(scandir)(path_lookup(path, &p), list, filter, compare);
}

typedef int scan_filter64(const struct dirent64 *);
typedef int scan_compare64(const struct dirent64 **, const struct dirent64 **);

PRELOAD_API int scandir64(const char *restrict path, struct dirent64 ***restrict list, scan_filter64 *filter,
			  scan_compare64 *compare)
{
	struct path p;

	return REAL(scandir64)(path_lookup(path, &p), list, filter, compare);
}
