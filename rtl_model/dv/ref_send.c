// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The C engine, one QP and one WQE: the frames that it and the adapter behind it make. */
#include "ref.h"

#include "core/engine.h"
#include "core/wire/frame.h"
#include "core/wire/net.h"
#include "core/wire/wire.h"
#include "devices/native/format/format.h"

struct host {
	struct hca *hca; /* of which packet_build() reads addresses only */
	const uint8_t *ring;
	uint32_t tag, len;
	uint32_t tag_of[2 * REF_WINDOW], packets;
	bool bad[2 * REF_WINDOW]; /* its payload could not be read */
	bool bad_lines, gone_keys;
	enum net_link link;
	struct ref_sent *out;
};

static hca_ps now(void *host)
{
	return 0;
}

static bool read_wqe(void *host, uint32_t qpn, uint32_t tag, uint32_t pasid, const struct hca_dma_seg *seg,
		     uint32_t nseg)
{
	struct host *h = host;

	h->tag = tag;
	h->len = seg[0].len;
	return true;
}

/* As keys.c does it, with the keys and the translation of ref.h. */
static uint8_t lookup(void *host, const struct engine_lookup *what, struct piece *out, uint32_t *npieces)
{
	uint64_t off = out ? what->off : 0, len = out ? what->len : UINT64_MAX;
	uint32_t i, n = 0;

	for (i = 0; i < what->num_sge && len; i++) {
		uint64_t part = what->sge[i].length;

		if (off >= part) {
			off -= part;
			continue;
		}
		part -= off;
		if (part > len)
			part = len;
		/* Not where an answer goes: that is no sending. */
		if (!what->access && REF_BAD_KEY(what->sge[i].lkey))
			return HCASIM_VENDOR_ERR_BAD_LKEY;
		if (!what->access && out && ((struct host *)host)->gone_keys &&
		    REF_GONE_KEY(what->sge[i].lkey, what->sge[i].addr + off))
			return HCASIM_VENDOR_ERR_BAD_LKEY;
		if (out)
			out[n++] = (struct piece){.addr = ref_translate(what->sge[i].addr + off),
						  .len = (uint32_t)part};
		len -= part;
		off = 0;
	}
	if (out)
		*npieces = n;
	return 0;
}

static bool present(void *host, const struct engine_lookup *what)
{
	return true;
}

static uint8_t local(void *host, uint32_t qpn, const struct hca_wr *wr)
{
	uint32_t rkey = wr->op == HCASIM_WQE_OP_LOCAL_INV ? wr->inv_rkey : wr->bind.mw_rkey;

	return REF_BAD_LOCAL(rkey) ? HCASIM_VENDOR_ERR_BAD_RKEY : 0;
}

static bool room(void *host)
{
	return true;
}

/* Reads a piece of host memory. False: a line of it cannot be read. */
static bool read_piece(const struct host *h, const struct piece *piece, uint8_t *to)
{
	bool ok = true;

	for (uint32_t i = 0; i < piece->len; i++) {
		to[i] = ref_memory(piece->addr + i);
		ok &= !h->bad_lines || !ref_bad_line(piece->addr + i);
	}
	return ok;
}

/* As frame_build() of send/ports.c. */
static struct hca_packet *raw_build(uint32_t len, uint32_t *off)
{
	struct hca_packet *pkt = hca_packet_alloc(len < ETH_MIN ? ETH_MIN : len);

	pkt->len = pkt->cap;
	memset(pkt->data, 0, pkt->len);
	*off = 0;
	return pkt;
}

/* What the adapter behind the engine does: builds, gathers, inserts checksums and ICRC. */
static bool packet(void *host, uint32_t tag, const struct engine_packet *p)
{
	struct host *h = host;
	uint32_t off, i;
	struct hca_packet *pkt =
		p->raw ? raw_build(p->spec.payload_len, &off) : packet_build(h->hca, &p->spec, &off);
	uint8_t *to = pkt->data + off + p->head_len;
	bool ok = true;

	if (p->head_len)
		memcpy(pkt->data + off, p->head, p->head_len);
	for (i = 0; i < p->npieces; to += p->piece[i++].len)
		ok &= read_piece(h, &p->piece[i], to);
	if (p->sums)
		net_put_sums(pkt->data + off, p->spec.payload_len, h->link, p->sums);
	if (!p->raw)
		ref_icrc(pkt->data, pkt->len - HCASIM_ICRC_SIZE, pkt->data + pkt->len - HCASIM_ICRC_SIZE);
	h->out->frame[h->out->frames] = malloc(pkt->len);
	memcpy(h->out->frame[h->out->frames], pkt->data, pkt->len);
	h->out->len[h->out->frames++] = pkt->len;
	hca_packet_free(pkt);
	h->bad[h->packets] = !ok;
	h->tag_of[h->packets++] = tag;
	return true;
}

static int result(void *host, uint32_t qpn, uint32_t tag, const struct piece *piece, uint32_t npieces)
{
	return 0; /* written already */
}

static void timer(void *host, uint32_t qpn, hca_ps at)
{
}

static void failed(void *host, uint32_t qpn, uint8_t state)
{
}

static void saw_wqe(void *host, uint32_t qpn, const struct hca_wr *wr, const void *raw, uint32_t len)
{
	((struct host *)host)->out->sges = wr->num_sge;
}

