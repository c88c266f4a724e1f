// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* events.log: steps of the stages, stalls, levels of queues and credits, frames on the wire. */
#include "trace_impl.h"

#include "../core/counters.h"

#include <endian.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stddef.h>
#include <string.h>

#include "hcasim_wire.h"

/* Increased with every change of a record that an older reader would misunderstand. */
#define VERSION 4

bool trace_wants_events(const struct trace *t)
{
	return t->log[TRACE_EVENTS];
}

static FILE *begin(struct trace *t, const char *event, hca_ps time, hca_ps end)
{
	FILE *f = t->log[TRACE_EVENTS];

	fprintf(f, "{\"event\":\"%s\",\"ps\":%llu", event, (unsigned long long)time);
	if (end > t->last)
		t->last = end;
	if (time > t->last)
		t->last = time;
	t->events++;
	return f;
}

static void adapter(const struct trace *t, FILE *f, unsigned int index)
{
	fprintf(f, ",\"hca\":\"%s\"", t->names[index]);
}

static void until(FILE *f, hca_ps end)
{
	fprintf(f, ",\"end\":%llu", (unsigned long long)end);
}

void trace_events_head(struct trace *t, unsigned int num)
{
	FILE *f = begin(t, "head", 0, 0);

	fprintf(f, ",\"format\":\"hcasim-events\",\"version\":%d,\"hcas\":[", VERSION);
	for (unsigned int i = 0; i < num; i++)
		fprintf(f, "%s\"%s\"", i ? "," : "", t->names[i]);
	fputs("]}\n", f);
}

/* Without it the file is incomplete. */
void trace_events_end(struct trace *t)
{
	const unsigned long long before = t->events;

	if (trace_wants_events(t))
		fprintf(begin(t, "end", t->last, 0), ",\"events\":%llu}\n", before);
}

void trace_step(struct trace *t, const struct trace_step *s)
{
	FILE *f = begin(t, "step", s->start, s->end);

	until(f, s->end);
	adapter(t, f, s->adapter);
	fprintf(f, ",\"stage\":\"%s\",\"bytes\":%u,\"items\":%u", s->stage, s->work.bytes, s->work.items);
	if (s->seen.qpn)
		fprintf(f, ",\"qpn\":%u", s->seen.qpn);
	if (s->seen.of_wqe)
		fprintf(f, ",\"index\":%u", s->seen.index);
	if (s->seen.blocks)
		fprintf(f, ",\"blocks\":%u", s->seen.blocks);
	if (s->store)
		fprintf(f, ",\"store\":%llu", (unsigned long long)s->store);
	if (s->seen.ahead)
		fprintf(f, ",\"doorbell\":%u", s->seen.rung);
	if (s->seen.pushed)
		fputs(",\"pushed\":true", f);
	if (s->seen.of_packet)
		fprintf(f, ",\"psn\":%u", s->seen.psn);
	if (s->seen.number)
		fprintf(f, ",\"frame\":%llu", (unsigned long long)s->seen.number);
	fputs("}\n", f);
}

void trace_stall(struct trace *t, hca_ps start, hca_ps end, unsigned int hca, const char *where,
		 const char *cause)
{
	FILE *f = begin(t, "stall", start, end);

	until(f, end);
	adapter(t, f, hca);
	fprintf(f, ",\"where\":\"%s\",\"cause\":\"%s\"}\n", where, cause);
}

void trace_qp_stall(struct trace *t, hca_ps start, hca_ps end, unsigned int hca, uint32_t qpn, uint16_t index,
		    const char *cause)
{
	FILE *f = begin(t, "stall", start, end);

	until(f, end);
	adapter(t, f, hca);
	fprintf(f, ",\"where\":\"qp\",\"qpn\":%u,\"index\":%u,\"cause\":\"%s\"}\n", qpn, index, cause);
}

void trace_level(struct trace *t, hca_ps time, unsigned int hca, const char *name, uint32_t value)
{
	FILE *f = begin(t, "level", time, time);

	adapter(t, f, hca);
	fprintf(f, ",\"name\":\"%s\",\"value\":%u}\n", name, value);
}

void trace_range(struct trace *t, unsigned int hca, const char *name, uint32_t initial, uint32_t max)
{
	FILE *f = begin(t, "range", 0, 0);

	adapter(t, f, hca);
	fprintf(f, ",\"name\":\"%s\",\"initial\":%u,\"max\":%u}\n", name, initial, max);
}

