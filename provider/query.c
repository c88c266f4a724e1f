// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Attributes of the adapter, and its clock. */
#include <errno.h>
#include <stdio.h>

#include <util/mmio.h>

#include "hcasim.h"

/* A caller with a shorter structure has no member for pacing. */
static void packet_pacing(struct ibv_device_attr_ex *attr, size_t attr_size,
			  const struct hcasim_query_device_ex_resp *resp)
{
	struct ibv_packet_pacing_caps *caps = &attr->packet_pacing_caps;

	if (attr_size < offsetof(struct ibv_device_attr_ex, packet_pacing_caps) + sizeof(*caps))
		return;
	caps->qp_rate_limit_min = resp->rate_limit_min;
	caps->qp_rate_limit_max = resp->rate_limit_max;
	caps->supported_qpts = resp->rate_limit_qpts;
}

int hcasim_query_device_ex(struct ibv_context *ibctx, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size)
{
	const struct hcasim_context *ctx = to_hctx(ibctx);
	struct hcasim_cmd_query_device_resp resp = {};
	size_t resp_size = sizeof(resp);
	uint64_t fw;
	int err;

	err = ibv_cmd_query_device_any(ibctx, input, attr, attr_size, &resp.ibv_resp, &resp_size);
	if (err)
		return hcasim_error(err);
	if (ctx->max_tso &&
	    attr_size >= offsetof(struct ibv_device_attr_ex, tso_caps) + sizeof(attr->tso_caps)) {
		attr->tso_caps.max_tso = ctx->max_tso;
		attr->tso_caps.supported_qpts = hcasim_wr_rules[HCASIM_WR_TSO].qp_types;
	}
	packet_pacing(attr, attr_size, &resp.drv_payload);
	fw = resp.ibv_resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver), "%u.%u.%u", (unsigned int)(fw >> 32),
		 (unsigned int)(fw >> 16) & 0xffff, (unsigned int)fw & 0xffff);
	return 0;
}

int hcasim_query_port(struct ibv_context *ibctx, uint8_t port, struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return hcasim_error(ibv_cmd_query_port(ibctx, port, attr, &cmd, sizeof(cmd)));
}

uint64_t hcasim_read_clock(const struct hcasim_context *ctx)
{
	return mmio_read64(ctx->clock);
}

/*
 * The raw clock is reported as by other adapters: ticks of hca_core_clock in tv_nsec, so that it can be compared with
 * completion time stamps.
 */
int hcasim_query_rt_values(struct ibv_context *ibctx, struct ibv_values_ex *values)
{
	if (!check_comp_mask(values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK))
		return hcasim_error(EOPNOTSUPP);
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = hcasim_read_clock(to_hctx(ibctx));
	}
	return 0;
}
