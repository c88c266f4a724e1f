// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_wqe_decode with a port for each field.
module hcasim_wqe_decode_tb (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         valid_i,
  output logic         ready_o,
  input  logic [511:0] block_i,
  input  logic [7:0]   qp_type, port,
  input  logic [31:0]  qpn,
  input  logic [15:0]  port_mtu, max_inline,
  input  logic         rd_atomic,
  input  logic [15:0]  index_i, posted_i,
  output logic         valid_o,
  input  logic         ready_i,
  output logic [7:0]   op, status, vendor_err, num_bb, num_sge, flush_type, flush_level,
  output logic [15:0]  index, mss, hdr_size, data_at, header_at,
  output logic         signaled, solicited, fence, is_inline, ip_csum,
  output logic [31:0]  imm, inv_rkey, rkey, srqn, flush_length,
  output logic [63:0]  remote_addr, swap_add, compare, length,
  output logic [383:0] ud_o, bind_o // segments as they stand in the WQE
);

  hcasim_engine_pkg::decode_qp_t qp;
  hcasim_engine_pkg::wr_t        wr;

  assign qp.qp_type    = qp_type;
  assign qp.qpn        = qpn[23:0];
  assign qp.port       = port;
  assign qp.port_mtu   = port_mtu;
  assign qp.max_inline = max_inline;
  assign qp.rd_atomic  = rd_atomic;

  hcasim_wqe_decode u_dut (.clk_i, .rst_i, .valid_i, .ready_o, .block_i, .qp_i(qp), .index_i, .posted_i, .valid_o,
                           .ready_i, .wr_o(wr), .ud_o, .bind_o);

  assign op           = wr.op;
  assign status       = wr.status;
  assign vendor_err   = wr.vendor_err;
  assign num_bb       = 8'(wr.num_bb);
  assign num_sge      = 8'(wr.num_sge);
  assign flush_type   = wr.flush_type;
  assign flush_level  = wr.flush_level;
  assign index        = wr.index;
  assign mss          = wr.mss;
  assign hdr_size     = wr.hdr_size;
  assign data_at      = 16'(wr.data_at);
  assign header_at    = 16'(wr.header_at);
  assign signaled     = wr.signaled;
  assign solicited    = wr.solicited;
  assign fence        = wr.fence;
  assign is_inline    = wr.is_inline;
  assign ip_csum      = wr.ip_csum;
  assign imm          = wr.imm;
  assign inv_rkey     = wr.inv_rkey;
  assign rkey         = wr.rkey;
  assign srqn         = 32'(wr.srqn);
  assign flush_length = wr.flush_length;
  assign remote_addr  = wr.remote_addr;
  assign swap_add     = wr.swap_add;
  assign compare      = wr.compare;
  assign length       = 64'(wr.length);

  logic unused_bits;
  assign unused_bits = ^qpn[31:24];

endmodule
