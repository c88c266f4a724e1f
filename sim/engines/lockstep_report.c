// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The report of the first difference: op, port call and field, the state of both engines, the WQE. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/lockstep_impl.h"

struct lockstep_report lockstep_report;

#define FIELD(x)                                                                                             \
	{                                                                                                    \
#x, offsetof(struct engine_state, x), sizeof(((struct engine_state *)0)->x)                  \
	}

static const struct field {
	const char *name;
	size_t offset, size;
} fields[] = {
	FIELD(qp_state),    FIELD(pi),        FIELD(fetched), FIELD(retired),       FIELD(wqes),
	FIELD(has_cur),     FIELD(cur_index), FIELD(cur_pkt), FIELD(has_ack),       FIELD(ack_index),
	FIELD(una_psn),     FIELD(next_psn),  FIELD(rd_out),  FIELD(rd_incomplete), FIELD(retries),
	FIELD(rnr_retries), FIELD(rnr_wait),  FIELD(fault),   FIELD(fetching),      FIELD(paging),
};
#define NUM_FIELDS (sizeof(fields) / sizeof(fields[0]))

static uint64_t value(const struct engine_state *s, const struct field *f)
{
	uint64_t v = 0;

	memcpy(&v, (const uint8_t *)s + f->offset, f->size);
	return v;
}

static void states(const struct engine *e, uint32_t qpn, struct engine_state out[2])
{
	memset(out, 0, 2 * sizeof(*out));
	e->ops[0]->state(e->engine[0], qpn, &out[0]);
	e->ops[1]->state(e->engine[1], qpn, &out[1]);
}

const char *lockstep_second_name(const struct engine *e)
{
	return strcmp(e->ops[0]->name, e->ops[1]->name) ? e->ops[1]->name : "the second";
}

void lockstep_compare_state(struct engine *e, uint32_t qpn)
{
	struct engine_state s[2];
	const struct field *f;

	states(e, qpn, s);
	for (f = fields; f < fields + NUM_FIELDS; f++) {
		if (value(&s[0], f) == value(&s[1], f))
			continue;
		e->op_qpn = qpn;
		lockstep_difference(e, "state.%s of QP %u is %" PRIu64 ", of %s %" PRIu64, f->name, qpn,
				    value(&s[0], f), lockstep_second_name(e), value(&s[1], f));
		return;
	}
}

static const struct lockstep_qp *find(const struct engine *e, uint32_t qpn)
{
	unsigned int i;

	for (i = 0; i < e->num_qps; i++)
		if (e->qp[i].qpn == qpn)
			return &e->qp[i];
	return NULL;
}

static void print_states(FILE *f, const struct engine *e, struct engine_state s[2])
{
	const struct field *field;

	states(e, e->op_qpn, s);
	fprintf(f, "  state of QP %u   %16s %16s\n", e->op_qpn, e->ops[0]->name, lockstep_second_name(e));
	for (field = fields; field < fields + NUM_FIELDS; field++)
		fprintf(f, "    %-14s %16" PRIu64 " %16" PRIu64 "%s\n", field->name, value(&s[0], field),
			value(&s[1], field), value(&s[0], field) == value(&s[1], field) ? "" : "  <");
}

/* ---- WQEs ---- */

void lockstep_saw(struct engine *e, uint32_t qpn, uint16_t index, const void *raw, uint32_t len)
{
	struct seen_wqe *w = &e->seen[e->num_seen++ % SEEN];

	w->qpn = qpn;
	w->index = index;
	w->len = len < sizeof(w->raw) ? len : sizeof(w->raw);
	memcpy(w->raw, raw, w->len);
	e->op_qpn = qpn;
}

/* The WQE at `index`, or else the last one of the QP that was decoded. */
void lockstep_compare_frames(struct engine *e, const uint8_t *first, uint32_t first_len,
			     const uint8_t *second, uint32_t second_len)
{
	uint32_t at = 0;

	if (first_len != second_len) {
		lockstep_difference(e, "the frame has %u bytes, of %s %u", first_len, lockstep_second_name(e),
				    second_len);
		return;
	}
	while (at < first_len && first[at] == second[at])
		at++;
	if (at < first_len)
		lockstep_difference(e, "byte %u of the %u of the frame is 0x%02x, of %s 0x%02x", at,
				    first_len, first[at], lockstep_second_name(e), second[at]);
}

