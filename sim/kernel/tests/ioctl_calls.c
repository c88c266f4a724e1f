// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A good call of each ioctl method, with the objects that it needs. */
#include "ioctl_calls.h"
#include "kernel/newer_abi.h"

struct ioc *build_invoke(void)
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

struct ioc *build_info_handles(void)
{
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
	ioc_const(i, UVERBS_ATTR_INFO_OBJECT_ID, UVERBS_OBJECT_PD);
	ioc_out(i, UVERBS_ATTR_INFO_TOTAL_HANDLES, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_INFO_HANDLES_LIST, user_alloc(64), 16);
	return i;
}

struct ioc *build_query_port(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);

	ioc_const(i, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	ioc_out(i, UVERBS_ATTR_QUERY_PORT_RESP, user_alloc(256), sizeof(struct ib_uverbs_query_port_resp_ex));
	return i;
}

struct ioc *build_get_context(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);

	ioc_out(i, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, user_alloc(8), 8);
	ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_alloc_ucontext_resp));
	return i;
}

struct ioc *build_query_context(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);

	ioc_out(i, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, user_alloc(8), 8);
	ioc_out(i, UVERBS_ID_DRIVER_NS, user_alloc(64), sizeof(struct hcasim_alloc_ucontext_resp));
	return i;
}

struct ioc *build_gid_table(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);

	ioc_const(i, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, sizeof(struct ib_uverbs_gid_entry));
	ioc_in(i, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, &(uint32_t){0}, 4);
	ioc_out(i, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, user_alloc(512),
		8 * sizeof(struct ib_uverbs_gid_entry));
	ioc_out(i, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, user_alloc(8), 8);
	return i;
}

struct ioc *build_gid_entry(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);

	ioc_const(i, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1);
	ioc_const(i, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 1);
	ioc_in(i, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, &(uint32_t){0}, 4);
	ioc_out(i, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, user_alloc(256),
		sizeof(struct ib_uverbs_gid_entry));
	return i;
}

struct ioc *build_async(void)
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

struct ioc *build_pd_destroy(void)
{
	CHECK_ERR(make_pd(), 0);
	return build_destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, w.pd);
}

struct ioc *build_ah_destroy(void)
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

struct ioc *build_mr_destroy(void)
{
	prepare_mr();
	return build_destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, w.mr);
}

struct ioc *build_mw_destroy(void)
{
	prepare_mw();
	return build_destroy(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, w.mw);
}

struct ioc *build_query_mr(void)
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

struct ioc *build_pd_query(void)
{
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	i = ioc_new(UVERBS_OBJECT_PD, UVERBS_ID_DRIVER_NS);
	ioc_obj(i, UVERBS_ID_DRIVER_NS, w.pd);
	ioc_out(i, UVERBS_ID_DRIVER_NS + 1, user_alloc(8), 4);
	return i;
}

struct ioc *build_advise_mr(void)
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

struct ioc *build_cq_create(void)
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

struct ioc *build_cq_destroy(void)
{
	struct ioc *i;

	CHECK_ERR(make_cq(16, -1), 0);
	i = ioc_new(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
	ioc_obj(i, UVERBS_ATTR_DESTROY_CQ_HANDLE, w.cq);
	ioc_out(i, UVERBS_ATTR_DESTROY_CQ_RESP, user_alloc(8), 8);
	return i;
}

struct ioc *build_xrcd_destroy(void)
{
	CHECK_ERR(make_xrcd(-1, 0), 0);
	return build_destroy(UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, w.xrcd);
}

struct ioc *build_srq_create(void)
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

struct ioc *build_srq_destroy(void)
{
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_srq(8, 0), 0);
	i = ioc_new(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY);
	ioc_obj(i, UVERBS_ATTR_DESTROY_SRQ_HANDLE, w.srq);
	ioc_out(i, UVERBS_ATTR_DESTROY_SRQ_RESP, user_alloc(8), 4);
	return i;
}

struct ioc *build_wq_create(void)
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

struct ioc *build_wq_destroy(void)
{
	struct ioc *i;

	CHECK_ERR(make_wq(), 0);
	i = ioc_new(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY);
	ioc_obj(i, UVERBS_ATTR_DESTROY_WQ_HANDLE, w.wq);
	ioc_out(i, UVERBS_ATTR_DESTROY_WQ_RESP, user_alloc(8), 4);
	return i;
}

struct ioc *build_table_destroy(void)
{
	CHECK_ERR(make_wq(), 0);
	CHECK_ERR(make_table(), 0);
	return build_destroy(UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, w.table);
}

struct ioc *build_qp_create(void)
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

struct ioc *build_qp_destroy(void)
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

struct ioc *build_flow_destroy(void)
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

