// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The contexts of the queue pairs that were used last: set associative, write-back, replaced round robin within a set. A
// context that is here is loaded and stored in the cycle of the request; for one that is not, the oldest of its set is
// written to memory, if it has changed, and the new one is read.

`include "hcasim_assert.svh"

module hcasim_context_cache #(
  parameter int unsigned QpnBits = 8,
  parameter int unsigned SetBits = 4, // sets: 2^SetBits, by the low bits of the number; at least 1
  parameter int unsigned Ways    = 4  // a power of two, at least 2
) (
  input  logic                         clk_i,
  input  logic                         rst_i,
  // A load or a store, which stays until its ack. What was loaded is there with the ack.
  input  logic                         valid_i,
  output logic                         ack_o,
  input  logic                         we_i,
  input  logic [QpnBits-1:0]           qpn_i,
  input  hcasim_engine_pkg::qp_attr_t  attr_i,
  input  hcasim_engine_pkg::qp_state_t state_i,
  output hcasim_engine_pkg::qp_attr_t  attr_o,
  output hcasim_engine_pkg::qp_state_t state_o,
  // Memory: the same.
  output logic                         mem_valid_o,
  input  logic                         mem_ack_i,
  output logic                         mem_we_o,
  output logic [QpnBits-1:0]           mem_qpn_o,
  output hcasim_engine_pkg::qp_attr_t  mem_attr_o,
  output hcasim_engine_pkg::qp_state_t mem_state_o,
  input  hcasim_engine_pkg::qp_attr_t  mem_attr_i,
  input  hcasim_engine_pkg::qp_state_t mem_state_i,
  // Loads that found the context here, and those that did not.
  output logic [63:0]                  hits_o,
  output logic [63:0]                  misses_o
);

  localparam int unsigned WayBits = $clog2(Ways);
  localparam int unsigned RowBits = SetBits + WayBits;
  localparam int unsigned TagBits = QpnBits - SetBits;

  typedef enum logic [1:0] {StLook, StEvict, StFill} state_e;

  state_e                            step_q;
  logic [TagBits-1:0]                tag_q   [2**RowBits];
  logic [$bits(attr_i)-1:0]          attr_q  [2**RowBits];
  logic [$bits(state_i)-1:0]         state_q [2**RowBits];
  logic [2**RowBits-1:0]             valid_q, dirty_q;
  logic [2**SetBits*WayBits-1:0]     next_q; // way of each set that is replaced next
  logic                              missed_q; // this load
  logic [63:0]                       hits_q, misses_q;

  logic [SetBits-1:0] set;
  logic [TagBits-1:0] tag;
  logic [WayBits-1:0] way, next;
  logic [RowBits-1:0] row;
  logic               hit, clean, write, filled;

  assign set  = qpn_i[SetBits-1:0];
  assign tag  = qpn_i[QpnBits-1:SetBits];
  assign next = next_q[32'(set)*WayBits +: WayBits];

  always_comb begin
    hit = 1'b0;
    way = next;
    for (int unsigned i = 0; i < Ways; i++) begin
      if (valid_q[{set, WayBits'(i)}] && tag_q[{set, WayBits'(i)}] == tag) begin
        hit = 1'b1;
        way = WayBits'(i);
      end
    end
  end

  assign row    = {set, way};
  assign clean  = !(valid_q[row] && dirty_q[row]);
  assign ack_o  = step_q == StLook && valid_i && (hit || (we_i && clean));
  assign write  = ack_o && we_i;
  assign filled = step_q == StFill && mem_ack_i;

  assign attr_o  = attr_q[row];
  assign state_o = state_q[row];

  assign mem_valid_o = step_q != StLook;
  assign mem_we_o    = step_q == StEvict;
  assign mem_qpn_o   = mem_we_o ? {tag_q[row], set} : qpn_i;

  always_comb begin
    mem_attr_o  = '0;
    mem_state_o = '0;
    if (mem_we_o) begin
      mem_attr_o  = attr_q[row];
      mem_state_o = state_q[row];
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      step_q   <= StLook;
      valid_q  <= '0;
      dirty_q  <= '0;
      next_q   <= '0;
      missed_q <= 1'b0;
      hits_q   <= '0;
      misses_q <= '0;
    end else begin
      unique case (step_q)
        StLook: if (valid_i && !ack_o) step_q <= clean ? StFill : StEvict;
        StEvict: if (mem_ack_i) step_q <= StLook;
        default: if (mem_ack_i) step_q <= StLook;
      endcase
      if (write) dirty_q[row] <= 1'b1;
      else if (filled || (step_q == StEvict && mem_ack_i)) dirty_q[row] <= 1'b0;
      if (write || filled) valid_q[row] <= 1'b1;
      if (filled || (write && !hit)) next_q[32'(set)*WayBits +: WayBits] <= next + 1'b1;
      if (step_q != StLook) missed_q <= !we_i;
      else if (ack_o) missed_q <= 1'b0;
      if (ack_o && !we_i && !missed_q) hits_q <= hits_q + 64'd1;
      if (filled) misses_q <= misses_q + 64'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (write) begin
      tag_q[row]   <= tag;
      attr_q[row]  <= attr_i;
      state_q[row] <= state_i;
    end else if (filled) begin
      tag_q[row]   <= tag;
      attr_q[row]  <= mem_attr_i;
      state_q[row] <= mem_state_i;
    end
  end

  assign hits_o   = hits_q;
  assign misses_o = misses_q;

  `HCASIM_ASSERT(FillsOnlyLoads, !(step_q == StFill) || !we_i)
  `HCASIM_ASSERT(EvictsWhatHasChanged, !(step_q == StEvict) || !clean)

  `HCASIM_LEGAL(QpnBits, QpnBits > SetBits, "QpnBits has to be more than SetBits")
  `HCASIM_LEGAL_LEAST(SetBits, 1)
  `HCASIM_LEGAL_POWER(Ways)

endmodule
