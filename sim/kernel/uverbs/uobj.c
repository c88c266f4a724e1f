// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* User objects: handles, references between objects, and the order of destruction. */
#include <errno.h>
#include <stdlib.h>

#include "kernel/priv.h"

struct drv_head {
	struct uobj *u;
	uint64_t pad; /* keeps what follows aligned as malloc() does */
};

void *drv_alloc(size_t size, struct uobj *u)
{
	struct drv_head *h = calloc(1, sizeof(*h) + size);

	if (!h)
		return NULL;
	h->u = u;
	return h + 1;
}

void drv_free(void *drv)
{
	if (drv)
		free((struct drv_head *)drv - 1);
}

void drv_set_uobj(void *drv, struct uobj *u)
{
	((struct drv_head *)drv - 1)->u = u;
}

struct uobj *drv_uobj(const void *drv)
{
	return ((const struct drv_head *)drv - 1)->u;
}

int uobj_alloc(struct kfile *f, uint16_t type, struct uobj **out)
{
	struct uobj *u;
	int ret;

	if (!f->ctx)
		return -EINVAL;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->file = f;
	u->type = type;
	ret = numbers_add(&f->handles, u, &u->handle);
	if (ret) {
		free(u);
		return ret;
	}
	*out = u;
	return 0;
}

void uobj_commit(struct uobj *u)
{
	TAILQ_INSERT_HEAD(&u->file->objects, u, link);
	u->listed = true;
}

void uobj_use(struct uobj *user, struct uobj *used)
{
	for (int i = 0; i < UOBJ_MAX_USES; i++) {
		if (!user->uses[i]) {
			user->uses[i] = used;
			used->users++;
			return;
		}
	}
	abort(); /* no object uses more than UOBJ_MAX_USES others */
}

void uobj_unuse(struct uobj *user, struct uobj *used)
{
	for (int i = 0; i < UOBJ_MAX_USES; i++) {
		if (user->uses[i] == used) {
			user->uses[i] = NULL;
			used->users--;
			return;
		}
	}
}

void uobj_set_async(struct uobj *u, struct evfile *async)
{
	u->async = async ? async : u->file->default_async;
	if (u->async)
		evfile_get(u->async);
}

static void uobj_free(struct uobj *u)
{
	if (u->forget)
		u->forget(u);
	numbers_remove(&u->file->handles, u->handle);
	if (u->listed)
		TAILQ_REMOVE(&u->file->objects, u, link);
	evfile_forget(u->comp, u);
	evfile_forget(u->async, u);
	if (u->comp)
		evfile_put(u->comp);
	if (u->async)
		evfile_put(u->async);
	for (int i = 0; i < UOBJ_MAX_USES; i++) {
		if (u->uses[i])
			u->uses[i]->users--;
	}
	pin_release(u->file, &u->pinned);
	drv_free(u->drv);
	free(u);
}

/* Of a type that the driver declares (devices/method.h). */
static int destroy_declared(const struct drv_ops *ops, uint16_t type, void *drv)
{
	for (unsigned int i = 0; i < ops->num_objects; i++) {
		if (ops->objects[i].type == type)
			return ops->objects[i].destroy(drv);
	}
	return 0;
}

static int destroy_hw(struct uobj *u)
{
	const struct drv_ops *ops = kdev_ops(u->file->dev);

	if (u->drop)
		return u->drop(u);
	switch (u->type) {
	case UVERBS_OBJECT_PD:
		ops->dealloc_pd(u->drv);
		return 0;
	case UVERBS_OBJECT_MR:
		return ops->dereg_mr(u->drv);
	case UVERBS_OBJECT_DM:
		return ops->free_dm(u->drv);
	case UVERBS_OBJECT_CQ:
		return ops->destroy_cq(u->drv);
	case UVERBS_OBJECT_SRQ:
		return ops->destroy_srq(u->drv);
	case UVERBS_OBJECT_QP:
	case UVERBS_OBJECT_WQ:
		return ops->destroy_qp(u->drv);
	case UVERBS_OBJECT_RWQ_IND_TBL:
		ops->destroy_rwq_table(u->drv);
		return 0;
	case UVERBS_OBJECT_MW:
		return ops->dealloc_mw(u->drv);
	case UVERBS_OBJECT_FLOW:
		return ops->destroy_flow(u->drv);
	case UVERBS_OBJECT_AH:
		return ops->destroy_ah(u->drv);
	default:
		return destroy_declared(ops, u->type, u->drv);
	}
}

int uobj_destroy(struct uobj *u, struct ev_counts *counts)
{
	int ret = 0;

	if (u->users)
		return -EBUSY;
	if (u->type == UVERBS_OBJECT_QP && !LIST_EMPTY(&u->qp.mcasts))
		return -EBUSY;
	if (u->drv)
		ret = destroy_hw(u);
	if (ret)
		return ret;
	/* The counters do not change after the unread events are removed. */
	evfile_forget(u->comp, u);
	evfile_forget(u->async, u);
	if (counts)
		*counts = u->counts;
	uobj_free(u);
	return 0;
}

int uobj_destroy_handle(struct kfile *f, uint16_t type, uint64_t handle, struct ev_counts *counts)
{
	struct uobj *u;
	int ret = uobj_lookup(f, type, handle, &u);

	return ret ? ret : uobj_destroy(u, counts);
}

void uobj_abort(struct uobj *u)
{
	if (u->drv)
		destroy_hw(u);
	uobj_free(u);
}

/* Destroys the newest first, and repeats until nothing is left: an object is destroyed after its users. */
void uobj_destroy_all(struct kfile *f)
{
	struct uobj *u, *next;
	bool progress = true;

	while (progress && !TAILQ_EMPTY(&f->objects)) {
		progress = false;
		for (u = TAILQ_FIRST(&f->objects); u; u = next) {
			next = TAILQ_NEXT(u, link);
			if (u->detach)
				u->detach(u);
			if (!uobj_destroy(u, NULL))
				progress = true;
		}
	}
	/* Free the objects even if the driver refuses to destroy them. */
	while ((u = TAILQ_FIRST(&f->objects)))
		uobj_free(u);
}

int uobj_lookup(struct kfile *f, uint16_t type, uint64_t handle, struct uobj **out)
{
	struct uobj *u = handle < MAX_HANDLES ? numbers_find(&f->handles, (uint32_t)handle) : NULL;

	if (!u || !u->listed)
		return -ENOENT;
	if (type != DRV_ANY_OBJECT && u->type != type)
		return -EINVAL;
	*out = u;
	return 0;
}

int uobj_get(struct kfile *f, uint16_t type, uint32_t handle, struct uobj **out)
{
	const int ret = uobj_lookup(f, type, handle, out);

	return ret && f->dev->k->cfg.release < LINUX(6, 15) ? -EINVAL : ret;
}
