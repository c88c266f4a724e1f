// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A quotient, rounded up, a bit a cycle.

`include "hcasim_assert.svh"

module hcasim_divide #(
  parameter int unsigned Bits = 19,
  parameter int unsigned DivisorBits = 16
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  input  logic                   start_i,
  input  logic [Bits-1:0]        dividend_i,
  input  logic [DivisorBits-1:0] divisor_i,  // not 0; stays until done_o
  output logic                   done_o,     // a cycle long
  output logic [Bits-1:0]        quotient_o  // stays until the next start
);

  localparam int unsigned CountBits = $clog2(Bits + 1);

  logic [Bits-1:0]        shift_q; // bits of the dividend that are still to come, then those of the quotient
  logic [DivisorBits-1:0] rest_q;
  logic [CountBits-1:0]   left_q;
  logic                   busy_q, fits;
  logic [DivisorBits:0]   rest;

  assign rest       = {rest_q, shift_q[Bits-1]};
  assign fits       = rest >= {1'b0, divisor_i};
  assign done_o     = busy_q && left_q == '0;
  assign quotient_o = shift_q + Bits'(rest_q != '0);

  always_ff @(posedge clk_i) begin
    if (rst_i) busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b1;
    else if (done_o) busy_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      shift_q <= dividend_i;
      rest_q  <= '0;
      left_q  <= CountBits'(Bits);
    end else if (busy_q && left_q != '0) begin
      shift_q <= {shift_q[Bits-2:0], fits};
      rest_q  <= fits ? DivisorBits'(rest - {1'b0, divisor_i}) : rest[DivisorBits-1:0];
      left_q  <= left_q - 1'b1;
    end
  end

  `HCASIM_ASSERT(StartsIdle, !start_i || !busy_q)
  `HCASIM_ASSERT(NotByZero, !start_i || divisor_i != '0)

  `HCASIM_LEGAL_LEAST(Bits, 2)
  `HCASIM_LEGAL_LEAST(DivisorBits, 1)

endmodule
