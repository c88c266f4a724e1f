// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "port.h"

#include <cstring>

#include "adapter.h"
#include "wire.h"

namespace hcasim
{

static constexpr uint32_t ETH_HEADER = 14;

Port::Port(sc_core::sc_module_name name, const Profile &p, Adapter &adapter, uint8_t number, Wire &wire)
    : sc_module(name), adapter_(adapter), wire_(wire), number_(number), capacity_(p.wire.tx_buffer),
      streams_(hca_stage_counted(adapter.core(), HCA_STAGE_TX)), max_frame_(p.wire.mtu + ETH_HEADER),
      reaction_(hca_ps(p.wire.pause_reaction))
{
	memcpy(mac_, adapter.config().mac[number - 1], sizeof(mac_));
	SC_METHOD(run);
	sensitive << alarm_.event();
	dont_initialize();
}

Port::~Port()
{
	while (!queue_.empty())
		hca_packet_free(queue_.pop());
	while (!flight_.empty())
		hca_packet_free(flight_.pop().pkt);
	while (!held_.empty())
		hca_packet_free(held_.pop().pkt);
}

unsigned int Port::adapter_index() const
{
	return adapter_.index();
}

bool Port::up() const
{
	return hca_port_up(adapter_.core(), number_);
}

/* A frame that no port of this wire could carry is dropped, as hardware does. */
void Port::send(hca_packet *pkt)
{
	if (pkt->len < ETH_HEADER || pkt->len > max_frame_) {
		wire_.dropped(*this, pkt,
			      pkt->len < ETH_HEADER ? "shorter than its header" : "longer than the MTU");
		return;
	}
	queue_.push(pkt);
	pump(now_ps());
}

void Port::pump(hca_ps now)
{
	while (!queue_.empty() && !up())
		wire_.dropped(*this, queue_.pop(), "its port is down");
	if (!queue_.empty() && wire_.paused(*queue_.front()))
		return; /* until wake() */
	if (!queue_.empty() && now >= free_at_) {
		hca_packet *pkt = queue_.pop();

		free_at_ = now + wire_.frame_ps(pkt->len);
		wire_.carry(*this, pkt, now);
	}
	if (!queue_.empty() || (streams_ && free_at_ > now))
		alarm_.set(free_at_);
}

void Port::deliver(hca_packet *pkt, hca_ps at, bool held)
{
	Ring<Flight> &to = held ? held_ : flight_;

	to.push({at, pkt});
	alarm_.set(to.front().at);
}

void Port::receive(Ring<Flight> &from, hca_ps now)
{
	while (!from.empty() && from.front().at <= now && hca_rx_ready(adapter_.core(), number_))
		hca_rx(adapter_.core(), number_, from.pop().pkt);
	if (from.empty())
		return;
	if (from.front().at > now)
		alarm_.set(from.front().at);
	else
		pause(true);
}

/* Frames that are sent until the senders stop wait on the wire, too: an adapter has space for them behind its FIFO. */
void Port::pause(bool paused)
{
	if (paused_ == paused)
		return;
	paused_ = paused;
	if (reaction_) {
		changes_.push({now_ps() + reaction_, paused});
		alarm_.set(changes_.front().at);
	} else if (!paused) {
		wire_.wake();
	}
}

void Port::react(hca_ps now)
{
	while (!changes_.empty() && changes_.front().at <= now) {
		stopped_ = changes_.pop().stop;
		if (!stopped_)
			wire_.wake();
	}
	if (!changes_.empty())
		alarm_.set(changes_.front().at);
}

void Port::go_on()
{
	if (!hca_rx_ready(adapter_.core(), number_))
		return;
	wake();
	pause(false);
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
	react(now);
	receive(flight_, now);
	receive(held_, now);
	pump(now);
	if ((full || streams_) && room())
		adapter_.stage_ready(HCA_STAGE_TX);
	adapter_.start_ready();
}

} // namespace hcasim
