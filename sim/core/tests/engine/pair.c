// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>
#include <string.h>

#include "pair_impl.h"

const struct engine_ops *pair_second = &c_engine;

#define SAME(field)                                                                                          \
	if (a.field != b.field) {                                                                            \
		pair_difference(e, "state." #field);                                                         \
		return;                                                                                      \
	}

static void compare_state(struct engine *e, uint32_t qpn)
{
	struct engine_state a, b;

	e->ops[0]->state(e->engine[0], qpn, &a);
	e->ops[1]->state(e->engine[1], qpn, &b);
	SAME(qp_state);
	SAME(pi);
	SAME(fetched);
	SAME(retired);
	SAME(wqes);
	SAME(cur_index);
	SAME(ack_index);
	SAME(has_cur);
	SAME(has_ack);
	SAME(cur_pkt);
	SAME(una_psn);
	SAME(next_psn);
	SAME(rd_out);
	SAME(rd_incomplete);
	SAME(retries);
	SAME(rnr_retries);
	SAME(rnr_wait);
	SAME(fault);
	SAME(fetching);
	SAME(paging);
}

static void op_begin(struct engine *e, const char *op)
{
	e->op = op;
	e->len = e->at = 0;
}

/* True: now the second one, with the same input. */
static bool op_second(struct engine *e)
{
	e->second = true;
	return !e->differs;
}

static void op_end(struct engine *e, bool same)
{
	unsigned int i;

	e->second = false;
	if (e->differs)
		return;
	pair_report.ops++;
	if (!same)
		pair_difference(e, "returns something else");
	else if (e->at != e->len)
		pair_difference(e, "a port call is missing");
	for (i = 0; !e->differs && i < e->num_qps; i++)
		compare_state(e, e->qpn[i]);
}

/* An op without a result, for both. */
#define BOTH(e, name, ...)                                                                                   \
	do {                                                                                                 \
		op_begin(e, #name);                                                                          \
		(e)->ops[0]->name((e)->engine[0], __VA_ARGS__);                                              \
		if (op_second(e))                                                                            \
			(e)->ops[1]->name((e)->engine[1], __VA_ARGS__);                                      \
		op_end(e, true);                                                                             \
	} while (0)

static struct engine *create(const struct engine_config *cfg, const struct engine_ports *real, void *host)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->ops[0] = &c_engine;
	e->ops[1] = pair_second;
	e->ports = real;
	e->host = host;
	e->engine[0] = e->ops[0]->create(cfg, &pair_ports, e);
	e->engine[1] = e->ops[1]->create(cfg, &pair_ports, e);
	if (!e->engine[0] || !e->engine[1])
		abort();
	return e;
}

static void destroy(struct engine *e)
{
	e->ops[0]->destroy(e->engine[0]);
	e->second = true;
	e->ops[1]->destroy(e->engine[1]);
	free(e->log);
	free(e);
}

static int qp_create(struct engine *e, uint32_t qpn, const struct engine_qp *ctx)
{
	int a, b;

	op_begin(e, "qp_create");
	a = b = e->ops[0]->qp_create(e->engine[0], qpn, ctx);
	if (op_second(e))
		b = e->ops[1]->qp_create(e->engine[1], qpn, ctx);
	if (!a && !b) {
		if (e->num_qps == MAX_QPS)
			abort(); /* its state would not be compared */
		e->qpn[e->num_qps++] = qpn;
	}
	op_end(e, a == b);
	return a;
}

static void qp_set(struct engine *e, uint32_t qpn, const struct engine_qp *ctx)
{
	BOTH(e, qp_set, qpn, ctx);
}

static void qp_reset(struct engine *e, uint32_t qpn)
{
	BOTH(e, qp_reset, qpn);
}

static void qp_destroy(struct engine *e, uint32_t qpn)
{
	unsigned int i;

	for (i = 0; i < e->num_qps; i++)
		if (e->qpn[i] == qpn)
			e->qpn[i] = e->qpn[--e->num_qps];
	op_begin(e, "qp_destroy");
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
		BOTH(e, error, qpn);
}

static void query(const struct engine *ce, uint32_t qpn, struct engine_query *out)
{
	struct engine *e = (struct engine *)(uintptr_t)ce;
	struct engine_query b;
	bool same = true;

	op_begin(e, "query");
	e->ops[0]->query(e->engine[0], qpn, out);
	if (op_second(e)) {
		e->ops[1]->query(e->engine[1], qpn, &b);
		same = out->sq_psn == b.sq_psn && out->draining == b.draining;
	}
	op_end(e, same);
}

static void port_set(struct engine *e, uint8_t port, uint32_t mtu)
{
	BOTH(e, port_set, port, mtu);
}

static void doorbell(struct engine *e, uint32_t qpn, uint16_t pi)
{
	BOTH(e, doorbell, qpn, pi);
}

static void push(struct engine *e, uint32_t qpn, uint16_t index, const void *wqe, uint32_t len)
{
	BOTH(e, push, qpn, index, wqe, len);
}

static void read_done(struct engine *e, uint32_t tag, const void *data, uint32_t len, int status)
{
	BOTH(e, read_done, tag, data, len, status);
}

static void written(struct engine *e, uint32_t tag, int status)
{
	BOTH(e, written, tag, status);
}

static void pages(struct engine *e, uint32_t tag, bool mapped)
{
	BOTH(e, pages, tag, mapped);
}

static bool leave(struct engine *e, uint32_t tag, bool failed)
{
	bool a, b;

	op_begin(e, "leave");
	a = b = e->ops[0]->leave(e->engine[0], tag, failed);
	if (op_second(e))
		b = e->ops[1]->leave(e->engine[1], tag, failed);
	op_end(e, a == b);
	return a;
}

static void released(struct engine *e, uint32_t tag)
{
	BOTH(e, released, tag);
}

static void response(struct engine *e, uint32_t qpn, const struct engine_response *r)
{
	BOTH(e, response, qpn, r);
}

static void timer(struct engine *e, uint32_t qpn)
{
	BOTH(e, timer, qpn);
}

static bool completion(const struct engine *ce, uint32_t qpn, struct engine_completion *out)
{
	struct engine *e = (struct engine *)(uintptr_t)ce;
	struct engine_completion a, b;
	bool has, same = true;

	op_begin(e, "completion");
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
	BOTH(e, completion_taken, qpn);
}

static bool pending(const struct engine *ce, enum hca_stage stage, struct hca_work *work)
{
	struct engine *e = (struct engine *)(uintptr_t)ce;
	struct hca_work other = *work;
	bool a, same = true;

	op_begin(e, "pending");
	a = e->ops[0]->pending(e->engine[0], stage, work);
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

	op_begin(e, "step");
	a = b = e->ops[0]->step(e->engine[0], stage);
	if (op_second(e))
		b = e->ops[1]->step(e->engine[1], stage);
	op_end(e, a == b);
	return a;
}

static void counters(const struct engine *ce, struct engine_counters *out)
{
	struct engine *e = (struct engine *)(uintptr_t)ce;
	struct engine_counters b;
	bool same = true;

	op_begin(e, "counters");
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

const struct engine_ops pair_engine = {
	.name = "pair",
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
};
