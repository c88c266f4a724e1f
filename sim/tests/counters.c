// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ports' counters in sysfs are up to date whenever they are read. Started by `hcasim run --hcas 2`. */
#include "link.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#define FOLDER "/sys/class/infiniband/hcasim%d/ports/1/counters"

static struct link l;
static struct pair pair;

/* Writes of one packet each, one after the other. */
static void write_packets(unsigned int n)
{
	while (n--) {
		pair_post_write(&pair, 0, 8);
		CHECK(link_wait(pair.cq[0]).status == IBV_WC_SUCCESS);
	}
}

static void compare(const char *how, int adapter, const char *name, const char *text, unsigned long expected)
{
	unsigned long value = strtoul(text, NULL, 10);

	if (value == expected)
		return;
	fprintf(stderr, "%s: %s of hcasim%d is %lu, not %lu\n", how, name, adapter, value, expected);
	exit(1);
}

static void read_file(int adapter, const char *name, unsigned long expected)
{
	char path[128], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), FOLDER "/%s", adapter, name);
	file = fopen(path, "r");
	CHECK(file && fgets(text, sizeof(text), file));
	fclose(file);
	compare("fopen", adapter, name, text, expected);
}

static void read_number(int fd, const char *how, int adapter, const char *name, unsigned long expected)
{
	char text[32] = "";

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	compare(how, adapter, name, text, expected);
}

static void read_descriptor(int adapter, const char *name, unsigned long expected)
{
	char path[128];

	snprintf(path, sizeof(path), FOLDER "/%s", adapter, name);
	read_number(open(path, O_RDONLY), "open", adapter, name, expected);
}

/* Opens the folder first, as programs that list the counters do. */
static void read_in_folder(int adapter, const char *name, unsigned long expected)
{
	char path[128];
	DIR *folder;

	snprintf(path, sizeof(path), FOLDER, adapter);
	folder = opendir(path);
	CHECK(folder);
	read_number(openat(dirfd(folder), name, O_RDONLY), "openat", adapter, name, expected);
	closedir(folder);
}

int main(void)
{
	static void (*const ways[])(int, const char *, unsigned long) = {read_file, read_descriptor,
									 read_in_folder};
	unsigned long sent = 0;

	link_open(&l, 4096);
	pair_open(&pair, &l);
	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		write_packets(i + 3);
		sent += i + 3;
		ways[i](0, "port_xmit_packets", sent);
		ways[i](1, "port_rcv_packets", sent);
	}
	return 0;
}
