// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-record-tool alter IN OUT WHAT: copies a record and alters one event of it.
 * hcasim-record-tool fuzz IN OUT N: reads N mutations of the file, made in OUT; each has to be refused, unless its
 * events are the same: some bits of a zstd frame do not change what it means.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/stream.h"

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "hcasim-record-tool: %s\n", what);
	exit(EXIT_FAILURE);
}

/* ---- alter ---------------------------------------------------------------------------------------- */

struct alteration {
	const char *what;
	uint8_t kind;         /* of the event, the first of its kind in the middle of the record */
	bool drop, late, bit; /* it is missing; it is 1 ps late; the last bit of its fields differs */
	uint32_t least;       /* bytes of its fields */
};

static const struct alteration alterations[] = {
	{"cqe-byte", EVENT_CQE, .bit = true},
	{"tlp-byte", EVENT_TLP, .bit = true, .least = 96}, /* with data */
	{"frame-byte", EVENT_FRAME, .bit = true},
	{"wqe-byte", EVENT_WQE, .bit = true},
	{"cqe-late", EVENT_CQE, .late = true},
	{"no-tlp", EVENT_TLP, .drop = true},
	{"no-cqe", EVENT_CQE, .drop = true},
	{"no-store", EVENT_STORE, .drop = true},
	{"answer", EVENT_READ, .bit = true},
	{"no-answer", EVENT_READ, .drop = true},
};

static void copy(struct reader *r, struct writer *w, const struct alteration *a, uint64_t at)
{
	bool changed = false, skip_return = false;
	struct event e;

	while (reader_next(r, &e) && e.kind != EVENT_END) {
		struct out fields = {(uint8_t *)e.data, e.len, e.len};
		bool now = !changed && e.number >= at && e.kind == a->kind && e.len >= a->least;

		changed |= now;
		if (now && a->bit)
			fields.data[e.len - 1] ^= 1;
		if (now && a->drop) {
			skip_return = a->kind == EVENT_STORE;
			continue;
		}
		if (skip_return && e.kind == (EVENT_STORE | EVENT_RETURN)) {
			skip_return = false;
			continue;
		}
		writer_event(w, e.kind, e.time + (now && a->late), &fields);
	}
	if (!changed)
		fail("the record has no such event");
}

static uint64_t middle(const char *path)
{
	char err[512];
	struct reader *r = reader_open(path, err, sizeof(err));
	struct event e;

	if (!r)
		fail(err);
	while (reader_next(r, &e))
		;
	reader_close(r);
	return e.number / 2;
}

static void alter(const char *from, const char *to, const char *what)
{
	char err[512];
	struct reader *r = reader_open(from, err, sizeof(err));
	struct writer *w = r ? writer_open(to, err, sizeof(err)) : NULL;
	const struct alteration *a = alterations, *end = a + sizeof(alterations) / sizeof(*a);

	if (!w)
		fail(err);
	while (a < end && strcmp(a->what, what))
		a++;
	if (a == end)
		fail("unknown alteration");
	copy(r, w, a, middle(from));
	if (!writer_close(w, err, sizeof(err)))
		fail(err);
	reader_close(r);
}

/* ---- fuzz ------------------------------------------------------------------------------------------ */

static uint64_t state = 1;

static uint64_t next_random(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

/* One bit flipped, some bytes overwritten, cut, or extended. True: it differs from the original. */
static bool mutate(uint8_t *data, size_t *len)
{
	size_t at = next_random(*len);
	uint8_t old = data[at];

	switch (next_random(4)) {
	case 0:
		data[at] ^= (uint8_t)(1u << next_random(8));
		return true;
	case 1:
		data[at] = (uint8_t)next_random(256);
		return data[at] != old;
	case 2:
		*len = at;
		return true;
	default:
		data[(*len)++] = (uint8_t)next_random(256);
		return true;
	}
}

static void write_file(const char *path, const uint8_t *data, size_t len)
{
	FILE *f = fopen(path, "we");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		fail(strerror(errno));
}

static bool next_is_same(struct reader *a, struct reader *b, bool *more)
{
	struct event x = {0}, y = {0};

	*more = reader_next(a, &x);
	return *more == reader_next(b, &y) && x.kind == y.kind && x.time == y.time && x.len == y.len &&
	       (!x.len || !memcmp(x.data, y.data, x.len));
}

static void expect_same(const char *path, struct reader *altered)
{
	char err[512];
	struct reader *r = reader_open(path, err, sizeof(err));
	bool more = true;

	while (more) {
		if (!r || !next_is_same(r, altered, &more))
			fail("a file that was altered is accepted");
	}
	reader_close(r);
	reader_close(altered);
}

static void fuzz(const char *from, const char *to, unsigned long n)
{
	static uint8_t original[1 << 20], data[sizeof(original) + 1];
	FILE *f = fopen(from, "re");
	size_t len = f ? fread(original, 1, sizeof(original), f) : 0;
	char err[512];

	if (!len || len == sizeof(original))
		fail("the record is empty or too long");
	fclose(f);
	while (n) {
		struct reader *r;
		size_t mutated = len;

		memcpy(data, original, len);
		if (!mutate(data, &mutated))
			continue;
		n--;
		write_file(to, data, mutated);
		r = reader_open(to, err, sizeof(err));
		if (r)
			expect_same(from, r);
		else if (strncmp(err, to, strlen(to)) != 0)
			fail("a message does not name the file");
	}
}

int main(int argc, char **argv)
{
	if (argc != 5)
		fail("wrong arguments");
	if (!strcmp(argv[1], "alter"))
		alter(argv[2], argv[3], argv[4]);
	else if (!strcmp(argv[1], "fuzz"))
		fuzz(argv[2], argv[3], strtoul(argv[4], NULL, 10));
	else
		fail("wrong arguments");
	return EXIT_SUCCESS;
}
