// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of the kernel's ioctl methods. Objects that this driver has no functions for (counters) are missing, since the
 * kernel removes them: EPROTONOSUPPORT.
 */
#include "kernel/uverbs/ioctl.h"
#include "kernel/newer_abi.h"

#define OBJ(name) UVERBS_OBJECT_##name

static const struct attr_spec invoke_write[] = {
	CONST_IN(UVERBS_ATTR_WRITE_CMD, M_),
	IN_MIN(UVERBS_ATTR_CORE_IN, sizeof(uint32_t), O_),
	OUT_MIN(UVERBS_ATTR_CORE_OUT, 0, O_),
	UHW,
};
static const struct attr_spec info_handles[] = {
	CONST_IN(UVERBS_ATTR_INFO_OBJECT_ID, M_),
	OUT(UVERBS_ATTR_INFO_TOTAL_HANDLES, sizeof(uint32_t), O_),
	OUT_MIN(UVERBS_ATTR_INFO_HANDLES_LIST, sizeof(uint32_t), O_),
};
static const struct attr_spec query_port[] = {
	CONST_IN(UVERBS_ATTR_QUERY_PORT_PORT_NUM, M_),
	STRUCT_OUT(UVERBS_ATTR_QUERY_PORT_RESP, struct ib_uverbs_query_port_resp_ex, active_speed_ex, M_),
};
static const struct attr_spec get_context[] = {
	OUT(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, sizeof(uint32_t), O_),
	OUT(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, sizeof(uint64_t), O_),
	IN_MIN(ABI_ATTR_GET_CONTEXT_FD_ARR, sizeof(int), O_ | ATTR_COPY),
	UHW,
};
static const struct attr_spec query_context[] = {
	OUT(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, sizeof(uint32_t), O_),
	OUT(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, sizeof(uint64_t), O_),
	/* The driver's attribute: its response to alloc_ucontext. */
	OUT_MIN(UVERBS_ID_DRIVER_NS, 0, O_),
};
static const struct attr_spec query_gid_table[] = {
	CONST_IN(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, M_),
	FLAGS_IN(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, O_),
	OUT_MIN(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, 0, M_),
	OUT(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, sizeof(uint64_t), M_),
};
static const struct attr_spec query_gid_entry[] = {
	CONST_IN(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, M_),
	CONST_IN(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, M_),
	FLAGS_IN(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, M_),
	STRUCT_OUT(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, struct ib_uverbs_gid_entry, netdev_ifindex, M_),
};
static const struct attr_spec async_event_alloc[] = {
	FD(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, OBJ(ASYNC_EVENT), ACCESS_NEW, M_),
};
static const struct attr_spec pd_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_PD_HANDLE, OBJ(PD), ACCESS_DESTROY, M_)};
static const struct attr_spec ah_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_AH_HANDLE, OBJ(AH), ACCESS_DESTROY, M_)};
static const struct attr_spec mr_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_MR_HANDLE, OBJ(MR), ACCESS_DESTROY, M_)};
static const struct attr_spec mw_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_MW_HANDLE, OBJ(MW), ACCESS_DESTROY, M_)};
static const struct attr_spec query_mr[] = {
	IDR(UVERBS_ATTR_QUERY_MR_HANDLE, OBJ(MR), ACCESS_READ, M_),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_RKEY, sizeof(uint32_t), M_),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_LKEY, sizeof(uint32_t), M_),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, sizeof(uint64_t), M_),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_IOVA, sizeof(uint64_t), O_),
};
static const struct attr_spec dm_alloc[] = {
	IDR(UVERBS_ATTR_ALLOC_DM_HANDLE, OBJ(DM), ACCESS_NEW, M_),
	IN(UVERBS_ATTR_ALLOC_DM_LENGTH, sizeof(uint64_t), M_),
	IN(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, sizeof(uint32_t), M_),
	/* The driver's attribute: where to map the memory. */
	OUT_MIN(DM_ALLOC_RESP, 0, M_),
};
static const struct attr_spec dm_free[] = {IDR(UVERBS_ATTR_FREE_DM_HANDLE, OBJ(DM), ACCESS_DESTROY, M_)};
static const struct attr_spec reg_dm_mr[] = {
	IDR(UVERBS_ATTR_REG_DM_MR_HANDLE, OBJ(MR), ACCESS_NEW, M_),
	IN(UVERBS_ATTR_REG_DM_MR_OFFSET, sizeof(uint64_t), M_),
	IN(UVERBS_ATTR_REG_DM_MR_LENGTH, sizeof(uint64_t), M_),
	IDR(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, OBJ(PD), ACCESS_READ, M_),
	FLAGS_IN(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, M_),
	IDR(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, OBJ(DM), ACCESS_READ, M_),
	OUT(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, sizeof(uint32_t), M_),
	OUT(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, sizeof(uint32_t), M_),
};
static const struct attr_spec dmah_alloc[] = {
	IDR(ABI_ATTR_ALLOC_DMAH_HANDLE, ABI_OBJECT_DMAH, ACCESS_NEW, M_),
	IN(ABI_ATTR_ALLOC_DMAH_CPU_ID, sizeof(uint32_t), O_),
	ENUM_IN(ABI_ATTR_ALLOC_DMAH_TPH_MEM_TYPE, 2, O_), /* volatile, persistent */
	IN(ABI_ATTR_ALLOC_DMAH_PH, sizeof(uint8_t), O_),
};
static const struct attr_spec dmah_free[] = {
	IDR(ABI_ATTR_FREE_DMAH_HANDLE, ABI_OBJECT_DMAH, ACCESS_DESTROY, M_)};
