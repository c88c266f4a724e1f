// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "record/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "devices/driver.h"
#include "devices/family.h"
#include "record/report.h"
#include "record/tap.h"

#define STORE_MAX 64 /* bytes of a CPU's store or load */

struct replay {
	struct tap tap; /* first: the context of the callbacks */
	const char *path;
	struct reader *reader;
	struct event next; /* of the record; not compared yet */
	struct report report;
	struct in kept; /* memory that the machine uses until its end */
};

static _Noreturn void damaged(struct replay *r, const char *what)
{
	fprintf(stderr, "hcasim replay: %s: event %" PRIu64 ": %s\n", r->path, r->next.number, what);
	exit(EXIT_FAILURE);
}

static void next(struct replay *r)
{
	if (!reader_next(r->reader, &r->next))
		damaged(r, "the file has changed since it was checked");
}

/* The machine did something: it has to be what the record says next. */
static void compare(struct tap *t, uint8_t kind)
{
	struct replay *r = (struct replay *)t;
	const struct event now = {.number = r->next.number,
				  .time = machine_now(t->machine),
				  .kind = kind,
				  .data = t->fields.data,
				  .len = t->fields.len};

	if (!t->machine)
		return;
	if (now.kind != r->next.kind || now.time != r->next.time || now.len != r->next.len ||
	    memcmp(now.data, r->next.data, now.len)) {
		report_difference(&r->report, r->path, &r->next, &now);
		exit(EXIT_FAILURE);
	}
	report_note(&r->report, &now);
	next(r);
}

/* ---- Calls -------------------------------------------------------------------------------------------- */

static void execute(struct replay *r, uint8_t until);

struct load {
	struct replay *r;
	uint64_t id;
};

static void load_done(void *arg, const void *data, uint32_t size)
{
	struct load *load = arg;
	struct replay *r = load->r;
	struct out *o = tap_start(&r->tap);

	put_uint(o, load->id);
	put_bytes(o, data, size);
	free(load);
	compare(&r->tap, EVENT_LOADED);
	execute(r, EVENT_LOADED | EVENT_RETURN);
}

/* Each of these: false if the fields are not valid. They leave the fields of the call's return in r->tap. */

static bool do_store(struct replay *r, struct in *i)
{
	uint64_t hca = get_uint(i), cpu = get_uint(i), bar = get_uint(i), offset = get_uint(i);
	bool wc = get_uint(i);
	size_t len;
	const uint8_t *data = get_bytes(i, &len);

	get_end(i, i);
	if (i->bad || hca >= machine_num_hcas(r->tap.machine) || cpu >= MACHINE_CPUS || len > STORE_MAX)
		return false;
	machine_mmio_write(r->tap.machine, (unsigned int)cpu, (unsigned int)hca, (unsigned int)bar, offset,
			   data, (uint32_t)len, wc);
	tap_start(&r->tap);
	return true;
}

static bool do_load(struct replay *r, struct in *i)
{
	uint64_t hca = get_uint(i), cpu = get_uint(i), bar = get_uint(i), offset = get_uint(i),
		 size = get_uint(i), id = get_uint(i);
	struct load *load;

	get_end(i, i);
	if (i->bad || hca >= machine_num_hcas(r->tap.machine) || cpu >= MACHINE_CPUS || size > STORE_MAX)
		return false;
	load = malloc(sizeof(*load));
	if (!load)
		return false;
	*load = (struct load){r, id};
	machine_mmio_read(r->tap.machine, (unsigned int)cpu, (unsigned int)hca, (unsigned int)bar, offset,
			  (uint32_t)size, load_done, load);
	tap_start(&r->tap);
	return true;
}

static bool do_run(struct replay *r, struct in *i)
{
	uint64_t budget = get_uint(i);
	enum machine_state state;

	get_end(i, i);
	if (i->bad)
		return false;
	state = machine_run(r->tap.machine, budget);
	put_uint(tap_start(&r->tap), state);
	return true;
}

static bool do_advance(struct replay *r, struct in *i)
{
	int64_t until = get_int(i);

	get_end(i, i);
	if (i->bad || until < 0)
		return false;
	machine_advance(r->tap.machine, machine_now(r->tap.machine) + (uint64_t)until);
	tap_start(&r->tap);
	return true;
}

