// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory keys. A key is index[31:8], tag[7:0]; the tag changes each time an index is reused, so that an old key stays
 * invalid for 255 registrations of the same index.
 */
#include "core/memory/memory.h"
#include "core/memory/odp.h"

#define NO_MR UINT32_MAX

int mr_table_init(struct mr_table *t, uint32_t max_mr, uint32_t max_mw)
{
	const uint32_t all = (1u << 24) - CORE_FIRST_MR;

	t->max_mr = max_mr < all ? max_mr : all;
	t->max_mw = max_mw < all - t->max_mr ? max_mw : all - t->max_mr;
	t->size = CORE_FIRST_MR + t->max_mr + t->max_mw;
	t->top = CORE_FIRST_MR; /* a small number is no key */
	t->free_head = t->free_tail = NO_MR;
	list_init(&t->odp);
	t->mr = calloc(t->size, sizeof(*t->mr));
	return t->mr ? 0 : -ENOMEM;
}

void mr_table_free(struct mr_table *t)
{
	struct node *n, *next;

	for (n = t->odp.next; n && n != &t->odp; n = next) {
		next = n->next;
		odp_table_free(node_entry(n, struct mr, on_odp)->odp);
	}
	for (uint32_t i = CORE_FIRST_MR; t->mr && i < t->top; i++)
		indirect_free(&t->mr[i]);
	free(t->mr);
}

/* Freed indices are reused in FIFO order, as late as possible. */
static uint32_t mr_alloc(struct mr_table *t)
{
	uint32_t i = t->free_head;

	if (t->top < t->size)
		return t->top++;
	if (i == NO_MR)
		return 0;
	t->free_head = t->mr[i].next_free;
	if (t->free_head == NO_MR)
		t->free_tail = NO_MR;
	return i;
}

static void mr_free(struct mr_table *t, uint32_t i)
{
	t->mr[i].next_free = NO_MR;
	if (t->free_tail == NO_MR)
		t->free_head = i;
	else
		t->mr[t->free_tail].next_free = i;
	t->free_tail = i;
}

struct mr *key_find(const struct hca *hca, uint32_t key)
{
	uint32_t i = key >> 8;
	struct mr *mr;

	if (i >= hca->mr.top)
		return NULL;
	mr = &hca->mr.mr[i];
	return mr->used && mr->tag == (key & 0xff) ? mr : NULL;
}

static bool is_window(enum key_kind kind)
{
	return kind == KEY_MW1 || kind == KEY_MW2;
}

struct mr *key_new(struct hca *hca, enum key_kind kind, uint32_t *key)
{
	struct mr_table *t = &hca->mr;
	uint32_t *num = is_window(kind) ? &t->num_mw : &t->num_mr, i;
	struct mr *mr;

	i = *num < (is_window(kind) ? t->max_mw : t->max_mr) ? mr_alloc(t) : 0;
	if (!i)
		return NULL;
	(*num)++;
	mr = &t->mr[i];
	*mr = (struct mr){.used = true, .tag = (uint8_t)(mr->tag + 1), .kind = (uint8_t)kind};
	*key = i << 8 | mr->tag;
	return mr;
}

void key_changed(struct hca *hca, const struct mr *mr)
{
	hca_changed(hca, HCA_CONTEXT_KEY, (uint32_t)(mr - hca->mr.mr));
}

void key_drop(struct hca *hca, struct mr *mr)
{
	if (is_window(mr->kind))
		hca->mr.num_mw--;
	else
		hca->mr.num_mr--;
	mr->used = false;
	key_changed(hca, mr);
	mr_free(&hca->mr, (uint32_t)(mr - hca->mr.mr));
}

static struct mr *mr_find(const struct hca *hca, uint32_t key)
{
	struct mr *mr = key_find(hca, key);

	return mr && mr->kind == KEY_MR ? mr : NULL;
}

/* On-demand regions have their own page table; every change of the region clears it. */
static int set_paging(struct hca *hca, struct mr *mr, uint32_t access)
{
	struct odp_table *fresh = NULL;

	if (access & HCASIM_ACCESS_ON_DEMAND) {
		fresh = odp_table_new(access);
		if (!fresh)
			return -ENOMEM;
	}
	hca->mr.num_odp += !!fresh - !!mr->odp;
	list_set(&hca->mr.odp, &mr->on_odp, fresh);
	odp_table_free(mr->odp);
	mr->odp = fresh;
	return 0;
}