static const struct seen_wqe *find_wqe(const struct engine *e, uint32_t qpn, bool at_index, uint16_t index)
{
	const struct seen_wqe *last = NULL, *w;
	unsigned int i;

	for (i = 0; i < SEEN && i < e->num_seen; i++) {
		w = &e->seen[(e->num_seen - 1 - i) % SEEN];
		if (w->qpn != qpn)
			continue;
		if (!last)
			last = w;
		if (!at_index || w->index == index)
			return w;
	}
	return last;
}

static void print_decoded(FILE *f, const struct hca_wr *wr)
{
	uint32_t i;

	fprintf(f,
		"    op %s, flags 0x%x, %u basic blocks, %" PRIu64 " bytes, remote 0x%" PRIx64
		", rkey 0x%x, imm 0x%x, inv_rkey 0x%x\n",
		hcasim_wqe_op_name(wr->op), wr->flags, wr->num_bb, wr->length, wr->remote_addr, wr->rkey,
		wr->imm, wr->inv_rkey);
	if (wr->ud.qpn)
		fprintf(f, "    destination QP %u, qkey 0x%x, UDP port %u\n", wr->ud.qpn, wr->ud.qkey,
			wr->ud.sport);
	for (i = 0; i < wr->num_sge; i++)
		fprintf(f, "    sge %u: 0x%" PRIx64 ", %u bytes, lkey 0x%x\n", i, wr->sge[i].addr,
			wr->sge[i].length, wr->sge[i].lkey);
}

static void print_wqe(FILE *f, const struct engine *e, const struct seen_wqe *w)
{
	struct hca_sge sge[ENGINE_MAX_PIECES] = {{0}};
	struct hca_wr wr = {.sge = sge};
	uint8_t status = 0, err;
	uint32_t i;

	fprintf(f, "  WQE of QP %u, index %u:", w->qpn, w->index);
	for (i = 0; i < w->len; i++)
		fprintf(f, "%s%02x", i % 32 ? "" : "\n    ", w->raw[i]);
	fputc('\n', f);
	err = e->pers->decode_wqe(w->raw, w->len, find(e, w->qpn)->type, w->qpn, w->index, &wr, sge,
				  ENGINE_MAX_PIECES, &status);
	if (err)
		fprintf(f, "    illegal: status %s, vendor_err %s\n", hcasim_cqe_status_name(status),
			hcasim_vendor_err_name(err));
	else
		print_decoded(f, &wr);
}

static void print_wave(FILE *f, const struct engine *e)
{
	int err = e->wave_error;

	if (!e->cfg.wave)
		return;
	if (!err)
		err = e->ops[1]->wave(e->engine[1], 0, NULL);
	if (err)
		fprintf(f, "  no waveform: %s: %s\n", e->wave, strerror(-err));
	else
		fprintf(f, "  waveform of %s: %s, and what was before: %s.before\n", lockstep_second_name(e),
			e->wave, e->wave);
}

static void print_report(FILE *f, const struct engine *e)
{
	const struct seen_wqe *w;
	struct engine_state s[2];

	fprintf(f, "lockstep: first difference of %s and %s, in op %s", e->ops[0]->name,
		lockstep_second_name(e), e->op);
	if (e->second)
		fprintf(f, ", port call %u", e->op_call);
	fprintf(f, ", after %" PRIu64 " ops and %" PRIu64 " port calls\n", lockstep_report.ops,
		lockstep_report.port_calls);
	if (find(e, e->op_qpn)) {
		print_states(f, e, s);
		w = find_wqe(e, e->op_qpn, s[0].has_cur, s[0].cur_index);
		if (w)
			print_wqe(f, e, w);
	}
	print_wave(f, e);
	fprintf(f, "lockstep: %s\n", lockstep_report.what);
}

void lockstep_difference(struct engine *e, const char *format, ...)
{
	char *text = NULL, what[200];
	size_t size;
	va_list args;
	FILE *f;

	if (e->differs)
		return;
	e->differs = true;
	if (lockstep_report.differs)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	lockstep_report.differs = true;
	snprintf(lockstep_report.what, sizeof(lockstep_report.what), "engines %s and %s differ: %s: %s",
		 e->ops[0]->name, lockstep_second_name(e), e->op, what);
	if (!e->cfg.stop)
		return;
	f = open_memstream(&text, &size);
	if (!f)
		abort();
	print_report(f, e);
	fclose(f);
	e->cfg.stop(text);
	free(text);
}
