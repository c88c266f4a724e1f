// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Addresses of the simulated interfaces are in the ports' GID tables; everything else is in /sys/class/net. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/net/netif.h"

/* Reads the first line of the file `fmt` in the machine's /sys. */
__attribute__((format(printf, 3, 4))) static bool line_of(char *text, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	ssize_t n;
	int fd, at;

	at = snprintf(path, sizeof(path), "%.3000s/" PROTO_SYSFS_NAME "/class/", path_runtime());
	va_start(ap, fmt);
	vsnprintf(path + at, sizeof(path) - (size_t)at, fmt, ap);
	va_end(ap);
	fd = (int)raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = raw_syscall(SYS_read, fd, text, size - 1);
	raw_syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return *text;
}

static unsigned int number_of(const char *name, const char *attr)
{
	char text[32];

	return line_of(text, sizeof(text), "net/%s/%s", name, attr) ? (unsigned int)strtoul(text, NULL, 0)
								    : 0;
}

bool netif_device(unsigned int number, char *name, size_t size)
{
	return line_of(name, size, "infiniband_verbs/uverbs%u/ibdev", number);
}

/* The verbs device of the interface. */
static bool device_of(const char *name, char *device, size_t size)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%.3000s/" PROTO_SYSFS_NAME "/class/net/%s/device/infiniband",
		 path_runtime(), name);
	dir = REAL(opendir)(path);
	*device = '\0';
	while (dir && (entry = REAL(readdir)(dir)))
		if (entry->d_name[0] != '.')
			snprintf(device, size, "%s", entry->d_name);
	if (dir)
		REAL(closedir)(dir);
	return *device;
}

static void fill_addrs(struct netif *n)
{
	const unsigned int port = number_of(n->name, "dev_port") + 1;
	char device[64], text[INET6_ADDRSTRLEN], type[16], owner[IF_NAMESIZE];

	if (!device_of(n->name, device, sizeof(device)))
		return;
	line_of(n->firmware, sizeof(n->firmware), "infiniband/%s/fw_ver", device);
	line_of(n->driver, sizeof(n->driver), "infiniband/%s/hca_type", device);
	for (unsigned int i = 0; n->num_addrs < NETIF_ADDR_MAX; i++) {
		if (!line_of(text, sizeof(text), "infiniband/%s/ports/%u/gids/%u", device, port, i))
			return;
		/* Each address has one entry of RoCEv2. Those that are not in use have no type. */
		if (!line_of(type, sizeof(type), "infiniband/%s/ports/%u/gid_attrs/types/%u", device, port,
			     i) ||
		    strcmp(type, "RoCE v2") ||
		    !line_of(owner, sizeof(owner), "infiniband/%s/ports/%u/gid_attrs/ndevs/%u", device, port,
			     i))
			continue;
		if (!strcmp(owner, n->name) && inet_pton(AF_INET6, text, &n->addr[n->num_addrs]) == 1)
			n->num_addrs++;
	}
}

static void fill_bus(struct netif *n)
{
	char path[PATH_MAX], target[256];
	ssize_t len;

	snprintf(path, sizeof(path), "%.3000s/" PROTO_SYSFS_NAME "/class/net/%s/device", path_runtime(),
		 n->name);
	len = raw_syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof(target) - 1);
	target[len > 0 ? len : 0] = '\0';
	snprintf(n->bus, sizeof(n->bus), "%.31s", strrchr(target, '/') ? strrchr(target, '/') + 1 : "");
}

static bool parse_mac(const char *text, uint8_t mac[6])
{
	char *end = (char *)text;

	for (unsigned int i = 0; i < 6; i++) {
		mac[i] = (uint8_t)strtoul(i ? end + 1 : end, &end, 16);
		if (*end != (i < 5 ? ':' : '\0'))
			return false;
	}
	return true;
}