static bool mr_attr_ok(const struct hca *hca, const struct hca_mr_attr *a)
{
	const uint64_t dm = hca->pers->dm.size;

	if (a->pasid == HCA_PASID_DEVICE && (a->va > dm || a->length > dm - a->va))
		return false;
	return a->va + a->length >= a->va && a->iova + a->length >= a->iova;
}

/* ibv_reg_mr(3), IBV_ACCESS_ZERO_BASED: addresses in the region are offsets from its beginning. */
static void mr_set(struct mr *mr, const struct hca_mr_attr *attr)
{
	mr->a = *attr;
	if (attr->access & HCASIM_ACCESS_ZERO_BASED)
		mr->a.iova = 0;
}

int hca_mr_create(struct hca *hca, const struct hca_mr_attr *attr, uint32_t *key)
{
	struct mr *mr;

	if (!mr_attr_ok(hca, attr))
		return -EINVAL;
	mr = key_new(hca, KEY_MR, key);
	if (!mr)
		return -ENOMEM;
	if (set_paging(hca, mr, attr->access)) {
		key_drop(hca, mr);
		return -ENOMEM;
	}
	mr_set(mr, attr);
	return 0;
}

int hca_mr_query(const struct hca *hca, uint32_t key, struct hca_mr_attr *attr)
{
	const struct mr *mr = key_find(hca, key);

	if (!mr)
		return -ENOENT;
	if (mr->kind != KEY_MR)
		return -EINVAL;
	*attr = mr->a;
	return 0;
}

/* IBTA 10.6.7.2.6: a region cannot be changed while windows are bound to it. */
int hca_mr_modify(struct hca *hca, uint32_t key, const struct hca_mr_attr *attr, uint32_t *new_key)
{
	struct mr *mr = mr_find(hca, key);

	if (!mr || !mr_attr_ok(hca, attr))
		return -EINVAL;
	if (mr->windows)
		return -EBUSY;
	if (set_paging(hca, mr, attr->access))
		return -ENOMEM;
	mr_set(mr, attr);
	key_changed(hca, mr);
	*new_key = key;
	return 0;
}

int hca_mr_destroy(struct hca *hca, uint32_t key)
{
	struct mr *mr = mr_find(hca, key);

	if (!mr)
		return -EINVAL;
	if (mr->windows)
		return -EBUSY;
	set_paging(hca, mr, 0);
	key_drop(hca, mr);
	return 0;
}

/*
 * IBTA 10.6.3, 9.4.1: protection domain, rights, bounds. No sum here can overflow; an address before the region wraps to
 * an offset behind it, since the region itself does not wrap (mr_attr_ok()).
 */
uint8_t key_check_self(const struct mr *mr, uint32_t pdn, uint64_t addr, uint64_t len, uint32_t access)
{
	if (mr->a.pdn != pdn)
		return HCASIM_VENDOR_ERR_LKEY_PD;
	if ((mr->a.access & access) != access)
		return HCASIM_VENDOR_ERR_LKEY_ACCESS;
	if (addr - mr->a.iova > mr->a.length || len > mr->a.length - (addr - mr->a.iova))
		return HCASIM_VENDOR_ERR_LKEY_RANGE;
	return HCASIM_VENDOR_ERR_NONE;
}

struct piece key_piece(const struct hca *hca, const struct mr *mr, uint64_t addr, uint64_t len)
{
	return (struct piece){
		.addr = mr->a.va + (addr - mr->a.iova),
		.len = (uint32_t)len,
		.pasid = mr->a.pasid,
		.tph = mr->a.tph,
		.relaxed = mr->a.access & HCASIM_ACCESS_RELAXED_ORDERING,
		.key = (uint32_t)(mr - hca->mr.mr) << 8 | mr->tag,
	};
}

static uint8_t key_check(const struct hca *hca, const struct mr *mr, uint32_t pdn, uint64_t addr,
			 uint64_t len, uint32_t access, struct piece *out)
{
	uint8_t err = key_check_self(mr, pdn, addr, len, access);

	if (!err && mr->kind == KEY_INDIRECT)
		err = indirect_check(hca, mr, addr, len, access);
	if (err || !out)
		return err;
	*out = key_piece(hca, mr, addr, len);
	if (mr->kind == KEY_INDIRECT) {
		out->addr = addr;
		out->pasid = HCA_PASID_KEY;
	}
	return HCASIM_VENDOR_ERR_NONE;
}

