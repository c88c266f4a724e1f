// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sums of four ranks by gloo over its ibverbs transport: gloo_sum DEVICE GID_INDEX FOLDER. Each rank is a process of its
 * own; the ranks find each other by files in FOLDER. Ends with status 0 if each rank has all the right sums.
 *
 * gloo has no call that waits until all that a rank has sent has arrived, and its algorithms may not be destroyed before.
 * So a rank keeps its algorithms, and ends when all ranks have their sums.
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

enum { RANKS = 4 };

using Context = std::shared_ptr<gloo::rendezvous::Context>;

template <class Algorithm>
static int count_wrong(const Context &context, int rank, size_t length)
{
	auto &values = *new std::vector<uint64_t>(length);
	for (size_t i = 0; i < length; i++)
		values[i] = (rank + 1) * (i + 1);
	(new Algorithm(context, {values.data()}, length))->run();
	int wrong = 0;
	for (size_t i = 0; i < length; i++)
		wrong += values[i] != RANKS * (RANKS + 1) / 2 * (i + 1);
	return wrong;
}

static int run_rank(int rank, char **arguments)
{
	gloo::transport::ibverbs::attr attributes = {arguments[1], 1, atoi(arguments[2])};
	auto device = gloo::transport::ibverbs::CreateDevice(attributes);
	auto &context = *new Context(new gloo::rendezvous::Context(rank, RANKS));
	gloo::rendezvous::FileStore store(arguments[3]);
	context->connectFullMesh(store, device);
	int wrong = 0;
	for (size_t length : {1, 1000, 100000}) {
		wrong += count_wrong<gloo::AllreduceRing<uint64_t>>(context, rank, length);
		wrong += count_wrong<gloo::AllreduceHalvingDoubling<uint64_t>>(context, rank, length);
	}
	printf("rank %d: %d wrong sums\n", rank, wrong);
	fflush(stdout);
	return wrong != 0;
}

/* Each rank closes `ready` when it has its sums, and waits until the others have, too: until the end of `ready`. */
int main(int count, char **arguments)
{
	int ready[2];
	char none;
	if (count != 4 || pipe(ready))
		return 2;
	for (int rank = 0; rank < RANKS; rank++) {
		if (fork() == 0) {
			int status = run_rank(rank, arguments);
			close(ready[1]);
			_exit(read(ready[0], &none, 1) ? 2 : status);
		}
	}
	close(ready[1]);
	int failed = 0;
	for (int status; wait(&status) > 0;)
		failed += status != 0;
	return failed != 0;
}
