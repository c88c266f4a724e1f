// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which members of struct drv_ops and struct hca_personality a device family must have. docs/add-a-device.md has this
 * table in words; a test compares both with the structures.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/personality.h"
#include "devices/driver.h"
#include "devices/family.h"

#define OP(member)                                                                                           \
	{                                                                                                    \
#member, offsetof(struct drv_ops, member), false                                             \
	}
#define FORMAT(member)                                                                                       \
	{                                                                                                    \
#member, offsetof(struct hca_personality, member), true                                      \
	}
#define MAX_MEMBERS 20

/* A family has all members of a group or none; those of the first group are required. */
static const struct group {
	const char *name;
	struct member {
		const char *name;
		size_t at;
		bool format; /* of the personality */
	} members[MAX_MEMBERS];
} groups[] = {
	{"every family",
	 {OP(probe), OP(remove), OP(irq), OP(query_device), OP(query_port), OP(set_port), OP(set_gid),
	  OP(query_counters), OP(send_mad), OP(set_alarm), OP(alloc_ucontext), OP(dealloc_ucontext),
	  OP(alloc_pd), OP(dealloc_pd), OP(reg_mr), OP(dereg_mr), FORMAT(encode_eqe)}},
	{"completion queues", {OP(create_cq), OP(destroy_cq), FORMAT(encode_cqe), FORMAT(decode_cq_record)}},
	{"resizing of completion queues", {OP(resize_cq), FORMAT(resized_cq_index)}},
	{"queue pairs",
	 {OP(create_qp), OP(modify_qp), OP(query_qp), OP(destroy_qp), OP(flush_orphan), FORMAT(wqe_size),
	  FORMAT(decode_wqe), FORMAT(decode_rqe), FORMAT(sq_record_pi), FORMAT(rq_record_pi)}},
	{"shared receive queues",
	 {OP(create_srq), OP(modify_srq_limit), OP(query_srq_limit), OP(destroy_srq), FORMAT(srq_record_pi)}},
	{"BARs with doorbells", {FORMAT(decode_doorbell), FORMAT(read_register)}},
	{"address handles", {OP(create_ah), OP(destroy_ah)}},
	{"memory windows", {OP(alloc_mw), OP(dealloc_mw)}},
	{"work queues", {OP(create_wq), OP(modify_wq)}},
	{"tables of work queues", {OP(create_rwq_table), OP(destroy_rwq_table)}},
	{"device memory", {OP(free_dm), OP(reg_dm_mr)}},
	{"on-demand regions",
	 {OP(page_request), OP(page_response), OP(map_pages), OP(unmap_pages), OP(prefetch_range)}},
	{"flows", {OP(create_flow), OP(destroy_flow)}},
	{"multicast groups", {OP(attach_mcast), OP(detach_mcast)}},
};

#define NUM_GROUPS (sizeof(groups) / sizeof(groups[0]))

static bool has(const struct drv_ops *ops, const struct member *m)
{
	const char *base = m->format ? (const char *)ops->personality : (const char *)ops;
	void (*function)(void);

	memcpy(&function, base + m->at, sizeof(function));
	return function;
}

int device_family_check(const struct drv_ops *ops, char *err, size_t err_size)
{
	for (size_t i = 0; i < NUM_GROUPS; i++) {
		const struct member *there = NULL, *lacks = NULL;

		for (const struct member *m = groups[i].members; m->name; m++)
			*(has(ops, m) ? &there : &lacks) = m;
		if (!lacks || (i && !there))
			continue;
		snprintf(err, err_size, "device family '%s': no %s, which %s needs (docs/add-a-device.md)",
			 ops->name, lacks->name, i ? there->name : "every family");
		return -EINVAL;
	}
	return 0;
}
