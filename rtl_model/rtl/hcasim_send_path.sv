// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// From the basic blocks of WQEs to the frames on the wire: decoding, keys, segmentation, payload, checksums, headers,
// ICRC. Several WQEs are inside at a time, in order: while the packets of one are made the next ones are decoded and
// their keys looked up. It keeps no state of a queue pair: going back is giving it the WQE again.

`include "hcasim_assert.svh"

module hcasim_send_path #(
  parameter int unsigned Bytes  = 64,
  parameter int unsigned Slots  = 8,  // WQEs inside, a power of two
  parameter int unsigned Ahead  = 16, // packets whose payload is not there yet, a power of two
  parameter int unsigned Pieces = 16, // pieces under way, a power of two
  localparam int unsigned BlockBytes = hcasim_pkg::WQEBB_SIZE,
  localparam int unsigned CountBits  = $clog2(Bytes + 1),
  localparam int unsigned LinesBits  = 17 - $clog2(Bytes),
  localparam int unsigned SlotBits   = $clog2(Slots),
  localparam int unsigned BlockBits  = $clog2(hcasim_pkg::WQE_MAX_BB)
) (
  input  logic                            clk_i,
  input  logic                            rst_i,
  // The blocks of WQEs. What follows counts with the first block of a WQE.
  input  logic                            block_valid_i,
  output logic                            block_ready_o,
  input  logic [BlockBytes*8-1:0]         block_i,
  input  logic [15:0]                     index_i,
  input  logic [15:0]                     posted_i,
  input  hcasim_engine_pkg::decode_qp_t   decode_qp_i,
  input  hcasim_engine_pkg::wqe_context_t context_i,
  // Keys: of bytes [addr, addr + length) of memory under a key, once for every SGE of a WQE (`check`, the answer's address
  // does not count), and for each piece that is read. Answers in the order of the look-ups.
  output logic                            lookup_valid_o,
  input  logic                            lookup_ready_i,
  output logic                            lookup_check_o,
  output logic [63:0]                     lookup_addr_o,
  output logic [31:0]                     lookup_length_o,
  output logic [31:0]                     lookup_lkey_o,
  input  logic                            answer_valid_i,
  input  logic [7:0]                      answer_vendor_err_i, // NONE: it may be read
  input  logic [63:0]                     answer_addr_i,       // in host memory
  // BIND_MW and LOCAL_INV, when all WQEs before them have ended.
  output logic                            local_valid_o,
  input  logic                            local_ready_i,
  output hcasim_engine_pkg::wr_t          local_wr_o,
  output hcasim_pkg::seg_bind_t           local_bind_o,
  input  logic [7:0]                      local_vendor_err_i, // with ready; NONE: done
  // Reads of host memory, as of hcasim_gather.
  output logic                            read_valid_o,
  input  logic                            read_ready_i,
  output logic [63:0]                     read_addr_o,
  output logic [LinesBits-1:0]            read_lines_o,
  input  logic                            line_valid_i,
  output logic                            line_ready_o,
  input  logic [Bytes*8-1:0]              line_data_i,
  input  logic                            line_error_i,
  // Frames. With `error`, which counts with `last`, the payload of this frame or of an earlier one could not be read: it
  // must not leave.
  output logic                            valid_o,
  input  logic                            ready_i,
  output logic [Bytes*8-1:0]              data_o,
  output logic [CountBits-1:0]            count_o,
  output logic                            last_o,
  output logic                            error_o,
  // The end of a WQE, in order: all its packets are made, if it has any, and all its pieces are read. A cycle long.
  output logic                            done_o,
  output hcasim_engine_pkg::wr_t          done_wr_o, // status and vendor_err: why it has failed
  output logic [23:0]                     done_psns_o
);

  localparam logic [7:0] Ok = 8'(hcasim_pkg::CQE_STATUS_OK);
  // ---- The WQEs: decoded, checked, packets made, ended; slots, with one bit more ----

  logic [SlotBits:0]               decoded, checked_q, sent_q, ended;
  hcasim_engine_pkg::wr_t          check_wr, wr, end_wr;
  hcasim_engine_pkg::wqe_context_t check_context, context_now;
  hcasim_pkg::seg_ud_t             ud;
  logic [BlockBits-1:0]            check_block;
  logic [2*BlockBytes*8-1:0]       check_lines;
  logic [SlotBits-1:0]             send_slot;
  logic [BlockBytes*8-1:0]         sge_line, inside_line;
  logic [SlotBits+BlockBits-1:0]   inside_block, sge_block;
  logic                            end_follows;

  assign send_slot = sent_q[SlotBits-1:0];

  hcasim_wqe_window #(
    .Slots(Slots)
  ) u_window (
    .clk_i,
    .rst_i,
    .block_valid_i,
    .block_ready_o,
    .block_i,
    .index_i,
    .posted_i,
    .decode_qp_i,
    .context_i,
    .decoded_o       (decoded),
    .left_i          (ended),
    .check_slot_i    (checked_q[SlotBits-1:0]),
    .check_wr_o      (check_wr),
    .check_context_o (check_context),
    .check_bind_o    (local_bind_o),
    .check_block_i   (check_block),
    .check_lines_o   (check_lines),
    .packet_slot_i   (send_slot),
    .packet_wr_o     (wr),
    .packet_context_o(context_now),
    .packet_ud_o     (ud),
    .sge_block_i     (sge_block),
    .sge_line_o      (sge_line),
    .inline_block_i  (inside_block),
    .inline_line_o   (inside_line),
    .left_wr_o       (end_wr),
    .left_follows_o  (end_follows)
  );

  // ---- Checks, and the result of each WQE's ----

  logic                    check_lookup, check_lookup_ready, check_answer, check_done, end_failed;
  hcasim_pkg::seg_data_t   check_sge;
  logic [7:0]              check_status, check_vendor;
  hcasim_engine_pkg::net_t check_net;
  logic [$bits(check_net)+15:0] checked_mem [Slots];
  logic [7:0]              status, vendor, end_status, end_vendor;
  hcasim_engine_pkg::net_t net, unused_net;

  hcasim_wqe_check u_check (
    .clk_i,
    .rst_i,
    .valid_i            (checked_q != decoded),
    .wr_i               (check_wr),
    .datagram_i         (check_context.qp.qp_type == 8'(hcasim_pkg::QPT_UD)),
    .alone_i            (checked_q == ended),
    .flush_i            (check_context.follows && end_failed),
    .block_o            (check_block),
    .lines_i            (check_lines),
    .lookup_valid_o     (check_lookup),
    .lookup_ready_i     (check_lookup_ready),
    .lookup_o           (check_sge),
    .answer_valid_i     (check_answer),
    .answer_vendor_err_i,
    .local_valid_o,
    .local_ready_i,
    .local_vendor_err_i,
    .done_o             (check_done),
    .status_o           (check_status),
    .vendor_err_o       (check_vendor),
    .net_o              (check_net)
  );

  assign local_wr_o = check_wr;

  always_ff @(posedge clk_i) begin
    if (rst_i) checked_q <= '0;
    else checked_q <= checked_q + (SlotBits + 1)'(check_done);
  end

  always_ff @(posedge clk_i) begin
    if (check_done) checked_mem[checked_q[SlotBits-1:0]] <= {check_status, check_vendor, check_net};
  end

  assign {status, vendor, net}                = checked_mem[send_slot];
  assign {end_status, end_vendor, unused_net} = checked_mem[ended[SlotBits-1:0]];

  // ---- Packets: to the frame and, if they have one, to their payload, at the same time ----

  logic                         sends, skip, raw, packet_valid, packet_ready, packet_take, packet_last, unused_wr_ready;
  logic                         frame_room, payload_room, has_payload, begun_q, refused_q, refused;
  logic                         fresh_q, fresh; // the packet is the first since a WQE that follows none
  hcasim_pkg::wqe_op_info_t     info;
  hcasim_engine_pkg::packet_t   packet;
  hcasim_engine_pkg::offload_t  segment, offload;
  logic [31:0]                  offset;
  logic [23:0]                  psns, psn, next_psn_q, number;

  assign info    = hcasim_pkg::wqe_op_info(wr.op);
  assign raw     = context_now.qp.qp_type == 8'(hcasim_pkg::QPT_RAW_PACKET);
  assign refused = context_now.follows && refused_q; // no packet of it is wanted
  assign sends   = checked_q != sent_q && status == Ok && info.sent && !refused;
  assign skip    = checked_q != sent_q && !sends;
  assign fresh   = fresh_q || (!begun_q && !context_now.follows);
  assign psn     = context_now.follows ? next_psn_q : context_now.psn;

  hcasim_packetise u_packetise (
    .clk_i,
    .rst_i,
    .valid_i (sends),
    .ready_o (unused_wr_ready),
    .look_i  (1'b0),
    .wr_i    (wr),
    .ud_i    (ud),
    .qp_i    (context_now.qp),
    .psn_i   (psn),
    .begin_i (context_now.first),
    .offset_i('0),
    .psns_o  (psns),
    .valid_o (packet_valid),
    .ready_i (packet_ready),
    .packet_o(packet),
    .offset_o(offset),
    .number_o(number),
    .last_o  (packet_last)
  );

  assign has_payload  = packet.payload_len != '0;
  assign packet_ready = frame_room && (!has_payload || payload_room);
  assign packet_take  = packet_valid && packet_ready;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      sent_q     <= '0;
      begun_q    <= 1'b0;
      refused_q  <= 1'b0;
      fresh_q    <= 1'b0;
      next_psn_q <= '0;
    end else begin
      if (skip || (packet_take && packet_last)) begin
        sent_q    <= sent_q + 1'b1;
        refused_q <= refused || status != Ok;
        if (sends) next_psn_q <= psn + psns;
        else if (!context_now.follows) next_psn_q <= context_now.psn;
      end
      if (packet_take) begun_q <= !packet_last;
      if (packet_take) fresh_q <= 1'b0;
      else if (skip && !context_now.follows) fresh_q <= 1'b1;
    end
  end

  hcasim_tso u_tso (
    .net_i     (net),
    .number_i  (number[15:0]),
    .offset_i  (offset),
    .length_i  (packet.payload_len),
    .last_i    (packet_last),
    .offload_o (segment)
  );

  always_comb begin
    offload          = info.seg_tso ? segment : '0;
    offload.sums     = info.seg_tso || wr.ip_csum;
    offload.datagram = !raw;
    offload.length   = packet.payload_len;
  end

  // ---- Payload; its pieces and those who check share the look-ups ----

  logic                piece_lookup, piece_lookup_ready, piece_answer, piece;
  logic [63:0]         piece_addr;
  logic [31:0]         piece_lkey;
  logic [15:0]         piece_length;
  logic [SlotBits-1:0] piece_slot;
  logic [7:0]          piece_vendor;

  hcasim_lookup_mux #(
    .Width(64 + 32 + 32),
    .Depth(Pieces * 2)
  ) u_lookups (
    .clk_i,
    .rst_i,
    .valid_i ({check_lookup, piece_lookup}),
    .ready_o ({check_lookup_ready, piece_lookup_ready}),
    .data0_i ({piece_addr, 32'(piece_length), piece_lkey}),
    .data1_i ({check_sge.addr, check_sge.length, check_sge.lkey}),
    .answer_o({check_answer, piece_answer}),
    .valid_o (lookup_valid_o),
    .ready_i (lookup_ready_i),
    .data_o  ({lookup_addr_o, lookup_length_o, lookup_lkey_o}),
    .user_o  (lookup_check_o),
    .answer_valid_i
  );

  logic                 payload_valid, payload_ready, payload_last, payload_error, payload_ends;
  logic [Bytes*8-1:0]   payload;
  logic [CountBits-1:0] payload_count;
  logic [SlotBits-1:0]  payload_slot;

  hcasim_payload #(
    .Bytes   (Bytes),
    .SlotBits(SlotBits),
    .TagBits (SlotBits + 1),
    .Depth   (Pieces),
    .Ahead   (Ahead)
  ) u_payload (
    .clk_i,
    .rst_i,
    .packet_valid_i (packet_valid && frame_room && has_payload),
    .packet_ready_o (payload_room),
    .first_i        (!begun_q),
    .slot_i         (send_slot),
    .wr_i           (wr),
    .tso_i          (info.seg_tso),
    .offset_i       (offset),
    .length_i       (packet.payload_len),
    .offload_i      (offload),
    .tag_i          ({send_slot, packet_last}),
    .sge_block_o    (sge_block),
    .sge_block_i    (sge_line),
    .block_o        (inside_block),
    .block_i        (inside_line),
    .lookup_valid_o (piece_lookup),
    .lookup_ready_i (piece_lookup_ready),
    .lookup_addr_o  (piece_addr),
    .lookup_length_o(piece_length),
    .lookup_lkey_o  (piece_lkey),
    .answer_valid_i (piece_answer),
    .answer_vendor_err_i,
    .answer_addr_i,
    .piece_o        (piece),
    .piece_slot_o   (piece_slot),
    .piece_vendor_err_o(piece_vendor),
    .read_valid_o,
    .read_ready_i,
    .read_addr_o,
    .read_lines_o,
    .line_valid_i,
    .line_ready_o,
    .line_data_i,
    .line_error_i,
    .valid_o        (payload_valid),
    .ready_i        (payload_ready),
    .data_o         (payload),
    .count_o        (payload_count),
    .last_o         (payload_last),
    .error_o        (payload_error),
    .tag_o          ({payload_slot, payload_ends})
  );

  // ---- Frames ----
  hcasim_engine_pkg::packet_t framed;
  logic                       framed_valid, framed_ready, framed_raw, framed_fresh;
  logic [$clog2(Ahead):0]     unused_count;

  hcasim_fifo #(
    .Width($bits(packet) + 2),
    .Depth(Ahead)
  ) u_packets (
    .clk_i,
    .rst_i,
    .valid_i(packet_take),
    .ready_o(frame_room),
    .data_i ({packet, raw, fresh}),
    .valid_o(framed_valid),
    .ready_i(framed_ready),
    .data_o ({framed, framed_raw, framed_fresh}),
    .count_o(unused_count)
  );

  hcasim_frame #(
    .Bytes(Bytes)
  ) u_frame (
    .clk_i,
    .rst_i,
    .packet_valid_i (framed_valid),
    .packet_ready_o (framed_ready),
    .packet_i       (framed),
    .raw_i          (framed_raw),
    .fresh_i        (framed_fresh),
    .payload_valid_i(payload_valid),
    .payload_ready_o(payload_ready),
    .payload_data_i (payload),
    .payload_count_i(payload_count),
    .payload_last_i (payload_last),
    .payload_error_i(payload_error),
    .valid_o,
    .ready_i,
    .data_o,
    .count_o,
    .last_o,
    .error_o
  );

  // ---- The end of each WQE ----

  hcasim_wqe_end #(
    .Slots(Slots)
  ) u_end (
    .clk_i,
    .rst_i,
    .sent_i          (sent_q),
    .skip_i          (skip),
    .empty_i         (packet_take && packet_last && !has_payload),
    .slot_i          (send_slot),
    .psns_i          (psns),
    .sends_i         (sends),
    .piece_valid_i   (piece),
    .piece_slot_i    (piece_slot),
    .piece_vendor_i  (piece_vendor),
    .payload_valid_i (payload_valid && payload_ready && payload_last),
    .payload_slot_i  (payload_slot),
    .payload_ends_i  (payload_ends),
    .payload_error_i (payload_error),
    .ended_o         (ended),
    .wr_i            (end_wr),
    .follows_i       (end_follows),
    .status_i        (end_status),
    .vendor_err_i    (end_vendor),
    .failed_o        (end_failed),
    .done_o,
    .done_wr_o,
    .done_psns_o
  );

  logic unused_bits; // for other users of the table
  assign unused_bits = ^{info, check_context, vendor, number, unused_net};

  `HCASIM_LEGAL_BYTES
  `HCASIM_LEGAL_POWER(Slots)
  `HCASIM_LEGAL_POWER(Ahead)
  `HCASIM_LEGAL_POWER(Pieces)

endmodule
