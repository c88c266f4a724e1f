// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Directory listings: of the machine's own folders, sorted by name, since libibverbs lists adapters in this order, and
 * each file system has another; and of /sys/class/net, with the machine's interfaces after the host's.
 */
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

/* ---- Streams --------------------------------------------------------------------------------------- */

struct listing { /* a stream with entries of our own */
	struct listing *next;
	DIR *dir;
	bool in_tree;
	bool sorted; /* `own` are all entries of a folder of the machine's tree; otherwise they come after the folder's */
	size_t at, num;
	struct dirent *own;
};
_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "one layout on 64-bit Linux");

static struct listing *listings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool add(struct listing *l, const struct dirent *entry)
{
	struct dirent *own = reallocarray(l->own, l->num + 1, sizeof(*own));

	if (!own)
		return false;
	l->own = own;
	memcpy(&own[l->num++], entry, entry->d_reclen); /* which may be the last one of a buffer */
	return true;
}

/* By whatever name it was opened. */
static bool is_net(DIR *dir)
{
	struct stat st, net;

	return path_runtime() && !raw_syscall(SYS_fstat, dirfd(dir), &st) &&
	       !raw_syscall(SYS_newfstatat, AT_FDCWD, NET, &net, 0) && st.st_dev == net.st_dev &&
	       st.st_ino == net.st_ino;
}

static bool host_has(const char *name)
{
	char path[sizeof(NET) + 1 + IF_NAMESIZE];

	snprintf(path, sizeof(path), NET "/%.15s", name);
	return !raw_syscall(SYS_faccessat, AT_FDCWD, path, F_OK);
}

/* The machine's interfaces whose names are not in the host's. */
static void add_interfaces(struct listing *l)
{
	struct netif net[NETIF_MAX];
	unsigned int num = netif_list(net);

	for (unsigned int i = 0; i < num; i++) {
		struct dirent entry = {
			.d_ino = net[i].index,
			.d_off = INT64_MAX,
			.d_reclen = sizeof(entry),
			.d_type = DT_LNK,
		};

		strcpy(entry.d_name, net[i].name);
		if (!host_has(net[i].name) && !add(l, &entry))
			return;
	}
}

static int by_name(const void *a, const void *b)
{
	const struct dirent *one = a, *other = b;

	return strverscmp(one->d_name, other->d_name);
}

/* Without memory they stay in the file system's order. */
static void add_sorted(struct listing *l)
{
	struct dirent *entry;

	while ((entry = REAL(readdir)(l->dir)) && add(l, entry))
		;
	REAL(rewinddir)(l->dir);
	l->sorted = !entry;
	if (entry)
		l->num = 0;
	if (l->num)
		qsort(l->own, l->num, sizeof(*l->own), by_name);
}

static void begin(struct listing *l)
{
	l->at = l->num = 0;
	if (l->in_tree)
		add_sorted(l);
	else
		add_interfaces(l);
}

static DIR *opened(DIR *dir, bool in_tree)
{
	struct listing *l;

	if (!dir || (!in_tree && !is_net(dir)) || !(l = calloc(1, sizeof(*l))))
		return dir;
	l->dir = dir;
	l->in_tree = in_tree;
	begin(l);
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

static struct dirent *next_own(struct listing *l)
{
	return l && l->at < l->num ? &l->own[l->at++] : NULL;
}

PRELOAD_API struct dirent *readdir(DIR *dir)
{
	struct listing *l = find(dir, false);
	struct dirent *entry = l && l->sorted ? NULL : REAL(readdir)(dir);

	return entry ? entry : next_own(l);
}

PRELOAD_API struct dirent64 *readdir64(DIR *dir)
{
	struct listing *l = find(dir, false);
	struct dirent64 *entry = l && l->sorted ? NULL : REAL(readdir64)(dir);

	return entry ? entry : (struct dirent64 *)next_own(l);
}

PRELOAD_API void rewinddir(DIR *dir)
{
	struct listing *l = find(dir, false);

	REAL(rewinddir)(dir);
	if (l)
		begin(l);
}

PRELOAD_API long telldir(DIR *dir)
{
	struct listing *l = find(dir, false);

	return l && l->sorted ? (long)l->at : REAL(telldir)(dir);
}

PRELOAD_API void seekdir(DIR *dir, long at)
{
	struct listing *l = find(dir, false);

	if (l && l->sorted)
		l->at = at;
	else
		REAL(seekdir)(dir, at);
}

PRELOAD_API int closedir(DIR *dir)
{
	struct listing *l = find(dir, true);

	if (l)
		free(l->own);
	free(l);
	return REAL(closedir)(dir);
}

PRELOAD_API DIR *fdopendir(int fd)
{
	return opened(REAL(fdopendir)(fd), false);
}

PRELOAD_API DIR *opendir(const char *path)
{
	struct path p;
	const char *real = path_lookup(path, &p);

	file_show(&p);
	return opened(REAL(opendir)(real), p.kind == PATH_TREE);
}

/* ---- scandir(), which opens by itself ------------------------------------------------------------- */

typedef int scan_filter(const struct dirent *);
typedef int scan_compare(const struct dirent **, const struct dirent **);

PRELOAD_API int scandir(const char *restrict path, struct dirent ***restrict list, scan_filter *filter,
			scan_compare *compare)
{
	struct path p;
	const char *real = path_lookup(path, &p);

	return REAL(scandir)(real, list, filter, compare || p.kind != PATH_TREE ? compare : versionsort);
}

typedef int scan_filter64(const struct dirent64 *);
typedef int scan_compare64(const struct dirent64 **, const struct dirent64 **);

PRELOAD_API int scandir64(const char *restrict path, struct dirent64 ***restrict list, scan_filter64 *filter,
			  scan_compare64 *compare)
{
	struct path p;
	const char *real = path_lookup(path, &p);

	return REAL(scandir64)(real, list, filter, compare || p.kind != PATH_TREE ? compare : versionsort64);
}
