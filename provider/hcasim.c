// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Matching the adapter, opening and closing it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hcasim.h"

/* Built from the generated rules, so that no opcode is listed twice. */
void hcasim_init_ops(struct hcasim_context *ctx)
{
	int op;

	memset(ctx->op_of_wr, 0xff, sizeof(ctx->op_of_wr)); /* -1: none */
	for (op = 0; op < HCASIM_WR_NUM; op++) {
		const struct hcasim_wr_rule *rule = &hcasim_wr_rules[op];

		if (rule->wr_opcode >= 0 && rule->wr_opcode <= HCASIM_MAX_WR_OPCODE)
			ctx->op_of_wr[rule->wr_opcode] = op;
		ctx->wc_of_wqe[rule->wqe_op] = rule->wc_opcode;
	}
}

static int map_pages(struct hcasim_context *ctx, const struct hcasim_alloc_ucontext_resp *resp)
{
	int err;

	ctx->uar_mmap_offset = resp->uar_mmap_offset;
	err = hcasim_map_uar(ctx, &ctx->uar, 0);
	if (!err)
		ctx->clock = ctx->uar.page + HCASIM_UAR_CLOCK;
	return err;
}

static void hcasim_free_context(struct ibv_context *ibctx)
{
	struct hcasim_context *ctx = to_hctx(ibctx);

	hcasim_table_free(&ctx->qps);
	hcasim_table_free(&ctx->srqs);
	pthread_mutex_destroy(&ctx->table_lock);
	pthread_mutex_destroy(&ctx->chunk_lock);
	hcasim_unmap_uar(&ctx->uar);
	verbs_uninit_context(&ctx->ibv_ctx);
	free(ctx);
}

static const struct verbs_context_ops hcasim_ctx_ops = {
	.alloc_dm = hcasim_alloc_dm,
	.alloc_mw = hcasim_alloc_mw,
	.alloc_parent_domain = hcasim_alloc_parent_domain,
	.alloc_pd = hcasim_alloc_pd,
	.alloc_td = hcasim_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = hcasim_bind_mw,
	.close_xrcd = hcasim_close_xrcd,
	.cq_event = hcasim_cq_event,
	.create_ah = hcasim_create_ah,
	.create_cq = hcasim_create_cq,
	.create_cq_ex = hcasim_create_cq_ex,
	.create_flow = hcasim_create_flow,
	.create_qp = hcasim_create_qp,
	.create_qp_ex = hcasim_create_qp_ex,
	.create_rwq_ind_table = hcasim_create_rwq_ind_table,
	.create_srq = hcasim_create_srq,
	.create_srq_ex = hcasim_create_srq_ex,
	.create_wq = hcasim_create_wq,
	.dealloc_mw = hcasim_dealloc_mw,
	.dealloc_pd = hcasim_dealloc_pd,
	.dealloc_td = hcasim_dealloc_td,
	.advise_mr = ibv_cmd_advise_mr,
	.dereg_mr = hcasim_dereg_mr,
	.destroy_ah = hcasim_destroy_ah,
	.destroy_cq = hcasim_destroy_cq,
	.destroy_flow = hcasim_destroy_flow,
	.destroy_qp = hcasim_destroy_qp,
	.destroy_rwq_ind_table = hcasim_destroy_rwq_ind_table,
	.detach_mcast = ibv_cmd_detach_mcast,
	.destroy_srq = hcasim_destroy_srq,
	.destroy_wq = hcasim_destroy_wq,
	.free_dm = hcasim_free_dm,
	.free_context = hcasim_free_context,
	.get_srq_num = hcasim_get_srq_num,
	.import_dm = hcasim_import_dm,
	.import_mr = hcasim_import_mr,
	.import_pd = hcasim_import_pd,
	.modify_qp = hcasim_modify_qp,
	.modify_qp_rate_limit = hcasim_modify_qp_rate_limit,
	.modify_srq = hcasim_modify_srq,
	.modify_wq = hcasim_modify_wq,
	.open_qp = hcasim_open_qp,
	.open_xrcd = hcasim_open_xrcd,
	.poll_cq = hcasim_poll_cq,
	.post_recv = hcasim_post_recv,
	.post_send = hcasim_post_send,
	.post_srq_ops = hcasim_post_srq_ops,
	.post_srq_recv = hcasim_post_srq_recv,
	.query_device_ex = hcasim_query_device_ex,
	.query_port = hcasim_query_port,
	.query_qp = hcasim_query_qp,
	.query_srq = hcasim_query_srq,
	.query_rt_values = hcasim_query_rt_values,
	.reg_dm_mr = hcasim_reg_dm_mr,
	.reg_dmabuf_mr = hcasim_reg_dmabuf_mr,
	.reg_mr = hcasim_reg_mr,
	.req_notify_cq = hcasim_req_notify_cq,
	.rereg_mr = hcasim_rereg_mr,
	.resize_cq = hcasim_resize_cq,
	.modify_cq = hcasim_modify_cq,
#if HCASIM_HAS_DMAH
	.alloc_dmah = hcasim_alloc_dmah,
	.dealloc_dmah = hcasim_dealloc_dmah,
	.reg_mr_ex = hcasim_reg_mr_ex,
#endif
#if HCASIM_HAS_COMP_CNTR
	.create_comp_cntr = hcasim_create_comp_cntr,
	.destroy_comp_cntr = hcasim_destroy_comp_cntr,
	.inc_comp_cntr = ibv_cmd_inc_comp_cntr,
	.inc_err_comp_cntr = ibv_cmd_inc_err_comp_cntr,
	.qp_attach_comp_cntr = hcasim_qp_attach_comp_cntr,
	.query_comp_cntr_caps = ibv_cmd_query_comp_cntr_caps,
	.read_comp_cntr = ibv_cmd_read_comp_cntr,
	.read_err_comp_cntr = ibv_cmd_read_err_comp_cntr,
	.set_comp_cntr = ibv_cmd_set_comp_cntr,
	.set_err_comp_cntr = ibv_cmd_set_err_comp_cntr,
#endif
#if HCASIM_HAS_PORT_SPEED
	.query_port_speed = ibv_cmd_query_port_speed,
#endif
	.unimport_dm = hcasim_unimport_dm,
	.unimport_mr = hcasim_unimport_mr,
	.unimport_pd = hcasim_unimport_pd,
};

