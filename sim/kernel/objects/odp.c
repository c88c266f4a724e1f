// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: page requests of the adapter, and ibv_advise_mr(), as in drivers/infiniband/hw/mlx5/odp.c
 * and drivers/infiniband/core/umem_odp.c. A page is "in memory" when the application has it mapped with the
 * rights that the access needs; if it is not resident, the adapter's DMA brings it in. Requests and
 * prefetches take the time that the profile sets. The mappings are read at the end of that time, so that
 * pages unmapped in the meantime are noticed.
 */
#include <errno.h>
#include <stdlib.h>

#include "kernel/uverbs/ioctl.h"

#define MAX_RANGES  256 /* of one request: at most two for each SGE of a WQE */
#define CHUNK_PAGES 512

/* One job of the page fault handler, in simulated time. */
struct page_work {
	struct ktimer timer;
	LIST_ENTRY(page_work) link;
	struct kdev *d;
	uint32_t token; /* token of the request; 0: a prefetch */
	enum ib_uverbs_advise_mr_advice advice;
	uint32_t n;
	struct hca_page_range range[];
};

static void work_free(struct page_work *w)
{
	ktimer_cancel(&w->timer);
	LIST_REMOVE(w, link);
	free(w);
}

static void work_start(struct kdev *d, struct page_work *w, void (*fire)(struct ktimer *t))
{
	const struct kernel_config *cfg = &d->k->cfg;
	uint64_t pages = 0;

	for (uint32_t i = 0; i < w->n; i++)
		pages += w->range[i].len / KPAGE_SIZE;
	w->d = d;
	w->timer.fire = fire;
	LIST_INSERT_HEAD(&d->page_works, w, link);
	ktimer_set(d->k, &w->timer, cfg->page_fault + pages * cfg->page_fault_per_page);
}

static struct task *task_of(const struct kdev *d, uint32_t pasid)
{
	const struct kernel_config *cfg = &d->k->cfg;

	return cfg->find_task ? cfg->find_task(cfg->find_task_arg, pasid) : NULL;
}

/*
 * Maps pages writable at once if both the region and the mapping allow it, so that a write does not fault
 * again.
 */
static int map_range(struct kdev *d, struct hca_page_range *r, bool prefetch)
{
	struct task *t = task_of(d, r->pasid);
	int ret = t ? -EFAULT : -ESRCH;

	if (t && (r->write || r->writable))
		ret = t->ops->access_check(t, r->va, r->len, true);
	if (!ret)
		r->write = true;
	else if (t && !r->write)
		ret = t->ops->access_check(t, r->va, r->len, false);
	return ret ? ret : kdev_ops(d)->map_pages(&d->drv, r, prefetch);
}

/* ---- Requests of the adapter ---------------------------------------------------------------------- */

/* A region that was deregistered (-EINVAL) is not an error here: the adapter checks the key again. */
static bool resolve(struct kdev *d, struct page_work *w)
{
	int ret;

	for (uint32_t i = 0; i < w->n; i++) {
		ret = map_range(d, &w->range[i], false);
		if (ret && ret != -EINVAL && !w->range[i].hint)
			return false;
	}
	return true;
}

static void request_due(struct ktimer *t)
{
	struct page_work *w = (struct page_work *)t;
	const bool mapped = resolve(w->d, w);

	kdev_ops(w->d)->page_response(&w->d->drv, w->token, mapped);
	work_free(w);
}

void odp_page_request(struct drv_device *drv, uint32_t token)
{
	struct kdev *d = drv->kernel;
	struct page_work *w = calloc(1, sizeof(*w) + MAX_RANGES * sizeof(w->range[0]));
	int n = w ? kdev_ops(d)->page_request(drv, token, w->range, MAX_RANGES) : -ENOMEM;

	if (n < 0 || n > MAX_RANGES) {
		kdev_ops(d)->page_response(drv, token, false);
		free(w);
		return;
	}
	w->token = token;
	w->n = (uint32_t)n;
	work_start(d, w, request_due);
}

void odp_cancel(struct kdev *d)
{
	while (!LIST_EMPTY(&d->page_works))
		work_free(LIST_FIRST(&d->page_works));
}

void kernel_unmapped(struct kernel *k, const struct task *t, uint64_t addr, uint64_t len)
{
	for (unsigned int i = 0; i < k->num_devices; i++) {
		const struct drv_ops *ops = kdev_ops(&k->dev[i]);

		if (ops->unmap_pages && len)
			ops->unmap_pages(&k->dev[i].drv, t->pasid, addr, len);
	}
}

/* ---- Registration ---------------------------------------------------------------------------------- */

bool odp_is_implicit(uint64_t start, uint64_t length)
{
	return !start && length == UINT64_MAX;
}

