// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "record/event.h"

#include <inttypes.h>
#include <string.h>

#include "hcasim_core.h"

static const struct event_type types[EVENT_COMMAND] = {
	[EVENT_MACHINE] = {"machine", "hcas:u seed:u fault:s family:s engine:s profile_name:s profile:s",
			   NULL},
	[EVENT_END] = {"end", "events:u", NULL},
	[EVENT_RUN] = {"run", "budget:u", "state:u"},
	[EVENT_ADVANCE] = {"advance", "until:d", ""},
	[EVENT_STORE] = {"store", "hca:u cpu:u bar:u offset:x wc:u data:b", ""},
	[EVENT_LOAD] = {"load", "hca:u cpu:u bar:u offset:x size:u id:u", ""},
	[EVENT_IRQ] = {"irq", "hca:u vector:u", ""},
	[EVENT_LOADED] = {"loaded", "id:u data:b", ""},
	[EVENT_READ] = {"read", "pasid:u segments:b status:i data:b", NULL},
	[EVENT_WRITE] = {"write", "pasid:u segments:b status:i", NULL},
	[EVENT_KERNEL_READ] = {"kernel_read", "segments:b data:b", NULL},
	[EVENT_TLP] =
		{"TLP",
		 "hca:u up:u type:s start:d arrival:d addr:x bar:u len:u tag:i class:i pasid:u qpn:u tph:i "
		 "data:b",
		 NULL},
	[EVENT_FRAME] = {"frame", "start:d data:b", NULL},
	[EVENT_FAULT] = {"fault", "start:d from:u what:s len:u", NULL},
	[EVENT_WQE] = {"WQE", "hca:u qpn:u index:u op:W num_bb:u flags:x length:u raw:b", NULL},
	[EVENT_CQE] = {"CQE",
		       "hca:u cqn:u qpn:u op:C wqe_op:W wqe_index:u status:S vendor_err:V byte_count:u raw:b",
		       NULL},
};

static const struct event_type *type_of(uint8_t kind)
{
	kind &= ~EVENT_RETURN;
	if (kind >= EVENT_KINDS)
		return NULL;
	return kind < EVENT_COMMAND ? &types[kind] : &command_types[kind - EVENT_COMMAND];
}

const char *event_fields(uint8_t kind)
{
	const struct event_type *t = type_of(kind);

	if (!t)
		return NULL;
	return kind & EVENT_RETURN ? t->results : t->fields;
}

/* FNV-1a */
static uint64_t hash(uint64_t h, const char *text)
{
	for (; text && *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ull;
	return (h ^ 0xff) * 0x100000001b3ull;
}

uint64_t event_schema(void)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (unsigned int kind = 0; kind < EVENT_KINDS; kind++) {
		const struct event_type *t = type_of((uint8_t)kind);

		h = hash(hash(hash(h, t->name), t->fields), t->results);
	}
	return h;
}

/* ---- Fields one by one -------------------------------------------------------------------------------- */

struct field {
	const char *name;
	int name_len;
	char code;
	uint64_t number; /* of the codes that are numbers; signed ones as int64_t */
	const uint8_t *data;
	size_t len;
};

/* The next one; false at the end. */
static bool next_field(const char **fields, struct in *i, struct field *f)
{
	const char *colon = strchr(*fields, ':');

	if (!colon)
		return false;
	*f = (struct field){.data = (const uint8_t *)"", .name = *fields, .name_len = (int)(colon - *fields)};
	f->code = colon[1];
	*fields = colon[2] ? colon + 3 : colon + 2;
	if (f->code == 'b' || f->code == 's')
		f->data = get_bytes(i, &f->len);
	else if (f->code == 'i' || f->code == 'd')
		f->number = (uint64_t)get_int(i);
	else
		f->number = get_uint(i);
	return true;
}

