// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Ids: creation and destruction, addresses, routes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/rdma_cm/ucma.h"

#define FLOW_LABEL 0xfffffu

#define MAX_BACKLOG 1024 /* net.rdma_ucm.max_backlog */

/* ---- Creation and destruction ---- */

struct ucma_id *ucma_id_new(struct ucma_file *f, uint16_t ps, uint8_t qp_type)
{
	struct ucma_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	if (numbers_add(&f->k->ucma->id_table, id, &id->handle)) {
		free(id);
		return NULL;
	}
	id->file = f;
	id->ps = ps;
	id->qp_type = qp_type;
	id->psn = ucma_random(f->k) & 0xffffff;
	TAILQ_INIT(&id->mcs);
	TAILQ_INIT(&id->events);
	TAILQ_INSERT_TAIL(&f->ids, id, of_file);
	return id;
}

void ucma_id_move(struct ucma_id *id, struct ucma_file *to)
{
	TAILQ_REMOVE(&id->file->ids, id, of_file);
	TAILQ_INSERT_TAIL(&to->ids, id, of_file);
	id->file = to;
}

static void drop_events(struct ucma_id *id)
{
	struct ucma_id *conn;
	struct ucma_event *e;

	while ((e = TAILQ_FIRST(&id->events))) {
		ucma_unqueue_event(id->file, e);
		conn = e->conn;
		ucma_free_event(e);
		if (conn)
			ucma_id_destroy(conn);
	}
}

