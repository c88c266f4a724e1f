// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/lockstep_impl.h"

#define MAX_STATES 64 /* QPs whose states are compared after an op, besides that of the op */

struct lockstep_config lockstep_config = {.first = &c_engine, .second = &c_engine};

static void op_begin(struct engine *e, const char *op, uint32_t qpn)
{
	e->op = op;
	e->op_qpn = qpn;
	e->op_call = 0;
	e->len = e->at = 0;
}

/* True: now the second one, with the same input. */
static bool op_second(struct engine *e)
{
	e->second = true;
	return !e->differs;
}

/* The QP of the op and up to MAX_STATES others, in turn. */
static void compare_states(struct engine *e)
{
	unsigned int i, n = e->num_qps < MAX_STATES ? e->num_qps : MAX_STATES;

	for (i = 0; i < e->num_qps && n < e->num_qps; i++)
		if (e->qp[i].qpn == e->op_qpn)
			lockstep_compare_state(e, e->op_qpn);
	for (i = 0; !e->differs && i < n; i++)
		lockstep_compare_state(e, e->qp[e->turn++ % e->num_qps].qpn);
}

static void op_end(struct engine *e, bool same)
{
	e->second = false;
	if (e->differs)
		return;
	lockstep_report.ops++;
	if (!same)
		lockstep_difference(e, "%s returns something else", lockstep_second_name(e));
	else if (e->at != e->len)
		lockstep_difference(e, "%s calls %s, %s does not", e->ops[0]->name, lockstep_next_call(e),
				    lockstep_second_name(e));
	else
		compare_states(e);
	lockstep_compare_retired(e);
}

