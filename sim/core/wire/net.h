/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Headers of ordinary Ethernet traffic: parsing them, their checksums, and segmentation of TCP streams. */
#ifndef HCASIM_CORE_NET_H
#define HCASIM_CORE_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/personality.h"

/* The layer below IP. */
enum net_link {
	NET_ETHERNET, /* an Ethernet header, with VLAN tags or without */
	NET_DATAGRAM, /* a UD message: the 4 bytes of IPoIB (RFC 4391), or an Ethernet header */
};

struct net {                 /* offsets are from the first byte of the frame */
	uint16_t ether_type; /* after the last VLAN tag */
	uint16_t vlan_tci;   /* of the first tag */
	bool vlan;
	uint8_t ip;    /* 4, 6; 0: no IP, or an incomplete header */
	uint8_t proto; /* after IPv6 extension headers */
	bool l4;       /* a complete TCP or UDP header is at l4_off */
	bool fragment; /* what is behind IP is a part, without a header or with one */
	bool options;  /* of IPv4, or extension headers of IPv6 */
	uint32_t l3_off, l4_off;
	uint32_t l3_end; /* end according to IP's length */
};

/* `headers_only`: ignore IP's length fields; l3_end is the end of the frame. */
void net_parse(const uint8_t *p, uint32_t len, enum net_link link, bool headers_only, struct net *n);
/* What is there, and whether its checksums are right; a checksum of UDP that is absent is not. */
void net_headers(const uint8_t *p, uint32_t len, enum net_link link, struct hca_headers *out);
/* Of bytes as the checksums of IP count them (RFC 1071), added to `sum`; net_fold() makes a checksum of it. */
uint64_t net_sum(uint64_t sum, const uint8_t *p, uint32_t len);
uint16_t net_fold(uint64_t sum);
/* Inserts the checksums of `which`, HCA_WR_L3_CSUM and HCA_WR_L4_CSUM; leaves headers without one unchanged. */
void net_put_sums(uint8_t *p, uint32_t len, enum net_link link, uint32_t which);

/* The headers can be repeated in every segment: only IP and TCP, and nothing after them. */
bool tso_header_ok(const uint8_t *hdr, uint32_t size, enum net_link link);
/* Writes the headers of segment `n` of a stream, with `len` bytes of payload; checksums are inserted later. */
void tso_write(uint8_t *p, const struct hca_wr *wr, enum net_link link, uint32_t n, uint32_t len, bool last);

#endif
