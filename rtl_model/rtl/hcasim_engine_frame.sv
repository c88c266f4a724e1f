// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The data path behind hcasim_engine: the packets that it has given, each with the pieces of its payload, to frames. The
// adapter has read the payload when a packet leaves, so that no line can be missing.

`include "hcasim_assert.svh"

module hcasim_engine_frame #(
  parameter int unsigned Bytes = 64,
  localparam int unsigned BlockBytes = hcasim_pkg::WQEBB_SIZE,
  localparam int unsigned CountBits  = $clog2(Bytes + 1),
  localparam int unsigned LinesBits  = 17 - $clog2(Bytes),
  localparam int unsigned BlockBits  = $clog2(hcasim_pkg::WQE_MAX_BB)
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  // A packet, as of hcasim_engine, and the source addresses of its port.
  input  logic                        packet_valid_i,
  output logic                        packet_ready_o,
  input  hcasim_engine_pkg::packet_t  packet_i,
  input  hcasim_engine_pkg::offload_t offload_i,
  input  logic                        raw_i, // the frame is the payload
  input  logic [47:0]                 smac_i,
  input  logic [127:0]                sgid_i,
  // The pieces of its payload, not before the packet is taken.
  input  logic                        piece_valid_i,
  output logic                        piece_ready_o,
  input  logic                        piece_inside_i, // the address is that of a byte of the WQE
  input  logic [63:0]                 piece_addr_i,
  input  logic [15:0]                 piece_length_i,
  input  logic                        piece_last_i,
  // A basic block of the WQE, in the same cycle.
  output logic [BlockBits-1:0]        block_o,
  input  logic [BlockBytes*8-1:0]     block_i,
  // Reads of host memory, as of hcasim_gather.
  output logic                        read_valid_o,
  input  logic                        read_ready_i,
  output logic [63:0]                 read_addr_o,
  output logic [LinesBits-1:0]        read_lines_o,
  input  logic                        line_valid_i,
  output logic                        line_ready_o,
  input  logic [Bytes*8-1:0]          line_data_i,
  // Frames.
  output logic                        valid_o,
  input  logic                        ready_i,
  output logic [Bytes*8-1:0]          data_o,
  output logic [CountBits-1:0]        count_o,
  output logic                        last_o
);

  logic                       has_payload, frame_room, join_room;
  hcasim_engine_pkg::packet_t packet;

  assign has_payload    = packet_i.payload_len != '0;
  assign packet_ready_o = frame_room;

  always_comb begin
    packet      = packet_i;
    packet.smac = smac_i;
    packet.sgid = sgid_i;
  end

  logic                 payload_valid, payload_ready, payload_last, payload_error, unused_tag, unused_error;
  logic [Bytes*8-1:0]   payload;
  logic [CountBits-1:0] payload_count;

  hcasim_join #(
    .Bytes   (Bytes),
    .LineBits(BlockBits),
    .TagBits (1),
    .Depth   (8),
    .Ahead   (2)
  ) u_join (
    .clk_i,
    .rst_i,
    .offload_valid_i(packet_valid_i && has_payload && frame_room),
    .offload_ready_o(join_room),
    .offload_i,
    .tag_i          (1'b0),
    .piece_valid_i,
    .piece_ready_o,
    .piece_inside_i,
    .number_i       (piece_addr_i[6 +: BlockBits]),
    .piece_addr_i,
    .piece_length_i,
    .piece_last_i,
    .piece_error_i  (1'b0),
    .block_o,
    .block_i,
    .read_valid_o,
    .read_ready_i,
    .read_addr_o,
    .read_lines_o,
    .line_valid_i,
    .line_ready_o,
    .line_data_i,
    .line_error_i   (1'b0),
    .valid_o        (payload_valid),
    .ready_i        (payload_ready),
    .data_o         (payload),
    .count_o        (payload_count),
    .last_o         (payload_last),
    .error_o        (payload_error),
    .tag_o          (unused_tag)
  );

  hcasim_frame #(
    .Bytes(Bytes)
  ) u_frame (
    .clk_i,
    .rst_i,
    .packet_valid_i (packet_valid_i && packet_ready_o),
    .packet_ready_o (frame_room),
    .packet_i       (packet),
    .raw_i,
    .fresh_i        (1'b1),
    .payload_valid_i(payload_valid),
    .payload_ready_o(payload_ready),
    .payload_data_i (payload),
    .payload_count_i(payload_count),
    .payload_last_i (payload_last),
    .payload_error_i(payload_error),
    .valid_o,
    .ready_i,
    .data_o,
    .count_o,
    .last_o,
    .error_o        (unused_error)
  );

  logic unused_bits; // those of the port are used
  assign unused_bits = ^{packet_i.smac, packet_i.sgid};

  // u_frame takes a packet when at most one before it has payload to come, and u_join knows of two.
  `HCASIM_ASSERT(PayloadHasRoom, !frame_room || join_room)
  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, {data_o, count_o, last_o})

  `HCASIM_LEGAL_BYTES

endmodule
