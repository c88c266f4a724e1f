/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Observers of one machine: they write what they see into a folder, pass it on, or both, and influence nothing. The
 * files and their records are described in docs/traces.md.
 */
#ifndef HCASIM_TRACE_TRACE_H
#define HCASIM_TRACE_TRACE_H

#include <stdio.h>

#include "../core/engine.h"
#include "../core/hca.h"
#include "../core/personality.h"

#ifdef __cplusplus
extern "C" {
#endif

struct trace;
struct trace_tlp;

/* Sees the same as the files. */
struct trace_observer {
	void (*frame)(void *ctx, hca_ps time, const void *data, uint32_t len);
	void (*fault)(void *ctx, hca_ps time, unsigned int from, const char *what, uint32_t len);
	void (*tlp)(void *ctx, const struct trace_tlp *tlp);
	void (*wqe)(void *ctx, unsigned int adapter, uint32_t qpn, const struct hca_wr *wr, const void *raw,
		    uint32_t len);
	void (*cqe)(void *ctx, unsigned int adapter, uint32_t cqn, const struct hca_cpl *cpl, const void *raw,
		    uint32_t len);
};

/*
 * Makes `dir` if it does not exist; NULL: no files. `events`: events.log, too. `observer` may be NULL. NULL, and one
 * sentence in `err`, if a file cannot be written.
 */
struct trace *trace_open(const char *dir, bool events, const struct trace_observer *observer, void *ctx,
			 char *err, size_t err_size);
#define TRACE_MAX_ADAPTERS 16
/* The names of the adapters, once, before the first record. */
void trace_adapters(struct trace *t, const char *const *names, unsigned int num);
/* Flushes; says on stderr which file is incomplete, if one could not be written to the end. */
void trace_close(struct trace *t);

/* A frame as its sender put it on the wire, without FCS, before any fault. */
void trace_frame(struct trace *t, hca_ps time, const void *data, uint32_t len);
/* Files whose records others write: verbs.log, posts.log. NULL: there are no files. */
FILE *trace_verbs(const struct trace *t);
FILE *trace_posts(const struct trace *t);

/* What happened to the frame of adapter `from` that left at `time`. */
void trace_fault(struct trace *t, hca_ps time, unsigned int from, const char *what, uint32_t len);

struct trace_tlp {
	hca_ps start, arrival; /* first bit out; last bit in, at the other end */
	unsigned int adapter;
	bool up; /* towards the host */
	const char *type;
	uint64_t addr;    /* of a load or store of a CPU: offset in the BAR */
	unsigned int bar; /* of a load or store of a CPU */
	uint32_t len;
	bool tagged;
	uint16_t tag;
	const void *data; /* NULL: it carries none */
	bool request;     /* a memory request */
	bool dma;         /* part of a DMA transfer: */
	enum hca_dma_class class_;
	uint32_t pasid, qpn;
	struct hca_tph tph;
	bool relaxed;
};
void trace_tlp(struct trace *t, const struct trace_tlp *tlp);

void trace_wqe(struct trace *t, hca_ps time, unsigned int adapter, uint32_t qpn, const struct hca_wr *wr,
	       const void *raw, uint32_t len);
void trace_cqe(struct trace *t, hca_ps time, unsigned int adapter, uint32_t cqn, const struct hca_cpl *cpl,
	       const void *raw, uint32_t len);
void trace_retired(struct trace *t, hca_ps time, unsigned int adapter, const struct engine_retired *r);

/* ---- events.log: how the adapters work, over time ---- */

/* False: there are no files. The calls below are made only if it is true, except trace_sent() and trace_arrived(). */
bool trace_wants_events(const struct trace *t);

/* A stage was busy with a step. */
struct trace_step {
	hca_ps start, end;
	unsigned int adapter;
	const char *stage;
	struct hca_work work;
	struct hca_seen seen;
	hca_ps store; /* DOORBELL: when the CPU's store arrived; 0: not known */
};
void trace_step(struct trace *t, const struct trace_step *s);

/* `where`: a stage, or a direction of the PCIe link, had work that could not go on. */
void trace_stall(struct trace *t, hca_ps start, hca_ps end, unsigned int hca, const char *where,
		 const char *cause);
/* The same for the send queue of a QP, at the work request with this ring index. */
void trace_qp_stall(struct trace *t, hca_ps start, hca_ps end, unsigned int hca, uint32_t qpn, uint16_t index,
		    const char *cause);

/* A level that exists, and its limit; its value from `time` on; or a change of it, at a time that may be in the future. */
void trace_range(struct trace *t, unsigned int hca, const char *name, uint32_t initial, uint32_t max);
void trace_level(struct trace *t, hca_ps time, unsigned int hca, const char *name, uint32_t value);
void trace_change(struct trace *t, hca_ps time, unsigned int hca, const char *name, int32_t by);

/* Something was looked for in a cache of the adapter or the host, and, after a miss, brought there. */
struct trace_lookup {
	hca_ps start, end;
	unsigned int adapter;
	const char *cache;
	uint32_t table; /* what has entries: a QP, a memory key, an address space; 0: there is one table */
	uint64_t number;
	bool hit;
};
void trace_lookup(struct trace *t, const struct trace_lookup *l);

/* A packet was dropped, or answered with a NAK. */
void trace_refused(struct trace *t, hca_ps time, unsigned int hca, const struct hca_refused *r);

/* A frame, the last one of trace_frame(), occupies its sender's link. Frame `number` is wholly at an adapter. */
void trace_sent(struct trace *t, hca_ps start, hca_ps end, unsigned int hca, const struct hca_packet *pkt);
void trace_arrived(struct trace *t, hca_ps time, unsigned int hca, uint64_t number);

#ifdef __cplusplus
}
#endif
#endif
