// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Ports of the lockstep engine: calls of the first engine are recorded with their results, the second one's compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/lockstep_impl.h"

#include <hcasim_verbs.h>

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

/* A number as decimal and hexadecimal, other data as its bytes from the first one that differs. */
static void show(char *out, size_t room, const uint8_t *data, size_t len, size_t from)
{
	uint64_t n = 0;
	size_t i, at = 0;

	if (len == 1 || len == 2 || len == 4 || len == 8) {
		memcpy(&n, data, len);
		snprintf(out, room, "%llu (0x%llx)", (unsigned long long)n, (unsigned long long)n);
		return;
	}
	for (i = from; i < len && i < from + 8 && at + 4 < room; i++)
		at += (size_t)snprintf(out + at, room - at, "%02x ", data[i]);
	snprintf(out + at, room - at, "at byte %zu", from);
}

static void different_value(struct engine *e, const char *port, const char *field, const uint8_t *first,
			    const uint8_t *second, size_t len)
{
	char a[64], b[64];
	size_t from = 0;

	while (first[from] == second[from])
		from++;
	show(a, sizeof(a), first, len, from);
	show(b, sizeof(b), second, len, from);
	lockstep_difference(e, "%s: %s is %s, of %s %s", port, field, a, lockstep_second_name(e), b);
}

/* An argument of a port call. */
static void arg(struct engine *e, const char *port, const char *field, const void *data, size_t len)
{
	if (!e->second) {
		record(e, data, len);
		return;
	}
	if (!e->differs && e->at + len > e->len)
		lockstep_difference(e, "%s: %s of %s is longer", port, field, lockstep_second_name(e));
	else if (!e->differs && len && memcmp(e->log + e->at, data, len))
		different_value(e, port, field, e->log + e->at, data, len);
	e->at += len;
}

/* The last part of its expression is the name of the field. */
static const char *field_of(const char *expression)
{
	const char *arrow = strrchr(expression, '>'), *dot = strrchr(expression, '.');
	const char *last = arrow > dot ? arrow : dot;

	return last ? last + 1 : expression;
}

#define ARG(port, value) arg(e, port, field_of(#value), &(value), sizeof(value))

static void arg_qp(struct engine *e, const char *port, uint32_t qpn)
{
	e->op_qpn = qpn;
	ARG(port, qpn);
}

const char *lockstep_next_call(const struct engine *e)
{
	return e->at < e->len ? (const char *)e->log + e->at : NULL;
}

/* True: the call is to be executed. */
static bool begin(struct engine *e, const char *port)
{
	char name[MAX_NAME] = "";

	snprintf(name, sizeof(name), "%s", port);
	if (!e->second) {
		record(e, name, sizeof(name));
		return true;
	}
	e->op_call++;
	lockstep_report.port_calls++;
	if (!e->differs && !lockstep_next_call(e))
		lockstep_difference(e, "%s calls %s, %s does not", lockstep_second_name(e), port,
				    e->ops[0]->name);
	else if (!e->differs && strcmp(lockstep_next_call(e), name))
		lockstep_difference(e, "%s calls %s, %s calls %s", lockstep_second_name(e), port,
				    e->ops[0]->name, lockstep_next_call(e));
	e->at += sizeof(name);
	return false;
}

/* The result: what has just been given, or was. */
static void result(struct engine *e, void *data, size_t len)
{
	if (!e->second) {
		record(e, data, len);
		return;
	}
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

	result(e, &now, sizeof(now));
	return now;
}

static bool port_read(void *host, uint32_t qpn, uint32_t tag, uint32_t pasid, const struct hca_dma_seg *seg,
		      uint32_t nseg)
{
	struct engine *e = host;
	bool first = begin(e, "read"), ok = false;
	uint32_t i;

	arg_qp(e, "read", qpn);
	ARG("read", tag);
	ARG("read", pasid);
	for (i = 0; i < nseg; i++) {
		ARG("read", seg[i].addr);
		ARG("read", seg[i].len);
	}
	if (first)
		ok = e->ports->read(e->host, qpn, tag, pasid, seg, nseg);
	result(e, &ok, sizeof(ok));
	return ok;
}

