// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events of DEVX (MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD): of its CQs and queue pairs, and of ports. They go to the files,
 * and to the program's own eventfds, that have subscribed to them; those of objects of verbs go to the kernel.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/devx/devx.h"

#define MAX_TYPES  255 /* MAX_SUPP_EVENT_NUM of mlx5_ib */
#define CQ_OVERRUN 1
#define EVENT(x)   HCASIM_MLX5_EVENT_##x

struct mlx5_event_sub {
	TAILQ_ENTRY(mlx5_event_sub) link;
	struct mlx5_ucontext *ctx;
	struct drv_file *file;
	uint64_t cookie;
	int eventfd; /* -1: the file itself */
	uint16_t type;
};

struct record {
	uint64_t cookie;
	struct hcasim_mlx5_eqe eqe;
};

/* ---- Delivery ---- */

/* Never waits, as a counter at its limit would let us. */
static void signal(int eventfd)
{
	struct pollfd p = {.fd = eventfd, .events = POLLOUT};
	const uint64_t one = 1;

	if (poll(&p, 1, 0) > 0 && p.revents & POLLOUT && write(eventfd, &one, sizeof(one)) < 0)
		return; /* nobody has it any more */
}

static void deliver(const struct mlx5_dev *m, const struct mlx5_event_subs *subs, uint8_t type,
		    uint8_t sub_type, const void *data)
{
	struct record r = {.eqe = {.type = type, .sub_type = sub_type}};
	const struct mlx5_event_sub *s;

	memcpy(r.eqe.data, data, sizeof(r.eqe.data));
	TAILQ_FOREACH(s, subs, link)
	{
		/* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
		const bool omit = s->file->flags & MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA;

		if (s->type != type)
			continue;
		r.cookie = s->cookie;
		if (s->eventfd >= 0)
			signal(s->eventfd);
		else /* a program that does not read loses events */
			m->kernel->file_push(s->file, &r, omit ? sizeof(r.cookie) : sizeof(r));
	}
}

static struct mlx5_dev *dev_of(const struct drv_cq *cq)
{
	return mlx5_dev(cq->ctx->dev);
}

static void completion(struct drv_cq *cq)
{
	const struct mlx5_devx_obj *obj = ((const struct mlx5_cq *)cq)->devx;
	const struct hcasim_mlx5_eqe_comp data = {.number = htobe32(cq->cqn)};

	if (obj)
		deliver(dev_of(cq), &obj->subs, EVENT(COMP), 0, &data);
	else
		dev_of(cq)->kernel->completion(cq);
}

static void async_cq(struct drv_cq *cq, uint32_t event)
{
	const struct mlx5_devx_obj *obj = ((const struct mlx5_cq *)cq)->devx;
	const struct hcasim_mlx5_eqe_cq_error data = {.number = htobe32(cq->cqn), .syndrome = CQ_OVERRUN};

	if (obj)
		deliver(dev_of(cq), &obj->subs, EVENT(CQ_ERROR), 0, &data);
	else
		dev_of(cq)->kernel->async_cq(cq, event);
}

/* By enum ibv_event_type. */
static const uint8_t qp_events[] = {
	[1] = EVENT(WQ_CATAS_ERROR), [2] = EVENT(WQ_INVAL_REQ_ERROR), [3] = EVENT(WQ_ACCESS_ERROR),
	[4] = EVENT(COMM_EST),       [5] = EVENT(SQ_DRAINED),         [6] = EVENT(PATH_MIG),
	[16] = EVENT(SRQ_LAST_WQE)};

static void async_qp(struct drv_qp *qp, uint32_t event)
{
	const struct mlx5_devx_obj *obj = qp->wq ? NULL : ((const struct mlx5_qp *)qp)->devx;
	const struct hcasim_mlx5_eqe_qp data = {.number = htobe32(qp->qpn)};

	if (!obj)
		mlx5_dev(qp->dev)->kernel->async_qp(qp, event);
	else if (event < sizeof(qp_events) && qp_events[event])
		deliver(mlx5_dev(qp->dev), &obj->subs, qp_events[event], 0, &data);
}

