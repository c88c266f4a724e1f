/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The suites outside the matrix test what a table of single requests cannot express. A scenario is a sequence of
 * actions; the cell's line has the requests that it posts, their numbers, and the expected status.
 */
#ifndef CONFORM_SUITES_SUITE_H
#define CONFORM_SUITES_SUITE_H

#include "execute/execute.h"

void run_suite_cell(struct runner *r, const struct cell *cell, struct result *res);

/* The context of a scenario. */
struct kit {
	struct runner *r;
	const struct cell *cell;
	struct result *res;
	struct link *l;
	_Atomic unsigned int checks; /* so far; some scenarios have two threads */
	unsigned int wrong;          /* number of the check that is turned round; 0: none */
};

struct scenario {
	const char *name;
	void (*run)(struct kit *k);
};

/* Each ends with a name of NULL. */
extern const struct scenario order_scenarios[];
extern const struct scenario destination_scenarios[];
extern const struct scenario atomic_scenarios[];
extern const struct scenario builder_scenarios[];
extern const struct scenario writev_scenarios[];
extern const struct scenario differ_scenarios[];
extern const struct scenario flush_scenarios[];
extern const struct scenario drain_scenarios[];
extern const struct scenario list_scenarios[];
extern const struct scenario receive_scenarios[];
extern const struct scenario region_scenarios[];
extern const struct scenario retry_scenarios[];
extern const struct scenario srq_scenarios[];
extern const struct scenario srq_edge_scenarios[];
extern const struct scenario srq_create_scenarios[];
extern const struct scenario tag_scenarios[];
extern const struct scenario tag_edge_scenarios[];
extern const struct scenario tag_place_scenarios[];
extern const struct scenario tag_operation_scenarios[];
extern const struct scenario work_queue_scenarios[];
extern const struct scenario wq_namesake_scenarios[];
extern const struct scenario rss_scenarios[];
extern const struct scenario import_scenarios[];
extern const struct scenario key_scenarios[];
extern const struct scenario window_scenarios[];
extern const struct scenario frame_scenarios[];
extern const struct scenario queue_scenarios[];
extern const struct scenario doorbell_scenarios[];
extern const struct scenario wc_scenarios[];
extern const struct scenario misuse_scenarios[];
extern const struct scenario argument_scenarios[];
extern const struct scenario psn_scenarios[];
extern const struct scenario resize_scenarios[];
extern const struct scenario batch_scenarios[];
extern const struct scenario bounded_scenarios[];
extern const struct scenario ece_scenarios[];
extern const struct scenario purge_scenarios[];
extern const struct scenario notify_scenarios[];
extern const struct scenario counter_scenarios[];
extern const struct scenario create_scenarios[];
extern const struct scenario async_scenarios[];
extern const struct scenario transition_scenarios[];
extern const struct scenario value_scenarios[];
extern const struct scenario creation_scenarios[];
extern const struct scenario carry_scenarios[];
extern const struct scenario device_scenarios[];
extern const struct scenario domain_scenarios[];
extern const struct scenario shared_scenarios[];
extern const struct scenario crowd_scenarios[];
extern const struct scenario held_scenarios[];
extern const struct scenario fence_scenarios[];
extern const struct scenario oversize_scenarios[];
extern const struct scenario field_scenarios[];
extern const struct scenario most_sge_scenarios[];
extern const struct scenario abrupt_scenarios[];
extern const struct scenario mixture_scenarios[];
extern const struct scenario region_object_scenarios[];
extern const struct scenario handle_scenarios[];
extern const struct scenario sge_scenarios[];
extern const struct scenario rereg_scenarios[];
extern const struct scenario advise_scenarios[];
extern const struct scenario flow_scenarios[];
extern const struct scenario iova_scenarios[];
extern const struct scenario dmabuf_scenarios[];
extern const struct scenario xrc_scenarios[];
extern const struct scenario offload_scenarios[];
extern const struct scenario atomic_byte_scenarios[];
extern const struct scenario address_scenarios[];
extern const struct scenario multicast_scenarios[];
extern const struct scenario malformed_scenarios[];
extern const struct scenario sequence_scenarios[];
extern const struct scenario refusal_scenarios[];
extern const struct scenario absent_scenarios[];
extern const struct scenario release_scenarios[];
extern const struct scenario resource_scenarios[];
extern const struct scenario unreliable_scenarios[];
extern const struct scenario acknowledge_scenarios[];
extern const struct scenario answer_scenarios[];
extern const struct scenario stopped_scenarios[];
extern const struct scenario pace_scenarios[];
extern const struct scenario connect_scenarios[];
extern const struct scenario crew_scenarios[];
extern const struct scenario shared_queue_scenarios[];
extern const struct scenario excluded_scenarios[];
extern const struct scenario halted_scenarios[];
extern const struct scenario longest_scenarios[];
extern const struct scenario faulted_scenarios[];
extern const struct scenario turn_scenarios[];
extern const struct scenario rendezvous_scenarios[];
extern const struct scenario window_domain_scenarios[];
extern const struct scenario window_key_scenarios[];
extern const struct scenario identifier_scenarios[];
extern const struct scenario endpoint_scenarios[];

#endif