/* The key of a window cannot be used for local buffers (IBTA 10.6.7.2.1). */
struct mr *key_for_sge(const struct hca *hca, uint32_t key)
{
	struct mr *mr = key_find(hca, key);

	return mr && (mr->kind == KEY_MR || (mr->kind == KEY_INDIRECT && mr->bound)) ? mr : NULL;
}

uint8_t mr_check(const struct hca *hca, uint32_t key, uint32_t pdn, uint64_t addr, uint64_t len,
		 uint32_t access, struct piece *out)
{
	const struct mr *mr = key_for_sge(hca, key);

	return mr ? key_check(hca, mr, pdn, addr, len, access, out) : HCASIM_VENDOR_ERR_BAD_LKEY;
}

bool window_is_of(const struct mr *mw, const struct qp *qp)
{
	return mw->qpn ? mw->qpn == qp->qpn : qp_is_xrc(qp);
}

static uint8_t rkey_find(const struct hca *hca, const struct qp *qp, uint32_t key, const struct mr **out)
{
	const struct mr *mr = key_find(hca, key);

	if (!mr || (mr->kind != KEY_MR && !mr->bound))
		return HCASIM_VENDOR_ERR_BAD_RKEY;
	if (mr->kind == KEY_MW2 && !window_is_of(mr, qp))
		return HCASIM_VENDOR_ERR_RKEY_PD;
	*out = mr;
	return HCASIM_VENDOR_ERR_NONE;
}

/* Target of a peer's access: a region, or a window. A bound type 2B window belongs to one QP, or to XRC. */
uint8_t rkey_check(const struct hca *hca, const struct qp *qp, uint32_t pdn, uint32_t key, uint64_t addr,
		   uint64_t len, uint32_t access, struct piece *out)
{
	const struct mr *mr;
	uint8_t err = rkey_find(hca, qp, key, &mr);

	return err ? err : rkey_error(key_check(hca, mr, pdn, addr, len, access, out));
}

uint8_t rkey_check_whole(const struct hca *hca, const struct qp *qp, uint32_t pdn, uint32_t key,
			 uint32_t access)
{
	const struct mr *mr;
	uint8_t err = rkey_find(hca, qp, key, &mr);

	return err ? err : rkey_error(key_check(hca, mr, pdn, mr->a.iova, 0, access, NULL));
}

uint8_t rkey_error(uint8_t lkey_error)
{
	switch (lkey_error) {
	case HCASIM_VENDOR_ERR_BAD_LKEY:
		return HCASIM_VENDOR_ERR_BAD_RKEY;
	case HCASIM_VENDOR_ERR_LKEY_PD:
		return HCASIM_VENDOR_ERR_RKEY_PD;
	case HCASIM_VENDOR_ERR_LKEY_RANGE:
		return HCASIM_VENDOR_ERR_RKEY_RANGE;
	case HCASIM_VENDOR_ERR_LKEY_ACCESS:
		return HCASIM_VENDOR_ERR_RKEY_ACCESS;
	default:
		return lkey_error;
	}
}

/* Key and address of an SGE of length 0 are ignored. */
uint8_t sge_check_all(const struct hca *hca, uint32_t pdn, const struct hca_sge *sge, uint32_t n,
		      uint32_t access)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint8_t err;

		if (!sge[i].length)
			continue;
		err = mr_check(hca, sge[i].lkey, pdn, sge[i].addr, sge[i].length, access, NULL);
		if (err)
			return err;
	}
	return HCASIM_VENDOR_ERR_NONE;
}

/* Bytes [off, off + len) of an SGE list as pieces of host memory. The list has at least that many bytes. */
uint8_t sge_slice(const struct hca *hca, uint32_t pdn, const struct hca_sge *sge, uint32_t n, uint64_t off,
		  uint32_t len, uint32_t access, struct piece *out, uint32_t *npieces)
{
	uint32_t i, used = 0;

	for (i = 0; i < n && len; i++) {
		uint64_t part = sge[i].length;
		uint8_t err;

		if (off >= part) {
			off -= part;
			continue;
		}
		part -= off;
		if (part > len)
			part = len;
		err = mr_check(hca, sge[i].lkey, pdn, sge[i].addr + off, part, access, &out[used]);
		if (err)
			return err;
		used++;
		len -= (uint32_t)part;
		off = 0;
	}
	*npieces = used;
	return len ? HCASIM_VENDOR_ERR_LKEY_RANGE : HCASIM_VENDOR_ERR_NONE;
}
