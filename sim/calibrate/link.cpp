// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "link.h"

#include <algorithm>
#include <cstring>

#include <endian.h>

#include <hcasim_hw.h>
#include <hcasim_verbs.h>

namespace
{

constexpr uint32_t PD = 1, RQ_STRIDE = 32;
constexpr uint64_t PAGE = HCASIM_UAR_PAGE_SIZE; /* user access page 1 */

void must(int err, const char *what)
{
	if (err)
		throw std::string(what) + ": " + strerror(-err);
}

uint64_t addr_of(const void *p)
{
	return reinterpret_cast<uint64_t>(p);
}

void gid_of(unsigned int index, uint8_t gid[16])
{
	const uint8_t mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, uint8_t(index + 1)};

	memcpy(gid, mapped, sizeof(mapped));
}

template <class Segment>
void append(std::vector<uint8_t> &wqe, const Segment &segment)
{
	const uint8_t *p = reinterpret_cast<const uint8_t *>(&segment);

	wqe.insert(wqe.end(), p, p + sizeof(segment));
}

void pad(std::vector<uint8_t> &wqe)
{
	wqe.resize((wqe.size() + HCASIM_SEG_UNIT - 1) / HCASIM_SEG_UNIT * HCASIM_SEG_UNIT);
}

/* Ethernet, IPv4, TCP: 54 bytes of headers of a segment. */
void tso_headers(std::vector<uint8_t> &wqe, uint32_t mss)
{
	uint8_t headers[54] = {2, 0, 0, 0, 0, 99, 2, 0, 0, 0, 0, 98, 8, 0, 0x45};
	hcasim_seg_tso seg = {};

	headers[14 + 8] = 64; /* TTL */
	headers[14 + 9] = 6;  /* TCP */
	headers[34 + 12] = 5 << 4;
	seg.mss = htole16(uint16_t(mss));
	seg.hdr_size = htole16(sizeof(headers));
	append(wqe, seg);
	append(wqe, headers);
	pad(wqe);
}

} // namespace

struct alignas(4096) End::Memory {
	uint8_t buffer[BUFFER];
	uint8_t sq[BLOCKS * HCASIM_WQEBB_SIZE];
	uint8_t rq[RQES * RQ_STRIDE];
	uint8_t cq[CQES * HCASIM_CQE_SIZE];
	hcasim_sq_record sq_record;
	hcasim_cq_record cq_record;
};

End::End(struct machine *m, unsigned int index, bool raw)
    : m_(m), index_(index), raw_(raw), core_(machine_hca(m, index)), memory_(new Memory())
{
	hca_mr_attr mr = {};
	uint8_t gid[16];

	gid_of(index, gid);
	must(hca_gid_set(core_, 1, 0, gid, false), "gid");
	mr.pdn = PD;
	mr.access = HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_READ |
		    HCASIM_ACCESS_REMOTE_ATOMIC;
	mr.va = mr.iova = buffer();
	mr.length = BUFFER;
	must(hca_mr_create(core_, &mr, &key_), "mr");
	create_queues();
}

uint64_t End::buffer() const
{
	return addr_of(memory_->buffer);
}

void End::create_queues()
{
	hca_cq_attr cq = {};
	hca_qp_attr_create qp = {};

	cq.ring = {HCA_PASID_KERNEL, addr_of(memory_->cq), CQES, HCASIM_CQE_SIZE};
	cq.record = addr_of(&memory_->cq_record);
	cq.uar_page = 1;
	must(hca_cq_create(core_, &cq, &cqn_), "cq");
	qp.type = raw_ ? HCASIM_QPT_RAW_PACKET : HCASIM_QPT_RC;
	qp.pdn = PD;
	qp.send_cqn = qp.recv_cqn = cqn_;
	qp.sq = {HCA_PASID_KERNEL, addr_of(memory_->sq), BLOCKS, HCASIM_WQEBB_SIZE};
	qp.rq = {HCA_PASID_KERNEL, addr_of(memory_->rq), RQES, RQ_STRIDE};
	qp.record = addr_of(&memory_->sq_record);
	qp.max_inline = HCASIM_MAX_INLINE;
	qp.max_send_sge = HCASIM_MAX_SGE;
	qp.max_recv_sge = 1;
	qp.max_send_wr = BLOCKS;
	qp.max_recv_wr = RQES;
	qp.uar_page = 1;
	must(hca_qp_create(core_, &qp, &qpn_), "qp");
}

void End::modify(const End &peer, uint8_t state)
{
	hca_qp_attr a = {};
	uint32_t mask = HCASIM_QP_ATTR_STATE;

	a.state = state;
	a.port = 1;
	a.access = HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_READ | HCASIM_ACCESS_REMOTE_ATOMIC;
	a.path_mtu = 5; /* 4096 bytes */
	a.dest_qpn = peer.qpn_;
	a.max_rd_atomic = a.max_dest_rd_atomic = 16;
	a.min_rnr_timer = 1;
	a.timeout = 14;
	a.retry_cnt = a.rnr_retry = 7;
	gid_of(peer.index_, a.av.dgid);
	memcpy(a.av.dmac, machine_hca_config(m_, peer.index_)->mac[0], sizeof(a.av.dmac));
	a.av.hop_limit = 64;
	a.av.port = 1;
	if (state == HCASIM_QPS_INIT)
		mask |= HCASIM_QP_ATTR_PORT |
			(raw_ ? 0 : HCASIM_QP_ATTR_PKEY_INDEX | HCASIM_QP_ATTR_ACCESS_FLAGS);
	else if (state == HCASIM_QPS_RTR && !raw_)
		mask |= HCASIM_QP_ATTR_PATH_MTU | HCASIM_QP_ATTR_DEST_QPN | HCASIM_QP_ATTR_RQ_PSN |
			HCASIM_QP_ATTR_MAX_DEST_RD_ATOMIC | HCASIM_QP_ATTR_MIN_RNR_TIMER | HCASIM_QP_ATTR_AV;
	else if (state == HCASIM_QPS_RTS && !raw_)
		mask |= HCASIM_QP_ATTR_TIMEOUT | HCASIM_QP_ATTR_RETRY_CNT | HCASIM_QP_ATTR_RNR_RETRY |
			HCASIM_QP_ATTR_SQ_PSN | HCASIM_QP_ATTR_MAX_QP_RD_ATOMIC;
	must(hca_qp_modify(core_, qpn_, &a, mask), "modify");
}