void trace_change(struct trace *t, hca_ps time, unsigned int hca, const char *name, int32_t by)
{
	FILE *f = begin(t, "change", time, time);

	adapter(t, f, hca);
	fprintf(f, ",\"name\":\"%s\",\"by\":%d}\n", name, by);
}

void trace_lookup(struct trace *t, const struct trace_lookup *l)
{
	FILE *f = begin(t, "lookup", l->start, l->end);

	until(f, l->end);
	adapter(t, f, l->adapter);
	fprintf(f, ",\"cache\":\"%s\",\"table\":%u,\"number\":%llu,\"hit\":%s}\n", l->cache, l->table,
		(unsigned long long)l->number, l->hit ? "true" : "false");
}

void trace_refused(struct trace *t, hca_ps time, unsigned int hca, const struct hca_refused *r)
{
	FILE *f = begin(t, "refused", time, time);

	adapter(t, f, hca);
	fprintf(f, ",\"reason\":\"%s\"", hcasim_counter_name(r->reason) + strlen(HCASIM_REASON_PREFIX));
	if (r->aeth_kind)
		fprintf(f, ",\"nak\":\"%s\"",
			r->aeth_kind == HCASIM_AETH_KIND_RNR ? "RNR" : hcasim_nak_name(r->nak));
	if (r->qpn)
		fprintf(f, ",\"qpn\":%u,\"psn\":%u", r->qpn, r->psn);
	if (r->number)
		fprintf(f, ",\"frame\":%llu", (unsigned long long)r->number);
	fputs("}\n", f);
}

/* NULL: not RoCE. Its IPv4 headers have no options (IBTA A17.3.1.2). */
static const uint8_t *transport_of(const uint8_t *frame, uint32_t len)
{
	uint32_t off = sizeof(struct ether_header);
	uint16_t type = 0, port;
	uint8_t next;

	if (len > off + sizeof(struct ip6_hdr))
		memcpy(&type, frame + offsetof(struct ether_header, ether_type), sizeof(type));
	if (type == htobe16(ETHERTYPE_IP)) {
		next = frame[off + offsetof(struct iphdr, protocol)];
		off += sizeof(struct iphdr);
	} else if (type == htobe16(ETHERTYPE_IPV6)) {
		next = frame[off + offsetof(struct ip6_hdr, ip6_nxt)];
		off += sizeof(struct ip6_hdr);
	} else if (type == htobe16(HCASIM_ROCE_ETH_TYPE)) {
		off += HCASIM_GRH_SIZE;
		return len < off + sizeof(struct hcasim_bth) ? NULL : frame + off;
	} else {
		return NULL;
	}
	if (next != IPPROTO_UDP || len < off + sizeof(struct udphdr) + sizeof(struct hcasim_bth))
		return NULL;
	memcpy(&port, frame + off + offsetof(struct udphdr, dest), sizeof(port));
	return port == htobe16(HCASIM_ROCE_UDP_PORT) ? frame + off + sizeof(struct udphdr) : NULL;
}

static void transport(FILE *f, const uint8_t *at)
{
	const struct hcasim_bth_op_info *info;
	struct hcasim_bth bth;

	if (!at)
		return;
	memcpy(&bth, at, sizeof(bth));
	info = hcasim_bth_op_info(bth.opcode);
	fprintf(f, ",\"opcode\":\"%s\",\"response\":%s,\"dqpn\":%u,\"psn\":%u",
		hcasim_bth_op_name(bth.opcode), info && info->flags & HCASIM_BTH_F_RESP ? "true" : "false",
		be32toh(bth.dqpn) & HCASIM_BTH_DQPN_MASK, be32toh(bth.psn) & HCASIM_BTH_PSN_MASK);
}

void trace_sent(struct trace *t, hca_ps start, hca_ps end, unsigned int hca, const struct hca_packet *pkt)
{
	FILE *f;

	if (!trace_wants_events(t))
		return;
	f = begin(t, "sent", start, end);
	until(f, end);
	adapter(t, f, hca);
	fprintf(f, ",\"frame\":%llu,\"pcap\":%llu,\"len\":%u", (unsigned long long)pkt->number, t->num_frames,
		pkt->len);
	transport(f, transport_of(pkt->data, pkt->len));
	fputs("}\n", f);
}

void trace_arrived(struct trace *t, hca_ps time, unsigned int hca, uint64_t number)
{
	FILE *f;

	if (!trace_wants_events(t))
		return;
	f = begin(t, "arrived", time, time);
	adapter(t, f, hca);
	fprintf(f, ",\"frame\":%llu}\n", (unsigned long long)number);
}