void ucma_move_events(struct ucma_id *id, struct ucma_file *to)
{
	struct ucma_event *e;

	TAILQ_FOREACH(e, &id->events, of_id)
	{
		/* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
		ucma_unqueue_event(id->file, e);
		if (e->conn)
			ucma_id_move(e->conn, to);
		ucma_queue_event(to, e);
	}
}

uint32_t ucma_id_destroy(struct ucma_id *id)
{
	const uint32_t events = id->events_reported;
	struct ucma *u = id->file->k->ucma;

	ktimer_cancel(&id->addr_timer);
	cm_destroy(id, false);
	ucma_leave_all(id);
	drop_events(id);
	numbers_remove(&u->id_table, id->handle);
	if (id->bound)
		table_remove(&u->bound, &id->by_port);
	if (id->cm.local.comm_id)
		table_remove(&u->comm_ids, &id->by_comm_id);
	if (id->state == ID_LISTEN)
		table_remove(&u->listeners, &id->by_service);
	cm_forget_peer(id);
	TAILQ_REMOVE(&id->file->ids, id, of_file);
	free(id);
	return events;
}

static int qp_type_of(const struct rdma_ucm_create_id *cmd)
{
	switch (cmd->ps) {
	case RDMA_PS_TCP:
		return HCASIM_QPT_RC;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return HCASIM_QPT_UD;
	case RDMA_PS_IB:
		return cmd->qp_type;
	default:
		return -EINVAL;
	}
}

int uc_create_id(struct ucma_call *c)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id cmd;
	struct ucma_id *id;
	int type;

	if (c->out_len < sizeof(resp))
		return -ENOSPC;
	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	type = qp_type_of(&cmd);
	if (type < 0)
		return type;
	id = ucma_id_new(c->f, cmd.ps, type);
	if (!id)
		return -ENOMEM;
	id->uid = cmd.uid;
	resp.id = id->handle;
	if (ucma_put(c, cmd.response, &resp, sizeof(resp))) {
		ucma_id_destroy(id);
		return -EFAULT;
	}
	return 0;
}

int uc_destroy_id(struct ucma_call *c)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id cmd;
	struct ucma_id *id;
	int ret;

	if (c->out_len < sizeof(resp))
		return -ENOSPC;
	ret = ucma_get_with_id(c, &cmd, &id);
	if (ret)
		return ret;
	resp.events_reported = ucma_id_destroy(id);
	return ucma_put(c, cmd.response, &resp, sizeof(resp));
}

/* ---- Addresses ---- */

void ucma_id_attach(struct ucma_id *id, struct kdev *d, uint8_t port, uint8_t sgid_index)
{
	id->dev = d;
	id->port = port;
	id->sgid_index = sgid_index;
}

int ucma_id_reach(struct ucma_id *id, const uint8_t dgid[16])
{
	struct ib_uverbs_ah_attr attr = {.is_global = 1, .port_num = id->port};

	memcpy(attr.grh.dgid, dgid, 16);
	attr.grh.sgid_index = id->sgid_index;
	attr.grh.traffic_class = id->tos;
	return addr_resolve(id->dev, &attr, &id->av);
}

static bool link_local_without_scope(const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;

	return a->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) && !six->sin6_scope_id;
}

/* Finds the adapter whose network interface has the source address. */
static int attach_by_source(struct ucma_id *id)
{
	uint8_t port, index;
	struct kdev *d;

	if (ua_any(&id->src))
		return 0;
	if (id->src.ss_family == AF_IB)
		return -ENODEV; /* it is the address of an InfiniBand port */
	if (!ua_find(id->file->k, &id->src, &d, &port, &index))
		return -EADDRNOTAVAIL;
	if (id->ps == RDMA_PS_IPOIB)
		return -EINVAL; /* only for InfiniBand interfaces */
	ucma_id_attach(id, d, port, index);
	return 0;
}

static int bind_addr(struct ucma_id *id, const struct sockaddr_storage *a)
{
	int ret;

	if (!ua_size(a, sizeof(*a)))
		return -EAFNOSUPPORT;
	if (id->state != ID_IDLE || link_local_without_scope(a))
		return -EINVAL;
	id->src = *a;
	ret = attach_by_source(id);
	if (!id->afonly_set)
		id->afonly = a->ss_family == AF_INET;
	if (!ret)
		ret = ua_take_port(id);
	if (ret) {
		id->dev = NULL;
		memset(&id->src, 0, sizeof(id->src));
		return ret;
	}
	id->state = ID_BOUND;
	return 0;
}

/* An address size in the request must be that of the address family. */
static int check_size(const void *addr, size_t stated)
{
	return stated && stated == ua_size(addr, sizeof(struct sockaddr_storage)) ? 0 : -EINVAL;
}

static int bind_handle(struct ucma_call *c, uint32_t handle, const void *addr, size_t size)
{
	struct sockaddr_storage a = {0};
	struct ucma_id *id;
	int ret = ucma_find(c, handle, &id);

	if (ret)
		return ret;
	memcpy(&a, addr, size);
	return bind_addr(id, &a);
}

int uc_bind_ip(struct ucma_call *c)
{
	struct rdma_ucm_bind_ip cmd;
	size_t size;

	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	size = ua_size(&cmd.addr, sizeof(cmd.addr));
	return size ? bind_handle(c, cmd.id, &cmd.addr, size) : -EINVAL;
}

int uc_bind(struct ucma_call *c)
{
	struct rdma_ucm_bind cmd;

	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	if (cmd.reserved || check_size(&cmd.addr, cmd.addr_size))
		return -EINVAL;
	return bind_handle(c, cmd.id, &cmd.addr, cmd.addr_size);
}

int uc_listen(struct ucma_call *c)
{
	const struct sockaddr_storage any = {.ss_family = AF_INET};
	struct rdma_ucm_listen cmd;
	struct ucma_id *id;
	int ret;

	ret = ucma_get_with_id(c, &cmd, &id);
	if (ret)
		return ret;
	id->backlog = cmd.backlog > 0 && cmd.backlog < MAX_BACKLOG ? cmd.backlog : MAX_BACKLOG;
	if (id->state != ID_BOUND)
		ret = bind_addr(id, &any);
	/* A listening id cannot share its address. */
	if (!ret && id->reuse)
		ret = ua_check_port(id, false);
	if (ret)
		return ret;
	id->reuse = false;
	id->state = ID_LISTEN;
	table_add(&c->f->k->ucma->listeners, &id->by_service, ua_service(id, &id->src));
	return 0;
}

/* ---- Resolution ---- */

static void addr_done(struct ucma_id *id, int status)
{
	if (id->state != ID_ADDR_QUERY)
		return;
	id->state = status ? ID_BOUND : ID_ADDR_RESOLVED;
	ucma_event(id, status ? EV_ADDR_ERROR : EV_ADDR_RESOLVED, status, NULL);
}

static void addr_timeout(struct ktimer *t)
{
	struct ucma_id *id = (struct ucma_id *)((char *)t - offsetof(struct ucma_id, addr_timer));

	addr_done(id, id->addr_status);
}

static void set_source(struct ucma_id *id, uint8_t *index)
{
	const uint16_t port = ua_port(&id->src);
	struct sockaddr_storage own = {0};

	ua_of_port(id->dev, id->port, id->dst.ss_family, &own, index);
	ua_set_port(&own, port);
	id->src = own;
}

/*
 * Finds the interface by the host's routes: for one of the host's own addresses the interface that has it,
 * for others the one in the same subnet.
 */
static bool route_device(struct ucma_id *id)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&id->dst;
	struct kernel *k = id->file->k;
	struct sockaddr_storage own = {0};
	uint8_t gid[16], own_gid[16], found, index;
	struct kdev *d;

	if (ua_find(k, &id->dst, &d, &found, &index)) {
		ucma_id_attach(id, d, found, index);
		return true;
	}
	ua_gid(&id->dst, gid);
	for (unsigned int i = 0; i < k->num_devices; i++) {
		for (unsigned int port = 1; port <= k->dev[i].num_ports; port++) {
			ua_of_port(&k->dev[i], port, id->dst.ss_family, &own, &index);
			ua_gid(&own, own_gid);
			if (id->dst.ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)
				    ? six->sin6_scope_id == kdev_ifindex(&k->dev[i], port)
				    : id->dst.ss_family == AF_INET && !memcmp(gid, own_gid, 15)) {
				ucma_id_attach(id, &k->dev[i], port, index);
				return true;
			}
		}
	}
	return false;
}

