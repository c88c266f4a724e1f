// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What stands around a RoCEv2 packet: Ethernet (IEEE 802.3), IPv4 (RFC 791), IPv6 (RFC 8200), UDP (RFC 768). Members
// in the order in which they are sent.
package hcasim_net_pkg;

  // No design uses all of them.
  /* verilator lint_off UNUSEDPARAM */

  typedef struct packed {
    logic [47:0] dmac;
    logic [47:0] smac;
    logic [15:0] ethertype;
  } eth_t;
  localparam int unsigned EthBytes = 14;
  localparam int unsigned EthMinBytes = 60; // of a frame without FCS (IEEE 802.3, 3.2.8)
  localparam int unsigned VlanBytes = 4;
  localparam int unsigned IpoibBytes = 4; // RFC 4391

  localparam logic [15:0] EthertypeIpv4 = 16'h0800;
  localparam logic [15:0] EthertypeVlan = 16'h8100;
  localparam logic [15:0] EthertypeQinq = 16'h88a8;
  localparam logic [15:0] EthertypeIpv6 = 16'h86dd;

  typedef struct packed {
    logic [3:0]  version;
    logic [3:0]  words; // of this header
    logic [7:0]  tos;
    logic [15:0] total; // bytes, this header included
    logic [15:0] id;
    logic [15:0] frag;
    logic [7:0]  ttl;
    logic [7:0]  protocol;
    logic [15:0] sum;
    logic [31:0] src;
    logic [31:0] dst;
  } ipv4_t;
  localparam int unsigned Ipv4Bytes = 20;
  localparam logic [15:0] Ipv4DontFragment = 16'h4000;

  typedef struct packed {
    logic [3:0]   version;
    logic [7:0]   traffic_class;
    logic [19:0]  flow_label;
    logic [15:0]  payload; // bytes after this header
    logic [7:0]   next;
    logic [7:0]   hops;
    logic [127:0] src;
    logic [127:0] dst;
  } ipv6_t;
  localparam int unsigned Ipv6Bytes = 40;

  localparam logic [7:0] ProtocolTcp = 8'd6;
  localparam logic [7:0] ProtocolUdp = 8'd17;
  localparam logic [7:0] DefaultHops = 8'd64; // RFC 1700; for address vectors that say 0

  typedef struct packed {
    logic [15:0] sport;
    logic [15:0] dport;
    logic [15:0] length; // bytes, this header included
    logic [15:0] sum;    // 0: none
  } udp_t;
  localparam int unsigned UdpBytes = 8;
  localparam int unsigned TcpBytes = 20; // without options (RFC 9293)

  localparam logic [31:0] CrcPoly = 32'hedb88320; // CRC-32 of IEEE 802.3, lowest power in the highest bit

endpackage
