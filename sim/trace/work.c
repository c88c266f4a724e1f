// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* WQEs as they were decoded and retired, and CQEs as they were written. */
#include "trace_impl.h"

#include <endian.h>

#include "hcasim_core.h"
#include "hcasim_ops.h"

static void head(const struct trace *t, FILE *f, hca_ps time, unsigned int adapter)
{
	fprintf(f, "{\"ps\":%llu,\"hca\":\"%s\"", (unsigned long long)time, t->names[adapter]);
}

static void flags(FILE *f, uint32_t value)
{
	static const struct {
		uint32_t bits, set; /* of these bits */
		const char *name;
	} names[] = {
		{HCA_WR_SIGNALED, HCA_WR_SIGNALED, "signaled"},
		{HCA_WR_SOLICITED, HCA_WR_SOLICITED, "solicited"},
		{HCA_WR_FENCE, HCA_WR_FENCE, "fence"},
		{HCA_WR_INLINE, HCA_WR_INLINE, "inline"},
		{HCA_WR_IP_CSUM, HCA_WR_IP_CSUM, "ip_csum"},
		{HCA_WR_IP_CSUM, HCA_WR_L3_CSUM, "l3_csum"},
		{HCA_WR_IP_CSUM, HCA_WR_L4_CSUM, "l4_csum"},
	};
	const char *comma = "";

	fputs(",\"flags\":[", f);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((value & names[i].bits) != names[i].set)
			continue;
		fprintf(f, "%s\"%s\"", comma, names[i].name);
		comma = ",";
	}
	putc(']', f);
}

static void sges(FILE *f, const struct hca_wr *wr)
{
	fputs(",\"sge\":[", f);
	for (uint32_t i = 0; i < wr->num_sge; i++)
		fprintf(f, "%s{\"addr\":\"0x%llx\",\"length\":%u,\"lkey\":\"0x%x\"}", i ? "," : "",
			(unsigned long long)wr->sge[i].addr, wr->sge[i].length, wr->sge[i].lkey);
	putc(']', f);
}

/* What only some operations have. */
static void operands(FILE *f, const struct hca_wr *wr)
{
	if (wr->rkey || wr->remote_addr)
		fprintf(f, ",\"remote_addr\":\"0x%llx\",\"rkey\":\"0x%x\"",
			(unsigned long long)wr->remote_addr, wr->rkey);
	if (wr->op == HCASIM_WQE_OP_ATOMIC_CS || wr->op == HCASIM_WQE_OP_ATOMIC_FA)
		fprintf(f, ",\"swap_add\":\"0x%llx\",\"compare\":\"0x%llx\"",
			(unsigned long long)wr->swap_add, (unsigned long long)wr->compare);
	if (wr->op == HCASIM_WQE_OP_SEND_IMM || wr->op == HCASIM_WQE_OP_RDMA_WRITE_IMM)
		fprintf(f, ",\"imm\":\"0x%08x\"", be32toh(wr->imm));
	if (wr->op == HCASIM_WQE_OP_SEND_INV || wr->op == HCASIM_WQE_OP_LOCAL_INV)
		fprintf(f, ",\"inv_rkey\":\"0x%x\"", wr->inv_rkey);
	if (wr->ud.qpn)
		fprintf(f, ",\"dest_qpn\":%u,\"qkey\":\"0x%x\"", wr->ud.qpn, wr->ud.qkey);
	if (wr->ud.sport)
		fprintf(f, ",\"udp_sport\":%u", wr->ud.sport);
}

void trace_wqe(struct trace *t, hca_ps time, unsigned int adapter, uint32_t qpn, const struct hca_wr *wr,
	       const void *raw, uint32_t len)
{
	FILE *f = t->log[TRACE_WQE];

	if (t->observer)
		t->observer->wqe(t->ctx, adapter, qpn, wr, raw, len);
	if (!f)
		return;
	head(t, f, time, adapter);
	fprintf(f, ",\"qpn\":%u,\"index\":%u,\"num_bb\":%u,\"op\":\"%s\",\"length\":%llu", qpn, wr->index,
		wr->num_bb, hcasim_wqe_op_name(wr->op), (unsigned long long)wr->length);
	if (hcasim_wqe_op_info(wr->op) && hcasim_wqe_op_info(wr->op)->answered)
		fputs(",\"answered\":true", f);
	flags(f, wr->flags);
	operands(f, wr);
	if (wr->tso.hdr_size)
		fprintf(f, ",\"header_bytes\":%u", wr->tso.hdr_size);
	if (wr->lead_len)
		fprintf(f, ",\"inline_bytes\":%u", wr->lead_len);
	if (!(wr->flags & HCA_WR_INLINE))
		sges(f, wr);
	trace_hex(f, "raw", raw, len);
	fputs("}\n", f);
}

void trace_cqe(struct trace *t, hca_ps time, unsigned int adapter, uint32_t cqn, const struct hca_cpl *cpl,
	       const void *raw, uint32_t len)
{
	FILE *f = t->log[TRACE_CQE];

	if (t->observer)
		t->observer->cqe(t->ctx, adapter, cqn, cpl, raw, len);
	if (!f)
		return;
	head(t, f, time, adapter);
	fprintf(f, ",\"cqn\":%u,\"qpn\":%u,\"op\":\"%s\",\"wqe_op\":\"%s\",\"wqe_index\":%u", cqn, cpl->qpn,
		hcasim_cqe_op_name(cpl->op), hcasim_wqe_op_name(cpl->wqe_op), cpl->wqe_index);
	fprintf(f, ",\"status\":\"%s\",\"vendor_err\":\"%s\",\"byte_count\":%u",
		hcasim_cqe_status_name(cpl->status), hcasim_vendor_err_name(cpl->vendor_err),
		cpl->byte_count);
	if (cpl->with_imm)
		fprintf(f, ",\"imm\":\"0x%08x\"", be32toh(cpl->imm));
	if (cpl->with_inv)
		fprintf(f, ",\"inv_rkey\":\"0x%x\"", cpl->inv_rkey);
	if (cpl->src_qpn)
		fprintf(f, ",\"src_qpn\":%u", cpl->src_qpn);
	if (cpl->tagged)
		fprintf(f, ",\"flow_tag\":%u", cpl->flow_tag);
	if (cpl->payload && !cpl->status)
		fprintf(f, ",\"payload\":%u", cpl->payload_len);
	trace_hex(f, "raw", raw, len);
	fputs("}\n", f);
}

void trace_retired(struct trace *t, hca_ps time, unsigned int adapter, const struct engine_retired *r)
{
	FILE *f = t->log[TRACE_RETIRE];

	if (!f)
		return;
	head(t, f, time, adapter);
	fprintf(f, ",\"order\":%llu,\"qpn\":%u,\"index\":%u,\"num_bb\":%u,\"op\":\"%s\",\"signaled\":%s",
		(unsigned long long)r->order, r->qpn, r->index, r->num_bb, hcasim_wqe_op_name(r->wqe_op),
		r->signaled ? "true" : "false");
	fprintf(f, ",\"fetched\":%llu", (unsigned long long)r->fetched);
	if (r->issued)
		fprintf(f, ",\"issued\":%llu", (unsigned long long)r->issued);
	fprintf(f,
		",\"completed\":%llu,\"first_psn\":%u,\"psns\":%u,\"status\":\"%s\",\"vendor_err\":\"%s\"}\n",
		(unsigned long long)r->completed, r->first_psn, r->psns, hcasim_cqe_status_name(r->status),
		hcasim_vendor_err_name(r->vendor_err));
}
