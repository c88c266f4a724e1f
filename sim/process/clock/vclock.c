// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "process/clock/vclock.h"
#include "process/clock/vlock.h"
#include "process/clock/vthread.h"

/* A system call reaches the driver after this. */
#define CALL_PS (5000000ull)
/* Polls that find nothing, one behind the other, are looked at one by one up to this number; after it, time passes to
 * what may have changed the memory that they read. */
#define POLLS 16
/*
 * A thread that has used so much of its processor since it was given something, without an access, looks at memory. The
 * first time it must be certain: what a virtual machine's host takes away counts, too, and it may fill a large buffer.
 * Once adapters have written to memory while it looked, it does again.
 */
#define LOOKING_NS 50000000ull
#define LOOKED_NS  1000000ull
#define TICK_NS    1000000 /* how often threads that run are looked at */
#define STEPS      256     /* of the machine between looks at the host */
#define RELEASE    64      /* such stretches after which threads that poll go on, though nothing is new */

/* ---- What threads do --------------------------------------------------------------------------------- */

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

static enum op_kind kind_of(uint8_t ring_kind)
{
	static const enum op_kind kinds[] = {
		[RING_STORE] = OP_STORE,   [RING_LOAD] = OP_LOAD,       [RING_WAIT] = OP_WAIT,
		[RING_TURN] = OP_TURN,     [RING_CREATED] = OP_CREATED, [RING_LOCK] = OP_LOCK,
		[RING_UNLOCK] = OP_UNLOCK,
	};

	return ring_kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[ring_kind] : OP_WAIT;
}

/* A thread and the one that creates it ask for their turn and for that with the same `offset`. */
static struct vthread *find_partner(const struct vthread *t, enum op_kind kind)
{
	struct vthread *other;

	LIST_FOREACH(other, &t->conn->server->threads, link)
	if (other->conn == t->conn && other->num && vthread_head(other)->kind == kind &&
	    vthread_head(other)->ring.offset == vthread_head(t)->ring.offset)
		return other;
	return NULL;
}

/* From now on `created` waits for an ordinary turn: the next thread may be created with the same `offset`. */
static void begin_thread(struct server *s, struct vthread *created, struct vthread *creator)
{
	vthread_head(created)->ring.offset = 0;
	vthread_answer(s, creator);
}

/* Until then time stands, and which of the two the host runs first does not matter. */
static void await_new_thread(struct server *s, struct vthread *t)
{
	struct vthread *created = find_partner(t, OP_TURN);

	t->state = CREATES;
	if (created)
		begin_thread(s, created, t);
}

static void await_creator(struct server *s, struct vthread *t)
{
	struct vthread *creator = find_partner(t, OP_CREATED);

	if (creator)
		begin_thread(s, t, creator);
}

/* One that stalls, in a signal handler, goes on stalling. */
static void stop(struct vthread *t)
{
	if (t->state != STALLS)
		t->state = STOPS;
}

void vclock_op(struct conn *c, const struct ring_op *ring)
{
	struct vthread *t = vthread_find(c, ring->tid);
	struct op *op = t ? vthread_push(c->server, t) : NULL;

	if (!op)
		return;
	op->ring = *ring;
	op->cost = 0;
	op->kind = kind_of(ring->kind);
	if (op->kind == OP_STORE) {
		classify(c->server, ring, op);
		return;
	}
	stop(t);
	if (op->kind == OP_CREATED && t->num == 1)
		await_new_thread(c->server, t);
	if (op->kind == OP_TURN && ring->offset)
		await_creator(c->server, t);
}

void vclock_call(struct conn *c, const struct proto_req *req)
{
	struct vthread *t = vthread_find(c, req->thread);
	struct op *op = t ? vthread_push(c->server, t) : NULL;

	if (!op) {
		conn_close(c);
		return;
	}
	op->kind = OP_CALL;
	op->cost = CALL_PS;
	op->req = *req;
	stop(t);
}

void vclock_loaded(struct server *s, const struct shared_ring *ring, uint32_t id)
{
	struct vthread *t;

	LIST_FOREACH(t, &s->threads, link)
	if (t->conn->ring == ring && t->id == id && t->state == LOADS)
		break;
	if (!t)
		return;
	vthread_run(s, t);
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
		vthread_remove(t);
	}
}

/* ---- What is due ------------------------------------------------------------------------------------- */

