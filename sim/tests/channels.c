// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * channels COUNT: a ping-pong that sleeps for its completions, alone and then beside COUNT channels that nothing
 * happens to; each event has to come where it belongs. Prints what each step took, in microseconds, as one line of JSON.
 *
 * channels limits: with a soft limit of open files that is below the hard one, whose descriptors end when: those of a
 * program, those of the device process, and then there are some again.
 */
#include "link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BURSTS 10
#define ROUNDS 30 /* of a burst */
#define SAMPLE 100u

static struct link l;
static struct ibv_qp *qp[2];
static struct ibv_cq *cq; /* the requester's */

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static void check(bool ok, const char *what)
{
	if (!ok)
		die(what);
}

/* ---- Idle channels -------------------------------------------------------------------------------- */

static struct ibv_comp_channel *new_channel(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(l.ctx[0]);

	check(channel, "ibv_create_comp_channel");
	return channel;
}

/* A pair that completes on a CQ of this channel. */
static void connect_pair(struct ibv_comp_channel *channel)
{
	cq = ibv_create_cq(l.ctx[0], 16, NULL, channel, 0);
	check(cq, "ibv_create_cq");
	qp[0] = link_create_qp(&l, 0, cq, NULL);
	qp[1] = link_create_qp(&l, 1, link_create_cq(&l, 1, 16), NULL);
	link_connect(&l, qp);
}

static void disconnect_pair(void)
{
	struct ibv_cq *other = qp[1]->send_cq;

	check(!ibv_destroy_qp(qp[0]) && !ibv_destroy_qp(qp[1]), "ibv_destroy_qp");
	check(!ibv_destroy_cq(cq) && !ibv_destroy_cq(other), "ibv_destroy_cq");
}

/* One write, whose completion is waited for asleep. */
static void one_round(struct ibv_comp_channel *channel)
{
	struct ibv_sge sge = {(uintptr_t)l.buf[0], 8, l.mr[0]->lkey};
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_RDMA_WRITE,
				       .send_flags = IBV_SEND_SIGNALED,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .wr.rdma = {(uintptr_t)l.buf[1], l.mr[1]->rkey}};
	struct ibv_cq *of;
	uint64_t wr_id;
	void *context;

	check(!ibv_req_notify_cq(cq, 0) && !ibv_post_send(qp[0], &wr, &bad), "ibv_post_send");
	check(!ibv_get_cq_event(channel, &of, &context) && of == cq, "ibv_get_cq_event");
	ibv_ack_cq_events(of, 1);
	check(link_poll(cq, &wr_id), "the completion that the event was about");
}

/* The least of some bursts: what else runs on the host can only add to it. */
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
	double before, first = 0, last, beside, destroy, start;

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
	beside = rounds(busy);
	disconnect_pair();
	/* Those in between work, too. */
	for (uint32_t i = 0; i < count; i += count / 4) {
		connect_pair(channel[i]);
		one_round(channel[i]);
		disconnect_pair();
	}
	start = now_us();
	for (uint32_t i = 0; i < count; i++) {
		check(!readable(channel[i]), "no event that does not belong there");
		check(!ibv_destroy_comp_channel(channel[i]), "ibv_destroy_comp_channel");
	}
	destroy = (now_us() - start) / count;
	check(!ibv_destroy_comp_channel(busy), "ibv_destroy_comp_channel");
	printf("{\"channels\": %u, \"create_first_us\": %.1f, \"create_last_us\": %.1f, \"destroy_us\": "
	       "%.1f, "
	       "\"round_alone_us\": %.1f, \"round_beside_us\": %.1f}\n",
	       count, first, last, destroy, before, beside);
}

/* ---- Limits --------------------------------------------------------------------------------------- */

static void raise_limit(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* A program of its own: when this returns it has done its part, and lives until end_program(). */
static pid_t program(void (*part)(void), int *go)
{
	int say[2], wait_for[2];
	char done;
	pid_t pid;

	check(!pipe(say) && !pipe(wait_for), "pipe");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(say[0]);
		part();
		check(write(say[1], "", 1) == 1 && read(wait_for[0], &done, 1) == 1, "the other programs");
		_exit(0);
	}
	close(say[1]);
	close(wait_for[0]);
	check(read(say[0], &done, 1) == 1, "its part");
	close(say[0]);
	*go = wait_for[1];
	return pid;
}

static void end_program(pid_t pid, int go)
{
	int status;

	check(write(go, "", 1) == 1, "the program's end");
	close(go);
	check(waitpid(pid, &status, 0) == pid && !status, "the program's end");
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	check(list && list[0], "ibv_get_device_list");
	l.ctx[0] = ibv_open_device(list[0]);
	check(l.ctx[0], "ibv_open_device");
}

/* Takes channels until there are no more, and gives one back, so that there is one more. */
static void take_all(int error)
{
	struct ibv_comp_channel *channel, *last = NULL;

	open_device();
	while ((channel = ibv_create_comp_channel(l.ctx[0])))
		last = channel;
	check(last && errno == error, "the error for no descriptor left");
	check(!ibv_destroy_comp_channel(last), "ibv_destroy_comp_channel");
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
	list = ibv_get_device_list(NULL); /* which asks the device process, too */
	check((!list || !list[0] || !ibv_open_device(list[0])) && errno == ENFILE,
	      "ENFILE, as the device process has no descriptors");
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
