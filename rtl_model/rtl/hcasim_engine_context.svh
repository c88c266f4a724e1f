// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: the cache of contexts, and the records of WQEs that have retired.

  logic                         load_valid, load_ack, held_q, changed_q; // c_q and q_q are those of held_qpn_q
  logic [QpnBits-1:0]           held_qpn_q, op_qpn;
  hcasim_engine_pkg::qp_attr_t  load_attr;
  hcasim_engine_pkg::qp_state_t load_state;

  always_comb begin
    unique case (op_i)
      hcasim_engine_pkg::OpReadDone, hcasim_engine_pkg::OpWritten, hcasim_engine_pkg::OpPages,
      hcasim_engine_pkg::OpLeave, hcasim_engine_pkg::OpReleased: op_qpn = QpnBits'(tag_now.qpn);
      hcasim_engine_pkg::OpFetch, hcasim_engine_pkg::OpFetchWork: op_qpn = fetch_head;
      hcasim_engine_pkg::OpPacketise, hcasim_engine_pkg::OpPacketiseWork: op_qpn = tx_head;
      hcasim_engine_pkg::OpDecode, hcasim_engine_pkg::OpDecodeWork:
        op_qpn = QpnBits'(fetch_q[queue_head][$bits(f_q)-1 -: 24]);
      default: op_qpn = op_qpn_i;
    endcase
  end

  assign load_valid = state_q == StContext || state_q == StSave;

  hcasim_context_cache #(
    .QpnBits(QpnBits),
    .SetBits(CacheSetBits),
    .Ways   (CacheWays)
  ) u_cache (
    .clk_i,
    .rst_i,
    .valid_i    (load_valid),
    .ack_o      (load_ack),
    .we_i       (state_q == StSave),
    .qpn_i      (state_q == StSave ? held_qpn_q : qpn_q),
    .attr_i     (c_q),
    .state_i    (q_q),
    .attr_o     (load_attr),
    .state_o    (load_state),
    .mem_valid_o(ctx_valid_o),
    .mem_ack_i  (ctx_ack_i),
    .mem_we_o   (ctx_we_o),
    .mem_qpn_o  (ctx_qpn_o),
    .mem_attr_o (ctx_attr_o),
    .mem_state_o(ctx_state_o),
    .mem_attr_i (ctx_attr_i),
    .mem_state_i(ctx_state_i),
    .hits_o     (cache_hits_o),
    .misses_o   (cache_misses_o)
  );

  logic [47:0] cycle_q; // since reset
  logic [63:0] retired_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle_q   <= '0;
      retired_q <= '0;
    end else begin
      cycle_q <= cycle_q + 48'd1;
      if (retires) retired_q <= retired_q + 64'd1;
    end
  end

  // A WQE leaves its queue.
  logic retires;

  assign retires = state_q == StPop || (ends_here && req_ack_i);

  always_ff @(posedge clk_i) begin
    if (rst_i) retire_valid_o <= 1'b0;
    else retire_valid_o <= retires;
  end

  always_ff @(posedge clk_i) begin
    if (retires) begin
      retire_o.order     <= retired_q;
      retire_o.qpn       <= c_q.qpn;
      retire_o.op        <= w_q.op;
      retire_o.index     <= w_q.index;
      retire_o.num_bb    <= w_q.num_bb;
      retire_o.signaled  <= w_q.signaled;
      retire_o.fetched   <= w_q.fetched;
      retire_o.issued    <= w_q.issued;
      retire_o.completed <= cycle_q;
      retire_o.first_psn <= w_q.started ? w_q.first_psn : '0;
      retire_o.psns      <= w_q.started ? w_q.npsn : '0;
      if (w_q.failed) begin
        retire_o.status     <= w_q.status;
        retire_o.vendor_err <= w_q.vendor_err;
      end else begin
        retire_o.status     <= StatusOk;
        retire_o.vendor_err <= NoError;
      end
    end
  end
