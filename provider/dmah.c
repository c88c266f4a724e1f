// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* DMA handles, and the registration with one, in releases of rdma-core that have them. */
#include <errno.h>
#include <stdlib.h>

#include "hcasim.h"

#if HCASIM_HAS_DMAH

#define KNOWN_FIELDS                                                                                         \
	(IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_PH | IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE)

struct ibv_dmah *hcasim_alloc_dmah(struct ibv_context *ibctx, struct ibv_dmah_init_attr *attr)
{
	struct verbs_dmah *dmah;
	int err;

	if (!check_comp_mask(attr->comp_mask, KNOWN_FIELDS))
		return hcasim_failed(NULL, EOPNOTSUPP);
	dmah = calloc(1, sizeof(*dmah));
	if (!dmah)
		return NULL;
	err = ibv_cmd_alloc_dmah(ibctx, dmah, attr);
	if (err)
		return hcasim_failed(dmah, err);
	return &dmah->dmah;
}

int hcasim_dealloc_dmah(struct ibv_dmah *ibdmah)
{
	struct verbs_dmah *dmah = verbs_get_dmah(ibdmah);
	int err = ibv_cmd_free_dmah(dmah);

	if (err)
		return err;
	free(dmah);
	return 0;
}

struct ibv_mr *hcasim_reg_mr_ex(struct ibv_pd *ibpd, struct ibv_mr_init_attr *attr)
{
	struct verbs_mr *vmr;
	int err;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_mr_ex(ibpd, vmr, attr);
	if (err)
		return hcasim_failed(vmr, err);
	return &vmr->ibv_mr;
}
#endif
