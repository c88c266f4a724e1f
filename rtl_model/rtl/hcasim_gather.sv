// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Reads the pieces of a payload from host memory and joins their bytes, whatever their addresses and lengths, to a
// stream without gaps. Pieces of several payloads follow each other; reads run ahead of the data that comes back, as
// far as Depth pieces and the reader allow. A line of memory in and a word out a cycle.
//
// A read asks for the lines that a piece touches: `addr` is that of its first byte, `lines` counts from there. The lines
// come back whole and in the order of the reads. A line that could not be read has `error`: its bytes do not count, and
// the payload's last word says so.

`include "hcasim_assert.svh"

module hcasim_gather #(
  parameter int unsigned Bytes = 64, // of a line
  parameter int unsigned Depth = 8,  // pieces under way, a power of two
  localparam int unsigned CountBits  = $clog2(Bytes + 1),
  localparam int unsigned OffsetBits = $clog2(Bytes),
  localparam int unsigned LengthBits = 16,
  localparam int unsigned LinesBits  = LengthBits - OffsetBits + 1
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  // Pieces.
  input  logic                  piece_valid_i,
  output logic                  piece_ready_o,
  input  logic [63:0]           piece_addr_i,
  input  logic [LengthBits-1:0] piece_length_i, // bytes; 0: nothing is read
  input  logic                  piece_last_i,   // of its payload
  input  logic                  piece_error_i,  // nothing is read, and the payload has an error
  // Reads of memory.
  output logic                  read_valid_o,
  input  logic                  read_ready_i,
  output logic [63:0]           read_addr_o,
  output logic [LinesBits-1:0]  read_lines_o,
  input  logic                  line_valid_i,
  output logic                  line_ready_o,
  input  logic [Bytes*8-1:0]    line_data_i,
  input  logic                  line_error_i,
  // The payload.
  output logic                  valid_o,
  input  logic                  ready_i,
  output logic [Bytes*8-1:0]    data_o,  // byte 0 in bits 7:0; bytes from count_o on are 0
  output logic [CountBits-1:0]  count_o, // Bytes, or fewer with last_o
  output logic                  last_o,
  output logic                  error_o  // with last_o: it could not be read whole
);

  // ---- Pieces: a read goes out, and what is needed to cut its lines is kept ----

  localparam int unsigned KeptBits = OffsetBits + LengthBits + 2;

  logic                   kept_valid, kept_ready, kept_room;
  logic [OffsetBits-1:0]  offset;
  logic [LengthBits-1:0]  length;
  logic                   last, bad, reads;
  logic [$clog2(Depth):0] unused_count;

  assign reads         = piece_length_i != '0 && !piece_error_i;
  assign piece_ready_o = kept_room && (!reads || read_ready_i);
  assign read_valid_o  = piece_valid_i && reads && kept_room;
  assign read_addr_o   = piece_addr_i;
  assign read_lines_o  = LinesBits'(({1'b0, piece_length_i} +
                                     (LengthBits + 1)'(piece_addr_i[OffsetBits-1:0]) +
                                     (LengthBits + 1)'(Bytes - 1)) >> OffsetBits);

  hcasim_fifo #(
    .Width(KeptBits),
    .Depth(Depth)
  ) u_kept (
    .clk_i,
    .rst_i,
    .valid_i(piece_valid_i && piece_ready_o),
    .ready_o(kept_room),
    .data_i ({piece_addr_i[OffsetBits-1:0], reads ? piece_length_i : '0, piece_last_i, piece_error_i}),
    .valid_o(kept_valid),
    .ready_i(kept_ready),
    .data_o ({offset, length, last, bad}),
    .count_o(unused_count)
  );

  // ---- Lines: cut to the bytes of the piece, moved to byte 0 ----

  logic                  inside_q; // a line of the oldest piece has come already
  logic [LengthBits-1:0] left_q, left;
  logic [OffsetBits-1:0] start;
  logic [CountBits-1:0]  room, count;
  logic                  chunk_valid, chunk_ready, chunk_take, piece_ends;
  logic [Bytes*8-1:0]    chunk;
  logic                  error_in, error_in_q, error;

  assign left       = inside_q ? left_q : length;
  assign start      = inside_q ? '0 : offset;
  assign room       = CountBits'(Bytes) - CountBits'(start);
  assign piece_ends = left <= LengthBits'(room);
  assign count      = piece_ends ? left[CountBits-1:0] : room;
  assign chunk      = line_data_i >> {start, 3'b000};

  assign chunk_valid  = kept_valid && (line_valid_i || length == '0);
  assign line_ready_o = kept_valid && length != '0 && chunk_ready;
  assign chunk_take   = chunk_valid && chunk_ready;
  assign kept_ready   = chunk_take && piece_ends;

  hcasim_pack #(
    .Bytes(Bytes)
  ) u_pack (
    .clk_i,
    .rst_i,
    .valid_i(chunk_valid),
    .ready_o(chunk_ready),
    .data_i (chunk),
    .count_i(count),
    .last_i (piece_ends && last),
    .user_i (error_in),
    .valid_o,
    .ready_i,
    .data_o,
    .count_o,
    .last_o,
    .user_o (error)
  );

  assign error_in = error_in_q || bad || (length != '0 && line_error_i); // a chunk of it has its line
  assign error_o  = last_o && error;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      inside_q   <= 1'b0;
      left_q     <= '0;
      error_in_q <= 1'b0;
    end else if (chunk_take) begin
      inside_q   <= !piece_ends;
      left_q     <= left - LengthBits'(count);
      error_in_q <= piece_ends && last ? 1'b0 : error_in;
    end
  end

  `HCASIM_ASSERT(NoLineWithoutARead, !line_valid_i || kept_valid)

  `HCASIM_LEGAL_BYTES
  `HCASIM_LEGAL_POWER(Depth)

endmodule
