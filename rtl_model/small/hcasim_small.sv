// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A small send engine, the example of doc/other_engine.md: SEND and RDMA_WRITE on RC, WQEs of one basic block (up to three
// SGEs or 44 bytes inline). Any other WQE completes with LOC_QP_OP_ERR. It has no on-demand paging and no BlueFlame.
//
// One command at a time, accepted while `ready_o` is high: load the QP, work on it, settle (retire finished WQEs, stop the
// queue at a failed one), store the QP. A request (`*_o` of the group "requests") stays until `done_i`.

// Fields of the generated structures that this engine has no use for.
/* verilator lint_off UNUSEDSIGNAL */

module hcasim_small #(
  parameter int unsigned  Qps       = 256,
  parameter int unsigned  Window    = 16, // WQEs of a QP inside the engine
  localparam int unsigned QpBits    = $clog2(Qps),
  localparam int unsigned EntryBits = QpBits + $clog2(Window)
) (
  input  logic              clk_i,
  input  logic              rst_i,
  // Commands: at most one a cycle.
  output logic              ready_o,
  input  logic              set_i,      // new context: the group "context"
  input  logic              reset_i,
  input  logic              error_i,
  input  logic              doorbell_i, // index_i: producer index
  input  logic              fetched_i,  // block_i, failed_i, epoch_i: a read is done
  input  logic              fetch_i,    // steps of the stages, for the QPs shown below
  input  logic              decode_i,
  input  logic              send_i,
  input  logic              leave_i,    // seq_i, epoch_i, failed_i; answer: leave_ok_o
  input  logic              response_i, // psn_i, aeth_kind_i, aeth_value_i
  input  logic              expired_i,
  input  logic              taken_i,
  input  logic [QpBits-1:0] qp_i,
  input  logic [15:0]       index_i,
  input  logic [7:0]        seq_i,
  input  logic [7:0]        epoch_i,
  input  logic              failed_i,
  input  logic [511:0]      block_i,
  input  logic [23:0]       psn_i,
  input  logic [1:0]        aeth_kind_i,
  input  logic [4:0]        aeth_value_i,
  output logic              leave_ok_o,
  // Context.
  input  logic              rc_i,
  input  logic              paused_i,
  input  logic [2:0]        state_i,
  input  logic              set_state_i,
  input  logic              set_psn_i, // psn_i
  input  logic [3:0]        mtu_log2_i,
  input  logic [15:0]       entries_i, // of the ring
  input  logic [15:0]       max_inline_i,
  input  logic [2:0]        retry_cnt_i,
  input  logic [2:0]        rnr_retry_i,
  // Work for the stages.
  output logic              fetch_o,
  output logic              decode_o,
  output logic              send_o,
  output logic [QpBits-1:0] fetch_qp_o,
  output logic [QpBits-1:0] decode_qp_o,
  output logic [QpBits-1:0] send_qp_o,
  // Requests, about req_qp_o.
  output logic              read_o,     // basic block index_o
  output logic              saw_o,      // decoded: block_o
  output logic              check_o,    // keys of all SGEs
  output logic              lookup_o,   // offset_o, length_o
  output logic              packet_o,
  output logic              timer_o,    // timer_rnr_o: delay of code timer_code_o; timer_stop_o; else: ACK timeout
  output logic              failure_o,  // the QP is in ERR
  output logic              drained_o,
  input  logic              done_i,
  input  logic [7:0]        error_code_i, // with done_i: vendor_err; packet: not 0 if there is no memory
  output logic [QpBits-1:0] req_qp_o,
  output logic [7:0]        req_epoch_o,
  output logic [7:0]        req_seq_o,
  output logic [15:0]       index_o,
  output logic [511:0]      block_o,
  output logic [1:0]        num_sge_o,
  output logic [383:0]      sge_o,      // seg_data_t each
  output logic              inline_o,   // the payload: from byte 4 of sge_o
  output logic [31:0]       offset_o,
  output logic [15:0]       length_o,
  output logic [7:0]        opcode_o,
  output logic [23:0]       psn_o,
  output logic              ackreq_o,
  output logic              solicited_o,
  output logic [31:0]       msg_length_o,
  output logic              timer_stop_o,
  output logic              timer_rnr_o,
  output logic [4:0]        timer_code_o,
  // Any QP: its completion and its state.
  input  logic [QpBits-1:0] query_qp_i,
  output logic              completion_o,
  output logic [7:0]        cpl_op_o,
  output logic [7:0]        cpl_status_o,
  output logic [7:0]        cpl_vendor_o,
  output logic [15:0]       cpl_index_o,
  output logic [4:0]        cpl_num_bb_o,
  output logic [2:0]        qp_state_o,
  output logic              draining_o,
  output logic [23:0]       una_psn_o,
  output logic [23:0]       next_psn_o
);

  typedef struct packed {
    logic        fetching, staged, staged_failed; // a block is read; is at `tail`
    logic        rnr_wait, fault, drained, paused, rc;
    logic [2:0]  state, retries, rnr_retries, retry_cnt, rnr_retry;
    logic [3:0]  mtu_log2;
    logic [15:0] entries, max_inline;
    logic [15:0] pi, fetched, retired; // ring indices
    // WQEs, numbered free-running: [head, ack) acknowledged, [ack, cur) sent, [cur, tail) to be sent
    logic [7:0]  head, ack, cur, tail, fault_seq, epoch;
    logic [23:0] cur_pkt, una, next;
  } small_qp_t;

  typedef struct packed {
    logic        failed, settled, started;
    logic [7:0]  status, vendor;
    logic [23:0] first_psn, npsn;
  } wqe_t;

  typedef enum logic [3:0] {
    Clear, Idle, Run, Check, Lookup, Packet, Acks, Nak, Timer, Settle, Failure, Drained, Store
  } step_e;

  localparam logic [15:0] MaxPackets = 16'd512; // unacknowledged

  small_qp_t         qp_q   [Qps];
  wqe_t              wqe_q  [Qps*Window];
  logic [511:0]      block_q[Qps*Window];
  logic [Qps-1:0]    fetch_q, decode_q, send_q; // QPs with work
  step_e             step_q;
  logic [11:0]       cmd_q, cmd;
  small_qp_t         w_q; // the QP that is worked on
  logic [QpBits-1:0] slot_q;
  logic              leave_ok_q, timer_rnr_q;
  logic [QpBits-1:0] last_fetch_q, last_decode_q, last_send_q;

  assign cmd = {set_i, reset_i, error_i, doorbell_i, fetched_i, fetch_i, decode_i, send_i, leave_i, response_i, expired_i,
                taken_i};

  // The next one after `last`, in turn.
  function automatic logic [QpBits-1:0] next_of(input logic [Qps-1:0] work, input logic [QpBits-1:0] last);
    next_of = '0;
    for (int unsigned i = Qps; i > 0; i--) begin
      if (work[QpBits'(32'(last) + i)]) next_of = QpBits'(32'(last) + i);
    end
  endfunction

  assign fetch_o     = |fetch_q;
  assign decode_o    = |decode_q;
  assign send_o      = |send_q;
  assign fetch_qp_o  = next_of(fetch_q, last_fetch_q);
  assign decode_qp_o = next_of(decode_q, last_decode_q);
  assign send_qp_o   = next_of(send_q, last_send_q);

  // ---- The WQEs that a command looks at: the oldest, the oldest unacknowledged, the next to be sent, the last ----

  function automatic logic [EntryBits-1:0] entry(input logic [QpBits-1:0] slot, input logic [7:0] seq);
    entry = {slot, seq[EntryBits-QpBits-1:0]};
  endfunction

  logic [EntryBits-1:0]         head_at, ack_at, cur_at, tail_at, leave_at;
  wqe_t                         head, ack, cur;
  hcasim_pkg::wqe_ctrl_t        ctrl, head_ctrl, tail_ctrl;
  hcasim_pkg::wqe_op_info_t     info, tail_info;
  hcasim_pkg::msg_codes_t       codes;
  logic [511:0]                 cur_block, tail_block;

  assign head_at    = entry(slot_q, w_q.head);
  assign ack_at     = entry(slot_q, w_q.ack);
  assign cur_at     = entry(slot_q, w_q.cur);
  assign tail_at    = entry(slot_q, w_q.tail);
  assign leave_at   = entry(slot_q, seq_i);
  assign head       = wqe_q[head_at];
  assign ack        = wqe_q[ack_at];
  assign cur        = wqe_q[cur_at];
  assign cur_block  = block_q[cur_at];
  assign tail_block = block_q[tail_at];
  assign ctrl       = cur_block[127:0];
  assign head_ctrl  = block_q[head_at][127:0];
  assign tail_ctrl  = tail_block[127:0];
  assign info       = hcasim_pkg::wqe_op_info(ctrl.opcode);
  assign tail_info  = hcasim_pkg::wqe_op_info(tail_ctrl.opcode);
  assign codes      = hcasim_pkg::msg_codes(info.msg);

  function automatic logic [4:0] blocks_of(input logic [7:0] size); // units of 16 bytes; 0 is no size: one block
    blocks_of = size == 8'd0 || size > 8'd64 ? 5'd1 : 5'((size + 8'd3) >> 2);
  endfunction

  // Payload of a WQE of one block. Its data begin after ctrl, or after the remote segment.
  function automatic logic [383:0] data_of(input logic [511:0] block, input logic remote);
    data_of = remote ? {128'd0, block[511:256]} : block[511:128];
  endfunction
  function automatic logic [33:0] length_of(input logic [383:0] data, input logic [1:0] num, input logic is_inline);
    length_of = is_inline ? 34'(data[31:0]) : (num > 2'd0 ? 34'(data[95:64]) : 34'd0) +
                (num > 2'd1 ? 34'(data[223:192]) : 34'd0) + (num > 2'd2 ? 34'(data[351:320]) : 34'd0);
  endfunction

  // ---- Decoding of the block at `tail` ----

  logic [7:0]  bad_status, bad_vendor;
  logic [33:0] tail_length;
  logic [1:0]  tail_num;
  logic        flushing;

  assign flushing    = w_q.state == hcasim_pkg::QPS_ERR;
  assign tail_num    = 2'(tail_ctrl.size - 8'd1 - 8'(tail_info.seg_remote));
  assign tail_length = length_of(data_of(tail_block, tail_info.seg_remote), tail_num, tail_ctrl.inline_);
  always_comb begin
    bad_status = hcasim_pkg::CQE_STATUS_LOC_QP_OP_ERR;
    bad_vendor = hcasim_pkg::VENDOR_ERR_NONE;
    if (flushing) bad_status = hcasim_pkg::CQE_STATUS_WR_FLUSH_ERR;
    else if (w_q.staged_failed) bad_vendor = hcasim_pkg::VENDOR_ERR_DMA_FAULT;
    else if (tail_ctrl.index != w_q.fetched) bad_vendor = hcasim_pkg::VENDOR_ERR_STALE_WQE;
    else if (!w_q.rc || (tail_ctrl.opcode != hcasim_pkg::WQE_OP_SEND && tail_ctrl.opcode != hcasim_pkg::WQE_OP_RDMA_WRITE))
      bad_vendor = hcasim_pkg::VENDOR_ERR_BAD_OPCODE;
    else if (tail_ctrl.size > 8'd4 || tail_ctrl.size < 8'd1 + 8'(tail_info.seg_remote))
      bad_vendor = hcasim_pkg::VENDOR_ERR_BAD_SIZE;
    else if (tail_ctrl.inline_ && (tail_length > 34'(w_q.max_inline) || tail_length > (34'(tail_num) << 4))) begin
      bad_status = hcasim_pkg::CQE_STATUS_LOC_LEN_ERR;
      bad_vendor = hcasim_pkg::VENDOR_ERR_INLINE_NOT_ALLOWED;
    end else if (tail_length > 34'(hcasim_pkg::MAX_MSG)) begin
      bad_status = hcasim_pkg::CQE_STATUS_LOC_LEN_ERR;
      bad_vendor = hcasim_pkg::VENDOR_ERR_MSG_TOO_LONG;
    end else bad_status = hcasim_pkg::CQE_STATUS_OK;
  end

  // ---- The packet that is next ----

  logic [31:0] length, offset, left;
  logic [23:0] packets;
  logic        last;

  assign num_sge_o    = 2'(ctrl.size - 8'd1 - 8'(info.seg_remote));
  assign sge_o        = data_of(cur_block, info.seg_remote);
  assign inline_o     = ctrl.inline_;
  assign length       = 32'(length_of(sge_o, num_sge_o, inline_o));
  assign packets      = length == 32'd0 ? 24'd1 : 24'((34'(length) + (34'd1 << w_q.mtu_log2) - 34'd1) >> w_q.mtu_log2);
  assign offset       = 32'(w_q.cur_pkt) << w_q.mtu_log2;
  assign left         = length - offset;
  assign length_o     = left < (32'd1 << w_q.mtu_log2) ? 16'(left) : 16'd1 << w_q.mtu_log2;
  assign last         = w_q.cur_pkt + 24'd1 == cur.npsn;
  assign offset_o     = offset;
  assign opcode_o     = {3'd0, cur.npsn == 24'd1 ? codes.only : w_q.cur_pkt == 24'd0 ? codes.first :
                         last ? codes.last : codes.middle}; // transport RC: 0
  assign psn_o        = cur.first_psn + w_q.cur_pkt;
  assign ackreq_o     = last || w_q.cur_pkt[6:0] == 7'h7f;
  assign solicited_o  = last && ctrl.solicited && ctrl.opcode == hcasim_pkg::WQE_OP_SEND;
  assign msg_length_o = length;
  assign block_o      = step_q == Run && cmd_q[5] ? tail_block : cur_block;
  assign index_o      = w_q.fetched;
  assign req_qp_o     = slot_q;
  assign req_epoch_o  = w_q.epoch;
  assign req_seq_o    = w_q.cur;

  // ---- Requests ----

  logic outstanding, head_acked, wait_done, check_needed;

  assign outstanding  = w_q.una != w_q.next;
  assign head_acked   = w_q.head != w_q.ack;
  assign check_needed = !cur.started && !ctrl.inline_;
  assign read_o       = step_q == Run && cmd_q[6];
  assign saw_o        = step_q == Run && cmd_q[5];
  assign check_o      = step_q == Check && check_needed;
  assign lookup_o     = step_q == Lookup && !ctrl.inline_ && length_o != 16'd0;
  assign packet_o     = step_q == Packet;
  assign timer_o      = step_q == Timer;
  assign timer_stop_o = !timer_rnr_q && (!outstanding || flushing || !w_q.rc);
  assign timer_rnr_o  = timer_rnr_q;
  assign timer_code_o = aeth_value_i;
  assign failure_o    = step_q == Failure;
  assign drained_o    = step_q == Drained;
  assign wait_done    = (read_o || saw_o || check_o || lookup_o || packet_o || timer_o || failure_o || drained_o) && !done_i;
  assign ready_o      = step_q == Idle;
  assign leave_ok_o   = leave_ok_q;

  // ---- Completion and state ----

  small_qp_t query;
  wqe_t      query_wqe;

  assign query        = qp_q[query_qp_i];
  assign query_wqe    = wqe_q[entry(query_qp_i, query.head)];
  assign qp_state_o   = query.state;
  assign draining_o   = query.state == hcasim_pkg::QPS_SQD && !query.drained;
  assign una_psn_o    = query.una;
  assign next_psn_o   = query.next;
  assign completion_o = query.head != query.tail && (query_wqe.settled || query.head != query.ack);
  assign {cpl_num_bb_o, cpl_index_o, cpl_op_o} = completion_of(block_q[entry(query_qp_i, query.head)][127:0], query.retired);
  assign cpl_status_o = query_wqe.settled ? query_wqe.status : hcasim_pkg::CQE_STATUS_OK;
  assign cpl_vendor_o = query_wqe.settled ? query_wqe.vendor : hcasim_pkg::VENDOR_ERR_NONE;

  function automatic logic [28:0] completion_of(input hcasim_pkg::wqe_ctrl_t c, input logic [15:0] index);
    completion_of = {blocks_of(c.size), index, c.opcode};
  endfunction

  // ---- Sequencer ----

  // A request of the WQE `seq` fails: nothing from it on is sent, and the queue stops when it is the oldest.
  `define FAIL(at, seq, status_, vendor_) \
    wqe_q[at].failed <= 1'b1; \
    wqe_q[at].status <= status_; \
    wqe_q[at].vendor <= vendor_; \
    w_q.fault        <= 1'b1; \
    w_q.fault_seq    <= seq;
  // Sends again from the oldest packet that is not acknowledged.
  `define REWIND \
    w_q.cur     <= w_q.ack; \
    w_q.cur_pkt <= w_q.una - ack.first_psn;

  logic [23:0] acked_to, in_flight;

  assign in_flight = w_q.next - w_q.una;
  assign acked_to  = aeth_kind_i == hcasim_pkg::AETH_KIND_ACK ? psn_i + 24'd1 : psn_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      step_q <= Clear;
      slot_q <= '0;
      {fetch_q, decode_q, send_q} <= '0;
      {last_fetch_q, last_decode_q, last_send_q} <= '0;
    end else if (!wait_done) begin
      unique case (step_q)
        Clear: begin // all QPs, after reset
          qp_q[slot_q] <= '0;
          slot_q       <= slot_q + 1'b1;
          if (&slot_q) step_q <= Idle;
        end
        Idle: if (|cmd) begin
          cmd_q       <= cmd;
          slot_q      <= qp_i;
          w_q         <= qp_q[qp_i];
          timer_rnr_q <= 1'b0;
          leave_ok_q  <= 1'b0;
          step_q      <= Run;
        end
        Run: begin
          step_q <= Settle;
          if (cmd_q[11]) begin // set
            w_q.rc         <= rc_i;
            w_q.paused     <= paused_i;
            w_q.state      <= state_i;
            w_q.mtu_log2   <= mtu_log2_i;
            w_q.entries    <= entries_i;
            w_q.max_inline <= max_inline_i;
            w_q.retry_cnt  <= retry_cnt_i;
            w_q.rnr_retry  <= rnr_retry_i;
            if (set_psn_i) {w_q.una, w_q.next} <= {psn_i, psn_i};
            if (set_state_i && state_i == hcasim_pkg::QPS_SQD) w_q.drained <= 1'b0;
            step_q <= Timer;
          end else if (cmd_q[10]) begin // reset
            w_q       <= '0;
            w_q.epoch <= w_q.epoch + 8'd1;
            step_q    <= Timer;
          end else if (cmd_q[9]) begin // error
            if (w_q.state != hcasim_pkg::QPS_RESET && !flushing) begin
              w_q.state    <= hcasim_pkg::QPS_ERR;
              w_q.rnr_wait <= 1'b0;
              step_q       <= Timer;
            end
          end else if (cmd_q[8]) begin // doorbell: an index outside the ring is ignored
            if (index_i - w_q.retired > w_q.pi - w_q.retired && index_i - w_q.retired <= w_q.entries) w_q.pi <= index_i;
          end else if (cmd_q[7]) begin // fetched
            if (epoch_i == w_q.epoch) begin
              w_q.staged        <= 1'b1;
              w_q.staged_failed <= failed_i;
              block_q[tail_at]  <= failed_i ? '0 : block_i;
            end
          end else if (cmd_q[6]) begin // fetch: the read has been issued
            w_q.fetching <= error_code_i == 8'd0;
            last_fetch_q <= slot_q;
          end else if (cmd_q[5]) begin // decode
            wqe_q[tail_at] <= '{failed: bad_status != hcasim_pkg::CQE_STATUS_OK, settled: 1'b0, started: 1'b0,
                                status: bad_status, vendor: bad_vendor, first_psn: 24'd0, npsn: 24'd0};
            w_q.tail       <= w_q.tail + 8'd1;
            w_q.fetched    <= w_q.fetched + 16'(blocks_of(tail_ctrl.size));
            w_q.fetching   <= 1'b0;
            w_q.staged     <= 1'b0;
            last_decode_q  <= slot_q;
          end else if (cmd_q[4]) begin // send
            last_send_q <= slot_q;
            step_q      <= Check;
          end else if (cmd_q[3]) begin // leave
            if (epoch_i == w_q.epoch && (w_q.state == hcasim_pkg::QPS_RTS || w_q.state == hcasim_pkg::QPS_SQD) &&
                (!w_q.fault || seq_i - w_q.fault_seq > 8'h7f)) begin
              leave_ok_q <= !failed_i;
              if (failed_i && seq_i - w_q.ack <= 8'h7f) begin
                `FAIL(leave_at, seq_i, hcasim_pkg::CQE_STATUS_LOC_PROT_ERR, hcasim_pkg::VENDOR_ERR_DMA_FAULT)
              end
            end
          end else if (cmd_q[2]) begin // response: of a PSN that is under way, and not late
            if (w_q.ack != w_q.tail && ack.started && psn_i - w_q.una < in_flight) begin
              w_q.una <= acked_to;
              if (acked_to != w_q.una) {w_q.retries, w_q.rnr_retries} <= '0;
              step_q <= Acks;
            end
          end else if (cmd_q[1]) begin // expired
            step_q <= Timer;
            if (w_q.rnr_wait) w_q.rnr_wait <= 1'b0;
            else if (w_q.ack != w_q.tail && ack.started && !ack.failed) begin
              if (w_q.retries >= w_q.retry_cnt) begin
                `FAIL(ack_at, w_q.ack, hcasim_pkg::CQE_STATUS_RETRY_EXC_ERR, hcasim_pkg::VENDOR_ERR_NONE)
              end else begin
                w_q.retries <= w_q.retries + 3'd1;
                `REWIND
              end
            end
          end else begin // taken
            if (w_q.ack == w_q.head) w_q.ack <= w_q.ack + 8'd1;
            if (w_q.cur == w_q.head) w_q.cur <= w_q.cur + 8'd1;
            w_q.head    <= w_q.head + 8'd1;
            w_q.retired <= w_q.retired + 16'(blocks_of(head_ctrl.size));
          end
        end
        Check: begin // a WQE becomes the next: its keys, then its PSNs
          step_q <= Lookup;
          if (check_needed && error_code_i != 8'd0) begin
            `FAIL(cur_at, w_q.cur, hcasim_pkg::CQE_STATUS_LOC_PROT_ERR, error_code_i)
            step_q <= Settle;
          end else if (!cur.started) begin
            wqe_q[cur_at].started   <= 1'b1;
            wqe_q[cur_at].first_psn <= w_q.next;
            wqe_q[cur_at].npsn      <= packets;
            w_q.next                <= w_q.next + packets;
          end
        end
        Lookup: begin
          step_q <= Packet;
          if (lookup_o && error_code_i != 8'd0) begin
            `FAIL(cur_at, w_q.cur, hcasim_pkg::CQE_STATUS_LOC_PROT_ERR, error_code_i)
            step_q <= Settle;
          end
        end
        Packet: begin // without memory the next step tries again
          step_q <= error_code_i == 8'd0 ? Timer : Settle;
          if (error_code_i == 8'd0) begin
            w_q.cur_pkt <= last ? 24'd0 : w_q.cur_pkt + 24'd1;
            if (last) w_q.cur <= w_q.cur + 8'd1;
          end
        end
        Acks: // WQEs that are acknowledged completely
          if (w_q.ack != w_q.tail && ack.started && !ack.failed && w_q.una - ack.first_psn >= ack.npsn &&
              w_q.una - ack.first_psn <= 24'h7fffff) begin
            w_q.ack <= w_q.ack + 8'd1;
            if (w_q.cur == w_q.ack) {w_q.cur, w_q.cur_pkt} <= {w_q.ack + 8'd1, 24'd0};
          end else begin
            if (w_q.cur == w_q.ack && ack.started && w_q.cur_pkt < w_q.una - ack.first_psn && w_q.ack != w_q.tail)
              w_q.cur_pkt <= w_q.una - ack.first_psn; // sent again, but no longer needed
            step_q <= aeth_kind_i == hcasim_pkg::AETH_KIND_ACK ? Timer : Nak;
          end
        Nak: begin
          step_q <= Timer;
          if (aeth_kind_i == hcasim_pkg::AETH_KIND_RNR) begin
            if (w_q.rnr_retry != 3'd7 && w_q.rnr_retries >= w_q.rnr_retry) begin
              `FAIL(ack_at, w_q.ack, hcasim_pkg::CQE_STATUS_RNR_RETRY_EXC_ERR, hcasim_pkg::VENDOR_ERR_NONE)
            end else if (!w_q.rnr_wait) begin
              w_q.rnr_retries <= w_q.rnr_retries + 3'd1;
              w_q.retries     <= '0;
              w_q.rnr_wait    <= 1'b1;
              timer_rnr_q     <= 1'b1;
              `REWIND
            end
          end else if (aeth_value_i == 5'(hcasim_pkg::NAK_PSN_SEQ)) begin
            if (w_q.retries >= w_q.retry_cnt) begin
              `FAIL(ack_at, w_q.ack, hcasim_pkg::CQE_STATUS_RETRY_EXC_ERR, hcasim_pkg::VENDOR_ERR_NONE)
            end else begin
              w_q.retries <= w_q.retries + 3'd1;
              `REWIND
            end
          end else begin
            `FAIL(ack_at, w_q.ack, status_of_nak(aeth_value_i), hcasim_pkg::VENDOR_ERR_NONE)
          end
        end
        Timer: step_q <= Settle;
        Settle: begin
          step_q <= Store;
          if (w_q.head == w_q.tail) begin
            if (w_q.state == hcasim_pkg::QPS_SQD && !w_q.drained) step_q <= Drained;
          end else if (head.settled || (head_acked && head_ctrl.signaled)) begin
            step_q <= Store; // its completion
          end else if (head_acked) begin
            w_q.head    <= w_q.head + 8'd1;
            w_q.retired <= w_q.retired + 16'(blocks_of(head_ctrl.size));
            step_q      <= Settle;
          end else if (flushing) begin // what was never sent is flushed, even if it is illegal
            wqe_q[head_at].settled <= 1'b1;
            if (!head.failed || !head.started) begin
              wqe_q[head_at].status <= hcasim_pkg::CQE_STATUS_WR_FLUSH_ERR;
              wqe_q[head_at].vendor <= hcasim_pkg::VENDOR_ERR_NONE;
            end
            step_q <= Settle;
          end else if (head.failed && (w_q.state == hcasim_pkg::QPS_RTS || w_q.state == hcasim_pkg::QPS_SQD)) begin
            wqe_q[head_at].settled <= 1'b1;
            w_q.state              <= hcasim_pkg::QPS_ERR;
            w_q.rnr_wait           <= 1'b0;
            step_q                 <= Failure;
          end else if (w_q.state == hcasim_pkg::QPS_SQD && !w_q.drained && !head.started) begin
            step_q <= Drained;
          end
        end
        Failure: step_q <= Timer; // and settle again
        Drained: begin
          w_q.drained <= 1'b1;
          step_q      <= Store;
        end
        Store: begin
          qp_q[slot_q]     <= w_q;
          fetch_q[slot_q]  <= (w_q.state == hcasim_pkg::QPS_RTS || flushing) && !w_q.fetching && w_q.fetched != w_q.pi &&
                              w_q.tail - w_q.head < 8'(Window);
          decode_q[slot_q] <= w_q.staged;
          send_q[slot_q]   <= w_q.cur != w_q.tail && !cur.failed && !w_q.fault && !w_q.rnr_wait && !w_q.paused &&
                              (w_q.state == hcasim_pkg::QPS_RTS || (w_q.state == hcasim_pkg::QPS_SQD && cur.started)) &&
                              (cur.started ? psn_o - w_q.una : in_flight) < 24'(MaxPackets);
          step_q           <= Idle;
        end
        default: step_q <= Idle;
      endcase
    end
  end

  function automatic logic [7:0] status_of_nak(input logic [4:0] code);
    unique case (code)
      5'(hcasim_pkg::NAK_INV_REQ):    status_of_nak = hcasim_pkg::CQE_STATUS_REM_INV_REQ_ERR;
      5'(hcasim_pkg::NAK_REM_ACCESS): status_of_nak = hcasim_pkg::CQE_STATUS_REM_ACCESS_ERR;
      5'(hcasim_pkg::NAK_REM_OP):     status_of_nak = hcasim_pkg::CQE_STATUS_REM_OP_ERR;
      default:                        status_of_nak = hcasim_pkg::CQE_STATUS_BAD_RESP_ERR;
    endcase
  endfunction

endmodule