static const struct attr_spec reg_mr[] = {
	IDR(ABI_ATTR_REG_MR_HANDLE, OBJ(MR), ACCESS_NEW, M_),
	IDR(ABI_ATTR_REG_MR_PD_HANDLE, OBJ(PD), ACCESS_READ, M_),
	IDR(ABI_ATTR_REG_MR_DMA_HANDLE, ABI_OBJECT_DMAH, ACCESS_READ, O_),
	IN(ABI_ATTR_REG_MR_IOVA, sizeof(uint64_t), M_),
	IN(ABI_ATTR_REG_MR_ADDR, sizeof(uint64_t), O_),
	IN(ABI_ATTR_REG_MR_LENGTH, sizeof(uint64_t), M_),
	FLAGS_IN(ABI_ATTR_REG_MR_ACCESS_FLAGS, M_),
	RAW_FD(ABI_ATTR_REG_MR_FD, O_),
	IN(ABI_ATTR_REG_MR_FD_OFFSET, sizeof(uint64_t), O_),
	OUT(ABI_ATTR_REG_MR_RESP_LKEY, sizeof(uint32_t), M_),
	OUT(ABI_ATTR_REG_MR_RESP_RKEY, sizeof(uint32_t), M_),
	UHW,
};
static const struct attr_spec query_port_speed[] = {
	CONST_IN(ABI_ATTR_QUERY_PORT_SPEED_PORT_NUM, M_),
	OUT(ABI_ATTR_QUERY_PORT_SPEED_RESP, sizeof(uint64_t), M_),
};
static const struct attr_spec query_comp_cntr_caps[] = {
	OUT(ABI_ATTR_COMP_CNTR_CAPS_MAX_COUNTERS, sizeof(uint32_t), O_),
	OUT(ABI_ATTR_COMP_CNTR_CAPS_MAX_VALUE, sizeof(uint64_t), O_),
	OUT(ABI_ATTR_COMP_CNTR_CAPS_ATTACH_OPS, sizeof(uint32_t), O_),
};
static const struct attr_spec comp_cntr_create[] = {
	IDR(ABI_ATTR_CREATE_COMP_CNTR_HANDLE, ABI_OBJECT_COMP_CNTR, ACCESS_NEW, M_),
	IN(COMP_CNTR_TYPE, sizeof(uint32_t), O_),
};
static const struct attr_spec comp_cntr_destroy[] = {
	IDR(ABI_ATTR_DESTROY_COMP_CNTR_HANDLE, ABI_OBJECT_COMP_CNTR, ACCESS_DESTROY, M_)};
