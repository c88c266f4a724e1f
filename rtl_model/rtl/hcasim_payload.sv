// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The payloads of packets: which bytes they are, their keys, reading and joining them, checksums.

`include "hcasim_assert.svh"

module hcasim_payload #(
  parameter int unsigned Bytes = 64,
  parameter int unsigned SlotBits = 3,
  parameter int unsigned TagBits = 4,
  parameter int unsigned Depth = 16, // pieces under way, a power of two
  parameter int unsigned Ahead = 16, // payloads announced, a power of two
  localparam int unsigned BlockBytes = hcasim_pkg::WQEBB_SIZE,
  localparam int unsigned CountBits  = $clog2(Bytes + 1),
  localparam int unsigned LinesBits  = 17 - $clog2(Bytes),
  localparam int unsigned BlockBits  = $clog2(hcasim_pkg::WQE_MAX_BB),
  localparam int unsigned LineBits   = SlotBits + BlockBits
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  // A packet with payload, as of hcasim_sge_walk, and what is done to it.
  input  logic                        packet_valid_i,
  output logic                        packet_ready_o,
  input  logic                        first_i,
  input  logic [SlotBits-1:0]         slot_i,
  input  hcasim_engine_pkg::wr_t      wr_i,
  input  logic                        tso_i, // it begins with the headers of the WQE
  input  logic [31:0]                 offset_i,
  input  logic [15:0]                 length_i,
  input  hcasim_engine_pkg::offload_t offload_i,
  input  logic [TagBits-1:0]          tag_i,
  // Blocks of WQEs, in the same cycle: with an SGE, and with a line that is read.
  output logic [LineBits-1:0]         sge_block_o,
  input  logic [BlockBytes*8-1:0]     sge_block_i,
  output logic [LineBits-1:0]         block_o,
  input  logic [BlockBytes*8-1:0]     block_i,
  // Look-ups of pieces, and their answers in order.
  output logic                        lookup_valid_o,
  input  logic                        lookup_ready_i,
  output logic [63:0]                 lookup_addr_o,
  output logic [15:0]                 lookup_length_o,
  output logic [31:0]                 lookup_lkey_o,
  input  logic                        answer_valid_i,
  input  logic [7:0]                  answer_vendor_err_i,
  input  logic [63:0]                 answer_addr_i,
  // A piece goes to be read; with a vendor error it is not.
  output logic                        piece_o,
  output logic [SlotBits-1:0]         piece_slot_o,
  output logic [7:0]                  piece_vendor_err_o,
  // Reads of host memory, as of hcasim_gather.
  output logic                        read_valid_o,
  input  logic                        read_ready_i,
  output logic [63:0]                 read_addr_o,
  output logic [LinesBits-1:0]        read_lines_o,
  input  logic                        line_valid_i,
  output logic                        line_ready_o,
  input  logic [Bytes*8-1:0]          line_data_i,
  input  logic                        line_error_i,
  // The payload, and the tag of its packet.
  output logic                        valid_o,
  input  logic                        ready_i,
  output logic [Bytes*8-1:0]          data_o,
  output logic [CountBits-1:0]        count_o,
  output logic                        last_o,
  output logic                        error_o,
  output logic [TagBits-1:0]          tag_o
);

  // ---- Pieces ----

  logic                offload_ready, walk_ready, walk_valid, walk_inside, walk_last, key_ready;
  logic [SlotBits-1:0] walk_slot;
  logic [9:0]          sge_at;
  logic [63:0]         walk_addr;
  logic [15:0]         walk_length, header_bytes;

  assign packet_ready_o = walk_ready && offload_ready;
  assign header_bytes   = tso_i ? wr_i.hdr_size : '0;
  assign sge_block_o    = {walk_slot, sge_at[9:6]};

  hcasim_sge_walk #(
    .SlotBits(SlotBits)
  ) u_walk (
    .clk_i,
    .rst_i,
    .valid_i    (packet_valid_i && offload_ready),
    .ready_o    (walk_ready),
    .first_i,
    .slot_i,
    .data_at_i  (wr_i.data_at),
    .is_inline_i(wr_i.is_inline),
    .header_at_i(wr_i.header_at),
    .header_i   (header_bytes),
    .offset_i,
    .length_i   (length_i - header_bytes),
    .slot_o     (walk_slot),
    .sge_at_o   (sge_at),
    .sge_i      (sge_block_i[{sge_at[5:4], 7'd0} +: 128]),
    .valid_o    (walk_valid),
    .ready_i    (key_ready),
    .inside_o   (walk_inside),
    .addr_o     (walk_addr),
    .lkey_o     (lookup_lkey_o),
    .length_o   (walk_length),
    .last_o     (walk_last)
  );

  logic                piece_valid, piece_ready, piece_inside, piece_last;
  logic [63:0]         piece_addr;
  logic [15:0]         piece_length;

  assign lookup_addr_o   = walk_addr;
  assign lookup_length_o = walk_length;
  assign piece_o         = piece_valid && piece_ready;

  hcasim_piece_lookup #(
    .SlotBits(SlotBits),
    .Depth   (Depth)
  ) u_keys (
    .clk_i,
    .rst_i,
    .valid_i     (walk_valid),
    .ready_o     (key_ready),
    .slot_i      (walk_slot),
    .inside_i    (walk_inside),
    .at_i        (walk_addr[9:0]),
    .length_i    (walk_length),
    .last_i      (walk_last),
    .lookup_valid_o,
    .lookup_ready_i,
    .answer_valid_i,
    .answer_vendor_err_i,
    .answer_addr_i,
    .valid_o     (piece_valid),
    .ready_i     (piece_ready),
    .slot_o      (piece_slot_o),
    .inside_o    (piece_inside),
    .addr_o      (piece_addr),
    .length_o    (piece_length),
    .last_o      (piece_last),
    .vendor_err_o(piece_vendor_err_o)
  );

  // ---- Their bytes ----

  hcasim_join #(
    .Bytes   (Bytes),
    .LineBits(LineBits),
    .TagBits (TagBits),
    .Depth   (Depth),
    .Ahead   (Ahead)
  ) u_join (
    .clk_i,
    .rst_i,
    .offload_valid_i(packet_valid_i && walk_ready),
    .offload_ready_o(offload_ready),
    .offload_i,
    .tag_i,
    .piece_valid_i  (piece_valid),
    .piece_ready_o  (piece_ready),
    .piece_inside_i (piece_inside),
    .number_i       ({piece_slot_o, piece_addr[6 +: BlockBits]}),
    .piece_addr_i   (piece_addr),
    .piece_length_i (piece_length),
    .piece_last_i   (piece_last),
    .piece_error_i  (piece_vendor_err_o != 8'(hcasim_pkg::VENDOR_ERR_NONE)),
    .block_o,
    .block_i,
    .read_valid_o,
    .read_ready_i,
    .read_addr_o,
    .read_lines_o,
    .line_valid_i,
    .line_ready_o,
    .line_data_i,
    .line_error_i,
    .valid_o,
    .ready_i,
    .data_o,
    .count_o,
    .last_o,
    .error_o,
    .tag_o
  );

  logic unused_bits; // for others; SGEs stand at multiples of their size
  assign unused_bits = ^{wr_i, sge_at};

  `HCASIM_LEGAL_BYTES
  `HCASIM_LEGAL_LEAST(SlotBits, 1)
  `HCASIM_LEGAL_LEAST(TagBits, 1)
  `HCASIM_LEGAL_POWER(Depth)
  `HCASIM_LEGAL_POWER(Ahead)

endmodule