#define PORT_ACTIVE 9 /* enum ibv_event_type */
#define PORT_ERR    10

static void async_port(struct drv_device *dev, uint8_t port, uint32_t event)
{
	const struct mlx5_dev *m = mlx5_dev(dev);
	const struct hcasim_mlx5_eqe_port data = {
		.number = htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_EQE_PORT_PORT_NUM_MASK, (uint32_t)port))};

	m->kernel->async_port(dev, port, event);
	if (event == PORT_ACTIVE || event == PORT_ERR)
		deliver(m, &m->subs, EVENT(PORT_CHANGE),
			event == PORT_ACTIVE ? HCASIM_MLX5_PORT_CHANGE_ACTIVE : HCASIM_MLX5_PORT_CHANGE_DOWN,
			&data);
}

void mlx5_devx_events_init(struct mlx5_dev *m, const struct drv_upcalls *kernel)
{
	TAILQ_INIT(&m->subs);
	m->kernel = kernel;
	m->up = *kernel;
	m->up.completion = completion;
	m->up.async_cq = async_cq;
	m->up.async_qp = async_qp;
	m->up.async_port = async_port;
}

/* ---- Subscriptions ---- */

static void end_one(const struct mlx5_dev *m, struct mlx5_event_subs *subs, struct mlx5_event_sub *s)
{
	TAILQ_REMOVE(subs, s, link);
	if (s->eventfd >= 0) {
		close(s->eventfd);
		s->ctx->num_eventfds--;
	}
	m->kernel->file_put(s->file);
	free(s);
}

void mlx5_devx_events_end(const struct drv_device *dev, struct mlx5_event_subs *subs)
{
	struct mlx5_event_sub *s;

	while ((s = TAILQ_FIRST(subs)))
		end_one(mlx5_dev(dev), subs, s);
}

void mlx5_devx_events_close(const struct mlx5_ucontext *ctx)
{
	struct mlx5_dev *m = mlx5_dev(ctx->base.dev);
	struct mlx5_event_sub *s, *next;

	for (s = TAILQ_FIRST(&m->subs); s; s = next) {
		next = TAILQ_NEXT(s, link);
		if (s->ctx == ctx)
			end_one(m, &m->subs, s);
	}
}

/* Of files that the program has closed: nobody gets their events. */
static void end_closed(const struct mlx5_dev *m, struct mlx5_event_subs *subs)
{
	struct mlx5_event_sub *s, *next;

	for (s = TAILQ_FIRST(subs); s; s = next) {
		next = TAILQ_NEXT(s, link);
		if (!m->kernel->file_open(s->file))
			end_one(m, subs, s);
	}
}

int mlx5_devx_alloc_events(struct drv_call *c)
{
	struct drv_file *f = c->ops->file(c, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE);
	uint64_t flags = 0;
	int ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, &flags, sizeof(flags));

	if (!c->ctx || !mlx5_ctx(c->ctx)->devx)
		ret = -EINVAL;
	if (!ret && flags & ~(uint64_t)MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA)
		ret = -EINVAL;
	if (!ret)
		f->flags = (uint32_t)flags;
	return ret;
}

/* Those that an adapter without event_cap has (is_legacy_obj_event_num() of mlx5_ib). */
static bool is_type(uint16_t type, bool of_object)
{
	static const uint8_t of_objects[] = {
		EVENT(COMP),
		EVENT(PATH_MIG),
		EVENT(COMM_EST),
		EVENT(SQ_DRAINED),
		EVENT(CQ_ERROR),
		EVENT(WQ_CATAS_ERROR),
		EVENT(PATH_MIG_FAILED),
		EVENT(SRQ_RQ_LIMIT),
		EVENT(WQ_INVAL_REQ_ERROR),
		EVENT(WQ_ACCESS_ERROR),
		EVENT(SRQ_CATAS_ERROR),
		EVENT(SRQ_LAST_WQE),
		EVENT(DCT_KEY_VIOLATION),
		EVENT(DCT_DRAINED),
	};

	if (!of_object)
		return type == EVENT(PORT_CHANGE);
	for (size_t i = 0; i < sizeof(of_objects); i++) {
		if (of_objects[i] == type)
			return true;
	}
	return false;
}

