/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <string.h>

#include "suites/kit.h"

static const struct scenario *const suites[] = {
	pace_scenarios,         acknowledge_scenarios,   answer_scenarios,        stopped_scenarios,
	atomic_scenarios,       builder_scenarios,       writev_scenarios,        differ_scenarios,
	receive_scenarios,      order_scenarios,         flush_scenarios,         list_scenarios,
	region_scenarios,       retry_scenarios,         srq_scenarios,           key_scenarios,
	window_scenarios,       frame_scenarios,         queue_scenarios,         doorbell_scenarios,
	wc_scenarios,           misuse_scenarios,        psn_scenarios,           drain_scenarios,
	malformed_scenarios,    sequence_scenarios,      refusal_scenarios,       multicast_scenarios,
	release_scenarios,      advise_scenarios,        iova_scenarios,          flow_scenarios,
	resource_scenarios,     unreliable_scenarios,    sge_scenarios,           rereg_scenarios,
	xrc_scenarios,          offload_scenarios,       transition_scenarios,    value_scenarios,
	creation_scenarios,     carry_scenarios,         device_scenarios,        domain_scenarios,
	shared_scenarios,       region_object_scenarios, destination_scenarios,   srq_edge_scenarios,
	tag_scenarios,          address_scenarios,       atomic_byte_scenarios,   handle_scenarios,
	resize_scenarios,       batch_scenarios,         purge_scenarios,         notify_scenarios,
	create_scenarios,       async_scenarios,         srq_create_scenarios,    work_queue_scenarios,
	rss_scenarios,          import_scenarios,        argument_scenarios,      tag_edge_scenarios,
	crowd_scenarios,        held_scenarios,          field_scenarios,         most_sge_scenarios,
	abrupt_scenarios,       mixture_scenarios,       fence_scenarios,         oversize_scenarios,
	connect_scenarios,      dmabuf_scenarios,        crew_scenarios,          longest_scenarios,
	shared_queue_scenarios, excluded_scenarios,      halted_scenarios,        faulted_scenarios,
	turn_scenarios,         rendezvous_scenarios,    window_domain_scenarios, tag_operation_scenarios,
	wq_namesake_scenarios,  window_key_scenarios,    tag_place_scenarios,     absent_scenarios,
	counter_scenarios,      bounded_scenarios,       ece_scenarios,           identifier_scenarios,
	endpoint_scenarios,
};

static const struct scenario *find(const char *name)
{
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
		for (const struct scenario *s = suites[i]; s->name; s++)
			if (!strcmp(s->name, name))
				return s;
	return NULL;
}

void run_suite_cell(struct runner *r, const struct cell *cell, struct result *res)
{
	const struct scenario *s = find(cell->scenario);
	struct kit kit = {.r = r, .cell = cell, .res = res, .l = &r->link};

	kit.wrong = (unsigned int)kit_arg(&kit, "wrong", 0);
	if (s && kit_family(&kit))
		s->run(&kit);
	else if (!s)
		fault(&res->verdict, "the runner has no scenario '%s'", cell->scenario);
	if (kit.wrong > kit.checks)
		fault(&res->verdict, "check %u is to be wrong, the scenario has %u", kit.wrong, kit.checks);
}
