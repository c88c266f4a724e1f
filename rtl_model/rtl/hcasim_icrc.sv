// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Puts the invariant CRC behind a RoCEv2 frame (IBTA 7.8.1, annex A17.3): CRC-32 over eight bytes of ones in place of
// an LRH, then the packet from its IP header on, with the fields that routers change read as ones. One word a cycle, and
// one more for a packet whose ICRC does not fit into its last word. A frame that gets none passes unchanged.

`include "hcasim_assert.svh"

module hcasim_icrc #(
  parameter int unsigned Bytes = 64,
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  logic                 valid_i,
  output logic                 ready_o,
  input  logic [Bytes*8-1:0]   data_i,  // Ethernet header to padding; bytes from count_i on are 0
  input  logic [CountBits-1:0] count_i, // Bytes, or fewer with last_i; a frame has at least its headers
  input  logic                 last_i,
  input  logic                 icrc_i,  // of the whole frame: it gets an ICRC
  input  logic                 user_i,  // of the last word
  output logic                 valid_o,
  input  logic                 ready_i,
  output logic [Bytes*8-1:0]   data_o,
  output logic [CountBits-1:0] count_o,
  output logic                 last_o,
  output logic                 user_o   // of the last word
);

  localparam int unsigned IcrcBytes = hcasim_pkg::ICRC_SIZE;
  localparam int unsigned Bits      = Bytes * 8;
  localparam int unsigned TypeAt    = hcasim_net_pkg::EthBytes - 2;
  localparam int unsigned BthByte   = 4; // FECN, BECN and reserved bits
  localparam int unsigned MinBytes  = hcasim_net_pkg::EthBytes + hcasim_net_pkg::Ipv4Bytes + 1; // at least, of a frame
  localparam int unsigned LastAt    = hcasim_net_pkg::EthBytes + hcasim_net_pkg::Ipv6Bytes + hcasim_net_pkg::UdpBytes + BthByte;
  localparam int unsigned Words     = LastAt / Bytes + 1; // with bytes that routers change

  // Bytes of these words that read as ones.
  function automatic logic [Words*Bytes-1:0] variant(input logic ipv4);
    logic [Words*Bytes-1:0] ones;
    int unsigned            udp;
    ones = '0;
    udp = hcasim_net_pkg::EthBytes + (ipv4 ? hcasim_net_pkg::Ipv4Bytes : hcasim_net_pkg::Ipv6Bytes);
    if (ipv4) begin
      ones[hcasim_net_pkg::EthBytes + 1]  = 1'b1; // type of service
      ones[hcasim_net_pkg::EthBytes + 8]  = 1'b1; // time to live
      ones[hcasim_net_pkg::EthBytes + 10] = 1'b1; // header checksum
      ones[hcasim_net_pkg::EthBytes + 11] = 1'b1;
    end else begin
      ones[hcasim_net_pkg::EthBytes + 1]  = 1'b1; // traffic class and flow label, but for their first four bits
      ones[hcasim_net_pkg::EthBytes + 2]  = 1'b1;
      ones[hcasim_net_pkg::EthBytes + 3]  = 1'b1;
      ones[hcasim_net_pkg::EthBytes + 7]  = 1'b1; // hop limit
    end
    ones[udp + 6] = 1'b1; // UDP checksum
    ones[udp + 7] = 1'b1;
    ones[udp + hcasim_net_pkg::UdpBytes + BthByte] = 1'b1;
    variant = ones;
  endfunction

  // The register after eight bytes of ones.
  function automatic logic [31:0] seed();
    logic [31:0] crc;
    crc = '1;
    for (int i = 0; i < 64; i++) begin
      crc = (crc >> 1) ^ (crc[0] ? 32'd0 : hcasim_net_pkg::CrcPoly);
    end
    seed = crc;
  endfunction

  localparam logic [Words*Bytes-1:0] VariantV4 = variant(1'b1);
  localparam logic [Words*Bytes-1:0] VariantV6 = variant(1'b0);
  localparam logic [31:0]            Seed      = seed();

  logic [Words-1:0]     place_q;       // the word is the frame's first, its second, ...
  logic                 first, ipv4_q; // it is the first; what that said
  logic [31:0]          crc_q;
  logic                 tail_q; // what did not fit is still to come
  logic                 user_q;
  logic [IcrcBytes*8-1:0] tail_data_q;
  logic [CountBits-1:0] tail_count_q;

  logic                 ipv4;
  logic [Bytes-1:0]     ones;
  logic [CountBits-1:0] start, shift;
  logic [Bits-1:0]      read, placed;
  logic [Bits+31:0]     state;
  logic [31:0]          crc_in, crc_out, crc_next, icrc;
  logic [Bits+IcrcBytes*8-1:0] joined;
  logic [CountBits:0]   total;
  logic                 append, spills, take;

  assign first = place_q[0];
  assign ipv4  = first ? {data_i[TypeAt*8 +: 8], data_i[(TypeAt+1)*8 +: 8]} == hcasim_net_pkg::EthertypeIpv4 : ipv4_q;

  always_comb begin
    ones = '0;
    for (int unsigned i = 0; i < Words; i++) begin
      if (place_q[i]) ones = ipv4 ? VariantV4[i*Bytes +: Bytes] : VariantV6[i*Bytes +: Bytes];
    end
    read = data_i;
    for (int unsigned i = 0; i < Bytes; i++) begin
      if (ones[i]) read[i*8 +: 8] = 8'hff;
      if (first && i < hcasim_net_pkg::EthBytes) read[i*8 +: 8] = 8'h00;
    end
    if (first && !ipv4) read[hcasim_net_pkg::EthBytes*8 +: 4] = 4'hf;
  end

  // The bytes that count go to the end of the word; the CRC so far is added to the first of them. Where there are fewer
  // than four, the rest of it is added to what comes out.
  assign start    = first ? CountBits'(hcasim_net_pkg::EthBytes) : '0;
  assign shift    = CountBits'(Bytes) - count_i;
  assign crc_in   = first ? Seed : crc_q;
  assign state    = {{Bits{1'b0}}, crc_in} << {shift + start, 3'b000};
  assign placed   = (read << {shift, 3'b000}) ^ state[Bits-1:0];
  assign crc_next = crc_out ^ state[Bits+31:Bits];
  assign icrc     = ~crc_next;

  hcasim_crc #(.Bytes(Bytes)) u_crc (.data_i(placed), .crc_o(crc_out));

  assign append = last_i && icrc_i;
  assign joined = {{IcrcBytes * 8{1'b0}}, data_i} |
                  (append ? {{Bits{1'b0}}, icrc} << {count_i, 3'b000} : '0);
  assign total  = {1'b0, count_i} + (append ? (CountBits + 1)'(IcrcBytes) : '0);
  assign spills = total > (CountBits + 1)'(Bytes);

  assign valid_o = tail_q || valid_i;
  assign ready_o = !tail_q && ready_i;
  assign data_o  = tail_q ? Bits'(tail_data_q) : joined[Bits-1:0];
  assign count_o = tail_q ? tail_count_q : (spills ? CountBits'(Bytes) : total[CountBits-1:0]);
  assign last_o  = tail_q || (last_i && !spills);
  assign user_o  = tail_q ? user_q : user_i;
  assign take    = valid_i && ready_o;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      place_q <= Words'(1);
      tail_q  <= 1'b0;
    end else begin
      if (take) begin
        place_q <= last_i ? Words'(1) : place_q << 1;
        tail_q  <= spills;
      end else if (ready_i) begin
        tail_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      ipv4_q       <= ipv4;
      crc_q        <= crc_next;
      user_q       <= user_i;
      tail_data_q  <= joined[Bits +: IcrcBytes*8];
      tail_count_q <= CountBits'(total - (CountBits + 1)'(Bytes));
    end
  end

  `HCASIM_ASSERT(HeadersInFirstWord, !valid_i || !first || !icrc_i || count_i >= CountBits'(Bytes < MinBytes ? Bytes : MinBytes))
  `HCASIM_ASSERT(FullUnlessLast, !valid_i || last_i || count_i == CountBits'(Bytes))

  `HCASIM_LEGAL_BYTES

endmodule
