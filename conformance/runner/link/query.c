/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "cell/names.h"
#include "remote/remote.h"
#include "link/query.h"

#include <hcasim_verbs.h>

#define TRY_INLINE 128 /* the size that cells ask for */
#define TSO_HEADER 64

/* Attributes that imply operations, by the names that the DUT files use. */
static const struct {
	const char *name;
	uint64_t any; /* device_cap_flags_ex */
} attributes[] = {
	{"MEM_WINDOW_TYPE_1", IBV_DEVICE_MEM_WINDOW},
	{"MEM_WINDOW_TYPE_2", IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B},
	{"MEM_MGT_EXTENSIONS", IBV_DEVICE_MEM_MGT_EXTENSIONS},
	{"XRC", IBV_DEVICE_XRC},
	{"FLUSH", IB_UVERBS_DEVICE_FLUSH_GLOBAL | IB_UVERBS_DEVICE_FLUSH_PERSISTENT},
	{"ATOMIC_WRITE", IB_UVERBS_DEVICE_ATOMIC_WRITE},
	{"UD_IP_CSUM", IBV_DEVICE_UD_IP_CSUM},
	{"RC_IP_CSUM", IBV_DEVICE_RC_IP_CSUM},
	{"RAW_IP_CSUM", IBV_DEVICE_RAW_IP_CSUM},
};

/* ibv_import_device(3): no attribute tells. */
static bool can_import(const struct ibv_context *ctx)
{
	const int fd = dup(ctx->cmd_fd);
	struct ibv_context *imported = ibv_import_device(fd);

	if (!imported && fd >= 0)
		close(fd);
	if (imported)
		ibv_close_device(imported);
	return imported;
}

static json_t *list_attributes(const struct ibv_context *ctx, const struct ibv_device_attr_ex *attr)
{
	uint64_t flags = attr->device_cap_flags_ex | (unsigned int)attr->orig_attr.device_cap_flags;
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (flags & attributes[i].any)
			json_array_append_new(list, json_string(attributes[i].name));
	if (attr->orig_attr.atomic_cap != IBV_ATOMIC_NONE)
		json_array_append_new(list, json_string("ATOMICS"));
	if (attr->orig_attr.max_srq > 0)
		json_array_append_new(list, json_string("SRQ"));
	if (attr->max_dm_size)
		json_array_append_new(list, json_string("DEVICE_MEMORY"));
	if (attr->tm_caps.flags & IBV_TM_CAP_RC)
		json_array_append_new(list, json_string("TAG_MATCHING"));
	if (attr->max_wq_type_rq && attr->rss_caps.supported_qpts & 1u << IBV_QPT_RAW_PACKET)
		json_array_append_new(list, json_string("WORK_QUEUES"));
	if (attr->tso_caps.max_tso)
		json_array_append_new(list, json_string("TSO"));
	if (can_import(ctx))
		json_array_append_new(list, json_string("IMPORT"));
	return list;
}

/* On-demand paging: operations of a transport that support it, by the names that the DUT files use. */
static json_t *list_on_demand(uint32_t caps)
{
	static const struct {
		const char *name;
		uint32_t bit;
	} ops[] = {
		{"SEND", HCASIM_ODP_OP_SEND},     {"RECV", HCASIM_ODP_OP_RECV},
		{"WRITE", HCASIM_ODP_OP_WRITE},   {"READ", HCASIM_ODP_OP_READ},
		{"ATOMIC", HCASIM_ODP_OP_ATOMIC}, {"SRQ_RECV", HCASIM_ODP_OP_SRQ_RECV},
		{"FLUSH", HCASIM_ODP_OP_FLUSH},   {"ATOMIC_WRITE", HCASIM_ODP_OP_ATOMIC_WRITE},
	};
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (caps & ops[i].bit)
			json_array_append_new(list, json_string(ops[i].name));
	return list;
}

