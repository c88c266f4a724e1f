// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ioctl_targets.h"
#include "kernel/newer_abi.h"

static struct ioc *build_invoke(void)
{
	static const struct ib_uverbs_query_port zero;
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	struct ib_uverbs_query_port cmd = zero;

	cmd.port_num = 1;
	ioc_const(i, UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_QUERY_PORT);
	ioc_in(i, UVERBS_ATTR_CORE_IN, &cmd, sizeof(cmd));
	ioc_out(i, UVERBS_ATTR_CORE_OUT, user_alloc(64), sizeof(struct ib_uverbs_query_port_resp));
	return i;
}

static struct ioc *build_info_handles(void)
{
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
	ioc_const(i, UVERBS_ATTR_INFO_OBJECT_ID, UVERBS_OBJECT_PD);
	ioc_out(i, UVERBS_ATTR_INFO_TOTAL_HANDLES, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_INFO_HANDLES_LIST, user_alloc(64), 16);
	return i;
}

static struct ioc *build_query_port(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);

	ioc_const(i, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	ioc_out(i, UVERBS_ATTR_QUERY_PORT_RESP, user_alloc(256), sizeof(struct ib_uverbs_query_port_resp_ex));
	return i;
}

static struct ioc *build_get_context(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);

	ioc_out(i, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, user_alloc(8), 8);
	ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_alloc_ucontext_resp));
	return i;
}

static struct ioc *build_query_context(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);

	ioc_out(i, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, user_alloc(8), 8);
	ioc_out(i, UVERBS_ID_DRIVER_NS, user_alloc(64), sizeof(struct hcasim_alloc_ucontext_resp));
	return i;
}

static struct ioc *build_gid_table(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);

	ioc_const(i, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, sizeof(struct ib_uverbs_gid_entry));
	ioc_in(i, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, &(uint32_t){0}, 4);
	ioc_out(i, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, user_alloc(512),
		8 * sizeof(struct ib_uverbs_gid_entry));
	ioc_out(i, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, user_alloc(8), 8);
	return i;
}

static struct ioc *build_gid_entry(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);

	ioc_const(i, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1);
	ioc_const(i, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 1);
	ioc_in(i, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, &(uint32_t){0}, 4);
	ioc_out(i, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, user_alloc(256),
		sizeof(struct ib_uverbs_gid_entry));
	return i;
}

static struct ioc *build_async(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);

	ioc_obj(i, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	return i;
}

static struct ioc *build_destroy(uint16_t object, uint16_t method, uint32_t handle)
{
	struct ioc *i = ioc_new(object, method);

	ioc_obj(i, 0, handle);
	return i;
}

static struct ioc *build_pd_destroy(void)
{
	CHECK_ERR(make_pd(), 0);
	return build_destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, w.pd);
}

static struct ioc *build_ah_destroy(void)
{
	static const uint8_t dgid[16] = {[10] = 0xff, 0xff, 10, 77, 0, 2};

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_ah(dgid, 1), 0);
	return build_destroy(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, w.ah);
}

static void prepare_mr(void)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_mr(w.arena, 8192, HCASIM_ACCESS_LOCAL_WRITE), 0);
}

static void prepare_mw(void)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_mw(1), 0);
}

static struct ioc *build_mr_destroy(void)
{
	prepare_mr();
	return build_destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, w.mr);
}

static struct ioc *build_mw_destroy(void)
{
	prepare_mw();
	return build_destroy(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, w.mw);
}

static struct ioc *build_query_mr(void)
{
	struct ioc *i;

	prepare_mr();
	i = ioc_new(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	ioc_obj(i, UVERBS_ATTR_QUERY_MR_HANDLE, w.mr);
	ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_LKEY, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_RKEY, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, user_alloc(8), 8);
	ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_IOVA, user_alloc(8), 8);
	return i;
}

static struct ioc *build_pd_query(void)
{
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	i = ioc_new(UVERBS_OBJECT_PD, UVERBS_ID_DRIVER_NS);
	ioc_obj(i, UVERBS_ID_DRIVER_NS, w.pd);
	ioc_out(i, UVERBS_ID_DRIVER_NS + 1, user_alloc(8), 4);
	return i;
}

