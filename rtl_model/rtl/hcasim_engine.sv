// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The control of send queues: carries out one op after the other on the context of one queue pair. It loads the context,
// works on it and on the records of its WQEs, and writes it back. Sequences that several ops need (a look at a record, a
// request, going back, the timer) are entered with the state to return to.

`include "hcasim_assert.svh"

module hcasim_engine #(
  parameter int unsigned QpnBits = 8,
  parameter int unsigned TagBits = 10,
  parameter int unsigned CacheSetBits = 4, // contexts inside: 2^CacheSetBits sets
  parameter int unsigned CacheWays = 4,
  localparam int unsigned SlotBits = 5
) (
  input  logic                           clk_i,
  input  logic                           rst_i,
  input  logic                           native_i,     // WQEs are of the native format
  input  logic [5:0]                     fetch_depth_i,
  // An op. Its operands stay until `done`.
  input  logic                           op_valid_i,
  output logic                           op_done_o,
  input  hcasim_engine_pkg::op_e         op_i,
  input  logic [QpnBits-1:0]             op_qpn_i,    // place of the QP's context; its number is in that
  input  logic [TagBits-1:0]             op_tag_i,
  input  logic                           op_flag_i,    // OpReadDone, OpWritten, OpLeave: failed; OpPages: mapped
  input  logic [15:0]                    op_index_i,   // OpDoorbell: producer index; OpPush
  input  logic [4:0]                     op_blocks_i,  // OpPush
  input  logic [15:0]                    op_mtu_i,     // OpPortSet
  input  logic                           op_port_i,    // OpPortSet: 0 or 1
  input  hcasim_engine_pkg::qp_attr_t    attr_i,       // OpCreate, OpSet
  input  logic                           set_state_i,  // OpSet: the software has set the state; the PSN
  input  logic                           set_psn_i,
  input  logic [23:0]                    psn_i,
  input  hcasim_engine_pkg::response_t   response_i,   // OpResponse
  // Its result.
  output logic                           result_ok_o,  // OpLeave, OpCompletion, OpPush; OpQuery: draining
  output logic [23:0]                    result_qpn_o, // the QP's number
  output logic [SlotBits-1:0]            result_slot_o,// OpPush, OpReadDone: where the blocks belong
  output logic [31:0]                    result_bytes_o,
  output logic [7:0]                     result_items_o,
  output logic [31:0]                    result_read_o,// OpCompletion: bytes of a result
  output logic [15:0]                    result_cur_o, // OpState: ring indices
  output logic [15:0]                    result_ack_o,
  output hcasim_engine_pkg::wqe_t        wqe_o,        // OpCompletion: the oldest WQE
  output hcasim_engine_pkg::qp_state_t   state_o,
  output logic [2:0]                     qp_state_o,
  // Requests.
  output logic                           req_valid_o,
  input  logic                           req_ack_i,
  output hcasim_engine_pkg::request_t    req_o,
  input  logic                           ans_ok_i,
  input  logic [7:0]                     ans_error_i,  // a vendor error
  input  logic [63:0]                    ans_time_i,
  input  logic [31:0]                    ans_count_i,  // pieces; transfers, negative: no memory; bytes of a WQE
  // The packet of ReqPacket.
  output hcasim_engine_pkg::packet_t     packet_o,
  output hcasim_engine_pkg::qp_attr_t    qp_o,         // of its QP
  output hcasim_engine_pkg::wr_t         wr_o,         // and its request
  output hcasim_pkg::seg_ud_t            ud_o,
  output hcasim_pkg::seg_bind_t          bind_o,
  output hcasim_engine_pkg::offload_t    offload_o,    // what is done to its payload
  output hcasim_engine_pkg::net_t        net_o,        // TSO: its headers in the WQE
  // Contexts.
  output logic                           ctx_valid_o,
  input  logic                           ctx_ack_i,
  output logic                           ctx_we_o,
  output logic [QpnBits-1:0]             ctx_qpn_o,
  output hcasim_engine_pkg::qp_attr_t    ctx_attr_o,
  output hcasim_engine_pkg::qp_state_t   ctx_state_o,
  input  hcasim_engine_pkg::qp_attr_t    ctx_attr_i,
  input  hcasim_engine_pkg::qp_state_t   ctx_state_i,
  // Records of WQEs: a read gives all of one, a write changes its state and, with `body`, its request.
  output logic                           rec_valid_o,
  input  logic                           rec_ack_i,
  output logic                           rec_we_o,
  output logic                           rec_body_o,
  output logic [QpnBits-1:0]             rec_qpn_o,
  output logic [7:0]                     rec_seq_o,
  output hcasim_engine_pkg::wqe_t        rec_wqe_o,
  input  hcasim_engine_pkg::wqe_t        rec_wqe_i,
  output hcasim_engine_pkg::wr_t         rec_wr_o,
  output hcasim_pkg::seg_ud_t            rec_ud_o,
  output hcasim_pkg::seg_bind_t          rec_bind_o,
  output hcasim_engine_pkg::net_t        rec_net_o,
  input  hcasim_engine_pkg::wr_t         rec_wr_i,
  input  hcasim_pkg::seg_ud_t            rec_ud_i,
  input  hcasim_pkg::seg_bind_t          rec_bind_i,
  input  hcasim_engine_pkg::net_t        rec_net_i,
  // Blocks of fetch buffers.
  output logic                           block_valid_o,
  input  logic                           block_ack_i,
  output logic [SlotBits-1:0]            block_slot_o,
  output logic [4:0]                     block_number_o,
  input  logic [511:0]                   block_i,
  // A WQE that another device family's decoder has decoded.
  input  hcasim_engine_pkg::wr_t         dec_wr_i,
  input  hcasim_pkg::seg_ud_t            dec_ud_i,
  input  hcasim_pkg::seg_bind_t          dec_bind_i,
  input  logic [6:0]                     dec_num_sge_i,
  // There is work in FETCH, DECODE, PACKETISE.
  output logic                           fetch_o,
  output logic                           decode_o,
  output logic                           packetise_o,
  // A WQE has left its queue: one cycle.
  output logic                           retire_valid_o,
  output hcasim_engine_pkg::retire_t     retire_o,
  // Counters.
  output logic [63:0]                    cache_hits_o,
  output logic [63:0]                    cache_misses_o,
  output logic [63:0]                    wqes_o,
  output logic [63:0]                    retransmissions_o,
  output logic [63:0]                    rnr_naks_o,
  output logic [63:0]                    sequence_naks_o,
  output logic [63:0]                    timeouts_o
);

  localparam logic [7:0]  StatusOk       = 8'(hcasim_pkg::CQE_STATUS_OK);
  localparam logic [7:0]  NoError        = 8'(hcasim_pkg::VENDOR_ERR_NONE);
  localparam logic [63:0] Never          = '1;
  localparam logic [63:0] TimeoutUnit    = 64'd4096000; // picoseconds
  localparam logic [15:0] Window         = 16'd128;     // WQEs decoded ahead
  localparam logic [23:0] WindowPackets  = 24'd512;     // unacknowledged packets inside one message
  localparam logic [24:0] PsnHalf        = 25'd8388608;
  localparam int unsigned BlockBytes     = hcasim_pkg::WQEBB_SIZE;
  localparam int unsigned SegmentBits    = $clog2(hcasim_pkg::MAX_TSO + 1);
  localparam logic [31:0] MaxUnits       = hcasim_pkg::WQE_MAX_BB * hcasim_pkg::WQEBB_SIZE / hcasim_pkg::SEG_UNIT;
  localparam logic [15:0] FetchBlocks    = 16'(hcasim_pkg::WQE_MAX_BB);

  typedef enum logic [6:0] {
    StIdle, StContext, StSave, StDone, StRequest, StLoad, StStore, StDispatch, StPush, StWork, StState,
    StState1, StFail, StOpen, StOpen1, StTimerSet, StTimer, StTimer1, StTimer2, StBack, StBack1, StBack2, StBack3,
    StBack4, StRetry, StRetry1, StImplied, StAcked, StAcked1, StAcked3, StUntil, StUntil1, StFault, StFault1, StError,
    StError1, StSettle, StSettle1, StFlush, StFlush1, StFailed, StPop, StSqd, StList, StList2, StList1, StClear,
    StClear1, StFetch, StFetch1, StSize, StDecode1, StBlocks, StDecode2, StForeign, StForeign1, StTso, StTsoBlocks,
    StTsoParse, StLimits, StAppend1, StSeen1, StDecoded, StSend, StSend2, StSend3, StSend4, StSegments, StSend5,
    StSend6, StSend7, StSend8, StSend10, StSend9, StSend11, StRan, StRan1, StRan2, StReply, StReply1, StReply2,
    StReply3, StReplyEnd, StData, StData1, StResult, StResult1, StResult2, StResult3, StResult4, StNak, StRnr, StRnr1,
    StRnr2, StRnr3, StFatal, StExpired, StExpired1, StExpired2, StWritten, StWritten1, StPages, StPages1, StLeave,
    StLeave1, StLeave2, StLeft
  } state_e;

  state_e state_q;
  // Where the sequences return to.
  state_e ret_req_q, ret_load_q, ret_store_q, ret_fail_q, ret_open_q, ret_timer_q, ret_back_q, ret_retry_q, ret_acked_q,
          ret_until_q, ret_fault_q, ret_error_q, ret_set_q;

  logic [QpnBits-1:0]             qpn_q;
  hcasim_engine_pkg::qp_attr_t    c_q; // the context
  hcasim_engine_pkg::qp_state_t   q_q;
  hcasim_engine_pkg::wqe_t        w_q; // the record of WQE seq_q
  logic [15:0]                    seq_q;
  hcasim_engine_pkg::wr_t         wr_q; // the request of one
  hcasim_pkg::seg_ud_t            ud_q;
  hcasim_pkg::seg_bind_t          bind_q;
  hcasim_engine_pkg::net_t        net_q; // and its TSO headers
  hcasim_engine_pkg::request_t    req_q;
  hcasim_engine_pkg::tag_t        tag_q;
  logic                           ok_q; // answers
  logic [7:0]                     error_q;
  logic [63:0]                    time_q;
  logic [31:0]                    count_q;
  logic                           res_ok_q, pieces_q;
  logic                           short_q; // OpDecode: only the new WQE has changed
  logic [7:0]                     fail_status_q, fail_vendor_q;
  logic [15:0]                    walk_q;
  logic [23:0]                    una_q, until_q; // operands of StAcked, StUntil
  logic                           all_q;          // StUntil: nothing unanswered was in the way
  logic                           result_q;       // StFault: for a result
  logic [63:0]                    at_q;           // StTimerSet
  logic [15:0]                    mtu_q [2];
  logic [63:0]                    wqes_q, retransmissions_q, rnr_naks_q, sequence_naks_q, timeouts_q;

`include "hcasim_engine_view.svh"

  // ---- Lists, tags, fetch buffers ----

  logic               fetch_add, fetch_remove, tx_add, tx_remove;
  logic [QpnBits-1:0] fetch_head, tx_head;
  logic               fetch_any;

  hcasim_qp_list #(.QpnBits(QpnBits)) u_fetch_list (
    .clk_i,
    .rst_i,
    .append_i(fetch_add),
    .remove_i(fetch_remove),
    .qpn_i   (qpn_q),
    .valid_o (fetch_any),
    .head_o  (fetch_head)
  );

  hcasim_qp_list #(.QpnBits(QpnBits)) u_tx_list (
    .clk_i,
    .rst_i,
    .append_i(tx_add),
    .remove_i(tx_remove),
    .qpn_i   (qpn_q),
    .valid_o (packetise_o),
    .head_o  (tx_head)
  );

  logic                    tag_take, tag_free, tag_count, tag_avail;
  logic [TagBits-1:0]      tag_new;
  hcasim_engine_pkg::tag_t tag_entry, tag_now;

  hcasim_tags #(.Num(2**TagBits)) u_tags (
    .clk_i,
    .rst_i,
    .valid_o(tag_avail),
    .new_o  (tag_new),
    .take_i (tag_take),
    .entry_i(tag_entry),
    .tag_i  (op_tag_i),
    .entry_o(tag_now),
    .count_i(tag_count),
    .free_i (tag_free)
  );

  logic [2**SlotBits-1:0]    busy_q;  // fetch buffers
  logic [SlotBits:0]         room_q;  // that may still be taken
  logic [SlotBits-1:0]       free_slot, slot_q;
  hcasim_engine_pkg::fetch_t f_q;     // what is in buffer slot_q
  logic [$bits(f_q)-1:0]     fetch_q [2**SlotBits];
  logic                      slot_take, slot_free, queue_push, queue_pop, queue_full_n;
  logic [SlotBits-1:0]       queue_head, push_slot;
  hcasim_engine_pkg::fetch_t fetch_entry;
  logic [SlotBits:0]         unused_count;

