// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the model asks for, as calls of struct engine_ports.
#include <cstdio>
#include <cstdlib>

#include <endian.h>

#include "core/wire/frame.h"
#include "engine.hpp"

void engine::request()
{
	top->req_ack_i = top->req_valid_o && pace.ready();
	if (top->req_ack_i)
		answer();
}

void engine::answer()
{
	Record &r = record(top->rec_qpn_o, top->req_seq());
	const uint32_t qpn = top->req_qpn(), tag = top->req_tag();
	engine_lookup what = memory(r);
	hca_wr wr;

	top->ans_ok_i = 1;
	top->ans_error_i = 0;
	top->ans_count_i = 0;
	switch ((Request)top->req_kind()) {
	case Request::NOW:
		top->ans_time_i = ports->now(host);
		break;
	case Request::READ:
		read();
		break;
	case Request::LOOKUP:
		lookup();
		break;
	case Request::PRESENT:
		top->ans_ok_i = ports->present(host, &what);
		break;
	case Request::PAGES:
		top->ans_ok_i = ports->page_request(host, qpn, tag, &what);
		break;
	case Request::LOCAL:
		wr = work_request(r);
		top->ans_error_i = ports->local(host, qpn, &wr);
		break;
	case Request::PACKET:
		packet();
		break;
	case Request::RESULT:
		top->ans_count_i = (uint32_t)ports->result(host, qpn, tag, pieces_.data(), npieces_);
		break;
	case Request::TIMER:
		ports->timer(host, qpn, top->req_at());
		break;
	case Request::FAILED:
		ports->failed(host, qpn, top->req_state());
		break;
	case Request::DRAINED:
		ports->drained(host, qpn);
		break;
	case Request::SEEN:
		seen();
		break;
	case Request::SIZE:
		top->ans_count_i = cfg.pers->wqe_size(&slot[top->req_slot()][top->req_block() * BLOCK]);
		break;
	case Request::DECODE:
		decode();
		break;
	}
}

// The part of the WQE's SGEs that the request is about.
engine_lookup engine::memory(Record &r)
{
	return {top->qp_pdn(),     top->req_write() ? (uint32_t)HCASIM_ACCESS_LOCAL_WRITE : 0,
		r.sge.data(),      r.num_sge,
		top->req_offset(), top->req_length()};
}

void engine::read()
{
	const hca_dma_seg seg[2] = {{top->req_addr0(), top->req_bytes0(), 0},
				    {top->req_addr1(), top->req_bytes1(), 0}};

	top->ans_ok_i =
		ports->read(host, top->req_qpn(), top->req_tag(), top->qp_pasid(), seg, seg[1].len ? 2 : 1);
}

void engine::lookup()
{
	engine_lookup what = memory(record(top->rec_qpn_o, top->req_seq()));

	npieces_ = 0;
	top->ans_error_i = top->req_check() ? ports->lookup(host, &what, nullptr, nullptr)
					    : ports->lookup(host, &what, pieces_.data(), &npieces_);
	top->ans_count_i = npieces_;
}

template <class Wide>
static void to_bytes(uint8_t *out, const Wide &port, size_t len)
{
	memcpy(out, &port, len);
}

// The address vector of a datagram is in its WQE, that of connected QPs in the context.
static hca_av address(const Top &top)
{
	const bool ud = top.qp_qp_type() == HCASIM_QPT_UD;
	hca_av av = {};

	to_bytes(av.dgid, top.packet_dgid(), sizeof(av.dgid));
	to_bytes(av.dmac, top.packet_dmac(), sizeof(av.dmac));
	av.sgid_index = ud ? top.ud_sgid_index() : top.qp_sgid_index();
	av.hop_limit = top.packet_hop_limit();
	av.traffic_class = top.packet_traffic_class();
	av.sl = ud ? top.ud_sl() : top.qp_sl();
	av.port = ud ? top.ud_port() : top.qp_av_port();
	av.flow_label = ud ? top.ud_flow_label() : top.qp_flow_label();
	return av;
}

