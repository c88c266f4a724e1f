// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ports of a pair: the first engine's calls are recorded with their answers, the second one's compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair_impl.h"

#include <hcasim_verbs.h>

struct pair_report pair_report;

void pair_difference(struct engine *e, const char *what)
{
	if (e->differs)
		return;
	e->differs = true;
	if (pair_report.differs)
		return;
	pair_report.differs = true;
	snprintf(pair_report.what, sizeof(pair_report.what), "%s: %s", e->op, what);
}

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
		pair_difference(e, port);
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
	if (!len) /* then `data` may be NULL */
		return;
	if (e->differs || e->at + len > e->len)
		memset(data, 0, len);
	else
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
	bool want = out;
	uint8_t err = 0;

	arg_lookup(e, "lookup", l);
	ARG("lookup", want);
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

const struct engine_ports pair_ports = {
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