static struct ioc *build_advise_mr(void)
{
	struct ib_uverbs_sge sge = {.addr = U(w.arena), .length = 1};
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_mr(w.arena, 4096, HCASIM_ACCESS_ON_DEMAND), 0);
	sge.lkey = w.lkey;
	i = ioc_new(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	ioc_obj(i, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, w.pd);
	ioc_const(i, UVERBS_ATTR_ADVISE_MR_ADVICE, 0);
	ioc_in(i, UVERBS_ATTR_ADVISE_MR_FLAGS, &(uint32_t){0}, 4);
	ioc_in(i, UVERBS_ATTR_ADVISE_MR_SGE_LIST, &sge, sizeof(sge));
	return i;
}

static struct ioc *build_cq_create(void)
{
	struct ioc *i;

	CHECK_ERR(make_channel(), 0);
	i = ioc_new(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	ioc_obj(i, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_CQE, &(uint32_t){100}, 4);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &(uint64_t){0xc0}, 8);
	ioc_obj(i, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, w.comp_fd);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &(uint32_t){1}, 4);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_FLAGS, &(uint32_t){IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION}, 4);
	ioc_out(i, UVERBS_ATTR_CREATE_CQ_RESP_CQE, user_alloc(8), 4);
	ioc_obj(i, UVERBS_ATTR_CREATE_CQ_EVENT_FD, w.async_fd);
	ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_create_cq_resp));
	return i;
}

static struct ioc *build_cq_destroy(void)
{
	struct ioc *i;

	CHECK_ERR(make_cq(16, -1), 0);
	i = ioc_new(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
	ioc_obj(i, UVERBS_ATTR_DESTROY_CQ_HANDLE, w.cq);
	ioc_out(i, UVERBS_ATTR_DESTROY_CQ_RESP, user_alloc(8), 8);
	return i;
}

static struct ioc *build_xrcd_destroy(void)
{
	CHECK_ERR(make_xrcd(-1, 0), 0);
	return build_destroy(UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, w.xrcd);
}

static struct ioc *build_srq_create(void)
{
	const struct hcasim_create_srq_req req = {.wqe_count = HCASIM_MAX_SRQ_WR, .stride = 32};
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	i = ioc_new(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	ioc_obj(i, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0);
	ioc_obj(i, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, w.pd);
	ioc_const(i, UVERBS_ATTR_CREATE_SRQ_TYPE, IB_UVERBS_SRQT_BASIC);
	ioc_in(i, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &(uint64_t){0x50}, 8);
	ioc_in(i, UVERBS_ATTR_CREATE_SRQ_MAX_WR, &(uint32_t){8}, 4);
	ioc_in(i, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &(uint32_t){1}, 4);
	ioc_in(i, UVERBS_ATTR_CREATE_SRQ_LIMIT, &(uint32_t){0}, 4);
	ioc_obj(i, UVERBS_ATTR_CREATE_SRQ_EVENT_FD, w.async_fd);
	ioc_out(i, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, user_alloc(8), 4);
	ioc_in(i, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_create_srq_resp));
	return i;
}

static struct ioc *build_srq_destroy(void)
{
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_srq(8, 0), 0);
	i = ioc_new(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY);
	ioc_obj(i, UVERBS_ATTR_DESTROY_SRQ_HANDLE, w.srq);
	ioc_out(i, UVERBS_ATTR_DESTROY_SRQ_RESP, user_alloc(8), 4);
	return i;
}