struct ioc *build_dm_alloc(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);

	ioc_obj(i, UVERBS_ATTR_ALLOC_DM_HANDLE, 0);
	ioc_in(i, UVERBS_ATTR_ALLOC_DM_LENGTH, &(uint64_t){5000}, 8);
	ioc_in(i, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &(uint32_t){0}, 4);
	ioc_out(i, UVERBS_ID_DRIVER_NS, user_alloc(64), sizeof(struct hcasim_alloc_dm_resp));
	return i;
}

struct ioc *build_dm_free(void)
{
	CHECK_ERR(make_dm(100, 0), 0);
	return build_destroy(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, w.dm);
}

struct ioc *build_dm_query(void)
{
	struct ioc *i;

	CHECK_ERR(make_dm(100, 0), 0);
	i = ioc_new(UVERBS_OBJECT_DM, UVERBS_ID_DRIVER_NS);
	ioc_obj(i, UVERBS_ID_DRIVER_NS, w.dm);
	ioc_out(i, UVERBS_ID_DRIVER_NS + 1, user_alloc(64), sizeof(struct hcasim_alloc_dm_resp));
	return i;
}

struct ioc *build_reg_dm_mr(void)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_dm(8192, 0), 0);
	return dm_mr_ioc(4, 8188, IB_UVERBS_ACCESS_ZERO_BASED);
}

struct ioc *build_dmah_alloc(void)
{
	struct ioc *i = ioc_new(ABI_OBJECT_DMAH, ABI_METHOD_DMAH_ALLOC);

	ioc_obj(i, ABI_ATTR_ALLOC_DMAH_HANDLE, 0);
	ioc_in(i, ABI_ATTR_ALLOC_DMAH_PH, &(uint8_t){3}, 1);
	return i;
}

struct ioc *build_dmah_free(void)
{
	struct ioc *i = build_dmah_alloc();

	CHECK_ERR(ioc_run(i), 0);
	return build_destroy(ABI_OBJECT_DMAH, ABI_METHOD_DMAH_FREE, i->attrs[0].data);
}

struct ioc *build_reg_mr(void)
{
	struct ioc *dmah = build_dmah_alloc();

	CHECK_ERR(ioc_run(dmah), 0);
	CHECK_ERR(make_pd(), 0);
	return reg_mr_ioc(dmah->attrs[0].data, U(w.arena), 8192, 0);
}

struct ioc *build_reg_dmabuf_mr(void)
{
	CHECK_ERR(make_pd(), 0);
	return dmabuf_ioc(4096, 8192, 0, dmabuf_fd(), 0);
}

struct ioc *build_port_speed(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, ABI_METHOD_QUERY_PORT_SPEED);

	ioc_const(i, ABI_ATTR_QUERY_PORT_SPEED_PORT_NUM, 1);
	ioc_out(i, ABI_ATTR_QUERY_PORT_SPEED_RESP, user_alloc(8), 8);
	return i;
}

struct ioc *build_comp_cntr_caps(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, ABI_METHOD_QUERY_COMP_CNTR_CAPS);

	ioc_out(i, ABI_ATTR_COMP_CNTR_CAPS_MAX_COUNTERS, user_alloc(8), 4);
	ioc_out(i, ABI_ATTR_COMP_CNTR_CAPS_MAX_VALUE, user_alloc(8), 8);
	ioc_out(i, ABI_ATTR_COMP_CNTR_CAPS_ATTACH_OPS, user_alloc(8), 4);
	return i;
}

struct ioc *build_comp_cntr_create(void)
{
	return comp_cntr_ioc(HCA_COMP_TYPE_WRS);
}

static uint32_t made_comp_cntr(void)
{
	struct ioc *i = build_comp_cntr_create();

	CHECK_ERR(ioc_run(i), 0);
	return i->attrs[0].data;
}

struct ioc *build_comp_cntr_destroy(void)
{
	return build_destroy(ABI_OBJECT_COMP_CNTR, ABI_METHOD_COMP_CNTR_DESTROY, made_comp_cntr());
}

struct ioc *build_comp_cntr_modify(void)
{
	return comp_cntr_modify_ioc(made_comp_cntr(), HCA_COMP_ENTRY_COMP, ABI_COMP_CNTR_OP_SET, 5);
}

struct ioc *build_comp_cntr_read(void)
{
	return comp_cntr_read_ioc(made_comp_cntr(), HCA_COMP_ENTRY_COMP, user_alloc(8));
}

struct ioc *build_qp_attach_comp_cntr(void)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(make_qp(HCASIM_QPT_RC), 0);
	return comp_cntr_attach_ioc(w.qp, made_comp_cntr(), 1u << HCA_COMP_SEND);
}
