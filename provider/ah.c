// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Address handles: the destination segment of a datagram, built once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hcasim.h"

static void fill_seg(struct hcasim_seg_ud *seg, const struct ibv_ah_attr *attr,
		     const struct hcasim_create_ah_resp *resp)
{
	memcpy(seg->dgid, attr->grh.dgid.raw, sizeof(seg->dgid));
	memcpy(seg->dmac, resp->dmac, sizeof(seg->dmac));
	seg->sgid_index = attr->grh.sgid_index;
	seg->hop_limit = attr->grh.hop_limit;
	seg->traffic_class = attr->grh.traffic_class;
	seg->sl = attr->sl;
	seg->port = attr->port_num;
	seg->static_rate = attr->static_rate;
	seg->flow_label = htole32(attr->grh.flow_label & 0xfffff);
}

struct ibv_ah *hcasim_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr)
{
	struct hcasim_cmd_create_ah_resp resp = {};
	struct hcasim_ah *ah;
	int err;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	/* The driver resolves the GID to a MAC; it also refuses a handle without a GRH (RoCE has no LIDs). */
	err = ibv_cmd_create_ah(ibpd, &ah->ibv_ah, attr, &resp.ibv_resp, sizeof(resp));
	if (err)
		return hcasim_failed(ah, err);
	fill_seg(&ah->seg, attr, &resp.drv_payload);
	return &ah->ibv_ah;
}

int hcasim_destroy_ah(struct ibv_ah *ibah)
{
	int err = ibv_cmd_destroy_ah(ibah);

	if (err)
		return hcasim_error(err);
	free(to_hah(ibah));
	return 0;
}
