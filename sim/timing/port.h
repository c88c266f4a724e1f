/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An Ethernet port of an adapter: sends one frame at a time at the rate of the link. While the adapter has no space
 * for received frames, the sender pauses (IEEE 802.3 annex 31B): the wire only loses frames because of --fault.
 * With priority flow control (IEEE 802.1Qbb) each priority has buffers and pauses of its own; without it all
 * frames are of the first one.
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
	const bool streams_; /* the send engine makes a frame while it is sent: none is stored here */
	const size_t capacity_;
	const uint32_t max_frame_;
	Alarm alarm_{"alarm"};
	const size_t stages_; /* frames that the stages still hand over after tx_pause() */
	const hca_ps reaction_;
	hca_ps free_at_ = 0;
	uint64_t sent_ = 0; /* by the adapter so far */
	struct Out {
		uint64_t order;
		hca_packet *pkt;
	};
	struct Flight {
		hca_ps at;
		hca_packet *pkt;
	};
	struct Change {
		hca_ps at;
		bool stop;
	};
	struct Priority {
		Ring<Out> queue;
		bool full = false;    /* `queue` has been full and waiting, and is not empty enough yet */
		bool stopped = false; /* the senders know; if they take a time for it */
		Ring<Change> changes; /* of `stopped`, to come */
		Ring<Flight> flight;  /* towards this port, in order */
		Ring<Flight> held;    /* reordered by fault injection */
	};
	Priority priority_[HCA_PRIORITIES];
	uint32_t paused_ = 0;     /* priorities, one bit each, with frames that the adapter has no room for */
	const unsigned int used_; /* priorities, the first ones */

	void run();
	unsigned int index(const hca_packet &pkt) const;
	Priority *next();
	void pump(hca_ps now);
	void tell_paused();
	void go_on();
	void receive(Ring<Flight> &from, unsigned int priority, hca_ps now);
	void pause(unsigned int priority, bool paused);
	void react(Priority &p, hca_ps now);

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
	bool room() const;
	void send(hca_packet *pkt);
	/* Frames in its transmit buffers, and the most that there is room for. */
	uint32_t queued() const;
	uint32_t most() const;
	/* Priorities that this port has paused. */
	uint32_t paused() const
	{
		return paused_;
	}
	/* Senders of such a frame to this port wait. */
	bool stopped(const hca_packet &pkt) const;
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
