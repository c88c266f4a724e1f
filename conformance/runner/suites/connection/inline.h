/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Calls that are inline in rdma_verbs.h and verbs.h. The runner is compiled with the headers of its own build;
 * `hcasim conform --headers` compiles inline.c again, with those under test, and HCASIM_CONFORM_INLINE names the result.
 */
#ifndef CONFORM_INLINE_H
#define CONFORM_INLINE_H

#include <stdbool.h>

#include <rdma/rdma_cma.h>

/* Where the checks are counted. check() returns whether the caller shall go on. */
struct inline_report {
	void *context;
	bool (*check)(void *context, bool good, const char *what, int ret, int error);
};

struct inline_calls {
	/* Messages in both directions of a connection; then requests that must fail with an errno. */
	void (*messages)(const struct inline_report *to, struct rdma_cm_id *client,
			 struct rdma_cm_id *server);
	/* One datagram to where the event of the client says. */
	void (*datagram)(const struct inline_report *to, struct rdma_cm_id *client,
			 struct rdma_cm_id *server);
	/* The context of a work queue. */
	void (*work_queue)(const struct inline_report *to, struct ibv_pd *pd);
	/* A context of a provider from before extended verbs. */
	void (*old_provider)(const struct inline_report *to);
};

extern const struct inline_calls inline_calls;

#endif
