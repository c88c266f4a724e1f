// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Joins chunks of 0 to Bytes bytes to a stream without gaps: every word but the last of a packet is full. Byte 0 is in
// bits 7:0. One chunk in and one word out a cycle; a packet whose end does not fit into the current word takes one
// cycle more.

`include "hcasim_assert.svh"

module hcasim_pack #(
  parameter int unsigned Bytes = 64,
  parameter int unsigned UserBits = 1,
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  logic                 valid_i,
  output logic                 ready_o,
  input  logic [Bytes*8-1:0]   data_i,  // bytes from count_i on are not looked at
  input  logic [CountBits-1:0] count_i, // bytes, 0 to Bytes
  input  logic                 last_i,  // ends the packet
  input  logic [UserBits-1:0]  user_i,  // of the packet; a word has what came with the chunk that completes it
  output logic                 valid_o,
  input  logic                 ready_i,
  output logic [Bytes*8-1:0]   data_o,  // bytes from count_o on are 0
  output logic [CountBits-1:0] count_o, // Bytes, or fewer with last_o; 0: the packet has no bytes
  output logic                 last_o,
  output logic [UserBits-1:0]  user_o
);

  logic [Bytes*8-1:0]   rest_q;  // bytes that did not fill a word, others 0
  logic [CountBits-1:0] rest_count_q;
  logic                 flush_q; // the rest is the end of a packet
  logic [UserBits-1:0]  user_q;
  logic [Bytes*8-1:0]   masked;
  logic [2*Bytes*8-1:0] joined;
  logic [CountBits:0]   total;
  logic                 full, ends, take;

  always_comb begin
    masked = '0;
    for (int unsigned i = 0; i < Bytes; i++) begin
      if (CountBits'(i) < count_i) masked[i*8 +: 8] = data_i[i*8 +: 8];
    end
  end

  assign joined = {{Bytes * 8{1'b0}}, rest_q} | ({{Bytes * 8{1'b0}}, masked} << {rest_count_q, 3'b000});
  assign total  = {1'b0, rest_count_q} + {1'b0, count_i};
  assign full   = total >= (CountBits + 1)'(Bytes);
  assign ends   = last_i && total <= (CountBits + 1)'(Bytes);

  assign valid_o = flush_q || (valid_i && (full || last_i));
  assign ready_o = !flush_q && (ready_i || !(full || last_i));
  assign data_o  = flush_q ? rest_q : joined[Bytes*8-1:0];
  assign last_o  = flush_q || ends;
  assign count_o = flush_q ? rest_count_q : (full ? CountBits'(Bytes) : total[CountBits-1:0]);
  assign user_o  = flush_q ? user_q : user_i;
  assign take    = valid_i && ready_o;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      rest_q       <= '0;
      rest_count_q <= '0;
      flush_q      <= 1'b0;
    end else if (flush_q) begin
      if (ready_i) begin
        rest_q       <= '0;
        rest_count_q <= '0;
        flush_q      <= 1'b0;
      end
    end else if (take) begin
      rest_q       <= ends ? '0 : (full ? joined[2*Bytes*8-1:Bytes*8] : joined[Bytes*8-1:0]);
      rest_count_q <= ends ? '0 : CountBits'(full ? total - (CountBits + 1)'(Bytes) : total);
      flush_q      <= last_i && !ends;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) user_q <= user_i;
  end

  `HCASIM_ASSERT(FullUnlessLast, !valid_o || last_o || count_o == CountBits'(Bytes))
  `HCASIM_ASSERT(RestIsNoWord, rest_count_q < CountBits'(Bytes) || flush_q)

  `HCASIM_LEGAL_BYTES
  `HCASIM_LEGAL_LEAST(UserBits, 1)

endmodule
