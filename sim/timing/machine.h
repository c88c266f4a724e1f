/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One simulated machine: N adapters on one wire, each behind its PCIe link, under one SystemC kernel. A C interface,
 * for sim/process and sim/kernel.
 *
 * Time is simulated picoseconds. Pending work runs as fast as the host can; while only timers are pending, the caller
 * advances time with the wall clock. Single-threaded: every call, and every callback, is on the thread that runs the
 * machine.
 */
#ifndef HCASIM_TIMING_MACHINE_H
#define HCASIM_TIMING_MACHINE_H

#include "../core/hca.h"
#include "../trace/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct machine;
struct pcie_parts;

struct machine_host_ops {
	/* Memory of address space `pasid`, which is not 0. 0 or -EFAULT. Scatter/gather of `nseg` pieces against one buffer; pieces are moved in
	 * order: no byte of a later piece becomes visible before the earlier pieces (CQE valid bits). */
	int (*mem_read)(void *ctx, uint32_t pasid, const struct hca_dma_seg *seg, uint32_t nseg, void *buf);
	int (*mem_write)(void *ctx, uint32_t pasid, const struct hca_dma_seg *seg, uint32_t nseg,
			 const void *buf);
	/* Memory of PASID 0, the driver's. NULL: it is plain memory of this process. */
	void (*kernel_read)(void *ctx, const struct hca_dma_seg *seg, uint32_t nseg, void *buf);
	void (*kernel_write)(void *ctx, const struct hca_dma_seg *seg, uint32_t nseg, const void *buf);
	/* MSI-X `vector` of adapter `hca` reached the CPU: all its earlier DMA writes are visible. */
	void (*irq)(void *ctx, unsigned int hca, unsigned int vector);
	/* For observers, or NULL: a stage has started a step, and is occupied for so many cycles of the profile's clock. */
	void (*stepped)(void *ctx, unsigned int hca, enum hca_stage stage, const struct hca_work *work,
			uint32_t cycles);
};

struct machine_config {
	unsigned int num_hcas;                 /* 1..16 */
	const char *profile;                   /* path of the timing profile (YAML) */
	const char *trace_dir;                 /* NULL: no tracing, at no cost */
	bool no_events;                        /* the trace has no events.log */
	const struct trace_observer *observer; /* or NULL; with the same context as the host's operations */
	const char *fault;                     /* --fault specification, NULL: none */
	uint64_t seed;
	const struct hca_personality *personality;          /* of all adapters: device_family()'s */
	const struct hca_personality *const *personalities; /* or of each one; NULL: `personality` */
	const struct engine_ops *engine; /* send engine of all adapters; NULL: the C engine */
	struct pcie_parts *pcie; /* or NULL: PCIe models of others, timing/pcie_port.h (docs/pcie-port.md) */
};

/* NULL on failure, with one clear sentence in `err` that names field and value. */
struct machine *machine_create(const struct machine_config *cfg, const struct machine_host_ops *ops,
			       void *ctx, char *err, size_t err_size);
/* Flushes and closes the traces. */
void machine_destroy(struct machine *m);

unsigned int machine_num_hcas(const struct machine *m);
struct hca *machine_hca(struct machine *m, unsigned int index);
const struct hca_config *machine_hca_config(const struct machine *m, unsigned int index);
hca_ps machine_now(const struct machine *m);
/* The trace; NULL: there is none. */
struct trace *machine_trace(const struct machine *m);
/* Time of the host's software to handle a page request (profile): fixed, and for each page. */
void machine_page_fault(const struct machine *m, hca_ps *fixed, hca_ps *per_page);

/* What a program's processor takes (profile), for callers that keep its time. */
struct machine_cpu {
	hca_ps wqe, store_wc, poll_empty, poll_found;
};
void machine_cpu(const struct machine *m, struct machine_cpu *out);

#define MACHINE_CPUS 256 /* their numbers: 0..255 */

/*
 * CPU `cpu` stored to a BAR, now. `wc`: the page is mapped write-combining: the CPU's buffers merge such
 * stores per 64-byte line; a line leaves when it is full, when the CPU needs its buffer or does an uncached
 * access, when another CPU stores to it, or when it has aged (profile).
 */
void machine_mmio_write(struct machine *m, unsigned int cpu, unsigned int hca, unsigned int bar,
			uint64_t offset, const void *data, uint32_t size, bool wc);
/* CPU `cpu` stalls: something that it did to a BAR has not been done, and its program does not go on before. */
bool machine_cpu_stalls(const struct machine *m, unsigned int cpu);
/* Stores to BARs of this adapter have not reached it yet. */
bool machine_stores_under_way(const struct machine *m, unsigned int hca);
/* CPU `cpu` loads from a BAR; `done` is called, from machine_run, when the completion has come back. */
void machine_mmio_read(struct machine *m, unsigned int cpu, unsigned int hca, unsigned int bar,
		       uint64_t offset, uint32_t size,
		       void (*done)(void *arg, const void *data, uint32_t size), void *arg);

enum machine_state {
	MACHINE_ACTIVE, /* the budget was used up; there is more to do */
	MACHINE_TIMERS, /* nothing but timers is pending */
	MACHINE_IDLE,   /* nothing is pending at all */
};
/* Runs active work for at most about `budget` of simulated time, so that the caller can look for input; 0: what is due
 * now, and no time passes. */
enum machine_state machine_run(struct machine *m, hca_ps budget);
/* When pending work goes on; HCA_PS_NEVER if there is none. */
hca_ps machine_next_work(const struct machine *m);
/* How often the adapters have written to the host's memory. */
uint64_t machine_memory_writes(const struct machine *m);
/* Deadline of the earliest timer; HCA_PS_NEVER if none. */
hca_ps machine_next_timer(const struct machine *m);
/*
 * Lets time pass to `until`, but at most to pending work, and to the earliest timer, which then becomes pending work.
 */
void machine_advance(struct machine *m, hca_ps until);

#ifdef __cplusplus
}
#endif
#endif
