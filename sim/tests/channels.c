// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * channels COUNT: a ping-pong that sleeps until each completion, alone and then with COUNT idle channels;
 * each event must arrive at its channel. Prints the time of each step, in microseconds, as one line of JSON.
 *
 * channels limits: a program runs out of descriptors, then the device process does, until other programs
 * close some. The soft limit of open files is below the hard one.
 */
#include "link.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BURSTS 10
#define ROUNDS 30 /* in a burst */
#define SAMPLE 100u

static struct link l;
static struct pair pair;

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

/* ---- Idle channels -------------------------------------------------------------------------------- */

static struct ibv_comp_channel *new_channel(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(l.ctx[0]);

	CHECK(channel);
	return channel;
}

/* A pair that completes on a CQ of this channel. */
static void connect_pair(struct ibv_comp_channel *channel)
{
	pair = (struct pair){
		.l = &l, .cq = {ibv_create_cq(l.ctx[0], 16, NULL, channel, 0), link_create_cq(&l, 1, 16)}};
	CHECK(pair.cq[0]);
	for (int end = 0; end < 2; end++)
		pair.qp[end] = link_create_qp(&l, end, pair.cq[end], NULL);
	link_connect(&l, pair.qp);
}

/* One write; sleeps until its completion event. */
static void one_round(struct ibv_comp_channel *channel)
{
	struct ibv_cq *of;
	uint64_t wr_id;
	void *context;

	CHECK(!ibv_req_notify_cq(pair.cq[0], 0));
	pair_post_write(&pair, 0, 8);
	CHECK(!ibv_get_cq_event(channel, &of, &context) && of == pair.cq[0]);
	ibv_ack_cq_events(of, 1);
	CHECK(link_poll(pair.cq[0], &wr_id));
}

/* The shortest time of several bursts: other load on the host can only lengthen a burst. */
static double rounds(struct ibv_comp_channel *channel)
{
	double least = 0, start, each;

	for (int burst = 0; burst < BURSTS; burst++) {
		start = now_us();
		for (int i = 0; i < ROUNDS; i++)
			one_round(channel);
		each = (now_us() - start) / ROUNDS;
		least = !burst || each < least ? each : least;
	}
	return least;
}

static bool readable(const struct ibv_comp_channel *channel)
{
	struct pollfd p = {.fd = channel->fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static void idle(uint32_t count)
{
	struct ibv_comp_channel **channel = calloc(count, sizeof(*channel)), *busy = new_channel();
	double before, first = 0, last, among, destroy, start;

	connect_pair(busy);
	before = rounds(busy);
	start = now_us();
	for (uint32_t i = 0; i < count; i++) {
		if (i == SAMPLE)
			first = (now_us() - start) / SAMPLE;
		if (i == count - SAMPLE)
			start = now_us();
		channel[i] = new_channel();
	}
	last = (now_us() - start) / SAMPLE;
	among = rounds(busy);
	pair_close(&pair);
	/* The first, the last and some channels in between work, too. */
	for (uint32_t i = 0; i <= 4; i++) {
		uint32_t at = i * (count - 1) / 4;

		connect_pair(channel[at]);
		one_round(channel[at]);
		pair_close(&pair);
	}
	start = now_us();
	for (uint32_t i = 0; i < count; i++) {
		CHECK(!readable(channel[i]));
		CHECK(!ibv_destroy_comp_channel(channel[i]));
	}
	destroy = (now_us() - start) / count;
	CHECK(!ibv_destroy_comp_channel(busy));
	printf("{\"channels\": %u, \"create_first_us\": %.1f, \"create_last_us\": %.1f, \"destroy_us\": "
	       "%.1f, "
	       "\"round_alone_us\": %.1f, \"round_among_us\": %.1f}\n",
	       count, first, last, destroy, before, among);
}

/* ---- Limits --------------------------------------------------------------------------------------- */

static void raise_limit(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Forks a program. On return it has run `part`; it stays alive until end_program(). */
static pid_t program(void (*part)(void), int *go)
{
	int say[2], wait_for[2];
	char done;
	pid_t pid;

	CHECK(!pipe(say) && !pipe(wait_for));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(say[0]);
		part();
		CHECK(write(say[1], "", 1) == 1 && read(wait_for[0], &done, 1) == 1);
		_exit(0);
	}
	close(say[1]);
	close(wait_for[0]);
	CHECK(read(say[0], &done, 1) == 1);
	close(say[0]);
	*go = wait_for[1];
	return pid;
}

static void end_program(pid_t pid, int go)
{
	int status;

	CHECK(write(go, "", 1) == 1);
	close(go);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK(list && list[0]);
	l.ctx[0] = ibv_open_device(list[0]);
	CHECK(l.ctx[0]);
}

/* Opens channels until that fails with `error`, then closes one and opens it again. */
static void take_all(int error)
{
	struct ibv_comp_channel *channel, *last = NULL;

	open_device();
	while ((channel = ibv_create_comp_channel(l.ctx[0])))
		last = channel;
	CHECK(last && errno == error);
	CHECK(!ibv_destroy_comp_channel(last));
	new_channel();
}

static void take_own(void)
{
	take_all(EMFILE);
}

static void take_device(void)
{
	take_all(ENFILE);
}

static void be_turned_away(void)
{
	struct ibv_device **list;

	errno = 0;
	list = ibv_get_device_list(NULL); /* this asks the device process, too */
	CHECK((!list || !list[0] || !ibv_open_device(list[0])) && errno == ENFILE);
}

static void be_served(void)
{
	open_device();
	new_channel();
}

static void limits(void)
{
	pid_t own, device, other;
	int own_go, device_go, go;

	own = program(take_own, &own_go);
	device = program(take_device, &device_go);
	other = program(be_turned_away, &go);
	end_program(other, go);
	end_program(own, own_go);
	other = program(be_served, &go);
	end_program(other, go);
	end_program(device, device_go);
}

int main(int argc, char *argv[])
{
	uint32_t count = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;

	if (argc == 2 && !strcmp(argv[1], "limits")) {
		limits();
		return 0;
	}
	if (count < 2 * SAMPLE) {
		fprintf(stderr, "usage: %s COUNT|limits; COUNT is at least %u\n", argv[0], 2 * SAMPLE);
		return 2;
	}
	raise_limit();
	link_open(&l, 4096);
	idle(count);
	link_close(&l);
	return 0;
}