static pkt_spec headers(const Top &top, const hca_av *av)
{
	pkt_spec s = {};

	s.opcode = top.packet_opcode();
	s.port = top.qp_port();
	s.av = av;
	s.sport = top.packet_sport();
	s.dqpn = top.packet_dqpn();
	s.psn = top.packet_psn();
	s.qkey = top.packet_qkey();
	s.sqpn = top.packet_sqpn();
	s.srqn = top.packet_srqn();
	s.se = top.packet_se();
	s.ackreq = top.packet_ackreq();
	s.va = top.packet_va();
	s.swap_add = top.packet_swap_add();
	s.compare = top.packet_compare();
	s.rkey = top.packet_rkey();
	s.dmalen = top.packet_dmalen();
	s.imm = top.packet_imm();
	s.inv_rkey = top.packet_inv_rkey();
	s.plt = top.packet_plt();
	s.sel = top.packet_sel();
	s.payload_len = top.packet_payload_len();
	return s;
}

// The headers of a TSO segment: those of the WQE, with the fields that the model gives. As hcasim_offload.
static uint32_t put_headers(uint8_t *out, const Top &top, const uint8_t *in)
{
	uint8_t *ip = out + top.net_l3_at(), *tcp = out + top.net_l4_at();

	memcpy(out, in, top.wr_hdr_size());
	if (top.net_ipv4()) {
		put16(ip + IPV4_TOTAL, top.offload_ip_bytes());
		put16(ip + IPV4_ID, top.offload_id());
	} else {
		put16(ip + IPV6_PAYLOAD, top.offload_ip_bytes());
	}
	put32(tcp + TCP_SEQ, top.offload_seq());
	put16(tcp + TCP_DATA, top.offload_control());
	return top.wr_hdr_size();
}

// For the frame, when it leaves: what the model says of the packet, and the bytes that it takes from its WQE.
void engine::keep(const Record &r, uint32_t head_len)
{
	Packet &p = frames->packet(top->req_tag());
	const bool tso = top->offload_tso(), inside = top->wr_is_inline();

	p.packet = top->packet_o;
	p.offload = top->offload_o;
	p.raw = top->qp_qp_type() == HCASIM_QPT_RAW_PACKET;
	p.inside[0] = {top->wr_header_at(), (uint16_t)(tso ? top->wr_hdr_size() : 0)};
	p.inside[1] = {(uint16_t)(r.inline_at + top->req_offset()),
		       (uint16_t)(inside ? head_len - p.inside[0].len : 0)};
	if (tso || inside)
		p.wqe = r.raw;
}

void engine::packet()
{
	const hca_av av = address(*top);
	Record &r = record(top->rec_qpn_o, top->req_seq());
	std::array<uint8_t, 2 * HCA_WQE_MAX> head; // both are inside the WQE
	engine_packet p = {};

	p.qpn = top->req_qpn();
	p.raw = top->qp_qp_type() == HCASIM_QPT_RAW_PACKET;
	p.sums = top->offload_sums() ? HCA_WR_IP_CSUM : 0;
	p.spec = headers(*top, &av);
	p.head = head.data();
	if (top->offload_tso())
		p.head_len = put_headers(head.data(), *top, &r.raw[top->wr_header_at()]);
	if (top->wr_is_inline()) {
		const uint32_t len = p.spec.payload_len - p.head_len,
			       end = r.inline_at + top->req_offset() + len;

		if (p.spec.payload_len < p.head_len || end > HCA_WQE_MAX) {
			fprintf(stderr,
				"hcasim: rtl engine: packet %u of WQE %u of QP %u has %u bytes, beyond the "
				"WQE\n",
				(unsigned int)top->state_cur_pkt(), (unsigned int)top->req_seq(), p.qpn,
				p.spec.payload_len);
			abort();
		}
		memcpy(&head[p.head_len], &r.raw[r.inline_at + top->req_offset()], len);
		p.head_len += len;
	} else if (!top->req_check()) {
		p.piece = pieces_.data();
		p.npieces = npieces_;
	}
	keep(r, p.head_len);
	top->ans_ok_i = ports->packet(host, top->req_tag(), &p);
}

// ---- WQEs ----

