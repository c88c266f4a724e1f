// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "record/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/stream.h"
#include "record/tap.h"
#include "record/wrap.h"

#define PROFILE_MAX (1u << 20)

/* One machine per process, and the calls of others do not say whose they are. */
static struct recorder {
	struct tap tap; /* first: the context of the callbacks */
	const struct machine_host_ops *host;
	void *ctx;
	struct writer *writer; /* NULL: nothing is recorded */
	bool inside;           /* a call into the machine, and not in a callback of it */
	/* A machine_run() of which nothing is written yet. */
	bool run_started, idle; /* idle: the last event is the end of one in which nothing happened */
	hca_ps run_time;
	struct out run;
	uint64_t loads;
} rec;

static void write_event(struct tap *t, uint8_t kind)
{
	if (!rec.writer || !t->machine)
		return;
	if (rec.run_started) {
		rec.run_started = false;
		writer_event(rec.writer, EVENT_RUN, rec.run_time, &rec.run);
	}
	rec.idle = false;
	writer_event(rec.writer, kind, machine_now(t->machine), &t->fields);
}

/* ---- Calls --------------------------------------------------------------------------------------- */

static unsigned int index_of(const struct hca *hca)
{
	unsigned int i = 0;

	while (machine_hca(rec.tap.machine, i) != hca)
		i++;
	return i;
}

struct out *record_call(const struct hca *hca)
{
	struct out *o;

	if (!rec.writer || rec.inside || !rec.tap.machine)
		return NULL;
	o = tap_start(&rec.tap);
	put_uint(o, index_of(hca));
	return o;
}

void record_enter(uint8_t kind)
{
	write_event(&rec.tap, kind);
	rec.inside = true;
}

struct out *record_leave(void)
{
	rec.inside = false;
	return tap_start(&rec.tap);
}

void record_return(uint8_t kind)
{
	write_event(&rec.tap, kind | EVENT_RETURN);
}

enum machine_state __real_machine_run(struct machine *m, hca_ps budget);
enum machine_state __wrap_machine_run(struct machine *m, hca_ps budget);
void __real_machine_advance(struct machine *m, hca_ps until);
void __wrap_machine_advance(struct machine *m, hca_ps until);
void __real_machine_mmio_write(struct machine *m, unsigned int cpu, unsigned int hca, unsigned int bar,
			       uint64_t offset, const void *data, uint32_t size, bool wc);
void __wrap_machine_mmio_write(struct machine *m, unsigned int cpu, unsigned int hca, unsigned int bar,
			       uint64_t offset, const void *data, uint32_t size, bool wc);
void __real_machine_mmio_read(struct machine *m, unsigned int cpu, unsigned int hca, unsigned int bar,
			      uint64_t offset, uint32_t size,
			      void (*done)(void *arg, const void *data, uint32_t size), void *arg);
void __wrap_machine_mmio_read(struct machine *m, unsigned int cpu, unsigned int hca, unsigned int bar,
			      uint64_t offset, uint32_t size,
			      void (*done)(void *arg, const void *data, uint32_t size), void *arg);

/* A run in which nothing happens is written once, however often it is repeated. */
enum machine_state __wrap_machine_run(struct machine *m, hca_ps budget)
{
	enum machine_state state;
	bool empty;

	if (!rec.writer || rec.inside)
		return __real_machine_run(m, budget);
	rec.run.len = 0;
	put_uint(&rec.run, budget);
	rec.run_time = machine_now(m);
	rec.run_started = true;
	rec.inside = true;
	state = __real_machine_run(m, budget);
	rec.inside = false;
	empty = rec.run_started && machine_now(m) == rec.run_time;
	if (empty && rec.idle && budget) { /* what is due now may be steps that nobody sees */
		rec.run_started = false;
		return state;
	}
	put_uint(tap_start(&rec.tap), state);
	record_return(EVENT_RUN);
	rec.idle = empty;
	return state;
}

void __wrap_machine_advance(struct machine *m, hca_ps until)
{
	if (!rec.writer || rec.inside || until <= machine_now(m)) {
		__real_machine_advance(m, until);
		return;
	}
	put_int(tap_start(&rec.tap), (int64_t)(until - machine_now(m)));
	record_enter(EVENT_ADVANCE);
	__real_machine_advance(m, until);
	record_leave();
	record_return(EVENT_ADVANCE);
}

void __wrap_machine_mmio_write(struct machine *m, unsigned int cpu, unsigned int hca, unsigned int bar,
			       uint64_t offset, const void *data, uint32_t size, bool wc)
{
	struct out *o = rec.writer && !rec.inside ? record_call(machine_hca(m, hca)) : NULL;

	if (!o) {
		__real_machine_mmio_write(m, cpu, hca, bar, offset, data, size, wc);
		return;
	}
	put_uint(o, cpu);
	put_uint(o, bar);
	put_uint(o, offset);
	put_uint(o, wc);
	put_bytes(o, data, size);
	record_enter(EVENT_STORE);
	__real_machine_mmio_write(m, cpu, hca, bar, offset, data, size, wc);
	record_leave();
	record_return(EVENT_STORE);
}

struct load {
	uint64_t id;
	void (*done)(void *arg, const void *data, uint32_t size);
	void *arg;
};

static void load_done(void *arg, const void *data, uint32_t size)
{
	struct load *load = arg;
	bool inside = rec.inside;
	struct out *o = tap_start(&rec.tap);

	put_uint(o, load->id);
	put_bytes(o, data, size);
	write_event(&rec.tap, EVENT_LOADED);
	rec.inside = false;
	load->done(load->arg, data, size);
	record_leave();
	rec.inside = inside;
	record_return(EVENT_LOADED);
	free(load);
}