`include "hcasim_engine_context.svh"

  always_comb begin
    free_slot = '0;
    for (int i = 2**SlotBits - 1; i >= 0; i--) if (!busy_q[i]) free_slot = SlotBits'(i);
  end

  hcasim_fifo #(.Width(SlotBits), .Depth(2**SlotBits)) u_decode_queue (
    .clk_i,
    .rst_i,
    .valid_i(queue_push),
    .ready_o(queue_full_n),
    .data_i (push_slot),
    .valid_o(decode_o),
    .ready_i(queue_pop),
    .data_o (queue_head),
    .count_o(unused_count)
  );

  assign fetch_o = fetch_any && room_q != '0;

  // ---- The native decoder ----

  logic                          dec_valid, dec_ready, dec_done;
  hcasim_engine_pkg::decode_qp_t dec_qp;
  hcasim_engine_pkg::wr_t        dec_wr;
  hcasim_pkg::seg_ud_t           dec_ud;
  hcasim_pkg::seg_bind_t         dec_bind;
  logic [4:0]                    blocks_q, fed_q; // of the WQE; that the decoder has taken
  logic [10:0]                   bytes_q;
  logic [15:0]                   index; // of the WQE in buffer slot_q
  hcasim_pkg::wqe_ctrl_t         ctrl;

  assign index = f_q.index + 16'(f_q.used_bb);
  assign ctrl  = block_i[127:0];
  always_comb begin
    dec_qp            = '0;
    dec_qp.qp_type    = c_q.qp_type;
    dec_qp.qpn        = c_q.qpn;
    dec_qp.port       = 8'(c_q.port);
    dec_qp.port_mtu   = port_mtu;
    dec_qp.max_inline = c_q.max_inline;
    dec_qp.rd_atomic  = c_q.max_rd_atomic != '0;
  end

  hcasim_pkg::wqe_op_info_t dec_info;

  assign dec_info  = hcasim_pkg::wqe_op_info(dec_wr.op);
  assign dec_valid = state_q == StBlocks && block_ack_i && dec_ready;

  hcasim_wqe_decode u_decode (
    .clk_i,
    .rst_i,
    .valid_i (dec_valid),
    .ready_o (dec_ready),
    .block_i,
    .qp_i    (dec_qp),
    .index_i (index),
    .posted_i(q_q.pi - index),
    .valid_o (dec_done),
    .ready_i (state_q == StDecode2),
    .wr_o    (dec_wr),
    .ud_o    (dec_ud),
    .bind_o  (dec_bind)
  );

  logic [7:0]  limit_status, limit_vendor;
  logic [15:0] port_mtu;

  assign port_mtu = c_q.port == 2'd2 ? mtu_q[1] : mtu_q[0];

  hcasim_wqe_limits u_limits (
    .wr_i        (wr_q),
    .ud_i        (ud_q),
    .qp_i        (dec_qp),
    .headers_ok_i(headers_ok),
    .status_o    (limit_status),
    .vendor_err_o(limit_vendor)
  );

  // ---- The headers of TSO ----

  logic [BlockBytes*8-1:0] lines_q [hcasim_pkg::WQE_MAX_BB]; // the WQE
  logic [BlockBytes*8-1:0] header_bytes;
  logic [9:0]              header_at;
  logic                    tso_wanted, headers_done, headers_ok;
  hcasim_engine_pkg::net_t headers_net;

  always_ff @(posedge clk_i) begin
    if (state_q == StTsoBlocks && block_ack_i) lines_q[fed_q[3:0]] <= block_i;
  end

  assign header_bytes = (BlockBytes*8)'({lines_q[header_at[9:6] + 4'd1], lines_q[header_at[9:6]]} >>
                                        {header_at[5:0], 3'b000});

  hcasim_tso_check u_tso_check (
    .clk_i,
    .rst_i,
    .wr_i      (wr_q),
    .wanted_o  (tso_wanted),
    .start_i   (state_q == StTsoBlocks && block_ack_i && fed_q + 5'd1 == blocks_q),
    .datagram_i(c_q.qp_type == 8'(hcasim_pkg::QPT_UD)),
    .at_o      (header_at),
    .bytes_i   (header_bytes),
    .done_o    (headers_done),
    .ok_o      (headers_ok),
    .net_o     (headers_net)
  );

  logic segments_done;

  hcasim_divide #(
    .Bits       (SegmentBits),
    .DivisorBits(16)
  ) u_segments (
    .clk_i,
    .rst_i,
    .start_i   (state_q == StSend4 && tso),
    .dividend_i(w_q.length[SegmentBits-1:0]),
    .divisor_i (w_q.mss),
    .done_o    (segments_done),
    .quotient_o(segments)
  );

  // What is fetched next, and the size of the WQE at the front.
  logic [15:0] first_block, to_end, straight;
  logic [31:0] wqe_bytes;
  logic        size_ok;
  logic [4:0]  wqe_blocks;

  assign first_block = q_q.fetched & (c_q.entries - 16'd1);
  assign to_end      = c_q.entries - first_block;
  assign straight    = to_end < fetch_size ? to_end : fetch_size;
  always_comb begin
    wqe_bytes = count_q; // answered by another device family
    if (state_q == StSize) wqe_bytes = 32'(ctrl.size) <= MaxUnits ? 32'(ctrl.size) * hcasim_pkg::SEG_UNIT : '0;
  end
  assign size_ok     = !f_q.failed && wqe_bytes != '0 && wqe_bytes <= hcasim_pkg::WQE_MAX_BB * BlockBytes;
  assign wqe_blocks  = size_ok ? 5'((wqe_bytes[10:0] + 11'(BlockBytes - 1)) >> $clog2(BlockBytes)) : 5'd1;

  // ---- A response with data: which packet of the WQE in w_q it answers ----

  hcasim_pkg::rnr_timer_t rnr_timer;
  logic [23:0]            answer_pkt;
  logic [63:0]            answer_offset, answer_left;
  logic [31:0]            answer_length;

  assign rnr_timer     = hcasim_pkg::rnr_timer(response_i.value[4:0]);
  assign answer_pkt    = response_i.psn - w_q.first_psn;
  assign answer_offset = 64'(answer_pkt) << mtu_shift;
  assign answer_left   = (reads ? 64'(w_q.length) : '0) - answer_offset;
  assign answer_length = answer_left < 64'(mtu) ? answer_left[31:0] : mtu;

  // ---- The packet ----

  hcasim_engine_pkg::send_qp_t send_qp;
  logic        unused_ready, unused_valid, unused_last;
  logic [31:0] unused_offset;
  logic [23:0] unused_psns, unused_number;
  logic [63:0] offset;
  logic        last_packet;
  logic [15:0] data_len; // of the payload, without TSO headers
  hcasim_engine_pkg::offload_t segment;

  always_comb begin
    send_qp               = '0;
    send_qp.qp_type       = c_q.qp_type;
    send_qp.qpn           = c_q.qpn;
    send_qp.mtu_log       = datagram ? 4'd15 : c_q.mtu_log;
    send_qp.qkey          = c_q.qkey;
    send_qp.dest_qpn      = c_q.dest_qpn;
    send_qp.udp_sport     = c_q.udp_sport;
    send_qp.dgid          = c_q.dgid;
    send_qp.dmac          = c_q.dmac;
    send_qp.hop_limit     = c_q.hop_limit;
    send_qp.traffic_class = c_q.traffic_class;
    send_qp.flow_label    = c_q.flow_label[19:0];
  end

  hcasim_packetise u_packetise (
    .clk_i,
    .rst_i,
    .valid_i (1'b0), // only the fields of the packet `begin` are wanted
    .ready_o (unused_ready),
    .wr_i    (wr_q),
    .ud_i    (ud_q),
    .qp_i    (send_qp),
    .psn_i   (w_q.first_psn),
    .begin_i (q_q.cur_pkt),
    .offset_i(offset[31:0]),
    .psns_o  (unused_psns),
    .valid_o (unused_valid),
    .ready_i (1'b0),
    .packet_o,
    .offset_o(unused_offset),
    .number_o(unused_number),
    .last_o  (unused_last)
  );

  assign offset      = tso ? 64'(q_q.cur_pkt[SegmentBits-1:0]) * 64'(w_q.mss) : 64'(q_q.cur_pkt) << mtu_shift;
  assign data_len    = packet_o.payload_len - (tso ? wr_q.hdr_size : 16'd0);
  assign last_packet = reads || q_q.cur_pkt == w_q.npsn - 24'd1;

  hcasim_tso u_tso (
    .net_i    (net_q),
    .number_i (q_q.cur_pkt[15:0]),
    .offset_i (offset[31:0]),
    .length_i (packet_o.payload_len),
    .last_i   (last_packet),
    .offload_o(segment)
  );

  always_comb begin
    offload_o = '0;
    if (tso) offload_o = segment;
    offload_o.sums     = tso || wr_q.ip_csum;
    offload_o.datagram = c_q.qp_type == 8'(hcasim_pkg::QPT_UD);
    offload_o.length   = packet_o.payload_len;
  end

  assign net_o       = net_q;
  assign qp_o        = c_q;
  assign wr_o        = wr_q;
  assign ud_o        = ud_q;
  assign bind_o      = bind_q;

  logic unused_bits; // for others, or filled in later
  assign unused_bits = ^{req_q, tag_q, info, dec_info, ctrl};

`include "hcasim_engine_strobes.svh"
`include "hcasim_engine_steps.svh"
`include "hcasim_engine_rules.svh"

endmodule
