// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#include <hcasim_verbs.h>

#define MAX_QPS 64 /* whose states are compared */

struct engine {
	const struct engine_ops *ops[2];
	struct engine *engine[2];
	const struct engine_ports *ports; /* the adapter's */
	void *host;
	bool second;  /* the second one runs */
	bool differs; /* it no longer runs */
	bool inside;  /* the first one is inside a port that may call ops */
	const char *op;
	uint8_t *log; /* port calls of the op: arguments and answers */
	size_t len, room, at;
	uint32_t qpn[MAX_QPS];
	unsigned int num_qps;
};

const struct engine_ops *pair_second = &c_engine;
struct pair_report pair_report;

static void difference(struct engine *e, const char *what)
{
	if (e->differs)
		return;
	e->differs = true;
	if (pair_report.differs)
		return;
	pair_report.differs = true;
	snprintf(pair_report.what, sizeof(pair_report.what), "%s: %s", e->op, what);
}

/* ---- Ports ---- */

static void record(struct engine *e, const void *data, size_t len)
{
	if (!len)
		return;
	if (e->len + len > e->room) {
		e->room = 2 * (e->len + len);
		e->log = realloc(e->log, e->room);
		if (!e->log)
			abort();
	}
	memcpy(e->log + e->len, data, len);
	e->len += len;
}

/* An argument of a port call. */
static void arg(struct engine *e, const char *port, const void *data, size_t len)
{
	if (!e->second) {
		record(e, data, len);
		return;
	}
	if (e->at + len > e->len || (len && memcmp(e->log + e->at, data, len)))
		difference(e, port);
	e->at += len;
}

#define ARG(port, value) arg(e, port, &(value), sizeof(value))

/* True: the call is to be carried out. */
static bool begin(struct engine *e, const char *port)
{
	arg(e, port, port, strlen(port));
	return !e->second;
}

/* The answer: what has just been given, or was. */
static void answer(struct engine *e, void *data, size_t len)
{
	if (!e->second) {
		record(e, data, len);
		return;
	}
	pair_report.port_calls++;
	if (e->differs || e->at + len > e->len)
		memset(data, 0, len);
	else if (len)
		memcpy(data, e->log + e->at, len);
	e->at += len;
}

static hca_ps port_now(void *host)
{
	struct engine *e = host;
	hca_ps now = begin(e, "now") ? e->ports->now(e->host) : 0;

	answer(e, &now, sizeof(now));
	return now;
}

static bool port_read(void *host, uint32_t qpn, uint32_t tag, uint32_t pasid, const struct hca_dma_seg *seg,
		      uint32_t nseg)
{
	struct engine *e = host;
	bool first = begin(e, "read"), ok = false;
	uint32_t i;

	ARG("read", qpn);
	ARG("read", tag);
	ARG("read", pasid);
	for (i = 0; i < nseg; i++) {
		ARG("read", seg[i].addr);
		ARG("read", seg[i].len);
	}
	if (first)
		ok = e->ports->read(e->host, qpn, tag, pasid, seg, nseg);
	answer(e, &ok, sizeof(ok));
	return ok;
}

static void arg_lookup(struct engine *e, const char *port, const struct engine_lookup *l)
{
	ARG(port, l->pdn);
	ARG(port, l->access);
	ARG(port, l->off);
	ARG(port, l->len);
	arg(e, port, l->sge, l->num_sge * sizeof(*l->sge));
}

static uint8_t port_lookup(void *host, const struct engine_lookup *l, struct piece *out, uint32_t *npieces)
{
	struct engine *e = host;
	bool first = begin(e, "lookup");
	uint8_t err = 0;

	arg_lookup(e, "lookup", l);
	if (first)
		err = e->ports->lookup(e->host, l, out, npieces);
	answer(e, &err, sizeof(err));
	if (err || !out)
		return err;
	answer(e, npieces, sizeof(*npieces));
	answer(e, out, *npieces * sizeof(*out));
	return err;
}

static bool port_present(void *host, const struct engine_lookup *l)
{
	struct engine *e = host;
	bool first = begin(e, "present"), ok = true;

	arg_lookup(e, "present", l);
	if (first)
		ok = e->ports->present(e->host, l);
	answer(e, &ok, sizeof(ok));
	return ok;
}

static bool port_page_request(void *host, uint32_t qpn, uint32_t tag, const struct engine_lookup *l)
{
	struct engine *e = host;
	bool first = begin(e, "page_request"), ok = false;

	ARG("page_request", qpn);
	ARG("page_request", tag);
	arg_lookup(e, "page_request", l);
	if (first)
		ok = e->ports->page_request(e->host, qpn, tag, l);
	answer(e, &ok, sizeof(ok));
	return ok;
}

static uint8_t port_local(void *host, uint32_t qpn, const struct hca_wr *wr)
{
	struct engine *e = host;
	bool first = begin(e, "local");
	uint8_t err = 0;

	ARG("local", qpn);
	ARG("local", wr->op);
	ARG("local", wr->inv_rkey);
	ARG("local", wr->bind.mw_rkey);
	ARG("local", wr->bind.new_rkey);
	ARG("local", wr->bind.lkey);
	ARG("local", wr->bind.access);
	ARG("local", wr->bind.addr);
	ARG("local", wr->bind.length);
	ARG("local", wr->bind.type);
	if (first)
		err = e->ports->local(e->host, qpn, wr);
	answer(e, &err, sizeof(err));
	return err;
}