void __wrap_machine_mmio_read(struct machine *m, unsigned int cpu, unsigned int hca, unsigned int bar,
			      uint64_t offset, uint32_t size,
			      void (*done)(void *arg, const void *data, uint32_t size), void *arg)
{
	struct out *o = rec.writer && !rec.inside ? record_call(machine_hca(m, hca)) : NULL;
	struct load *load = o ? malloc(sizeof(*load)) : NULL;

	if (!load) {
		__real_machine_mmio_read(m, cpu, hca, bar, offset, size, done, arg);
		return;
	}
	*load = (struct load){rec.loads++, done, arg};
	put_uint(o, cpu);
	put_uint(o, bar);
	put_uint(o, offset);
	put_uint(o, size);
	put_uint(o, load->id);
	record_enter(EVENT_LOAD);
	__real_machine_mmio_read(m, cpu, hca, bar, offset, size, load_done, load);
	record_leave();
	record_return(EVENT_LOAD);
}

/* ---- Callbacks -------------------------------------------------------------------------------------- */

static uint32_t length(const struct hca_dma_seg *seg, uint32_t nseg)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < nseg; i++)
		len += seg[i].len;
	return len;
}

static int mem_read(void *ctx, uint32_t pasid, const struct hca_dma_seg *seg, uint32_t nseg, void *buf)
{
	int status = rec.host->mem_read(rec.ctx, pasid, seg, nseg, buf);
	struct out *o = tap_start(ctx);

	put_uint(o, pasid);
	put_segments(o, seg, nseg);
	put_int(o, status);
	put_bytes(o, buf, status ? 0 : length(seg, nseg));
	write_event(ctx, EVENT_READ);
	return status;
}

static int mem_write(void *ctx, uint32_t pasid, const struct hca_dma_seg *seg, uint32_t nseg, const void *buf)
{
	int status = rec.host->mem_write(rec.ctx, pasid, seg, nseg, buf);
	struct out *o = tap_start(ctx);

	put_uint(o, pasid);
	put_segments(o, seg, nseg);
	put_int(o, status);
	write_event(ctx, EVENT_WRITE);
	return status;
}

static void kernel_read(void *ctx, const struct hca_dma_seg *seg, uint32_t nseg, void *buf)
{
	struct out *o = tap_start(ctx);
	uint8_t *to = buf;

	for (uint32_t i = 0; i < nseg; to += seg[i++].len)
		if (seg[i].len)
			memcpy(to, (const void *)(uintptr_t)seg[i].addr, seg[i].len);
	put_segments(o, seg, nseg);
	put_bytes(o, buf, length(seg, nseg));
	write_event(ctx, EVENT_KERNEL_READ);
}

static void irq(void *ctx, unsigned int hca, unsigned int vector)
{
	bool inside = rec.inside;

	tap_event(ctx, EVENT_IRQ, hca, vector);
	rec.inside = false;
	rec.host->irq(rec.ctx, hca, vector);
	record_leave();
	rec.inside = inside;
	record_return(EVENT_IRQ);
}

/* ---- Start and end -------------------------------------------------------------------------------------- */

static bool put_profile(struct out *o, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = malloc(PROFILE_MAX);
	size_t n = f && text ? fread(text, 1, PROFILE_MAX, f) : 0;
	bool good = f && text && !ferror(f) && n < PROFILE_MAX;

	if (good)
		put_bytes(o, text, n);
	if (f)
		fclose(f);
	free(text);
	return good;
}

static bool write_machine(const char *family, const char *engine, const struct machine_config *cfg)
{
	const char *slash = strrchr(cfg->profile, '/');
	struct out *o = tap_start(&rec.tap);

	put_uint(o, cfg->num_hcas);
	put_uint(o, cfg->seed);
	put_text(o, cfg->fault ? cfg->fault : "");
	put_text(o, family);
	put_text(o, engine);
	put_text(o, slash ? slash + 1 : cfg->profile);
	if (!put_profile(o, cfg->profile))
		return false;
	writer_event(rec.writer, EVENT_MACHINE, 0, o);
	return true;
}

struct machine *record_machine(const char *path, const char *family, const char *engine,
			       struct machine_config cfg, const struct machine_host_ops *ops, void *ctx,
			       char *err, size_t err_size)
{
	static const struct machine_host_ops recording = {
		.mem_read = mem_read, .mem_write = mem_write, .kernel_read = kernel_read, .irq = irq};

	rec = (struct recorder){.tap = {.event = write_event}, .host = ops, .ctx = ctx};
	rec.writer = writer_open(path, err, err_size);
	if (!rec.writer)
		return NULL;
	if (!write_machine(family, engine, &cfg)) {
		snprintf(err, err_size, "record: cannot read profile %s: %s", cfg.profile, strerror(errno));
		return NULL;
	}
	cfg.observer = &tap_observer;
	rec.inside = true;
	rec.tap.machine = machine_create(&cfg, &recording, &rec.tap, err, err_size);
	rec.inside = false;
	return rec.tap.machine;
}

void record_end(void)
{
	char err[256];

	if (!rec.writer)
		return;
	if (!writer_close(rec.writer, err, sizeof(err)))
		fprintf(stderr, "hcasim-device: %s\n", err);
	free(rec.tap.fields.data);
	free(rec.run.data);
	rec = (struct recorder){0};
}
