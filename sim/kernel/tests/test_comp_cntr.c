// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion counters: the methods. What the adapter counts is the matter of core.comp_cntrs. */
#include "harness.h"
#include "kernel/newer_abi.h"
#include "kernel/uverbs/ioctl.h"

#define SEND (1u << HCA_COMP_SEND)
#define RECV (1u << HCA_COMP_RECV)

struct ioc *comp_cntr_ioc(uint32_t type)
{
	struct ioc *i = ioc_new(ABI_OBJECT_COMP_CNTR, ABI_METHOD_COMP_CNTR_CREATE);

	ioc_obj(i, ABI_ATTR_CREATE_COMP_CNTR_HANDLE, 0);
	ioc_in(i, COMP_CNTR_TYPE, &type, sizeof(type));
	return i;
}

struct ioc *comp_cntr_modify_ioc(uint32_t cntr, uint64_t entry, uint64_t op, uint64_t value)
{
	struct ioc *i = ioc_new(ABI_OBJECT_COMP_CNTR, ABI_METHOD_COMP_CNTR_MODIFY);

	ioc_obj(i, ABI_ATTR_MODIFY_COMP_CNTR_HANDLE, cntr);
	ioc_const(i, ABI_ATTR_MODIFY_COMP_CNTR_ENTRY, entry);
	ioc_const(i, ABI_ATTR_MODIFY_COMP_CNTR_OP, op);
	ioc_in(i, ABI_ATTR_MODIFY_COMP_CNTR_VALUE, &value, sizeof(value));
	return i;
}

struct ioc *comp_cntr_read_ioc(uint32_t cntr, uint64_t entry, uint64_t *value)
{
	struct ioc *i = ioc_new(ABI_OBJECT_COMP_CNTR, ABI_METHOD_COMP_CNTR_READ);

	ioc_obj(i, ABI_ATTR_READ_COMP_CNTR_HANDLE, cntr);
	ioc_const(i, ABI_ATTR_READ_COMP_CNTR_ENTRY, entry);
	ioc_out(i, ABI_ATTR_READ_COMP_CNTR_RESP_VALUE, value, sizeof(*value));
	return i;
}

struct ioc *comp_cntr_attach_ioc(uint32_t qp, uint32_t cntr, uint32_t ops)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_QP, ABI_METHOD_QP_ATTACH_COMP_CNTR);

	ioc_obj(i, ABI_ATTR_QP_ATTACH_COMP_CNTR_HANDLE, qp);
	ioc_obj(i, ABI_ATTR_QP_ATTACH_COMP_CNTR_CNTR_HANDLE, cntr);
	ioc_in(i, ABI_ATTR_QP_ATTACH_COMP_CNTR_OP_MASK, &ops, sizeof(ops));
	return i;
}

static void start(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
}

static uint32_t make(void)
{
	struct ioc *i = comp_cntr_ioc(HCA_COMP_TYPE_WRS);

	CHECK_ERR(ioc_run(i), 0);
	return i->attrs[0].data;
}

static int drop(uint32_t cntr)
{
	struct ioc *i = ioc_new(ABI_OBJECT_COMP_CNTR, ABI_METHOD_COMP_CNTR_DESTROY);

	ioc_obj(i, ABI_ATTR_DESTROY_COMP_CNTR_HANDLE, cntr);
	return ioc_run(i);
}

static uint64_t value_of(uint32_t cntr, uint64_t entry)
{
	uint64_t *value = user_alloc(8);

	CHECK_ERR(ioc_run(comp_cntr_read_ioc(cntr, entry, value)), 0);
	return *value;
}

