// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "record/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void report_note(struct report *rep, const struct event *e)
{
	struct event *to = &rep->wqes[rep->next % REPORT_WQES];
	uint8_t *copy;

	if (e->kind != EVENT_WQE)
		return;
	copy = malloc(e->len + 1);
	if (!copy)
		return;
	memcpy(copy, e->data, e->len);
	free((void *)to->data);
	*to = *e;
	to->data = copy;
	rep->next++;
}

static uint64_t number(const struct event *e, const char *field)
{
	uint64_t v = 0;

	event_number(e, field, &v);
	return v;
}

/* Of the QP and ring index that the event names; else the last one of its QP; else the last one of all. */
static const struct event *find_wqe(const struct report *rep, const struct event *e)
{
	const struct event *of_qp = NULL;
	uint64_t hca, qpn, index;

	if (!rep->next)
		return NULL;
	if (!event_number(e, "hca", &hca) || !event_number(e, "qpn", &qpn) || !qpn)
		return &rep->wqes[(rep->next - 1) % REPORT_WQES];
	for (unsigned int back = 1; back <= REPORT_WQES && back <= rep->next; back++) {
		const struct event *w = &rep->wqes[(rep->next - back) % REPORT_WQES];

		if (number(w, "hca") != hca || number(w, "qpn") != qpn)
			continue;
		if (!event_number(e, "wqe_index", &index) || number(w, "index") == index)
			return w;
		of_qp = of_qp ? of_qp : w;
	}
	return of_qp ? of_qp : &rep->wqes[(rep->next - 1) % REPORT_WQES];
}

static void print_wqe(const struct report *rep, const struct event *e)
{
	const struct event *w = e->kind == EVENT_WQE ? e : find_wqe(rep, e);
	uint64_t qpn;

	if (!w)
		return;
	fprintf(stderr, "  %s: hcasim%" PRIu64 ", QP %" PRIu64 ", ring index %" PRIu64 ":\n            ",
		event_number(e, "qpn", &qpn) && qpn == number(w, "qpn") ? "work request"
									: "last work request",
		number(w, "hca"), number(w, "qpn"), number(w, "index"));
	event_print(stderr, w);
}

static void print_head(const char *path, const struct event *e)
{
	fprintf(stderr, "hcasim replay: %s: first difference at event %" PRIu64 ", %" PRIu64 " ps: ", path,
		e->number, e->time);
}

void report_difference(const struct report *rep, const char *path, const struct event *recorded,
		       const struct event *replayed)
{
	print_head(path, recorded);
	event_print_name(stderr, replayed->kind);
	fputs(": ", stderr);
	if (replayed->kind != recorded->kind) {
		fputs("it was not recorded here, but ", stderr);
		event_print_name(stderr, recorded->kind);
	} else if (replayed->time != recorded->time) {
		fprintf(stderr, "time is %" PRIu64 " ps, recorded %" PRIu64 " ps", replayed->time,
			recorded->time);
	} else {
		event_print_difference(stderr, recorded, replayed);
	}
	fputs("\n  recorded: ", stderr);
	event_print(stderr, recorded);
	fputs("  replayed: ", stderr);
	event_print(stderr, replayed);
	print_wqe(rep, replayed->kind == EVENT_WQE && recorded->kind != EVENT_WQE ? recorded : replayed);
}

void report_missing(const struct report *rep, const char *path, const struct event *recorded, hca_ps now)
{
	print_head(path, recorded);
	event_print_name(stderr, recorded->kind);
	fprintf(stderr, ": it did not happen in the replay, whose time is %" PRIu64 " ps\n  recorded: ", now);
	event_print(stderr, recorded);
	print_wqe(rep, recorded);
}

void report_free(struct report *rep)
{
	for (unsigned int i = 0; i < REPORT_WQES; i++)
		free((void *)rep->wqes[i].data);
}
