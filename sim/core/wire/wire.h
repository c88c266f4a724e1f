/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Bytes on the wire: headers, checksums, frames. */
#ifndef HCASIM_CORE_WIRE_WIRE_H
#define HCASIM_CORE_WIRE_WIRE_H

#include "core/base/base.h"

/* icrc.c: `frame` from the Ethernet header to the end of the padding */
uint32_t icrc_seed(void);
uint32_t icrc_frame(uint32_t seed, const uint8_t *frame, uint32_t len);

/* packet.c */
/* NULL: no memory, or the address vector has no valid GID. Payload and ICRC are not filled in. */
struct hca_packet *packet_build(struct hca *hca, const struct pkt_spec *s, uint32_t *payload_off);
bool packet_parse(struct hca *hca, uint8_t port, const struct hca_packet *pkt, struct pkt_info *info);
/* Destination QP of a frame that is still to be parsed; 0: it is not RoCE. */
uint32_t packet_dqpn(const struct hca_packet *pkt);
/*
 * Descriptors that say where the data of a frame goes, and which the adapter takes up with it: the receive of a SEND or
 * of a WRITE with immediate data, the work request of a READ or atomic. Those of a message are for its first packet.
 */
uint8_t packet_descriptors(const struct hca_packet *pkt);
bool gid_is_v4(const uint8_t gid[16]);
/* For packets of this RoCE version. */
bool port_has_gid(const struct port *port, const uint8_t gid[16], bool v1);

#endif
