// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "record/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define MAGIC      "hcasim-record"
#define LEVEL      3
#define BUFFER     (1u << 17)
#define EVENT_MAX  (1u << 24) /* bytes of fields: more than any transfer or profile has */
#define WINDOW_LOG 23         /* 8 MiB */

/* ---- Writing ------------------------------------------------------------------------------------ */

struct writer {
	FILE *f;
	ZSTD_CCtx *z;
	int error; /* errno, or 0 */
	uint64_t events;
	hca_ps time;
	struct out head;
	uint8_t room[BUFFER];
};

struct writer *writer_open(const char *path, char *err, size_t err_size)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (w)
		w->z = ZSTD_createCCtx();
	if (w && w->z)
		w->f = fopen(path, "we");
	if (!w || !w->z || !w->f) {
		snprintf(err, err_size, "record: cannot write %s: %s", path, strerror(errno));
		if (w)
			ZSTD_freeCCtx(w->z);
		free(w);
		return NULL;
	}
	ZSTD_CCtx_setParameter(w->z, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(w->z, ZSTD_c_windowLog, WINDOW_LOG);
	ZSTD_CCtx_setParameter(w->z, ZSTD_c_checksumFlag, 1);
	fprintf(w->f, MAGIC " %u %016" PRIx64 "\n", RECORD_VERSION, event_schema());
	return w;
}

static void compress(struct writer *w, const void *data, size_t len, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {data, len, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {w->room, sizeof(w->room), 0};

		left = ZSTD_compressStream2(w->z, &out, &in, end);
		if (ZSTD_isError(left)) {
			w->error = EIO;
			return;
		}
		if (out.pos && fwrite(w->room, 1, out.pos, w->f) != out.pos && !w->error)
			w->error = errno;
	} while (end == ZSTD_e_end ? left : in.pos < in.size);
}

void writer_event(struct writer *w, uint8_t kind, hca_ps time, const struct out *fields)
{
	w->head.len = 0;
	put_uint(&w->head, kind & ~EVENT_RETURN);
	w->head.data[0] = kind;
	put_uint(&w->head, time - w->time);
	put_uint(&w->head, fields->len);
	compress(w, w->head.data, w->head.len, ZSTD_e_continue);
	compress(w, fields->data, fields->len, ZSTD_e_continue);
	w->time = time;
	w->events++;
}

bool writer_close(struct writer *w, char *err, size_t err_size)
{
	struct out end = {0};
	int error;

	put_uint(&end, w->events);
	writer_event(w, EVENT_END, w->time, &end);
	compress(w, NULL, 0, ZSTD_e_end);
	if (fclose(w->f) && !w->error)
		w->error = errno;
	error = w->error;
	ZSTD_freeCCtx(w->z);
	free(end.data);
	free(w->head.data);
	free(w);
	if (error)
		snprintf(err, err_size, "the record is incomplete: %s", strerror(error));
	return !error;
}

/* ---- Reading ------------------------------------------------------------------------------------ */

struct reader {
	FILE *f;
	ZSTD_DCtx *z;
	ZSTD_inBuffer in;
	size_t pos, len; /* in `room` */
	bool whole;      /* the frame is decompressed, and its checksum is right */
	bool end;        /* EVENT_END was read */
	char fault[160]; /* what is wrong with the file; empty: nothing yet */
	uint64_t events;
	hca_ps time;
	uint8_t *fields; /* of the last event */
	uint8_t file[BUFFER], room[BUFFER];
};

static bool faulty(struct reader *r, const char *what)
{
	if (!*r->fault)
		snprintf(r->fault, sizeof(r->fault), "%s", what);
	return false;
}

static bool more_input(struct reader *r)
{
	r->in = (ZSTD_inBuffer){r->file, fread(r->file, 1, sizeof(r->file), r->f), 0};
	return r->in.size;
}

/* More decompressed bytes. False: there are none, because of a fault or because the frame is complete. */
static bool fill(struct reader *r)
{
	ZSTD_outBuffer out = {r->room, sizeof(r->room), 0};
	size_t left;

	while (!out.pos && !r->whole) {
		/* What fits into the decompressor's own buffers comes out without new input. */
		left = ZSTD_decompressStream(r->z, &out, &r->in);
		if (ZSTD_isError(left))
			return faulty(r, "is damaged: its compressed data or their checksum are wrong");
		r->whole = left == 0;
		if (!out.pos && !r->whole && r->in.pos == r->in.size && !more_input(r))
			return faulty(r, ferror(r->f) ? "cannot be read" : "is truncated");
	}
	r->pos = 0;
	r->len = out.pos;
	return out.pos;
}

