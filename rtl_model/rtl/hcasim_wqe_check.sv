// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What a decoded WQE needs before its first packet: the headers of TSO are looked into, the keys of all SGEs are looked
// up, windows are bound and keys invalidated. One WQE after the other; one that needs nothing takes a cycle.

`include "hcasim_assert.svh"

module hcasim_wqe_check #(
  localparam int unsigned Bits      = hcasim_pkg::WQEBB_SIZE * 8,
  localparam int unsigned BlockBits = $clog2(hcasim_pkg::WQE_MAX_BB)
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  // A WQE: it stays until done_o.
  input  logic                    valid_i,
  input  hcasim_engine_pkg::wr_t  wr_i,
  input  logic                    datagram_i, // of a UD QP
  input  logic                    alone_i,    // all WQEs before it have ended,
  input  logic                    flush_i,    // and it is flushed because of one of them
  output logic [BlockBits-1:0]    block_o,
  input  logic [2*Bits-1:0]       lines_i,    // that block of it and the next, in the same cycle
  // Keys of whole SGEs; answers in order.
  output logic                    lookup_valid_o,
  input  logic                    lookup_ready_i,
  output hcasim_pkg::seg_data_t   lookup_o,
  input  logic                    answer_valid_i,
  input  logic [7:0]              answer_vendor_err_i,
  // BIND_MW, LOCAL_INV: executed outside.
  output logic                    local_valid_o,
  input  logic                    local_ready_i,
  input  logic [7:0]              local_vendor_err_i,
  // A cycle long.
  output logic                    done_o,
  output logic [7:0]              status_o,
  output logic [7:0]              vendor_err_o,
  output hcasim_engine_pkg::net_t net_o // TSO
);

  typedef enum logic [2:0] {
    StStart,
    StHeaders,
    StKeys,    // one a cycle
    StAnswers, // to the last of them
    StLocal,
    StDone
  } state_e;

  localparam logic [7:0] Ok = 8'(hcasim_pkg::CQE_STATUS_OK);

  state_e                   state_q;
  hcasim_pkg::wqe_op_info_t info;
  logic                     tso, is_local, keys, parse_done, headers_ok;
  logic [7:0]               status_q, vendor_err_q;

  assign info     = hcasim_pkg::wqe_op_info(wr_i.op);
  assign is_local = !info.nop && !info.sent;
  assign keys     = info.gather && !wr_i.is_inline && wr_i.num_sge != '0;

  // ---- The bytes of the WQE: headers, or SGEs ----

  logic [9:0]        at, sge_at, header_at;
  logic [Bits-1:0]   window;
  logic [4:0]        sge_q, answers_q, asked_q; // SGEs, answers, look-ups so far

  assign sge_at  = wr_i.data_at + {1'b0, sge_q, 4'd0};
  assign at      = state_q == StKeys ? sge_at : header_at;
  assign block_o = at[9:6];
  assign window  = Bits'(lines_i >> {at[5:0], 3'b000});

  hcasim_tso_check u_tso_check (
    .clk_i,
    .rst_i,
    .wr_i,
    .wanted_o(tso),
    .start_i (state_q == StStart && valid_i && tso),
    .datagram_i,
    .at_o    (header_at),
    .bytes_i (window),
    .done_o  (parse_done),
    .ok_o    (headers_ok),
    .net_o
  );

  // ---- Keys ----

  logic lookup, last_sge;

  assign lookup_o       = window[127:0];
  assign lookup         = lookup_o.length != '0; // one without bytes needs no key
  assign lookup_valid_o = state_q == StKeys && lookup;
  assign last_sge       = sge_q + 5'd1 == wr_i.num_sge;

  // ---- One WQE after the other ----

  assign local_valid_o = state_q == StLocal;
  assign done_o        = state_q == StDone || (state_q == StStart && valid_i && !tso && !keys &&
                                               !(is_local && wr_i.status == Ok)) ||
                         (state_q == StStart && valid_i && !tso && wr_i.status != Ok);
  assign status_o      = state_q == StDone ? status_q : wr_i.status;
  assign vendor_err_o  = state_q == StDone ? vendor_err_q : wr_i.vendor_err;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StStart;
    end else begin
      unique case (state_q)
        StStart: begin
          if (valid_i && tso) state_q <= StHeaders;
          else if (valid_i && wr_i.status == Ok && is_local) begin
            if (alone_i) state_q <= flush_i ? StDone : StLocal;
          end else if (valid_i && wr_i.status == Ok && keys) state_q <= StKeys;
        end
        StHeaders: if (parse_done) state_q <= headers_ok && wr_i.status == Ok && keys ? StKeys : StDone;
        StKeys:    if ((!lookup || lookup_ready_i) && last_sge) state_q <= StAnswers;
        StAnswers: if (answers_q == asked_q) state_q <= StDone;
        StLocal:   if (local_ready_i) state_q <= StDone;
        default:   state_q <= StStart;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StStart) begin
      sge_q        <= '0;
      answers_q    <= '0;
      asked_q      <= '0;
      status_q     <= wr_i.status;
      vendor_err_q <= wr_i.vendor_err;
    end
    if (state_q == StHeaders && parse_done && !headers_ok) begin
      status_q     <= 8'(hcasim_pkg::CQE_STATUS_LOC_QP_OP_ERR);
      vendor_err_q <= 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    end
    if (state_q == StKeys && (!lookup || lookup_ready_i)) sge_q <= sge_q + 5'd1;
    if (lookup_valid_o && lookup_ready_i) asked_q <= asked_q + 5'd1;
    if (answer_valid_i) begin
      answers_q <= answers_q + 5'd1;
      if (answer_vendor_err_i != 8'(hcasim_pkg::VENDOR_ERR_NONE) && status_q == Ok) begin
        status_q     <= 8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR);
        vendor_err_q <= answer_vendor_err_i;
      end
    end
    if (state_q == StLocal && local_ready_i && local_vendor_err_i != 8'(hcasim_pkg::VENDOR_ERR_NONE)) begin
      status_q     <= 8'(hcasim_pkg::CQE_STATUS_MW_BIND_ERR);
      vendor_err_q <= local_vendor_err_i;
    end
  end

  logic unused_bits; // for others
  assign unused_bits = ^{wr_i, info, sge_at};

  `HCASIM_ASSERT(AnswersWereAsked, !answer_valid_i || answers_q < asked_q)
  `HCASIM_ASSERT(KeysAreOfSges, !lookup_valid_o || at[3:0] == '0)

endmodule
