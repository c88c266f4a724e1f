// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Pieces to payloads: their bytes are read from host memory, or from the blocks of WQEs, joined, and get their checksums.

`include "hcasim_assert.svh"

module hcasim_join #(
  parameter int unsigned Bytes = 64,
  parameter int unsigned LineBits = 7, // of the number of a basic block
  parameter int unsigned TagBits = 4,
  parameter int unsigned Depth = 16, // pieces under way, a power of two
  parameter int unsigned Ahead = 16, // payloads announced, a power of two
  localparam int unsigned BlockBytes = hcasim_pkg::WQEBB_SIZE,
  localparam int unsigned CountBits  = $clog2(Bytes + 1),
  localparam int unsigned LinesBits  = 17 - $clog2(Bytes)
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  // What is to be done with each payload, in order, before its first byte comes.
  input  logic                        offload_valid_i,
  output logic                        offload_ready_o,
  input  hcasim_engine_pkg::offload_t offload_i,
  input  logic [TagBits-1:0]          tag_i,
  // Pieces.
  input  logic                        piece_valid_i,
  output logic                        piece_ready_o,
  input  logic                        piece_inside_i, // of WQEs, from block number_i on
  input  logic [LineBits-1:0]         number_i,
  input  logic [63:0]                 piece_addr_i,
  input  logic [15:0]                 piece_length_i,
  input  logic                        piece_last_i,   // of its payload
  input  logic                        piece_error_i,  // nothing is read, and the payload has an error
  // A basic block of a WQE, in the same cycle.
  output logic [LineBits-1:0]         block_o,
  input  logic [BlockBytes*8-1:0]     block_i,
  // Reads of host memory, as of hcasim_gather.
  output logic                        read_valid_o,
  input  logic                        read_ready_i,
  output logic [63:0]                 read_addr_o,
  output logic [LinesBits-1:0]        read_lines_o,
  input  logic                        line_valid_i,
  output logic                        line_ready_o,
  input  logic [Bytes*8-1:0]          line_data_i,
  input  logic                        line_error_i,
  // The payload, and its tag.
  output logic                        valid_o,
  input  logic                        ready_i,
  output logic [Bytes*8-1:0]          data_o,
  output logic [CountBits-1:0]        count_o,
  output logic                        last_o,
  output logic                        error_o,
  output logic [TagBits-1:0]          tag_o
);

  logic                 read, read_ready, line_valid, line_ready, line_error;
  logic [Bytes*8-1:0]   line, joined;
  logic                 joined_valid, joined_ready, joined_last, joined_error;
  logic [CountBits-1:0] joined_count;

  hcasim_gather #(
    .Bytes(Bytes),
    .Depth(Depth)
  ) u_gather (
    .clk_i,
    .rst_i,
    .piece_valid_i,
    .piece_ready_o,
    .piece_addr_i,
    .piece_length_i,
    .piece_last_i,
    .piece_error_i,
    .read_valid_o  (read),
    .read_ready_i  (read_ready),
    .read_addr_o,
    .read_lines_o,
    .line_valid_i  (line_valid),
    .line_ready_o  (line_ready),
    .line_data_i   (line),
    .line_error_i  (line_error),
    .valid_o       (joined_valid),
    .ready_i       (joined_ready),
    .data_o        (joined),
    .count_o       (joined_count),
    .last_o        (joined_last),
    .error_o       (joined_error)
  );

  // The lines of the blocks.
  localparam int unsigned OffsetBits  = $clog2(Bytes);
  localparam int unsigned InBlockBits = $clog2(BlockBytes);
  localparam int unsigned NumberBits  = LineBits + InBlockBits - OffsetBits;

  logic [NumberBits-1:0] first, number;
  logic [Bytes*8-1:0]    inside_line;

  assign first = NumberBits'({number_i, piece_addr_i[InBlockBits-1:0]} >> OffsetBits);

  if (Bytes == BlockBytes) begin : gen_block
    assign block_o     = number;
    assign inside_line = block_i;
  end else begin : gen_part
    assign block_o     = number[NumberBits-1:InBlockBits-OffsetBits];
    assign inside_line = block_i[{number[InBlockBits-OffsetBits-1:0], (OffsetBits + 3)'(0)} +: Bytes*8];
  end

  hcasim_line_mux #(
    .Bytes   (Bytes),
    .LineBits(NumberBits),
    .Depth   (Depth)
  ) u_lines (
    .clk_i,
    .rst_i,
    .read_valid_i (read),
    .read_ready_o (read_ready),
    .inside_i     (piece_inside_i),
    .number_i     (first),
    .lines_i      (read_lines_o),
    .line_valid_o (line_valid),
    .line_ready_i (line_ready),
    .line_o       (line),
    .error_o      (line_error),
    .read_valid_o,
    .read_ready_i,
    .line_valid_i,
    .line_ready_o,
    .line_i       (line_data_i),
    .error_i      (line_error_i),
    .number_o     (number),
    .inside_line_i(inside_line)
  );

  hcasim_offload #(
    .Bytes  (Bytes),
    .TagBits(TagBits),
    .Depth  (Ahead)
  ) u_offload (
    .clk_i,
    .rst_i,
    .offload_valid_i,
    .offload_ready_o,
    .offload_i,
    .tag_i,
    .valid_i(joined_valid),
    .ready_o(joined_ready),
    .data_i (joined),
    .count_i(joined_count),
    .last_i (joined_last),
    .error_i(joined_error),
    .valid_o,
    .ready_i,
    .data_o,
    .count_o,
    .last_o,
    .error_o,
    .tag_o
  );

  `HCASIM_LEGAL_BYTES
  `HCASIM_LEGAL_LEAST(LineBits, 1)
  `HCASIM_LEGAL_LEAST(TagBits, 1)
  `HCASIM_LEGAL_POWER(Depth)
  `HCASIM_LEGAL_POWER(Ahead)

endmodule
