// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "trace_impl.h"

#define DATA_SHOWN 16 /* bytes of a TLP's data in its record */

static const char *const classes[] = {
	[HCA_DMA_WQE] = "wqe",         [HCA_DMA_RQE] = "rqe",       [HCA_DMA_RECORD] = "record",
	[HCA_DMA_PAYLOAD] = "payload", [HCA_DMA_ATOMIC] = "atomic", [HCA_DMA_CQE] = "cqe",
	[HCA_DMA_EQE] = "eqe",         [HCA_DMA_QPC] = "qpc",       [HCA_DMA_MPT] = "mpt",
	[HCA_DMA_MTT] = "mtt",
};

void trace_tlp(struct trace *t, const struct trace_tlp *tlp)
{
	FILE *f = t->log[TRACE_TLP];

	if (t->observer)
		t->observer->tlp(t->ctx, tlp);
	if (!f)
		return;
	fprintf(f, "{\"ps\":%llu,\"arrival\":%llu,\"hca\":\"%s\",\"dir\":\"%s\",\"type\":\"%s\"",
		(unsigned long long)tlp->start, (unsigned long long)tlp->arrival, t->names[tlp->adapter],
		tlp->up ? "up" : "down", tlp->type);
	if (tlp->request && !tlp->up)
		fprintf(f, ",\"bar\":%u", tlp->bar);
	fprintf(f, ",\"addr\":\"0x%llx\",\"len\":%u", (unsigned long long)tlp->addr, tlp->len);
	if (tlp->tagged)
		fprintf(f, ",\"tag\":%u", tlp->tag);
	if (tlp->dma)
		fprintf(f, ",\"class\":\"%s\",\"pasid\":%u,\"qpn\":%u", classes[tlp->class_], tlp->pasid,
			tlp->qpn);
	if (tlp->request && tlp->tph.on)
		fprintf(f, ",\"ph\":%u,\"st\":%u", tlp->tph.ph, tlp->tph.st);
	if (tlp->request && tlp->relaxed)
		fputs(",\"ro\":true", f);
	if (tlp->data)
		trace_hex(f, "data", tlp->data, tlp->len < DATA_SHOWN ? tlp->len : DATA_SHOWN);
	fputs("}\n", f);
}
