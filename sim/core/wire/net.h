/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Headers of ordinary Ethernet traffic: finding them, their checksums, and cutting TCP streams. */
#ifndef HCASIM_CORE_NET_H
#define HCASIM_CORE_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/personality.h"

/* What stands before IP. */
enum net_link {
	NET_ETHERNET, /* an Ethernet header, with VLAN tags or without */
	NET_DATAGRAM, /* a UD message: the 4 bytes of IPoIB (RFC 4391), or an Ethernet header */
};

struct net {                 /* offsets are from the first byte that was looked at */
	uint16_t ether_type; /* after the last VLAN tag */
	uint16_t vlan_tci;   /* of the first tag */
	bool vlan;
	uint8_t ip;    /* 4, 6; 0: no IP, or not a whole header */
	uint8_t proto; /* after IPv6 extension headers */
	bool l4;       /* a TCP or UDP header stands, whole, at l4_off */
	uint32_t l3_off, l4_off;
	uint32_t l3_end; /* what IP says is its end */
};

/* `headers_only`: lengths that IP states are not looked at; l3_end is the end of it all. */
void net_parse(const uint8_t *p, uint32_t len, enum net_link link, bool headers_only, struct net *n);
/* IPv4 header and TCP or UDP checksum are there and right (what IBV_WC_IP_CSUM_OK promises). */
bool net_sums_ok(const uint8_t *p, uint32_t len, enum net_link link);
/* Puts in the IPv4 header and TCP or UDP checksums; what has none stays as it is. */
void net_put_sums(uint8_t *p, uint32_t len, enum net_link link);

/* The headers can be repeated in front of every segment: IP and TCP, and nothing after them. */
bool tso_header_ok(const uint8_t *hdr, uint32_t size, enum net_link link);
/* Writes the headers of segment `n` of a stream, with `len` bytes of payload; sums come later. */
void tso_write(uint8_t *p, const struct hca_wr *wr, enum net_link link, uint32_t n, uint32_t len, bool last);

#endif
