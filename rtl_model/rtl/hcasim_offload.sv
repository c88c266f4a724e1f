// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Payloads on their way to their frames. Those that ask for it get the headers of their TCP segment and the checksums of
// IPv4, TCP and UDP (RFC 1071), as tso_write() and net_put_sums() of sim/core/wire/net.c. These are stored first: a word
// a cycle in, one for the sums, one out. Others pass in the cycle in which they come.

`include "hcasim_assert.svh"

module hcasim_offload #(
  parameter int unsigned Bytes = 64,
  parameter int unsigned TagBits = 1,
  parameter int unsigned Depth = 16,           // payloads that are announced, a power of two
  parameter int unsigned Lines = 8192 / Bytes, // of the longest payload that is stored, a power of two
  localparam int unsigned CountBits  = $clog2(Bytes + 1),
  localparam int unsigned OffsetBits = $clog2(Bytes),
  localparam int unsigned NumberBits = 16 - OffsetBits, // of any line
  localparam int unsigned LineBits   = $clog2(Lines)
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  // What is to be done with each payload, in order, before it comes.
  input  logic                        offload_valid_i,
  output logic                        offload_ready_o,
  input  hcasim_engine_pkg::offload_t offload_i,
  input  logic [TagBits-1:0]          tag_i,
  input  logic                        valid_i,
  output logic                        ready_o,
  input  logic [Bytes*8-1:0]          data_i,
  input  logic [CountBits-1:0]        count_i,
  input  logic                        last_i,
  input  logic                        error_i, // with last_i: it could not be read
  output logic                        valid_o,
  input  logic                        ready_i,
  output logic [Bytes*8-1:0]          data_o,
  output logic [CountBits-1:0]        count_o,
  output logic                        last_o,
  output logic                        error_o,
  output logic [TagBits-1:0]          tag_o
);

  typedef enum logic [2:0] {
    StPass, // a payload without sums; and the words of one with sums go in
    StParse,
    StBegin,
    StSum,
    StEmit
  } state_e;

  state_e                      state_q;
  hcasim_engine_pkg::offload_t offload;
  logic                        known, pop, store;
  logic [$clog2(Depth):0]      unused_count;

  hcasim_fifo #(
    .Width($bits(offload_i) + TagBits),
    .Depth(Depth)
  ) u_announced (
    .clk_i,
    .rst_i,
    .valid_i(offload_valid_i),
    .ready_o(offload_ready_o),
    .data_i ({offload_i, tag_i}),
    .valid_o(known),
    .ready_i(pop),
    .data_o ({offload, tag_o}),
    .count_o(unused_count)
  );

  // ---- The stored payload ----

  logic [Bytes*8-1:0]   mem_q [Lines];
  logic [LineBits-1:0]  line_q, last_q; // the line that is written, summed or emitted; the last one
  logic [CountBits-1:0] rest_q;         // bytes of the last line
  logic                 error_q;
  logic [Bytes*8-1:0]   line, patched;

  assign line = mem_q[line_q];

  // A 16-bit field at a byte of the payload, which is even.
  function automatic logic [Bytes*8-1:0] put(input logic [Bytes*8-1:0] word, input logic [LineBits-1:0] number,
                                             input logic [15:0] at, input logic [15:0] value);
    put = word;
    if (at[15:OffsetBits] == NumberBits'(number) && !at[0]) put[{at[OffsetBits-1:1], 4'd0} +: 16] = {value[7:0], value[15:8]};
  endfunction

  always_comb begin
    patched = data_i;
    if (offload.tso) begin
      patched = put(patched, line_q, offload.net.l4_at + 16'd4, offload.seq[31:16]);
      patched = put(patched, line_q, offload.net.l4_at + 16'd6, offload.seq[15:0]);
      patched = put(patched, line_q, offload.net.l4_at + 16'd12, offload.control);
      if (offload.net.ipv4) begin
        patched = put(patched, line_q, offload.net.l3_at + 16'd2, offload.ip_bytes);
        patched = put(patched, line_q, offload.net.l3_at + 16'd4, offload.id);
      end else begin
        patched = put(patched, line_q, offload.net.l3_at + 16'd4, offload.ip_bytes);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (store) begin
      mem_q[line_q] <= patched;
      rest_q        <= count_i;
      error_q       <= error_i;
      last_q        <= line_q;
    end
  end

  // ---- Its headers: those of a TSO segment are known ----

  hcasim_engine_pkg::net_t parsed, net;
  logic                    parse_done;
  logic [15:0]             parse_at;
  logic [Bytes*8-1:0]      window;

  assign window = (Bytes*8)'({mem_q[LineBits'(parse_at[15:OffsetBits] + 1'b1)], mem_q[parse_at[OffsetBits +: LineBits]]} >>
                             {parse_at[OffsetBits-1:0], 3'b000});

  hcasim_net_parse #(
    .Bytes(Bytes)
  ) u_parse (
    .clk_i,
    .rst_i,
    .start_i       (state_q == StPass && store && last_i && !offload.tso),
    .length_i      (offload.length),
    .datagram_i    (offload.datagram),
    .headers_only_i(1'b0),
    .at_o          (parse_at),
    .bytes_i       (window),
    .done_o        (parse_done),
    .net_o         (parsed)
  );

  always_comb begin
    net = parsed;
    if (offload.tso) begin
      net        = offload.net;
      net.l3_end = offload.length;
    end
  end

  // ---- Sums of 16-bit words, those in the fields themselves left out ----

  logic [15:0] ip_sum_at, l4_sum_at, address_at, l4_length;
  logic [31:0] ip_add, l4_add, ip_acc_q, l4_acc_q;
  logic        l4;

  assign l4         = net.tcp || net.udp;
  assign ip_sum_at  = net.l3_at + 16'd10;
  assign l4_sum_at  = net.l4_at + (net.tcp ? 16'd16 : 16'd6);
  assign address_at = net.l3_at + (net.ipv4 ? 16'd12 : 16'd8);
  assign l4_length  = net.l3_end - net.l4_at;

  always_comb begin
    logic [15:0] at, value;
    ip_add = '0;
    l4_add = '0;
    at     = '0;
    value  = '0;
    if (state_q == StSum) begin
      for (int unsigned i = 0; i < Bytes / 2; i++) begin
        at    = {NumberBits'(line_q), OffsetBits'(2 * i)};
        value = {line[i*16 +: 8], line[i*16 + 8 +: 8]};
        if (at >= net.l3_at && at < net.l4_at && at != ip_sum_at) ip_add = ip_add + 32'(value);
        if (at >= net.l4_at && at < net.l3_end && at != l4_sum_at)
          l4_add = l4_add + 32'({value[15:8], at + 16'd1 < net.l3_end ? value[7:0] : 8'd0});
        l4_add = l4_add + (at >= address_at && at < address_at + (net.ipv4 ? 16'd8 : 16'd32) ? 32'(value) : '0);
      end
    end
  end

  function automatic logic [15:0] folded(input logic [31:0] sum);
    logic [16:0] once;
    once = 17'(sum[15:0]) + 17'(sum[31:16]);
    folded = ~(once[15:0] + 16'(once[16]));
  endfunction

  logic [15:0]        ip_sum, l4_sum;
  logic [Bytes*8-1:0] summed;

  assign ip_sum = folded(ip_acc_q);
  assign l4_sum = net.udp && folded(l4_acc_q) == '0 ? 16'hffff : folded(l4_acc_q); // 0 would mean none (RFC 768)

  always_comb begin
    summed = line;
    if (net.ipv4) summed = put(summed, line_q, ip_sum_at, ip_sum);
    if (l4) summed = put(summed, line_q, l4_sum_at, l4_sum);
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StBegin) begin
      ip_acc_q <= '0;
      l4_acc_q <= 32'(l4_length) + (net.tcp ? 32'(hcasim_net_pkg::ProtocolTcp) : 32'(hcasim_net_pkg::ProtocolUdp));
    end else begin
      ip_acc_q <= ip_acc_q + ip_add;
      l4_acc_q <= l4_acc_q + l4_add;
    end
  end

  // ---- One payload after the other ----

  logic pass, emit;

  assign store   = state_q == StPass && known && offload.sums && valid_i;
  assign pass    = state_q == StPass && known && !offload.sums;
  assign emit    = state_q == StEmit;
  assign ready_o = store || (pass && ready_i);
  assign valid_o = emit || (pass && valid_i);
  assign data_o  = emit ? summed : data_i;
  assign last_o  = emit ? line_q == last_q : last_i;
  assign count_o = emit ? (last_o ? rest_q : CountBits'(Bytes)) : count_i;
  assign error_o = emit ? last_o && error_q : error_i;
  assign pop     = valid_o && ready_i && last_o;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StPass;
      line_q  <= '0;
    end else begin
      unique case (state_q)
        StPass: begin
          if (store) line_q <= last_i ? '0 : line_q + 1'b1;
          if (store && last_i) state_q <= offload.tso ? StBegin : StParse;
        end
        StParse: if (parse_done) state_q <= StBegin;
        StBegin: state_q <= StSum;
        StSum: begin
          line_q <= line_q == last_q ? '0 : line_q + 1'b1;
          if (line_q == last_q) state_q <= StEmit;
        end
        default: begin
          if (ready_i) line_q <= last_o ? '0 : line_q + 1'b1;
          if (ready_i && last_o) state_q <= StPass;
        end
      endcase
    end
  end

  logic unused_bits;
  assign unused_bits = ^{parse_at, net, offload};

  `HCASIM_ASSERT(Announced, !valid_i || known || state_q != StPass)
  `HCASIM_ASSERT(SumsFromTheFirst, state_q != StBegin || line_q == '0)
  `HCASIM_ASSERT(Fits, !store || 32'(line_q) < Lines - 1 || last_i)
  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, {data_o, count_o, last_o, error_o})

  `HCASIM_LEGAL_BYTES
  `HCASIM_LEGAL_LEAST(TagBits, 1)
  `HCASIM_LEGAL_POWER(Depth)
  `HCASIM_LEGAL(Lines, Lines >= 2 && (Lines & (Lines - 1)) == 0 && Lines * Bytes <= 65536, "Lines has to be a power of two from 2 to 65536 / Bytes")

endmodule
