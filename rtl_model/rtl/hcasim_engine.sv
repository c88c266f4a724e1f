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
  parameter int unsigned SlotBits = 5 // fetch buffers: 2^SlotBits
) (
  input  logic                           clk_i,
  input  logic                           rst_i,
  input  logic                           native_i,     // WQEs are of the native format
  input  logic [SlotBits:0]              fetch_depth_i, // fetch buffers in use
  input  logic [7:0]                     window_i,     // WQEs decoded ahead, 1 to 240
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
  output logic [63:0]                    implied_naks_o,
  output logic [63:0]                    timeouts_o
);

  localparam logic [7:0]  StatusOk       = 8'(hcasim_pkg::CQE_STATUS_OK);
  localparam logic [7:0]  NoError        = 8'(hcasim_pkg::VENDOR_ERR_NONE);
  localparam logic [63:0] Never          = '1;
  localparam logic [63:0] TimeoutUnit    = 64'd4096000; // picoseconds
  localparam logic [23:0] WindowPackets  = 24'd512;     // unacknowledged packets inside one message
  localparam logic [24:0] PsnHalf        = 25'd8388608;
  localparam int unsigned BlockBytes     = hcasim_pkg::WQEBB_SIZE;
  localparam int unsigned SegmentBits    = $clog2(hcasim_pkg::MAX_TSO + 1);
  localparam logic [31:0] MaxUnits       = hcasim_pkg::WQE_MAX_BB * hcasim_pkg::WQEBB_SIZE / hcasim_pkg::SEG_UNIT;
  localparam logic [15:0] FetchBlocks    = 16'(hcasim_pkg::WQE_MAX_BB);

  typedef enum logic [6:0] {
    StIdle, StContext, StSave, StRequest, StLoad, StStore, StDispatch, StPush, StWork, StState, StState1, StFail, StOpen,
    StOpen1, StTimerSet, StTimer, StTimer1, StTimer2, StBack, StBack1, StBack2, StBack3, StBack4, StRetry, StRetry1,
    StImplied, StAcked, StAcked1, StAcked3, StUntil, StUntil1, StFault, StFault1, StError, StError1, StSettle, StSettle1,
    StFlush, StFlush1, StFailed, StPop, StSqd, StDrain, StList, StClear, StClear1, StFetch, StFetch1, StSize, StDecode1,
    StBlocks, StDecode2, StForeign, StForeign1, StTso, StTsoBlocks, StTsoParse, StLimits, StAppend, StDecoded, StSend,
    StSend3, StSend4, StSegments, StSend5, StSend6, StSend7, StSend8, StSend10, StPacket, StNext, StRan, StRan1, StRan2,
    StReply, StReply1, StReply2, StReply3, StReplyEnd, StData, StData1, StResult, StResult1, StResult2, StResult3,
    StResult4, StNak, StRnr, StRnr1, StRnr2, StRnr3, StFatal, StExpired, StExpired1, StExpired2, StWritten, StWritten1,
    StPages, StPages1, StLeave, StLeave1, StLeft
  } state_e;

  typedef enum logic [1:0] {CauseNak, CauseImplied, CauseTimeout} cause_e;

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
  logic                           served_q; // StIdle: an op has been carried out
  logic [4:0]                     op_q;     // this
  logic [7:0]                     fail_status_q, fail_vendor_q;
  logic [15:0]                    walk_q;
  logic [23:0]                    una_q, until_q; // operands of StAcked, StUntil
  logic                           all_q;          // StUntil: nothing unanswered was in the way
  logic                           result_q;       // StFault: for a result
  logic [63:0]                    at_q;           // StTimerSet
  logic [15:0]                    mtu_q [2];
  cause_e                         cause_q;        // StRetry
  logic [63:0]                    wqes_q, retransmissions_q, rnr_naks_q, sequence_naks_q, implied_naks_q, timeouts_q;

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
    .qpn_i   (held_qpn_q),
    .valid_o (fetch_any),
    .head_o  (fetch_head)
  );

  hcasim_qp_list #(.QpnBits(QpnBits)) u_tx_list (
    .clk_i,
    .rst_i,
    .append_i(tx_add),
    .remove_i(tx_remove),
    .qpn_i   (held_qpn_q),
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
  hcasim_engine_pkg::fetch_t f_q, f_head; // what is in buffer slot_q; at the head of the queue
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

  // What is fetched next.
  logic [15:0] first_block, to_end, straight;

  assign first_block = q_q.fetched & (c_q.entries - 16'd1);
  assign to_end      = c_q.entries - first_block;
  assign straight    = to_end < fetch_size ? to_end : fetch_size;

`include "hcasim_engine_decode.svh"
`include "hcasim_engine_packet.svh"

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

  assign net_o       = net_q;
  assign qp_o        = c_q;
  assign wr_o        = wr_q;
  assign ud_o        = ud_q;
  assign bind_o      = bind_q;

  logic unused_bits; // for others, or filled in later
  assign unused_bits = ^{req_q, tag_q, info, here_info, dec_info, ctrl, here, tag, f};

`include "hcasim_engine_strobes.svh"
`include "hcasim_engine_steps.svh"
`include "hcasim_engine_rules.svh"

  `HCASIM_LEGAL(QpnBits, QpnBits > CacheSetBits && QpnBits <= 24, "QpnBits has to be more than CacheSetBits, at most 24")
  `HCASIM_LEGAL_RANGE(TagBits, 1, 16)
  `HCASIM_LEGAL_LEAST(CacheSetBits, 1)
  `HCASIM_LEGAL_POWER(CacheWays)
  `HCASIM_LEGAL_RANGE(SlotBits, 1, 5)

endmodule
