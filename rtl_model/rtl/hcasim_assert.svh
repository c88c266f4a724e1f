// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Assertions that Verilator checks. Synthesis (-DSYNTHESIS) sees none of them.
`ifndef HCASIM_ASSERT_SVH
`define HCASIM_ASSERT_SVH

`ifdef SYNTHESIS
  `define HCASIM_ASSERT(name, property_)
`else
  // Holds at every rising edge of clk_i outside of reset.
  `define HCASIM_ASSERT(name, property_) \
    name: assert property (@(posedge clk_i) disable iff (rst_i) property_) \
    else $error("%m: property does not hold");
`endif

// A valid that was not taken stays, and so does what goes with it.
`define HCASIM_ASSERT_STABLE(name, valid_, ready_, data_) \
  `HCASIM_ASSERT(name, ((valid_) && !(ready_)) |=> ((valid_) && $stable(data_)))

`endif
