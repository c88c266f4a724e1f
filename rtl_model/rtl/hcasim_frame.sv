// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Headers, payload, padding and ICRC of a packet joined to one frame. The payload of a packet comes as a stream of its
// own, in the order of the packets; one without payload has none. A cycle for each 64 bytes of the headers, the payload
// and the padding.

`include "hcasim_assert.svh"

module hcasim_frame #(
  localparam int unsigned Bytes     = 64,
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input  logic                       clk_i,
  input  logic                       rst_i,
  input  logic                       packet_valid_i,
  output logic                       packet_ready_o,
  input  hcasim_engine_pkg::packet_t packet_i,
  input  logic                       payload_valid_i,
  output logic                       payload_ready_o,
  input  logic [Bytes*8-1:0]         payload_data_i,
  input  logic [CountBits-1:0]       payload_count_i,
  input  logic                       payload_last_i,
  input  logic                       payload_error_i, // with the last word: the packet must not leave
  output logic                       valid_o,
  input  logic                       ready_i,
  output logic [Bytes*8-1:0]         data_o,
  output logic [CountBits-1:0]       count_o,
  output logic                       last_o,
  output logic                       error_o // with last_o
);

  localparam int unsigned HeaderBytes = 106; // of hcasim_header

  // ---- Headers ----

  logic                     header_valid, header_ready, has_payload_q;
  logic [HeaderBytes*8-1:0] header;
  logic [6:0]               header_count;
  logic [1:0]               pad;

  hcasim_header u_header (
    .clk_i,
    .rst_i,
    .valid_i (packet_valid_i),
    .ready_o (packet_ready_o),
    .packet_i(packet_i),
    .valid_o (header_valid),
    .ready_i (header_ready),
    .data_o  (header),
    .count_o (header_count),
    .pad_o   (pad)
  );

  always_ff @(posedge clk_i) begin
    if (packet_valid_i && packet_ready_o) has_payload_q <= packet_i.payload_len != '0;
  end

  // ---- Chunks, one after the other ----

  typedef enum logic [1:0] {
    StHead,    // the headers' first 64 bytes
    StRest,    // what is left of them
    StPayload,
    StPad
  } state_e;

  state_e               state_q, state_d;
  logic                 chunk_valid, chunk_ready, chunk_last, error_q;
  logic [Bytes*8-1:0]   chunk;
  logic [CountBits-1:0] chunk_count;

  always_comb begin
    state_d     = state_q;
    chunk_valid = header_valid;
    chunk       = header[Bytes*8-1:0];
    chunk_count = CountBits'(Bytes);
    chunk_last  = 1'b0;
    unique case (state_q)
      StHead: begin
        if (header_count <= 7'(Bytes)) begin
          chunk_count = header_count;
          chunk_last  = !has_payload_q;
          state_d     = has_payload_q ? StPayload : StHead;
        end else state_d = StRest;
      end
      StRest: begin
        chunk       = (Bytes*8)'(header[HeaderBytes*8-1:Bytes*8]);
        chunk_count = header_count - 7'(Bytes);
        chunk_last  = !has_payload_q;
        state_d     = has_payload_q ? StPayload : StHead;
      end
      StPayload: begin
        chunk_valid = payload_valid_i;
        chunk       = payload_data_i;
        chunk_count = payload_count_i;
        chunk_last  = payload_last_i && pad == '0;
        if (payload_last_i) state_d = pad == '0 ? StHead : StPad;
      end
      default: begin
        chunk       = '0;
        chunk_count = CountBits'(pad);
        chunk_last  = 1'b1;
        state_d     = StHead;
      end
    endcase
  end

  assign header_ready    = chunk_valid && chunk_ready && chunk_last;
  assign payload_ready_o = state_q == StPayload && chunk_ready;

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StHead;
    else if (chunk_valid && chunk_ready) state_q <= state_d;
  end

  // ---- To full words, and the ICRC ----

  logic                 word_valid, word_ready, word_last;
  logic [Bytes*8-1:0]   word;
  logic [CountBits-1:0] word_count;

  hcasim_pack #(
    .Bytes(Bytes)
  ) u_pack (
    .clk_i,
    .rst_i,
    .valid_i(chunk_valid),
    .ready_o(chunk_ready),
    .data_i (chunk),
    .count_i(chunk_count),
    .last_i (chunk_last),
    .valid_o(word_valid),
    .ready_i(word_ready),
    .data_o (word),
    .count_o(word_count),
    .last_o (word_last)
  );

  hcasim_icrc #(
    .Bytes(Bytes)
  ) u_icrc (
    .clk_i,
    .rst_i,
    .valid_i(word_valid),
    .ready_o(word_ready),
    .data_i (word),
    .count_i(word_count),
    .last_i (word_last),
    .icrc_i (1'b1),
    .valid_o,
    .ready_i,
    .data_o,
    .count_o,
    .last_o
  );

  // ---- The error of the frame whose end went in last; that end has left before the next one goes in ----

  logic error_in, error_end_q;

  assign error_in = state_q == StPayload ? payload_last_i && payload_error_i : state_q == StPad && error_q;
  assign error_o  = last_o && (header_ready ? error_in : error_end_q);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      error_q     <= 1'b0;
      error_end_q <= 1'b0;
    end else if (chunk_valid && chunk_ready) begin
      error_q <= error_in;
      if (chunk_last) error_end_q <= error_in;
    end
  end

  `HCASIM_ASSERT(PayloadHasBytes, !payload_valid_i || payload_last_i || payload_count_i == CountBits'(Bytes))

endmodule
