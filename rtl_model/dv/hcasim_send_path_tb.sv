// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_send_path with a port for each field.
module hcasim_send_path_tb #(
  parameter int unsigned Bytes = 64
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         block_valid_i,
  output logic         block_ready_o,
  input  logic [511:0] block_i,
  input  logic [15:0]  index_i, posted_i,
  input  logic [7:0]   qp_type, port, mtu_log, hop_limit, traffic_class,
  input  logic [31:0]  qpn, qkey, dest_qpn, flow_label, psn, begin_at,
  input  logic [15:0]  port_mtu, max_inline, udp_sport,
  input  logic         rd_atomic, follows,
  input  logic [47:0]  smac, dmac,
  input  logic [127:0] sgid, dgid,
  output logic         lookup_valid_o,
  input  logic         lookup_ready_i,
  output logic         lookup_check_o,
  output logic [63:0]  lookup_addr_o,
  output logic [31:0]  lookup_length_o, lookup_lkey_o,
  input  logic         answer_valid_i,
  input  logic [7:0]   answer_vendor_err_i,
  input  logic [63:0]  answer_addr_i,
  output logic         local_valid_o,
  input  logic         local_ready_i,
  output logic [7:0]   local_op,
  output logic [31:0]  local_rkey, // that is invalidated, or of the window
  input  logic [7:0]   local_vendor_err_i,
  output logic         read_valid_o,
  input  logic         read_ready_i,
  output logic [63:0]  read_addr_o,
  output logic [16-$clog2(Bytes):0] read_lines_o,
  input  logic         line_valid_i,
  output logic         line_ready_o,
  input  logic [Bytes*8-1:0] line_data_i,
  input  logic         line_error_i,
  output logic         valid_o,
  input  logic         ready_i,
  output logic [Bytes*8-1:0] data_o,
  output logic [$clog2(Bytes):0] count_o,
  output logic         last_o, error_o,
  output logic         done_o,
  output logic [7:0]   done_op, done_status, done_vendor_err,
  output logic [31:0]  done_psns
);

  hcasim_engine_pkg::decode_qp_t decode_qp;
  hcasim_engine_pkg::send_qp_t   qp;
  hcasim_engine_pkg::wqe_context_t context_in;
  hcasim_engine_pkg::wr_t        wr, local_wr;
  hcasim_pkg::seg_bind_t         local_bind;
  logic [23:0]                   psns;

  assign decode_qp.qp_type    = qp_type;
  assign decode_qp.qpn        = qpn[23:0];
  assign decode_qp.port       = port;
  assign decode_qp.port_mtu   = port_mtu;
  assign decode_qp.max_inline = max_inline;
  assign decode_qp.rd_atomic  = rd_atomic;

  assign qp.qp_type       = qp_type;
  assign qp.qpn           = qpn[23:0];
  assign qp.mtu_log       = mtu_log[3:0];
  assign qp.qkey          = qkey;
  assign qp.dest_qpn      = dest_qpn[23:0];
  assign qp.udp_sport     = udp_sport;
  assign qp.smac          = smac;
  assign qp.sgid          = sgid;
  assign qp.dgid          = dgid;
  assign qp.dmac          = dmac;
  assign qp.hop_limit     = hop_limit;
  assign qp.traffic_class = traffic_class;
  assign qp.flow_label    = flow_label[19:0];

  assign context_in.qp      = qp;
  assign context_in.psn     = psn[23:0];
  assign context_in.first   = begin_at[23:0];
  assign context_in.follows = follows;

  hcasim_send_path #(.Bytes(Bytes)) u_dut (
    .clk_i, .rst_i, .block_valid_i, .block_ready_o, .block_i, .index_i, .posted_i, .decode_qp_i(decode_qp),
    .context_i(context_in), .lookup_valid_o, .lookup_ready_i, .lookup_check_o,
    .lookup_addr_o, .lookup_length_o, .lookup_lkey_o, .answer_valid_i, .answer_vendor_err_i, .answer_addr_i,
    .local_valid_o, .local_ready_i, .local_wr_o(local_wr), .local_bind_o(local_bind), .local_vendor_err_i,
    .read_valid_o, .read_ready_i, .read_addr_o, .read_lines_o, .line_valid_i, .line_ready_o, .line_data_i,
    .line_error_i, .valid_o, .ready_i, .data_o, .count_o, .last_o, .error_o, .done_o, .done_wr_o(wr),
    .done_psns_o(psns)
  );

  assign local_op        = local_wr.op;
  assign local_rkey      = local_wr.op == 8'(hcasim_pkg::WQE_OP_LOCAL_INV) ? local_wr.inv_rkey : local_bind.mw_rkey;
  assign done_op         = wr.op;
  assign done_status     = wr.status;
  assign done_vendor_err = wr.vendor_err;
  assign done_psns       = 32'(psns);

  logic unused_bits;
  assign unused_bits = ^{wr, local_wr, local_bind, mtu_log, qpn, dest_qpn, flow_label, psn, begin_at};

endmodule
