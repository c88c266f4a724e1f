// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion counters, in releases of rdma-core that have them. All but creation is libibverbs'. */
#include <errno.h>
#include <stdlib.h>

#include "hcasim.h"
#include "hcasim_drv_abi.h"

#if HCASIM_HAS_COMP_CNTR

struct ibv_comp_cntr *hcasim_create_comp_cntr(struct ibv_context *ibctx, struct ibv_comp_cntr_init_attr *attr)
{
	DECLARE_COMMAND_BUFFER(driver, UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_CREATE, 1);
	struct ibv_comp_cntr *cntr;
	int err;

	if (attr->comp_mask || attr->flags)
		return hcasim_failed(NULL, EOPNOTSUPP);
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return NULL;
	fill_attr_in_uint32(driver, HCASIM_ATTR_CREATE_COMP_CNTR_TYPE, attr->type);
	err = ibv_cmd_create_comp_cntr(ibctx, cntr, driver);
	if (err)
		return hcasim_failed(cntr, err);
	return cntr;
}

int hcasim_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	int err = ibv_cmd_destroy_comp_cntr(cntr);

	if (err)
		return err;
	free(cntr);
	return 0;
}

/* libibverbs passes the operations on that it knows, and nothing else. */
int hcasim_qp_attach_comp_cntr(struct ibv_qp *ibqp, struct ibv_comp_cntr *cntr,
			       struct ibv_qp_attach_comp_cntr_attr *attr)
{
	const uint32_t known = (IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE << 1) - 1;

	if (attr->comp_mask || !check_comp_mask(attr->op_mask, known))
		return EOPNOTSUPP;
	return ibv_cmd_qp_attach_comp_cntr(ibqp, cntr, attr);
}
#endif
