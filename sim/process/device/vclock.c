// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/device/vclock.h"

/* A system call reaches the driver after this. */
#define CALL_PS (5000000ull)
/* Polls that find nothing, one behind the other, are looked at one by one up to this number; after it, time passes to
 * what may have changed the memory that they read. */
#define POLLS 16
/*
 * A thread that has used so much of its processor since it was given something, without an access, looks at memory. The
 * first time it must be certain: what a virtual machine's host takes away counts, too. Once it has, it does again.
 */
#define LOOKING_NS 50000000ull
#define LOOKED_NS  1000000ull
#define TICK_NS    1000000 /* how often threads that run are looked at */
#define STEPS      256     /* of the machine between looks at the host */
#define RELEASE    64      /* such stretches after which threads that poll go on, though nothing is new */

enum op_kind { OP_STORE, OP_LOAD, OP_POLL, OP_WAIT, OP_CALL };

struct op {
	enum op_kind kind;
	uint32_t items; /* POLL: CQEs that it took */
	hca_ps cost;
	struct ring_op ring;  /* all but calls */
	struct proto_req req; /* calls */
};

enum state {
	RUNS,   /* it may do anything, at `at`, which is now */
	STOPS,  /* its last access is not done yet */
	WAITS,  /* the same, and it only polls: nothing new is in memory */
	LOADS,  /* a load is under way */
	SLEEPS, /* in a system call */
	LOOKS,  /* at memory, in a loop */
};

struct vthread {
	LIST_ENTRY(vthread) link;
	struct conn *conn;
	uint32_t id;
	enum state state;
	hca_ps at;          /* up to here its instructions are done */
	unsigned int empty; /* polls in a row that found nothing */
	bool look;          /* it polls once more, whatever that number */
	bool looked;        /* it has looked at memory in a loop before */
	bool suspect;       /* seen in a system call: is it one to us? */
	struct op *ops;     /* that are not done yet: a ring of `size` */
	unsigned int first, num, size;
	uint64_t used; /* its process's processor time when it went on */
	int file;      /* /proc/PID/task/TID/stat */
};

/* ---- Threads -------------------------------------------------------------------------------------- */

