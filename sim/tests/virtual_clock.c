// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program of one thread that drives both ends of a connection, for the virtual clock: accesses and polls in an order
 * that depends on what it finds in memory. "ping_pong": only one after the other. "threads": four threads, each with a
 * context and a connection of its own. "shared": four threads that share a queue pair, a CQ and what they count.
 * "burst": posts many, and prints how long the adapter says that took, in ps. "compute": long without an access before
 * the first WRITE, as a program that fills its buffers, then shorter between accesses.
 */
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "link.h"

#define BYTES  4096
#define ROUNDS 40
#define BATCH  16

/* One after the other, each waited for. */
static void ping_pong(const struct pair *p)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		pair_post_write(p, i, 1u << i % 13);
		CHECK(link_wait(p->cq[0]).status == IBV_WC_SUCCESS);
	}
}

static void compute(clock_t ms)
{
	const clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);

	while (ms && clock() < end)
		;
}

/* A new one for each that is found; what is found in one poll depends on when it looks. */
static void keep_full(const struct pair *p, clock_t compute_ms)
{
	uint32_t posted = 0, done = 0;
	uint64_t id;

	while (done < ROUNDS * 4) {
		while (posted < ROUNDS * 4 && posted - done < BATCH)
			pair_post_write(p, posted++, 64);
		compute(compute_ms);
		while (link_poll(p->cq[0], &id))
			done++;
		/* A program that looks elsewhere in between. */
		CHECK(!link_poll(p->cq[1], &id));
	}
}

/* The other end answers when it sees the data: end 1 receives, then end 0. */
static void echo(const struct pair *p)
{
	struct ibv_recv_wr recv = {.num_sge = 1}, *bad;
	struct ibv_send_wr send = {.num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_sge sge;

	for (int i = 0; i < ROUNDS; i++) {
		const int from = i % 2, to = !from;

		sge = link_sge(p->l, to, BYTES);
		recv.sg_list = &sge;
		CHECK(!(errno = ibv_post_recv(p->qp[to], &recv, &bad)));
		sge = link_sge(p->l, from, 16);
		send.sg_list = &sge;
		link_post(p->qp[from], &send);
		CHECK(link_wait(p->cq[to]).status == IBV_WC_SUCCESS);
		CHECK(link_wait(p->cq[from]).status == IBV_WC_SUCCESS);
	}
}

#define THREADS 4

struct worker {
	pthread_t thread;
	pthread_barrier_t *start, *begun;
	struct link l;
	struct pair p;
};

/* Its first access makes it a CPU, so the threads come to theirs one after the other. */
static void *work(void *arg)
{
	struct worker *w = arg;

	pair_post_write(&w->p, 0, 64);
	CHECK(link_wait(w->p.cq[0]).status == IBV_WC_SUCCESS);
	pthread_barrier_wait(w->begun);
	pthread_barrier_wait(w->start);
	ping_pong(&w->p);
	keep_full(&w->p, 0);
	return NULL;
}

static void threads(void)
{
	struct worker w[THREADS];
	pthread_barrier_t start;

	CHECK(!pthread_barrier_init(&start, NULL, THREADS));
	for (int i = 0; i < THREADS; i++) {
		pthread_barrier_t begun;

		w[i].start = &start;
		w[i].begun = &begun;
		CHECK(!pthread_barrier_init(&begun, NULL, 2));
		link_open(&w[i].l, BYTES);
		pair_open(&w[i].p, &w[i].l);
		CHECK(!pthread_create(&w[i].thread, NULL, work, &w[i]));
		pthread_barrier_wait(&begun);
		pthread_barrier_destroy(&begun);
	}
	for (int i = 0; i < THREADS; i++) {
		CHECK(!pthread_join(w[i].thread, NULL));
		pair_close(&w[i].p);
		link_close(&w[i].l);
	}
	pthread_barrier_destroy(&start);
}

/* All that POSIX threads wait for each other with, and the locks of a queue pair and of a CQ. */
static struct {
	struct pair p;
	pthread_mutex_t lock;
	pthread_cond_t change;
	sem_t room; /* for fewer requests than there are threads */
	pthread_barrier_t barrier;
	int posted, turn; /* under the lock */
} shared;

static bool post_one(uint32_t len)
{
	int number;

	pthread_mutex_lock(&shared.lock);
	number = shared.posted;
	shared.posted += number < ROUNDS * 4;
	/* Some while it holds the program's lock, too: others wait while the doorbell takes its time. */
	if (number < ROUNDS * 4 && number % 3 == 0)
		pair_post_write(&shared.p, 0, len);
	pthread_mutex_unlock(&shared.lock);
	if (number < ROUNDS * 4 && number % 3)
		pair_post_write(&shared.p, 0, len);
	return number < ROUNDS * 4;
}

static void post_and_poll(uint32_t thread)
{
	uint64_t id;

	for (bool more = true; more;) {
		sem_wait(&shared.room);
		more = post_one(32u << thread);
		while (more && !link_poll(shared.p.cq[0], &id))
			;
		sem_post(&shared.room);
	}
}

/* One after the other, the last one first. */
static void take_turns(int thread)
{
	pthread_mutex_lock(&shared.lock);
	while (shared.turn != thread)
		pthread_cond_wait(&shared.change, &shared.lock);
	shared.turn--;
	pair_post_write(&shared.p, 0, 16);
	pthread_cond_broadcast(&shared.change);
	pthread_mutex_unlock(&shared.lock);
}

static void *work_together(void *arg)
{
	const uint32_t thread = (uint32_t)(uintptr_t)arg;

	post_and_poll(thread);
	pthread_barrier_wait(&shared.barrier);
	take_turns((int)thread);
	sem_wait(&shared.room);
	pair_post_write(&shared.p, 0, 8);
	sem_post(&shared.room);
	return NULL;
}

static void share(const struct link *l)
{
	pthread_t thread[THREADS];

	pair_open(&shared.p, l);
	shared.turn = THREADS - 1;
	CHECK(!pthread_mutex_init(&shared.lock, NULL) && !pthread_cond_init(&shared.change, NULL));
	CHECK(!sem_init(&shared.room, 0, THREADS - 1) &&
	      !pthread_barrier_init(&shared.barrier, NULL, THREADS));
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, work_together, (void *)i));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	pair_close(&shared.p);
}