static int find_route(struct ucma_id *id)
{
	struct sockaddr_storage own = {0};
	uint8_t gid[16], index;

	if (ua_any(&id->dst)) { /* this machine */
		if (!id->dev)
			ucma_id_attach(id, &id->file->k->dev[0], 1, 0);
		ua_of_port(id->dev, id->port, id->dst.ss_family, &own, &index);
		ua_set_port(&own, ua_port(&id->dst));
		id->dst = own;
	} else if (!id->dev && !route_device(id)) {
		return -ENETUNREACH;
	}
	if (id->ps == RDMA_PS_IPOIB)
		return -EINVAL;
	if (ua_any(&id->src))
		set_source(id, &id->sgid_index);
	ua_gid(&id->dst, gid);
	return ucma_id_reach(id, gid);
}

static int resolve(struct ucma_id *id, const struct sockaddr_storage *src, const struct sockaddr_storage *dst,
		   uint32_t timeout_ms)
{
	struct sockaddr_storage from;
	bool had_device;
	int ret = 0;

	memset(&from, 0, sizeof(from));
	from.ss_family = dst->ss_family;
	if (id->state != ID_BOUND)
		ret = bind_addr(id, src->ss_family ? src : &from);
	if (ret)
		return ret;
	if (id->src.ss_family != dst->ss_family)
		return -EINVAL;
	if (dst->ss_family == AF_IB)
		return -ENODEV; /* no InfiniBand port */
	had_device = id->dev;
	id->dst = *dst;
	id->state = ID_ADDR_QUERY;
	ret = find_route(id);
	if (ret && !had_device)
		id->dev = NULL;
	if (ret == -ETIMEDOUT) { /* no answer to ARP */
		id->addr_status = ret;
		id->addr_timer.fire = addr_timeout;
		ktimer_set_ms(id->file->k, &id->addr_timer, timeout_ms);
	} else {
		addr_done(id, ret);
	}
	return 0;
}

int uc_resolve_ip(struct ucma_call *c)
{
	struct sockaddr_storage src = {0}, dst = {0};
	struct rdma_ucm_resolve_ip cmd = {0};
	struct ucma_id *id;
	int ret;

	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	if ((cmd.src_addr.sin6_family && !ua_size(&cmd.src_addr, sizeof(cmd.src_addr))) ||
	    !ua_size(&cmd.dst_addr, sizeof(cmd.dst_addr)))
		return -EINVAL;
	ret = ucma_find(c, cmd.id, &id);
	if (ret)
		return ret;
	memcpy(&src, &cmd.src_addr, sizeof(cmd.src_addr));
	memcpy(&dst, &cmd.dst_addr, ua_size(&cmd.dst_addr, sizeof(cmd.dst_addr)));
	return resolve(id, &src, &dst, cmd.timeout_ms);
}

int uc_resolve_addr(struct ucma_call *c)
{
	struct sockaddr_storage src = {0}, dst = {0};
	struct rdma_ucm_resolve_addr cmd = {0};
	struct ucma_id *id;
	int ret;

	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	if (cmd.reserved || (cmd.src_size && check_size(&cmd.src_addr, cmd.src_size)) ||
	    check_size(&cmd.dst_addr, cmd.dst_size))
		return -EINVAL;
	ret = ucma_find(c, cmd.id, &id);
	if (ret)
		return ret;
	memcpy(&src, &cmd.src_addr, cmd.src_size);
	memcpy(&dst, &cmd.dst_addr, cmd.dst_size);
	return resolve(id, &src, &dst, cmd.timeout_ms);
}

/* cma_get_roce_udp_flow_label(): the ports, unless the program has set one in the source address. */
static uint32_t flow_label(const struct ucma_id *id)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&id->src;
	uint32_t label = 0;

	if (id->src.ss_family == AF_INET6)
		label = ntohl(six->sin6_flowinfo);
	if (!(label & FLOW_LABEL))
		label = ntohs(ua_port(&id->src)) * 31u + ntohs(ua_port(&id->dst));
	return label & FLOW_LABEL;
}

int uc_resolve_route(struct ucma_call *c)
{
	struct rdma_ucm_resolve_route cmd;
	struct ucma_id *id;
	int ret;

	ret = ucma_get_with_dev(c, &cmd, &id);
	if (ret)
		return ret;
	if (!cmd.timeout_ms || id->state != ID_ADDR_RESOLVED)
		return -EINVAL;
	/* What is not in the addresses is as of now (cma_resolve_iboe_route()). */
	id->av.traffic_class = id->tos;
	id->av.flow_label = flow_label(id);
	id->state = ID_ROUTE_RESOLVED;
	id->has_route = true;
	ucma_event(id, EV_ROUTE_RESOLVED, 0, NULL);
	return 0;
}

/* Only the subnet administrator of InfiniBand can resolve a service (rdma_resolve_ib_service() in cma.c). */
int uc_resolve_ib_service(struct ucma_call *c)
{
	struct ucma_resolve_ib_service cmd;
	struct ucma_id *id;
	int ret;

	ret = ucma_get_with_id(c, &cmd, &id);
	if (ret)
		return ret;
	return id->dev && id->state == ID_BOUND ? -EOPNOTSUPP : -EINVAL;
}
