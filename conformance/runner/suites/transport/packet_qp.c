/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "link/link_xrc.h"
#include "judge/watchdog.h"
#include "suites/transport/packet_qp.h"

static bool create_xrc(struct packet_qp *t)
{
	struct ibv_pd *pd = t->pd[PQP_PDS - 1];
	struct ibv_srq_attr attr = {.max_wr = PQP_DEPTH, .max_sge = 2};

	t->xrcd = link_xrcd(pd->context);
	t->srq = t->xrcd ? link_xrc_srq(pd, t->xrcd, t->cq, &attr) : NULL;
	t->other = t->srq ? link_xrc_srq(pd, t->xrcd, t->cq, &attr) : NULL;
	if (!t->other || ibv_get_srq_num(t->srq, &t->srqn) || ibv_get_srq_num(t->other, &t->other_srqn))
		return false;
	t->qp = link_xrc_recv(t->xrcd);
	return t->qp;
}

/* So that its number is not the one that an access has which forgets it; NULL: failed. */
static struct ibv_pd *create_domains(struct packet_qp *t)
{
	for (unsigned int i = 0; i < PQP_PDS; i++) {
		t->pd[i] = ibv_alloc_pd(t->k->r->dut.responder.ctx);
		if (!t->pd[i])
			return NULL;
	}
	return t->pd[PQP_PDS - 1];
}

static bool create(struct packet_qp *t)
{
	const struct end *end = &t->k->r->dut.responder;
	struct ibv_qp_init_attr init = {.cap = {PQP_SENDS, PQP_DEPTH, 1, 2, 0}, .qp_type = t->qpt};
	int more = kit_arg(t->k, "rights", 0);
	struct ibv_pd *pd = create_domains(t);

	if (!pd)
		return false;
	t->mem = end_alloc(pd, PQP_SIZE);
	t->want = made_zeroed(1, PQP_SIZE);
	t->mr = t->mem && t->want ? ibv_reg_mr(pd, t->mem, PQP_SIZE, PQP_ACCESS | more) : NULL;
	t->cq = ibv_create_cq(end->ctx, PQP_SENDS + PQP_DEPTH, NULL, NULL, 0);
	if (!t->mr || !t->cq)
		return false;
	memset(t->mem, 0x5c, PQP_SIZE);
	memset(t->want, 0x5c, PQP_SIZE);
	end_written(t->mem, PQP_SIZE);
	end_push();
	if (t->qpt == IBV_QPT_XRC_RECV)
		return create_xrc(t);
	init.send_cq = init.recv_cq = t->cq;
	t->qp = ibv_create_qp(pd, &init);
	return t->qp;
}

static bool bring_up(struct packet_qp *t, uint32_t psn)
{
	bool ud = t->qpt == IBV_QPT_UD, reliable = !ud && t->qpt != IBV_QPT_UC;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = t->k->r->dut.responder.port,
		.qp_access_flags = reliable ? t->access : IBV_ACCESS_REMOTE_WRITE,
		.qkey = PQP_QKEY,
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = t->port.qp->qp_num,
		.rq_psn = psn & HCASIM_PSN_MASK,
		.max_dest_rd_atomic = t->reads,
		.min_rnr_timer = t->rnr_timer,
		.ah_attr = t->port.to_here,
	};
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	int path = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int more = reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0;
	int ret = ibv_modify_qp(t->qp, &attr, init);

	attr.qp_state = IBV_QPS_RTR;
	ret = ret ? ret : ibv_modify_qp(t->qp, &attr, IBV_QP_STATE | (ud ? 0 : path | more));
	if (ret)
		KIT_FAULT(t->k, "the QP under test does not come up: %s", errno_name(ret));
	t->psn = psn & HCASIM_PSN_MASK;
	t->msn = 0;
	return !ret;
}

