// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flow steering: the driver does all of it. */
#include <errno.h>
#include <stdlib.h>

#include "hcasim.h"

struct ibv_flow *hcasim_create_flow(struct ibv_qp *ibqp, struct ibv_flow_attr *attr)
{
	struct ibv_flow *flow;
	int err;

	if (attr->comp_mask)
		return hcasim_failed(NULL, EOPNOTSUPP);
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;
	err = ibv_cmd_create_flow(ibqp, flow, attr, NULL, 0);
	if (err)
		return hcasim_failed(flow, err);
	return flow;
}

int hcasim_destroy_flow(struct ibv_flow *flow)
{
	int err = ibv_cmd_destroy_flow(flow);

	if (err)
		return hcasim_error(err);
	free(flow);
	return 0;
}
