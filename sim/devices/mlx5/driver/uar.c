// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * User access pages that a program allocates one by one (MLX5_IB_OBJECT_UAR): those of thread domains, and all of them if
 * the library can do without static ones.
 */
#include <errno.h>
#include <stdlib.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "driver.h"

#define NUMBER_BITS 8 /* of a page's number below the command in a page offset; the others are above it */

struct mlx5_uar { /* what a handle names */
	struct mlx5_page *page;
};

static void free_page(struct mlx5_dev *m, struct mlx5_page *page)
{
	numbers_remove(&m->uars, page->number);
	free(page);
}

/* A page that is still mapped, or still rung by queues, stays the context's: nobody else may get it. */
static void page_done(struct mlx5_page *page)
{
	struct mlx5_dev *m = mlx5_dev(page->ctx->base.dev);

	if (!page->live && !page->users &&
	    !m->kernel->bar_mapped(m->base.dev, HCASIM_MLX5_BAR, (uint64_t)page->number * MLX5_PAGE_SIZE,
				   MLX5_PAGE_SIZE))
		free_page(m, page);
}

static struct mlx5_page *find(const struct mlx5_ucontext *ctx, uint64_t number)
{
	struct mlx5_page *page = NULL;

	if (number < HCASIM_MLX5_UAR_PAGES)
		page = numbers_find(&mlx5_dev(ctx->base.dev)->uars, (uint32_t)number);
	return page && page->ctx == ctx && page->live ? page : NULL;
}

struct mlx5_page *mlx5_page_get(const struct mlx5_ucontext *ctx, uint32_t number)
{
	struct mlx5_page *page = find(ctx, number);

	if (page)
		page->users++;
	return page;
}

void mlx5_page_put(struct mlx5_page *page)
{
	if (!page)
		return;
	page->users--;
	page_done(page);
}

bool mlx5_page_is_static(const struct mlx5_ucontext *ctx, uint32_t number)
{
	for (uint32_t i = 0; i < ctx->num_pages; i++) {
		if (ctx->page[i] == number)
			return true;
	}
	return false;
}

void mlx5_pages_free(struct mlx5_ucontext *ctx)
{
	struct mlx5_dev *m = mlx5_dev(ctx->base.dev);
	struct mlx5_page *page;
	uint32_t number = 0;

	while ((page = numbers_from(&m->uars, number, &number))) {
		if (page->ctx == ctx && page != &ctx->fixed)
			free_page(m, page);
		number++;
	}
}

static uint64_t mmap_offset(uint32_t number)
{
	const uint64_t low = number & ((1u << NUMBER_BITS) - 1), high = number >> NUMBER_BITS;

	return (high << (MLX5_CMD_SHIFT + MLX5_CMD_BITS) | MLX5_MMAP_PAGE << MLX5_CMD_SHIFT | low) *
	       MLX5_PAGE_SIZE;
}

int mlx5_page_mmap(const struct mlx5_ucontext *ctx, uint64_t number, struct drv_mmap *out)
{
	const struct mlx5_page *page = find(ctx, number);

	if (!page)
		return -EINVAL;
	out->bar_offset = (uint64_t)page->number * MLX5_PAGE_SIZE;
	out->write_combining = page->write_combining;
	return 0;
}

/* ---- The object ---- */

static int new_page(struct mlx5_ucontext *ctx, bool write_combining, struct mlx5_page **out)
{
	struct mlx5_page *page = calloc(1, sizeof(*page));

	if (!page || numbers_add(&mlx5_dev(ctx->base.dev)->uars, page, &page->number)) {
		free(page);
		return -ENOMEM;
	}
	page->ctx = ctx;
	page->write_combining = write_combining;
	page->live = true;
	*out = page;
	return 0;
}

static int answer(struct drv_call *c, const struct mlx5_page *page)
{
	const uint64_t offset = mmap_offset(page->number);
	const uint32_t length = MLX5_PAGE_SIZE;
	int ret = c->ops->put(c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));

	if (!ret)
		ret = c->ops->put(c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length));
	if (!ret)
		ret = c->ops->put(c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &page->number, sizeof(page->number));
	return ret;
}

int mlx5_alloc_uar(struct drv_call *c)
{
	struct mlx5_uar *uar;
	uint64_t type;
	int ret = c->ops->get(c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type, sizeof(type));

	if (!ret && !c->ctx)
		ret = -EINVAL;
	if (!ret && type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC)
		ret = -EOPNOTSUPP;
	if (ret)
		return ret;
	uar = c->ops->create(c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, sizeof(*uar));
	if (!uar)
		return -ENOMEM;
	ret = new_page(mlx5_ctx(c->ctx), type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF, &uar->page);
	return ret ? ret : answer(c, uar->page);
}

int mlx5_destroy_uar(void *object)
{
	struct mlx5_page *page = ((struct mlx5_uar *)object)->page;

	if (page) {
		page->live = false;
		page_done(page);
	}
	return 0;
}