static void address_of(const Top &top, hca_wr &wr)
{
	wr.ud.qpn = top.ud_qpn();
	wr.ud.qkey = top.ud_qkey();
	to_bytes(wr.ud.av.dgid, top.ud_dgid(), sizeof(wr.ud.av.dgid));
	to_bytes(wr.ud.av.dmac, top.ud_dmac(), sizeof(wr.ud.av.dmac));
	wr.ud.av.sgid_index = top.ud_sgid_index();
	wr.ud.av.hop_limit = top.ud_hop_limit();
	wr.ud.av.traffic_class = top.ud_traffic_class();
	wr.ud.av.sl = top.ud_sl();
	wr.ud.av.port = top.ud_port();
	wr.ud.av.flow_label = top.ud_flow_label();
	wr.ud.sport = (uint16_t)top.ud_reserved();
}

static void window_of(const Top &top, hca_wr &wr)
{
	wr.bind.mw_rkey = top.bind_mw_rkey();
	wr.bind.new_rkey = top.bind_new_rkey();
	wr.bind.lkey = top.bind_lkey();
	wr.bind.access = top.bind_access();
	wr.bind.addr = top.bind_addr();
	wr.bind.length = top.bind_length();
	wr.bind.type = top.bind_type_();
}

// The request that the model holds, with its data in the record.
hca_wr engine::work_request(Record &r)
{
	hca_wr wr = {};

	wr.op = top->wr_op();
	wr.num_bb = top->wr_num_bb();
	wr.index = top->wr_index();
	wr.flags = (top->wr_signaled() ? HCA_WR_SIGNALED : 0) | (top->wr_solicited() ? HCA_WR_SOLICITED : 0) |
		   (top->wr_fence() ? HCA_WR_FENCE : 0) | (top->wr_is_inline() ? HCA_WR_INLINE : 0) |
		   (top->wr_ip_csum() ? HCA_WR_IP_CSUM : 0);
	wr.imm = top->wr_imm();
	wr.inv_rkey = top->wr_inv_rkey();
	wr.remote_addr = top->wr_remote_addr();
	wr.rkey = top->wr_rkey();
	wr.srqn = top->wr_srqn();
	wr.swap_add = top->wr_swap_add();
	wr.compare = top->wr_compare();
	address_of(*top, wr);
	window_of(*top, wr);
	wr.tso = {top->wr_mss(), top->wr_hdr_size(), r.raw.data() + top->wr_header_at()};
	wr.flush = {top->wr_flush_length(), top->wr_flush_type(), top->wr_flush_level()};
	wr.length = top->wr_length();
	wr.num_sge = r.num_sge;
	wr.sge = r.sge.data();
	wr.inline_data = top->wr_is_inline() ? r.raw.data() + r.inline_at : nullptr;
	return wr;
}

// The bytes of a decoded WQE go from their fetch buffer to its record.
void engine::seen()
{
	Record &r = record(top->rec_qpn_o, top->req_seq());
	const uint32_t len = top->req_bytes();
	const bool native = top->native_i;
	hca_wr wr;

	if (top->req_check())
		memset(r.raw.data(), 0, len);
	else
		memcpy(r.raw.data(), &slot[top->req_slot()][top->req_block() * BLOCK], len);
	r.num_sge = top->wqe_num_sge();
	r.inline_at = native ? top->wr_data_at() : decoded_.inline_at;
	for (uint32_t i = 0; i < r.num_sge; i++) {
		if (!native) { // its SGEs are anywhere
			r.sge[i] = decoded_.sge[i];
			continue;
		}
		hcasim_seg_data seg;
		memcpy(&seg, &r.raw[top->wr_data_at() % HCA_WQE_MAX + i * sizeof(seg)], sizeof(seg));
		r.sge[i] = {le64toh(seg.addr), le32toh(seg.length), le32toh(seg.lkey)};
	}
	wr = work_request(r);
	ports->saw_wqe(host, top->req_qpn(), &wr, r.raw.data(), len);
}