/* The device counts picoseconds. */
static uint64_t device_ps(const struct pair *p)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	CHECK(!(errno = ibv_query_rt_values_ex(p->qp[0]->context, &values)));
	return (uint64_t)values.raw_clock.tv_sec * 1000000000ull + (uint64_t)values.raw_clock.tv_nsec;
}

static void burst(const struct pair *p)
{
	const uint64_t start = device_ps(p);
	uint64_t end;

	for (uint32_t i = 0; i < 4 * BATCH; i++)
		pair_post_write(p, i, 64);
	end = device_ps(p);
	for (uint32_t i = 0; i < 4 * BATCH; i++)
		CHECK(link_wait(p->cq[0]).status == IBV_WC_SUCCESS);
	printf("%" PRIu64 "\n", end - start);
}

int main(int argc, char **argv)
{
	const bool simple = argc > 1 && !strcmp(argv[1], "ping_pong");
	struct link l;
	struct pair p;

	if (argc > 1 && !strcmp(argv[1], "threads")) {
		threads();
		return 0;
	}
	link_open(&l, BYTES);
	if (argc > 1 && !strcmp(argv[1], "shared")) {
		share(&l);
		link_close(&l);
		return 0;
	}
	pair_open(&p, &l);
	if (argc > 1 && !strcmp(argv[1], "burst")) {
		burst(&p);
	} else if (argc > 1 && !strcmp(argv[1], "compute")) {
		compute(150);
		keep_full(&p, 3);
	} else {
		ping_pong(&p);
		if (!simple) {
			keep_full(&p, 0);
			echo(&p);
		}
	}
	pair_close(&p);
	link_close(&l);
	return 0;
}