static bool port_packet_room(void *host)
{
	struct engine *e = host;
	bool room = begin(e, "packet_room") && e->ports->packet_room(e->host);

	answer(e, &room, sizeof(room));
	return room;
}

static void arg_spec(struct engine *e, const struct pkt_spec *s)
{
	const uint32_t numbers[] = {s->opcode,
				    s->port,
				    s->sport,
				    s->dqpn,
				    s->psn,
				    s->qkey,
				    s->sqpn,
				    s->srqn,
				    s->se,
				    s->ackreq,
				    s->rkey,
				    s->dmalen,
				    s->imm,
				    s->inv_rkey,
				    s->plt,
				    s->sel,
				    s->aeth_kind,
				    s->aeth_value,
				    s->msn,
				    s->payload_len,
				    s->av->sgid_index,
				    s->av->hop_limit,
				    s->av->traffic_class,
				    s->av->sl,
				    s->av->port,
				    s->av->flow_label};
	const uint64_t values[] = {s->va, s->swap_add, s->compare, s->orig};

	arg(e, "packet", numbers, sizeof(numbers));
	arg(e, "packet", values, sizeof(values));
	ARG("packet", s->av->dgid);
	ARG("packet", s->av->dmac);
}

static bool port_packet(void *host, uint32_t tag, const struct engine_packet *p)
{
	struct engine *e = host;
	bool first = begin(e, "packet"), ok = false;

	ARG("packet", tag);
	ARG("packet", p->qpn);
	ARG("packet", p->raw);
	ARG("packet", p->sums);
	arg_spec(e, &p->spec);
	ARG("packet", p->head_len);
	arg(e, "packet", p->head, p->head_len);
	ARG("packet", p->npieces);
	arg(e, "packet", p->piece, p->npieces * sizeof(*p->piece));
	if (first)
		ok = e->ports->packet(e->host, tag, p);
	answer(e, &ok, sizeof(ok));
	return ok;
}

static int port_result(void *host, uint32_t qpn, uint32_t tag, const struct piece *piece, uint32_t npieces)
{
	struct engine *e = host;
	bool first = begin(e, "result");
	int n = -1;

	ARG("result", qpn);
	ARG("result", tag);
	arg(e, "result", piece, npieces * sizeof(*piece));
	if (first)
		n = e->ports->result(e->host, qpn, tag, piece, npieces);
	answer(e, &n, sizeof(n));
	return n;
}

static void port_timer(void *host, uint32_t qpn, hca_ps at)
{
	struct engine *e = host;
	bool first = begin(e, "timer");

	ARG("timer", qpn);
	ARG("timer", at);
	if (first)
		e->ports->timer(e->host, qpn, at);
	answer(e, NULL, 0);
}

static void port_failed(void *host, uint32_t qpn, uint8_t state)
{
	struct engine *e = host;
	bool first = begin(e, "failed");

	ARG("failed", qpn);
	ARG("failed", state);
	if (first) {
		e->inside = true;
		e->ports->failed(e->host, qpn, state);
		e->inside = false;
	} else if (state == HCASIM_QPS_ERR) { /* as the adapter does */
		e->ops[1]->error(e->engine[1], qpn);
	}
	answer(e, NULL, 0);
}

static void port_drained(void *host, uint32_t qpn)
{
	struct engine *e = host;
	bool first = begin(e, "drained");

	ARG("drained", qpn);
	if (first)
		e->ports->drained(e->host, qpn);
	answer(e, NULL, 0);
}

static void port_saw_wqe(void *host, uint32_t qpn, const struct hca_wr *wr, const void *raw, uint32_t len)
{
	struct engine *e = host;
	bool first = begin(e, "saw_wqe");

	ARG("saw_wqe", qpn);
	arg(e, "saw_wqe", raw, len);
	if (first)
		e->ports->saw_wqe(e->host, qpn, wr, raw, len);
	answer(e, NULL, 0);
}

static const struct engine_ports ports = {
	.now = port_now,
	.read = port_read,
	.lookup = port_lookup,
	.present = port_present,
	.page_request = port_page_request,
	.local = port_local,
	.packet_room = port_packet_room,
	.packet = port_packet,
	.result = port_result,
	.timer = port_timer,
	.failed = port_failed,
	.drained = port_drained,
	.saw_wqe = port_saw_wqe,
};

/* ---- Ops ---- */

#define SAME(field)                                                                                          \
	if (a.field != b.field) {                                                                            \
		difference(e, "state." #field);                                                              \
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
		difference(e, "returns something else");
	else if (e->at != e->len)
		difference(e, "a port call is missing");
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
	e->engine[0] = e->ops[0]->create(cfg, &ports, e);
	e->engine[1] = e->ops[1]->create(cfg, &ports, e);
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
	if (!a && !b && e->num_qps < MAX_QPS)
		e->qpn[e->num_qps++] = qpn;
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

static void query(const struct engine *e, uint32_t qpn, struct engine_query *out)
{
	e->ops[0]->query(e->engine[0], qpn, out);
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