static void put_request(Top &top, const hca_wr &wr, const uint8_t *raw)
{
	top.dec_wr_op(wr.op);
	top.dec_wr_signaled(!!(wr.flags & HCA_WR_SIGNALED));
	top.dec_wr_solicited(!!(wr.flags & HCA_WR_SOLICITED));
	top.dec_wr_fence(!!(wr.flags & HCA_WR_FENCE));
	top.dec_wr_is_inline(!!(wr.flags & HCA_WR_INLINE));
	top.dec_wr_ip_csum(!!(wr.flags & HCA_WR_IP_CSUM));
	top.dec_wr_imm(wr.imm);
	top.dec_wr_inv_rkey(wr.inv_rkey);
	top.dec_wr_remote_addr(wr.remote_addr);
	top.dec_wr_rkey(wr.rkey);
	top.dec_wr_srqn(wr.srqn & HCASIM_PSN_MASK); // 24 bits, too
	top.dec_wr_swap_add(wr.swap_add);
	top.dec_wr_compare(wr.compare);
	top.dec_wr_mss(wr.tso.mss);
	top.dec_wr_hdr_size(wr.tso.hdr_size);
	top.dec_wr_header_at(wr.tso.hdr ? (uint16_t)(wr.tso.hdr - raw) : 0);
	top.dec_wr_flush_length((uint32_t)wr.flush.length);
	top.dec_wr_flush_type(wr.flush.type);
	top.dec_wr_flush_level(wr.flush.level);
	top.dec_wr_length(wr.length < (1ull << 37) ? wr.length : (1ull << 37) - 1);
}

static void put_segments(Top &top, const hca_wr &wr)
{
	top.dec_ud_qpn(wr.ud.qpn);
	top.dec_ud_qkey(wr.ud.qkey);
	top.dec_ud_dgid(from_bytes(wr.ud.av.dgid));
	top.dec_ud_dmac(from_bytes(wr.ud.av.dmac));
	top.dec_ud_sgid_index(wr.ud.av.sgid_index);
	top.dec_ud_hop_limit(wr.ud.av.hop_limit);
	top.dec_ud_traffic_class(wr.ud.av.traffic_class);
	top.dec_ud_sl(wr.ud.av.sl);
	top.dec_ud_port(wr.ud.av.port);
	top.dec_ud_flow_label(wr.ud.av.flow_label);
	top.dec_ud_reserved(wr.ud.sport);
	top.dec_bind_mw_rkey(wr.bind.mw_rkey);
	top.dec_bind_new_rkey(wr.bind.new_rkey);
	top.dec_bind_lkey(wr.bind.lkey);
	top.dec_bind_access(wr.bind.access);
	top.dec_bind_addr(wr.bind.addr);
	top.dec_bind_length(wr.bind.length);
	top.dec_bind_type_(wr.bind.type);
}

// Another device family's decoder, in place of hcasim_wqe_decode. The SGEs it has space for grow with the WQE, as in the
// C engine.
void engine::decode()
{
	const uint32_t len = top->req_bytes();
	const uint32_t room = len <= 64 ? 64 : len <= 128 ? 128 : len <= 256 ? 256 : HCA_WQE_MAX;
	uint8_t *raw = decoded_.raw.data(), status = HCASIM_CQE_STATUS_LOC_QP_OP_ERR, err;
	hca_wr wr = {};

	memcpy(raw, &slot[top->req_slot()][top->req_block() * BLOCK], len);
	err = cfg.pers->decode_wqe(raw, len, top->qp_qp_type(), top->req_qpn(), top->req_index(), &wr,
				   decoded_.sge.data(), room / sizeof(hca_sge), &status);
	if (!err && wr.lead_len) // of mlx5: GATHER reads SGEs, or takes inline data, not both for one WQE
		err = HCASIM_VENDOR_ERR_INLINE_NOT_ALLOWED;
	if (!err && wr.op == HCASIM_WQE_OP_SEND && wr.tso.hdr_size) // likewise, headers of a frame
		err = HCASIM_VENDOR_ERR_INLINE_NOT_ALLOWED;
	if (!err && !(wr.flags & HCA_WR_L3_CSUM) != !(wr.flags & HCA_WR_L4_CSUM)) // it inserts both, or none
		err = HCASIM_VENDOR_ERR_BAD_SEGMENT;
	if (!err && wr.bind.type == HCA_BIND_KEY) // the model has no place for its parts
		err = HCASIM_VENDOR_ERR_BAD_SEGMENT;
	if (cfg.pers->av_without_port)
		wr.ud.av.port = top->qp_port();
	put_request(*top, wr, raw);
	put_segments(*top, wr);
	top->dec_wr_status(err ? status : (uint8_t)HCASIM_CQE_STATUS_OK);
	top->dec_wr_vendor_err(err);
	top->dec_num_sge_i = wr.num_sge;
	decoded_.inline_at = wr.inline_data ? (uint32_t)(wr.inline_data - raw) : 0;
}