/* An op without a result, for both. */
#define BOTH(e, name, qpn, ...)                                                                              \
	do {                                                                                                 \
		op_begin(e, #name, qpn);                                                                     \
		(e)->ops[0]->name((e)->engine[0], __VA_ARGS__);                                              \
		if (op_second(e))                                                                            \
			(e)->ops[1]->name((e)->engine[1], __VA_ARGS__);                                      \
		op_end(e, true);                                                                             \
	} while (0)

/* Each adapter of the machine has its own file. */
static void start_wave(struct engine *e)
{
	static unsigned int number;

	if (!e->cfg.wave)
		return;
	snprintf(e->wave, sizeof(e->wave), "%s%s%.0u", e->cfg.wave, number ? "." : "", number);
	number++;
	e->wave_error =
		e->ops[1]->wave ? e->ops[1]->wave(e->engine[1], e->cfg.wave_cycles, e->wave) : -EOPNOTSUPP;
}

static struct engine *create(const struct engine_config *cfg, const struct engine_ports *ports, void *host)
{
	struct engine *e = calloc(1, sizeof(*e));
	struct engine_config both = *cfg;

	if (!e)
		return NULL;
	both.queue_reads = 1; /* which all engines have */
	e->cfg = lockstep_config;
	e->ops[0] = e->cfg.first;
	e->ops[1] = e->cfg.second;
	e->pers = cfg->pers;
	e->ports = ports;
	e->host = host;
	op_begin(e, "create", NO_QP);
	e->engine[0] = e->ops[0]->create(&both, &lockstep_ports, e);
	e->second = true;
	e->engine[1] = e->engine[0] ? e->ops[1]->create(&both, &lockstep_ports, e) : NULL;
	e->second = false;
	if (!e->engine[1]) {
		if (e->engine[0])
			e->ops[0]->destroy(e->engine[0]);
		free(e);
		return NULL;
	}
	start_wave(e);
	return e;
}

static void destroy(struct engine *e)
{
	e->ops[0]->destroy(e->engine[0]);
	e->second = true;
	e->ops[1]->destroy(e->engine[1]);
	free(e->log);
	free(e->qp);
	free(e);
}

static bool room_for_qp(struct engine *e)
{
	unsigned int room = e->room_qps ? 2 * e->room_qps : 64;
	struct lockstep_qp *qp;

	if (e->num_qps < e->room_qps)
		return true;
	qp = realloc(e->qp, room * sizeof(*qp));
	if (!qp)
		return false;
	e->qp = qp;
	e->room_qps = room;
	return true;
}

static int qp_create(struct engine *e, uint32_t qpn, const struct engine_qp *ctx)
{
	int a, b;

	if (!room_for_qp(e))
		return -ENOMEM;
	op_begin(e, "qp_create", qpn);
	a = b = e->ops[0]->qp_create(e->engine[0], qpn, ctx);
	if (op_second(e))
		b = e->ops[1]->qp_create(e->engine[1], qpn, ctx);
	if (!a && !b)
		e->qp[e->num_qps++] = (struct lockstep_qp){qpn, ctx->type, 0};
	op_end(e, a == b);
	return a;
}

static void qp_set(struct engine *e, uint32_t qpn, const struct engine_qp *ctx)
{
	BOTH(e, qp_set, qpn, qpn, ctx);
}

static void qp_reset(struct engine *e, uint32_t qpn)
{
	lockstep_forget_retired(e, qpn);
	BOTH(e, qp_reset, qpn, qpn);
}

static void qp_destroy(struct engine *e, uint32_t qpn)
{
	unsigned int i;

	for (i = 0; i < e->num_qps; i++)
		if (e->qp[i].qpn == qpn)
			e->qp[i] = e->qp[--e->num_qps];
	op_begin(e, "qp_destroy", qpn);
	e->ops[0]->qp_destroy(e->engine[0], qpn);
	e->second = true; /* also one that differs: so it can be freed */
	e->ops[1]->qp_destroy(e->engine[1], qpn);
	op_end(e, true);
}

static void error(struct engine *e, uint32_t qpn)
{
	if (e->inside) /* the second one gets it when it has come as far, see port_failed() */
		e->ops[0]->error(e->engine[0], qpn);
	else
		BOTH(e, error, qpn, qpn);
}

static void query(const struct engine *ce, uint32_t qpn, struct engine_query *out)
{
	struct engine *e = (struct engine *)(uintptr_t)ce;
	struct engine_query b;
	bool same = true;

	op_begin(e, "query", qpn);
	e->ops[0]->query(e->engine[0], qpn, out);
	if (op_second(e)) {
		e->ops[1]->query(e->engine[1], qpn, &b);
		same = out->sq_psn == b.sq_psn && out->draining == b.draining;
	}
	op_end(e, same);
}

static void port_set(struct engine *e, uint8_t port, uint32_t mtu)
{
	BOTH(e, port_set, NO_QP, port, mtu);
}

static void doorbell(struct engine *e, uint32_t qpn, uint16_t pi)
{
	BOTH(e, doorbell, qpn, qpn, pi);
}

static void push(struct engine *e, uint32_t qpn, uint16_t index, const void *wqe, uint32_t len)
{
	BOTH(e, push, qpn, qpn, index, wqe, len);
}

static void read_done(struct engine *e, uint32_t tag, const void *data, uint32_t len, int status)
{
	BOTH(e, read_done, NO_QP, tag, data, len, status);
}

static void written(struct engine *e, uint32_t tag, int status)
{
	BOTH(e, written, NO_QP, tag, status);
}

static void pages(struct engine *e, uint32_t tag, bool mapped)
{
	BOTH(e, pages, NO_QP, tag, mapped);
}

static bool leave(struct engine *e, uint32_t tag, bool failed)
{
	bool a, b;

	op_begin(e, "leave", NO_QP);
	a = b = e->ops[0]->leave(e->engine[0], tag, failed);
	if (op_second(e))
		b = e->ops[1]->leave(e->engine[1], tag, failed);
	op_end(e, a == b);
	return a;
}

static void released(struct engine *e, uint32_t tag)
{
	BOTH(e, released, NO_QP, tag);
}

static void response(struct engine *e, uint32_t qpn, const struct engine_response *r)
{
	BOTH(e, response, qpn, qpn, r);
}

static void timer(struct engine *e, uint32_t qpn)
{
	BOTH(e, timer, qpn, qpn);
}

static bool completion(const struct engine *ce, uint32_t qpn, struct engine_completion *out)
{
	struct engine *e = (struct engine *)(uintptr_t)ce;
	struct engine_completion a, b;
	bool has, same = true;

	op_begin(e, "completion", qpn);
	has = e->ops[0]->completion(e->engine[0], qpn, &a);
	if (op_second(e))
		same = e->ops[1]->completion(e->engine[1], qpn, &b) == has &&
		       (!has || (a.wqe_op == b.wqe_op && a.num_bb == b.num_bb && a.status == b.status &&
				 a.vendor_err == b.vendor_err && a.wqe_index == b.wqe_index &&
				 a.byte_count == b.byte_count));
	op_end(e, same);
	if (has && out)
		*out = a;
	return has;
}

static void completion_taken(struct engine *e, uint32_t qpn)
{
	lockstep_completes(e, qpn);
	BOTH(e, completion_taken, qpn, qpn);
	e->completes = false;
}

static bool pending(const struct engine *ce, enum hca_stage stage, struct hca_work *work)
{
	struct engine *e = (struct engine *)(uintptr_t)ce;
	struct hca_work other = *work;
	bool a, same = true;

	op_begin(e, "pending", NO_QP);
	a = e->ops[0]->pending(e->engine[0], stage, work);
	e->next[stage] = a ? work->qpn : NO_QP;
	if (op_second(e))
		same = e->ops[1]->pending(e->engine[1], stage, &other) == a &&
		       (!a ||
			(work->bytes == other.bytes && work->items == other.items && work->qpn == other.qpn));
	op_end(e, same);
	return a;
}

static uint32_t step(struct engine *e, enum hca_stage stage)
{
	uint32_t a, b;

	op_begin(e, "step", e->next[stage]);
	a = b = e->ops[0]->step(e->engine[0], stage);
	if (op_second(e))
		b = e->ops[1]->step(e->engine[1], stage);
	e->op_qpn = a;
	op_end(e, a == b);
	return a;
}

static void counters(const struct engine *ce, struct engine_counters *out)
{
	struct engine *e = (struct engine *)(uintptr_t)ce;
	struct engine_counters b;
	bool same = true;

	op_begin(e, "counters", NO_QP);
	e->ops[0]->counters(e->engine[0], out);
	if (op_second(e)) {
		e->ops[1]->counters(e->engine[1], &b);
		same = !memcmp(out, &b, sizeof(b));
	}
	op_end(e, same);
}

static void state(const struct engine *e, uint32_t qpn, struct engine_state *out)
{
	e->ops[0]->state(e->engine[0], qpn, out);
}

/* The frame of one of them; of an engine that builds none it is the core's. */
static uint32_t frame_of(struct engine *e, unsigned int i, const struct engine_frame *f, uint8_t *out)
{
	return e->ops[i]->frame ? e->ops[i]->frame(e->engine[i], f, out) : e->ports->frame(e->host, out);
}

static uint32_t frame(struct engine *e, const struct engine_frame *f, uint8_t *out)
{
	uint8_t other[ENGINE_FRAME_MAX];
	uint32_t len;

	op_begin(e, "frame", f->qpn);
	len = frame_of(e, 0, f, out);
	if (op_second(e))
		lockstep_compare_frames(e, out, len, other, frame_of(e, 1, f, other));
	op_end(e, true);
	return len;
}

static uint32_t cycles(const struct engine *e)
{
	const struct engine_ops *second = e->ops[1];

	return !e->differs && second->cycles ? second->cycles(e->engine[1]) : 0;
}

const struct engine_ops lockstep_engine = {
	.name = "lockstep",
	.create = create,
	.destroy = destroy,
	.qp_create = qp_create,
	.qp_set = qp_set,
	.qp_reset = qp_reset,
	.qp_destroy = qp_destroy,
	.error = error,
	.query = query,
	.port_set = port_set,
	.doorbell = doorbell,
	.push = push,
	.read_done = read_done,
	.written = written,
	.pages = pages,
	.leave = leave,
	.released = released,
	.response = response,
	.timer = timer,
	.completion = completion,
	.completion_taken = completion_taken,
	.pending = pending,
	.step = step,
	.counters = counters,
	.state = state,
	.frame = frame,
	.cycles = cycles,
};
