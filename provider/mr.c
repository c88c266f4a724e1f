// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory regions and memory windows. */
#include <errno.h>
#include <stdlib.h>

#include "wqe.h"

struct ibv_mr *hcasim_reg_mr(struct ibv_pd *ibpd, void *addr, size_t length, uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr;
	int err;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_mr(ibpd, addr, length, hca_va, access, vmr, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err)
		return hcasim_failed(vmr, err);
	return &vmr->ibv_mr;
}

struct ibv_mr *hcasim_reg_dmabuf_mr(struct ibv_pd *ibpd, uint64_t offset, size_t length, uint64_t iova,
				    int fd, int access)
{
	struct verbs_mr *vmr;
	int err;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_dmabuf_mr(ibpd, offset, length, iova, fd, access, vmr, NULL);
	if (err)
		return hcasim_failed(vmr, err);
	return &vmr->ibv_mr;
}

int hcasim_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *ibpd, void *addr, size_t length,
		    int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return hcasim_error(ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr, access, ibpd, &cmd,
					     sizeof(cmd), &resp, sizeof(resp)));
}

int hcasim_dereg_mr(struct verbs_mr *vmr)
{
	int err = ibv_cmd_dereg_mr(vmr);

	if (err)
		return hcasim_error(err);
	free(vmr);
	return 0;
}

struct ibv_mr *hcasim_import_mr(struct ibv_pd *ibpd, uint32_t handle)
{
	struct verbs_mr *vmr;
	int err;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	err = ibv_cmd_query_mr(ibpd, vmr, handle);
	if (err)
		return hcasim_failed(vmr, err);
	return &vmr->ibv_mr;
}

void hcasim_unimport_mr(struct ibv_mr *ibmr)
{
	free(container_of(ibmr, struct verbs_mr, ibv_mr));
}

struct ibv_mw *hcasim_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd = {};
	struct ibv_mw *mw;
	int err;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;
	err = ibv_cmd_alloc_mw(ibpd, type, mw, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err)
		return hcasim_failed(mw, err);
	return mw;
}

int hcasim_dealloc_mw(struct ibv_mw *mw)
{
	int err = ibv_cmd_dealloc_mw(mw);

	if (err)
		return hcasim_error(err);
	free(mw);
	return 0;
}

/* ibv_bind_mw(3): for type 1, the provider chooses the next rkey. */
int hcasim_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind)
{
	struct hcasim_wr_args args = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind = &mw_bind->bind_info};
	struct hcasim_qp *qp = to_hqp(ibqp);
	int err;

	if (!(hcasim_wr_rules[HCASIM_WR_BIND_MW].qp_types & HCASIM_QPT_BIT(ibqp->qp_type)))
		return hcasim_error(EINVAL);
	hcasim_sq_lock(&qp->sq);
	err = hcasim_qp_can_send(qp) ? 0 : EINVAL;
	if (!err) {
		hcasim_sq_open(&qp->sq);
		err = hcasim_wqe_begin(qp, HCASIM_WR_BIND_MW, mw_bind->wr_id, mw_bind->send_flags, &args);
	}
	if (!err)
		err = hcasim_wqe_end(qp);
	if (!err) {
		mw->rkey = args.rkey;
		hcasim_sq_publish(qp);
	}
	hcasim_sq_unlock(&qp->sq);
	return hcasim_error(err);
}