static const struct attr_spec comp_cntr_modify[] = {
	IDR(ABI_ATTR_MODIFY_COMP_CNTR_HANDLE, ABI_OBJECT_COMP_CNTR, ACCESS_READ, M_),
	CONST_IN(ABI_ATTR_MODIFY_COMP_CNTR_ENTRY, M_),
	CONST_IN(ABI_ATTR_MODIFY_COMP_CNTR_OP, M_),
	IN(ABI_ATTR_MODIFY_COMP_CNTR_VALUE, sizeof(uint64_t), M_),
};
static const struct attr_spec comp_cntr_read[] = {
	IDR(ABI_ATTR_READ_COMP_CNTR_HANDLE, ABI_OBJECT_COMP_CNTR, ACCESS_READ, M_),
	CONST_IN(ABI_ATTR_READ_COMP_CNTR_ENTRY, M_),
	OUT(ABI_ATTR_READ_COMP_CNTR_RESP_VALUE, sizeof(uint64_t), M_),
};
static const struct attr_spec qp_attach_comp_cntr[] = {
	IDR(ABI_ATTR_QP_ATTACH_COMP_CNTR_HANDLE, OBJ(QP), ACCESS_READ, M_),
	IDR(ABI_ATTR_QP_ATTACH_COMP_CNTR_CNTR_HANDLE, ABI_OBJECT_COMP_CNTR, ACCESS_READ, M_),
	FLAGS_IN(ABI_ATTR_QP_ATTACH_COMP_CNTR_OP_MASK, M_),
};
static const struct attr_spec advise_mr[] = {
	IDR(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, OBJ(PD), ACCESS_READ, M_),
	CONST_IN(UVERBS_ATTR_ADVISE_MR_ADVICE, M_),
	FLAGS_IN(UVERBS_ATTR_ADVISE_MR_FLAGS, M_),
	IN_MIN(UVERBS_ATTR_ADVISE_MR_SGE_LIST, sizeof(struct ib_uverbs_sge), M_ | ATTR_COPY),
};
static const struct attr_spec reg_dmabuf_mr[] = {
	IDR(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, OBJ(MR), ACCESS_NEW, M_),
	IDR(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, OBJ(PD), ACCESS_READ, M_),
	IN(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, sizeof(uint64_t), M_),
	IN(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, sizeof(uint64_t), M_),
	IN(UVERBS_ATTR_REG_DMABUF_MR_IOVA, sizeof(uint64_t), M_),
	IN(UVERBS_ATTR_REG_DMABUF_MR_FD, sizeof(uint32_t), M_),
	FLAGS_IN(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, M_),
	OUT(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, sizeof(uint32_t), M_),
	OUT(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, sizeof(uint32_t), M_),
};
static const struct attr_spec cq_create[] = {
	IDR(UVERBS_ATTR_CREATE_CQ_HANDLE, OBJ(CQ), ACCESS_NEW, M_),
	IN(UVERBS_ATTR_CREATE_CQ_CQE, sizeof(uint32_t), M_),
	IN(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, sizeof(uint64_t), M_),
	FD(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, OBJ(COMP_CHANNEL), ACCESS_READ, O_),
	IN(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, sizeof(uint32_t), M_),
	FLAGS_IN(UVERBS_ATTR_CREATE_CQ_FLAGS, O_),
	OUT(UVERBS_ATTR_CREATE_CQ_RESP_CQE, sizeof(uint32_t), M_),
	FD(UVERBS_ATTR_CREATE_CQ_EVENT_FD, OBJ(ASYNC_EVENT), ACCESS_READ, O_),
	IN(ABI_ATTR_CREATE_CQ_BUFFER_VA, sizeof(uint64_t), O_),
	IN(ABI_ATTR_CREATE_CQ_BUFFER_LENGTH, sizeof(uint64_t), O_),
	RAW_FD(ABI_ATTR_CREATE_CQ_BUFFER_FD, O_),
	IN(ABI_ATTR_CREATE_CQ_BUFFER_OFFSET, sizeof(uint64_t), O_),
	UHW,
};
static const struct attr_spec cq_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_CQ_HANDLE, OBJ(CQ), ACCESS_DESTROY, M_),
	OUT(UVERBS_ATTR_DESTROY_CQ_RESP, sizeof(struct ib_uverbs_destroy_cq_resp), M_),
};
static const struct attr_spec xrcd_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_XRCD_HANDLE, OBJ(XRCD), ACCESS_DESTROY, M_)};
static const struct attr_spec srq_create[] = {
	IDR(UVERBS_ATTR_CREATE_SRQ_HANDLE, OBJ(SRQ), ACCESS_NEW, M_),
	IDR(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, OBJ(PD), ACCESS_READ, M_),
	CONST_IN(UVERBS_ATTR_CREATE_SRQ_TYPE, M_),
	IN(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, sizeof(uint64_t), M_),
	IN(UVERBS_ATTR_CREATE_SRQ_MAX_WR, sizeof(uint32_t), M_),
	IN(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, sizeof(uint32_t), M_),
	IN(UVERBS_ATTR_CREATE_SRQ_LIMIT, sizeof(uint32_t), M_),
	IDR(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, OBJ(XRCD), ACCESS_READ, O_),
	IDR(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, OBJ(CQ), ACCESS_READ, O_),
	IN(UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, sizeof(uint32_t), O_),
	FD(UVERBS_ATTR_CREATE_SRQ_EVENT_FD, OBJ(ASYNC_EVENT), ACCESS_READ, O_),
	OUT(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, sizeof(uint32_t), M_),
	OUT(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, sizeof(uint32_t), M_),
	OUT(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, sizeof(uint32_t), O_),
	UHW,
};
static const struct attr_spec srq_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_SRQ_HANDLE, OBJ(SRQ), ACCESS_DESTROY, M_),
	OUT(UVERBS_ATTR_DESTROY_SRQ_RESP, sizeof(struct ib_uverbs_destroy_srq_resp), M_),
};
static const struct attr_spec wq_create[] = {
	IDR(UVERBS_ATTR_CREATE_WQ_HANDLE, OBJ(WQ), ACCESS_NEW, M_),
	IDR(UVERBS_ATTR_CREATE_WQ_PD_HANDLE, OBJ(PD), ACCESS_READ, M_),
	CONST_IN(UVERBS_ATTR_CREATE_WQ_TYPE, M_),
	IN(UVERBS_ATTR_CREATE_WQ_USER_HANDLE, sizeof(uint64_t), M_),
	IN(UVERBS_ATTR_CREATE_WQ_MAX_WR, sizeof(uint32_t), M_),
	IN(UVERBS_ATTR_CREATE_WQ_MAX_SGE, sizeof(uint32_t), M_),
	FLAGS_IN(UVERBS_ATTR_CREATE_WQ_FLAGS, M_),
	IDR(UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, OBJ(CQ), ACCESS_READ, M_),
	FD(UVERBS_ATTR_CREATE_WQ_EVENT_FD, OBJ(ASYNC_EVENT), ACCESS_READ, O_),
	OUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, sizeof(uint32_t), M_),
	OUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, sizeof(uint32_t), M_),
	OUT(UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, sizeof(uint32_t), O_),
	UHW,
};
static const struct attr_spec wq_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_WQ_HANDLE, OBJ(WQ), ACCESS_DESTROY, M_),
	OUT(UVERBS_ATTR_DESTROY_WQ_RESP, sizeof(uint32_t), M_),
};
static const struct attr_spec rwq_table_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE, OBJ(RWQ_IND_TBL), ACCESS_DESTROY, M_)};
static const struct attr_spec qp_create[] = {
	IDR(UVERBS_ATTR_CREATE_QP_HANDLE, OBJ(QP), ACCESS_NEW, M_),
	IDR(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, OBJ(XRCD), ACCESS_READ, O_),
	IDR(UVERBS_ATTR_CREATE_QP_PD_HANDLE, OBJ(PD), ACCESS_READ, O_),
	IDR(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, OBJ(SRQ), ACCESS_READ, O_),
	IDR(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, OBJ(CQ), ACCESS_READ, O_),
	IDR(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, OBJ(CQ), ACCESS_READ, O_),
	IDR(UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, OBJ(RWQ_IND_TBL), ACCESS_READ, O_),
	IN(UVERBS_ATTR_CREATE_QP_USER_HANDLE, sizeof(uint64_t), M_),
	STRUCT_IN(UVERBS_ATTR_CREATE_QP_CAP, struct ib_uverbs_qp_cap, max_inline_data, M_),
	CONST_IN(UVERBS_ATTR_CREATE_QP_TYPE, M_),
	FLAGS_IN(UVERBS_ATTR_CREATE_QP_FLAGS, O_),
	IN(UVERBS_ATTR_CREATE_QP_SOURCE_QPN, sizeof(uint32_t), O_),
	FD(UVERBS_ATTR_CREATE_QP_EVENT_FD, OBJ(ASYNC_EVENT), ACCESS_READ, O_),
	STRUCT_OUT(UVERBS_ATTR_CREATE_QP_RESP_CAP, struct ib_uverbs_qp_cap, max_inline_data, M_),
	OUT(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, sizeof(uint32_t), M_),
	UHW,
};
static const struct attr_spec flow_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_FLOW_HANDLE, OBJ(FLOW), ACCESS_DESTROY, M_)};
static const struct attr_spec qp_destroy[] = {
	IDR(UVERBS_ATTR_DESTROY_QP_HANDLE, OBJ(QP), ACCESS_DESTROY, M_),
	OUT(UVERBS_ATTR_DESTROY_QP_RESP, sizeof(struct ib_uverbs_destroy_qp_resp), M_),
};

