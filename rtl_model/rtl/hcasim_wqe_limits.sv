// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Checks a work request that another device family's decoder has made against the limits of its queue pair. (Those of
// native WQEs are checked by hcasim_wqe_decode.) A request that is wrong already stays so.

module hcasim_wqe_limits (
  input  logic                           valid_i, // without it the request is not looked at
  input  hcasim_engine_pkg::wr_t         wr_i,
  input  hcasim_pkg::seg_ud_t            ud_i,
  input  hcasim_engine_pkg::decode_qp_t  qp_i,
  input  logic                           headers_ok_i, // TSO
  output logic [7:0]                     status_o,
  output logic [7:0]                     vendor_err_o
);

  localparam logic [7:0] OpErr  = 8'(hcasim_pkg::CQE_STATUS_LOC_QP_OP_ERR);
  localparam logic [7:0] LenErr = 8'(hcasim_pkg::CQE_STATUS_LOC_LEN_ERR);

  hcasim_pkg::wqe_op_info_t info;
  logic [15:0]              qp_bit, max_inline;
  logic [36:0]              max_packet, max_length;
  logic                     raw, ud, answered;

  assign info       = hcasim_pkg::wqe_op_info(wr_i.op);
  assign qp_bit     = qp_i.qp_type < 8'd16 ? 16'd1 << qp_i.qp_type[3:0] : 16'd0;
  assign raw        = qp_i.qp_type == 8'(hcasim_pkg::QPT_RAW_PACKET);
  assign ud         = qp_i.qp_type == 8'(hcasim_pkg::QPT_UD);
  assign answered   = info.scatter || info.seg_flush || info.inline_data;
  assign max_inline = info.inline_data ? 16'(info.length) : qp_i.max_inline;
  assign max_length = info.seg_tso ? 37'(hcasim_pkg::MAX_TSO) : max_packet;

  always_comb begin
    if (raw) max_packet = 37'(qp_i.port_mtu) + 37'(hcasim_pkg::FRAME_OVERHEAD);
    else if (ud) max_packet = 37'(qp_i.port_mtu);
    else max_packet = 37'(hcasim_pkg::MAX_MSG);
  end

  always_comb begin
    status_o     = OpErr;
    vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_NONE);
    if (!valid_i) begin
      status_o = 8'(hcasim_pkg::CQE_STATUS_OK);
    end else if (wr_i.vendor_err != 8'(hcasim_pkg::VENDOR_ERR_NONE)) begin
      vendor_err_o = wr_i.vendor_err;
      if (wr_i.status != 8'(hcasim_pkg::CQE_STATUS_OK)) status_o = wr_i.status;
    end else if (!info.valid || (info.qp_types & qp_bit) == '0) begin
      vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_BAD_OPCODE);
    end else if (wr_i.is_inline && info.scatter) begin
      vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_INLINE_NOT_ALLOWED);
    end else if (wr_i.is_inline && wr_i.length > 37'(max_inline)) begin
      status_o     = LenErr;
      vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_INLINE_NOT_ALLOWED);
    end else if (wr_i.length > max_length) begin
      status_o     = LenErr;
      vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_MSG_TOO_LONG);
    end else if (raw && wr_i.op == 8'(hcasim_pkg::WQE_OP_SEND) && wr_i.length < 37'(hcasim_net_pkg::EthBytes)) begin
      status_o     = LenErr;
      vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    end else if (info.length != '0 && wr_i.length != 37'(info.length)) begin
      status_o     = LenErr;
      vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    end else if (answered && !qp_i.rd_atomic) begin
      vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_RD_ATOMIC_LIMIT);
    end else if (ud && info.sent &&
                 (32'(ud_i.sgid_index) >= hcasim_pkg::PORT_GIDS || ud_i.qpn[31:24] != '0 || ud_i.port != qp_i.port)) begin
      vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    end else if (info.seg_tso && (wr_i.mss == '0 || !headers_ok_i)) begin
      vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    end else if (info.seg_tso && 37'(wr_i.hdr_size) + 37'(wr_i.mss) > max_packet) begin
      status_o     = LenErr;
      vendor_err_o = 8'(hcasim_pkg::VENDOR_ERR_MSG_TOO_LONG);
    end else begin
      status_o = 8'(hcasim_pkg::CQE_STATUS_OK);
    end
  end

  logic unused_bits; // for others
  assign unused_bits = ^{wr_i, ud_i, qp_i, info};

endmodule