static const struct engine_ports ports = {
	.now = now,
	.read = read_wqe,
	.lookup = lookup,
	.present = present,
	.local = local,
	.packet_room = room,
	.packet = packet,
	.result = result,
	.timer = timer,
	.failed = failed,
	.saw_wqe = saw_wqe,
};

/* The frame of the last packet leaves, unless it may not. */
static void leave(struct engine *e, struct host *h)
{
	struct ref_sent *out = h->out;

	if (!c_engine.leave(e, h->tag_of[h->packets - 1], h->bad[h->packets - 1]))
		free(out->frame[--out->frames]);
}

/*
 * Each packet leaves before the next one is made: if that fails, it has left, as on hardware. Unreliable QPs know no
 * window: no longer than that either.
 */
static void run(struct engine *e, struct host *h)
{
	const uint32_t before = h->packets;
	struct hca_work work;
	uint32_t packets;

	while (h->packets - before < REF_WINDOW && c_engine.pending(e, HCA_STAGE_PACKETISE, &work)) {
		packets = h->packets;
		c_engine.step(e, HCA_STAGE_PACKETISE);
		if (h->packets > packets)
			leave(e, h);
	}
	h->out->made = h->packets - before;
}

static void forget_frames(struct ref_sent *out)
{
	while (out->frames)
		free(out->frame[--out->frames]);
}

/* The peer answers all packets before `from`, and asks for that one. */
static void go_back(struct engine *e, const struct ref_send_qp *qp, uint32_t from, bool answered)
{
	struct engine_response r = {.psn = (qp->psn + from) & HCASIM_PSN_MASK,
				    .aeth_kind = HCASIM_AETH_KIND_NAK,
				    .aeth_value = HCASIM_NAK_PSN_SEQ};
	uint32_t i;

	for (i = 0; answered && i < from; i++) {
		struct engine_response data = {
			.psn = (qp->psn + i) & HCASIM_PSN_MASK, .data = true, .payload_len = qp->mtu};

		c_engine.response(e, qp->qp.qpn, &data);
	}
	c_engine.response(e, qp->qp.qpn, &r);
}

static struct hca *addresses(const struct ref_send_qp *qp)
{
	struct hca *hca = calloc(1, sizeof(*hca));
	unsigned int i;

	memcpy(hca->cfg.mac[0], qp->smac, 6);
	for (i = 0; i < CORE_GIDS; i++)
		memcpy(hca->port[0].gid[i], qp->sgid, 16);
	return hca;
}

static struct engine_qp context(const struct ref_send_qp *qp, uint32_t posted)
{
	return (struct engine_qp){.type = qp->qp.type,
				  .ring = {.entries = 32, .stride = HCASIM_WQEBB_SIZE},
				  .max_inline = qp->qp.max_inline,
				  .mtu = qp->mtu,
				  .port = 1,
				  .retry_cnt = 7,
				  .max_rd_atomic = qp->qp.max_rd_atomic,
				  .qkey = qp->qkey,
				  .dest_qpn = qp->dest_qpn,
				  .udp_sport = qp->udp_sport,
				  .av = qp->av};
}

void ref_send(const struct ref_send_qp *qp, const uint8_t *wqe, uint32_t posted, uint32_t from,
	      struct ref_sent *out)
{
	const struct engine_config cfg = {
		.pers = &native_personality, .fetch_depth = 8, .window = ENGINE_WINDOW};
	struct host h = {.hca = addresses(qp),
			 .ring = wqe,
			 .out = out,
			 .bad_lines = qp->bad_lines,
			 .gone_keys = qp->gone_keys,
			 .link = qp->qp.type == HCASIM_QPT_RAW_PACKET ? NET_ETHERNET : NET_DATAGRAM};
	struct engine_qp ctx = context(qp, posted);
	struct engine *e = c_engine.create(&cfg, &ports, &h);
	const uint32_t qpn = qp->qp.qpn;
	struct engine_completion cpl;
	struct engine_query query;

	memset(out, 0, sizeof(*out));
	c_engine.port_set(e, 1, qp->qp.port_mtu);
	c_engine.qp_create(e, qpn, &ctx);
	ctx.state = HCASIM_QPS_RTS;
	ctx.set_psn = true;
	ctx.sq_psn = qp->psn;
	c_engine.qp_set(e, qpn, &ctx);
	c_engine.doorbell(e, qpn, (uint16_t)posted);
	c_engine.step(e, HCA_STAGE_FETCH);
	c_engine.read_done(e, h.tag, wqe, h.len, 0);
	c_engine.step(e, HCA_STAGE_DECODE); /* the first WQE; the blocks behind it are arbitrary */
	run(e, &h);
	c_engine.query(e, qpn, &query);
	out->psns = (query.sq_psn - qp->psn) & HCASIM_PSN_MASK;
	if (from) {
		forget_frames(out);
		go_back(e, qp, from, wqe[0] == HCASIM_WQE_OP_RDMA_READ);
		run(e, &h);
	}
	if (c_engine.completion(e, qpn, &cpl)) {
		out->status = cpl.status;
		out->vendor_err = cpl.vendor_err;
	}
	while (h.packets)
		c_engine.released(e, h.tag_of[--h.packets]);
	c_engine.qp_destroy(e, qpn);
	c_engine.destroy(e);
	free(h.hca);
}