static uint64_t processor_ns(const struct vthread *t)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(t->conn->pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void let_run(struct server *s, struct vthread *t)
{
	t->state = RUNS;
	t->at = machine_now(s->machine);
	t->used = processor_ns(t);
}

static struct vthread *add_thread(struct conn *c, uint32_t id)
{
	struct vthread *t = calloc(1, sizeof(*t)), *last = LIST_FIRST(&c->server->threads);
	char path[64];

	if (!t)
		return NULL;
	t->conn = c;
	t->id = id;
	snprintf(path, sizeof(path), "/proc/%d/task/%u/stat", (int)c->pid, id);
	t->file = open(path, O_RDONLY | O_CLOEXEC);
	/* In the order in which they came, which decides between accesses at the same time. */
	while (last && LIST_NEXT(last, link))
		last = LIST_NEXT(last, link);
	if (last)
		LIST_INSERT_AFTER(last, t, link);
	else
		LIST_INSERT_HEAD(&c->server->threads, t, link);
	let_run(c->server, t);
	return t;
}

static void remove_thread(struct vthread *t)
{
	LIST_REMOVE(t, link);
	if (t->file >= 0)
		close(t->file);
	free(t->ops);
	free(t);
}

static struct vthread *find_thread(struct conn *c, uint32_t id)
{
	struct vthread *t;

	LIST_FOREACH(t, &c->server->threads, link)
	if (t->conn == c && t->id == id)
		return t;
	return add_thread(c, id);
}

/* As proc(5) has it: R, S, D, T, t, Z, X; 0: it is gone. */
static char host_state(const struct vthread *t)
{
	char text[512], *p;
	ssize_t n = t->file < 0 ? 0 : pread(t->file, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name may have parentheses */
	return p && p[1] ? p[2] : '\0';
}

static bool has_ended(char state)
{
	return !state || state == 'Z' || state == 'X';
}

/* ---- What threads do --------------------------------------------------------------------------------- */

static struct op *push(struct server *s, struct vthread *t)
{
	if (t->num == t->size) {
		unsigned int size = t->size ? 2 * t->size : 16;
		struct op *ops = malloc(size * sizeof(*ops));

		if (!ops)
			return NULL;
		for (unsigned int i = 0; i < t->num; i++)
			ops[i] = t->ops[(t->first + i) % t->size];
		free(t->ops);
		t->ops = ops;
		t->size = size;
		t->first = 0;
	}
	if (t->state == SLEEPS || t->state == LOOKS)
		let_run(s, t);
	return &t->ops[(t->first + t->num++) % t->size];
}

static void classify(struct server *s, const struct ring_op *ring, struct op *op)
{
	struct drv_cpu_work work;

	op->kind = OP_STORE;
	op->cost = ring->wc ? s->cpu.store_wc : 0;
	if (ring->size > RING_DATA_MAX)
		return;
	kernel_cpu_work(s->kernel, ring->hca, ring->bar, ring->offset, ring->data, ring->size, &work);
	if (work.kind == DRV_CPU_POLL) {
		op->kind = OP_POLL;
		op->items = work.items;
		op->cost = work.items ? work.items * s->cpu.poll_found : s->cpu.poll_empty;
	} else {
		op->cost += work.items * s->cpu.wqe;
	}
}

void vclock_op(struct conn *c, const struct ring_op *ring)
{
	struct vthread *t = find_thread(c, ring->tid);
	struct op *op = t ? push(c->server, t) : NULL;

	if (!op)
		return;
	op->ring = *ring;
	op->cost = 0;
	switch (ring->kind) {
	case RING_STORE:
		classify(c->server, ring, op);
		return;
	case RING_LOAD:
		op->kind = OP_LOAD;
		break;
	default:
		op->kind = OP_WAIT;
		break;
	}
	t->state = STOPS;
}

void vclock_call(struct conn *c, const struct proto_req *req)
{
	struct vthread *t = find_thread(c, req->thread);
	struct op *op = t ? push(c->server, t) : NULL;

	if (!op) {
		conn_close(c);
		return;
	}
	op->kind = OP_CALL;
	op->cost = CALL_PS;
	op->req = *req;
	t->state = STOPS;
}

void vclock_loaded(struct server *s, const struct shared_ring *ring, uint32_t id)
{
	struct vthread *t;

	LIST_FOREACH(t, &s->threads, link)
	if (t->conn->ring == ring && t->id == id && t->state == LOADS)
		break;
	if (!t)
		return;
	let_run(s, t);
	if (t->num)
		t->state = STOPS;
	s->given = true;
}

void vclock_gone(struct conn *c)
{
	struct vthread *t, *next;

	for (t = LIST_FIRST(&c->server->threads); t; t = next) {
		next = LIST_NEXT(t, link);
		if (t->conn != c)
			continue;
		for (; t->num; t->num--, t->first++)
			if (t->ops[t->first % t->size].kind == OP_STORE)
				conn_carry_out(c, &t->ops[t->first % t->size].ring);
		remove_thread(t);
	}
}

/* ---- What is due ------------------------------------------------------------------------------------- */

static const struct op *head(const struct vthread *t)
{
	return &t->ops[t->first % t->size];
}

static hca_ps due(struct server *s, const struct vthread *t)
{
	const struct op *op = head(t);
	const bool free = op->kind == OP_POLL && !op->items && t->empty >= POLLS;
	const hca_ps at = t->at + (free ? 0 : op->cost), now = machine_now(s->machine);

	return at > now ? at : now;
}

static hca_ps first_due(struct server *s)
{
	hca_ps first = HCA_PS_NEVER, at;
	struct vthread *t;

	LIST_FOREACH(t, &s->threads, link)
	{
		at = t->state == STOPS ? due(s, t) : HCA_PS_NEVER;
		first = at < first ? at : first;
	}
	return first;
}

static void end_wait(struct server *s, struct vthread *t, const struct op *op)
{
	if (t->empty > POLLS && !t->look) {
		t->state = WAITS;
		return;
	}
	t->look = false;
	t->first++;
	t->num--;
	conn_reply(t->conn, op->ring.reply);
	let_run(s, t);
}

/* The thread may be gone afterwards. */
static void do_op(struct server *s, struct vthread *t)
{
	const struct op op = *head(t);
	struct conn *c = t->conn;

	t->at = machine_now(s->machine);
	if (op.kind == OP_WAIT) {
		end_wait(s, t, &op);
		return;
	}
	t->first++;
	t->num--;
	t->empty = op.kind == OP_POLL && !op.items ? t->empty + 1 : 0;
	switch (op.kind) {
	case OP_STORE:
		conn_carry_out(c, &op.ring);
		break;
	case OP_LOAD:
		t->state = LOADS;
		conn_carry_out(c, &op.ring);
		break;
	case OP_CALL:
		let_run(s, t);
		conn_answer(c, &op.req);
		break;
	default:
		break;
	}
}

static bool any_runs(const struct server *s)
{
	const struct vthread *t;

	LIST_FOREACH(t, &s->threads, link)
	if (t->state == RUNS)
		return true;
	return false;
}

/* Of threads that are due at the same time one goes on after the other, so that they take locks in the same order. */
static void do_due(struct server *s)
{
	const hca_ps now = machine_now(s->machine);
	struct vthread *t;

	do {
		LIST_FOREACH(t, &s->threads, link)
		if (t->state == STOPS && due(s, t) == now)
			break;
		if (t)
			do_op(s, t);
	} while (t && !any_runs(s));
}

/* ---- Time ----------------------------------------------------------------------------------------------- */

/* Memory has changed: threads look at it again, one that polls when its next poll after this is. */
static void tell_waiting(struct server *s)
{
	const hca_ps now = machine_now(s->machine), step = s->cpu.poll_empty;
	struct vthread *t;

	LIST_FOREACH(t, &s->threads, link)
	{
		if (t->state == LOOKS)
			let_run(s, t);
		if (t->state != WAITS)
			continue;
		t->at += (now - t->at + step - 1) / step * step;
		t->look = true;
		t->state = STOPS;
	}
}

/* Nothing is pending: threads that poll go on without that time passes, since only another program can change that. */
static void nothing_pending(struct server *s)
{
	struct vthread *t;
	bool any = false;

	LIST_FOREACH(t, &s->threads, link)
	any |= t->state == WAITS;
	if (any)
		tell_waiting(s);
	else
		server_wait_input(s, UINT64_MAX);
}

static hca_ps next_work(struct server *s)
{
	hca_ps work = machine_next_work(s->machine);

	/* Commands, and what has ended, may have made some that has not begun. */
	if (work == HCA_PS_NEVER && machine_run(s->machine, 0) == MACHINE_ACTIVE)
		work = machine_next_work(s->machine);
	return work;
}

static bool all_in_calls(const struct server *s)
{
	const struct vthread *t;

	LIST_FOREACH(t, &s->threads, link)
	if (t->state != SLEEPS)
		return false;
	return true;
}

/*
 * Whoever sleeps may be about to do what a timer would report as missing: such timers come no earlier than on the wall
 * clock. True: it has not come.
 */
static bool sleep_until(struct server *s, hca_ps timer)
{
	const hca_ps now = machine_now(s->machine);
	const uint64_t wall = server_wall_ns(), left = (timer - now) / 1000;

	if (!all_in_calls(s))
		return false;
	if (s->asleep_at != now) {
		s->asleep_at = now;
		s->wall = wall;
	}
	if (wall - s->wall >= left)
		return false;
	server_wait_input(s, left - (wall - s->wall));
	return true;
}

/* One step of the machine, up to `limit`. False: nothing is pending before it. */
static bool step(struct server *s, hca_ps limit)
{
	const uint64_t writes = machine_memory_writes(s->machine);
	const hca_ps work = next_work(s), timer = machine_next_timer(s->machine);
	const hca_ps first = work < timer ? work : timer;

	if (first >= limit)
		return false;
	if (first > machine_now(s->machine))
		machine_advance(s->machine, first);
	machine_run(s->machine, 0);
	if (machine_memory_writes(s->machine) != writes)
		s->given = true;
	return true;
}

static void pass_time(struct server *s)
{
	const hca_ps limit = first_due(s);

	s->given = false;
	machine_run(s->machine, 0);
	for (unsigned int i = 0; i < STEPS && !s->given; i++) {
		if (next_work(s) == HCA_PS_NEVER && machine_next_timer(s->machine) < limit &&
		    sleep_until(s, machine_next_timer(s->machine)))
			return;
		if (step(s, limit))
			continue;
		if (limit == HCA_PS_NEVER) {
			nothing_pending(s);
			return;
		}
		machine_advance(s->machine, limit);
		do_due(s);
		return;
	}
	/* A program that looks at the host's clock while it polls does so even if nothing ever comes. */
	if (!s->given && ++s->long_runs % RELEASE)
		return;
	tell_waiting(s);
}

/* ---- The host ----------------------------------------------------------------------------------------------- */

static unsigned int num_running(const struct conn *c)
{
	const struct vthread *t;
	unsigned int n = 0;

	LIST_FOREACH(t, &c->server->threads, link)
	n += t->conn == c && t->state == RUNS;
	return n;
}

/* Threads that have done nothing for a while: are they in a system call, or in a loop that looks at memory? */
static void look_at_running(struct server *s)
{
	struct vthread *t, *next;
	char state;

	for (t = LIST_FIRST(&s->threads); t; t = next) {
		next = LIST_NEXT(t, link);
		if (t->state != RUNS)
			continue;
		state = host_state(t);
		t->suspect = state == 'S';
		if (has_ended(state))
			remove_thread(t);
		else if (!t->suspect && processor_ns(t) - t->used >
						num_running(t->conn) * (t->looked ? LOOKED_NS : LOOKING_NS)) {
			t->state = LOOKS;
			t->looked = true;
		}
	}
	/* The call may be one to us. */
	server_input(s);
	LIST_FOREACH(t, &s->threads, link)
	{
		if (t->state == RUNS && t->suspect)
			t->state = SLEEPS;
		t->suspect = false;
	}
}

static unsigned int num_sleeping(const struct server *s)
{
	const struct vthread *t;
	unsigned int n = 0;

	LIST_FOREACH(t, &s->threads, link)
	n += t->state == SLEEPS;
	return n;
}

/* Something on the host may have woken them. False: all that slept still do. */
static bool look_at_sleeping(struct server *s)
{
	const unsigned int before = num_sleeping(s);
	struct vthread *t, *next;
	char state;

	for (t = LIST_FIRST(&s->threads); t && before; t = next) {
		next = LIST_NEXT(t, link);
		state = t->state == SLEEPS ? host_state(t) : 'S';
		if (has_ended(state))
			remove_thread(t);
		else if (state != 'S')
			let_run(s, t);
	}
	/* One that was awake in between sleeps in a call to us now. */
	if (before)
		server_input(s);
	return num_sleeping(s) != before;
}

void vclock_round(struct server *s)
{
	if (any_runs(s)) {
		if (!server_wait_input(s, TICK_NS))
			look_at_running(s);
	} else if (!look_at_sleeping(s)) {
		pass_time(s);
	}
}