bool netif_named(const char *name, struct netif *n)
{
	char text[32];

	if (!path_runtime() || !*name || strlen(name) >= IF_NAMESIZE || strchr(name, '/') || name[0] == '.')
		return false;
	memset(n, 0, sizeof(*n));
	if (!line_of(text, sizeof(text), "net/%s/address", name) || !parse_mac(text, n->mac))
		return false;
	strcpy(n->name, name);
	n->index = number_of(name, "ifindex");
	n->mtu = number_of(name, "mtu");
	n->speed = number_of(name, "speed");
	n->flags = number_of(name, "flags");
	n->flags |= n->flags & IFF_UP ? IFF_RUNNING : 0;
	fill_addrs(n);
	fill_bus(n);
	return true;
}

static int by_index(const void *a, const void *b)
{
	const struct netif *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

unsigned int netif_list(struct netif list[NETIF_MAX])
{
	char path[PATH_MAX];
	struct dirent *entry;
	unsigned int n = 0;
	DIR *dir;

	if (!path_runtime())
		return 0;
	snprintf(path, sizeof(path), "%.3000s/" PROTO_SYSFS_NAME "/class/net", path_runtime());
	dir = REAL(opendir)(path);
	while (dir && n < NETIF_MAX && (entry = REAL(readdir)(dir)))
		n += netif_named(entry->d_name, &list[n]);
	if (dir)
		REAL(closedir)(dir);
	qsort(list, n, sizeof(list[0]), by_index);
	return n;
}

bool netif_numbered(unsigned int index, struct netif *found)
{
	struct netif list[NETIF_MAX];

	for (unsigned int i = 0, n = netif_list(list); i < n; i++) {
		if (list[i].index == index) {
			*found = list[i];
			return true;
		}
	}
	return false;
}

unsigned int netif_prefix(const struct in6_addr *addr)
{
	return IN6_IS_ADDR_V4MAPPED(addr) ? 24 : 64;
}

bool netif_v4(const struct netif *n, struct in_addr *addr)
{
	for (unsigned int i = 0; i < n->num_addrs; i++) {
		if (IN6_IS_ADDR_V4MAPPED(&n->addr[i])) {
			memcpy(addr, n->addr[i].s6_addr + 12, 4);
			return true;
		}
	}
	return false;
}

/* ---- /proc/net ------------------------------------------------------------------------------------ */

static void dev_lines(int fd, const struct netif *n)
{
	/* Received, then sent: bytes packets errs drop ... The adapters' traffic is in the ports' counters. */
	dprintf(fd, "%6s: %7u %7u %4u %4u %4u %5u %10u %9u %8u %7u %4u %4u %4u %5u %7u %10u\n", n->name, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void inet6_lines(int fd, const struct netif *n)
{
	for (unsigned int i = 0; i < n->num_addrs; i++) {
		if (IN6_IS_ADDR_V4MAPPED(&n->addr[i]))
			continue;
		for (unsigned int b = 0; b < 16; b++)
			dprintf(fd, "%02x", n->addr[i].s6_addr[b]);
		/* index, prefix length, scope (IPV6_ADDR_LINKLOCAL), flags (IFA_F_PERMANENT) */
		dprintf(fd, " %02x %02x 20 80 %8s\n", n->index, netif_prefix(&n->addr[i]), n->name);
	}
}

static void copy_file(int to, const char *path)
{
	int from = (int)raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	char buf[4096];
	ssize_t n;

	while (from >= 0 && (n = raw_syscall(SYS_read, from, buf, sizeof(buf))) > 0)
		if (raw_syscall(SYS_write, to, buf, n) != n)
			break;
	if (from >= 0)
		raw_syscall(SYS_close, from);
}

int netif_proc(const char *path)
{
	struct netif list[NETIF_MAX];
	void (*lines)(int, const struct netif *);
	int fd;

	if (!path_runtime() || strncmp(path, "/proc/net/", 10) != 0)
		return -1;
	if (!strcmp(path, "/proc/net/dev"))
		lines = dev_lines;
	else if (!strcmp(path, "/proc/net/if_inet6"))
		lines = inet6_lines;
	else
		return -1;
	fd = memfd_create(path, MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	copy_file(fd, path);
	for (unsigned int i = 0, n = netif_list(list); i < n; i++)
		lines(fd, &list[i]);
	lseek(fd, 0, SEEK_SET);
	return fd;
}
