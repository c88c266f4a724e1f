// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* XRC domains. */
#include <errno.h>
#include <stdlib.h>

#include "hcasim.h"

struct ibv_xrcd *hcasim_open_xrcd(struct ibv_context *ibctx, struct ibv_xrcd_init_attr *attr)
{
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ibv_open_xrcd cmd = {};
	struct hcasim_xrcd *xrcd;
	int err;

	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return NULL;
	err = ibv_cmd_open_xrcd(ibctx, &xrcd->vxrcd, sizeof(xrcd->vxrcd), attr, &cmd, sizeof(cmd), &resp,
				sizeof(resp));
	if (err)
		return hcasim_failed(xrcd, err);
	return &xrcd->vxrcd.xrcd;
}

int hcasim_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct hcasim_xrcd *xrcd = to_hxrcd(ibxrcd);
	int err;

	err = ibv_cmd_close_xrcd(&xrcd->vxrcd);
	if (!err)
		free(xrcd);
	return hcasim_error(err);
}
