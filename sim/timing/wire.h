/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Full-duplex links from every port to one switch, which sends each frame to the port with its
 * destination address (also back to the sender's own), and to every port if it is a group address. A link
 * that is down is one port's: the others stay up, and what they send to it ends at the switch.
 */
#ifndef HCASIM_TIMING_WIRE_H
#define HCASIM_TIMING_WIRE_H

#include <vector>

#include "fault.h"
#include "marker.h"
#include "profile/profile.h"

struct trace;

namespace hcasim
{

class Port;

constexpr uint32_t ETH_HEADER = 14; /* an MTU is that of what follows */

class Wire
{
	const double ps_per_byte_;
	const uint32_t gap_, fcs_, min_frame_, switch_mtu_;
	const hca_ps propagation_, switch_latency_;
	Fault &fault_;
	Marker marker_;
	struct trace *trace_ = nullptr;
	std::vector<Port *> ports_;
	uint64_t numbered_ = 0;

	void pass(const Port &from, Port &to, hca_packet *pkt, hca_ps start);
	void deliver(Port &to, hca_packet *pkt, hca_ps start, bool late);
	void note(const Port &from, hca_ps start, const char *what, const hca_packet *pkt);

      public:
	Wire(const Profile &p, Fault &fault, uint64_t seed);
	void attach(Port *port);
	void watch(struct trace *trace);
	/* How long a frame without FCS occupies a link, preamble and gap included. */
	hca_ps frame_ps(uint32_t len) const;
	/* Gives the frame its number, for observers. */
	void number(hca_packet &pkt)
	{
		pkt.number = ++numbered_;
	}
	/* The first bit of `pkt` leaves `from` at `start`. Takes ownership. */
	void carry(const Port &from, hca_packet *pkt, hca_ps start);
	/* The port, or one of those, that the frame goes to has stopped its senders, or those of its priority. */
	bool paused(const hca_packet &pkt) const;
	/* Ports that wait for another one look again. */
	void wake();
	void dropped(const Port &from, hca_packet *pkt, const char *why);
};

} // namespace hcasim
#endif
