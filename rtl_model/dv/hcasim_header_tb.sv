// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_header with a port for each field.
module hcasim_header_tb (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         valid_i,
  output logic         ready_o,
  input  logic [7:0]   opcode, traffic_class, hop_limit,
  input  logic [47:0]  dmac, smac,
  input  logic [127:0] dgid, sgid,
  input  logic [31:0]  flow_label, dqpn, psn, qkey, sqpn, srqn, rkey, dmalen, imm, inv_rkey,
  input  logic [15:0]  sport, payload_len,
  input  logic         se, ackreq,
  input  logic [63:0]  va, swap_add, compare,
  input  logic [1:0]   sel,
  input  logic [3:0]   plt,
  output logic         valid_o,
  input  logic         ready_i,
  output logic [847:0] data_o,
  output logic [6:0]   count_o,
  output logic [1:0]   pad_o
);

  hcasim_engine_pkg::packet_t packet;

  assign packet.opcode        = opcode;
  assign packet.dmac          = dmac;
  assign packet.smac          = smac;
  assign packet.dgid          = dgid;
  assign packet.sgid          = sgid;
  assign packet.traffic_class = traffic_class;
  assign packet.hop_limit     = hop_limit;
  assign packet.flow_label    = flow_label[19:0];
  assign packet.sport         = sport;
  assign packet.dqpn          = dqpn[23:0];
  assign packet.psn           = psn[23:0];
  assign packet.se            = se;
  assign packet.ackreq        = ackreq;
  assign packet.qkey          = qkey;
  assign packet.sqpn          = sqpn[23:0];
  assign packet.srqn          = srqn[23:0];
  assign packet.va            = va;
  assign packet.rkey          = rkey;
  assign packet.dmalen        = dmalen;
  assign packet.swap_add      = swap_add;
  assign packet.compare       = compare;
  assign packet.imm           = imm;
  assign packet.inv_rkey      = inv_rkey;
  assign packet.sel           = sel;
  assign packet.plt           = plt;
  assign packet.payload_len   = payload_len;

  hcasim_header u_dut (.clk_i, .rst_i, .valid_i, .ready_o, .packet_i(packet), .valid_o, .ready_i, .data_o, .count_o,
                       .pad_o);

  logic unused_bits;
  assign unused_bits = ^{flow_label[31:20], dqpn[31:24], psn[31:24], sqpn[31:24], srqn[31:24]};

endmodule
