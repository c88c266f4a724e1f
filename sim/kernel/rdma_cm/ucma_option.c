// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Options, notification, and moving an id from one file to another. */
#include <errno.h>
#include <string.h>

#include "kernel/rdma_cm/ucma.h"

#define MAX_OPTION   4096 /* upper limit for memdup_user(); every valid option is shorter */
#define COMM_EST     4    /* enum ib_event_type */
#define PRIMARY_PATH (IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL)

static int set_flag(struct ucma_id *id, uint32_t name, bool on)
{
	if (name == RDMA_OPTION_ID_REUSEADDR) {
		if (id->state != ID_IDLE && (!on || id->state == ID_LISTEN))
			return -EINVAL;
		id->reuse = on;
	} else {
		if (id->state != ID_IDLE && id->state != ID_BOUND)
			return -EINVAL;
		id->afonly = on;
		id->afonly_set = true;
	}
	return 0;
}

static int set_id_option(struct ucma_id *id, uint32_t name, const uint8_t *val, uint32_t len)
{
	int32_t on;

	switch (name) {
	case RDMA_OPTION_ID_TOS:
		if (len != 1)
			return -EINVAL;
		id->tos = *val;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
	case RDMA_OPTION_ID_AFONLY:
		if (len != sizeof(on))
			return -EINVAL;
		memcpy(&on, val, sizeof(on));
		return set_flag(id, name, on);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (len != 1 || (id->qp_type != HCASIM_QPT_RC && id->qp_type != HCASIM_QPT_XRC_SEND))
			return -EINVAL;
		id->timeout = *val;
		id->timeout_set = true;
		return 0;
	default:
		return -ENOSYS;
	}
}

/* On Ethernet a path record from the program has no effect: the addresses determine the path. */
static int set_ib_path(struct ucma_id *id, const uint8_t *val, uint32_t len)
{
	struct ib_path_rec_data path;

	if (!id->dev || !len || len % sizeof(path))
		return -EINVAL;
	for (; len; len -= sizeof(path), val += sizeof(path)) {
		memcpy(&path, val, sizeof(path));
		if (path.flags == PRIMARY_PATH)
			break;
	}
	if (!len || id->state != ID_ADDR_RESOLVED)
		return -EINVAL;
	id->state = ID_ROUTE_RESOLVED;
	id->has_route = true;
	ucma_event(id, EV_ROUTE_RESOLVED, 0, NULL);
	return 0;
}

int uc_set_option(struct ucma_call *c)
{
	struct rdma_ucm_set_option cmd;
	uint8_t val[MAX_OPTION];
	struct ucma_id *id;
	int ret;

	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	if (cmd.optlen > sizeof(val))
		return -EINVAL;
	ret = ucma_find(c, cmd.id, &id);
	if (ret)
		return ret;
	if (cmd.optlen && c->t->ops->copy_from_user(c->t, val, cmd.optval, cmd.optlen))
		return -EFAULT;
	if (cmd.level == RDMA_OPTION_ID)
		return set_id_option(id, cmd.optname, val, cmd.optlen);
	if (cmd.level == RDMA_OPTION_IB && cmd.optname == RDMA_OPTION_IB_PATH)
		return set_ib_path(id, val, cmd.optlen);
	return -ENOSYS;
}

int uc_notify(struct ucma_call *c)
{
	struct rdma_ucm_notify cmd;
	struct ucma_id *id;
	int ret;

	ret = ucma_get_with_id(c, &cmd, &id);
	if (ret)
		return ret;
	if (!id->cm.used || cmd.event != COMM_EST)
		return -EINVAL; /* there is no alternate path to migrate to either */
	ret = cm_establish(id);
	if (!ret && id->state == ID_CONNECT)
		ucma_event(id, EV_ESTABLISHED, 0, NULL);
	return ret;
}

/* An event that the program writes is queued after those that wait (ucma_write_cm_event() in ucma.c). */
int uc_write_cm_event(struct ucma_call *c)
{
	struct rdma_ucm_event_resp resp = {0};
	struct ucma_write_cm_event cmd;
	struct ucma_id *id;
	int ret;

	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	if (cmd.event != EV_USER && cmd.event != EV_INTERNAL)
		return -EINVAL;
	ret = ucma_find(c, cmd.id, &id);
	if (ret)
		return ret;
	memcpy(&resp.param, &cmd.param.arg, sizeof(cmd.param.arg));
	ucma_event(id, cmd.event, (int)cmd.status, &resp);
	return 0;
}

static struct ucma_file *file_of(struct ucma_call *c, int fd, int *err)
{
	struct ucma_file *f;
	uint64_t ino;

	*err = -ENOENT;
	if (c->t->ops->fd_inode(c->t, fd, &ino))
		return NULL;
	*err = -EINVAL;
	TAILQ_FOREACH(f, &c->f->k->ucma->files, link)
	{
		/* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
		if (f->ino == ino && f->ready_fd >= 0)
			return f;
	}
	return NULL;
}

int uc_migrate_id(struct ucma_call *c)
{
	struct rdma_ucm_migrate_resp resp;
	struct rdma_ucm_migrate_id cmd;
	struct ucma_call from = *c;
	struct ucma_id *id;
	int ret;

	if (ucma_get(c, &cmd, sizeof(cmd)))
		return -EFAULT;
	from.f = file_of(c, (int)cmd.fd, &ret);
	if (!from.f)
		return ret;
	ret = ucma_find(&from, cmd.id, &id);
	if (ret)
		return ret;
	resp.events_reported = id->events_reported;
	if (from.f != c->f) {
		ucma_move_events(id, c->f);
		ucma_id_move(id, c->f);
		c->reply->drain_fd = (int)cmd.fd;
		c->reply->drain_other = ucma_surplus(from.f);
	}
	return ucma_put(c, cmd.response, &resp, sizeof(resp));
}
