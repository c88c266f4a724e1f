/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Creation of QPs: what must be granted, and what must be refused. */
#include <errno.h>

#include "suites/objects/own.h"

static bool granted_less(const struct ibv_qp_cap *has, const struct ibv_qp_cap *asked, bool own_recv)
{
	return has->max_send_wr < asked->max_send_wr || has->max_send_sge < asked->max_send_sge ||
	       has->max_inline_data < asked->max_inline_data ||
	       (own_recv &&
		(has->max_recv_wr < asked->max_recv_wr || has->max_recv_sge < asked->max_recv_sge));
}

/* ibv_create_qp() has fewer attributes. */
static struct ibv_qp *create_plain(const struct own *o, struct ibv_qp_init_attr_ex *ex)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = ex->qp_context,
		.send_cq = ex->send_cq,
		.recv_cq = ex->recv_cq,
		.srq = ex->srq,
		.cap = ex->cap,
		.qp_type = ex->qp_type,
		.sq_sig_all = ex->sq_sig_all,
	};
	struct ibv_qp *qp = ibv_create_qp(o->init.pd, &attr);

	ex->cap = attr.cap;
	return qp;
}

static struct ibv_qp *create(struct kit *k, const struct own *o, struct ibv_qp_init_attr_ex *init, bool plain)
{
	errno = 0;
	return plain ? create_plain(o, init) : ibv_create_qp_ex(k->r->dut.requester.ctx, init);
}

/* By both calls; the second only if it has all attributes that are set. */
static bool created(struct kit *k, struct own *o, const struct ibv_qp_init_attr_ex *asked, const char *what)
{
	log_call(&k->res->log, "/* %s: must be granted */", what);
	for (int plain = 0; plain < 1 + (asked->comp_mask == IBV_QP_INIT_ATTR_PD); plain++) {
		o->init = *asked;
		o->qp = create(k, o, &o->init, plain);
		if (!kit_holds(k, o->qp))
			KIT_FAULT(k, "%s: the creation of the QP failed with %s", what, errno_name(errno));
		else if (granted_less(&o->init.cap, &asked->cap, !asked->srq))
			KIT_FAULT(k, "%s: cap has less than was asked for", what);
		else
			own_judge(k, o, 0, what);
		if (o->qp)
			ibv_destroy_qp(o->qp);
		o->qp = NULL;
		if (!KIT_GOOD(k))
			return false;
	}
	return true;
}

static bool refused(struct kit *k, const struct own *o, const struct ibv_qp_init_attr_ex *asked,
		    const char *what)
{
	log_call(&k->res->log, "/* %s: must be refused */", what);
	for (int plain = 0; plain < 1 + (asked->comp_mask == IBV_QP_INIT_ATTR_PD); plain++) {
		struct ibv_qp_init_attr_ex init = *asked;
		struct ibv_qp *qp = create(k, o, &init, plain);

		if (qp) {
			ibv_destroy_qp(qp);
			KIT_FAULT(k, "%s: a QP was created, must be refused", what);
		} else if (!kit_holds(k, errno > 0)) {
			KIT_FAULT(k, "%s: refused, and errno says nothing", what);
		} else {
			k->res->err = errno;
		}
	}
	return KIT_GOOD(k);
}

/* The attributes of a small QP of this type. */
static bool begin(struct kit *k, struct own *o, struct ibv_qp_init_attr_ex *small)
{
	*o = (struct own){0};
	if (!own_create(k, o, kit_arg(k, "type", 0)))
		return false;
	ibv_destroy_qp(o->qp);
	o->qp = NULL;
	*small = o->init;
	small->cap = (struct ibv_qp_cap){3, 2, 1, 1, 0};
	if (small->qp_type == IBV_QPT_XRC_SEND)
		small->cap.max_recv_wr = small->cap.max_recv_sge = 0;
	else if (small->qp_type == IBV_QPT_XRC_RECV)
		small->cap = (struct ibv_qp_cap){0};
	return true;
}

static void create_small(struct kit *k)
{
	struct ibv_qp_init_attr_ex small;
	struct own o;

	if (begin(k, &o, &small))
		created(k, &o, &small, "a small QP");
	own_destroy(&o);
}

SCENARIO(create_small) = {
	{"small", SUITE("create"), QPS("RC"), ARGS({"type", IBV_QPT_RC}),
	 CLAUSE("ibv_create_qp/DESCRIPTION/granted"),
	 SAYS("a QP of few requests has what ibv_create_qp() has granted, as ibv_query_qp() says")},
	{"small", QPS("UD"), ARGS({"type", IBV_QPT_UD})},
	{},
};

