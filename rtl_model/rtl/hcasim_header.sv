// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Ethernet, IPv4 or IPv6, UDP, BTH and the extension headers of a request packet (IBTA annex A17), one packet a cycle.
// Which extension headers an opcode has says hcasim_pkg; they stand in the order of the bits there.

`include "hcasim_assert.svh"

module hcasim_header #(
  localparam int unsigned MaxBytes  = 106, // XRC atomic over IPv6
  localparam int unsigned CountBits = $clog2(MaxBytes + 1)
) (
  input  logic                       clk_i,
  input  logic                       rst_i,
  input  logic                       valid_i,
  output logic                       ready_o,
  input  hcasim_engine_pkg::packet_t packet_i,
  output logic                       valid_o,
  input  logic                       ready_i,
  output logic [MaxBytes*8-1:0]      data_o, // byte 0 in bits 7:0; bytes from count_o on are 0
  output logic [CountBits-1:0]       count_o,
  output logic [1:0]                 pad_o   // bytes of padding after the payload
);

  localparam int unsigned ExtBytes = 32;
  localparam int unsigned EthIp4   = hcasim_net_pkg::EthBytes + hcasim_net_pkg::Ipv4Bytes;
  localparam int unsigned EthIp6   = hcasim_net_pkg::EthBytes + hcasim_net_pkg::Ipv6Bytes;

  hcasim_pkg::bth_op_info_t info;
  logic                     ipv4;
  logic [1:0]               pad;
  logic [15:0]              udp_len;

  assign info    = hcasim_pkg::bth_op_info(packet_i.opcode);
  assign pad     = -packet_i.payload_len[1:0];
  assign udp_len = 16'(hcasim_net_pkg::UdpBytes) + 16'(info.bytes) + packet_i.payload_len + 16'(pad) +
                   16'(hcasim_pkg::ICRC_SIZE);

  // GIDs of the form ::ffff:a.b.c.d (A17.4.5.2).
  localparam logic [95:0] MappedV4 = {16'hffff, 80'h0};
  assign ipv4 = packet_i.sgid[95:0] == MappedV4 && packet_i.dgid[95:0] == MappedV4;

  function automatic logic [47:0] swap48(input logic [47:0] bytes);
    logic [47:0] swapped;
    for (int i = 0; i < 6; i++) swapped[(5-i)*8 +: 8] = bytes[i*8 +: 8];
    swap48 = swapped;
  endfunction

  function automatic logic [127:0] swap128(input logic [127:0] bytes);
    logic [127:0] swapped;
    for (int i = 0; i < 16; i++) swapped[(15-i)*8 +: 8] = bytes[i*8 +: 8];
    swap128 = swapped;
  endfunction

  // RFC 1071, over the ten 16-bit words of a header without options.
  function automatic logic [15:0] ip_sum(input logic [hcasim_net_pkg::Ipv4Bytes*8-1:0] header);
    logic [19:0] sum;
    logic [16:0] folded;
    sum = '0;
    for (int i = 0; i < 10; i++) sum = sum + 20'(header[i*16 +: 16]);
    folded = 17'(sum[15:0]) + 17'(sum[19:16]);
    ip_sum = ~(folded[15:0] + 16'(folded[16]));
  endfunction

  hcasim_net_pkg::eth_t  eth;
  hcasim_net_pkg::ipv4_t ip4, ip4_summed;
  hcasim_net_pkg::ipv6_t ip6;
  hcasim_net_pkg::udp_t  udp;
  hcasim_pkg::bth_t      bth;
  logic [127:0]          src, dst;
  logic [7:0]            hops;

  assign src  = swap128(packet_i.sgid);
  assign dst  = swap128(packet_i.dgid);
  assign hops = packet_i.hop_limit == 8'd0 ? hcasim_net_pkg::DefaultHops : packet_i.hop_limit;

  always_comb begin
    eth.dmac      = swap48(packet_i.dmac);
    eth.smac      = swap48(packet_i.smac);
    eth.ethertype = ipv4 ? hcasim_net_pkg::EthertypeIpv4 : hcasim_net_pkg::EthertypeIpv6;

    ip4.version  = 4'd4;
    ip4.words    = 4'(hcasim_net_pkg::Ipv4Bytes / 4);
    ip4.tos      = packet_i.traffic_class;
    ip4.total    = 16'(hcasim_net_pkg::Ipv4Bytes) + udp_len;
    ip4.id       = '0;
    ip4.frag     = hcasim_net_pkg::Ipv4DontFragment;
    ip4.ttl      = hops;
    ip4.protocol = hcasim_net_pkg::ProtocolUdp;
    ip4.sum      = '0;
    ip4.src      = src[31:0];
    ip4.dst      = dst[31:0];

    ip6.version       = 4'd6;
    ip6.traffic_class = packet_i.traffic_class;
    ip6.flow_label    = packet_i.flow_label;
    ip6.payload       = udp_len;
    ip6.next          = hcasim_net_pkg::ProtocolUdp;
    ip6.hops          = hops;
    ip6.src           = src;
    ip6.dst           = dst;

    udp.sport  = packet_i.sport;
    udp.dport  = 16'(hcasim_pkg::ROCE_UDP_PORT);
    udp.length = udp_len;
    udp.sum    = '0; // the ICRC covers the packet

    bth        = '0;
    bth.opcode = packet_i.opcode;
    bth.se     = packet_i.se;
    bth.migreq = 1'b1;
    bth.pad    = pad;
    bth.pkey   = 16'(hcasim_pkg::DEFAULT_PKEY);
    bth.dqpn   = packet_i.dqpn;
    bth.ackreq = packet_i.ackreq;
    bth.psn    = packet_i.psn;
  end

  always_comb begin
    ip4_summed     = ip4;
    ip4_summed.sum = ip_sum(ip4);
  end

  hcasim_pkg::deth_t      deth;
  hcasim_pkg::xrceth_t    xrceth;
  hcasim_pkg::feth_t      feth;
  hcasim_pkg::reth_t      reth;
  hcasim_pkg::atomiceth_t atomiceth;

  always_comb begin
    deth      = '0;
    deth.qkey = packet_i.qkey;
    deth.sqpn = packet_i.sqpn;

    xrceth      = '0;
    xrceth.srqn = packet_i.srqn;

    feth     = '0;
    feth.sel = packet_i.sel;
    feth.plt = packet_i.plt;

    reth.addr   = packet_i.va;
    reth.rkey   = packet_i.rkey;
    reth.length = packet_i.dmalen;

    atomiceth.addr     = packet_i.va;
    atomiceth.rkey     = packet_i.rkey;
    atomiceth.swap_add = packet_i.swap_add;
    atomiceth.compare  = packet_i.compare;
  end

  // The extension headers, each behind those before it. Of immediate data, memory order is wire order.
  logic [ExtBytes*8-1:0] ext;
  logic [5:0]            used; // bytes

  always_comb begin
    ext  = '0;
    used = '0;
    if (info.has_deth) begin
      ext  = ext | ({deth, {ExtBytes * 8 - $bits(deth) {1'b0}}} >> {used, 3'b000});
      used = used + 6'(hcasim_pkg::DETH_BYTES);
    end
    if (info.has_xrceth) begin
      ext  = ext | ({xrceth, {ExtBytes * 8 - $bits(xrceth) {1'b0}}} >> {used, 3'b000});
      used = used + 6'(hcasim_pkg::XRCETH_BYTES);
    end
    if (info.has_feth) begin
      ext  = ext | ({feth, {ExtBytes * 8 - $bits(feth) {1'b0}}} >> {used, 3'b000});
      used = used + 6'(hcasim_pkg::FETH_BYTES);
    end
    if (info.has_reth) begin
      ext  = ext | ({reth, {ExtBytes * 8 - $bits(reth) {1'b0}}} >> {used, 3'b000});
      used = used + 6'(hcasim_pkg::RETH_BYTES);
    end
    if (info.has_atomiceth) begin
      ext  = ext | ({atomiceth, {ExtBytes * 8 - $bits(atomiceth) {1'b0}}} >> {used, 3'b000});
      used = used + 6'(hcasim_pkg::ATOMICETH_BYTES);
    end
    if (info.has_immdt) begin
      ext  = ext | ({packet_i.imm[7:0], packet_i.imm[15:8], packet_i.imm[23:16], packet_i.imm[31:24],
                     {ExtBytes * 8 - 32 {1'b0}}} >> {used, 3'b000});
      used = used + 6'(hcasim_pkg::IMMDT_BYTES);
    end
    if (info.has_ieth) begin
      ext = ext | ({packet_i.inv_rkey, {ExtBytes * 8 - 32 {1'b0}}} >> {used, 3'b000});
    end
  end

  logic [MaxBytes*8-1:0] sent, lanes; // first byte in the highest bits; in the lowest

  assign sent = ipv4 ? {eth, ip4_summed, udp, bth, ext, {(EthIp6 - EthIp4) * 8 {1'b0}}}
                     : {eth, ip6, udp, bth, ext};
  for (genvar i = 0; i < MaxBytes; i++) begin : gen_lane
    assign lanes[i*8 +: 8] = sent[(MaxBytes-1-i)*8 +: 8];
  end

  logic                  valid_q;
  logic [MaxBytes*8-1:0] data_q;
  logic [CountBits-1:0]  count_q;
  logic [1:0]            pad_q;

  assign ready_o = !valid_q || ready_i;
  assign valid_o = valid_q;
  assign data_o  = data_q;
  assign count_o = count_q;
  assign pad_o   = pad_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= 1'b0;
    else if (ready_o) valid_q <= valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      data_q  <= lanes;
      count_q <= CountBits'(ipv4 ? EthIp4 : EthIp6) + CountBits'(hcasim_net_pkg::UdpBytes) +
                 CountBits'(info.bytes);
      pad_q   <= pad;
    end
  end

  logic unused_info; // for other users of the table
  assign unused_info = ^{info.comp, info.has_bth};

  `HCASIM_ASSERT(KnownRequest, !valid_i || (info.valid && !info.has_aeth && !info.has_atomicacketh))
  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, {data_o, count_o, pad_o})

endmodule
