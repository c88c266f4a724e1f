/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Observers of one machine: they write what they see into a folder and influence nothing. The files and
 * their records are described in docs/traces.md.
 */
#ifndef HCASIM_TRACE_TRACE_H
#define HCASIM_TRACE_TRACE_H

#include "../core/engine.h"
#include "../core/hca.h"
#include "../core/personality.h"

#ifdef __cplusplus
extern "C" {
#endif

struct trace;

/* Makes `dir` if it does not exist. NULL, and one sentence in `err`, if a file cannot be written. */
struct trace *trace_open(const char *dir, char *err, size_t err_size);
/* Flushes; says on stderr which file is incomplete, if one could not be written to the end. */
void trace_close(struct trace *t);

/* A frame as its sender put it on the wire, without FCS, before any fault. */
void trace_frame(struct trace *t, hca_ps time, const void *data, uint32_t len);
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
	const void *data;          /* NULL: it carries none */
	const struct hca_dma *dma; /* NULL: not part of a DMA transfer */
	bool request;              /* a memory request */
};
void trace_tlp(struct trace *t, const struct trace_tlp *tlp);

void trace_wqe(struct trace *t, hca_ps time, unsigned int adapter, uint32_t qpn, const struct hca_wr *wr,
	       const void *raw, uint32_t len);
void trace_cqe(struct trace *t, hca_ps time, unsigned int adapter, uint32_t cqn, const struct hca_cpl *cpl,
	       const void *raw, uint32_t len);
void trace_retired(struct trace *t, hca_ps time, unsigned int adapter, const struct engine_retired *r);

#ifdef __cplusplus
}
#endif
#endif
