// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "port.h"

#include <algorithm>
#include <cstring>

#include "adapter.h"
#include "wire.h"

namespace hcasim
{

Port::Port(sc_core::sc_module_name name, const Profile &p, Adapter &adapter, uint8_t number, Wire &wire)
    : sc_module(name), adapter_(adapter), wire_(wire), number_(number),
      streams_(hca_stage_counted(adapter.core(), HCA_STAGE_TX)), capacity_(streams_ ? 1 : p.wire.tx_buffer),
      max_frame_(p.wire.mtu + ETH_HEADER), stages_(p.wire.pfc ? p.fifo.gather + p.fifo.tx : 0),
      reaction_(hca_ps(p.wire.pause_reaction)), used_(p.wire.pfc ? HCA_PRIORITIES : 1)
{
	memcpy(mac_, adapter.config().mac[number - 1], sizeof(mac_));
	SC_METHOD(run);
	sensitive << alarm_.event();
	dont_initialize();
}

Port::~Port()
{
	for (Priority &p : priority_) {
		while (!p.queue.empty())
			hca_packet_free(p.queue.pop().pkt);
		while (!p.flight.empty())
			hca_packet_free(p.flight.pop().pkt);
		while (!p.held.empty())
			hca_packet_free(p.held.pop().pkt);
	}
}

unsigned int Port::adapter_index() const
{
	return adapter_.index();
}

bool Port::up() const
{
	return hca_port_up(adapter_.core(), number_);
}

unsigned int Port::index(const hca_packet &pkt) const
{
	return used_ > 1 ? hca_packet_priority(&pkt) : 0;
}

/* ---- Sending ---- */

/* The buffers are not full; behind that of a paused priority there is space for what the stages hold. */
bool Port::room() const
{
	if (streams_ && now_ps() < free_at_)
		return false;
	return std::all_of(priority_, priority_ + used_, [&](const Priority &p) {
		return p.queue.size() < capacity_ + (p.full ? stages_ : 0);
	});
}

uint32_t Port::queued() const
{
	size_t n = 0;

	for (unsigned int i = 0; i < used_; i++)
		n += priority_[i].queue.size();
	return uint32_t(n);
}

uint32_t Port::most() const
{
	return uint32_t(used_ * (capacity_ + stages_));
}

/* A frame that no port of this wire could carry is dropped, as hardware does. */
void Port::send(hca_packet *pkt)
{
	if (pkt->len < ETH_HEADER || pkt->len > max_frame_) {
		wire_.dropped(*this, pkt,
			      pkt->len < ETH_HEADER ? "shorter than its header" : "longer than the MTU");
		return;
	}
	priority_[index(*pkt)].queue.push({sent_++, pkt});
	pump(now_ps());
	if (used_ > 1)
		alarm_.set(now_ps()); /* for tell_paused() */
}

/* The buffer with the oldest frame that need not wait; NULL: none. */
Port::Priority *Port::next()
{
	Priority *first = nullptr;

	for (unsigned int i = 0; i < used_; i++) {
		Priority &p = priority_[i];
		const bool waits = !p.queue.empty() && wire_.paused(*p.queue.front().pkt);

		p.full = p.queue.size() >= capacity_ && (p.full || waits);
		if (!p.queue.empty() && !waits &&
		    (!first || p.queue.front().order < first->queue.front().order))
			first = &p;
	}
	return first;
}

void Port::pump(hca_ps now)
{
	Priority *p;

	if (!up())
		for (Priority &each : priority_)
			while (!each.queue.empty())
				wire_.dropped(*this, each.queue.pop().pkt, "its port is down");
	p = next();
	if (p && now >= free_at_) {
		hca_packet *pkt = p->queue.pop().pkt;

		free_at_ = now + wire_.frame_ps(pkt->len);
		wire_.carry(*this, pkt, now);
		p = next();
	}
	if (p || (streams_ && free_at_ > now))
		alarm_.set(free_at_);
}

/* Not while the core is doing something: it looks at its QPs. */
void Port::tell_paused()
{
	uint8_t priorities = 0;

	for (unsigned int i = 0; i < used_; i++)
		if (priority_[i].full)
			priorities |= uint8_t(1u << i);
	hca_tx_pause(adapter_.core(), number_, priorities);
}

/* ---- Receiving ---- */

void Port::deliver(hca_packet *pkt, hca_ps at, bool held)
{
	Priority &p = priority_[index(*pkt)];
	Ring<Flight> &to = held ? p.held : p.flight;

	to.push({at, pkt});
	alarm_.set(to.front().at);
}

void Port::receive(Ring<Flight> &from, unsigned int priority, hca_ps now)
{
	while (!from.empty() && from.front().at <= now &&
	       hca_rx_ready(adapter_.core(), number_, uint8_t(priority)))
		hca_rx(adapter_.core(), number_, from.pop().pkt);
	if (from.empty())
		return;
	if (from.front().at > now)
		alarm_.set(from.front().at);
	else
		pause(priority, true);
}

bool Port::stopped(const hca_packet &pkt) const
{
	const unsigned int i = index(pkt);

	return reaction_ ? priority_[i].stopped : paused_ >> i & 1;
}

/* Frames that are sent until the senders stop wait on the wire, too: an adapter has space for them behind its FIFO. */
void Port::pause(unsigned int priority, bool paused)
{
	Ring<Change> &changes = priority_[priority].changes;

	if (bool(paused_ >> priority & 1) == paused)
		return;
	paused_ ^= 1u << priority;
	if (reaction_) {
		changes.push({now_ps() + reaction_, paused});
		alarm_.set(changes.front().at);
	} else if (!paused) {
		wire_.wake();
	}
}

void Port::react(Priority &p, hca_ps now)
{
	while (!p.changes.empty() && p.changes.front().at <= now) {
		p.stopped = p.changes.pop().stop;
		if (!p.stopped)
			wire_.wake();
	}
	if (!p.changes.empty())
		alarm_.set(p.changes.front().at);
}

void Port::go_on()
{
	for (unsigned int i = 0; i < used_; i++) {
		if (!(paused_ >> i & 1) || !hca_rx_ready(adapter_.core(), number_, uint8_t(i)))
			continue;
		wake();
		pause(i, false);
	}
}

void Port::wake()
{
	alarm_.set(now_ps());
}

void Port::run()
{
	hca_ps now = now_ps();
	bool full = !room();

	alarm_.fired();
	for (unsigned int i = 0; i < used_; i++) {
		react(priority_[i], now);
		receive(priority_[i].flight, i, now);
		receive(priority_[i].held, i, now);
	}
	pump(now);
	if (used_ > 1)
		tell_paused();
	if ((full || streams_) && room())
		adapter_.stage_ready(HCA_STAGE_TX);
	adapter_.start_ready();
}

} // namespace hcasim