bool pqp_open(struct kit *k, struct packet_qp *t)
{
	*t = (struct packet_qp){.k = k,
				.qpt = k->cell->qpt == IBV_QPT_XRC_SEND ? IBV_QPT_XRC_RECV : k->cell->qpt,
				.rnr_timer = 1,
				.reads = PQP_READS,
				.access = PQP_ACCESS};
	if (!port_open(k, &t->port, kit_arg(k, "ipv4", 0)))
		return false;
	if (!create(t))
		KIT_FAULT(k, "the QP under test: %s", errno_name(errno));
	return KIT_GOOD(k) && bring_up(t, 0xfffffd); /* wraps */
}

bool pqp_again(struct packet_qp *t, uint32_t psn)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_wc wc;
	int ret = ibv_modify_qp(t->qp, &reset, IBV_QP_STATE);

	if (ret)
		KIT_FAULT(t->k, "ibv_modify_qp to RESET failed with %s", errno_name(ret));
	while (ibv_poll_cq(t->cq, 1, &wc) == 1)
		;
	t->used = t->next_recv;
	return !ret && bring_up(t, psn);
}

uint8_t pqp_op(const struct packet_qp *t, unsigned int code)
{
	static const uint8_t transport[] = {[IBV_QPT_RC] = HCASIM_TRANSPORT_RC,
					    [IBV_QPT_UC] = HCASIM_TRANSPORT_UC,
					    [IBV_QPT_UD] = HCASIM_TRANSPORT_UD,
					    [IBV_QPT_XRC_RECV] = HCASIM_TRANSPORT_XRC};

	return transport[t->qpt] << HCASIM_BTH_TRANSPORT_SHIFT | code;
}

struct packet pqp_packet(struct packet_qp *t, unsigned int code, uint32_t len)
{
	/* two counters, of which one gives each payload another beginning */
	for (uint32_t i = 0; i < len && i < sizeof(t->data); i++)
		t->data[i] = (t->bytes >> 8) * 37 + (t->bytes + i) * 7 + 1;
	t->bytes += len + 3;
	return (struct packet){.opcode = pqp_op(t, code),
			       .ackreq = true,
			       .dqpn = t->qp->qp_num,
			       .psn = t->psn,
			       .va = (uintptr_t)t->mem,
			       .rkey = t->mr->rkey,
			       .dmalen = len,
			       .qkey = PQP_QKEY,
			       .sqpn = t->port.qp->qp_num,
			       .srqn = t->srqn,
			       .payload = t->data,
			       .len = len};
}

bool pqp_send(struct packet_qp *t, const struct packet *p)
{
	t->psn = (p->psn + 1) & HCASIM_PSN_MASK;
	return port_send(&t->port, p);
}

static bool open_last(struct packet_qp *t)
{
	const struct end *end = &t->k->r->dut.responder;
	struct ibv_qp_init_attr init = {.cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_UD};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = end->port, .qkey = PQP_QKEY};
	int ret;

	t->last.mem = end_alloc(end->pd, HCASIM_GRH_SIZE);
	t->last.mr = t->last.mem ? ibv_reg_mr(end->pd, t->last.mem, HCASIM_GRH_SIZE, IBV_ACCESS_LOCAL_WRITE)
				 : NULL;
	t->last.cq = init.send_cq = init.recv_cq = ibv_create_cq(end->ctx, 1, NULL, NULL, 0);
	t->last.qp = t->last.mr && t->last.cq ? ibv_create_qp(end->pd, &init) : NULL;
	if (!KIT_MUST(t->k, t->last.qp, "the QP of the last datagram: %s", errno_name(errno)))
		return false;
	ret = ibv_modify_qp(t->last.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	ret = ret ? ret : ibv_modify_qp(t->last.qp, &attr, IBV_QP_STATE);
	return KIT_MUST(t->k, !ret, "the QP of the last datagram does not come up: %s", errno_name(ret));
}

static bool last_received(struct packet_qp *t)
{
	struct watchdog w = watchdog(t->k->r->dut.timeout_ms);
	struct ibv_wc wc;
	int ret;

	do
		ret = ibv_poll_cq(t->last.cq, 1, &wc);
	while (!ret && !watchdog_expired(&w) && !remote_broken());
	if (ret == 1 && !wc.status)
		return true;
	KIT_FAULT(t->k, "the datagram behind the packets did not come");
	return false;
}

