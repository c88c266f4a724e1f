// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Protection domains, thread domains, and parent domains that join the two. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hcasim.h"

struct ibv_pd *hcasim_alloc_pd(struct ibv_context *ibctx)
{
	struct hcasim_cmd_alloc_pd_resp resp = {};
	struct ibv_alloc_pd cmd;
	struct hcasim_pd *pd;
	int err;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	err = ibv_cmd_alloc_pd(ibctx, &pd->ibv_pd, &cmd, sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (err)
		return hcasim_failed(pd, err);
	atomic_init(&pd->refs, 0);
	return &pd->ibv_pd;
}

int hcasim_dealloc_pd(struct ibv_pd *ibpd)
{
	struct hcasim_pd *pd = to_hpd(ibpd);
	int err;

	if (atomic_load(&pd->refs) > pd->imported)
		return hcasim_error(EBUSY);
	if (pd->base) {
		hcasim_pd_put(pd->base);
		if (pd->td)
			atomic_fetch_sub(&pd->td->refs, 1);
	} else {
		err = ibv_cmd_dealloc_pd(ibpd);
		if (err)
			return hcasim_error(err);
	}
	free(pd);
	return 0;
}

/* The kernel has no query of PDs: the driver's own method says whether this handle exists. */
struct ibv_pd *hcasim_import_pd(struct ibv_context *ibctx, uint32_t handle)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_PD, HCASIM_METHOD_PD_QUERY, 2);
	struct hcasim_pd *pd;
	uint32_t pdn;
	int err;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	fill_attr_in_obj(cmd, HCASIM_ATTR_PD_QUERY_HANDLE, handle);
	fill_attr_out_ptr(cmd, HCASIM_ATTR_PD_QUERY_RESP_PDN, &pdn);
	err = execute_ioctl(ibctx, cmd);
	if (err)
		return hcasim_failed(pd, err);
	pd->ibv_pd.context = ibctx;
	pd->ibv_pd.handle = handle;
	pd->imported = true;
	atomic_init(&pd->refs, 1);
	return &pd->ibv_pd;
}

/* Cannot fail: objects that use it keep a reference. */
void hcasim_unimport_pd(struct ibv_pd *ibpd)
{
	hcasim_pd_put(to_hpd(ibpd));
}

/* A page of its own, so that threads share no BlueFlame buffer; the context's if there are no more. */
static void td_take_uar(struct hcasim_context *ctx, struct hcasim_td *td)
{
	int bit;

	td->uar = &ctx->uar;
	pthread_mutex_lock(&ctx->table_lock);
	bit = ffsll((long long)ctx->td_uars_free) - 1;
	if (bit >= 0 && !hcasim_map_uar(ctx, &td->own, bit + 1)) {
		ctx->td_uars_free &= ~(1ull << bit);
		td->uar = &td->own;
	}
	pthread_mutex_unlock(&ctx->table_lock);
}

static void td_give_uar(struct hcasim_context *ctx, struct hcasim_td *td)
{
	if (td->uar != &td->own)
		return;
	hcasim_unmap_uar(&td->own);
	pthread_mutex_lock(&ctx->table_lock);
	ctx->td_uars_free |= 1ull << (td->own.index - 1);
	pthread_mutex_unlock(&ctx->table_lock);
}

struct ibv_td *hcasim_alloc_td(struct ibv_context *ibctx, struct ibv_td_init_attr *attr)
{
	struct hcasim_td *td;

	if (attr->comp_mask)
		return hcasim_failed(NULL, EOPNOTSUPP);
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->ibv_td.context = ibctx;
	td_take_uar(to_hctx(ibctx), td);
	atomic_init(&td->refs, 0);
	return &td->ibv_td;
}

int hcasim_dealloc_td(struct ibv_td *ibtd)
{
	struct hcasim_td *td = to_htd(ibtd);

	if (atomic_load(&td->refs))
		return hcasim_error(EBUSY);
	td_give_uar(to_hctx(ibtd->context), td);
	free(td);
	return 0;
}

struct ibv_pd *hcasim_alloc_parent_domain(struct ibv_context *ibctx, struct ibv_parent_domain_init_attr *attr)
{
	struct hcasim_pd *pd;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	if (!check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT))
		return hcasim_failed(NULL, EOPNOTSUPP);
	/* A parent domain is made of a protection domain, not of another parent domain. */
	if (to_hpd(attr->pd)->base)
		return hcasim_failed(NULL, EINVAL);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	pd->base = to_hpd(attr->pd);
	hcasim_pd_get(pd->base);
	if (attr->td) {
		pd->td = to_htd(attr->td);
		atomic_fetch_add(&pd->td->refs, 1);
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
	atomic_init(&pd->refs, 0);
	ibv_initialize_parent_domain(&pd->ibv_pd, attr->pd);
	return &pd->ibv_pd;
}

void hcasim_pd_get(struct hcasim_pd *pd)
{
	atomic_fetch_add(&pd->refs, 1);
}

void hcasim_pd_put(struct hcasim_pd *pd)
{
	const unsigned int refs = atomic_fetch_sub(&pd->refs, 1);

	if (refs == 1 && pd->imported)
		free(pd);
}

/* The memory is not cleared. A parent domain's allocator may decline with IBV_ALLOCATOR_USE_DEFAULT. */
int hcasim_buf_alloc(struct hcasim_buf *buf, struct hcasim_pd *pd, size_t size, enum hcasim_resource what)
{
	void *ptr = IBV_ALLOCATOR_USE_DEFAULT;

	if (pd->alloc)
		ptr = pd->alloc(&pd->ibv_pd, pd->pd_context, size, sizeof(uint64_t), what);
	buf->what = what;
	buf->custom = ptr != IBV_ALLOCATOR_USE_DEFAULT;
	buf->ptr = buf->custom ? ptr : malloc(size);
	return buf->ptr ? 0 : ENOMEM;
}

void hcasim_buf_free(struct hcasim_buf *buf, struct hcasim_pd *pd)
{
	if (buf->custom)
		pd->free(&pd->ibv_pd, pd->pd_context, buf->ptr, buf->what);
	else
		free(buf->ptr);
}