static void arg_lookup(struct engine *e, const char *port, const struct engine_lookup *l)
{
	ARG(port, l->pdn);
	ARG(port, l->access);
	ARG(port, l->off);
	ARG(port, l->len);
	arg(e, port, "sge", l->sge, l->num_sge * sizeof(*l->sge));
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
	result(e, &err, sizeof(err));
	if (err || !out)
		return err;
	result(e, npieces, sizeof(*npieces));
	result(e, out, *npieces * sizeof(*out));
	return err;
}

static bool port_present(void *host, const struct engine_lookup *l)
{
	struct engine *e = host;
	bool first = begin(e, "present"), ok = true;

	arg_lookup(e, "present", l);
	if (first)
		ok = e->ports->present(e->host, l);
	result(e, &ok, sizeof(ok));
	return ok;
}

static bool port_page_request(void *host, uint32_t qpn, uint32_t tag, const struct engine_lookup *l)
{
	struct engine *e = host;
	bool first = begin(e, "page_request"), ok = false;

	arg_qp(e, "page_request", qpn);
	ARG("page_request", tag);
	arg_lookup(e, "page_request", l);
	if (first)
		ok = e->ports->page_request(e->host, qpn, tag, l);
	result(e, &ok, sizeof(ok));
	return ok;
}

static uint8_t port_local(void *host, uint32_t qpn, const struct hca_wr *wr)
{
	struct engine *e = host;
	bool first = begin(e, "local");
	uint8_t err = 0;

	arg_qp(e, "local", qpn);
	ARG("local", wr->op);
	ARG("local", wr->inv_rkey);
	ARG("local", wr->bind.mw_rkey);
	ARG("local", wr->bind.new_rkey);
	ARG("local", wr->bind.lkey);
	ARG("local", wr->bind.access);
	ARG("local", wr->bind.addr);
	ARG("local", wr->bind.length);
	ARG("local", wr->bind.type);
	ARG("local", wr->bind.keep_access);
	ARG("local", wr->bind.keep_parts);
	ARG("local", wr->bind.num_parts);
	ARG("local", wr->bind.repeat);
	if (first)
		err = e->ports->local(e->host, qpn, wr);
	result(e, &err, sizeof(err));
	return err;
}

static bool port_packet_room(void *host)
{
	struct engine *e = host;
	bool room = begin(e, "packet_room") && e->ports->packet_room(e->host);

	result(e, &room, sizeof(room));
	return room;
}

static void arg_pieces(struct engine *e, const char *port, const struct piece *p, uint32_t n)
{
	uint32_t i;

	arg(e, port, "npieces", &n, sizeof(n));
	for (i = 0; i < n; i++) {
		ARG(port, p[i].addr);
		ARG(port, p[i].len);
		ARG(port, p[i].pasid);
		ARG(port, p[i].tph.on);
		ARG(port, p[i].tph.ph);
		ARG(port, p[i].tph.st);
		ARG(port, p[i].relaxed);
	}
}

static void arg_spec(struct engine *e, const struct pkt_spec *s)
{
	const uint32_t plt = s->plt, sel = s->sel; /* bit-fields have no address */

	ARG("packet", s->opcode);
	ARG("packet", s->port);
	ARG("packet", s->psn);
	ARG("packet", s->dqpn);
	ARG("packet", s->sport);
	ARG("packet", s->qkey);
	ARG("packet", s->sqpn);
	ARG("packet", s->srqn);
	ARG("packet", s->se);
	ARG("packet", s->ackreq);
	ARG("packet", s->va);
	ARG("packet", s->rkey);
	ARG("packet", s->dmalen);
	ARG("packet", s->swap_add);
	ARG("packet", s->compare);
	ARG("packet", s->orig);
	ARG("packet", s->imm);
	ARG("packet", s->inv_rkey);
	ARG("packet", plt);
	ARG("packet", sel);
	ARG("packet", s->aeth_kind);
	ARG("packet", s->aeth_value);
	ARG("packet", s->msn);
	ARG("packet", s->payload_len);
}

