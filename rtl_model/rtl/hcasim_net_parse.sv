// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Finds the IP header and the TCP or UDP header behind it in an Ethernet frame, with VLAN tags or without, or in an IPoIB
// datagram (RFC 4391): as net_parse() of sim/core/wire/net.c. A header, a tag or an IPv6 extension header a cycle.

`include "hcasim_assert.svh"

module hcasim_net_parse #(
  parameter int unsigned Bytes = 64 // that it sees at a time
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  input  logic                    start_i, // what follows stays until done_o
  input  logic [15:0]             length_i, // of the frame
  input  logic                    datagram_i,     // it may be IPoIB
  input  logic                    headers_only_i, // the payload is missing: IP's length does not count
  // The bytes of the frame from at_o on, in the same cycle. Those behind its end do not count.
  output logic [15:0]             at_o,
  input  logic [Bytes*8-1:0]      bytes_i,
  output logic                    done_o, // a cycle long; the result stays until the next start
  output hcasim_engine_pkg::net_t net_o
);

  typedef enum logic [2:0] {
    StIdle,
    StLink,
    StType,
    StIpv4,
    StIpv6,
    StExt, // IPv6 extension headers
    StL4,
    StDone
  } state_e;

  state_e                  state_q;
  logic [15:0]             at_q;
  hcasim_engine_pkg::net_t net_q;
  logic [7:0]              protocol_q;

  function automatic logic [15:0] word_at(input logic [Bytes*8-1:0] bytes, input int unsigned at);
    word_at = {bytes[at*8 +: 8], bytes[(at+1)*8 +: 8]};
  endfunction

  logic [7:0]  byte0, byte1;
  logic [15:0] word0, left; // bytes of the frame from here on
  logic [16:0] ip4_total, ip6_total;
  logic [15:0] ip4_bytes;

  assign byte0 = bytes_i[7:0];
  assign byte1 = bytes_i[15:8];
  assign word0 = word_at(bytes_i, 0);
  assign left  = length_i - at_q;

  // ---- The layer below IP ----

  logic ipoib, vlan;

  assign ipoib = datagram_i && length_i > 16'(hcasim_net_pkg::IpoibBytes) && word_at(bytes_i, 2) == '0 &&
                 ((word0 == hcasim_net_pkg::EthertypeIpv4 && bytes_i[39:36] == 4'd4) ||
                  (word0 == hcasim_net_pkg::EthertypeIpv6 && bytes_i[39:36] == 4'd6));
  assign vlan  = (word0 == hcasim_net_pkg::EthertypeVlan || word0 == hcasim_net_pkg::EthertypeQinq) &&
                 left >= 16'(hcasim_net_pkg::VlanBytes + 2);

  state_e next; // behind that layer

  always_comb begin
    next = StDone;
    if (word0 == hcasim_net_pkg::EthertypeIpv4) next = StIpv4;
    if (word0 == hcasim_net_pkg::EthertypeIpv6) next = StIpv6;
  end

  // ---- IP ----

  logic ip4_ok, fragment, ip6_ok, extension, ext_fits;
  logic [15:0] ext_bytes;
  logic [15:0] l3_left; // of the packet from here on

  assign ip4_bytes = {10'd0, byte0[3:0], 2'b00};
  assign ip4_total = headers_only_i ? {1'b0, left} : {1'b0, word_at(bytes_i, 2)};
  assign ip4_ok    = left >= 16'(hcasim_net_pkg::Ipv4Bytes) && byte0[7:4] == 4'd4 &&
                     ip4_bytes >= 16'(hcasim_net_pkg::Ipv4Bytes) && ip4_total >= {1'b0, ip4_bytes} &&
                     ip4_total <= {1'b0, left};
  assign fragment  = (word_at(bytes_i, 6) & 16'h3fff) != '0; // its header and checksum are unknown
  assign ip6_total = headers_only_i ? {1'b0, left}
                                    : 17'(hcasim_net_pkg::Ipv6Bytes) + {1'b0, word_at(bytes_i, 4)};
  assign ip6_ok    = left >= 16'(hcasim_net_pkg::Ipv6Bytes) && byte0[7:4] == 4'd6 && ip6_total <= {1'b0, left};

  // Hop-by-hop options, routing, destination options (RFC 8200, 4).
  assign l3_left   = net_q.l3_end - at_q;
  assign extension = protocol_q == 8'd0 || protocol_q == 8'd43 || protocol_q == 8'd60;
  assign ext_bytes = ({8'd0, byte1} + 16'd1) << 3;
  assign ext_fits  = l3_left >= 16'd8 && ext_bytes <= l3_left;

  // ---- TCP, UDP ----

  logic [15:0] tcp_bytes;

  assign tcp_bytes = {10'd0, bytes_i[12*8+4 +: 4], 2'b00};

  assign at_o   = state_q == StLink ? 16'd0 : at_q;
  assign done_o = state_q == StDone;
  assign net_o  = net_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (start_i) state_q <= StLink;
        StLink: begin
          if (ipoib) state_q <= next;
          else state_q <= length_i < 16'(hcasim_net_pkg::EthBytes) ? StDone : StType;
        end
        StType:  if (!vlan) state_q <= next;
        StIpv4:  state_q <= ip4_ok && !fragment ? StL4 : StDone;
        StIpv6:  state_q <= ip6_ok ? StExt : StDone;
        StExt:   if (!extension || !ext_fits) state_q <= StL4;
        StL4:    state_q <= StDone;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StLink: begin
        net_q <= '0;
        at_q  <= ipoib ? 16'(hcasim_net_pkg::IpoibBytes) : 16'(hcasim_net_pkg::EthBytes - 2);
      end
      StType: at_q <= at_q + (vlan ? 16'(hcasim_net_pkg::VlanBytes) : 16'd2);
      StIpv4: begin
        net_q.ipv4   <= ip4_ok;
        net_q.l3_at  <= at_q;
        net_q.l4_at  <= at_q + ip4_bytes;
        net_q.l3_end <= at_q + ip4_total[15:0];
        net_q.id     <= word_at(bytes_i, 4);
        protocol_q   <= bytes_i[9*8 +: 8];
        at_q         <= at_q + ip4_bytes;
      end
      StIpv6: begin
        net_q.ipv6   <= ip6_ok;
        net_q.l3_at  <= at_q;
        net_q.l3_end <= at_q + ip6_total[15:0];
        protocol_q   <= bytes_i[6*8 +: 8];
        at_q         <= at_q + 16'(hcasim_net_pkg::Ipv6Bytes);
      end
      StExt: begin
        if (extension && ext_fits) begin
          protocol_q <= byte0;
          at_q       <= at_q + ext_bytes;
        end
        net_q.l4_at <= at_q;
      end
      StL4: begin
        net_q.tcp     <= protocol_q == hcasim_net_pkg::ProtocolTcp && l3_left >= 16'(hcasim_net_pkg::TcpBytes) &&
                         tcp_bytes >= 16'(hcasim_net_pkg::TcpBytes) && tcp_bytes <= l3_left;
        net_q.udp     <= protocol_q == hcasim_net_pkg::ProtocolUdp && l3_left >= 16'(hcasim_net_pkg::UdpBytes);
        net_q.seq     <= {word_at(bytes_i, 4), word_at(bytes_i, 6)};
        net_q.control <= word_at(bytes_i, 12);
      end
      default: begin
      end
    endcase
  end

  `HCASIM_ASSERT(StartsIdle, !start_i || state_q == StIdle)

  `HCASIM_LEGAL_BYTES

endmodule
