// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two ranks: messages of many sizes in both directions, collectives, one-sided access. Every byte is checked.
 * The exit status is the number of errors; rank 0 prints what was done.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIZE (1 << 20)
#define CELLS    1024

static int rank, ranks, errors;

static unsigned char pattern(int from, size_t size, size_t at)
{
	return (unsigned char)(at * 7 + size * 13 + (size_t)from * 101 + 1);
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "rank %d: %s\n", rank, what);
	errors++;
}

/* Every rank sends to the next rank and receives from the previous one. */
static void exchange(unsigned char *out, unsigned char *in, size_t size)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, count;
	MPI_Status status;
	size_t at = 0;

	for (size_t i = 0; i < size; i++)
		out[i] = pattern(rank, size, i);
	memset(in, 0, size + 1);
	MPI_Sendrecv(out, (int)size, MPI_BYTE, next, (int)(size % 1000), in, (int)size + 1, MPI_BYTE, before,
		     (int)(size % 1000), MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &count);
	check((size_t)count == size && status.MPI_SOURCE == before, "Sendrecv: count or source");
	while (at < size && in[at] == pattern(before, size, at))
		at++;
	check(at == size && !in[size], "Sendrecv: data");
}

static int messages(void)
{
	unsigned char *out = malloc(MAX_SIZE + 1), *in = malloc(MAX_SIZE + 1);
	int n = 0;

	for (size_t size = 0; size <= MAX_SIZE; size = size ? size * 2 : 1, n++)
		exchange(out, in, size);
	for (size_t size = 4093; size <= 4099; size++, n++)
		exchange(out, in, size);
	free(out);
	free(in);
	return n;
}

static void collectives(void)
{
	static double mine[CELLS], sum[CELLS];
	int *all = calloc((size_t)ranks, sizeof(*all)), right = 1;

	for (int i = 0; i < CELLS; i++)
		mine[i] = i * (rank + 1);
	MPI_Allreduce(mine, sum, CELLS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < CELLS; i++)
		right &= sum[i] == (double)i * ranks * (ranks + 1) / 2;
	check(right, "Allreduce");
	MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < ranks; i++)
		check(all[i] == i, "Allgather");
	free(all);
}

/* Puts into the next rank's window, gets the data in the previous rank's window, counts with atomics. */
static void one_sided(void)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, right = 1;
	long *base, put[CELLS], got[CELLS], one = 1, old, counted;
	MPI_Win win;

	/*
	 * CELLS and a counter, padded to a multiple of 16 bytes: with another size, over shared memory in
	 * MPICH 4.0.2, the next rank's part of a window starts at a different address for its owner than for
	 * the ranks that put.
	 */
	MPI_Win_allocate((CELLS + 2) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
			 &win);
	for (int i = 0; i <= CELLS; i++)
		base[i] = 0;
	for (int i = 0; i < CELLS; i++)
		put[i] = 1000 * rank + i;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	MPI_Put(put, CELLS, MPI_LONG, next, 0, CELLS, MPI_LONG, win);
	MPI_Win_flush(next, win);
	MPI_Get(got, CELLS, MPI_LONG, next, 0, CELLS, MPI_LONG, win);
	for (int i = 0; i < 100; i++)
		MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, CELLS, MPI_SUM, win);
	MPI_Win_flush_all(win);
	check(!memcmp(put, got, sizeof(put)), "Get: not what was put");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Fetch_and_op(NULL, &counted, MPI_LONG, 0, CELLS, MPI_NO_OP, win);
	MPI_Win_flush(0, win);
	check(counted == 100L * ranks, "Fetch_and_op: count");
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < CELLS; i++)
		right &= base[i] == 1000 * before + i;
	check(right, "Put: window");
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	int n;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	n = messages();
	collectives();
	one_sided();
	MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank)
		printf("%d ranks, %d messages, %d errors\n", ranks, n, errors);
	MPI_Finalize();
	return errors != 0;
}