static struct ioc *build_wq_create(void)
{
	const struct hcasim_create_qp_req req = {.rq_wqe_count = 8, .rq_stride = 32};
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	i = ioc_new(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE);
	ioc_obj(i, UVERBS_ATTR_CREATE_WQ_HANDLE, 0);
	ioc_obj(i, UVERBS_ATTR_CREATE_WQ_PD_HANDLE, w.pd);
	ioc_obj(i, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, w.cq);
	ioc_const(i, UVERBS_ATTR_CREATE_WQ_TYPE, IB_UVERBS_WQT_RQ);
	ioc_in(i, UVERBS_ATTR_CREATE_WQ_USER_HANDLE, &(uint64_t){0x70}, 8);
	ioc_in(i, UVERBS_ATTR_CREATE_WQ_MAX_WR, &(uint32_t){8}, 4);
	ioc_in(i, UVERBS_ATTR_CREATE_WQ_MAX_SGE, &(uint32_t){1}, 4);
	ioc_in(i, UVERBS_ATTR_CREATE_WQ_FLAGS, &(uint32_t){0}, 4);
	ioc_obj(i, UVERBS_ATTR_CREATE_WQ_EVENT_FD, w.async_fd);
	ioc_out(i, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, user_alloc(8), 4);
	ioc_in(i, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_create_qp_resp));
	return i;
}

static struct ioc *build_wq_destroy(void)
{
	struct ioc *i;

	CHECK_ERR(make_wq(), 0);
	i = ioc_new(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY);
	ioc_obj(i, UVERBS_ATTR_DESTROY_WQ_HANDLE, w.wq);
	ioc_out(i, UVERBS_ATTR_DESTROY_WQ_RESP, user_alloc(8), 4);
	return i;
}

static struct ioc *build_table_destroy(void)
{
	CHECK_ERR(make_wq(), 0);
	CHECK_ERR(make_table(), 0);
	return build_destroy(UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, w.table);
}

static struct ioc *build_qp_create(void)
{
	const struct ib_uverbs_qp_cap cap = {8, 8, 2, 1, 32};
	const struct hcasim_create_qp_req req = {.sq_wqebb = 16, .rq_wqe_count = 8, .rq_stride = 32};
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	i = ioc_new(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	ioc_obj(i, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	ioc_obj(i, UVERBS_ATTR_CREATE_QP_PD_HANDLE, w.pd);
	ioc_obj(i, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, w.cq);
	ioc_obj(i, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, w.cq);
	ioc_in(i, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &(uint64_t){0xa0}, 8);
	ioc_in(i, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	ioc_const(i, UVERBS_ATTR_CREATE_QP_TYPE, IB_UVERBS_QPT_RC);
	ioc_in(i, UVERBS_ATTR_CREATE_QP_FLAGS, &(uint32_t){IB_UVERBS_QP_CREATE_SQ_SIG_ALL}, 4);
	ioc_obj(i, UVERBS_ATTR_CREATE_QP_EVENT_FD, w.async_fd);
	ioc_out(i, UVERBS_ATTR_CREATE_QP_RESP_CAP, user_alloc(64), sizeof(cap));
	ioc_out(i, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, user_alloc(8), 4);
	ioc_in(i, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_create_qp_resp));
	return i;
}

static struct ioc *build_qp_destroy(void)
{
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(make_qp(IB_UVERBS_QPT_RC), 0);
	i = ioc_new(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	ioc_obj(i, UVERBS_ATTR_DESTROY_QP_HANDLE, w.qp);
	ioc_out(i, UVERBS_ATTR_DESTROY_QP_RESP, user_alloc(8), 4);
	return i;
}

static struct ioc *build_flow_destroy(void)
{
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(make_qp(IB_UVERBS_QPT_RAW_PACKET), 0);
	CHECK_ERR(make_flow(), 0);
	i = ioc_new(UVERBS_OBJECT_FLOW, UVERBS_METHOD_FLOW_DESTROY);
	ioc_obj(i, UVERBS_ATTR_DESTROY_FLOW_HANDLE, w.flow);
	return i;
}

static struct ioc *build_dm_alloc(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);

	ioc_obj(i, UVERBS_ATTR_ALLOC_DM_HANDLE, 0);
	ioc_in(i, UVERBS_ATTR_ALLOC_DM_LENGTH, &(uint64_t){5000}, 8);
	ioc_in(i, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &(uint32_t){0}, 4);
	ioc_out(i, UVERBS_ID_DRIVER_NS, user_alloc(64), sizeof(struct hcasim_alloc_dm_resp));
	return i;
}

static struct ioc *build_dm_free(void)
{
	CHECK_ERR(make_dm(100, 0), 0);
	return build_destroy(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, w.dm);
}

static struct ioc *build_dm_query(void)
{
	struct ioc *i;

	CHECK_ERR(make_dm(100, 0), 0);
	i = ioc_new(UVERBS_OBJECT_DM, UVERBS_ID_DRIVER_NS);
	ioc_obj(i, UVERBS_ID_DRIVER_NS, w.dm);
	ioc_out(i, UVERBS_ID_DRIVER_NS + 1, user_alloc(64), sizeof(struct hcasim_alloc_dm_resp));
	return i;
}

static struct ioc *build_reg_dm_mr(void)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_dm(8192, 0), 0);
	return dm_mr_ioc(4, 8188, IB_UVERBS_ACCESS_ZERO_BASED);
}

