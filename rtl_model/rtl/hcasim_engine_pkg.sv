// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the modules of the send engine hand to each other. Addresses of hosts (MAC, GID) and immediate data stand as in
// memory, byte 0 in bits 7:0; everything else is a number.
package hcasim_engine_pkg;

  // One packet to be made: its headers' fields, as struct pkt_spec of sim/core/wire/headers.h with the address vector
  // and the port's own addresses.
  typedef struct packed {
    logic [7:0]   opcode; // BTH.opcode, of a request
    logic [47:0]  dmac;
    logic [47:0]  smac;
    logic [127:0] dgid;
    logic [127:0] sgid;
    logic [7:0]   traffic_class;
    logic [7:0]   hop_limit; // 0: the usual
    logic [19:0]  flow_label;
    logic [15:0]  sport;
    logic [23:0]  dqpn;
    logic [23:0]  psn;
    logic         se;
    logic         ackreq;
    logic [31:0]  qkey;
    logic [23:0]  sqpn;
    logic [23:0]  srqn;
    logic [63:0]  va;
    logic [31:0]  rkey;
    logic [31:0]  dmalen; // bytes of the whole message
    logic [63:0]  swap_add;
    logic [63:0]  compare;
    logic [31:0]  imm;
    logic [31:0]  inv_rkey;
    logic [1:0]   sel;
    logic [3:0]   plt;
    logic [15:0]  payload_len; // bytes, without padding
  } packet_t;

  // What the decoder has to know of the QP.
  typedef struct packed {
    logic [7:0]  qp_type; // QPT_*
    logic [23:0] qpn;
    logic [7:0]  port;
    logic [15:0] port_mtu;   // bytes
    logic [15:0] max_inline; // bytes
    logic        rd_atomic;  // max_rd_atomic is not 0
  } decode_qp_t;

  // One decoded WQE, as struct hca_wr of sim/core/personality.h. SGEs, inline bytes and TSO headers stay in the WQE.
  typedef struct packed {
    logic [7:0]   op;     // WQE_OP_*
    logic [15:0]  index;  // of its first basic block
    logic [4:0]   num_bb;
    logic [7:0]   status; // CQE_STATUS_*; but for OK, what follows does not count, except `signaled`
    logic [7:0]   vendor_err;
    logic         signaled;
    logic         solicited;
    logic         fence;
    logic         is_inline;
    logic         ip_csum;
    logic [31:0]  imm;
    logic [31:0]  inv_rkey;
    logic [63:0]  remote_addr;
    logic [31:0]  rkey;
    logic [23:0]  srqn;
    logic [63:0]  swap_add;
    logic [63:0]  compare;
    logic [15:0]  mss;
    logic [15:0]  hdr_size;
    logic [31:0]  flush_length;
    logic [7:0]   flush_type;
    logic [7:0]   flush_level;
    logic [36:0]  length;    // bytes of payload: the sum of at most 30 lengths of 32 bits
    logic [4:0]   num_sge;
    logic [9:0]   data_at;   // byte of the WQE where SGEs or inline bytes begin
    logic [9:0]   header_at; // TSO: where its headers begin
  } wr_t;

  // What a QP's packets are made with.
  typedef struct packed {
    logic [7:0]   qp_type; // QPT_*
    logic [23:0]  qpn;
    logic [3:0]   mtu_log; // path MTU: 8 for 256 bytes to 12 for 4096
    logic [31:0]  qkey;
    logic [23:0]  dest_qpn;
    logic [15:0]  udp_sport;
    logic [47:0]  smac;
    logic [127:0] sgid;
    logic [127:0] dgid; // these: of connected QPs
    logic [47:0]  dmac;
    logic [7:0]   hop_limit;
    logic [7:0]   traffic_class;
    logic [19:0]  flow_label;
  } send_qp_t;

  // Where the headers of an Ethernet frame or an IPoIB datagram are, as struct net of sim/core/wire/net.h, and what a
  // TSO segment's are made from.
  typedef struct packed {
    logic        ipv4;
    logic        ipv6;
    logic        tcp; // a whole header of it is at l4_at
    logic        udp;
    logic [15:0] l3_at;
    logic [15:0] l4_at;
    logic [15:0] l3_end; // by IP's length
    logic [15:0] id;     // IPv4
    logic [31:0] seq;    // TCP
    logic [15:0] control; // length, flags
  } net_t;

  // What is done to the payload of a packet on its way.
  typedef struct packed {
    logic        sums;     // IPv4, TCP and UDP checksums are inserted
    logic        datagram; // of a UD message
    logic [15:0] length;   // bytes of the payload
    logic        tso;      // its headers are `net`, with these fields
    net_t        net;
    logic [15:0] ip_bytes; // IPv4: total length; IPv6: of the payload
    logic [15:0] id;
    logic [31:0] seq;
    logic [15:0] control;
  } offload_t;

  // What a WQE is given to the send path with.
  typedef struct packed {
    send_qp_t    qp;
    logic [23:0] psn;     // of the message's first packet
    logic [23:0] first;   // number of the packet to begin with
    logic        follows; // it stands behind the WQE before it: its PSN does, and it is flushed if that one fails
  } wqe_context_t;

endpackage
