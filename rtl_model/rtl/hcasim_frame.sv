// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Headers, payload, padding and ICRC of a packet joined to one frame. The payload of a packet comes as a stream of its
// own, in the order of the packets; one without payload has none. A cycle for each word of the headers, the payload
// and the padding. A raw packet is its payload, with zeroes up to the shortest frame that there may be.

`include "hcasim_assert.svh"

module hcasim_frame #(
  parameter int unsigned Bytes = 64,
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input  logic                       clk_i,
  input  logic                       rst_i,
  input  logic                       packet_valid_i,
  output logic                       packet_ready_o,
  input  hcasim_engine_pkg::packet_t packet_i,
  input  logic                       raw_i,
  input  logic                       fresh_i, // errors of packets before it do not count any more
  input  logic                       payload_valid_i,
  output logic                       payload_ready_o,
  input  logic [Bytes*8-1:0]         payload_data_i,
  input  logic [CountBits-1:0]       payload_count_i,
  input  logic                       payload_last_i,
  input  logic                       payload_error_i, // with the last word: this packet must not leave, nor later ones
  output logic                       valid_o,
  input  logic                       ready_i,
  output logic [Bytes*8-1:0]         data_o,
  output logic [CountBits-1:0]       count_o,
  output logic                       last_o,
  output logic                       error_o // with last_o
);

  localparam int unsigned HeaderBytes = 106; // of hcasim_header
  localparam int unsigned HeaderWords = (HeaderBytes + Bytes - 1) / Bytes;
  localparam int unsigned WordBits    = $clog2(HeaderWords);

  typedef enum logic [1:0] {
    StHead,    // the first word of the headers
    StRest,    // what is left of them
    StPayload,
    StPad
  } state_e;

  state_e state_q, state_d;
  logic   chunk_valid, chunk_ready, chunk_last;

  // ---- Headers ----

  logic                     header_valid, header_ready, has_payload_q, raw_q, fresh_q;
  logic [HeaderBytes*8-1:0] header;
  logic [6:0]               header_count;
  logic [1:0]               header_pad;
  logic [5:0]               raw_pad_q, pad; // bytes behind the payload

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
    .pad_o   (header_pad)
  );

  always_ff @(posedge clk_i) begin
    if (packet_valid_i && packet_ready_o) begin
      has_payload_q <= packet_i.payload_len != '0;
      raw_q         <= raw_i;
      fresh_q       <= fresh_i;
      raw_pad_q     <= packet_i.payload_len < 16'(hcasim_net_pkg::EthMinBytes)
                         ? 6'(16'(hcasim_net_pkg::EthMinBytes) - packet_i.payload_len) : '0;
    end else if (state_q == StPad && chunk_ready) begin
      raw_pad_q     <= raw_pad_q - 6'(Bytes);
    end
  end

  assign pad = raw_q ? raw_pad_q : 6'(header_pad);

  // ---- Chunks, one after the other ----

  logic [Bytes*8-1:0]   chunk;
  logic [CountBits-1:0] chunk_count;
  logic [WordBits-1:0]  word_q;              // of the headers
  logic [6:0]           rest;                // bytes of them from that word on
  logic                 rest_ends, pad_ends; // with this word

  logic [HeaderWords*Bytes*8-1:0] header_words;

  assign header_words = (HeaderWords*Bytes*8)'(header);
  assign rest         = header_count - 7'(32'(word_q) * Bytes);
  assign rest_ends    = rest <= 7'(Bytes);
  assign pad_ends     = 7'(pad) <= 7'(Bytes);

  always_comb begin
    state_d     = state_q;
    chunk_valid = header_valid;
    chunk       = header_words[Bytes*8-1:0];
    chunk_count = CountBits'(Bytes);
    chunk_last  = 1'b0;
    unique case (state_q)
      StHead: begin
        if (raw_q) begin
          chunk_count = '0;
          state_d     = StPayload;
        end else if (header_count <= 7'(Bytes)) begin
          chunk_count = CountBits'(header_count);
          chunk_last  = !has_payload_q;
          state_d     = has_payload_q ? StPayload : StHead;
        end else state_d = StRest;
      end
      StRest: begin
        for (int unsigned i = 1; i < HeaderWords; i++) begin
          if (word_q == WordBits'(i)) chunk = header_words[i*Bytes*8 +: Bytes*8];
        end
        chunk_count = rest_ends ? CountBits'(rest) : CountBits'(Bytes);
        chunk_last  = rest_ends && !has_payload_q;
        state_d     = !rest_ends ? StRest : (has_payload_q ? StPayload : StHead);
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
        chunk_count = !pad_ends ? CountBits'(Bytes) : CountBits'(pad);
        chunk_last  = pad_ends;
        state_d     = pad_ends ? StHead : StPad;
      end
    endcase
  end

  assign header_ready    = chunk_valid && chunk_ready && chunk_last;
  assign payload_ready_o = state_q == StPayload && chunk_ready;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StHead;
      word_q  <= '0;
    end else if (chunk_valid && chunk_ready) begin
      state_q <= state_d;
      word_q  <= state_d == StRest ? word_q + 1'b1 : '0;
    end
  end

  // ---- To full words, and the ICRC ----

  logic                 word_valid, word_ready, word_last, word_raw, word_error, error, last_error;
  logic [Bytes*8-1:0]   word;
  logic [CountBits-1:0] word_count;

  hcasim_pack #(
    .Bytes(Bytes),
    .UserBits(2)
  ) u_pack (
    .clk_i,
    .rst_i,
    .valid_i(chunk_valid),
    .ready_o(chunk_ready),
    .data_i (chunk),
    .count_i(chunk_count),
    .last_i (chunk_last),
    .user_i ({raw_q, error}),
    .valid_o(word_valid),
    .ready_i(word_ready),
    .data_o (word),
    .count_o(word_count),
    .last_o (word_last),
    .user_o ({word_raw, word_error})
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
    .icrc_i (!word_raw),
    .user_i (word_error),
    .valid_o,
    .ready_i,
    .data_o,
    .count_o,
    .last_o,
    .user_o (last_error)
  );

  // ---- Errors: from the packet that has one on, until a fresh one ----

  logic failed_q, failed; // a packet has failed; before this chunk

  assign failed  = failed_q && !(state_q == StHead && fresh_q);
  assign error   = failed || (state_q == StPayload && payload_last_i && payload_error_i);
  assign error_o = last_o && last_error;

  always_ff @(posedge clk_i) begin
    if (rst_i) failed_q <= 1'b0;
    else if (chunk_valid && chunk_ready) failed_q <= error;
  end

  `HCASIM_ASSERT(RawIsPayload, !packet_valid_i || !raw_i || packet_i.payload_len != '0)
  `HCASIM_ASSERT(PayloadHasBytes, !payload_valid_i || payload_last_i || payload_count_i == CountBits'(Bytes))

  `HCASIM_LEGAL_BYTES

endmodule
