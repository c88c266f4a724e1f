/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What an adapter counts, and packets that it refuses. The counters and reasons are those of spec/counters.yaml. */
#ifndef HCASIM_CORE_COUNTERS_H
#define HCASIM_CORE_COUNTERS_H

#include <stdint.h>

#include <hcasim_counters.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hca;

struct hca_counters {
	union {
		uint64_t of[HCASIM_NUM_COUNTERS]; /* by enum hcasim_counter */
		struct {
			HCASIM_COUNTER_MEMBERS
		};
	};
};

/* Of the adapter. */
void hca_counters(const struct hca *hca, struct hca_counters *out);
/*
 * Of one port, and what belongs to no port: doorbells, events, pages, and all that the send engine counts for the queues of
 * both ports.
 */
void hca_port_counters(const struct hca *hca, uint8_t port, struct hca_counters *out);

/* A packet that is dropped, or answered with a NAK. Zero where it does not apply. */
struct hca_refused {
	uint8_t reason;    /* HCASIM_COUNTER_REFUSED_* */
	uint8_t aeth_kind; /* HCASIM_AETH_KIND_NAK or _RNR; 0: dropped */
	uint8_t nak;       /* of _NAK: HCASIM_NAK_* */
	uint8_t port;
	uint32_t qpn;    /* of this adapter */
	uint32_t psn;    /* of the packet */
	uint64_t number; /* of the frame; 0: the packet was refused later */
};

#ifdef __cplusplus
}
#endif
#endif
