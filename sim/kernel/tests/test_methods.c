// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A driver's method that takes an array of handles: which arrays there can be, and what its handler gets. */
#include <sys/mman.h>

#include "kernel/uverbs/ioctl.h"
#include "harness.h"

#define METHOD_ID (UVERBS_ID_DRIVER_NS | 9)
#define ARRAY     UVERBS_ID_DRIVER_NS

static struct attr_spec attrs[] = {IDR_ARRAY(ARRAY, UVERBS_OBJECT_PD, 1, O_)};
static void *seen, *at[3];
static bool called;

static int handler(struct drv_call *c)
{
	seen = c->ops->object(c, ARRAY);
	for (unsigned int i = 0; i < 3; i++)
		at[i] = c->ops->object_at(c, ARRAY, i);
	called = true;
	return 0;
}

static const struct drv_method methods[] = {DRV_METHOD(UVERBS_OBJECT_PD, METHOD_ID, handler, attrs)};

static int run(const uint32_t *handles, uint16_t len, uint8_t reserved)
{
	const struct drv_ops *native = w.f->dev->drv.ops;
	struct drv_ops with = *native;
	struct ioc *i = ioc_new(UVERBS_OBJECT_PD, METHOD_ID);
	int ret;

	with.methods = methods;
	with.num_methods = 1;
	w.f->dev->drv.ops = &with;
	called = false;
	if (handles)
		ioc_in(i, ARRAY, handles, len)->attr_data.reserved = reserved;
	ret = ioc_run(i);
	w.f->dev->drv.ops = native;
	CU_ASSERT_EQUAL(called, !ret);
	return ret;
}

static void array_of_handles(void)
{
	uint32_t two[3], other = 0x7fffffff;
	void *first;

	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	two[0] = two[1] = two[2] = w.pd;
	first = ((struct uobj *)numbers_find(&w.f->handles, w.pd))->drv;
	CHECK_ERR(run(two, 4, 0), 0);
	CU_ASSERT(seen == first && at[0] == first && !at[1]);
	CHECK_ERR(run(NULL, 0, 0), 0);
	CU_ASSERT(!seen && !at[0]);
	CHECK_ERR(run(two, 0, 0), -EINVAL);
	CHECK_ERR(run(two, 3, 0), -EINVAL);
	CHECK_ERR(run(two, 8, 0), -EINVAL);
	CHECK_ERR(run(two, 4, 1), -EINVAL);
	CHECK_ERR(run(&other, 4, 0), -ENOENT);
	attrs[0].max = 2;
	CHECK_ERR(make_pd(), 0);
	two[1] = w.pd;
	CHECK_ERR(run(two, 8, 0), 0);
	CU_ASSERT(at[0] == first && at[1] == ((struct uobj *)numbers_find(&w.f->handles, w.pd))->drv &&
		  at[1] != first);
	CU_ASSERT_PTR_NULL(at[2]);
	CHECK_ERR(run(two, 12, 0), -EINVAL);
	CHECK_ERR(run(two, 6, 0), -EINVAL);
	two[1] = other;
	CHECK_ERR(run(two, 8, 0), -ENOENT);
	attrs[0].max = 1;
	file_close();
}

/* What a driver does not have fails with one errno, whichever way it is called. */
static void what_a_driver_does_not_have(void)
{
	const struct drv_ops *native;
	struct drv_ops without;

	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_channel(), 0);
	CHECK_ERR(make_cq(8, -1), 0);
	CHECK_ERR(make_qp(IB_UVERBS_QPT_RC), 0);
	native = w.f->dev->drv.ops;
	without = *native;
	without.create_cq = NULL;
	without.create_qp = NULL;
	without.create_srq = NULL;
	without.alloc_mw = NULL;
	without.create_ah = NULL;
	without.mmap = NULL;
	w.f->dev->drv.ops = &without;
	CHECK_ERR(make_qp(IB_UVERBS_QPT_RC), -EOPNOTSUPP);
	CHECK_ERR(make_srq(8, 0), -EOPNOTSUPP);
	CHECK_ERR(make_mw(1), -EOPNOTSUPP);
	CHECK_ERR(make_ah((const uint8_t[16]){0}, 0), -EOPNOTSUPP);
	CHECK_ERR(kernel_mmap(w.f, &w.task, 4096, PROT_READ, 0, &(struct drv_mmap){0}), -EINVAL);
	CHECK_ERR(make_cq(8, -1), -EOPNOTSUPP);
	w.f->dev->drv.ops = native;
	CHECK_ERR(make_cq(8, -1), 0);
	file_close();
}

void add_methods_suite(void)
{
	CU_pSuite s = CU_add_suite("methods of a driver", world_init, world_exit);

	CU_add_test(s, "array of handles", array_of_handles);
	CU_add_test(s, "what a driver does not have", what_a_driver_does_not_have);
}
