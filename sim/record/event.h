/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The events of a record, in the order in which they happened: calls into the machine, and between a call and its
 * return what the machine did: reads of memory with their answers, callbacks, and what it put out. A callback also has
 * a return, and between the two the calls that the driver made in it. docs/record-replay.md describes them.
 */
#ifndef HCASIM_RECORD_EVENT_H
#define HCASIM_RECORD_EVENT_H

#include <stdio.h>

#include "record/codec.h"
#include "commands.h" /* generated */

enum event_kind {
	EVENT_MACHINE, /* the first event: how the machine was made */
	EVENT_END,     /* the last one */
	/* Calls, callbacks */
	EVENT_RUN,
	EVENT_ADVANCE,
	EVENT_STORE,
	EVENT_LOAD,
	EVENT_IRQ,
	EVENT_LOADED,
	/* Reads and writes of host memory, with their answers */
	EVENT_READ,
	EVENT_WRITE,
	EVENT_KERNEL_READ,
	/* What the observers of traces see */
	EVENT_TLP,
	EVENT_FRAME,
	EVENT_FAULT,
	EVENT_WQE,
	EVENT_CQE,
	EVENT_COMMAND, /* the first command of the driver; NUM_COMMANDS of them */
};
#define EVENT_KINDS  (EVENT_COMMAND + NUM_COMMANDS)
#define EVENT_RETURN 0x80u /* of the call or callback whose kind is in the lower bits */
_Static_assert(EVENT_KINDS <= EVENT_RETURN, "the kind of an event is 7 bits");

struct event {
	uint64_t number; /* in its file, from 0 */
	hca_ps time;
	uint8_t kind;
	const uint8_t *data; /* its fields */
	size_t len;
};

/*
 * Fields, as "name:code ...". Codes: u unsigned, x the same in hexadecimal, i signed, d picoseconds after the event's
 * time, b bytes, s text; W, C, S, V: names of wqe_op, cqe_op, cqe_status, vendor_err.
 */
struct event_type {
	const char *name, *fields, *results; /* of its return; NULL: it has none */
};
extern const struct event_type command_types[NUM_COMMANDS]; /* generated */

/* NULL: there is no such kind. */
const char *event_fields(uint8_t kind);
/* Of all kinds and fields. Records of another schema cannot be replayed. */
uint64_t event_schema(void);

/* "name" or "end of name". */
void event_print_name(FILE *f, uint8_t kind);
/* One line: number, time, name, fields. False: it does not have the fields of its kind. */
bool event_print(FILE *f, const struct event *e);
/* A named field of an event of this kind, if it has it. */
bool event_number(const struct event *e, const char *field, uint64_t *v);
/* Prints "field is A, recorded B" of the first field that differs; both are of one kind. */
void event_print_difference(FILE *f, const struct event *recorded, const struct event *replayed);

/*
 * Decodes a command and calls it; then `o` has the fields of its return. False: its fields are damaged. Memory behind
 * the arguments is freed by in_free(). Generated.
 */
bool command_call(unsigned int command, struct hca *hca, struct in *i, struct out *o);

#endif
