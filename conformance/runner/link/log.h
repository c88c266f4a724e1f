/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The verbs calls of a cell, for the report. */
#ifndef CONFORM_LOG_H
#define CONFORM_LOG_H

#include <stdint.h>

#include <infiniband/verbs.h>
#include <jansson.h>

struct log {
	json_t *calls;   /* array of strings */
	json_t *posts;   /* what was posted and what the API returned (journal.h), NULL: not recorded */
	uint32_t qpn[2]; /* requester and responder of the first posting */
	uint32_t psn;    /* first PSN of its QPs, 0: LINK_PSN */
	uint32_t mtu;    /* of their path, in bytes; 0: that of the DUT */
};

void log_call(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An array to be logged as assignments to its elements: struct ibv_sge with a key, else struct ibv_data_buf. */
struct log_list {
	const char *name, *addr, *lkey; /* as reproduce.h has them; no lkey: struct ibv_data_buf */
	unsigned int first;             /* element */
};
void log_sges(struct log *log, const struct log_list *list, const struct ibv_sge *sge, unsigned int num);

#endif
