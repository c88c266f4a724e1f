/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/answers/responder.h"

#define REMOTE     0x7f0012340000ull /* addresses and keys of the requests: the peer has no memory */
#define NO_CREDITS 31                /* of an ACK (IBTA 9.7.7.2): credits are not in use */
#define WR_ID      0x5e0000

static uint64_t remote_of(unsigned int i)
{
	return REMOTE + i * 0x100008ull;
}

static uint32_t rkey_of(unsigned int i)
{
	return 0x80c0ffee - i;
}

static uint32_t imm_of(unsigned int i)
{
	return 0xa1b2c3d4 + i;
}

static bool is_atomic(const struct asked *a)
{
	return a->op == IBV_WR_ATOMIC_FETCH_AND_ADD || a->op == IBV_WR_ATOMIC_CMP_AND_SWP;
}

/* ---- The QP ---- */

bool rsp_open(struct kit *k, struct responder *p)
{
	*p = (struct responder){};
	if (!pqp_open(k, &p->t))
		return false;
	for (unsigned int i = 0; i < PQP_RECV; i++)
		p->t.mem[i] = p->t.want[i] = i * 13 + (i >> 8) * 5 + 1;
	end_written(p->t.mem, PQP_RECV);
	end_push();
	return true;
}

bool rsp_up(struct responder *p, uint32_t psn, const struct ibv_qp_attr *attr)
{
	struct ibv_qp_attr rts = *attr;
	int ret;

	p->num = 0;
	p->psn = rts.sq_psn = psn & HCASIM_PSN_MASK;
	rts.qp_state = IBV_QPS_RTS;
	rts.retry_cnt += kit_arg(p->t.k, "more", 0);
	rts.rnr_retry += kit_arg(p->t.k, "more", 0);
	rts.max_rd_atomic += kit_arg(p->t.k, "more", 0);
	if (!pqp_again(&p->t, psn ^ 0x654321))
		return false;
	ret = ibv_modify_qp(p->t.qp, &rts,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return KIT_MUST(p->t.k, !ret, "ibv_modify_qp to RTS failed with %s", errno_name(ret));
}

void rsp_spoil(struct responder *p, bool on)
{
	p->spoilt = on ? 0x5a : 0;
}

bool rsp_move(struct responder *p, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state, .en_sqd_async_notify = state == IBV_QPS_SQD};
	int notify = state == IBV_QPS_SQD ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0;
	int ret = ibv_modify_qp(p->t.qp, &attr, IBV_QP_STATE | notify);

	return KIT_MUST(p->t.k, !ret, "ibv_modify_qp to state %d failed with %s", state, errno_name(ret));
}

bool rsp_post(struct responder *p, enum ibv_wr_opcode op, unsigned int slot, uint32_t len, unsigned int flags)
{
	unsigned int i = p->num++;
	struct ibv_sge sge = {(uintptr_t)p->t.mem + slot * RSP_SLOT, len, p->t.mr->lkey ^ p->spoilt};
	struct ibv_send_wr wr = kit_wr(WR_ID + i, op, &sge), *bad;
	struct asked *a = &p->ask[i];
	int ret;

	*a = (struct asked){.op = op, .slot = slot, .flags = flags, .len = len, .psn = p->psn};
	a->packets = len ? (len + PQP_MTU - 1) / PQP_MTU : 1;
	p->psn = (p->psn + a->packets) & HCASIM_PSN_MASK;
	wr.send_flags = flags;
	wr.imm_data = htobe32(imm_of(i));
	if (is_atomic(a)) {
		wr.wr.atomic.remote_addr = remote_of(i);
		wr.wr.atomic.rkey = rkey_of(i);
		wr.wr.atomic.compare_add = ~remote_of(i);
		wr.wr.atomic.swap = ~remote_of(i) << 8;
	} else {
		wr.wr.rdma.remote_addr = remote_of(i);
		wr.wr.rdma.rkey = rkey_of(i);
	}
	ret = ibv_post_send(p->t.qp, &wr, &bad);
	return KIT_MUST(p->t.k, !ret, "posting request %u was refused with %s", i, errno_name(ret));
}

