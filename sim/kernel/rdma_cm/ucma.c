// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* /dev/infiniband/rdma_cm: open files and their commands. */
#include <errno.h>
#include <stdlib.h>

#include "kernel/rdma_cm/ucma.h"

static int (*const commands[])(struct ucma_call *c) = {
	[RDMA_USER_CM_CMD_CREATE_ID] = uc_create_id,
	[RDMA_USER_CM_CMD_DESTROY_ID] = uc_destroy_id,
	[RDMA_USER_CM_CMD_BIND_IP] = uc_bind_ip,
	[RDMA_USER_CM_CMD_RESOLVE_IP] = uc_resolve_ip,
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = uc_resolve_route,
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = uc_query_route,
	[RDMA_USER_CM_CMD_CONNECT] = uc_connect,
	[RDMA_USER_CM_CMD_LISTEN] = uc_listen,
	[RDMA_USER_CM_CMD_ACCEPT] = uc_accept,
	[RDMA_USER_CM_CMD_REJECT] = uc_reject,
	[RDMA_USER_CM_CMD_DISCONNECT] = uc_disconnect,
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = uc_init_qp_attr,
	[RDMA_USER_CM_CMD_GET_EVENT] = uc_get_event,
	[RDMA_USER_CM_CMD_GET_OPTION] = NULL, /* Linux does not have it either */
	[RDMA_USER_CM_CMD_SET_OPTION] = uc_set_option,
	[RDMA_USER_CM_CMD_NOTIFY] = uc_notify,
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = uc_join_ip,
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = uc_leave,
	[RDMA_USER_CM_CMD_MIGRATE_ID] = uc_migrate_id,
	[RDMA_USER_CM_CMD_QUERY] = uc_query,
	[RDMA_USER_CM_CMD_BIND] = uc_bind,
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = uc_resolve_addr,
	[RDMA_USER_CM_CMD_JOIN_MCAST] = uc_join,
	[UCMA_RESOLVE_IB_SERVICE] = uc_resolve_ib_service,
	[UCMA_WRITE_CM_EVENT] = uc_write_cm_event,
};

ssize_t ucma_write(struct ucma_file *f, struct task *t, uint64_t buf, size_t len, struct kreply *reply)
{
	struct rdma_ucm_cmd_hdr hdr;
	struct ucma_call c = {.f = f, .t = t, .reply = reply, .in = buf + sizeof(hdr)};
	int ret;

	if (len < sizeof(hdr))
		return -EINVAL;
	if (t->ops->copy_from_user(t, &hdr, buf, sizeof(hdr)))
		return -EFAULT;
	if (hdr.cmd >= sizeof(commands) / sizeof(commands[0]) ||
	    !kernel_has(f->k, ABI_UCMA_COMMAND, 0, 0, hdr.cmd) || hdr.in + sizeof(hdr) > len)
		return -EINVAL;
	if (!commands[hdr.cmd])
		return -ENOSYS;
	c.in_len = hdr.in;
	c.out_len = hdr.out;
	ret = commands[hdr.cmd](&c);
	log_cm_call(&c, hdr.cmd, ret);
	ucma_ready(f, reply);
	return ret ? ret : (ssize_t)len;
}

/* ---- Files ---- */

int ucma_open(struct kernel *k, struct kfile *owner)
{
	struct ucma_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->k = k;
	f->owner = owner;
	f->ready_fd = -1;
	TAILQ_INIT(&f->events);
	TAILQ_INIT(&f->ids);
	TAILQ_INSERT_TAIL(&k->ucma->files, f, link);
	owner->cm = f;
	return 0;
}

static struct ucma_id *any_id_of(struct ucma_file *f)
{
	struct ucma_id *id;

	/* An unread request is destroyed with its listener. */
	TAILQ_FOREACH(id, &f->ids, of_file)
	{
		/* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
		if (!id->request_of)
			return id;
	}
	return NULL;
}

void ucma_release(struct ucma_file *f)
{
	struct ucma_id *id;

	f->ready_fd = -1;
	while ((id = any_id_of(f)))
		ucma_id_destroy(id);
	TAILQ_REMOVE(&f->k->ucma->files, f, link);
	free(f);
}

int ucma_init(struct kernel *k)
{
	struct ucma *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	TAILQ_INIT(&u->files);
	numbers_init(&u->id_table, 0, MAX_HANDLES, MAX_HANDLES / 2);
	numbers_init(&u->mc_table, 0, MAX_HANDLES, MAX_HANDLES / 2);
	k->ucma = u;
	return 0;
}

void ucma_exit(struct kernel *k)
{
	numbers_free(&k->ucma->id_table);
	numbers_free(&k->ucma->mc_table);
	table_free(&k->ucma->comm_ids);
	table_free(&k->ucma->bound);
	table_free(&k->ucma->peers);
	table_free(&k->ucma->peer_qps);
	table_free(&k->ucma->listeners);
	free(k->ucma);
	k->ucma = NULL;
}