static bool do_command(struct replay *r, unsigned int command, struct in *i)
{
	uint64_t hca = get_uint(i);

	return hca < machine_num_hcas(r->tap.machine) &&
	       command_call(command, machine_hca(r->tap.machine, (unsigned int)hca), i, &r->tap.fields);
}

static bool do_call(struct replay *r, uint8_t kind, struct in *i)
{
	switch (kind) {
	case EVENT_STORE:
		return do_store(r, i);
	case EVENT_LOAD:
		return do_load(r, i);
	case EVENT_RUN:
		return do_run(r, i);
	case EVENT_ADVANCE:
		return do_advance(r, i);
	default:
		return do_command(r, kind - EVENT_COMMAND, i);
	}
}

static bool is_call(uint8_t kind)
{
	return kind == EVENT_STORE || kind == EVENT_LOAD || kind == EVENT_RUN || kind == EVENT_ADVANCE ||
	       (kind >= EVENT_COMMAND && kind < EVENT_KINDS);
}

/* Issues the calls of the record up to the event `until`, which ends the callback in which they were made. */
static void execute(struct replay *r, uint8_t until)
{
	while (r->next.kind != until) {
		const struct event call = r->next;
		uint8_t *copy = malloc(call.len + 1);
		struct in i = {0};

		if (!copy)
			damaged(r, "out of memory");
		i.p = copy;
		i.end = copy + call.len;
		memcpy(copy, call.data, call.len);
		if (!is_call(call.kind) || call.time != machine_now(r->tap.machine)) {
			report_missing(&r->report, r->path, &call, machine_now(r->tap.machine));
			exit(EXIT_FAILURE);
		}
		next(r);
		if (!do_call(r, call.kind, &i)) {
			r->next.number = call.number;
			damaged(r, "its fields are not valid");
		}
		in_hand_over(&i, &r->kept);
		in_free(&i);
		free(copy);
		compare(&r->tap, call.kind | EVENT_RETURN);
	}
	if (until != EVENT_END) {
		tap_start(&r->tap);
		compare(&r->tap, until);
	}
}

/* ---- The host's side ------------------------------------------------------------------------------------ */

static uint32_t length(const struct hca_dma_seg *seg, uint32_t nseg)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < nseg; i++)
		len += seg[i].len;
	return len;
}

/* The recorded answer, which is compared along with the question. A question that was not recorded gets zeros. */
static int answer(struct replay *r, struct out *o, uint8_t kind, struct in *recorded, void *buf, uint32_t len)
{
	bool same = r->next.kind == kind;
	int64_t status = same && kind == EVENT_READ ? get_int(recorded) : 0;
	size_t n = 0;
	const uint8_t *data = same ? get_bytes(recorded, &n) : NULL;

	if (kind == EVENT_READ)
		put_int(o, status);
	put_bytes(o, data, n);
	if (!status)
		memset(buf, 0, len);
	if (n == len && n)
		memcpy(buf, data, n);
	compare(&r->tap, kind);
	return status ? -EFAULT : 0;
}

static int mem_read(void *ctx, uint32_t pasid, const struct hca_dma_seg *seg, uint32_t nseg, void *buf)
{
	struct replay *r = ctx;
	struct out *o = tap_start(&r->tap);
	struct in i = {.p = r->next.data, .end = r->next.data + r->next.len};
	size_t len;

	put_uint(o, pasid);
	put_segments(o, seg, nseg);
	get_uint(&i);
	get_bytes(&i, &len);
	return answer(r, o, EVENT_READ, &i, buf, length(seg, nseg));
}

static void kernel_read(void *ctx, const struct hca_dma_seg *seg, uint32_t nseg, void *buf)
{
	struct replay *r = ctx;
	struct out *o = tap_start(&r->tap);
	struct in i = {.p = r->next.data, .end = r->next.data + r->next.len};
	size_t len;

	put_segments(o, seg, nseg);
	get_bytes(&i, &len);
	answer(r, o, EVENT_KERNEL_READ, &i, buf, length(seg, nseg));
}

