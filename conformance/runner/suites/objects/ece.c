/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Enhanced connection establishment: options of a QP that is connected to itself. What they mean is the vendor's. */
#include <errno.h>

#include "suites/objects/own.h"

/* False: a fault, or the device has no such options. */
static bool query(struct kit *k, struct ibv_qp *qp, struct ibv_ece *ece)
{
	int ret;

	*ece = (struct ibv_ece){.comp_mask = UINT32_MAX};
	ret = ibv_query_ece(qp, ece);
	log_call(&k->res->log, "ibv_query_ece(qp, &(struct ibv_ece){.comp_mask = 0xffffffff})");
	if (ret == EOPNOTSUPP)
		seen(k->res, "the device has no ECE; ");
	if (!kit_holds(k, ret == EOPNOTSUPP || (!ret && ece->vendor_id && !ece->comp_mask)))
		KIT_FAULT(k, "ibv_query_ece returned %s: vendor_id 0x%x, comp_mask 0x%x", errno_name(ret),
			  ece->vendor_id, ece->comp_mask);
	return !ret && KIT_GOOD(k);
}

static void refused(struct kit *k, struct ibv_qp *qp, struct ibv_ece ece, const char *what)
{
	const int ret = ibv_set_ece(qp, &ece);

	log_call(&k->res->log, "ibv_set_ece(qp, &(struct ibv_ece){0x%x, 0x%x, 0x%x})", ece.vendor_id,
		 ece.options, ece.comp_mask);
	KIT_CHECK(k, ret == EINVAL || ret == EOPNOTSUPP, "ibv_set_ece of %s returned %s", what,
		  errno_name(ret));
}

/* Sets `ece`, moves the QP up, and expects options that can be set again. */
static void establish(struct kit *k, struct own *o, struct ibv_ece ece)
{
	struct ibv_ece now, again;
	struct ibv_send_wr wr, *bad;
	int ret = ibv_set_ece(o->qp, &ece);

	log_call(&k->res->log, "ibv_set_ece(qp, &(struct ibv_ece){0x%x, 0x%x, 0})", ece.vendor_id,
		 ece.options);
	KIT_CHECK(k, !ret, "ibv_set_ece of options 0x%x failed with %s", ece.options, errno_name(ret));
	if (!own_reach(k, o, IBV_QPS_RTS) || !query(k, o->qp, &now))
		return;
	KIT_CHECK(k, now.vendor_id == ece.vendor_id, "vendor_id is 0x%x, and was 0x%x", now.vendor_id,
		  ece.vendor_id);
	wr = kit_wr(1, IBV_WR_RDMA_WRITE, NULL);
	wr.num_sge = 0;
	KIT_CHECK(k, !ibv_post_send(o->qp, &wr, &bad), "posting was refused");
	if (!own_expect(k, o, o->send_cq, 1, IBV_WC_SUCCESS) || !own_reset(k, o))
		return;
	ret = ibv_set_ece(o->qp, &now);
	KIT_CHECK(k, !ret, "ibv_set_ece of accepted options 0x%x failed with %s", now.options,
		  errno_name(ret));
	if (own_reach(k, o, IBV_QPS_RTS) && query(k, o->qp, &again))
		KIT_CHECK(k, again.options == now.options,
			  "accepted options 0x%x became 0x%x when they were set again", now.options,
			  again.options);
}

static void ece_options(struct kit *k)
{
	struct own o = {.to_itself = true};
	struct ibv_ece ece;

	if (own_create(k, &o, IBV_QPT_RC) && query(k, o.qp, &ece)) {
		refused(k, o.qp, (struct ibv_ece){ece.vendor_id + 1, ece.options, 0}, "another vendor");
		refused(k, o.qp, (struct ibv_ece){ece.vendor_id, ece.options, 1}, "an unknown comp_mask");
		if (kit_arg(k, "every", 0))
			ece.options = UINT32_MAX;
		if (KIT_GOOD(k))
			establish(k, &o, ece);
	}
}

SCENARIO(ece_options) = {
	{"ece", SUITE("objects"), QPS("RC"), CLAUSE("ibv_query_ece/DESCRIPTION/state"), LEVEL("SHOULD"),
	 SAYS("a new QP has options of the device's vendor, which can be set; those that are accepted "
	      "are reported, and accepted again; another vendor_id and a comp_mask are refused")},
	{"ece-every", ARGS({"every", 1}), CLAUSE("ibv_set_ece/ARGUMENTS/accepted"),
	 SAYS("of options with every bit set the device accepts those that it has, and the QP connects")},
	{},
};
