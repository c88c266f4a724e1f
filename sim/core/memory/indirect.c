// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Indirect keys. Their bytes are those of a list of parts, each a range of another key, and of the repetitions of that list:
 * of every repetition part i lies one stride of its own further. The other keys are looked up at each access, with the
 * domain of the indirect key; a key that has gone, or was set again, is not in use any more.
 */
#include "core/memory/memory.h"

#define DEPTH        2 /* a part may be of an indirect key, but not one of its parts */
#define WRITE_RIGHTS (HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_ATOMIC)

struct key_parts {
	uint64_t row; /* bytes of a repetition, not 0 */
	uint32_t repeat, n;
	struct hca_key_part part[];
};

/* ---- Commands ---- */

int hca_key_create(struct hca *hca, const struct hca_key_attr *attr, uint32_t *key)
{
	struct mr *mr = key_new(hca, KEY_INDIRECT, key);

	if (!mr)
		return -ENOMEM;
	mr->a.pdn = attr->pdn;
	mr->max_parts = attr->max_parts;
	mr->remote_inv = attr->remote_inv;
	mr->tag = attr->tag;
	*key = (*key & ~0xffu) | mr->tag;
	return 0;
}

int hca_key_destroy(struct hca *hca, uint32_t key)
{
	uint32_t i = key >> 8;
	struct mr *mr = i < hca->mr.top ? &hca->mr.mr[i] : NULL;

	if (!mr || !mr->used || mr->kind != KEY_INDIRECT)
		return -EINVAL;
	indirect_free(mr);
	key_drop(hca, mr);
	return 0;
}

void indirect_free(struct mr *mr)
{
	free(mr->parts);
	mr->parts = NULL;
	mr->bound = false;
}

/* ---- Work requests ---- */

/* Parts without bytes are left out. NULL: no memory, or no part. */
static struct key_parts *parts_read(const struct hca *hca, const struct hca_bind *b)
{
	struct key_parts *p = malloc(sizeof(*p) + b->num_parts * sizeof(p->part[0]));
	uint32_t i;

	if (!p)
		return NULL;
	*p = (struct key_parts){.repeat = b->repeat};
	for (i = 0; i < b->num_parts; i++) {
		struct hca_key_part *part = &p->part[p->n];

		hca->pers->key_part(b, i, part);
		p->row += part->length;
		p->n += part->length != 0;
	}
	if (p->row && p->repeat)
		return p;
	free(p);
	return NULL;
}

static uint8_t set_parts(struct hca *hca, struct mr *mr, const struct hca_bind *b)
{
	struct key_parts *p;

	if (b->num_parts > mr->max_parts || !hca->pers->key_part)
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	p = parts_read(hca, b);
	if (!p)
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	if ((b->length && (b->length - 1) / p->row >= p->repeat) || b->addr + b->length < b->addr) {
		free(p);
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	}
	indirect_free(mr);
	mr->parts = p;
	mr->a.iova = b->addr;
	mr->a.length = b->length;
	return HCASIM_VENDOR_ERR_NONE;
}

uint8_t indirect_execute(struct hca *hca, const struct qp *qp, const struct hca_wr *wr)
{
	struct mr *mr = key_find(hca, wr->bind.mw_rkey);
	uint8_t err = HCASIM_VENDOR_ERR_NONE;

	if (!mr || mr->kind != KEY_INDIRECT)
		return HCASIM_VENDOR_ERR_BAD_RKEY;
	if (mr->a.pdn != qp->c.pdn)
		return HCASIM_VENDOR_ERR_RKEY_PD;
	if (!wr->bind.keep_parts)
		err = set_parts(hca, mr, &wr->bind);
	if (err)
		return err;
	if (!wr->bind.keep_access)
		mr->a.access = wr->bind.access;
	mr->tag = wr->bind.new_rkey & 0xff;
	mr->bound = true;
	key_changed(hca, mr);
	return HCASIM_VENDOR_ERR_NONE;
}

void indirect_unbind(struct hca *hca, struct mr *mr)
{
	mr->bound = false;
	key_changed(hca, mr);
}

/* ---- What lies behind a key ---- */

static uint8_t walk_parts(struct key_walk *w, const struct key_parts *p, uint64_t off, uint64_t len,
			  unsigned int depth);

/* `depth`: how many more indirect keys there may be. */
static uint8_t walk_range(struct key_walk *w, uint32_t key, uint64_t addr, uint64_t len, unsigned int depth)
{
	const struct mr *mr = key_for_sge(w->hca, key);
	uint8_t err = mr ? key_check_self(mr, w->pdn, addr, len, w->access) : HCASIM_VENDOR_ERR_BAD_LKEY;

	if (err)
		return err;
	if (mr->kind == KEY_MR)
		return w->range ? w->range(w, mr, addr, len) : HCASIM_VENDOR_ERR_NONE;
	if (!depth)
		return HCASIM_VENDOR_ERR_BAD_LKEY;
	return walk_parts(w, mr->parts, addr - mr->a.iova, len, depth - 1);
}

