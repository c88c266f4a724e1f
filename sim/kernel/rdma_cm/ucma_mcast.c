// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Multicast groups. Ethernet has no subnet administrator, so a join completes at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/rdma_cm/ucma.h"

#define MULTICAST_QPN 0xffffff

static void leave(struct ucma_mc *mc)
{
	ucma_drop_mc_events(mc);
	numbers_remove(&mc->id->file->k->ucma->mc_table, mc->handle);
	TAILQ_REMOVE(&mc->id->mcs, mc, link);
	free(mc);
}

void ucma_leave_all(struct ucma_id *id)
{
	struct ucma_mc *mc;

	while ((mc = TAILQ_FIRST(&id->mcs)))
		leave(mc);
}

static void joined(struct ucma_mc *mc)
{
	struct rdma_ucm_event_resp resp = {0};
	struct ucma_id *id = mc->id;
	struct hca_av av = {.port = id->port, .sgid_index = id->sgid_index, .hop_limit = DEFAULT_HOPS};

	memcpy(av.dgid, mc->gid, 16);
	resp.param.ud.qp_num = MULTICAST_QPN;
	resp.param.ud.qkey = id->qkey ? id->qkey : UDP_QKEY;
	ucma_ah_attr(id, &av, &resp.param.ud.ah_attr);
	ucma_mc_event(mc, EV_MULTICAST_JOIN, 0, &resp);
}

static int join(struct ucma_call *c, const struct rdma_ucm_join_mcast *cmd,
		const struct sockaddr_storage *addr)
{
	struct rdma_ucm_create_id_resp resp;
	struct ucma_mc *mc;
	struct ucma_id *id;
	int ret;

	ret = ucma_find_dev(c, cmd->id, &id);
	if (ret)
		return ret;
	if ((id->state != ID_BOUND && id->state != ID_ADDR_RESOLVED) || id->qp_type != HCASIM_QPT_UD ||
	    ua_any(addr))
		return -EINVAL;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -ENOMEM;
	mc->id = id;
	mc->uid = cmd->uid;
	ua_gid(addr, mc->gid);
	if (numbers_add(&c->f->k->ucma->mc_table, mc, &mc->handle)) {
		free(mc);
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(&id->mcs, mc, link);
	resp.id = mc->handle;
	if (ucma_put(c, cmd->response, &resp, sizeof(resp))) {
		leave(mc);
		return -EFAULT;
	}
	joined(mc);
	return 0;
}

int uc_join_ip(struct ucma_call *c)
{
	struct sockaddr_storage addr = {0};
	struct rdma_ucm_join_ip_mcast cmd;
	struct rdma_ucm_join_mcast join_cmd = {0};
	size_t size;

	if (c->out_len < sizeof(struct rdma_ucm_create_id_resp))
		return -ENOSPC;
	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	size = ua_size(&cmd.addr, sizeof(cmd.addr));
	if (!size)
		return -EINVAL;
	memcpy(&addr, &cmd.addr, size);
	join_cmd.response = cmd.response;
	join_cmd.uid = cmd.uid;
	join_cmd.id = cmd.id;
	return join(c, &join_cmd, &addr);
}

int uc_join(struct ucma_call *c)
{
	struct sockaddr_storage addr = {0};
	struct rdma_ucm_join_mcast cmd;
	size_t size;

	if (c->out_len < sizeof(struct rdma_ucm_create_id_resp))
		return -ENOSPC;
	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	size = ua_size(&cmd.addr, sizeof(cmd.addr));
	if (!size || size != cmd.addr_size || cmd.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return -EINVAL;
	memcpy(&addr, &cmd.addr, size);
	return join(c, &cmd, &addr);
}

int uc_leave(struct ucma_call *c)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id cmd;
	struct ucma_mc *mc;

	if (c->out_len < sizeof(resp))
		return -ENOSPC;
	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	mc = numbers_find(&c->f->k->ucma->mc_table, cmd.id);
	if (!mc)
		return -ENOENT;
	if (mc->id->file != c->f)
		return -EINVAL;
	resp.events_reported = mc->events_reported;
	leave(mc);
	return ucma_put(c, cmd.response, &resp, sizeof(resp));
}