bool rsp_local(struct responder *p, struct ibv_send_wr *wr)
{
	unsigned int i = p->num++;
	struct ibv_send_wr *bad;
	int ret;

	p->ask[i] = (struct asked){.op = wr->opcode, .flags = wr->send_flags, .psn = p->psn};
	wr->wr_id = WR_ID + i;
	ret = ibv_post_send(p->t.qp, wr, &bad);
	return KIT_MUST(p->t.k, !ret, "posting request %u was refused with %s", i, errno_name(ret));
}

/* ---- Requests ---- */

/* Opcodes of the first, middle, last and only packet. */
static unsigned int code_of(const struct asked *a, uint32_t packet)
{
	static const uint8_t codes[][4] = {
		[IBV_WR_SEND] = {HCASIM_BTH_CODE_SEND_FIRST, HCASIM_BTH_CODE_SEND_MIDDLE,
				 HCASIM_BTH_CODE_SEND_LAST, HCASIM_BTH_CODE_SEND_ONLY},
		[IBV_WR_SEND_WITH_IMM] = {HCASIM_BTH_CODE_SEND_FIRST, HCASIM_BTH_CODE_SEND_MIDDLE,
					  HCASIM_BTH_CODE_SEND_LAST_WITH_IMMEDIATE,
					  HCASIM_BTH_CODE_SEND_ONLY_WITH_IMMEDIATE},
		[IBV_WR_RDMA_WRITE] = {HCASIM_BTH_CODE_RDMA_WRITE_FIRST, HCASIM_BTH_CODE_RDMA_WRITE_MIDDLE,
				       HCASIM_BTH_CODE_RDMA_WRITE_LAST, HCASIM_BTH_CODE_RDMA_WRITE_ONLY},
		[IBV_WR_RDMA_WRITE_WITH_IMM] = {HCASIM_BTH_CODE_RDMA_WRITE_FIRST,
						HCASIM_BTH_CODE_RDMA_WRITE_MIDDLE,
						HCASIM_BTH_CODE_RDMA_WRITE_LAST_WITH_IMMEDIATE,
						HCASIM_BTH_CODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE},
	};

	switch (a->op) {
	case IBV_WR_RDMA_READ:
		return HCASIM_BTH_CODE_RDMA_READ_REQUEST;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return HCASIM_BTH_CODE_COMPARE_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return HCASIM_BTH_CODE_FETCH_ADD;
	default:
		if (a->packets == 1)
			return codes[a->op][3];
		return codes[a->op][!packet ? 0 : packet == a->packets - 1 ? 2 : 1];
	}
}

static void judge_remote(struct responder *p, unsigned int i, uint32_t packet, const struct packet *got)
{
	const struct asked *a = &p->ask[i];
	const bool read = a->op == IBV_WR_RDMA_READ;
	const uint32_t off = read ? packet * PQP_MTU : 0;
	const struct hcasim_bth_op_info *info = hcasim_bth_op_info(got->opcode);
	struct kit *k = p->t.k;

	if (info->hdr_offset[HCASIM_HDR_RETH] || info->hdr_offset[HCASIM_HDR_ATOMICETH])
		KIT_CHECK(k, got->va == remote_of(i) + off && got->rkey == rkey_of(i),
			  "request %u names address 0x%llx and key 0x%x, expected 0x%llx and 0x%x", i,
			  (unsigned long long)got->va, got->rkey, (unsigned long long)remote_of(i) + off,
			  rkey_of(i));
	if (info->hdr_offset[HCASIM_HDR_RETH])
		KIT_CHECK(k, got->dmalen == a->len - off, "request %u names %u bytes, expected %u", i,
			  got->dmalen, a->len - off);
	if (info->hdr_offset[HCASIM_HDR_ATOMICETH])
		KIT_CHECK(k,
			  got->swap_add == (got->opcode == pqp_op(&p->t, HCASIM_BTH_CODE_FETCH_ADD)
						    ? ~remote_of(i)
						    : ~remote_of(i) << 8) &&
				  (a->op == IBV_WR_ATOMIC_FETCH_AND_ADD || got->compare == ~remote_of(i)),
			  "request %u has other operands", i);
	if (info->hdr_offset[HCASIM_HDR_IMMDT])
		KIT_CHECK(k, got->imm == imm_of(i), "immediate data 0x%x, expected 0x%x", got->imm,
			  imm_of(i));
}

