// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The end of each WQE in the send path, in order: with what it has failed. One that follows a WQE that has failed, or was
// flushed, is flushed.

`include "hcasim_assert.svh"

module hcasim_wqe_end #(
  parameter int unsigned Slots = 8, // a power of two
  localparam int unsigned SlotBits = $clog2(Slots)
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  // The WQE whose packets are made; it leaves that stage without any, or with its last one, which has no payload.
  input  logic [SlotBits:0]      sent_i,
  input  logic                   skip_i,
  input  logic                   empty_i,
  input  logic [SlotBits-1:0]    slot_i,
  input  logic [23:0]            psns_i, // that its message takes
  input  logic                   sends_i,
  // A piece is read, or its key did not allow it.
  input  logic                   piece_valid_i,
  input  logic [SlotBits-1:0]    piece_slot_i,
  input  logic [7:0]             piece_vendor_i,
  // A payload is there.
  input  logic                   payload_valid_i,
  input  logic [SlotBits-1:0]    payload_slot_i,
  input  logic                   payload_ends_i, // the last one of the WQE
  input  logic                   payload_error_i,
  // The WQE that ends next, and what it is.
  output logic [SlotBits:0]      ended_o,
  input  hcasim_engine_pkg::wr_t wr_i,
  input  logic                   follows_i,
  input  logic [7:0]             status_i, // of its checks
  input  logic [7:0]             vendor_err_i,
  output logic                   failed_o, // the last one that ended
  output logic                   done_o,
  output hcasim_engine_pkg::wr_t done_wr_o,
  output logic [23:0]            done_psns_o
);

  localparam logic [7:0] Ok     = 8'(hcasim_pkg::CQE_STATUS_OK);
  localparam logic [7:0] NoInfo = 8'(hcasim_pkg::VENDOR_ERR_NONE);

  logic [SlotBits:0]   ended_q;
  logic [SlotBits-1:0] slot;
  logic [Slots-1:0]    ready_q, bad_key_q, bad_read_q; // to end; a piece has no key, could not be read
  logic [7:0]          key_mem  [Slots];
  logic [23:0]         psns_mem [Slots];
  logic                failed_q, flush;

  assign slot     = ended_q[SlotBits-1:0];
  assign ended_o  = ended_q;
  assign failed_o = failed_q;
  assign done_o   = ended_q != sent_i && ready_q[slot];
  assign flush    = follows_i && failed_q;

  always_comb begin
    done_wr_o            = wr_i;
    done_wr_o.status     = status_i;
    done_wr_o.vendor_err = vendor_err_i;
    done_psns_o          = psns_mem[slot];
    if (flush) begin
      done_wr_o.status     = 8'(hcasim_pkg::CQE_STATUS_WR_FLUSH_ERR);
      done_wr_o.vendor_err = NoInfo;
    end else if (status_i == Ok && (bad_key_q[slot] || bad_read_q[slot])) begin
      done_wr_o.status     = 8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR);
      done_wr_o.vendor_err = bad_key_q[slot] ? key_mem[slot] : 8'(hcasim_pkg::VENDOR_ERR_DMA_FAULT);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ended_q    <= '0;
      failed_q   <= 1'b0;
      ready_q    <= '0;
      bad_key_q  <= '0;
      bad_read_q <= '0;
    end else begin
      if (skip_i || empty_i) ready_q[slot_i] <= 1'b1;
      if (payload_valid_i && payload_ends_i) ready_q[payload_slot_i] <= 1'b1;
      if (payload_valid_i && payload_error_i) bad_read_q[payload_slot_i] <= 1'b1;
      if (piece_valid_i && piece_vendor_i != NoInfo) bad_key_q[piece_slot_i] <= 1'b1;
      if (done_o) begin
        ended_q          <= ended_q + 1'b1;
        failed_q         <= done_wr_o.status != Ok;
        ready_q[slot]    <= 1'b0;
        bad_key_q[slot]  <= 1'b0;
        bad_read_q[slot] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (piece_valid_i && piece_vendor_i != NoInfo && !bad_key_q[piece_slot_i]) key_mem[piece_slot_i] <= piece_vendor_i;
    if (skip_i || sends_i) psns_mem[slot_i] <= sends_i ? psns_i : '0;
  end

  `HCASIM_ASSERT(EndsOnce, !(skip_i || empty_i) || !ready_q[slot_i])

  `HCASIM_LEGAL_POWER(Slots)

endmodule