static int get_types(struct drv_call *c, uint16_t types[MAX_TYPES], size_t *num, bool of_object)
{
	const size_t bytes = c->ops->size(c, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST);
	int ret;

	*num = bytes / sizeof(types[0]);
	if (bytes % sizeof(types[0]) || !*num || *num > MAX_TYPES)
		return -EINVAL;
	ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, types, bytes);
	for (size_t i = 0; !ret && i < *num; i++)
		ret = is_type(types[i], of_object) ? 0 : -EINVAL;
	return ret;
}

static bool is_eventfd(int fd)
{
	char path[32], name[32];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, name, sizeof(name) - 1);
	if (len < 0)
		return false;
	name[len] = '\0';
	return !strcmp(name, "anon_inode:[eventfd]");
}

/* Either the program's eventfd, or a cookie. */
static int get_target(struct drv_call *c, struct mlx5_event_sub *s)
{
	int32_t fd;
	int ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, &s->cookie, sizeof(s->cookie));
	const bool cookie = !ret;

	s->eventfd = -1;
	if (ret && ret != -ENOENT)
		return ret;
	ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, &fd, sizeof(fd));
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	if (cookie)
		return -EINVAL;
	s->eventfd = c->ops->user_fd(c, fd);
	if (s->eventfd < 0)
		return s->eventfd;
	return is_eventfd(s->eventfd) ? 0 : -EINVAL;
}

/* Each subscription has a descriptor of its own, of which one program must not take all. */
static int own_eventfd(struct mlx5_ucontext *ctx, int eventfd)
{
	const int own = ctx->num_eventfds < MLX5_MAX_EVENTFDS ? dup(eventfd) : -1;

	ctx->num_eventfds += own >= 0;
	return own;
}

static int add(struct mlx5_event_subs *subs, const struct mlx5_event_sub *proto, const struct mlx5_dev *m)
{
	struct mlx5_event_sub *s = malloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = *proto;
	if (proto->eventfd >= 0) {
		s->eventfd = own_eventfd(s->ctx, proto->eventfd);
		if (s->eventfd < 0) {
			free(s);
			return -EMFILE;
		}
	}
	m->kernel->file_get(s->file);
	TAILQ_INSERT_TAIL(subs, s, link);
	return 0;
}

/* All types, or none. */
static int add_all(struct mlx5_event_subs *subs, struct mlx5_event_sub *proto, const struct mlx5_dev *m,
		   const uint16_t *types, size_t num)
{
	int ret = 0;
	size_t i;

	end_closed(m, subs);
	for (i = 0; i < num && !ret; i++) {
		proto->type = types[i];
		ret = add(subs, proto, m);
	}
	for (i -= ret ? 1 : 0; ret && i; i--)
		end_one(m, subs, TAILQ_LAST(subs, mlx5_event_subs));
	return ret;
}

int mlx5_devx_subscribe(struct drv_call *c)
{
	struct mlx5_devx_obj *obj = c->ops->object(c, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE);
	struct mlx5_event_sub proto = {.eventfd = -1};
	struct mlx5_dev *m = mlx5_dev(c->dev);
	uint16_t types[MAX_TYPES];
	size_t num;
	int ret;

	if (!c->ctx || !mlx5_ctx(c->ctx)->devx)
		return -EINVAL;
	proto.ctx = mlx5_ctx(c->ctx);
	proto.file = c->ops->file(c, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE);
	ret = get_types(c, types, &num, obj);
	if (!ret)
		ret = get_target(c, &proto);
	if (!ret)
		ret = add_all(obj ? &obj->subs : &m->subs, &proto, m, types, num);
	if (proto.eventfd >= 0)
		close(proto.eventfd);
	return ret;
}
