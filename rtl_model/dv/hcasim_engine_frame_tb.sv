// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_engine_frame with a port for each field that the frame's own logic depends on; hcasim_header_tb has the others.
module hcasim_engine_frame_tb #(
  parameter int unsigned Bytes = 64
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         packet_valid_i,
  output logic         packet_ready_o,
  input  logic [7:0]   opcode,
  input  logic [47:0]  smac,
  input  logic [127:0] sgid, dgid,
  input  logic [15:0]  payload_len,
  input  logic         raw, sums,
  input  logic         piece_valid_i,
  output logic         piece_ready_o,
  input  logic         piece_inside_i,
  input  logic [63:0]  piece_addr_i,
  input  logic [15:0]  piece_length_i,
  input  logic         piece_last_i,
  output logic [3:0]   block_o,
  input  logic [511:0] block_i,
  output logic         read_valid_o,
  input  logic         read_ready_i,
  output logic [63:0]  read_addr_o,
  output logic [16-$clog2(Bytes):0] read_lines_o,
  input  logic         line_valid_i,
  output logic         line_ready_o,
  input  logic [Bytes*8-1:0] line_data_i,
  output logic         valid_o,
  input  logic         ready_i,
  output logic [Bytes*8-1:0] data_o,
  output logic [$clog2(Bytes):0] count_o,
  output logic         last_o
);

  hcasim_engine_pkg::packet_t  packet;
  hcasim_engine_pkg::offload_t offload;

  always_comb begin
    packet             = '0;
    packet.opcode      = opcode;
    packet.dgid        = dgid;
    packet.payload_len = payload_len;
  end

  always_comb begin
    offload          = '0;
    offload.sums     = sums;
    offload.datagram = !raw;
    offload.length   = payload_len;
  end

  hcasim_engine_frame #(.Bytes(Bytes)) u_dut (
    .clk_i, .rst_i, .packet_valid_i, .packet_ready_o, .packet_i(packet), .offload_i(offload), .raw_i(raw), .smac_i(smac),
    .sgid_i(sgid), .piece_valid_i, .piece_ready_o, .piece_inside_i, .piece_addr_i, .piece_length_i, .piece_last_i,
    .block_o, .block_i, .read_valid_o, .read_ready_i, .read_addr_o, .read_lines_o, .line_valid_i, .line_ready_o,
    .line_data_i, .valid_o, .ready_i, .data_o, .count_o, .last_o
  );

endmodule