void End::connect(const End &peer)
{
	for (uint8_t state : {HCASIM_QPS_INIT, HCASIM_QPS_RTR, HCASIM_QPS_RTS})
		modify(peer, state);
}

void End::receive(uint32_t wqes)
{
	for (uint32_t i = 0; i < wqes; i++, rq_pi_++) {
		uint8_t *at = memory_->rq + rq_pi_ % RQES * RQ_STRIDE;
		hcasim_rqe head = {};
		const hcasim_seg_data sge = {htole64(buffer()), htole32(BUFFER), htole32(key_)};

		head.index = htole16(uint16_t(rq_pi_));
		head.num_sge = 1;
		memcpy(at, &head, sizeof(head));
		memcpy(at + sizeof(head), &sge, sizeof(sge));
	}
	memory_->sq_record.rq_pi = htole32(rq_pi_);
}

std::vector<uint8_t> End::wqe(const Mix &mix, const End &peer) const
{
	const struct hcasim_wqe_format *format = hcasim_wqe_format(mix.op);
	std::vector<uint8_t> out(sizeof(hcasim_wqe_ctrl));
	hcasim_wqe_ctrl ctrl = {};

	for (uint8_t kind : format->segs) {
		if (kind == HCASIM_WQE_SEG_REMOTE)
			append(out, hcasim_seg_remote{htole64(peer.buffer()), htole32(peer.key_), 0});
		else if (kind == HCASIM_WQE_SEG_ATOMIC)
			append(out, hcasim_seg_atomic{htole64(1), htole64(0)});
		else if (kind == HCASIM_WQE_SEG_TSO)
			tso_headers(out, mix.mss);
	}
	if (!mix.sges) {
		append(out, hcasim_seg_inline{htole32(mix.size)});
		out.resize(out.size() + mix.size, 0x5a);
	}
	for (uint32_t i = 0; i < mix.sges; i++) {
		const uint32_t from = uint32_t(uint64_t(mix.size) * i / mix.sges);
		const uint32_t to = uint32_t(uint64_t(mix.size) * (i + 1) / mix.sges);

		append(out, hcasim_seg_data{htole64(buffer() + from), htole32(to - from), htole32(key_)});
	}
	pad(out);
	ctrl.opcode = mix.op;
	ctrl.size = uint8_t(out.size() / HCASIM_SEG_UNIT);
	ctrl.index = htole16(uint16_t(pi_));
	ctrl.qpn_flags =
		htole32(qpn_ | HCASIM_WQE_CTRL_SIGNALED_MASK | (mix.sges ? 0 : HCASIM_WQE_CTRL_INLINE_MASK));
	memcpy(out.data(), &ctrl, sizeof(ctrl));
	return out;
}

void End::post(const Mix &mix, const End &peer, bool submit)
{
	std::vector<uint8_t> bytes = wqe(mix, peer);

	if (bytes.size() > HCASIM_WQE_MAX_BB * HCASIM_WQEBB_SIZE)
		throw mix.name + ": its WQE is too long";
	for (size_t at = 0; at < bytes.size(); at += HCASIM_WQEBB_SIZE, pi_++)
		memcpy(memory_->sq + pi_ % BLOCKS * HCASIM_WQEBB_SIZE, &bytes[at],
		       std::min<size_t>(HCASIM_WQEBB_SIZE, bytes.size() - at));
	memory_->sq_record.sq_pi = htole32(pi_);
	if (submit && mix.push)
		push(bytes);
	else if (submit)
		ring();
}

void End::ring()
{
	uint64_t db = htole64(HCASIM_FIELD_PREP(HCASIM_DB_SQ_QPN_MASK, uint64_t(qpn_)) |
			      HCASIM_FIELD_PREP(HCASIM_DB_SQ_PI_MASK, uint64_t(pi_ & 0xffff)));

	machine_mmio_write(m_, 0, index_, HCASIM_BAR_UAR, PAGE + HCASIM_UAR_DB_SQ, &db, sizeof(db), true);
}

void End::push(const std::vector<uint8_t> &wqe)
{
	for (size_t at = 0; at < wqe.size(); at += 8)
		machine_mmio_write(m_, 0, index_, HCASIM_BAR_UAR, PAGE + HCASIM_UAR_BF + at, &wqe[at], 8,
				   true);
}

uint32_t End::poll()
{
	uint32_t n = 0;

	while (true) {
		const auto *cqe = reinterpret_cast<const hcasim_cqe *>(memory_->cq) + ci_ % CQES;
		const unsigned int phase = ci_ / CQES % 2 ? 0 : 1;

		if ((cqe->owner & HCASIM_CQE_PHASE_MASK) != phase)
			break;
		if (cqe->status != HCASIM_CQE_STATUS_OK)
			throw std::string("a WQE ended with ") + hcasim_cqe_status_name(cqe->status);
		ci_++;
		n++;
	}
	memory_->cq_record.ci = htole32(ci_);
	return n;
}