bool pqp_passed(struct packet_qp *t)
{
	struct packet p = {.opcode = HCASIM_TRANSPORT_UD << HCASIM_BTH_TRANSPORT_SHIFT |
				     HCASIM_BTH_CODE_SEND_ONLY,
			   .qkey = PQP_QKEY,
			   .sqpn = t->port.qp->qp_num,
			   .payload = t->data};
	struct ibv_recv_wr wr = {.num_sge = 1}, *bad;
	struct ibv_sge sge;
	int ret;

	if (!t->last.qp && !open_last(t))
		return false;
	sge = (struct ibv_sge){(uintptr_t)t->last.mem, HCASIM_GRH_SIZE, t->last.mr->lkey};
	wr.sg_list = &sge;
	p.dqpn = t->last.qp->qp_num;
	ret = ibv_post_recv(t->last.qp, &wr, &bad);
	if (ret)
		KIT_FAULT(t->k, "a receive was refused with %s", errno_name(ret));
	return !ret && port_send(&t->port, &p) && last_received(t);
}

static uint32_t slot_of(unsigned int index)
{
	return PQP_RECV + index % PQP_DEPTH * PQP_SLOT;
}

uint8_t *pqp_slot(struct packet_qp *t)
{
	return t->want + slot_of(t->used);
}

bool pqp_receive(struct packet_qp *t, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)t->mem + slot_of(t->next_recv), len, t->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 0x4ec0 + t->next_recv, .sg_list = &sge, .num_sge = 1}, *bad;
	int ret = t->srq ? ibv_post_srq_recv(t->srq, &wr, &bad) : ibv_post_recv(t->qp, &wr, &bad);

	if (ret)
		KIT_FAULT(t->k, "a receive was refused with %s", errno_name(ret));
	t->next_recv++;
	return !ret;
}

bool pqp_answer(struct packet_qp *t, unsigned int kind, unsigned int value, uint32_t psn)
{
	const unsigned int ack =
		t->qpt == IBV_QPT_XRC_RECV ? HCASIM_BTH_OP_XRC_ACKNOWLEDGE : HCASIM_BTH_OP_RC_ACKNOWLEDGE;
	struct packet got;

	if (!port_get(&t->port, &got))
		return false;
	if (got.opcode != ack || got.kind != kind || (kind != HCASIM_AETH_KIND_ACK && got.value != value) ||
	    got.psn != (psn & HCASIM_PSN_MASK) || got.msn != t->msn)
		KIT_FAULT(
			t->k,
			"an answer with opcode 0x%x, syndrome %u.%u, PSN 0x%x, MSN %u; expected 0x%x, %u.%u, "
			"0x%x, %u",
			got.opcode, got.kind, got.value, got.psn, got.msn, ack, kind, value,
			psn & HCASIM_PSN_MASK, t->msn);
	return KIT_GOOD(t->k);
}

bool pqp_ack(struct packet_qp *t, uint32_t psn)
{
	return pqp_answer(t, HCASIM_AETH_KIND_ACK, 0, psn);
}

bool pqp_nak(struct packet_qp *t, unsigned int value, uint32_t psn)
{
	return pqp_answer(t, HCASIM_AETH_KIND_NAK, value, psn);
}

