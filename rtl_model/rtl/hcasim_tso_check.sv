// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Looks into the headers of a TSO request: they are the same in every segment, so only IP and TCP, with nothing behind them,
// can be repeated. As tso_header_ok() of sim/core/wire/net.c.

module hcasim_tso_check #(
  localparam int unsigned Bits = hcasim_pkg::WQEBB_SIZE * 8
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  input  hcasim_engine_pkg::wr_t  wr_i,       // it stays until done_o
  output logic                    wanted_o,   // of a request that is TSO
  input  logic                    start_i,    // with wanted_o
  input  logic                    datagram_i, // of a UD QP
  // The bytes of the WQE from at_o on, in the same cycle.
  output logic [9:0]              at_o,
  input  logic [Bits-1:0]         bytes_i,
  output logic                    done_o, // a cycle long; the result stays until the next start
  output logic                    ok_o,
  output hcasim_engine_pkg::net_t net_o
);

  hcasim_pkg::wqe_op_info_t info;
  logic [15:0]              parse_at, tcp_end;

  // Of the decoder's checks only the last one, of a segment's length, comes after that of the headers.
  assign info     = hcasim_pkg::wqe_op_info(wr_i.op);
  assign wanted_o = info.seg_tso &&
                    (wr_i.status == 8'(hcasim_pkg::CQE_STATUS_OK) ||
                     (wr_i.status == 8'(hcasim_pkg::CQE_STATUS_LOC_LEN_ERR) &&
                      wr_i.vendor_err == 8'(hcasim_pkg::VENDOR_ERR_MSG_TOO_LONG) &&
                      wr_i.length <= 37'(hcasim_pkg::MAX_TSO)));

  hcasim_net_parse u_parse (
    .clk_i,
    .rst_i,
    .start_i,
    .length_i      (wr_i.hdr_size),
    .datagram_i,
    .headers_only_i(1'b1),
    .at_o          (parse_at),
    .bytes_i,
    .done_o,
    .net_o
  );

  assign at_o    = wr_i.header_at + parse_at[9:0];
  assign tcp_end = net_o.l4_at + {10'd0, net_o.control[15:12], 2'b00};
  assign ok_o    = net_o.tcp && tcp_end == wr_i.hdr_size;

  logic unused_bits; // for others
  assign unused_bits = ^{wr_i, info, parse_at};

endmodule