static json_t *all_on_demand(const struct ibv_device_attr_ex *attr)
{
	const struct ibv_odp_caps *caps = &attr->odp_caps;

	return json_pack("{s:o, s:o, s:o, s:o}", "RC", list_on_demand(caps->per_transport_caps.rc_odp_caps),
			 "UC", list_on_demand(caps->per_transport_caps.uc_odp_caps), "UD",
			 list_on_demand(caps->per_transport_caps.ud_odp_caps), "XRC_SEND",
			 list_on_demand(attr->xrc_odp_caps));
}

/* Creates a QP as cells do. 0 or an errno; `granted`: inline bytes. */
static int try_qp(const struct end *end, struct ibv_cq *cq, enum ibv_qp_type type, uint64_t ops,
		  uint32_t *granted)
{
	bool xrc = type == IBV_QPT_XRC_SEND;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {1, xrc ? 0 : 1, 1, xrc ? 0 : 1, *granted},
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = end->pd,
		.send_ops_flags = ops,
	};
	struct ibv_qp *qp;

	if (ops & IBV_QP_EX_WITH_TSO) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
		attr.max_tso_header = TSO_HEADER;
	}
	qp = ibv_create_qp_ex(end->ctx, &attr);
	if (!qp)
		return errno_of_failure();
	*granted = attr.cap.max_inline_data;
	ibv_destroy_qp(qp);
	return 0;
}

/* Operations that ibv_create_qp_ex() grants in send_ops_flags, one at a time. */
static json_t *list_operations(const struct end *end, struct ibv_cq *cq, enum ibv_qp_type type)
{
	json_t *list = json_array();

	for (const struct name *op = send_ops_names; op->name; op++) {
		uint32_t none = 0;

		if (!try_qp(end, cq, type, op->value, &none))
			json_array_append_new(list, json_string(op->name));
	}
	return list;
}

/* Inline bytes granted to an RC QP (to any QP if there is no RC) that asks for as many as cells do. */
static uint32_t inline_bytes(const struct end *end, struct ibv_cq *cq)
{
	for (const struct name *type = qpt_names; type->name; type++) {
		uint32_t granted = TRY_INLINE;

		if (!try_qp(end, cq, type->value, IBV_QP_EX_WITH_SEND, &granted))
			return granted;
	}
	return 0;
}

static json_t *all_operations(const struct end *end, struct ibv_cq *cq)
{
	json_t *operations = json_object();

	for (const struct name *type = qpt_names; type->name && cq; type++) {
		json_t *list = list_operations(end, cq, type->value);

		if (json_array_size(list))
			json_object_set(operations, type->name, list);
		json_decref(list);
	}
	return operations;
}

json_t *query_end(const struct end *end)
{
	struct ibv_device_attr_ex attr = {};
	struct ibv_cq *cq = ibv_create_cq(end->ctx, 1, NULL, NULL, 0);
	char gid[INET6_ADDRSTRLEN];
	json_t *answer;

	if (ibv_query_device_ex(end->ctx, NULL, &attr))
		attr.orig_attr = end->attr;
	inet_ntop(AF_INET6, end->gid.raw, gid, sizeof(gid));
	answer = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:{s:i, s:I}}", "device", end->device, "fw_ver",
			   attr.orig_attr.fw_ver, "gid", gid, "operations", all_operations(end, cq),
			   "attributes", list_attributes(end->ctx, &attr), "on_demand", all_on_demand(&attr),
			   "limits", "max_sge", attr.orig_attr.max_sge, "max_inline_data",
			   (json_int_t)(cq ? inline_bytes(end, cq) : 0));
	if (cq)
		ibv_destroy_cq(cq);
	return answer;
}

json_t *query_dut(const struct dut *dut)
{
	struct utsname name = {};
	json_t *responder;

	uname(&name);
	responder = dut->remote ? remote_query() : query_end(&dut->responder);
	return json_pack("{s:s, s:o, s:o*}", "kernel", name.release, "requester", query_end(&dut->requester),
			 "responder", responder);
}
