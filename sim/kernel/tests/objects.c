// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creates and destroys objects as libibverbs does. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "kernel/newer_abi.h"

#define A(name) HCASIM_QP_ATTR_##name

int make_context(void)
{
	struct hcasim_alloc_ucontext_resp *resp = user_alloc(sizeof(*resp));
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	int ret;

	ioc_out(i, UVERBS_ATTR_UHW_OUT, resp, sizeof(*resp));
	ret = ioc_run(i);
	if (ret)
		return ret;
	w.context_resp = *resp;
	i = ioc_new(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	ioc_obj(i, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	ret = ioc_run(i);
	w.async_fd = i->attrs[0].data_s64;
	return ret;
}

int make_pd(void)
{
	struct ib_uverbs_alloc_pd_resp resp = {0};
	struct ib_uverbs_alloc_pd cmd = {0};
	struct hcasim_alloc_pd_resp drv;
	int ret;

	ret = do_write(IB_USER_VERBS_CMD_ALLOC_PD, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), &drv,
		       sizeof(drv));
	w.pd = resp.pd_handle;
	return ret;
}

int make_dm(uint64_t length, uint32_t log_align)
{
	struct hcasim_alloc_dm_resp *resp = user_alloc(sizeof(*resp));
	struct ioc *i = ioc_new(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
	int ret;

	ioc_obj(i, UVERBS_ATTR_ALLOC_DM_HANDLE, 0);
	ioc_in(i, UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length));
	ioc_in(i, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &log_align, sizeof(log_align));
	ioc_out(i, UVERBS_ID_DRIVER_NS, resp, sizeof(*resp));
	ret = ioc_run(i);
	w.dm = i->attrs[0].data;
	w.dm_resp = *resp;
	return ret;
}

struct ioc *dm_mr_ioc(uint64_t offset, uint64_t length, uint32_t access)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);

	ioc_obj(i, UVERBS_ATTR_REG_DM_MR_HANDLE, 0);
	ioc_in(i, UVERBS_ATTR_REG_DM_MR_OFFSET, &offset, sizeof(offset));
	ioc_in(i, UVERBS_ATTR_REG_DM_MR_LENGTH, &length, sizeof(length));
	ioc_obj(i, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, w.pd);
	ioc_in(i, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, &access, sizeof(access));
	ioc_obj(i, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, w.dm);
	ioc_out(i, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, user_alloc(8), 4);
	return i;
}

struct ioc *reg_mr_ioc(uint32_t dmah, uint64_t addr, uint64_t length, uint32_t access)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_MR, ABI_METHOD_REG_MR);

	ioc_obj(i, ABI_ATTR_REG_MR_HANDLE, 0);
	ioc_obj(i, ABI_ATTR_REG_MR_PD_HANDLE, w.pd);
	ioc_obj(i, ABI_ATTR_REG_MR_DMA_HANDLE, dmah);
	ioc_in(i, ABI_ATTR_REG_MR_IOVA, &addr, sizeof(addr));
	ioc_in(i, ABI_ATTR_REG_MR_ADDR, &addr, sizeof(addr));
	ioc_in(i, ABI_ATTR_REG_MR_LENGTH, &length, sizeof(length));
	ioc_in(i, ABI_ATTR_REG_MR_ACCESS_FLAGS, &access, sizeof(access));
	ioc_out(i, ABI_ATTR_REG_MR_RESP_LKEY, user_alloc(8), 4);
	ioc_out(i, ABI_ATTR_REG_MR_RESP_RKEY, user_alloc(8), 4);
	return i;
}

int dmabuf_fd(void)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("dma-buf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (fd < 0 || ftruncate(fd, 16384) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
			abort(); /* no test is running that could fail instead */
	}
	return fd;
}

struct ioc *dmabuf_ioc(uint64_t offset, uint64_t length, uint64_t iova, int fd, uint32_t access)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);

	ioc_obj(i, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0);
	ioc_obj(i, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, w.pd);
	ioc_in(i, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &offset, sizeof(offset));
	ioc_in(i, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &length, sizeof(length));
	ioc_in(i, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &iova, sizeof(iova));
	ioc_in(i, UVERBS_ATTR_REG_DMABUF_MR_FD, &fd, sizeof(fd));
	ioc_in(i, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &access, sizeof(access));
	ioc_out(i, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, user_alloc(8), 4);
	return i;
}

int make_channel(void)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	struct ib_uverbs_create_comp_channel cmd = {0};
	int ret;

	ret = do_write(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp),
		       NULL, 0);
	w.comp_fd = ret ? -1 : (int)resp.fd;
	return ret;
}

int make_cq(uint32_t cqe, int channel)
{
	struct ib_uverbs_create_cq cmd = {.user_handle = 0xc0, .cqe = cqe, .comp_channel = channel};
	struct ib_uverbs_create_cq_resp resp = {0};
	int ret;

	ret = do_write(IB_USER_VERBS_CMD_CREATE_CQ, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp),
		       &w.cq_resp, sizeof(w.cq_resp));
	w.cq = resp.cq_handle;
	return ret;
}

