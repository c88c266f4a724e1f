/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The numbers of hcasim_engine_pkg::op_e and request_e. */
#ifndef HCASIM_RTL_OPS_HPP
#define HCASIM_RTL_OPS_HPP

#include <cstdint>

enum class Op : uint8_t {
	CREATE,
	SET,
	RESET,
	DESTROY,
	ERROR,
	PORT_SET,
	DOORBELL,
	PUSH,
	READ_DONE,
	WRITTEN,
	PAGES,
	LEAVE,
	RELEASED,
	RESPONSE,
	TIMER,
	TAKEN,
	FETCH,
	DECODE,
	PACKETISE,
	QUERY,
	COMPLETION,
	STATE,
	FETCH_WORK,
	DECODE_WORK,
	PACKETISE_WORK
};

enum class Request : uint8_t {
	NOW,
	READ,
	LOOKUP,
	PRESENT,
	PAGES,
	LOCAL,
	PACKET,
	RESULT,
	TIMER,
	FAILED,
	DRAINED,
	SEEN,
	SIZE,
	DECODE
};

#endif