/* No page needs to be present yet (ib_umem_odp_get()). */
int odp_check(const struct kdev *d, uint64_t start, uint64_t length, uint64_t iova, uint32_t access)
{
	const uint64_t mask = KPAGE_SIZE - 1, end = start + length, first = start & ~mask;

	if (odp_is_implicit(start, length)) {
		if (iova || access & IB_UVERBS_ACCESS_HUGETLB)
			return -EINVAL;
		return d->attr.odp_caps.general_caps & HCASIM_ODP_SUPPORT_IMPLICIT ? 0 : -EINVAL;
	}
	if (end < start || end + mask < end || ((end + mask) & ~mask) == first)
		return -EOVERFLOW;
	return 0;
}

/* ---- ibv_advise_mr() -------------------------------------------------------------------------------- */

/* Maps the pages of the range that are in the application's memory (mlx5: MLX5_PF_FLAGS_SNAPSHOT). */
static int map_resident(struct kdev *d, const struct hca_page_range *all)
{
	struct task *t = task_of(d, all->pasid);
	uint8_t resident[CHUNK_PAGES];

	for (uint64_t at = 0; t && at < all->len; at += CHUNK_PAGES * KPAGE_SIZE) {
		const uint64_t left = (all->len - at) / KPAGE_SIZE;
		const uint32_t n = left < CHUNK_PAGES ? (uint32_t)left : CHUNK_PAGES;

		if (t->ops->resident(t, all->va + at, n, resident))
			return -EFAULT;
		for (uint32_t i = 0; i < n; i++) {
			struct hca_page_range one = *all;

			one.va += at + i * KPAGE_SIZE;
			one.len = KPAGE_SIZE;
			if (resident[i])
				map_range(d, &one, true);
		}
	}
	return 0;
}

static int prefetch(struct kdev *d, struct page_work *w)
{
	int ret = 0;

	for (uint32_t i = 0; i < w->n && !ret; i++) {
		if (w->advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
			ret = map_resident(d, &w->range[i]);
		else
			ret = map_range(d, &w->range[i], true);
	}
	return ret;
}

static void prefetch_due(struct ktimer *t)
{
	struct page_work *w = (struct page_work *)t;

	prefetch(w->d, w); /* the result is ignored: pages not prefetched fault later */
	work_free(w);
}

/* PREFETCH maps the pages read-only, even if the region allows writes. */
static int fill_ranges(struct call *c, struct drv_pd *pd, const struct ib_uverbs_sge *sge,
		       struct page_work *w)
{
	const bool write = w->advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;

	for (uint32_t i = 0; i < w->n; i++) {
		int ret = kdev_ops(c->f->dev)->prefetch_range(pd, &sge[i], write, &w->range[i]);

		if (ret)
			return ret;
		if (w->advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH)
			w->range[i].writable = false;
	}
	return 0;
}

static int advise(struct call *c, struct drv_pd *pd, uint32_t flags, const struct ib_uverbs_sge *sge,
		  struct page_work *w)
{
	int ret = fill_ranges(c, pd, sge, w);

	if (!ret && !(flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH)) {
		work_start(c->f->dev, w, prefetch_due);
		return 0;
	}
	if (!ret)
		ret = prefetch(c->f->dev, w);
	free(w);
	return ret;
}

int m_advise_mr(struct call *c)
{
	const struct attr_val *list = attr_get(c, UVERBS_ATTR_ADVISE_MR_SGE_LIST);
	struct ib_uverbs_sge *sge;
	struct page_work *w;
	uint64_t advice;
	uint32_t flags;
	int ret;

	if (!kdev_ops(c->f->dev)->prefetch_range)
		return -EOPNOTSUPP;
	ret = attr_const(c, UVERBS_ATTR_ADVISE_MR_ADVICE, UINT32_MAX, &advice);
	if (!ret)
		ret = attr_flags32(c, UVERBS_ATTR_ADVISE_MR_FLAGS, IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &flags);
	if (ret)
		return ret;
	if (list->len % sizeof(*sge))
		return -EINVAL;
	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	sge = malloc(list->len);
	w = calloc(1, sizeof(*w) + list->len / sizeof(*sge) * sizeof(w->range[0]));
	ret = sge && w ? attr_copy_from(c, UVERBS_ATTR_ADVISE_MR_SGE_LIST, sge, list->len) : -ENOMEM;
	if (ret) {
		free(w);
	} else {
		w->n = list->len / sizeof(*sge);
		w->advice = (enum ib_uverbs_advise_mr_advice)advice;
		ret = advise(c, attr_get(c, UVERBS_ATTR_ADVISE_MR_PD_HANDLE)->obj->drv, flags, sge, w);
	}
	free(sge);
	return ret;
}
