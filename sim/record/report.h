/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The first difference of a replay, in terms of the work request it belongs to. */
#ifndef HCASIM_RECORD_REPORT_H
#define HCASIM_RECORD_REPORT_H

#include "record/event.h"

#define REPORT_WQES 256

struct report {
	struct event wqes[REPORT_WQES]; /* the last WQEs that were decoded, with copies of their fields */
	unsigned int next;
};

void report_note(struct report *rep, const struct event *e);
/* The machine did something else than the record says. */
void report_difference(const struct report *rep, const char *path, const struct event *recorded,
		       const struct event *replayed);
/* The machine did not do, up to `now`, what the record says. */
void report_missing(const struct report *rep, const char *path, const struct event *recorded, hca_ps now);
void report_free(struct report *rep);

#endif