bool pqp_read_answer(struct packet_qp *t, uint32_t psn, uint32_t at, uint32_t len)
{
	uint32_t num = len ? (len + PQP_MTU - 1) / PQP_MTU : 1;
	struct packet got;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t left = len - i * PQP_MTU, part = left < PQP_MTU ? left : PQP_MTU;
		unsigned int code = num == 1       ? HCASIM_BTH_CODE_RDMA_READ_RESPONSE_ONLY
				    : !i           ? HCASIM_BTH_CODE_RDMA_READ_RESPONSE_FIRST
				    : i == num - 1 ? HCASIM_BTH_CODE_RDMA_READ_RESPONSE_LAST
						   : HCASIM_BTH_CODE_RDMA_READ_RESPONSE_MIDDLE;
		bool middle = code == HCASIM_BTH_CODE_RDMA_READ_RESPONSE_MIDDLE;

		if (!port_get(&t->port, &got))
			return false;
		if (got.opcode != pqp_op(t, code) || got.psn != ((psn + i) & HCASIM_PSN_MASK) ||
		    got.len != part || (!middle && (got.kind || got.msn != t->msn)))
			KIT_FAULT(t->k,
				  "packet %u of a READ's answer has opcode 0x%x, PSN 0x%x, %u bytes, "
				  "syndrome %u, MSN "
				  "%u; expected 0x%x, 0x%x, %u, 0, %u",
				  i, got.opcode, got.psn, got.len, got.kind, got.msn, pqp_op(t, code),
				  (psn + i) & HCASIM_PSN_MASK, part, t->msn);
		else
			judge_bytes(&t->k->res->verdict, "answer of a READ", t->want + at + i * PQP_MTU,
				    got.payload, part);
		if (!KIT_GOOD(t->k))
			return false;
	}
	return true;
}

bool pqp_ask_read(struct packet_qp *t, uint32_t psn, uint32_t at, uint32_t len)
{
	struct packet p = pqp_packet(t, HCASIM_BTH_CODE_RDMA_READ_REQUEST, 0);

	p.psn = psn;
	p.va += at;
	p.dmalen = len;
	return port_send(&t->port, &p);
}

bool pqp_ask_atomic(struct packet_qp *t, uint32_t psn, const struct pqp_atomic *a)
{
	struct packet p = pqp_packet(t, a->code, 0);

	p.psn = psn;
	p.va += PQP_WORD;
	p.swap_add = a->swap_add;
	p.compare = a->compare;
	return port_send(&t->port, &p);
}

bool pqp_atomic_answer(struct packet_qp *t, uint32_t psn, uint64_t orig)
{
	struct packet got;

	if (!port_get(&t->port, &got))
		return false;
	if (got.opcode != pqp_op(t, HCASIM_BTH_CODE_ATOMIC_ACKNOWLEDGE) ||
	    got.psn != (psn & HCASIM_PSN_MASK) || got.kind || got.msn != t->msn || got.orig != orig)
		KIT_FAULT(t->k,
			  "an atomic's answer with opcode 0x%x, PSN 0x%x, syndrome %u, MSN %u, 0x%llx; "
			  "expected PSN 0x%x, "
			  "MSN %u, 0x%llx",
			  got.opcode, got.psn, got.kind, got.msn, (unsigned long long)got.orig,
			  psn & HCASIM_PSN_MASK, t->msn, (unsigned long long)orig);
	return KIT_GOOD(t->k);
}

bool pqp_received(struct packet_qp *t, enum ibv_wc_status status, uint32_t bytes, struct ibv_wc *wc)
{
	struct watchdog w = watchdog(t->k->r->dut.timeout_ms);
	uint32_t grh = t->qpt == IBV_QPT_UD ? HCASIM_GRH_SIZE : 0;
	int ret;

	do
		ret = ibv_poll_cq(t->cq, 1, wc);
	while (!ret && !watchdog_expired(&w) && !remote_broken());
	if (ret != 1)
		KIT_FAULT(t->k, "the completion of receive %u did not come", t->used);
	else if (wc->wr_id != 0x4ec0 + t->used || wc->status != status)
		KIT_FAULT(t->k, "receive %u completes with %s, expected %u with %s",
			  (unsigned int)wc->wr_id - 0x4ec0, value_name(status_names, wc->status), t->used,
			  value_name(status_names, status));
	else if (!status && wc->byte_len != bytes + grh)
		KIT_FAULT(t->k, "byte_len %u, expected %u", wc->byte_len, bytes + grh);
	else if (!status && wc->qp_num != t->qp->qp_num)
		KIT_FAULT(t->k, "qp_num 0x%x, expected 0x%x", wc->qp_num, t->qp->qp_num);
	t->used++;
	return KIT_GOOD(t->k);
}

void pqp_judge_memory(struct packet_qp *t)
{
	end_sync();
	judge_bytes(&t->k->res->verdict, "memory of the responder", t->want, t->mem, PQP_SIZE);
}
