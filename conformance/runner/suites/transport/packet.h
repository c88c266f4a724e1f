/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RoCEv2 packets made by hand. A RAW_PACKET QP of the requester's end sends them to a QP of the responder's end, and
 * records with a sniffer flow what that QP answers. So a responder can be given every packet that may come from a
 * wire, not only those that a send queue makes.
 */
#ifndef CONFORM_SUITES_PACKET_H
#define CONFORM_SUITES_PACKET_H

#include "hcasim_wire.h"
#include "suites/kit.h"

#define PACKET_MAX  8192 /* bytes of a frame */
#define PACKET_HELD 16   /* frames of 512 bytes */
#define PACKET_ECN  0x01 /* in traffic classes: not to be changed by the wire */

/* A packet to be sent; which members count depends on the opcode. Numbers in host order. */
struct packet {
	uint8_t opcode; /* enum hcasim_bth_op */
	bool ackreq, se;
	uint32_t dqpn, psn;
	uint64_t va;
	uint32_t rkey, dmalen;
	uint64_t swap_add, compare;
	uint32_t qkey, sqpn, srqn, imm, inv_rkey;
	uint8_t sel, plt;
	const uint8_t *payload;
	uint32_t len;
	/* of packets that were received */
	uint16_t sport;
	uint8_t kind, value; /* AETH syndrome */
	uint32_t msn;
	uint64_t orig;
};

/* A frame that is being made. Offsets of its headers. */
struct frame {
	uint8_t *at;
	uint32_t len, ip, udp, bth; /* len: with the ICRC */
};

struct packet_port {
	struct kit *k;
	bool v4;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_flow *flow;
	struct ibv_mr *mr;
	uint8_t *mem;
	unsigned int next; /* receive */
	bool hold;
	unsigned int held; /* frames that wait */
	struct ibv_sge sge[PACKET_HELD];
	struct ibv_ah_attr to_here; /* the path from the responder */
	uint8_t head[54];           /* Ethernet and IP header of packets to the responder */
	uint32_t head_len;
};

/* Paths over IPv4 or IPv6. False: a fault, or the ends have no such GID. */
bool port_open(struct kit *k, struct packet_port *p, bool v4);
/* A whole frame, with checksum and ICRC. */
struct frame port_frame(struct packet_port *p, const struct packet *packet);
/* Puts both in again, after the frame was changed. */
void port_seal(const struct packet_port *p, struct frame *f);
void port_seal_ip(const struct packet_port *p, struct frame *f);
void port_seal_icrc(const struct packet_port *p, struct frame *f);
/* Ends the UDP packet after so many bytes, with right lengths and checksums, in a frame that is as long as it must be. */
void port_resize(const struct packet_port *p, struct frame *f, uint32_t udp_len);
bool port_put(struct packet_port *p, const struct frame *f);
/* The next frames wait until they are released: then they are sent without a pause. */
void port_hold(struct packet_port *p);
bool port_release(struct packet_port *p);
bool port_send(struct packet_port *p, const struct packet *packet);
/* The next RoCE packet for the port's QP number, whose headers are checked. The payload is valid until the next call. */
bool port_get(struct packet_port *p, struct packet *packet);

#endif