int make_mr(void *addr, uint64_t len, uint32_t access)
{
	struct ib_uverbs_reg_mr cmd = {.start = U(addr),
				       .length = len,
				       .hca_va = U(addr),
				       .pd_handle = w.pd,
				       .access_flags = access};
	struct ib_uverbs_reg_mr_resp resp = {0};
	int ret;

	ret = do_write(IB_USER_VERBS_CMD_REG_MR, &cmd, sizeof(cmd), NULL, 0, &resp, 12, NULL, 0);
	w.mr = resp.mr_handle;
	w.lkey = resp.lkey;
	return ret;
}

int make_xrcd(int fd, uint32_t oflags)
{
	const struct ib_uverbs_open_xrcd cmd = {.fd = fd, .oflags = oflags};
	struct ib_uverbs_open_xrcd_resp resp = {0};
	int ret;

	ret = do_write(IB_USER_VERBS_CMD_OPEN_XRCD, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), NULL, 0);
	w.xrcd = resp.xrcd_handle;
	return ret;
}

int make_mw(uint8_t type)
{
	struct ib_uverbs_alloc_mw cmd = {.pd_handle = w.pd, .mw_type = type};
	struct ib_uverbs_alloc_mw_resp resp = {0};
	int ret;

	ret = do_write(IB_USER_VERBS_CMD_ALLOC_MW, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), NULL, 0);
	if (!ret)
		w.mw = resp.mw_handle;
	w.mw_rkey = resp.rkey;
	return ret;
}

int make_srq(uint32_t max_wr, uint32_t limit)
{
	const struct hcasim_create_srq_req req = {.wqe_count = HCASIM_MAX_SRQ_WR, .stride = 32};
	struct ib_uverbs_create_srq cmd = {
		.user_handle = 0x50, .pd_handle = w.pd, .max_wr = max_wr, .max_sge = 1, .srq_limit = limit};
	struct ib_uverbs_create_srq_resp resp = {0};
	struct hcasim_create_srq_resp drv;
	int ret;

	ret = do_write(IB_USER_VERBS_CMD_CREATE_SRQ, &cmd, sizeof(cmd), &req, sizeof(req), &resp,
		       sizeof(resp), &drv, sizeof(drv));
	w.srq = resp.srq_handle;
	return ret;
}

int make_qp(uint8_t type)
{
	struct ib_uverbs_create_qp cmd = {
		.user_handle = 0xa0,
		.pd_handle = w.pd,
		.send_cq_handle = w.cq,
		.recv_cq_handle = w.cq,
		.max_send_wr = 8,
		.max_recv_wr = 8,
		.max_send_sge = 2,
		.max_recv_sge = 1,
		.max_inline_data = 32,
		.qp_type = type,
	};
	const struct hcasim_create_qp_req req = {.sq_wqebb = 16, .rq_wqe_count = 8, .rq_stride = 32};
	struct ib_uverbs_create_qp_resp resp = {0};
	int ret;

	ret = do_write(IB_USER_VERBS_CMD_CREATE_QP, &cmd, sizeof(cmd), &req, sizeof(req), &resp, sizeof(resp),
		       &w.qp_resp, sizeof(w.qp_resp));
	w.qp = resp.qp_handle;
	w.qpn = resp.qpn;
	return ret;
}

int make_flow(void)
{
	const struct ib_uverbs_create_flow cmd = {.qp_handle = w.qp, .flow_attr = {.type = 1, .port = 1}};
	struct ib_uverbs_create_flow_resp resp = {0};
	int ret = do_write_ex(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_FLOW, &cmd,
			      sizeof(cmd), NULL, 0, &resp, sizeof(resp), NULL, 0);

	w.flow = resp.flow_handle;
	return ret;
}

int make_ah(const uint8_t dgid[16], uint8_t sgid_index)
{
	struct ib_uverbs_create_ah cmd = {.pd_handle = w.pd};
	struct ib_uverbs_create_ah_resp resp = {0};
	struct hcasim_create_ah_resp drv;
	int ret;

	memcpy(cmd.attr.grh.dgid, dgid, 16);
	cmd.attr.grh.sgid_index = sgid_index;
	cmd.attr.is_global = 1;
	cmd.attr.port_num = 1;
	ret = do_write(IB_USER_VERBS_CMD_CREATE_AH, &cmd, sizeof(cmd), NULL, 0, &resp, 4, &drv, sizeof(drv));
	w.ah = resp.ah_handle;
	if (!ret)
		memcpy(w.arena, drv.dmac, 6); /* where the address tests read it */
	return ret;
}

int destroy(uint32_t cmd, uint32_t handle)
{
	return do_write(cmd, &handle, sizeof(handle), NULL, 0, NULL, 0, NULL, 0);
}

int destroy_cq(uint32_t handle, struct ib_uverbs_destroy_cq_resp *resp)
{
	const struct ib_uverbs_destroy_cq cmd = {.cq_handle = handle};

	return do_write(IB_USER_VERBS_CMD_DESTROY_CQ, &cmd, sizeof(cmd), NULL, 0, resp, sizeof(*resp), NULL,
			0);
}

