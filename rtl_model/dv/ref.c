// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ref.h"

#include "core/engine.h"
#include "core/wire/frame.h"
#include "core/wire/net.h"
#include "core/wire/wire.h"
#include "devices/native/format/format.h"

void ref_icrc(const uint8_t *frame, uint32_t len, uint8_t icrc[4])
{
	uint32_t v = htole32(icrc_frame(icrc_seed(), frame, len));

	memcpy(icrc, &v, sizeof(v));
}

uint32_t ref_headers(const struct pkt_spec *spec, const uint8_t smac[6], const uint8_t sgid[16], uint8_t *out)
{
	struct hca *hca = calloc(1, sizeof(*hca)); /* of which packet_build() reads addresses only */
	struct hca_packet *pkt;
	uint32_t len;

	memcpy(hca->cfg.mac[0], smac, 6);
	memcpy(hca->port[0].gid[0], sgid, 16);
	pkt = packet_build(hca, spec, &len);
	memcpy(out, pkt->data, len);
	hca_packet_free(pkt);
	free(hca);
	return len;
}

uint32_t ref_frame(const struct pkt_spec *spec, const uint8_t smac[6], const uint8_t sgid[16], bool raw,
		   bool sums, const uint8_t *payload, uint8_t *out)
{
	const uint32_t at = raw ? 0 : ref_headers(spec, smac, sgid, out);
	const uint32_t pad = raw ? 0 : -spec->payload_len & 3;
	uint32_t len = at + spec->payload_len;

	if (spec->payload_len)
		memcpy(out + at, payload, spec->payload_len);
	if (sums)
		net_put_sums(out + at, spec->payload_len, raw ? NET_ETHERNET : NET_DATAGRAM, HCA_WR_IP_CSUM);
	memset(out + len, 0, ETH_MIN);
	if (raw)
		return len < ETH_MIN ? ETH_MIN : len;
	len += pad;
	ref_icrc(out, len, out + len);
	return len + HCASIM_ICRC_SIZE;
}

bool ref_is_request(uint8_t opcode)
{
	const struct hcasim_bth_op_info *info = hcasim_bth_op_info(opcode);

	return info && info->flags & HCASIM_BTH_F_REQ;
}

/* ---- The C engine, with one QP, that decodes and sends nothing ---- */

#define RING 32 /* blocks */

struct host {
	const uint8_t *ring;
	uint32_t tag, len;
	struct ref_wr *out;
	uint16_t index;
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

static uint8_t lookup(void *host, const struct engine_lookup *what, struct piece *out, uint32_t *npieces)
{
	return 0;
}

static bool room(void *host)
{
	return true;
}

static void timer(void *host, uint32_t qpn, hca_ps at)
{
}

static void failed(void *host, uint32_t qpn, uint8_t state)
{
}

static void saw_wqe(void *host, uint32_t qpn, const struct hca_wr *wr, const void *raw, uint32_t len)
{
	struct host *h = host;

	if (wr->index != h->index)
		return;
	h->out->wr = *wr;
	if (wr->flags & HCA_WR_INLINE)
		h->out->data_at = (uint32_t)(wr->inline_data - (const uint8_t *)raw);
	if (wr->num_sge)
		memcpy(h->out->sge, wr->sge, wr->num_sge * sizeof(*wr->sge));
}

static const struct engine_ports ports = {
	.now = now,
	.read = read_wqe,
	.lookup = lookup,
	.packet_room = room,
	.timer = timer,
	.failed = failed,
	.saw_wqe = saw_wqe,
};

static void put_nop(uint8_t *block, uint32_t qpn, uint16_t index)
{
	struct hcasim_wqe_ctrl ctrl = {
		.opcode = HCASIM_WQE_OP_NOP,
		.size = 1,
		.index = htole16(index),
		.qpn_flags = htole32(qpn),
	};

	memcpy(block, &ctrl, sizeof(ctrl));
}

static void decode_ring(struct engine *e, struct host *h, uint32_t qpn, uint16_t index, uint32_t posted)
{
	struct hca_work work;
	uint16_t i;

	c_engine.doorbell(e, qpn, (uint16_t)(index + posted));
	/* Up to the WQE under test; the blocks behind it are arbitrary. */
	for (i = 0; i <= index;) {
		if (c_engine.pending(e, HCA_STAGE_DECODE, &work)) {
			c_engine.step(e, HCA_STAGE_DECODE);
			i++;
		} else {
			uint16_t at = i;

			c_engine.step(e, HCA_STAGE_FETCH);
			c_engine.read_done(e, h->tag, h->ring + at * HCASIM_WQEBB_SIZE, h->len, 0);
		}
	}
	for (i = 0; i < index; i++)
		c_engine.step(e, HCA_STAGE_PACKETISE);
}

void ref_decode(const struct ref_qp *qp, const uint8_t *wqe, uint32_t posted, uint16_t index,
		struct ref_wr *out)
{
	static uint8_t ring[RING * HCASIM_WQEBB_SIZE];
	const struct engine_config cfg = {
		.pers = &native_personality, .fetch_depth = 8, .window = ENGINE_WINDOW};
	struct host h = {.ring = ring, .out = out, .index = index};
	struct engine_qp ctx = {.type = qp->type,
				.ring = {.entries = RING, .stride = HCASIM_WQEBB_SIZE},
				.max_inline = qp->max_inline,
				.mtu = 1024,
				.port = 1,
				.max_rd_atomic = qp->max_rd_atomic};
	struct engine *e = c_engine.create(&cfg, &ports, &h);
	struct engine_completion cpl;
	uint16_t i;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < index; i++)
		put_nop(ring + i * HCASIM_WQEBB_SIZE, qp->qpn, i);
	memcpy(ring + index * HCASIM_WQEBB_SIZE, wqe, posted * HCASIM_WQEBB_SIZE);
	c_engine.port_set(e, 1, qp->port_mtu);
	c_engine.qp_create(e, qp->qpn, &ctx);
	ctx.state = HCASIM_QPS_RTS;
	c_engine.qp_set(e, qp->qpn, &ctx);
	decode_ring(e, &h, qp->qpn, index, posted);
	if (c_engine.completion(e, qp->qpn, &cpl)) {
		out->status = cpl.status;
		out->vendor_err = cpl.vendor_err;
	}
	c_engine.qp_destroy(e, qp->qpn);
	c_engine.destroy(e);
}