static struct ioc *build_dmah_alloc(void)
{
	struct ioc *i = ioc_new(ABI_OBJECT_DMAH, ABI_METHOD_DMAH_ALLOC);

	ioc_obj(i, ABI_ATTR_ALLOC_DMAH_HANDLE, 0);
	ioc_in(i, ABI_ATTR_ALLOC_DMAH_PH, &(uint8_t){3}, 1);
	return i;
}

static struct ioc *build_dmah_free(void)
{
	struct ioc *i = build_dmah_alloc();

	CHECK_ERR(ioc_run(i), 0);
	return build_destroy(ABI_OBJECT_DMAH, ABI_METHOD_DMAH_FREE, i->attrs[0].data);
}

static struct ioc *build_reg_mr(void)
{
	struct ioc *dmah = build_dmah_alloc();

	CHECK_ERR(ioc_run(dmah), 0);
	CHECK_ERR(make_pd(), 0);
	return reg_mr_ioc(dmah->attrs[0].data, U(w.arena), 8192, 0);
}

static struct ioc *build_reg_dmabuf_mr(void)
{
	CHECK_ERR(make_pd(), 0);
	return dmabuf_ioc(4096, 8192, 0, dmabuf_fd(), 0);
}

static struct ioc *build_port_speed(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, ABI_METHOD_QUERY_PORT_SPEED);

	ioc_const(i, ABI_ATTR_QUERY_PORT_SPEED_PORT_NUM, 1);
	ioc_out(i, ABI_ATTR_QUERY_PORT_SPEED_RESP, user_alloc(8), 8);
	return i;
}