static bool take(struct reader *r, uint8_t *to, size_t n)
{
	size_t part;

	for (; n; n -= part, to += part) {
		if (r->pos == r->len && !fill(r))
			return faulty(r, "is damaged: it has no event 'end'");
		part = r->len - r->pos < n ? r->len - r->pos : n;
		memcpy(to, r->room + r->pos, part);
		r->pos += part;
	}
	return true;
}

static bool take_uint(struct reader *r, uint64_t *v)
{
	uint8_t byte = 0x80;

	*v = 0;
	for (unsigned int shift = 0; shift < 64 && byte & 0x80; shift += 7) {
		if (!take(r, &byte, 1))
			return false;
		*v |= (uint64_t)(byte & 0x7f) << shift;
	}
	return !(byte & 0x80) || faulty(r, "is damaged: a number has more than 64 bits");
}

static bool take_event(struct reader *r, struct event *e)
{
	uint64_t passed, len;
	uint8_t kind = 0;

	if (!take(r, &kind, 1))
		return false;
	if (!event_fields(kind))
		return faulty(r, "is damaged: it has an event of an unknown kind");
	if (!take_uint(r, &passed) || !take_uint(r, &len))
		return false;
	if (len > EVENT_MAX)
		return faulty(r, "is damaged: an event is too long");
	free(r->fields);
	r->fields = malloc(len + 1);
	if (!r->fields)
		return faulty(r, "cannot be read: out of memory");
	r->time += passed;
	*e = (struct event){
		.number = r->events++, .time = r->time, .kind = kind, .data = r->fields, .len = len};
	return take(r, r->fields, len);
}

/* Nothing may follow EVENT_END, which has the number of events before it. */
static void check_end(struct reader *r, const struct event *e)
{
	uint64_t events;

	if (!event_number(e, "events", &events) || events != e->number)
		faulty(r, "is damaged: its number of events is wrong");
	else if (r->pos != r->len || fill(r) || (r->whole && (r->in.pos != r->in.size || more_input(r))))
		faulty(r, "is damaged: it goes on after its end");
}

bool reader_next(struct reader *r, struct event *e)
{
	if (r->end || *r->fault || !take_event(r, e))
		return false;
	r->end = e->kind == EVENT_END;
	if (r->end)
		check_end(r, e);
	return !*r->fault;
}

static void start(struct reader *r)
{
	char line[64] = "";
	unsigned int version = 0;
	uint64_t schema = 0;

	rewind(r->f);
	if (!fgets(line, sizeof(line), r->f) || sscanf(line, MAGIC " %u %16" SCNx64, &version, &schema) < 1)
		faulty(r, "is not a record of `hcasim run --record`: its first line is not '" MAGIC
			  " VERSION SCHEMA'");
	else if (version != RECORD_VERSION)
		snprintf(r->fault, sizeof(r->fault), "has format version %u, expected %u: record it again",
			 version, RECORD_VERSION);
	else if (schema != event_schema())
		snprintf(r->fault, sizeof(r->fault),
			 "has schema %016" PRIx64 " of commands and events, expected %016" PRIx64
			 ": record it again",
			 schema, event_schema());
	ZSTD_DCtx_reset(r->z, ZSTD_reset_session_only);
	r->in = (ZSTD_inBuffer){r->file, 0, 0};
	r->pos = r->len = 0;
	r->whole = r->end = false;
	r->events = 0;
	r->time = 0;
}

/* The first event has to be EVENT_MACHINE, and no other may be. */
static void check(struct reader *r)
{
	struct event e;

	start(r);
	while (reader_next(r, &e))
		if ((e.number == 0) != (e.kind == EVENT_MACHINE))
			faulty(r, "is damaged: it does not start with the event 'machine'");
}

struct reader *reader_open(const char *path, char *err, size_t err_size)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (r)
		r->z = ZSTD_createDCtx();
	if (r && r->z)
		r->f = fopen(path, "re");
	if (!r || !r->z || !r->f) {
		snprintf(err, err_size, "%s cannot be read: %s", path, strerror(errno));
		reader_close(r);
		return NULL;
	}
	ZSTD_DCtx_setParameter(r->z, ZSTD_d_windowLogMax, WINDOW_LOG);
	check(r);
	if (*r->fault) {
		snprintf(err, err_size, "%s %s", path, r->fault);
		reader_close(r);
		return NULL;
	}
	start(r);
	return r;
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	ZSTD_freeDCtx(r->z);
	if (r->f)
		fclose(r->f);
	free(r->fields);
	free(r);
}