/* One member of cap: its limit is granted, one more is refused. */
static bool limit(struct kit *k, struct own *o, const struct ibv_qp_init_attr_ex *small, const char *name,
		  uint32_t *(*member)(struct ibv_qp_cap *), uint32_t most)
{
	struct ibv_qp_init_attr_ex asked = *small;
	uint32_t *value = member(&asked.cap);
	char what[64];

	*value = most;
	snprintf(what, sizeof(what), "%s %u, as many as the device has", name, most);
	if (!created(k, o, &asked, what))
		return false;
	*value = most + 1;
	snprintf(what, sizeof(what), "%s %u, one more than the device has", name, most + 1);
	if (!refused(k, o, &asked, what))
		return false;
	*value = UINT32_MAX;
	snprintf(what, sizeof(what), "%s %u", name, UINT32_MAX);
	return refused(k, o, &asked, what);
}

#define MEMBER(name)                                                                                         \
	static uint32_t *name(struct ibv_qp_cap *cap)                                                        \
	{                                                                                                    \
		return &cap->name;                                                                           \
	}
MEMBER(max_send_wr)
MEMBER(max_recv_wr)
MEMBER(max_send_sge)
MEMBER(max_recv_sge)

static void create_limits(struct kit *k)
{
	const struct ibv_device_attr *attr = &k->r->dut.requester.attr;
	struct ibv_qp_init_attr_ex small, asked;
	struct own o;

	if (!begin(k, &o, &small) || !created(k, &o, &small, "a small QP") ||
	    !limit(k, &o, &small, "max_send_wr", max_send_wr, attr->max_qp_wr) ||
	    !limit(k, &o, &small, "max_send_sge", max_send_sge, attr->max_sge))
		return;
	small.cap.max_inline_data = UINT32_MAX; /* the limit has no attribute */
	if (!refused(k, &o, &small, "max_inline_data 0xffffffff"))
		return;
	small.cap.max_inline_data = 0;
	asked = small;
	asked.cap.max_send_sge = asked.cap.max_recv_sge = 0;
	if (!created(k, &o, &asked, "queues for requests and receives without SGEs"))
		return;
	if (small.recv_cq && limit(k, &o, &small, "max_recv_wr", max_recv_wr, attr->max_qp_wr))
		limit(k, &o, &small, "max_recv_sge", max_recv_sge, attr->max_sge);
}

SCENARIO(create_limits) = {
	{"limits", SUITE("create"), QPS("RC"), ARGS({"type", IBV_QPT_RC}, {"srq", 1}),
	 CLAUSE("ibv_query_device/NOTES/limits"), LEVEL("SHOULD"),
	 SAYS("as many requests and SGEs as the device says that it has are granted, one more is "
	      "refused; what was granted is at least what was asked for, and ibv_query_qp reports the "
	      "same")},
	{"limits", QPS("UC"), ARGS({"type", IBV_QPT_UC}, {"srq", 1})},
	{"limits", QPS("UD"), ARGS({"type", IBV_QPT_UD}, {"srq", 1})},
	{"limits", QPS("RAW_PACKET"), ARGS({"type", IBV_QPT_RAW_PACKET}, {"srq", 1})},
	{"limits", QPS("XRC_SEND"), ARGS({"type", IBV_QPT_XRC_SEND})},
	{},
};

/* CQs, PD and SRQ that must be there, or must not. */
static void create_parts(struct kit *k)
{
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_qp_init_attr_ex small, asked;
	const char *refuse = "an SRQ for a QP that is neither RC nor UD";
	struct own o;

	if (!begin(k, &o, &small))
		return;
	asked = small;
	asked.send_cq = NULL;
	if (!refused(k, &o, &asked, "no send_cq"))
		return;
	asked = small;
	asked.recv_cq = NULL;
	if (small.recv_cq && !refused(k, &o, &asked, "no recv_cq"))
		return;
	asked = small;
	asked.sq_sig_all = 1;
	if (!created(k, &o, &asked, "sq_sig_all"))
		return;
	if (kit_arg(k, "srq", 0)) {
		asked = small;
		asked.srq = ibv_create_srq(small.pd, &srq_attr);
		asked.cap.max_recv_wr = asked.cap.max_recv_sge = UINT32_MAX / 2; /* ignored */
		if (!asked.srq)
			KIT_FAULT(k, "ibv_create_srq failed with %s", errno_name(errno));
		else if (small.qp_type == IBV_QPT_RC || small.qp_type == IBV_QPT_UD)
			created(k, &o, &asked, "an SRQ, max_recv_wr and max_recv_sge are ignored");
		else
			refused(k, &o, &asked, refuse);
	}
}