/* clang-format off */
const struct target targets[NUM_TARGETS] = {
	{"INVOKE_WRITE", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, build_invoke, 0, false, {
		{UVERBS_ATTR_WRITE_CMD, K_IN, MUST, 8},
		{UVERBS_ATTR_CORE_IN, K_IN, ANY, 4},
		{UVERBS_ATTR_CORE_OUT, K_OUT, ANY, 0}}},
	{"INFO_HANDLES", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES, build_info_handles, 0, false, {
		{UVERBS_ATTR_INFO_OBJECT_ID, K_IN, MUST, 8},
		{UVERBS_ATTR_INFO_TOTAL_HANDLES, K_OUT, 0, 4},
		{UVERBS_ATTR_INFO_HANDLES_LIST, K_OUT, ANY, 4}}},
	{"QUERY_PORT", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, build_query_port, 0, false, {
		{UVERBS_ATTR_QUERY_PORT_PORT_NUM, K_IN, MUST, 8},
		{UVERBS_ATTR_QUERY_PORT_RESP, K_OUT, MUST | STRUCT, 48}}},
	{"GET_CONTEXT", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, build_get_context, 0, true, {
		{UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, K_OUT, 0, 4},
		{UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, K_OUT, 0, 8},
		{UVERBS_ATTR_UHW_OUT, K_OUT, ANY, 0}}},
	{"QUERY_CONTEXT", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, build_query_context, 0, false, {
		{UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, K_OUT, 0, 4},
		{UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, K_OUT, 0, 8},
		{UVERBS_ID_DRIVER_NS, K_OUT, ANY, 0}}},
	{"QUERY_GID_TABLE", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, build_gid_table, 0, false, {
		{UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, K_IN, MUST, 8},
		{UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, K_IN, 0, 4},
		{UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, K_OUT, MUST | ANY, 0},
		{UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, K_OUT, MUST, 8}}},
	{"QUERY_GID_ENTRY", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, build_gid_entry, 0, false, {
		{UVERBS_ATTR_QUERY_GID_ENTRY_PORT, K_IN, MUST, 8},
		{UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, K_IN, MUST, 8},
		{UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, K_IN, MUST, 4},
		{UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, K_OUT, MUST | STRUCT, 32}}},
	{"ASYNC_EVENT_ALLOC", UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, build_async, 0, false, {
		{UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, K_NEW_FD, MUST, 0}}},
	{"PD_DESTROY", UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, build_pd_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_PD_HANDLE, K_HANDLE, MUST, 0}}},
	{"AH_DESTROY", UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, build_ah_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_AH_HANDLE, K_HANDLE, MUST, 0}}},
	{"MR_DESTROY", UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, build_mr_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_MR_HANDLE, K_HANDLE, MUST, 0}}},
	{"MW_DESTROY", UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, build_mw_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_MW_HANDLE, K_HANDLE, MUST, 0}}},
	{"QUERY_MR", UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, build_query_mr, 0, false, {
		{UVERBS_ATTR_QUERY_MR_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_QUERY_MR_RESP_LKEY, K_OUT, MUST, 4},
		{UVERBS_ATTR_QUERY_MR_RESP_RKEY, K_OUT, MUST, 4},
		{UVERBS_ATTR_QUERY_MR_RESP_LENGTH, K_OUT, MUST, 8},
		{UVERBS_ATTR_QUERY_MR_RESP_IOVA, K_OUT, 0, 8}}},
	{"PD_QUERY", UVERBS_OBJECT_PD, UVERBS_ID_DRIVER_NS, build_pd_query, 0, false, {
		{UVERBS_ID_DRIVER_NS, K_HANDLE, MUST, 0},
		{UVERBS_ID_DRIVER_NS + 1, K_OUT, MUST, 4}}},
	{"ADVISE_MR", UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, build_advise_mr, 0, false, {
		{UVERBS_ATTR_ADVISE_MR_PD_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_ADVISE_MR_ADVICE, K_IN, MUST, 8},
		{UVERBS_ATTR_ADVISE_MR_FLAGS, K_IN, MUST, 4},
		{UVERBS_ATTR_ADVISE_MR_SGE_LIST, K_IN, MUST | ANY, 16}}},
	{"CQ_CREATE", UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, build_cq_create, 0, false, {
		{UVERBS_ATTR_CREATE_CQ_HANDLE, K_NEW, MUST, 0},
		{UVERBS_ATTR_CREATE_CQ_CQE, K_IN, MUST, 4},
		{UVERBS_ATTR_CREATE_CQ_USER_HANDLE, K_IN, MUST, 8},
		{UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, K_FD, 0, 0},
		{UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, K_IN, MUST, 4},
		{UVERBS_ATTR_CREATE_CQ_FLAGS, K_IN, 0, 4},
		{UVERBS_ATTR_CREATE_CQ_RESP_CQE, K_OUT, MUST, 4},
		{UVERBS_ATTR_CREATE_CQ_EVENT_FD, K_FD, 0, 0},
		{UVERBS_ATTR_UHW_OUT, K_OUT, ANY, 0}}},
	{"CQ_DESTROY", UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, build_cq_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_CQ_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_DESTROY_CQ_RESP, K_OUT, MUST, 8}}},
	{"XRCD_DESTROY", UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, build_xrcd_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_XRCD_HANDLE, K_HANDLE, MUST, 0}}},
	{"SRQ_CREATE", UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, build_srq_create, 0, false, {
		{UVERBS_ATTR_CREATE_SRQ_HANDLE, K_NEW, MUST, 0},
		{UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_CREATE_SRQ_TYPE, K_IN, MUST, 8},
		{UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, K_IN, MUST, 8},
		{UVERBS_ATTR_CREATE_SRQ_MAX_WR, K_IN, MUST, 4},
		{UVERBS_ATTR_CREATE_SRQ_MAX_SGE, K_IN, MUST, 4},
		{UVERBS_ATTR_CREATE_SRQ_LIMIT, K_IN, MUST, 4},
		{UVERBS_ATTR_CREATE_SRQ_EVENT_FD, K_FD, 0, 0},
		{UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, K_OUT, MUST, 4},
		{UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, K_OUT, MUST, 4},
		{UVERBS_ATTR_UHW_IN, K_IN, ANY, 0},
		{UVERBS_ATTR_UHW_OUT, K_OUT, ANY, 0}}},
	{"SRQ_DESTROY", UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, build_srq_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_SRQ_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_DESTROY_SRQ_RESP, K_OUT, MUST, 4}}},
	{"QP_CREATE", UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, build_qp_create, 0, false, {
		{UVERBS_ATTR_CREATE_QP_HANDLE, K_NEW, MUST, 0},
		{UVERBS_ATTR_CREATE_QP_PD_HANDLE, K_HANDLE, 0, 0},
		{UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, K_HANDLE, 0, 0},
		{UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, K_HANDLE, 0, 0},
		{UVERBS_ATTR_CREATE_QP_USER_HANDLE, K_IN, MUST, 8},
		{UVERBS_ATTR_CREATE_QP_CAP, K_IN, MUST | STRUCT, 20},
		{UVERBS_ATTR_CREATE_QP_TYPE, K_IN, MUST, 8},
		{UVERBS_ATTR_CREATE_QP_FLAGS, K_IN, 0, 4},
		{UVERBS_ATTR_CREATE_QP_EVENT_FD, K_FD, 0, 0},
		{UVERBS_ATTR_CREATE_QP_RESP_CAP, K_OUT, MUST | STRUCT, 20},
		{UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, K_OUT, MUST, 4},
		{UVERBS_ATTR_UHW_IN, K_IN, ANY, 0},
		{UVERBS_ATTR_UHW_OUT, K_OUT, ANY, 0}}},
	{"QP_DESTROY", UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, build_qp_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_QP_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_DESTROY_QP_RESP, K_OUT, MUST, 4}}},
	{"FLOW_DESTROY", UVERBS_OBJECT_FLOW, UVERBS_METHOD_FLOW_DESTROY, build_flow_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_FLOW_HANDLE, K_HANDLE, MUST, 0}}},
	{"WQ_CREATE", UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, build_wq_create, 0, false, {
		{UVERBS_ATTR_CREATE_WQ_HANDLE, K_NEW, MUST, 0},
		{UVERBS_ATTR_CREATE_WQ_PD_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_CREATE_WQ_TYPE, K_IN, MUST, 8},
		{UVERBS_ATTR_CREATE_WQ_USER_HANDLE, K_IN, MUST, 8},
		{UVERBS_ATTR_CREATE_WQ_MAX_WR, K_IN, MUST, 4},
		{UVERBS_ATTR_CREATE_WQ_MAX_SGE, K_IN, MUST, 4},
		{UVERBS_ATTR_CREATE_WQ_FLAGS, K_IN, MUST, 4},
		{UVERBS_ATTR_CREATE_WQ_EVENT_FD, K_FD, 0, 0},
		{UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, K_OUT, MUST, 4},
		{UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, K_OUT, MUST, 4},
		{UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, K_OUT, 0, 4},
		{UVERBS_ATTR_UHW_IN, K_IN, ANY, 0},
		{UVERBS_ATTR_UHW_OUT, K_OUT, ANY, 0}}},
	{"WQ_DESTROY", UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY, build_wq_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_WQ_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_DESTROY_WQ_RESP, K_OUT, MUST, 4}}},
	{"RWQ_IND_TBL_DESTROY", UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, build_table_destroy, 0,
	 false, {{UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE, K_HANDLE, MUST, 0}}},
	{"DM_ALLOC", UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, build_dm_alloc, 0, false, {
		{UVERBS_ATTR_ALLOC_DM_HANDLE, K_NEW, MUST, 0},
		{UVERBS_ATTR_ALLOC_DM_LENGTH, K_IN, MUST, 8},
		{UVERBS_ATTR_ALLOC_DM_ALIGNMENT, K_IN, MUST, 4},
		{UVERBS_ID_DRIVER_NS, K_OUT, MUST | ANY, 0}}},
	{"DM_FREE", UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, build_dm_free, 0, false, {
		{UVERBS_ATTR_FREE_DM_HANDLE, K_HANDLE, MUST, 0}}},
	{"DM_QUERY", UVERBS_OBJECT_DM, UVERBS_ID_DRIVER_NS, build_dm_query, 0, false, {
		{UVERBS_ID_DRIVER_NS, K_HANDLE, MUST, 0},
		{UVERBS_ID_DRIVER_NS + 1, K_OUT, MUST | ANY, 0}}},
	{"DM_MR_REG", UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, build_reg_dm_mr, 0, false, {
		{UVERBS_ATTR_REG_DM_MR_HANDLE, K_NEW, MUST, 0},
		{UVERBS_ATTR_REG_DM_MR_OFFSET, K_IN, MUST, 8},
		{UVERBS_ATTR_REG_DM_MR_LENGTH, K_IN, MUST, 8},
		{UVERBS_ATTR_REG_DM_MR_PD_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, K_IN, MUST, 4},
		{UVERBS_ATTR_REG_DM_MR_DM_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_REG_DM_MR_RESP_LKEY, K_OUT, MUST, 4},
		{UVERBS_ATTR_REG_DM_MR_RESP_RKEY, K_OUT, MUST, 4}}},
	{"DMAH_ALLOC", ABI_OBJECT_DMAH, ABI_METHOD_DMAH_ALLOC, build_dmah_alloc, 0, false, {
		{ABI_ATTR_ALLOC_DMAH_HANDLE, K_NEW, MUST, 0},
		{ABI_ATTR_ALLOC_DMAH_PH, K_IN, 0, 1}}},
	{"DMAH_FREE", ABI_OBJECT_DMAH, ABI_METHOD_DMAH_FREE, build_dmah_free, 0, false, {
		{ABI_ATTR_FREE_DMAH_HANDLE, K_HANDLE, MUST, 0}}},
	{"REG_MR", UVERBS_OBJECT_MR, ABI_METHOD_REG_MR, build_reg_mr, 0, false, {
		{ABI_ATTR_REG_MR_HANDLE, K_NEW, MUST, 0},
		{ABI_ATTR_REG_MR_PD_HANDLE, K_HANDLE, MUST, 0},
		{ABI_ATTR_REG_MR_DMA_HANDLE, K_HANDLE, 0, 0},
		{ABI_ATTR_REG_MR_IOVA, K_IN, MUST, 8},
		{ABI_ATTR_REG_MR_ADDR, K_IN, 0, 8},
		{ABI_ATTR_REG_MR_LENGTH, K_IN, MUST, 8},
		{ABI_ATTR_REG_MR_ACCESS_FLAGS, K_IN, MUST, 4},
		{ABI_ATTR_REG_MR_RESP_LKEY, K_OUT, MUST, 4},
		{ABI_ATTR_REG_MR_RESP_RKEY, K_OUT, MUST, 4}}},
	{"REG_DMABUF_MR", UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, build_reg_dmabuf_mr, 0, false, {
		{UVERBS_ATTR_REG_DMABUF_MR_HANDLE, K_NEW, MUST, 0},
		{UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_REG_DMABUF_MR_OFFSET, K_IN, MUST, 8},
		{UVERBS_ATTR_REG_DMABUF_MR_LENGTH, K_IN, MUST, 8},
		{UVERBS_ATTR_REG_DMABUF_MR_IOVA, K_IN, MUST, 8},
		{UVERBS_ATTR_REG_DMABUF_MR_FD, K_IN, MUST, 4},
		{UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, K_IN, MUST, 4},
		{UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, K_OUT, MUST, 4},
		{UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, K_OUT, MUST, 4}}},
	{"QUERY_PORT_SPEED", UVERBS_OBJECT_DEVICE, ABI_METHOD_QUERY_PORT_SPEED, build_port_speed, 0, false, {
		{ABI_ATTR_QUERY_PORT_SPEED_PORT_NUM, K_IN, MUST, 8},
		{ABI_ATTR_QUERY_PORT_SPEED_RESP, K_OUT, MUST, 8}}},
};
/* clang-format on */
