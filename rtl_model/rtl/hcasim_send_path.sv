// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// From the basic blocks of a WQE to the frames on the wire: decoding, keys, segmentation, payload, headers, ICRC. One
// WQE after the other; whose turn it is, and with which PSN and from which packet on, is said from outside. It keeps no
// state of a queue pair: going back is giving it the WQE again.
//
// Operations: all that RC, UC, UD and XRC_SEND QPs send, but TSO. A WQE that is none of these, or wrong, ends without a
// frame.

`include "hcasim_assert.svh"

module hcasim_send_path #(
  localparam int unsigned Bytes     = 64,
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input  logic                          clk_i,
  input  logic                          rst_i,
  // The blocks of a WQE. What follows stays as it is from its first block to its end.
  input  logic                          block_valid_i,
  output logic                          block_ready_o,
  input  logic [Bytes*8-1:0]            block_i,
  input  logic [15:0]                   index_i,
  input  logic [15:0]                   posted_i,
  input  hcasim_engine_pkg::decode_qp_t decode_qp_i,
  input  hcasim_engine_pkg::send_qp_t   qp_i,
  input  logic [23:0]                   psn_i,   // of the message's first packet
  input  logic [23:0]                   begin_i, // number of the packet to begin with
  // Keys: of bytes [addr, addr + length) of memory under a key, once for every SGE of the WQE (`check`, the answer's address
  // does not count), and for each piece that is read. The answer comes before the next one is asked for.
  output logic                          lookup_valid_o,
  input  logic                          lookup_ready_i,
  output logic                          lookup_check_o,
  output logic [63:0]                   lookup_addr_o,
  output logic [31:0]                   lookup_length_o,
  output logic [31:0]                   lookup_lkey_o,
  input  logic                          answer_valid_i,
  input  logic [7:0]                    answer_vendor_err_i, // NONE: it may be read
  input  logic [63:0]                   answer_addr_i,       // in host memory
  // Reads of host memory, as of hcasim_gather.
  output logic                          read_valid_o,
  input  logic                          read_ready_i,
  output logic [63:0]                   read_addr_o,
  output logic [10:0]                   read_lines_o,
  input  logic                          line_valid_i,
  output logic                          line_ready_o,
  input  logic [Bytes*8-1:0]            line_data_i,
  input  logic                          line_error_i,
  // Frames. With `error`, which counts with `last`, its payload could not be read: neither it nor the WQE's later ones
  // must leave.
  output logic                          valid_o,
  input  logic                          ready_i,
  output logic [Bytes*8-1:0]            data_o,
  output logic [CountBits-1:0]          count_o,
  output logic                          last_o,
  output logic                          error_o,
  // The end of a WQE: all its packets are made, if it has any, and all its pieces are read. A cycle long.
  output logic                          done_o,
  output hcasim_engine_pkg::wr_t        done_wr_o, // status and vendor_err: why it has failed
  output logic [23:0]                   done_psns_o
);

  // ---- The WQE: its blocks, and the request decoded from them ----

  typedef enum logic [2:0] {
    StDecode,
    StKeys,  // of each SGE
    StAnswer,
    StSend,  // packets
    StDrain, // what is to be read from the WQE still
    StDone
  } state_e;

  state_e                 state_q;
  logic [Bytes*8-1:0]     wqe_q [hcasim_pkg::WQE_MAX_BB];
  logic [3:0]             block_q; // number of the block that comes next
  logic                   decode_ready, decode_valid;
  hcasim_engine_pkg::wr_t decoded, wr_q;
  hcasim_pkg::seg_ud_t    ud, ud_q;
  hcasim_pkg::seg_bind_t  unused_bind;
  hcasim_pkg::wqe_op_info_t info;
  logic                   sends;

  assign block_ready_o = state_q == StDecode && !decode_valid && decode_ready;

  hcasim_wqe_decode u_decode (
    .clk_i,
    .rst_i,
    .valid_i (block_valid_i && block_ready_o),
    .ready_o (decode_ready),
    .block_i,
    .qp_i    (decode_qp_i),
    .index_i,
    .posted_i,
    .valid_o (decode_valid),
    .ready_i (state_q == StDecode),
    .wr_o    (decoded),
    .ud_o    (ud),
    .bind_o  (unused_bind)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i || decode_valid) block_q <= '0;
    else if (block_valid_i && block_ready_o) block_q <= block_q + 4'd1;
  end

  always_ff @(posedge clk_i) begin
    if (block_valid_i && block_ready_o) wqe_q[block_q] <= block_i;
    if (state_q == StDecode && decode_valid) ud_q <= ud;
  end

  assign info  = hcasim_pkg::wqe_op_info(decoded.op);
  assign sends = decoded.status == 8'(hcasim_pkg::CQE_STATUS_OK) && info.sent && !info.seg_tso &&
                 decode_qp_i.qp_type != 8'(hcasim_pkg::QPT_RAW_PACKET);

  // ---- SGEs: first the keys of all, then those that a packet needs ----

  logic [4:0]            key_q; // number of the SGE whose key is looked up
  logic [9:0]            sge_at, walk_at;
  hcasim_pkg::seg_data_t sge;
  logic                  walk_start, walk_valid, walk_ready;
  logic                  piece_valid, piece_ready, piece_last;
  logic [63:0]           piece_addr;
  logic [31:0]           piece_lkey;
  logic [15:0]           piece_length;

  assign sge_at = state_q == StKeys || state_q == StAnswer ? wr_q.data_at + {1'b0, key_q, 4'd0} : walk_at;
  assign sge    = wqe_q[sge_at[9:6]][{sge_at[5:4], 7'd0} +: 128];

  hcasim_engine_pkg::packet_t packet;
  logic                       packet_valid, packet_ready, packet_last, frame_ready, unused_wr_ready;
  logic [31:0]                packet_offset;
  logic [23:0]                psns;

  assign walk_start = state_q == StDecode && decode_valid;
  assign walk_valid = packet_valid && packet.payload_len != '0 && frame_ready;

  hcasim_sge_walk u_walk (
    .clk_i,
    .rst_i,
    .start_i    (walk_start),
    .data_at_i  (decoded.data_at),
    .is_inline_i(decoded.is_inline),
    .valid_i    (walk_valid),
    .ready_o    (walk_ready),
    .offset_i   (packet_offset),
    .length_i   (packet.payload_len),
    .sge_at_o   (walk_at),
    .sge_i      (sge),
    .valid_o    (piece_valid),
    .ready_i    (piece_ready),
    .addr_o     (piece_addr),
    .lkey_o     (piece_lkey),
    .length_o   (piece_length),
    .last_o     (piece_last)
  );

  // ---- Packets: to the frame and, with payload, to the walk, at the same time ----

  assign packet_ready = frame_ready && (packet.payload_len == '0 || walk_ready);

  hcasim_packetise u_packetise (
    .clk_i,
    .rst_i,
    .valid_i (state_q == StSend),
    .ready_o (unused_wr_ready),
    .wr_i    (wr_q),
    .ud_i    (ud_q),
    .qp_i,
    .psn_i,
    .begin_i,
    .psns_o  (psns),
    .valid_o (packet_valid),
    .ready_i (packet_ready),
    .packet_o(packet),
    .offset_o(packet_offset),
    .last_o  (packet_last)
  );

  // ---- Pieces: inline ones are lines of the WQE, others have a key ----

  logic        answered_q; // the piece's key has been answered
  logic [7:0]  answer_q;
  logic [63:0] host_q;
  logic        asked_q, failed;
  logic        gather_valid, gather_ready;

  assign failed       = answered_q && answer_q != 8'(hcasim_pkg::VENDOR_ERR_NONE);
  assign gather_valid = piece_valid && (wr_q.is_inline || answered_q);
  assign piece_ready  = gather_valid && gather_ready;

  assign lookup_check_o  = state_q == StKeys;
  assign lookup_valid_o  = state_q == StKeys ? sge.length != '0
                         : piece_valid && !wr_q.is_inline && !asked_q && !answered_q;
  assign lookup_addr_o   = state_q == StKeys ? sge.addr : piece_addr;
  assign lookup_length_o = state_q == StKeys ? sge.length : 32'(piece_length);
  assign lookup_lkey_o   = state_q == StKeys ? sge.lkey : piece_lkey;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      asked_q    <= 1'b0;
      answered_q <= 1'b0;
    end else if (state_q == StSend || state_q == StDrain) begin
      if (lookup_valid_o && lookup_ready_i) asked_q <= 1'b1;
      if (asked_q && answer_valid_i) begin
        asked_q    <= 1'b0;
        answered_q <= 1'b1;
      end
      if (piece_ready) answered_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (asked_q && answer_valid_i) begin
      answer_q <= answer_vendor_err_i;
      host_q   <= answer_addr_i;
    end
  end

  // ---- Payload ----

  logic               gather_read, gather_read_ready, gather_line, gather_line_ready;
  logic [Bytes*8-1:0] gather_data;
  logic               payload_valid, payload_ready, payload_last, payload_error;
  logic [Bytes*8-1:0] payload;
  logic [CountBits-1:0] payload_count;

  hcasim_gather u_gather (
    .clk_i,
    .rst_i,
    .piece_valid_i (gather_valid),
    .piece_ready_o (gather_ready),
    .piece_addr_i  (wr_q.is_inline ? piece_addr : host_q),
    .piece_length_i(piece_length),
    .piece_last_i  (piece_last),
    .piece_error_i (failed),
    .read_valid_o  (gather_read),
    .read_ready_i  (gather_read_ready),
    .read_addr_o,
    .read_lines_o,
    .line_valid_i  (gather_line),
    .line_ready_o  (gather_line_ready),
    .line_data_i   (gather_data),
    .line_error_i  (!wr_q.is_inline && line_error_i),
    .valid_o       (payload_valid),
    .ready_i       (payload_ready),
    .data_o        (payload),
    .count_o       (payload_count),
    .last_o        (payload_last),
    .error_o       (payload_error)
  );

  // The lines of the WQE: one run at a time.
  logic [3:0]  inline_block_q;
  logic [10:0] inline_left_q;

  assign read_valid_o      = gather_read && !wr_q.is_inline;
  assign gather_read_ready = wr_q.is_inline ? inline_left_q == '0 : read_ready_i;
  assign gather_line       = wr_q.is_inline ? inline_left_q != '0 : line_valid_i;
  assign gather_data       = wr_q.is_inline ? wqe_q[inline_block_q] : line_data_i;
  assign line_ready_o      = gather_line_ready && !wr_q.is_inline;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      inline_left_q <= '0;
    end else if (wr_q.is_inline && gather_read && gather_read_ready) begin
      inline_left_q <= read_lines_o;
    end else if (wr_q.is_inline && gather_line && gather_line_ready) begin
      inline_left_q <= inline_left_q - 11'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (gather_read && gather_read_ready) inline_block_q <= read_addr_o[9:6];
    else if (gather_line && gather_line_ready) inline_block_q <= inline_block_q + 4'd1;
  end

  hcasim_frame u_frame (
    .clk_i,
    .rst_i,
    .packet_valid_i (packet_valid && packet_ready),
    .packet_ready_o (frame_ready),
    .packet_i       (packet),
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

  // Packets whose payload is not with the frame yet: the WQE stays until there is none.
  logic [15:0] open_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) open_q <= '0;
    else open_q <= open_q + 16'(walk_valid && packet_ready) -
                   16'(payload_valid && payload_ready && payload_last);
  end

  // ---- One WQE after the other ----

  assign done_o      = state_q == StDone;
  assign done_wr_o   = wr_q;
  assign done_psns_o = psns;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StDecode;
    end else begin
      unique case (state_q)
        StDecode: begin
          if (decode_valid) begin
            if (!sends) state_q <= StDone;
            else if (info.scatter || decoded.is_inline || decoded.num_sge == '0) state_q <= StSend;
            else state_q <= StKeys;
          end
        end
        StKeys: begin
          if (sge.length != '0) begin
            if (lookup_ready_i) state_q <= StAnswer;
          end else if (key_q + 5'd1 == wr_q.num_sge) begin
            state_q <= StSend;
          end
        end
        StAnswer: begin
          if (answer_valid_i) begin
            if (answer_vendor_err_i != 8'(hcasim_pkg::VENDOR_ERR_NONE)) state_q <= StDone;
            else state_q <= key_q + 5'd1 == wr_q.num_sge ? StSend : StKeys;
          end
        end
        StSend: if (packet_ready && packet_last) state_q <= StDrain;
        StDrain: if (open_q == '0) state_q <= StDone;
        default: state_q <= StDecode;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StDecode) begin
      key_q <= '0;
      wr_q  <= decoded;
    end else if (state_q == StKeys ? sge.length == '0 : state_q == StAnswer && answer_valid_i) begin
      key_q <= key_q + 5'd1;
    end
    if (answer_valid_i && (state_q == StAnswer || asked_q) &&
        answer_vendor_err_i != 8'(hcasim_pkg::VENDOR_ERR_NONE) && wr_q.status == 8'(hcasim_pkg::CQE_STATUS_OK)) begin
      wr_q.status     <= 8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR);
      wr_q.vendor_err <= answer_vendor_err_i;
    end
  end

  logic unused_bits; // for other users of the table; SGEs stand at multiples of their size
  assign unused_bits = ^{info, sge_at};

endmodule
