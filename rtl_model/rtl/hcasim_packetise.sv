// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A work request to its packets, one a cycle: opcode, PSN and header fields of each, and which bytes of the payload it
// carries. It begins with any packet of the message: going back to a PSN is nothing else. Of TSO each packet has the
// headers and up to `mss` bytes. Of a RAW_PACKET QP only the lengths count: a frame is all payload.

`include "hcasim_assert.svh"

module hcasim_packetise (
  input  logic                        clk_i,
  input  logic                        rst_i,
  // A work request. All of it stays as it is until it is taken, which is with its last packet.
  input  logic                        valid_i,
  output logic                        ready_o,
  input  logic                        look_i,  // without valid: the fields of packet `begin` are wanted, nothing else
  input  hcasim_engine_pkg::wr_t      wr_i,
  input  hcasim_pkg::seg_ud_t         ud_i,
  input  hcasim_engine_pkg::send_qp_t qp_i,
  input  logic [23:0]                 psn_i,   // of the message's first packet
  input  logic [23:0]                 begin_i, // number of the packet to begin with
  input  logic [31:0]                 offset_i, // TSO: of that packet's payload in the message
  output logic [23:0]                 psns_o,  // that the message takes; TSO: with its last packet
  // A packet.
  output logic                        valid_o,
  input  logic                        ready_i,
  output hcasim_engine_pkg::packet_t  packet_o,
  output logic [31:0]                 offset_o, // of its payload in the message
  output logic [23:0]                 number_o,
  output logic                        last_o    // of the message
);

  localparam int unsigned AckEvery = 128; // packets of a message between two that ask for an acknowledge

  hcasim_pkg::wqe_op_info_t info;
  hcasim_pkg::msg_codes_t   codes;
  hcasim_pkg::bth_op_info_t op_info;
  logic                     ud, raw, reliable, reads, atomic, tso;

  assign info     = hcasim_pkg::wqe_op_info(wr_i.op);
  assign codes    = hcasim_pkg::msg_codes(info.msg);
  assign ud       = qp_i.qp_type == hcasim_pkg::QPT_UD;
  assign raw      = qp_i.qp_type == hcasim_pkg::QPT_RAW_PACKET;
  assign reliable = qp_i.qp_type == hcasim_pkg::QPT_RC || qp_i.qp_type == hcasim_pkg::QPT_XRC_SEND;
  assign reads    = info.scatter;
  assign atomic   = info.seg_atomic;
  assign tso      = info.seg_tso;

  // ---- How many, and which ----

  logic [31:0] whole; // packets, of the MTU
  logic [23:0] number_q, number;
  logic        begun_q, first, last;

  logic        single; // a datagram or a frame is one packet
  logic [31:0] left;   // bytes from this packet on
  logic [31:0] tso_offset_q;

  assign single = ud || raw || atomic || wr_i.length == '0;
  assign whole  = 32'((33'(wr_i.length[31:0]) + (33'd1 << qp_i.mtu_log) - 33'd1) >> qp_i.mtu_log);
  assign number = begun_q ? number_q : begin_i;
  assign first  = number == '0;

  always_comb begin
    psns_o = single ? 24'd1 : whole[23:0];
    last   = reads || number == psns_o - 24'd1;
    if (tso) begin
      psns_o = number + 24'd1;
      last   = left <= 32'(wr_i.mss);
    end
  end

  // A READ's request is one packet, whatever it asks for.
  assign valid_o  = valid_i;
  assign ready_o  = ready_i && last;
  assign last_o   = last;
  assign number_o = number;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      begun_q  <= 1'b0;
      number_q <= '0;
    end else if (valid_i && ready_i) begin
      begun_q  <= !last;
      number_q <= number + 24'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_i) tso_offset_q <= offset_o + 32'(wr_i.mss);
  end

  // ---- What it is ----

  hcasim_pkg::transport_e transport;
  logic [4:0]             code;

  always_comb begin
    unique case (qp_i.qp_type)
      8'(hcasim_pkg::QPT_UC):       transport = hcasim_pkg::TRANSPORT_UC;
      8'(hcasim_pkg::QPT_UD):       transport = hcasim_pkg::TRANSPORT_UD;
      8'(hcasim_pkg::QPT_XRC_SEND): transport = hcasim_pkg::TRANSPORT_XRC;
      default:                      transport = hcasim_pkg::TRANSPORT_RC;
    endcase
    if (psns_o == 24'd1 || reads || tso) code = codes.only;
    else if (first) code = codes.first;
    else code = last ? codes.last : codes.middle;
  end

  always_comb begin
    offset_o = single ? '0 : 32'(number) << qp_i.mtu_log;
    if (tso) offset_o = begun_q ? tso_offset_q : offset_i;
  end
  assign left     = wr_i.length[31:0] - offset_o;
  assign op_info  = hcasim_pkg::bth_op_info({transport, code});

  // Entropy for switches that spread by port, where the address handle has none (A17.9.2).
  logic [47:0] mix;
  logic [19:0] label;
  logic [13:0] spread;

  assign mix    = 48'(qp_i.qpn) * 48'(ud_i.qpn[23:0]);
  assign label  = ud_i.flow_label[19:0] != '0 ? ud_i.flow_label[19:0] : mix[19:0] ^ mix[39:20] ^ 20'(mix[47:40]);
  assign spread = label[13:0] ^ 14'(label[19:14]);

  // The address vector of another family's decoder may have it, in a field that is 0 in native WQEs.
  logic [15:0] sport;

  assign sport = ud_i.reserved[15:0] != '0 ? ud_i.reserved[15:0] : {2'b11, spread};

  always_comb begin
    packet_o = '0;
    if (valid_i || look_i) begin
      packet_o.opcode        = {transport, code};
      packet_o.dmac          = ud ? ud_i.dmac : qp_i.dmac;
      packet_o.smac          = qp_i.smac;
      packet_o.dgid          = ud ? ud_i.dgid : qp_i.dgid;
      packet_o.sgid          = qp_i.sgid;
      packet_o.traffic_class = ud ? ud_i.traffic_class : qp_i.traffic_class;
      packet_o.hop_limit     = ud ? ud_i.hop_limit : qp_i.hop_limit;
      packet_o.flow_label    = ud ? ud_i.flow_label[19:0] : qp_i.flow_label;
      packet_o.sport         = ud ? sport : qp_i.udp_sport;
      packet_o.dqpn          = ud ? ud_i.qpn[23:0] : qp_i.dest_qpn;
      packet_o.psn           = psn_i + number;
      packet_o.se            = last && wr_i.solicited && op_info.comp;
      packet_o.ackreq        = reliable && (last || number[6:0] == 7'(AckEvery - 1));
      packet_o.qkey          = ud && ud_i.qkey[31] ? qp_i.qkey : ud_i.qkey; // IBTA 10.2.5
      packet_o.sqpn          = qp_i.qpn;
      packet_o.srqn          = wr_i.srqn;
      packet_o.va            = wr_i.remote_addr + (reads ? 64'(offset_o) : '0);
      packet_o.rkey          = wr_i.rkey;
      packet_o.dmalen        = info.seg_flush ? wr_i.flush_length : wr_i.length[31:0] - (reads ? offset_o : '0);
      packet_o.swap_add      = wr_i.swap_add;
      packet_o.compare       = wr_i.compare;
      packet_o.imm           = wr_i.imm;
      packet_o.inv_rkey      = wr_i.inv_rkey;
      packet_o.sel           = wr_i.flush_level[1:0];
      packet_o.plt           = wr_i.flush_type[3:0];
      if (reads) packet_o.payload_len = '0;
      else if (tso) packet_o.payload_len = wr_i.hdr_size + (last ? left[15:0] : wr_i.mss);
      else if (last) packet_o.payload_len = left[15:0];
      else packet_o.payload_len = 16'd1 << qp_i.mtu_log;
    end
  end

  logic unused_bits; // for others
  assign unused_bits = ^{wr_i, ud_i, info, op_info, left, whole};

  `HCASIM_ASSERT(Sendable, !valid_i || info.sent)
  `HCASIM_ASSERT(BeginsInside, !valid_i || begun_q || (tso ? (begin_i == '0) == (offset_i == '0) : begin_i < psns_o))
  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, packet_o)

endmodule
