// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The loop of the device process. Pending work is executed as fast as possible; while only timers are pending,
 * simulated time follows the wall clock, and the process sleeps. It never spins for long, since applications poll on
 * the same processors.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "process/device/server.h"
#include "process/clock/vclock.h"

#define MAX_EVENTS   256
#define RING_BUDGET  64           /* entries processed from one ring before the machine runs again */
#define RUN_BUDGET   (2000000ull) /* ps of simulated time between checks of the rings */
#define SOCKET_EVERY 16           /* rounds between checks of the sockets while there is work */
#define QUIET_ROUNDS 256          /* checks of an empty ring before it is no longer polled */
#define SPIN_NS      4000         /* time that an idle loop polls the rings before it sleeps */
#define VIRTUAL_SPIN_NS                                                                                      \
	20000           /* the same on the virtual clock, where each access of a program is waited for */
#define BURST_NS  20000 /* longest interruption of a burst of stores */
#define PS_PER_NS 1000ull

uint64_t server_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* ---- Time ---------------------------------------------------------------------------------------- */

/* Wall-clock time since the last call becomes simulated time that may pass. */
static void note_wall(struct server *s)
{
	uint64_t wall = server_wall_ns();

	s->behind += (wall - s->wall) * PS_PER_NS;
	s->wall = wall;
}

/* Simulated time of pending work is not tied to the wall clock. */
static void skip_wall(struct server *s)
{
	s->wall = server_wall_ns();
	s->behind = 0;
}

/* Lets due time pass. False if a timer made work before all of it had passed. */
static bool pass_time(struct server *s)
{
	hca_ps before, passed;

	while (s->behind) {
		before = machine_now(s->machine);
		machine_advance(s->machine, before + s->behind);
		passed = machine_now(s->machine) - before;
		if (passed >= s->behind) {
			s->behind = 0;
			break;
		}
		s->behind -= passed;
		return false;
	}
	return machine_next_timer(s->machine) > machine_now(s->machine);
}

void server_catch_up(struct server *s)
{
	/* While work is pending, stimulus takes effect at the current time. */
	if (s->active || s->virtual_clock)
		return;
	note_wall(s);
	pass_time(s);
	s->active = true;
}

/* ---- Input ----------------------------------------------------------------------------------------- */

/*
 * The stores of a burst are nanoseconds apart on a real processor: no simulated time passes between them, unless the
 * application is interrupted.
 */
static void finish_burst(struct conn *c)
{
	uint64_t end = server_wall_ns() + BURST_NS;

	do {
		if (!conn_drain(c, RING_BUDGET))
			__builtin_ia32_pause();
	} while (conn_in_burst(c) && server_wall_ns() < end);
	conn_end_burst(c);
}

void server_wake(struct server *s, struct conn *c)
{
	c->quiet = 0;
	if (c->awake)
		return;
	c->awake = true;
	conn_ring_want_kick(c, false);
	LIST_INSERT_HEAD(&s->awake, c, awake_link);
}

/* From now on the application must kick us. */
static void let_sleep(struct conn *c)
{
	conn_ring_want_kick(c, true);
	atomic_thread_fence(memory_order_seq_cst);
	c->quiet = 0;
	if (!conn_ring_empty(c)) {
		conn_ring_want_kick(c, false);
		return;
	}
	c->awake = false;
	LIST_REMOVE(c, awake_link);
}

static bool drain_rings(struct server *s)
{
	struct conn *c, *next;
	bool any = false;

	for (c = LIST_FIRST(&s->awake); c; c = next) {
		next = LIST_NEXT(c, awake_link);
		if (conn_drain(c, RING_BUDGET)) {
			any = true;
			c->quiet = 0;
		} else if (++c->quiet == QUIET_ROUNDS) {
			let_sleep(c);
		}
		if (conn_in_burst(c))
			finish_burst(c);
	}
	return any;
}

static bool rings_empty(struct server *s)
{
	struct conn *c;

	LIST_FOREACH(c, &s->awake, awake_link)
	if (!conn_ring_empty(c))
		return false;
	return true;
}

/* From now on whoever stores must kick: the server waits in its sockets; or need not. */
static void rings_want_kick(struct server *s, bool wanted)
{
	struct conn *c;

	LIST_FOREACH(c, &s->awake, awake_link)
	conn_ring_want_kick(c, wanted);
	atomic_thread_fence(memory_order_seq_cst);
}

static void serve(struct server *s, struct source *source)
{
	switch (source->kind) {
	case SOURCE_LISTENER:
		conn_accept(s, s->listener);
		break;
	case SOURCE_SIGNAL:
	case SOURCE_LAUNCHER:
		s->stop = true;
		break;
	case SOURCE_FILE:
		server_catch_up(s);
		file_event((struct file *)source);
		break;
	case SOURCE_PROCESS:
		mm_dead((struct mm *)source);
		break;
	case SOURCE_CONN:
		conn_serve((struct conn *)source);
		break;
	case SOURCE_EVENTS:
		kernel_poll_events(s->kernel);
		break;
	case SOURCE_DEAD:
		break;
	}
}

