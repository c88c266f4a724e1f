// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Assertions that Verilator checks, of which synthesis (-DSYNTHESIS) sees none, and checks of parameters for both.
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

// Elaboration ends with the text if a parameter has no legal value. rtl_model/parameters reads these texts.
`define HCASIM_LEGAL(parameter_, legal_, text_) \
  if (!(legal_)) begin : gen_illegal_``parameter_ \
    $error(text_); \
  end
`define HCASIM_LEGAL_LEAST(parameter_, low_) \
  `HCASIM_LEGAL(parameter_, parameter_ >= low_, `"parameter_ has to be at least low_`")
`define HCASIM_LEGAL_RANGE(parameter_, low_, high_) \
  `HCASIM_LEGAL(parameter_, parameter_ >= low_ && parameter_ <= high_, `"parameter_ has to be low_ to high_`")
`define HCASIM_LEGAL_POWER(parameter_) \
  `HCASIM_LEGAL(parameter_, parameter_ >= 2 && (parameter_ & (parameter_ - 1)) == 0, \
                `"parameter_ has to be a power of two from 2 on`")
// The width of the data path.
`define HCASIM_LEGAL_BYTES \
  `HCASIM_LEGAL(Bytes, Bytes == 16 || Bytes == 32 || Bytes == 64, "Bytes has to be 16, 32 or 64")

`endif
