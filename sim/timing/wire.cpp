// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "wire.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "port.h"
#include "trace/trace.h"

namespace hcasim
{

/* How much later than its turn a reordered frame comes: long enough to be overtaken. */
static constexpr hca_ps LATE = 2000000;

Wire::Wire(const Profile &p, Fault &fault, uint64_t seed)
    : ps_per_byte_(8000.0 / p.wire.rate), gap_(p.wire.preamble_and_gap), fcs_(p.wire.fcs),
      min_frame_(p.wire.min_frame), switch_mtu_(p.wire.switch_mtu), propagation_(p.wire.propagation),
      switch_latency_(p.wire.switch_latency), fault_(fault), marker_(p, seed)
{
}

void Wire::attach(Port *port)
{
	ports_.push_back(port);
}

void Wire::watch(struct trace *trace)
{
	trace_ = trace;
}

hca_ps Wire::frame_ps(uint32_t len) const
{
	return round_ps((std::max(len + fcs_, min_frame_) + gap_) * ps_per_byte_);
}

void Wire::note(const Port &from, hca_ps start, const char *what, const hca_packet *pkt)
{
	if (trace_)
		trace_fault(trace_, start, from.adapter_index(), what, pkt->len);
}

void Wire::dropped(const Port &from, hca_packet *pkt, const char *why)
{
	note(from, now_ps(), why, pkt);
	hca_packet_free(pkt);
}

void Wire::carry(const Port &from, hca_packet *pkt, hca_ps start)
{
	const bool group = pkt->data[0] & 1;
	Port *only = nullptr;

	if (trace_) {
		trace_frame(trace_, start, pkt->data, pkt->len);
		trace_sent(trace_, start, start + frame_ps(pkt->len), from.adapter_index(), pkt);
	}
	if (switch_mtu_ && pkt->len > ETH_HEADER + switch_mtu_) {
		note(from, start, "larger than wire.switch_mtu", pkt);
		hca_packet_free(pkt);
		return;
	}
	for (Port *port : ports_) {
		if (group) {
			hca_packet *copy = hca_packet_dup(pkt);

			if (copy)
				pass(from, *port, copy, start);
		} else if (memcmp(port->mac(), pkt->data, 6) == 0) {
			only = port;
			break;
		}
	}
	if (only)
		return pass(from, *only, pkt, start);
	if (!group)
		note(from, start, "no port has the destination address", pkt);
	hca_packet_free(pkt);
}

bool Wire::paused(const hca_packet &pkt) const
{
	const bool group = pkt.data[0] & 1;

	return std::any_of(ports_.begin(), ports_.end(), [&](const Port *port) {
		return port->stopped(pkt) && (group || memcmp(port->mac(), pkt.data, 6) == 0);
	});
}

void Wire::wake()
{
	for (Port *port : ports_)
		port->wake();
}

/* One frame to one port, with the faults it meets. */
void Wire::pass(const Port &from, Port &to, hca_packet *pkt, hca_ps start)
{
	if (!to.up()) {
		note(from, start, "the port it goes to is down", pkt);
		hca_packet_free(pkt);
		return;
	}
	if (!fault_.active())
		return deliver(to, pkt, start, false);
	Fault::Fate fate = fault_.fate(pkt->len);

	if (fate.lost) {
		note(from, start, "loss", pkt);
		hca_packet_free(pkt);
		return;
	}
	if (fate.doubled) {
		hca_packet *copy = hca_packet_dup(pkt);

		note(from, start, "dup", pkt);
		if (copy)
			deliver(to, copy, start, false);
	}
	if (fate.flip) {
		note(from, start, "corrupt", pkt);
		pkt->data[fate.flip / 8] ^= 1u << (fate.flip % 8);
	}
	if (fate.late)
		note(from, start, "reorder", pkt);
	deliver(to, pkt, start, fate.late);
}

/* The switch forwards a frame as soon as its header is in and its output is free (cut-through). */
void Wire::deliver(Port &to, hca_packet *pkt, hca_ps start, bool late)
{
	hca_ps in = start + propagation_ + switch_latency_, out = std::max(in, to.inbound_free_at);
	hca_ps end = out + frame_ps(pkt->len);
	hca_ps there = end + propagation_ + (late ? LATE : 0);

	if (marker_.enabled() && marker_.marks(double(out - in) / ps_per_byte_))
		hca_packet_mark(pkt);
	to.inbound_free_at = end;
	if (trace_)
		trace_arrived(trace_, there, to.adapter_index(), pkt->number);
	to.deliver(pkt, there, late);
}

} // namespace hcasim