static void print_bytes(FILE *out, const struct field *f)
{
	if (f->code == 'b') {
		for (size_t k = 0; k < f->len; k++)
			fprintf(out, "%02x", f->data[k]);
		return;
	}
	putc('"', out);
	for (size_t k = 0; k < f->len; k++)
		putc(f->data[k] >= ' ' && f->data[k] < 0x7f ? f->data[k] : '.', out);
	putc('"', out);
}

static void print_value(FILE *out, const struct field *f)
{
	switch (f->code) {
	case 'u':
		fprintf(out, "%" PRIu64, f->number);
		break;
	case 'x':
		fprintf(out, "0x%" PRIx64, f->number);
		break;
	case 'i':
		fprintf(out, "%" PRId64, (int64_t)f->number);
		break;
	case 'd':
		fprintf(out, "%+" PRId64, (int64_t)f->number);
		break;
	case 'W':
		fputs(hcasim_wqe_op_name((uint8_t)f->number), out);
		break;
	case 'C':
		fputs(hcasim_cqe_op_name((uint8_t)f->number), out);
		break;
	case 'S':
		fputs(hcasim_cqe_status_name((uint8_t)f->number), out);
		break;
	case 'V':
		fputs(hcasim_vendor_err_name((uint8_t)f->number), out);
		break;
	default:
		print_bytes(out, f);
	}
}

void event_print_name(FILE *f, uint8_t kind)
{
	const struct event_type *t = type_of(kind);

	fprintf(f, "%s%s", kind & EVENT_RETURN ? "end of " : "", t ? t->name : "?");
}

bool event_print(FILE *out, const struct event *e)
{
	const char *fields = event_fields(e->kind);
	struct in i = {.p = e->data, .end = e->data + e->len};
	struct field f;

	if (!fields)
		return false;
	fprintf(out, "%" PRIu64 " %" PRIu64 " ps ", e->number, e->time);
	event_print_name(out, e->kind);
	/* After a failure, a command returns less. */
	while (i.p != i.end && next_field(&fields, &i, &f)) {
		fprintf(out, " %.*s=", f.name_len, f.name);
		print_value(out, &f);
	}
	putc('\n', out);
	return !i.bad && i.p == i.end;
}

bool event_number(const struct event *e, const char *field, uint64_t *v)
{
	const char *fields = event_fields(e->kind);
	struct in i = {.p = e->data, .end = e->data + e->len};
	struct field f;

	while (fields && next_field(&fields, &i, &f)) {
		if (f.name_len == (int)strlen(field) && !strncmp(f.name, field, strlen(field))) {
			*v = f.number;
			return !i.bad;
		}
	}
	return false;
}

static void print_one_difference(FILE *out, const struct field *recorded, const struct field *replayed)
{
	size_t at = 0;

	fprintf(out, "%.*s", replayed->name_len, replayed->name);
	if (replayed->code != 'b') {
		fputs(" is ", out);
		print_value(out, replayed);
		fputs(", recorded ", out);
		print_value(out, recorded);
	} else if (recorded->len != replayed->len) {
		fprintf(out, " has %zu bytes, recorded %zu", replayed->len, recorded->len);
	} else {
		while (at < recorded->len && recorded->data[at] == replayed->data[at])
			at++;
		fprintf(out, ": byte %zu of %zu is 0x%02x, recorded 0x%02x", at, recorded->len,
			replayed->data[at], recorded->data[at]);
	}
}

void event_print_difference(FILE *out, const struct event *recorded, const struct event *replayed)
{
	const char *a = event_fields(recorded->kind), *b = event_fields(replayed->kind);
	struct in i = {.p = recorded->data, .end = recorded->data + recorded->len};
	struct in k = {.p = replayed->data, .end = replayed->data + replayed->len};
	struct field f, g;

	while (next_field(&a, &i, &f) && next_field(&b, &k, &g)) {
		bool text = f.code == 'b' || f.code == 's';

		if (text ? f.len != g.len || memcmp(f.data, g.data, f.len) : f.number != g.number) {
			print_one_difference(out, &f, &g);
			return;
		}
	}
	fputs("its encoding differs", out);
}