static void judge_request(struct responder *p, unsigned int i, uint32_t packet, const struct packet *got)
{
	const struct asked *a = &p->ask[i];
	const bool data = a->op != IBV_WR_RDMA_READ && !is_atomic(a);
	const uint32_t off = packet * PQP_MTU, left = a->len - off, psn = (a->psn + packet) & HCASIM_PSN_MASK;
	const uint32_t len = !data ? 0 : left < PQP_MTU ? left : PQP_MTU;
	struct kit *k = p->t.k;

	KIT_CHECK(k, got->opcode == pqp_op(&p->t, code_of(a, packet)) && got->psn == psn && got->len == len,
		  "a packet with opcode 0x%x, PSN 0x%x, %u bytes; expected packet %u of request %u: 0x%x, "
		  "0x%x, %u",
		  got->opcode, got->psn, got->len, packet, i, pqp_op(&p->t, code_of(a, packet)), psn, len);
	judge_remote(p, i, packet, got);
	judge_bytes(&k->res->verdict, "a request", p->t.want + a->slot * RSP_SLOT + off, got->payload, len);
}

bool rsp_packet(struct responder *p, unsigned int i, uint32_t packet)
{
	struct packet got;

	if (port_get(&p->t.port, &got))
		judge_request(p, i, packet, &got);
	return KIT_GOOD(p->t.k);
}

bool rsp_packets(struct responder *p, unsigned int first, uint32_t packet, unsigned int last)
{
	for (unsigned int i = first; i <= last; i++, packet = 0) {
		const struct asked *a = &p->ask[i];
		uint32_t end = a->op == IBV_WR_RDMA_READ ? packet + 1 : a->packets;

		for (; packet < end; packet++)
			if (!rsp_packet(p, i, packet))
				return false;
	}
	return true;
}

bool rsp_await(struct responder *p, unsigned int i, uint32_t packet)
{
	const uint32_t psn = (p->ask[i].psn + packet) & HCASIM_PSN_MASK;
	struct packet got;

	do
		if (!port_get(&p->t.port, &got))
			return false;
	while (got.psn != psn);
	judge_request(p, i, packet, &got);
	return KIT_GOOD(p->t.k);
}

bool rsp_quiet(struct responder *p)
{
	const struct packet empty = pqp_packet(&p->t, HCASIM_BTH_CODE_RDMA_WRITE_ONLY, 0);
	struct ibv_wc wc;

	p->t.msn++;
	if (!pqp_send(&p->t, &empty) || !pqp_ack(&p->t, empty.psn))
		return false;
	if (ibv_poll_cq(p->t.cq, 1, &wc))
		KIT_FAULT(p->t.k, "request %u has completed with %s", (unsigned int)wc.wr_id - WR_ID,
			  value_name(status_names, wc.status));
	return KIT_GOOD(p->t.k);
}

/* ---- Answers ---- */

static bool answer(struct responder *p, unsigned int kind, unsigned int value, uint32_t psn)
{
	const struct packet ack = {.opcode = pqp_op(&p->t, HCASIM_BTH_CODE_ACKNOWLEDGE),
				   .dqpn = p->t.qp->qp_num,
				   .psn = psn,
				   .kind = kind,
				   .value = value};

	return port_send(&p->t.port, &ack);
}

bool rsp_ack_psn(struct responder *p, uint32_t psn)
{
	return answer(p, HCASIM_AETH_KIND_ACK, NO_CREDITS, psn);
}

bool rsp_ack(struct responder *p, unsigned int i, uint32_t packet)
{
	return rsp_ack_psn(p, p->ask[i].psn + packet);
}

bool rsp_nak(struct responder *p, unsigned int i, uint32_t packet, unsigned int code)
{
	return answer(p, HCASIM_AETH_KIND_NAK, code, p->ask[i].psn + packet);
}

