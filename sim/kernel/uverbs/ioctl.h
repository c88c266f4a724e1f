/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declaration of ioctl methods: a method is one row of a table, its attributes one row each. */
#ifndef HCASIM_KERNEL_IOCTL_H
#define HCASIM_KERNEL_IOCTL_H

#include <stddef.h>

#include "devices/method.h"
#include "kernel/priv.h"

struct method {
	uint16_t object, id;
	int (*handler)(struct call *c);
	const struct attr_spec *attrs;
	unsigned int num_attrs;
};

#define UHW                                                                                                  \
	{UVERBS_ATTR_UHW_IN, ATTR_IN, 0, 0, 0, UINT16_MAX, ATTR_UHW},                                        \
	{                                                                                                    \
		UVERBS_ATTR_UHW_OUT, ATTR_OUT, 0, 0, 0, UINT16_MAX, ATTR_UHW                                 \
	}

#define METHOD(object, id, handler, specs)                                                                   \
	{                                                                                                    \
		object, id, handler, specs, sizeof(specs) / sizeof((specs)[0])                               \
	}

/* Index of the attribute in the method's specification; -1: not an attribute of it. */
int attr_index(const struct method *m, uint16_t id);
/* Address of the attribute that is at `idx` of the user's array. */
uint64_t attr_user(const struct call *c, unsigned int idx);
/* Like attr_copy_to(), but returns 0 if the user did not pass the attribute. */
int attr_copy_optional(struct call *c, uint16_t id, const void *src, size_t size);
int attr_put_keys(struct call *c, uint16_t lkey_id, uint16_t rkey_id, const struct drv_mr *mr);

/* NULL: the kernel does not have the method, or removed it because the driver lacks a function for it. */
const struct method *method_find(uint16_t object, uint16_t id);
/* A method that the driver declares; `out` holds it. NULL: there is none. */
const struct method *driver_method(struct call *c, uint16_t object, uint16_t id, struct method *out);

/* Attribute number of the driver's response in the allocation of device memory. */
#define DM_ALLOC_RESP UVERBS_ID_DRIVER_NS

/* The same for the type of a completion counter, enum ibv_comp_cntr_type. */
#define COMP_CNTR_TYPE UVERBS_ID_DRIVER_NS

/* A driver's own output attribute is passed to its function as udata and copied to the user afterwards. */
int driver_attr(struct call *c, const struct attr_val *v, struct drv_udata **u);
int driver_attr_done(struct call *c, const struct attr_val *v);

int m_invoke_write(struct call *c);
int m_info_handles(struct call *c);
int m_query_port(struct call *c);
int m_get_context(struct call *c);
int m_query_context(struct call *c);
int m_query_gid_table(struct call *c);
int m_query_gid_entry(struct call *c);
int m_async_event_alloc(struct call *c);
int m_destroyed(struct call *c);
int m_query_mr(struct call *c);
int m_dm_alloc(struct call *c);
int m_reg_dm_mr(struct call *c);
int m_dmah_alloc(struct call *c);
int m_reg_mr(struct call *c);
int m_reg_dmabuf_mr(struct call *c);
int m_query_port_speed(struct call *c);
int m_advise_mr(struct call *c);
int m_query_comp_cntr_caps(struct call *c);
int m_comp_cntr_create(struct call *c);
int m_comp_cntr_modify(struct call *c);
int m_comp_cntr_read(struct call *c);
int m_qp_attach_comp_cntr(struct call *c);
int m_cq_create(struct call *c);
int m_cq_destroy(struct call *c);
int m_srq_create(struct call *c);
int m_srq_destroy(struct call *c);
int m_wq_create(struct call *c);
int m_wq_destroy(struct call *c);
int m_qp_create(struct call *c);
int m_qp_destroy(struct call *c);

#endif
