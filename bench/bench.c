/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static uint64_t number(const char *name, const char *text, uint64_t max)
{
	char *rest;
	uint64_t value = strtoull(text, &rest, 10);

	if (!*text || *rest || !value || value > max) {
		fprintf(stderr, "hcasim-bench: %s is '%s': give 1..%llu\n", name, text,
			(unsigned long long)max);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "primitives") && argc == 2) {
		bench_primitives();
	} else if (!strcmp(what, "qps") && argc == 3) {
		bench_qps(number("COUNT", argv[2], 4096));
	} else if ((!strcmp(what, "write") || !strcmp(what, "read")) && argc == 5) {
		bench_post(*what == 'w' ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			   number("SIZE", argv[2], BUF_SIZE), number("BATCH", argv[3], LINK_SQ_DEPTH),
			   number("WQES", argv[4], 1000000000));
	} else {
		fprintf(stderr, "usage: hcasim-bench write|read SIZE BATCH WQES\n"
				"       hcasim-bench qps COUNT\n"
				"       hcasim-bench primitives\n");
		return 2;
	}
	return 0;
}
