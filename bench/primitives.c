/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ceilings: what this machine needs for one trapped store and for one process_vm call. Each figure is
 * the minimum of many short bursts, because other load can only increase it.
 */
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BURSTS 200
#define BURST  32

typedef ssize_t vm_call(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
			unsigned long);

static double least(double a, double b)
{
	return a && a < b ? a : b;
}

/* Arming a CQ is one store to the BAR, trapped by the preload library's handler, plus a few nanoseconds. */
static double trapped_store(void)
{
	double best = 0;
	struct ibv_cq *cq;
	struct link l;

	link_open(&l, BUF_SIZE);
	cq = link_create_cq(&l, 0, LINK_SQ_DEPTH);
	for (int b = 0; b < BURSTS; b++) {
		double start = now_ns();

		for (int i = 0; i < BURST; i++)
			if (ibv_req_notify_cq(cq, 0))
				die("ibv_req_notify_cq");
		best = least(best, (now_ns() - start) / BURST);
	}
	return best;
}

/* One call moves `pieces` pieces of `size` bytes each. */
static double process_vm(vm_call *call, pid_t pid, char *mine, char *theirs, size_t size, int pieces)
{
	struct iovec local[16], remote[16];
	double best = 0;

	for (int i = 0; i < pieces; i++) {
		local[i] = (struct iovec){mine + i * size, size};
		remote[i] = (struct iovec){theirs + i * size, size};
	}
	for (int b = 0; b < BURSTS; b++) {
		double start = now_ns();

		for (int i = 0; i < BURST; i++)
			if (call(pid, local, pieces, remote, pieces, 0) != (ssize_t)(size * pieces))
				die("process_vm_readv or process_vm_writev");
		best = least(best, (now_ns() - start) / BURST);
	}
	return best;
}

static void measure_process_vm(pid_t pid, char *mine, char *theirs)
{
	printf(", \"readv_64\": %.0f", process_vm(process_vm_readv, pid, mine, theirs, 64, 1));
	printf(", \"readv_1024\": %.0f", process_vm(process_vm_readv, pid, mine, theirs, 1024, 1));
	printf(", \"readv_4096\": %.0f", process_vm(process_vm_readv, pid, mine, theirs, 4096, 1));
	printf(", \"writev_64\": %.0f", process_vm(process_vm_writev, pid, mine, theirs, 64, 1));
	printf(", \"writev_4096\": %.0f", process_vm(process_vm_writev, pid, mine, theirs, 4096, 1));
	printf(", \"readv_16x64\": %.0f", process_vm(process_vm_readv, pid, mine, theirs, 64, 16));
}

void bench_primitives(void)
{
	char *mine =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	char *theirs = aligned_alloc(4096, 4096);
	int alive[2];
	pid_t pid;

	if (mine == MAP_FAILED || !theirs || pipe(alive))
		die("memory for the measurement");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) { /* holds memory until the parent's end of the pipe closes */
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		close(alive[1]);
		for (int i = 0; i < 4096; i++)
			((volatile char *)theirs)[i] = i;
		_exit(read(alive[0], mine, 1) != 0);
	}
	close(alive[0]);
	printf("{\"trapped_store\": %.0f", trapped_store());
	measure_process_vm(pid, mine, theirs);
	printf("}\n");
	close(alive[1]);
	waitpid(pid, NULL, 0);
	munmap(mine, 8192);
	free(theirs);
}