/* What is written is in the TLPs. */
static int mem_write(void *ctx, uint32_t pasid, const struct hca_dma_seg *seg, uint32_t nseg, const void *buf)
{
	struct replay *r = ctx;
	struct out *o = tap_start(&r->tap);
	struct in i = {.p = r->next.data, .end = r->next.data + r->next.len};
	int64_t status;
	size_t len;

	get_uint(&i);
	get_bytes(&i, &len);
	status = r->next.kind == EVENT_WRITE ? get_int(&i) : 0;
	put_uint(o, pasid);
	put_segments(o, seg, nseg);
	put_int(o, status);
	compare(&r->tap, EVENT_WRITE);
	return status ? -EFAULT : 0;
}

static void kernel_write(void *ctx, const struct hca_dma_seg *seg, uint32_t nseg, const void *buf)
{
}

static void irq(void *ctx, unsigned int hca, unsigned int vector)
{
	struct replay *r = ctx;

	tap_event(&r->tap, EVENT_IRQ, hca, vector);
	execute(r, EVENT_IRQ | EVENT_RETURN);
}

/* ---- The machine ------------------------------------------------------------------------------------------ */

/* A file with this text, for as long as the process lives. */
static const char *make_file(const uint8_t *text, size_t len)
{
	static char path[32];
	int fd = memfd_create("hcasim-profile", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

static char *get_text(struct in *i)
{
	size_t len;
	const uint8_t *p = get_bytes(i, &len);
	char *text = get_room(i, len + 1);

	if (text)
		memcpy(text, p, len);
	return text;
}

static bool make_machine(struct replay *r, const struct engine_ops *engine, char *err, size_t err_size)
{
	static const struct machine_host_ops host = {.mem_read = mem_read,
						     .mem_write = mem_write,
						     .kernel_read = kernel_read,
						     .kernel_write = kernel_write,
						     .irq = irq};
	struct in i = {.p = r->next.data, .end = r->next.data + r->next.len};
	struct machine_config cfg = {.observer = &tap_observer, .engine = engine};
	const struct drv_ops *family[DEVICE_MAX_HCAS];
	const struct hca_personality *personality[DEVICE_MAX_HCAS];
	char unused[128], number[16];
	const char *name;
	unsigned int known = 0;
	const uint8_t *profile;
	size_t len;

	cfg.num_hcas = (unsigned int)get_uint(&i);
	cfg.seed = get_uint(&i);
	cfg.fault = get_text(&i);
	name = get_text(&i);
	/* One name is that of all adapters. */
	snprintf(number, sizeof(number), "%u", cfg.num_hcas);
	if (name && strchr(name, ','))
		known = device_families(DEVICE_FAMILY_DEFAULT, name, family, unused, sizeof(unused));
	else if (name)
		known = device_families(name, number, family, unused, sizeof(unused));
	get_text(&i); /* the recorded engine */
	get_text(&i); /* name of the profile */
	profile = get_bytes(&i, &len);
	get_end(&i, &i);
	cfg.profile = make_file(profile, len);
	if (i.bad || known != cfg.num_hcas || !cfg.profile) {
		snprintf(err, err_size, "its event 'machine' is not valid");
	} else {
		for (unsigned int k = 0; k < known; k++)
			personality[k] = family[k]->personality;
		cfg.personalities = personality;
		if (!*cfg.fault)
			cfg.fault = NULL;
		r->tap.machine = machine_create(&cfg, &host, &r->tap, err, err_size);
	}
	in_free(&i);
	return r->tap.machine;
}

bool replay(const char *path, const struct engine_ops *engine, uint64_t *events, char *err, size_t err_size)
{
	struct replay r = {.tap = {.event = compare}, .path = path};
	char why[512];

	r.reader = reader_open(path, err, err_size);
	if (!r.reader)
		return false;
	next(&r);
	if (make_machine(&r, engine, why, sizeof(why))) {
		next(&r);
		execute(&r, EVENT_END);
		machine_destroy(r.tap.machine);
		in_free(&r.kept);
		*events = r.next.number;
	} else {
		snprintf(err, err_size, "%s cannot be replayed: %s", path, why);
	}
	reader_close(r.reader);
	report_free(&r.report);
	free(r.tap.fields.data);
	return r.tap.machine;
}
