/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An Ethernet port of an adapter: sends one frame at a time at the rate of the link. While the adapter has no space
 * for received frames, the sender pauses (IEEE 802.3 annex 31B): the wire only loses frames because of --fault.
 */
#ifndef HCASIM_TIMING_PORT_H
#define HCASIM_TIMING_PORT_H

#include "alarm.h"
#include "profile/profile.h"
#include "ring.h"

namespace hcasim
{

class Adapter;
class Wire;

class Port : public sc_core::sc_module
{
	Adapter &adapter_;
	Wire &wire_;
	const uint8_t number_;
	uint8_t mac_[6];
	const size_t capacity_;
	const bool streams_; /* the send engine makes a frame while it is sent: none is stored here */
	const uint32_t max_frame_;
	Alarm alarm_{"alarm"};
	Ring<hca_packet *> queue_;
	hca_ps free_at_ = 0;
	bool paused_ = false; /* frames are here that the adapter has no room for */
	const hca_ps reaction_;
	bool stopped_ = false; /* the senders know; if they take a time for it */
	struct Change {
		hca_ps at;
		bool stop;
	};
	Ring<Change> changes_; /* of stopped_, to come */
	struct Flight {
		hca_ps at;
		hca_packet *pkt;
	};
	Ring<Flight> flight_; /* towards this port, in order */
	Ring<Flight> held_;   /* reordered by fault injection */

	void run();
	void pump(hca_ps now);
	void receive(Ring<Flight> &from, hca_ps now);
	void go_on();
	void pause(bool paused);
	void react(hca_ps now);

      public:
	hca_ps inbound_free_at = 0; /* when the switch's output towards this port is free */

	SC_HAS_PROCESS(Port);
	Port(sc_core::sc_module_name name, const Profile &p, Adapter &adapter, uint8_t number, Wire &wire);
	~Port() override;
	const uint8_t *mac() const
	{
		return mac_;
	}
	unsigned int adapter_index() const;
	bool up() const;
	bool room() const
	{
		return streams_ ? queue_.empty() && now_ps() >= free_at_ : queue_.size() < capacity_;
	}
	void send(hca_packet *pkt);
	uint32_t queued() const
	{
		return uint32_t(queue_.size());
	}
	bool paused() const
	{
		return paused_;
	}
	/* Senders to this port wait. */
	bool stopped() const
	{
		return reaction_ ? stopped_ : paused_;
	}
	/* The adapter may have room again. */
	void check_room()
	{
		if (paused_)
			go_on();
	}
	/* A port of the wire is not paused any more. */
	void wake();
	/* Called by the wire: `pkt` is wholly there at `at`. Calls come in the order of `at`, unless `held`. */
	void deliver(hca_packet *pkt, hca_ps at, bool held);
};

} // namespace hcasim
#endif