static hca_ps due(struct server *s, const struct vthread *t)
{
	const struct op *op = vthread_head(t);
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

static void end_wait(struct server *s, struct vthread *t)
{
	if (t->empty > POLLS && !t->look) {
		t->state = WAITS;
		return;
	}
	t->look = false;
	vthread_answer(s, t);
}

/* What is answered, and takes no time. */
static void end_ask(struct server *s, struct vthread *t)
{
	switch (vthread_head(t)->kind) {
	case OP_LOCK:
		vlock_wait(s, t);
		return;
	case OP_UNLOCK:
		vlock_release(s, t);
		return;
	case OP_TURN:
		t->lock = 0;
		vthread_answer(s, t);
		return;
	case OP_CREATED:
		await_new_thread(s, t);
		return;
	default:
		end_wait(s, t);
	}
}

static void store(struct server *s, struct vthread *t, const struct ring_op *ring)
{
	conn_carry_out(t->conn, ring);
	if (!machine_cpu_stalls(s->machine, cpu_of(s, t->conn->ring, ring->thread)))
		return;
	t->state = STALLS;
	t->slot = ring->thread;
	s->stalls = true;
}

/* The thread may be gone afterwards. */
static void do_op(struct server *s, struct vthread *t)
{
	const struct op op = *vthread_head(t);
	struct conn *c = t->conn;

	t->at = machine_now(s->machine);
	if (op.kind <= OP_ASKS) {
		end_ask(s, t);
		return;
	}
	vthread_pop(t);
	t->lock = 0;
	t->empty = op.kind == OP_POLL && !op.items ? t->empty + 1 : 0;
	switch (op.kind) {
	case OP_STORE:
		store(s, t, &op.ring);
		break;
	case OP_LOAD:
		t->state = LOADS;
		conn_carry_out(c, &op.ring);
		break;
	case OP_CALL:
		vthread_run(s, t);
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
	if (t->state == RUNS || t->state == CREATES)
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
		if (t->state == LOOKS) {
			t->looked |= s->given;
			vthread_run(s, t);
		}
		if (t->state != WAITS)
			continue;
		t->at += (now - t->at + step - 1) / step * step;
		t->look = true;
		t->state = STOPS;
	}
}

/* Whoever waits for a lock looks at it from time to time. */
static void wait_input(struct server *s, uint64_t ns)
{
	if (vlock_retry(s) && ns > TICK_NS)
		ns = TICK_NS;
	server_wait_input(s, waits_due(s, ns, server_wall_ns()));
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
		wait_input(s, UINT64_MAX);
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
	if (t->state != SLEEPS && t->state != LOCKED_OUT)
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
	wait_input(s, left - (wall - s->wall));
	return true;
}

/* Threads go on whose CPUs stall no longer. False: there are none. */
static bool end_stalls(struct server *s)
{
	struct vthread *t;
	bool any = false;

	if (!s->stalls)
		return false;
	s->stalls = false;
	LIST_FOREACH(t, &s->threads, link)
	{
		if (t->state != STALLS)
			continue;
		if (machine_cpu_stalls(s->machine, cpu_of(s, t->conn->ring, t->slot))) {
			s->stalls = true;
			continue;
		}
		vthread_run(s, t);
		if (t->num)
			t->state = STOPS;
		any = true;
	}
	return any;
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
		if (end_stalls(s))
			return;
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
	if (!s->given) {
		if (++s->long_runs % RELEASE)
			return;
		vlock_retry(s);
	}
	tell_waiting(s);
}

/* ---- The host ----------------------------------------------------------------------------------------------- */

static bool has_ended(char state)
{
	return !state || state == 'Z' || state == 'X';
}

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
	bool stopped = false;
	char state;

	for (t = LIST_FIRST(&s->threads); t; t = next) {
		next = LIST_NEXT(t, link);
		if (t->state != RUNS)
			continue;
		state = vthread_host_state(t);
		t->suspect = state == 'S';
		stopped |= has_ended(state);
		if (has_ended(state))
			vthread_remove(t);
		else if (!t->suspect && vthread_processor_ns(t) - t->used >
						num_running(t->conn) * (t->looked ? LOOKED_NS : LOOKING_NS))
			t->state = LOOKS;
	}
	/* The call may be one to us. */
	server_input(s);
	LIST_FOREACH(t, &s->threads, link)
	{
		if (t->state == RUNS && t->suspect) {
			t->state = SLEEPS;
			stopped = true;
		}
		t->suspect = false;
	}
	if (stopped)
		vlock_retry(s);
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
		state = t->state == SLEEPS ? vthread_host_state(t) : 'S';
		if (has_ended(state))
			vthread_remove(t);
		else if (state != 'S')
			vthread_run(s, t);
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
