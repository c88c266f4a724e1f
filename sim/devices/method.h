/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declaration of ioctl methods: a method is one row of a table, its attributes one row each. sim/kernel declares the
 * kernel's own so, a driver those that it adds (struct drv_method).
 */
#ifndef HCASIM_DEVICES_METHOD_H
#define HCASIM_DEVICES_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum attr_type { ATTR_IN, ATTR_OUT, ATTR_IDR, ATTR_IDR_ARRAY, ATTR_FD, ATTR_ENUM, ATTR_RAW_FD };
#define DRV_ANY_OBJECT 0xffffu /* UVERBS_IDR_ANY_OBJECT */
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

#define M_      ATTR_MANDATORY
#define O_      0
#define UPTO(t) ((t) > UINT16_MAX ? UINT16_MAX : (t))

#define IDR(id, object, access, opt)                                                                         \
	{                                                                                                    \
		id, ATTR_IDR, access, object, 0, 0, opt                                                      \
	}
/* An array of at most `max` handles, and of at least one; no method takes more than IDR_ARRAY_MAX. */
#define IDR_ARRAY_MAX 2
#define IDR_ARRAY(id, object, max, opt)                                                                      \
	{                                                                                                    \
		id, ATTR_IDR_ARRAY, ACCESS_READ, object, 1, max, opt                                         \
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
/* One of `num` names, each with `size` bytes of data, at most 8: a handler gets the data. */
#define ENUM_WITH(id, num, size, opt)                                                                        \
	{                                                                                                    \
		id, ATTR_ENUM, 0, 0, size, num, opt                                                          \
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
/* ---- Methods of a driver ---- */

struct drv_device;
struct drv_ucontext;
struct drv_call;

/* A file of the driver's, from which the program reads one record at a time. Its type is in the driver's name space. */
struct drv_file {
	uint32_t flags; /* the driver's */
};

/* How a method's handler gets at its attributes. Errors are negative errnos; -ENOENT: the user did not pass it. */
struct drv_call_ops {
	/* The user passed the attribute. */
	bool (*has)(struct drv_call *c, uint16_t id);
	/* Bytes of an IN or OUT attribute; 0 without it. */
	size_t (*size)(struct drv_call *c, uint16_t id);
	/* Copies from an IN attribute; a shorter one is filled with zeros. */
	int (*get)(struct drv_call *c, uint16_t id, void *dst, size_t size);
	/* Copies to an OUT attribute, at most what it holds. */
	int (*put)(struct drv_call *c, uint16_t id, const void *src, size_t size);
	/* The driver's object of an IDR attribute, the first one of an array; NULL: the user did not pass it. */
	void *(*object)(struct drv_call *c, uint16_t id);
	/* Object `n` of an array, from 0 on; NULL: it has none. */
	void *(*object_at)(struct drv_call *c, uint16_t id, unsigned int n);
	/* Its type, which an attribute declared with DRV_ANY_OBJECT leaves open; without the attribute DRV_ANY_OBJECT. */
	uint16_t (*type)(struct drv_call *c, uint16_t id);
	/*
	 * Makes the driver's object of a new IDR attribute: `size` zeroed bytes, destroyed with its handle. If the method
	 * fails it is destroyed, too: set its members first. NULL: out of memory.
	 */
	void *(*create)(struct drv_call *c, uint16_t id, size_t size);
	/* The file of an FD attribute, new or not; NULL: the user did not pass it. */
	struct drv_file *(*file)(struct drv_call *c, uint16_t id);
	/* The caller's descriptor `fd`, of any file, as one of this process; -EBADF, or why there is none. */
	int (*user_fd)(struct drv_call *c, int fd);
	/* The new object `id` must be destroyed before the driver's object `used`, of an IDR attribute. */
	void (*use)(struct drv_call *c, uint16_t id, uint16_t used);
	/* The same for a driver's object `drv` that is found in another way. It has a handle in the same file. */
	void (*hold)(struct drv_call *c, uint16_t id, const void *drv);
	/* Memory of the caller: 0 or -EFAULT. */
	int (*read_user)(struct drv_call *c, void *dst, uint64_t src, size_t size);
	int (*write_user)(struct drv_call *c, uint64_t dst, const void *src, size_t size);
	/* Memory of the caller that the adapter shall reach, and write to: 0, -EFAULT or -ENOMEM. */
	int (*pin)(struct drv_call *c, uint64_t addr, uint64_t size, bool write);
};

struct drv_call { /* one call in progress */
	const struct drv_call_ops *ops;
	struct drv_device *dev;
	struct drv_ucontext *ctx; /* NULL: not allocated yet */
	uint32_t pasid;           /* of the caller */
};

struct drv_method { /* of an object of the kernel's or of the driver's; `handler` NULL: a DESTROY attribute does it all */
	uint16_t object, id;
	int (*handler)(struct drv_call *c);
	const struct attr_spec *attrs;
	unsigned int num_attrs;
};

#define DRV_METHOD(object, id, handler, specs)                                                               \
	{                                                                                                    \
		object, id, handler, specs, sizeof(specs) / sizeof((specs)[0])                               \
	}

/* A type of objects that only the driver destroys. */
struct drv_object {
	uint16_t type;
	int (*destroy)(void *object); /* of drv_call_ops.create() */
};

#ifdef __cplusplus
}
#endif
#endif