static void arg_av(struct engine *e, const struct hca_av *av)
{
	ARG("packet", av->dgid);
	ARG("packet", av->dmac);
	ARG("packet", av->sgid_index);
	ARG("packet", av->hop_limit);
	ARG("packet", av->traffic_class);
	ARG("packet", av->sl);
	ARG("packet", av->port);
	ARG("packet", av->flow_label);
}

static bool port_packet(void *host, uint32_t tag, const struct engine_packet *p)
{
	struct engine *e = host;
	bool first = begin(e, "packet"), ok = false;

	ARG("packet", tag);
	arg_qp(e, "packet", p->qpn);
	ARG("packet", p->raw);
	ARG("packet", p->sums);
	arg_spec(e, &p->spec);
	arg_av(e, p->spec.av);
	ARG("packet", p->head_len);
	arg(e, "packet", "head", p->head, p->head_len);
	arg_pieces(e, "packet", p->piece, p->npieces);
	if (first)
		ok = e->ports->packet(e->host, tag, p);
	result(e, &ok, sizeof(ok));
	return ok;
}

static int port_result(void *host, uint32_t qpn, uint32_t tag, const struct piece *piece, uint32_t npieces)
{
	struct engine *e = host;
	bool first = begin(e, "result");
	int n = -1;

	arg_qp(e, "result", qpn);
	ARG("result", tag);
	arg_pieces(e, "result", piece, npieces);
	if (first)
		n = e->ports->result(e->host, qpn, tag, piece, npieces);
	result(e, &n, sizeof(n));
	return n;
}

static void port_timer(void *host, uint32_t qpn, hca_ps at)
{
	struct engine *e = host;
	bool first = begin(e, "timer");

	arg_qp(e, "timer", qpn);
	ARG("timer", at);
	if (first)
		e->ports->timer(e->host, qpn, at);
}

static void port_failed(void *host, uint32_t qpn, uint8_t state)
{
	struct engine *e = host;
	bool first = begin(e, "failed");

	arg_qp(e, "failed", qpn);
	ARG("failed", state);
	if (first) {
		e->inside = true;
		e->ports->failed(e->host, qpn, state);
		e->inside = false;
	} else if (state == HCASIM_QPS_ERR) { /* as the adapter does */
		e->ops[1]->error(e->engine[1], qpn);
	}
}

static void port_drained(void *host, uint32_t qpn)
{
	struct engine *e = host;
	bool first = begin(e, "drained");

	arg_qp(e, "drained", qpn);
	if (first)
		e->ports->drained(e->host, qpn);
}

static void port_saw_wqe(void *host, uint32_t qpn, const struct hca_wr *wr, const void *raw, uint32_t len)
{
	struct engine *e = host;
	bool first = begin(e, "saw_wqe");

	if (first)
		lockstep_saw(e, qpn, wr->index, raw, len);
	arg_qp(e, "saw_wqe", qpn);
	arg(e, "saw_wqe", "raw", raw, len);
	if (first)
		e->ports->saw_wqe(e->host, qpn, wr, raw, len);
}

static void port_retired(void *host, const struct engine_retired *r)
{
	struct engine *e = host;

	if (e->second)
		lockstep_retired(e, r);
	if (e->second && e->ports->retired)
		e->ports->retired(e->host, r);
}

/* The core's frame, for whom it is asked: nothing to compare. */
static uint32_t port_frame(void *host, uint8_t *out)
{
	struct engine *e = host;

	return e->ports->frame(e->host, out);
}

const struct engine_ports lockstep_ports = {
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
	.retired = port_retired,
	.frame = port_frame,
};