/* Of one repetition these bytes. No sum can be wrong: a range that wraps around is not inside its key. */
static uint8_t walk_row(struct key_walk *w, const struct key_parts *p, uint64_t row, uint64_t off,
			uint64_t len, unsigned int depth)
{
	uint8_t err = HCASIM_VENDOR_ERR_NONE;
	uint32_t i;

	for (i = 0; i < p->n && len && !err; i++) {
		const struct hca_key_part *part = &p->part[i];
		uint64_t here = part->length;

		if (off >= here) {
			off -= here;
			continue;
		}
		here = here - off < len ? here - off : len;
		err = walk_range(w, part->key, part->addr + row * part->stride + off, here, depth);
		len -= here;
		off = 0;
	}
	return err;
}

/* `rows` complete repetitions: of each part one range, from its first byte to its last. */
static uint8_t walk_rows(struct key_walk *w, const struct key_parts *p, uint64_t row, uint64_t rows,
			 unsigned int depth)
{
	uint8_t err = HCASIM_VENDOR_ERR_NONE;
	uint32_t i;

	for (i = 0; i < p->n && !err; i++) {
		const struct hca_key_part *part = &p->part[i];

		err = walk_range(w, part->key, part->addr + row * part->stride,
				 (rows - 1) * part->stride + part->length, depth);
	}
	return err;
}

static uint8_t walk_parts(struct key_walk *w, const struct key_parts *p, uint64_t off, uint64_t len,
			  unsigned int depth)
{
	uint8_t err = HCASIM_VENDOR_ERR_NONE;

	while (len && !err) {
		uint64_t row = off / p->row, skip = off % p->row, here = p->row - skip;

		if (!w->each && !skip && len >= p->row) {
			here = len - len % p->row;
			err = walk_rows(w, p, row, here / p->row, depth);
		} else {
			here = here < len ? here : len;
			err = walk_row(w, p, row, skip, here, depth);
		}
		off += here;
		len -= here;
	}
	return err;
}

uint8_t key_walk(struct key_walk *w, uint32_t key, uint64_t addr, uint64_t len)
{
	return walk_range(w, key, addr, len, DEPTH);
}

uint8_t indirect_check(const struct hca *hca, const struct mr *mr, uint64_t addr, uint64_t len,
		       uint32_t access)
{
	struct key_walk w = {
		.hca = hca,
		.pdn = mr->a.pdn,
		.access = access & WRITE_RIGHTS ? HCASIM_ACCESS_LOCAL_WRITE : 0,
	};

	return walk_parts(&w, mr->parts, addr - mr->a.iova, len, DEPTH - 1);
}

/* ---- Pieces ---- */

struct expansion {
	struct piece *piece;
	uint32_t n, room;
};

static bool add_piece(struct expansion *e, const struct piece *piece)
{
	if (e->n == e->room) {
		uint32_t room = e->room ? 2 * e->room : 64;
		struct piece *more = realloc(e->piece, room * sizeof(*more));

		if (!more)
			return false;
		e->piece = more;
		e->room = room;
	}
	e->piece[e->n++] = *piece;
	return true;
}

static uint8_t add_range(struct key_walk *w, const struct mr *region, uint64_t addr, uint64_t len)
{
	const struct piece piece = key_piece(w->hca, region, addr, len);

	return add_piece(w->any, &piece) ? HCASIM_VENDOR_ERR_NONE : HCASIM_VENDOR_ERR_DMA_FAULT;
}

static uint8_t expand(const struct hca *hca, const struct piece *piece, struct expansion *e)
{
	struct key_walk w = {.hca = hca, .each = true, .range = add_range, .any = e};
	const struct mr *mr;

	if (piece->pasid != HCA_PASID_KEY)
		return add_piece(e, piece) ? HCASIM_VENDOR_ERR_NONE : HCASIM_VENDOR_ERR_DMA_FAULT;
	mr = key_find(hca, piece->key);
	if (!mr)
		return HCASIM_VENDOR_ERR_BAD_LKEY;
	w.pdn = mr->a.pdn;
	return key_walk(&w, piece->key, piece->addr, piece->len);
}

bool key_indirect(const struct piece *piece, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (piece[i].pasid == HCA_PASID_KEY)
			return true;
	return false;
}

uint8_t key_expand(const struct hca *hca, const struct piece *piece, uint32_t n, struct piece **out,
		   uint32_t *nout)
{
	struct expansion e = {.piece = NULL};
	uint8_t err = HCASIM_VENDOR_ERR_NONE;
	uint32_t i;

	for (i = 0; i < n && !err; i++)
		err = expand(hca, &piece[i], &e);
	if (err) {
		free(e.piece);
		return err;
	}
	*out = e.piece;
	*nout = e.n;
	return HCASIM_VENDOR_ERR_NONE;
}

uint8_t key_expand_one(const struct hca *hca, struct piece *piece)
{
	struct piece *all;
	uint32_t n;
	uint8_t err;

	if (!key_indirect(piece, 1))
		return HCASIM_VENDOR_ERR_NONE;
	err = key_expand(hca, piece, 1, &all, &n);
	if (err)
		return err;
	if (n == 1)
		*piece = all[0];
	free(all);
	return n == 1 ? HCASIM_VENDOR_ERR_NONE : HCASIM_VENDOR_ERR_LKEY_RANGE;
}