/* Response of the driver for a context that was created or imported. */
static int start_context(struct hcasim_context *ctx, const struct hcasim_alloc_ucontext_resp *resp)
{
	int err;

	ctx->qp_ex_size = hcasim_qp_ex_size();
	if (!ctx->qp_ex_size) {
		verbs_err(&ctx->ibv_ctx,
			  "struct verbs_qp of this libibverbs is none that this provider knows\n");
		return EOPNOTSUPP;
	}
	err = map_pages(ctx, resp);
	if (err)
		return err;
	ctx->max_send_wqebb = resp->max_send_wqebb;
	ctx->max_inline = resp->max_inline;
	ctx->max_tso = resp->max_tso;
	ctx->max_tso_hdr = resp->max_tso_hdr;
	ctx->poll_doorbell = resp->flags & HCASIM_UCONTEXT_POLL_DOORBELL;
	ctx->td_uars_free = resp->td_uars < 64 ? (1ull << resp->td_uars) - 1 : UINT64_MAX;
	pthread_mutex_init(&ctx->table_lock, NULL);
	pthread_mutex_init(&ctx->chunk_lock, NULL);
	hcasim_init_ops(ctx);
	verbs_set_ops(&ctx->ibv_ctx, &hcasim_ctx_ops);
	return 0;
}

static struct verbs_context *hcasim_alloc_context(struct ibv_device *ibdev, int cmd_fd, void *private_data)
{
	struct hcasim_cmd_get_context_resp resp = {};
	struct ibv_get_context cmd = {};
	struct hcasim_context *ctx;
	int err;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, ibv_ctx, HCASIM_DRIVER_ID);
	if (!ctx)
		return NULL;
	err = hcasim_cmd_get_context(&ctx->ibv_ctx, &cmd, sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (!err)
		err = start_context(ctx, &resp.drv_payload);
	if (err) {
		verbs_uninit_context(&ctx->ibv_ctx);
		free(ctx);
		errno = err;
		return NULL;
	}
	return &ctx->ibv_ctx;
}

/*
 * ibv_import_device(3). The pages are those of the original context, which owns their BlueFlame buffers: an imported
 * context rings doorbells only, and its thread domains have no pages of their own.
 */
static struct verbs_context *hcasim_import_context(struct ibv_device *ibdev, int cmd_fd)
{
	DECLARE_COMMAND_BUFFER_LINK(driver, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, 1, NULL);
	struct hcasim_alloc_ucontext_resp resp = {};
	struct hcasim_context *ctx;
	int err;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, ibv_ctx, HCASIM_DRIVER_ID);
	if (!ctx)
		return NULL;
	fill_attr_out_ptr(driver, HCASIM_ATTR_QUERY_CONTEXT_RESP, &resp);
	err = ibv_cmd_query_context(&ctx->ibv_ctx.context, driver);
	if (!err)
		err = start_context(ctx, &resp);
	if (err) {
		verbs_uninit_context(&ctx->ibv_ctx);
		free(ctx);
		errno = err;
		return NULL;
	}
	ctx->uar.use_bf = false;
	ctx->td_uars_free = 0;
	return &ctx->ibv_ctx;
}

static struct verbs_device *hcasim_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void hcasim_uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

static const struct verbs_match_ent hcasim_match[] = {
	VERBS_PCI_MATCH(HCASIM_PCI_VENDOR, HCASIM_PCI_DEVICE, NULL),
	{},
};

static const struct verbs_device_ops hcasim_dev_ops = {
	.name = "hcasim",
	.match_min_abi_version = HCASIM_UVERBS_ABI,
	.match_max_abi_version = HCASIM_UVERBS_ABI,
	.match_table = hcasim_match,
	.alloc_device = hcasim_alloc_device,
	.uninit_device = hcasim_uninit_device,
	.alloc_context = hcasim_alloc_context,
	.import_context = hcasim_import_context,
};
PROVIDER_DRIVER(hcasim, hcasim_dev_ops);