int destroy_qp(uint32_t handle, struct ib_uverbs_destroy_qp_resp *resp)
{
	const struct ib_uverbs_destroy_qp cmd = {.qp_handle = handle};

	return do_write(IB_USER_VERBS_CMD_DESTROY_QP, &cmd, sizeof(cmd), NULL, 0, resp, sizeof(*resp), NULL,
			0);
}

int modify_qp(const struct ib_uverbs_modify_qp *m)
{
	return do_write(IB_USER_VERBS_CMD_MODIFY_QP, m, sizeof(*m), NULL, 0, NULL, 0, NULL, 0);
}

int query_qp(struct ib_uverbs_query_qp_resp *r)
{
	const struct ib_uverbs_query_qp cmd = {.qp_handle = w.qp};

	return do_write(IB_USER_VERBS_CMD_QUERY_QP, &cmd, sizeof(cmd), NULL, 0, r, sizeof(*r), NULL, 0);
}

void good_attrs(struct ib_uverbs_modify_qp *m, uint8_t type)
{
	*m = (struct ib_uverbs_modify_qp){
		.qp_handle = w.qp,
		.qkey = 0x1234,
		.rq_psn = 0x10,
		.sq_psn = 0x20,
		.dest_qp_num = w.qpn,
		.qp_access_flags = HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_REMOTE_WRITE,
		.path_mtu = 3,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.alt_port_num = 1,
		.alt_dest = {.port_num = 1},
		.dest = {.sgid_index = 1,
			 .is_global = 1,
			 .port_num = 1,
			 .hop_limit = 3,
			 .dgid = {[10] = 0xff, 0xff, 10, 77, 0, 1}},
	};
}

uint32_t required_mask(uint8_t type, unsigned int from, unsigned int to)
{
	const bool ud = type == HCASIM_QPT_UD, rc = type == HCASIM_QPT_RC;

	if (type == HCASIM_QPT_RAW_PACKET)
		return from == HCASIM_QPS_RESET && to == HCASIM_QPS_INIT ? A(PORT) : 0;
	if (from == HCASIM_QPS_RESET && to == HCASIM_QPS_INIT)
		return A(PKEY_INDEX) | A(PORT) | (ud ? A(QKEY) : A(ACCESS_FLAGS));
	if (from == HCASIM_QPS_INIT && to == HCASIM_QPS_RTR && !ud)
		return A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN) |
		       (rc ? A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER) : 0);
	if (from == HCASIM_QPS_RTR && to == HCASIM_QPS_RTS)
		return A(SQ_PSN) | (rc ? A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_QP_RD_ATOMIC) : 0);
	return 0;
}

static int step(uint8_t type, unsigned int from, unsigned int to)
{
	struct ib_uverbs_modify_qp m;

	good_attrs(&m, type);
	m.qp_state = to;
	m.attr_mask = A(STATE) | required_mask(type, from, to);
	return modify_qp(&m);
}

int qp_to_state(uint8_t type, unsigned int state)
{
	static const uint8_t path[] = {HCASIM_QPS_RESET, HCASIM_QPS_INIT, HCASIM_QPS_RTR, HCASIM_QPS_RTS,
				       HCASIM_QPS_SQD};
	int ret = 0;

	if (state == HCASIM_QPS_ERR) {
		ret = step(type, HCASIM_QPS_RESET, HCASIM_QPS_INIT);
		return ret ? ret : step(type, HCASIM_QPS_INIT, HCASIM_QPS_ERR);
	}
	for (unsigned int i = 1; !ret && i < sizeof(path) && path[i - 1] != state; i++)
		ret = step(type, path[i - 1], path[i]);
	return ret;
}

/* ---- Requests of test_write.c, and the objects they name ---- */

void fill_mcast(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_attach_mcast *c = (void *)req;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(make_qp(IB_UVERBS_QPT_UD), 0);
	c->gid[0] = 0xff;
	c->qp_handle = w.qp;
}

void fill_detach(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_attach_mcast c = {.gid = {0xff}};

	fill_mcast(req, uhw);
	c.qp_handle = w.qp;
	CHECK_ERR(do_write(IB_USER_VERBS_CMD_ATTACH_MCAST, &c, sizeof(c), NULL, 0, NULL, 0, NULL, 0), 0);
}

void fill_flow(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_create_flow *c = (void *)req;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(make_qp(IB_UVERBS_QPT_RAW_PACKET), 0);
	c->qp_handle = w.qp;
	c->flow_attr.port = 1;
}

void fill_destroy_flow(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_create_flow c = {0};

	fill_flow((uint8_t *)&c, uhw);
	CHECK_ERR(make_flow(), 0);
	((struct ib_uverbs_destroy_flow *)req)->flow_handle = w.flow;
}

void fill_ah(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_create_ah *c = (void *)req;

	CHECK_ERR(make_pd(), 0);
	c->pd_handle = w.pd;
	c->attr.is_global = 1;
	c->attr.port_num = 1;
	c->attr.grh.sgid_index = 1;
	memcpy(c->attr.grh.dgid, (uint8_t[16]){[10] = 0xff, 0xff, 10, 77, 0, 2}, 16);
}
