// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ports' counters in sysfs are of the moment at which they are read. Started by `hcasim run --hcas 2`. */
#include "link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER "/sys/class/infiniband/hcasim%d/ports/1/counters"

static struct link l;
static struct ibv_cq *cq[2];
static struct ibv_qp *qp[2];

static void post_write(void)
{
	struct ibv_sge sge = {(uintptr_t)l.buf[0], 8, l.mr[0]->lkey};
	struct ibv_send_wr *bad, wr = {
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_RDMA_WRITE,
					 .send_flags = IBV_SEND_SIGNALED,
					 .wr.rdma = {(uintptr_t)l.buf[1], l.mr[1]->rkey},
				 };

	errno = ibv_post_send(qp[0], &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

/* Writes of one packet each, one after the other. */
static void write_packets(unsigned int n)
{
	uint64_t id;

	while (n--) {
		post_write();
		while (!link_poll(cq[0], &id))
			;
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
	if (!file || !fgets(text, sizeof(text), file))
		die(path);
	fclose(file);
	compare("fopen", adapter, name, text, expected);
}

static void read_number(int fd, const char *how, int adapter, const char *name, unsigned long expected)
{
	char text[32] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die(how);
	close(fd);
	compare(how, adapter, name, text, expected);
}

static void read_descriptor(int adapter, const char *name, unsigned long expected)
{
	char path[128];

	snprintf(path, sizeof(path), FOLDER "/%s", adapter, name);
	read_number(open(path, O_RDONLY), "open", adapter, name, expected);
}

/* As programs do that list the counters. */
static void read_in_folder(int adapter, const char *name, unsigned long expected)
{
	char path[128];
	DIR *folder;

	snprintf(path, sizeof(path), FOLDER, adapter);
	folder = opendir(path);
	if (!folder)
		die(path);
	read_number(openat(dirfd(folder), name, O_RDONLY), "openat", adapter, name, expected);
	closedir(folder);
}

int main(void)
{
	static void (*const ways[])(int, const char *, unsigned long) = {read_file, read_descriptor,
									 read_in_folder};
	unsigned long sent = 0;

	link_open(&l, 4096);
	for (int end = 0; end < 2; end++) {
		cq[end] = link_create_cq(&l, end, LINK_SQ_DEPTH);
		qp[end] = link_create_qp(&l, end, cq[end], NULL);
	}
	link_connect(&l, qp);
	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		write_packets(i + 3);
		sent += i + 3;
		ways[i](0, "port_xmit_packets", sent);
		ways[i](1, "port_rcv_packets", sent);
	}
	return 0;
}