bool rsp_rnr(struct responder *p, unsigned int i, uint32_t packet, unsigned int timer)
{
	return answer(p, HCASIM_AETH_KIND_RNR, timer, p->ask[i].psn + packet);
}

bool rsp_wrong(struct responder *p, unsigned int i, uint32_t packet, unsigned int code, uint32_t len)
{
	struct packet data = pqp_packet(&p->t, code, len);

	data.psn = p->ask[i].psn + packet;
	data.value = NO_CREDITS;
	data.ackreq = false;
	data.orig = 0x0123456789abcdef;
	return port_send(&p->t.port, &data);
}

bool rsp_read(struct responder *p, unsigned int i, uint32_t from, uint32_t packet)
{
	const struct asked *a = &p->ask[i];
	const uint32_t off = packet * PQP_MTU, left = a->len - off;
	const uint32_t len = left < PQP_MTU ? left : PQP_MTU;
	const bool last = packet == a->packets - 1;
	unsigned int code = HCASIM_BTH_CODE_RDMA_READ_RESPONSE_MIDDLE;
	bool good;

	if (last)
		code = packet == from ? HCASIM_BTH_CODE_RDMA_READ_RESPONSE_ONLY
				      : HCASIM_BTH_CODE_RDMA_READ_RESPONSE_LAST;
	else if (packet == from)
		code = HCASIM_BTH_CODE_RDMA_READ_RESPONSE_FIRST;
	good = rsp_wrong(p, i, packet, code, len);
	memcpy(p->t.want + a->slot * RSP_SLOT + off, p->t.data, len);
	return good;
}

bool rsp_reads(struct responder *p, unsigned int i, uint32_t from, uint32_t packet, uint32_t last)
{
	for (; packet <= last; packet++)
		if (!rsp_read(p, i, from, packet))
			return false;
	return true;
}

bool rsp_atomic(struct responder *p, unsigned int i, uint64_t orig)
{
	const struct asked *a = &p->ask[i];
	const struct packet result = {.opcode = pqp_op(&p->t, HCASIM_BTH_CODE_ATOMIC_ACKNOWLEDGE),
				      .dqpn = p->t.qp->qp_num,
				      .psn = a->psn,
				      .value = NO_CREDITS,
				      .orig = orig};

	memcpy(p->t.want + a->slot * RSP_SLOT, &orig, sizeof(orig));
	return port_send(&p->t.port, &result);
}

/* ---- Completions ---- */

bool rsp_done(struct responder *p, unsigned int i, enum ibv_wc_status status)
{
	static const uint8_t opcodes[] = {
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
		[IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
	};
	struct watchdog w = watchdog(p->t.k->r->dut.timeout_ms);
	const struct asked *a = &p->ask[i];
	struct kit *k = p->t.k;
	struct ibv_wc wc;
	int ret;

	do
		ret = ibv_poll_cq(p->t.cq, 1, &wc);
	while (!ret && !watchdog_expired(&w) && !remote_broken());
	if (ret != 1)
		KIT_FAULT(k, "the completion of request %u did not come", i);
	else if (wc.wr_id != WR_ID + i || wc.status != status || wc.qp_num != p->t.qp->qp_num)
		KIT_FAULT(k, "request %u completes with %s, expected %u with %s",
			  (unsigned int)wc.wr_id - WR_ID, value_name(status_names, wc.status), i,
			  value_name(status_names, status));
	else if (!status && wc.opcode != opcodes[a->op])
		KIT_FAULT(k, "opcode %u in the completion of request %u", wc.opcode, i);
	else if (!status && (a->op == IBV_WR_RDMA_READ || is_atomic(a)) && wc.byte_len != a->len)
		KIT_FAULT(k, "byte_len %u of request %u, expected %u", wc.byte_len, i, a->len);
	return KIT_GOOD(k);
}

bool rsp_flushed(struct responder *p, unsigned int first, unsigned int last)
{
	for (unsigned int i = first; i <= last; i++)
		if (!rsp_done(p, i, IBV_WC_WR_FLUSH_ERR))
			return false;
	return true;
}