SCENARIO(create_parts) = {
	{"parts", SUITE("create"), QPS("RC"), ARGS({"type", IBV_QPT_RC}, {"srq", 1}),
	 CLAUSE("ibv_create_qp/NOTES/srq"), NEEDS("srq"),
	 SAYS("a QP that is neither RC nor UD gets no SRQ; with one, the size of the receive queue is "
	      "ignored; without the CQs that the type needs there is no QP")},
	{"parts", QPS("UC"), ARGS({"type", IBV_QPT_UC}, {"srq", 1})},
	{"parts", QPS("UD"), ARGS({"type", IBV_QPT_UD}, {"srq", 1})},
	{"parts", QPS("RAW_PACKET"), ARGS({"type", IBV_QPT_RAW_PACKET}, {"srq", 1})},
	{"parts", QPS("XRC_SEND"), ARGS({"type", IBV_QPT_XRC_SEND})},
	{},
};

/* Types that no device has, and members of the extended attributes that are not there. */
static void create_unknown(struct kit *k)
{
	static const int types[] = {0, 1, 5, 7, 11, 0xfe};
	struct ibv_qp_init_attr_ex small, asked;
	struct own o;

	if (!begin(k, &o, &small))
		return;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		asked = small;
		asked.qp_type = types[i];
		if (!refused(k, &o, &asked, "a type that verbs.h does not have"))
			return;
	}
	asked = small;
	asked.comp_mask |= 1u << 31;
	if (!refused(k, &o, &asked, "a comp_mask with an unknown bit"))
		return;
	asked = small;
	asked.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	asked.create_flags = 1u << 30;
	if (!refused(k, &o, &asked, "an unknown create_flag"))
		return;
	asked = small;
	asked.comp_mask &= ~IBV_QP_INIT_ATTR_PD;
	if (!refused(k, &o, &asked, "no PD"))
		return;
	asked = small;
	asked.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	asked.send_ops_flags = 1ull << 40 | IBV_QP_EX_WITH_SEND;
	if (refused(k, &o, &asked, "an operation that verbs.h does not have") &&
	    !kit_holds(k, k->res->err == EOPNOTSUPP))
		KIT_FAULT(k, "an operation that verbs.h does not have: refused with %s, expected EOPNOTSUPP",
			  errno_name(k->res->err));
}

SCENARIO(create_unknown) = {
	{"unknown", SUITE("create"), QPS("RC"), ARGS({"type", IBV_QPT_RC}, {"srq", 1}),
	 CLAUSE("ibv_create_qp/RETURN-VALUE"), LEVEL("SHOULD"), ERRATA("OPS-UNSUPPORTED"),
	 SAYS("types, operations, flags and members that verbs.h does not have are refused with an "
	      "errno, operations with EOPNOTSUPP")},
	{"unknown", QPS("UC"), ARGS({"type", IBV_QPT_UC}, {"srq", 1})},
	{"unknown", QPS("UD"), ARGS({"type", IBV_QPT_UD}, {"srq", 1})},
	{"unknown", QPS("RAW_PACKET"), ARGS({"type", IBV_QPT_RAW_PACKET}, {"srq", 1})},
	{"unknown", QPS("XRC_SEND"), ARGS({"type", IBV_QPT_XRC_SEND})},
	{},
};

/* Members whose bit of comp_mask is not set; `bits` are those that are asked for. */
static struct ibv_qp_init_attr_ex with_garbage(const struct ibv_qp_init_attr_ex *small, uint32_t bits)
{
	static uint8_t key[40];
	struct ibv_qp_init_attr_ex asked = *small;

	asked.comp_mask |= bits;
	asked.create_flags = bits & IBV_QP_INIT_ATTR_CREATE_FLAGS ? 0 : UINT32_MAX;
	asked.max_tso_header = bits & IBV_QP_INIT_ATTR_MAX_TSO_HEADER ? 0 : UINT16_MAX;
	asked.send_ops_flags = bits & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? 0 : UINT64_MAX;
	asked.source_qpn = UINT32_MAX;
	asked.rx_hash_conf = (struct ibv_rx_hash_conf){0xff, sizeof(key), key, UINT64_MAX};
	return asked;
}

