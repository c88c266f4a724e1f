/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a machine does, as events: the same for the recorder and for the replay. */
#ifndef HCASIM_RECORD_TAP_H
#define HCASIM_RECORD_TAP_H

#include "record/event.h"
#include "timing/machine.h"

struct tap {
	struct machine *machine; /* NULL: it is being made */
	struct out fields;       /* of the event that is being made */
	/* Called with the fields of one event, which happens now. */
	void (*event)(struct tap *t, uint8_t kind);
};

/* The context is a struct tap. */
extern const struct trace_observer tap_observer;

/* Starts the fields of an event. */
struct out *tap_start(struct tap *t);
/* The event has the number of an adapter and one further number. */
void tap_event(struct tap *t, uint8_t kind, uint64_t hca, uint64_t v);

#endif
