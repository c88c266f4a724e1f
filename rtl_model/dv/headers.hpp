// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Random headers of ordinary traffic: Ethernet or IPoIB, IPv4 or IPv6, TCP or UDP.
#ifndef HCASIM_RTL_DV_HEADERS_HPP
#define HCASIM_RTL_DV_HEADERS_HPP

#include "tb.hpp"

// Those of a TSO request: of TCP, lengths and checksums arbitrary. At most 160 bytes.
Bytes random_tso_headers(Random &random, bool datagram);

// A frame, or the message of a UD QP, of up to `max` bytes; now and then cut, damaged, or something else.
Bytes random_frame(Random &random, bool datagram, uint32_t max);

#endif