static void values(void)
{
	uint32_t cntr;

	start();
	CHECK_ERR(ioc_run(comp_cntr_ioc(HCA_COMP_TYPE_BYTES + 1)), -EOPNOTSUPP);
	cntr = make();
	CHECK_ERR(ioc_run(comp_cntr_modify_ioc(cntr, HCA_COMP_ENTRY_COMP, ABI_COMP_CNTR_OP_SET, UINT64_MAX)),
		  0);
	CHECK_ERR(ioc_run(comp_cntr_modify_ioc(cntr, HCA_COMP_ENTRY_ERR, ABI_COMP_CNTR_OP_INC, 3)), 0);
	CHECK_ERR(ioc_run(comp_cntr_modify_ioc(cntr, HCA_COMP_ENTRIES, ABI_COMP_CNTR_OP_SET, 0)), -EINVAL);
	CHECK_ERR(ioc_run(comp_cntr_modify_ioc(cntr, 1ull << 32, ABI_COMP_CNTR_OP_SET, 0)), -EINVAL);
	CHECK_ERR(ioc_run(comp_cntr_modify_ioc(cntr, 0, ABI_COMP_CNTR_OP_INC + 1, 0)), -EINVAL);
	CHECK(value_of(cntr, HCA_COMP_ENTRY_COMP) == UINT64_MAX);
	CHECK(value_of(cntr, HCA_COMP_ENTRY_ERR) == 3);
	CHECK_ERR(ioc_run(comp_cntr_modify_ioc(cntr, HCA_COMP_ENTRY_COMP, ABI_COMP_CNTR_OP_INC, 2)), 0);
	CHECK(value_of(cntr, HCA_COMP_ENTRY_COMP) == 1);
	CHECK_ERR(ioc_run(comp_cntr_read_ioc(cntr, HCA_COMP_ENTRIES, user_alloc(8))), -EINVAL);
	CHECK_ERR(drop(cntr), 0);
	CHECK_ERR(drop(cntr), -ENOENT);
	file_close();
}

/* The file is closed with a counter that a QP has: both go. */
static void attachment(void)
{
	uint32_t a, b;

	start();
	CHECK_ERR(make_qp(HCASIM_QPT_RC), 0);
	a = make();
	b = make();
	CHECK_ERR(ioc_run(comp_cntr_attach_ioc(w.qp, a, 0)), -EINVAL);
	CHECK_ERR(ioc_run(comp_cntr_attach_ioc(w.qp, a, 1u << HCA_COMP_OPS)), -EINVAL);
	CHECK_ERR(ioc_run(comp_cntr_attach_ioc(w.qp, w.pd, SEND)), -EINVAL);
	CHECK_ERR(ioc_run(comp_cntr_attach_ioc(w.qp, a, SEND)), 0);
	CHECK_ERR(ioc_run(comp_cntr_attach_ioc(w.qp, a, SEND)), -EBUSY);
	CHECK_ERR(ioc_run(comp_cntr_attach_ioc(w.qp, b, SEND | RECV)), -EBUSY);
	CHECK_ERR(ioc_run(comp_cntr_attach_ioc(w.qp, b, RECV)), 0);
	CHECK_ERR(drop(a), -EBUSY);
	CHECK_ERR(destroy_qp(w.qp, &(struct ib_uverbs_destroy_qp_resp){0}), 0);
	CHECK_ERR(drop(a), 0);
	CHECK_ERR(make_qp(HCASIM_QPT_RC), 0);
	CHECK_ERR(ioc_run(comp_cntr_attach_ioc(w.qp, b, RECV)), 0);
	file_close();
}

static void as_many_as_there_are(void)
{
	uint32_t first;

	start();
	first = make();
	for (uint32_t i = 1; i < HCA_COMP_CNTR_MAX; i++)
		make();
	CHECK_ERR(ioc_run(comp_cntr_ioc(HCA_COMP_TYPE_WRS)), -ENOMEM);
	CHECK_ERR(drop(first), 0);
	make();
	file_close();
	start();
	make();
	file_close();
}

void add_comp_cntr_suite(void)
{
	CU_pSuite s = CU_add_suite("completion counters", world_init, world_exit);

	CU_add_test(s, "values", values);
	CU_add_test(s, "attachment", attachment);
	CU_add_test(s, "as many as there are", as_many_as_there_are);
}
