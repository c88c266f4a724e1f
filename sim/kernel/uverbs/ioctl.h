/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declaration of ioctl methods: a method is one row of a table, its attributes one row each. */
#ifndef HCASIM_KERNEL_IOCTL_H
#define HCASIM_KERNEL_IOCTL_H

#include <stddef.h>

#include "kernel/priv.h"

enum attr_type { ATTR_IN, ATTR_OUT, ATTR_IDR, ATTR_FD, ATTR_ENUM, ATTR_RAW_FD };
enum attr_access { ACCESS_READ, ACCESS_NEW, ACCESS_DESTROY };

#define ATTR_MANDATORY     (1u << 0)
#define ATTR_ZERO_TRAILING (1u << 1) /* may be longer than the known structure if the rest is zero */
#define ATTR_UHW           (1u << 2)
#define ATTR_COPY          (1u << 3) /* the bytes must be readable, even if the handler does not read them */

struct attr_spec {
	uint16_t id;
	uint8_t type, access;
	uint16_t object;
	uint16_t min, max; /* bytes */
	uint8_t flags;
};

struct method {
	uint16_t object, id;
	int (*handler)(struct call *c);
	const struct attr_spec *attrs;
	unsigned int num_attrs;
};

#define M_      ATTR_MANDATORY
#define O_      0
#define UPTO(t) ((t) > UINT16_MAX ? UINT16_MAX : (t))

#define IDR(id, object, access, opt)                                                                         \
	{                                                                                                    \
		id, ATTR_IDR, access, object, 0, 0, opt                                                      \
	}
#define FD(id, object, access, opt)                                                                          \
	{                                                                                                    \
		id, ATTR_FD, access, object, 0, 0, opt                                                       \
	}
#define IN(id, size, opt)                                                                                    \
	{                                                                                                    \
		id, ATTR_IN, 0, 0, size, size, opt                                                           \
	}
#define OUT(id, size, opt)                                                                                   \
	{                                                                                                    \
		id, ATTR_OUT, 0, 0, size, size, opt                                                          \
	}
#define IN_MIN(id, min, opt)                                                                                 \
	{                                                                                                    \
		id, ATTR_IN, 0, 0, min, UINT16_MAX, opt                                                      \
	}
#define OUT_MIN(id, min, opt)                                                                                \
	{                                                                                                    \
		id, ATTR_OUT, 0, 0, min, UINT16_MAX, opt                                                     \
	}
/* One of `num` names, none of which carries data. */
#define ENUM_IN(id, num, opt)                                                                                \
	{                                                                                                    \
		id, ATTR_ENUM, 0, 0, 0, num, opt                                                             \
	}
/* A descriptor of the caller's, of any file. */
#define RAW_FD(id, opt)                                                                                      \
	{                                                                                                    \
		id, ATTR_RAW_FD, 0, 0, 0, 0, opt                                                             \
	}
#define CONST_IN(id, opt) IN(id, sizeof(uint64_t), opt)
#define FLAGS_IN(id, opt)                                                                                    \
	{                                                                                                    \
		id, ATTR_IN, 0, 0, sizeof(uint32_t), sizeof(uint64_t), opt                                   \
	}
#define STRUCT_(kind, id, type_, last, opt)                                                                  \
	{                                                                                                    \
		id, kind, 0, 0, offsetof(type_, last) + sizeof(((type_ *)0)->last), sizeof(type_),           \
			(opt) | ATTR_ZERO_TRAILING                                                           \
	}
#define STRUCT_IN(id, type, last, opt)  STRUCT_(ATTR_IN, id, type, last, opt)
#define STRUCT_OUT(id, type, last, opt) STRUCT_(ATTR_OUT, id, type, last, opt)
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

/* Attribute numbers of the PD query, which only some drivers have. */
#define PD_QUERY_HANDLE UVERBS_ID_DRIVER_NS
#define PD_QUERY_RESP   (UVERBS_ID_DRIVER_NS + 1)
/*
 * Attribute numbers of the device memory query, and of the driver's response in the allocation of device
 * memory.
 */
#define DM_QUERY_HANDLE UVERBS_ID_DRIVER_NS
#define DM_QUERY_RESP   (UVERBS_ID_DRIVER_NS + 1)
#define DM_ALLOC_RESP   UVERBS_ID_DRIVER_NS

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
int m_query_pd(struct call *c);
int m_query_mr(struct call *c);
int m_dm_alloc(struct call *c);
int m_dm_query(struct call *c);
int m_reg_dm_mr(struct call *c);
int m_dmah_alloc(struct call *c);
int m_reg_mr(struct call *c);
int m_reg_dmabuf_mr(struct call *c);
int m_query_port_speed(struct call *c);
int m_advise_mr(struct call *c);
int m_cq_create(struct call *c);
int m_cq_destroy(struct call *c);
int m_srq_create(struct call *c);
int m_srq_destroy(struct call *c);
int m_wq_create(struct call *c);
int m_wq_destroy(struct call *c);
int m_qp_create(struct call *c);
int m_qp_destroy(struct call *c);

#endif