static int wait_events(struct server *s, struct epoll_event *events, uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
	int n = epoll_pwait2(s->epoll, events, MAX_EVENTS, ns == UINT64_MAX ? NULL : &ts, NULL);

	if (n < 0 && errno == ENOSYS) /* before Linux 5.11: whole milliseconds, rounded up */
		n = epoll_wait(s->epoll, events, MAX_EVENTS,
			       ns == UINT64_MAX ? -1 : (int)((ns + 999999) / 1000000));
	return n;
}

static bool is_end(const struct source *source)
{
	return source->kind == SOURCE_FILE || source->kind == SOURCE_PROCESS || source->kind == SOURCE_EVENTS;
}

/*
 * Closed files and channels are released before any request: a process that closes one (or waits for the end of the
 * process that held it) and then sends a request finds it released, as on Linux.
 */
static bool serve_sockets(struct server *s, uint64_t ns)
{
	struct epoll_event events[MAX_EVENTS];
	int n = wait_events(s, events, ns);

	for (int i = 0; i < n; i++)
		if (is_end(events[i].data.ptr))
			serve(s, events[i].data.ptr);
	for (int i = 0; i < n; i++)
		if (!is_end(events[i].data.ptr))
			serve(s, events[i].data.ptr);
	source_free_buried(s);
	return n > 0;
}

/* ---- The loop ----------------------------------------------------------------------------------------- */

/* Nanoseconds until simulated time reaches the next timer. */
static uint64_t until_timer(struct server *s)
{
	hca_ps timer = machine_next_timer(s->machine), now = machine_now(s->machine);

	if (timer == HCA_PS_NEVER)
		return UINT64_MAX;
	return timer > now ? (timer - now + PS_PER_NS - 1) / PS_PER_NS : 0;
}

static bool spin(struct server *s, uint64_t ns)
{
	uint64_t end = server_wall_ns() + ns;

	do {
		for (int i = 0; i < 16; i++) {
			if (!rings_empty(s))
				return true;
			__builtin_ia32_pause();
		}
	} while (server_wall_ns() < end);
	return false;
}

static bool wait_in_sockets(struct server *s, uint64_t ns)
{
	bool any = true;

	rings_want_kick(s, true);
	if (rings_empty(s) && ns)
		any = serve_sockets(s, ns);
	rings_want_kick(s, false);
	return any;
}

bool server_wait_input(struct server *s, uint64_t ns)
{
	return spin(s, VIRTUAL_SPIN_NS) || wait_in_sockets(s, ns);
}

bool server_input(struct server *s)
{
	serve_sockets(s, 0);
	return drain_rings(s);
}

/* Nothing to do: sleeps until there is. */
static void idle(struct server *s)
{
	note_wall(s);
	if (!pass_time(s))
		return;
	if (spin(s, SPIN_NS))
		return;
	wait_in_sockets(s, waits_due(s, until_timer(s), server_wall_ns()));
}

static void round_of_work(struct server *s, unsigned int round)
{
	bool input = drain_rings(s);
	enum machine_state state;

	kernel_update_clocks(s->kernel);
	state = machine_run(s->machine, RUN_BUDGET);
	s->active = state == MACHINE_ACTIVE;
	/* In every such round: timers can be due so often that idle() never sleeps. */
	if (round % SOCKET_EVERY == 0)
		serve_sockets(s, 0);
	if (s->active || input)
		skip_wall(s);
	else
		idle(s);
}

static void virtual_round(struct server *s, unsigned int round)
{
	if (round % SOCKET_EVERY == 0)
		serve_sockets(s, 0);
	if (!drain_rings(s))
		vclock_round(s);
}

void server_run(struct server *s, int signal_fd, int launcher)
{
	struct source listener_source = {.kind = SOURCE_LISTENER};
	struct source signal_source = {.kind = SOURCE_SIGNAL};
	struct source launcher_source = {.kind = SOURCE_LAUNCHER};
	struct source event_source = {.kind = SOURCE_EVENTS};

	source_watch(s, s->listener, &listener_source);
	source_watch(s, signal_fd, &signal_source);
	source_watch(s, kernel_event_fd(s->kernel), &event_source);
	if (launcher >= 0)
		source_watch(s, launcher, &launcher_source);
	skip_wall(s);
	for (unsigned int round = 0; !s->stop; round++) {
		if (s->virtual_clock)
			virtual_round(s, round);
		else
			round_of_work(s, round);
	}
}

void server_close_all(struct server *s)
{
	while (!LIST_EMPTY(&s->conns))
		conn_close(LIST_FIRST(&s->conns));
	while (!LIST_EMPTY(&s->files))
		file_close(LIST_FIRST(&s->files));
	source_free_buried(s);
	table_free(&s->files_by_id);
	table_free(&s->mms_by_pasid);
	table_free(&s->mms_by_image);
	table_free(&s->mms_by_pid);
	table_free(&s->grants);
	table_free(&s->dmabufs);
}
