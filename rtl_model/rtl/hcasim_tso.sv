// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The fields of the headers of a TSO segment, as tso_write() of sim/core/wire/net.c; the checksums come later.

module hcasim_tso (
  input  hcasim_engine_pkg::net_t     net_i,      // of the headers in the WQE
  input  logic [15:0]                 number_i,   // of the segment
  input  logic [31:0]                 offset_i,   // of its payload in the stream
  input  logic [15:0]                 length_i,   // of headers and payload
  input  logic                        last_i,     // the last one
  output hcasim_engine_pkg::offload_t offload_o
);

  // TCP's flags (RFC 9293; CWR: RFC 3168, 6.1.2).
  localparam logic [15:0] Fin = 16'h01;
  localparam logic [15:0] Psh = 16'h08;
  localparam logic [15:0] Cwr = 16'h80;

  always_comb begin
    offload_o          = '0; // others are for every packet the same
    offload_o.tso      = 1'b1;
    offload_o.net      = net_i;
    offload_o.ip_bytes = length_i - net_i.l3_at - (net_i.ipv4 ? 16'd0 : 16'(hcasim_net_pkg::Ipv6Bytes));
    offload_o.id       = net_i.id + number_i;
    offload_o.seq      = net_i.seq + offset_i;
    offload_o.control  = net_i.control & ~(last_i ? 16'd0 : Fin | Psh) & ~(offset_i == '0 ? 16'd0 : Cwr);
  end

endmodule