/* comp_mask says which members are valid: others count for nothing, and a valid one of 0 asks for nothing. */
static void valid_members(struct kit *k, struct own *o, const struct ibv_qp_init_attr_ex *small)
{
	static const uint32_t bits[] = {0, IBV_QP_INIT_ATTR_CREATE_FLAGS, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		const struct ibv_qp_init_attr_ex asked = with_garbage(small, bits[i]);

		if (!created(k, o, &asked, "0 in each member of comp_mask, garbage in the others"))
			return;
	}
}

/* A header for segments is refused on a type of QP that the device does not segment for. */
static bool no_tso(struct kit *k, const struct own *o, struct ibv_qp_init_attr_ex asked)
{
	struct ibv_device_attr_ex attr = {0};

	if (ibv_query_device_ex(k->r->dut.requester.ctx, NULL, &attr))
		KIT_FAULT(k, "ibv_query_device_ex failed");
	asked.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	asked.max_tso_header = 54;
	return KIT_GOOD(k) && (attr.tso_caps.supported_qpts & 1u << asked.qp_type ||
			       refused(k, o, &asked, "max_tso_header on a QP without segmentation"));
}

/* The receiving end of XRC has no queues. A PD is allowed. */
static void xrc_recv(struct kit *k, struct own *o, const struct ibv_qp_init_attr_ex *small)
{
	struct ibv_qp_init_attr_ex asked = with_garbage(small, 0);

	asked.comp_mask |= IBV_QP_INIT_ATTR_PD;
	asked.pd = k->r->dut.requester.pd;
	if (!created(k, o, &asked, "a PD as well"))
		return;
	asked.comp_mask = IBV_QP_INIT_ATTR_PD;
	if (!refused(k, o, &asked, "a PD in place of the XRC domain"))
		return;
	asked = *small;
	asked.xrcd = NULL;
	if (!refused(k, o, &asked, "no XRC domain in its member"))
		return;
	asked = *small;
	asked.cap = (struct ibv_qp_cap){5, 6, 1, 1, 0};
	o->qp = create(k, o, &asked, false);
	KIT_CHECK(k, o->qp, "queues that it cannot have: the creation failed with %s", errno_name(errno));
	KIT_CHECK(k, !o->qp->send_cq && !o->qp->recv_cq && !o->qp->srq,
		  "an XRC_RECV QP has a CQ or an SRQ as a member");
	KIT_CHECK(k, !asked.cap.max_send_wr && !asked.cap.max_recv_wr,
		  "an XRC_RECV QP was granted %u sends and %u receives", asked.cap.max_send_wr,
		  asked.cap.max_recv_wr);
}

static void create_masks(struct kit *k)
{
	const uint32_t always = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD;
	struct ibv_qp_init_attr_ex small, asked;
	struct own o;

	if (!begin(k, &o, &small))
		return;
	valid_members(k, &o, &small);
	asked = small;
	asked.comp_mask &= ~always;
	if (!KIT_GOOD(k) || !refused(k, &o, &asked, "no PD, and no XRC domain") || !no_tso(k, &o, small))
		return;
	for (int bit = 7; bit < 32; bit++) {
		asked = small;
		asked.comp_mask |= 1u << bit;
		if (!refused(k, &o, &asked, "a comp_mask with an unknown bit"))
			return;
	}
	for (int bit = 16; bit < 32; bit++) { /* verbs.h has flags up to bit 12 */
		asked = small;
		asked.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		asked.create_flags = 1u << bit;
		if (!refused(k, &o, &asked, "an unknown create_flag"))
			return;
	}
	if (small.qp_type == IBV_QPT_XRC_RECV)
		xrc_recv(k, &o, &small);
}

SCENARIO(create_masks) = {
	{"masks", SUITE("create"), QPS("RC"), ARGS({"type", IBV_QPT_RC}),
	 CLAUSE("ibv_create_qp_ex/DESCRIPTION/comp_mask"), LEVEL("SHOULD"),
	 SAYS("a member without its bit of comp_mask counts for nothing, one of 0 asks for nothing, "
	      "and bits and flags that verbs.h does not have are refused")},
	{"masks", QPS("UC"), ARGS({"type", IBV_QPT_UC})},
	{"masks", QPS("UD"), ARGS({"type", IBV_QPT_UD})},
	{"masks", QPS("RAW_PACKET"), ARGS({"type", IBV_QPT_RAW_PACKET})},
	{"masks", QPS("XRC_SEND"), ARGS({"type", IBV_QPT_XRC_SEND})},
	{"recv-masks", ARGS({"type", IBV_QPT_XRC_RECV})},
	{},
};