static const struct method methods[] = {
	METHOD(OBJ(DEVICE), UVERBS_METHOD_INVOKE_WRITE, m_invoke_write, invoke_write),
	METHOD(OBJ(DEVICE), UVERBS_METHOD_INFO_HANDLES, m_info_handles, info_handles),
	METHOD(OBJ(DEVICE), UVERBS_METHOD_QUERY_PORT, m_query_port, query_port),
	METHOD(OBJ(DEVICE), UVERBS_METHOD_GET_CONTEXT, m_get_context, get_context),
	METHOD(OBJ(DEVICE), UVERBS_METHOD_QUERY_CONTEXT, m_query_context, query_context),
	METHOD(OBJ(DEVICE), UVERBS_METHOD_QUERY_GID_TABLE, m_query_gid_table, query_gid_table),
	METHOD(OBJ(DEVICE), UVERBS_METHOD_QUERY_GID_ENTRY, m_query_gid_entry, query_gid_entry),
	METHOD(OBJ(ASYNC_EVENT), UVERBS_METHOD_ASYNC_EVENT_ALLOC, m_async_event_alloc, async_event_alloc),
	METHOD(OBJ(PD), UVERBS_METHOD_PD_DESTROY, m_destroyed, pd_destroy),
	METHOD(OBJ(AH), UVERBS_METHOD_AH_DESTROY, m_destroyed, ah_destroy),
	METHOD(OBJ(MR), UVERBS_METHOD_MR_DESTROY, m_destroyed, mr_destroy),
	METHOD(OBJ(MW), UVERBS_METHOD_MW_DESTROY, m_destroyed, mw_destroy),
	METHOD(OBJ(MR), UVERBS_METHOD_QUERY_MR, m_query_mr, query_mr),
	METHOD(OBJ(DEVICE), ABI_METHOD_QUERY_PORT_SPEED, m_query_port_speed, query_port_speed),
	METHOD(ABI_OBJECT_DMAH, ABI_METHOD_DMAH_ALLOC, m_dmah_alloc, dmah_alloc),
	METHOD(ABI_OBJECT_DMAH, ABI_METHOD_DMAH_FREE, m_destroyed, dmah_free),
	METHOD(OBJ(MR), ABI_METHOD_REG_MR, m_reg_mr, reg_mr),
	METHOD(OBJ(DEVICE), ABI_METHOD_QUERY_COMP_CNTR_CAPS, m_query_comp_cntr_caps, query_comp_cntr_caps),
	METHOD(ABI_OBJECT_COMP_CNTR, ABI_METHOD_COMP_CNTR_CREATE, m_comp_cntr_create, comp_cntr_create),
	METHOD(ABI_OBJECT_COMP_CNTR, ABI_METHOD_COMP_CNTR_DESTROY, m_destroyed, comp_cntr_destroy),
	METHOD(ABI_OBJECT_COMP_CNTR, ABI_METHOD_COMP_CNTR_MODIFY, m_comp_cntr_modify, comp_cntr_modify),
	METHOD(ABI_OBJECT_COMP_CNTR, ABI_METHOD_COMP_CNTR_READ, m_comp_cntr_read, comp_cntr_read),
	METHOD(OBJ(QP), ABI_METHOD_QP_ATTACH_COMP_CNTR, m_qp_attach_comp_cntr, qp_attach_comp_cntr),
	METHOD(OBJ(DM), UVERBS_METHOD_DM_ALLOC, m_dm_alloc, dm_alloc),
	METHOD(OBJ(DM), UVERBS_METHOD_DM_FREE, m_destroyed, dm_free),
	METHOD(OBJ(MR), UVERBS_METHOD_DM_MR_REG, m_reg_dm_mr, reg_dm_mr),
	METHOD(OBJ(MR), UVERBS_METHOD_ADVISE_MR, m_advise_mr, advise_mr),
	METHOD(OBJ(MR), UVERBS_METHOD_REG_DMABUF_MR, m_reg_dmabuf_mr, reg_dmabuf_mr),
	METHOD(OBJ(CQ), UVERBS_METHOD_CQ_CREATE, m_cq_create, cq_create),
	METHOD(OBJ(CQ), UVERBS_METHOD_CQ_DESTROY, m_cq_destroy, cq_destroy),
	METHOD(OBJ(XRCD), UVERBS_METHOD_XRCD_DESTROY, m_destroyed, xrcd_destroy),
	METHOD(OBJ(SRQ), UVERBS_METHOD_SRQ_CREATE, m_srq_create, srq_create),
	METHOD(OBJ(SRQ), UVERBS_METHOD_SRQ_DESTROY, m_srq_destroy, srq_destroy),
	METHOD(OBJ(WQ), UVERBS_METHOD_WQ_CREATE, m_wq_create, wq_create),
	METHOD(OBJ(WQ), UVERBS_METHOD_WQ_DESTROY, m_wq_destroy, wq_destroy),
	METHOD(OBJ(RWQ_IND_TBL), UVERBS_METHOD_RWQ_IND_TBL_DESTROY, m_destroyed, rwq_table_destroy),
	METHOD(OBJ(QP), UVERBS_METHOD_QP_CREATE, m_qp_create, qp_create),
	METHOD(OBJ(QP), UVERBS_METHOD_QP_DESTROY, m_qp_destroy, qp_destroy),
	METHOD(OBJ(FLOW), UVERBS_METHOD_FLOW_DESTROY, m_destroyed, flow_destroy),
};

const struct method *method_find(uint16_t object, uint16_t id)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		_Static_assert(sizeof(qp_create) / sizeof(qp_create[0]) <= MAX_ATTRS, "raise MAX_ATTRS");
		if (methods[i].object == object && methods[i].id == id)
			return &methods[i];
	}
	return NULL;
}
