/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the writers of the single files share. */
#ifndef HCASIM_TRACE_TRACE_IMPL_H
#define HCASIM_TRACE_TRACE_IMPL_H

#include <limits.h>
#include <pcap/pcap.h>
#include <stdio.h>

#include "trace.h"

enum trace_log {
	TRACE_TLP,
	TRACE_WQE,
	TRACE_CQE,
	TRACE_RETIRE,
	TRACE_FAULT,
	TRACE_EVENTS,
	TRACE_VERBS,
	TRACE_POSTS,
	TRACE_NUM_LOGS
};

struct trace {
	const struct trace_observer *observer; /* or NULL */
	void *ctx;                             /* of the observer */
	char dir[PATH_MAX];                    /* empty: there are no files */
	FILE *log[TRACE_NUM_LOGS];
	pcap_t *pcap;
	pcap_dumper_t *frames;
	char names[TRACE_MAX_ADAPTERS][16]; /* of the adapters */
	unsigned long long num_frames;      /* so far */
	bool no_events;                     /* no events.log */
	unsigned long long events;          /* records of events.log, so far, */
	hca_ps last;                        /* and the latest time in them */
};

/* The first record of events.log; the last one. */
void trace_events_head(struct trace *t, unsigned int num);
void trace_events_end(struct trace *t);

/* ,"key":"00ff..." */
void trace_hex(FILE *f, const char *key, const void *data, uint32_t len);

#endif
