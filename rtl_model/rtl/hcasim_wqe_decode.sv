// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Basic blocks of native WQEs to work requests, one block a cycle, with all checks that need no memory; the headers of
// a TSO request are not looked into. What an opcode needs and where it is legal says hcasim_pkg. The blocks of a WQE
// come one after the other; how many there are stands in the first. Segments between ctrl and data lie in the first
// block: only a TSO segment on a UD QP begins the second.
//
// The first thing that is wrong decides, in this order: stale entry, QPN, size, reserved bits of ctrl, opcode, then the
// segments as they stand, data, and lengths. A WQE that is wrong takes the blocks that it says it has, or one block if
// that size cannot be.

`include "hcasim_assert.svh"

module hcasim_wqe_decode #(
  localparam int unsigned BlockBits = hcasim_pkg::WQEBB_SIZE * 8
) (
  input  logic                          clk_i,
  input  logic                          rst_i,
  // A block. The rest belongs to the first one of a WQE.
  input  logic                          valid_i,
  output logic                          ready_o,
  input  logic [BlockBits-1:0]          block_i,
  input  hcasim_engine_pkg::decode_qp_t qp_i,
  input  logic [15:0]                   index_i,  // ring index of the block
  input  logic [15:0]                   posted_i, // blocks from here to the producer index, at least 1
  // A work request.
  output logic                          valid_o,
  input  logic                          ready_i,
  output hcasim_engine_pkg::wr_t        wr_o,
  output hcasim_pkg::seg_ud_t           ud_o,  // UD QPs: where to
  output hcasim_pkg::seg_bind_t         bind_o // BIND_MW
);

  localparam int unsigned UnitBits   = hcasim_pkg::SEG_UNIT * 8;
  localparam int unsigned BlockUnits = BlockBits / UnitBits;
  localparam logic [6:0]  MaxUnits   = 7'(hcasim_pkg::WQE_MAX_BB) * 7'(BlockUnits);
  localparam logic [6:0]  UdUnits    = 7'(hcasim_pkg::SEG_UD_BYTES / hcasim_pkg::SEG_UNIT);
  localparam logic [6:0]  BindUnits  = 7'(hcasim_pkg::SEG_BIND_BYTES / hcasim_pkg::SEG_UNIT);
  localparam logic [31:0] MwAccess   = 32'(hcasim_pkg::ACCESS_REMOTE_WRITE) | 32'(hcasim_pkg::ACCESS_REMOTE_READ) |
                                       32'(hcasim_pkg::ACCESS_REMOTE_ATOMIC) | 32'(hcasim_pkg::ACCESS_ZERO_BASED);
  localparam logic [7:0]  FlushTypes = 8'(hcasim_pkg::FLUSH_TYPE_GLOBAL) | 8'(hcasim_pkg::FLUSH_TYPE_PERSISTENT);

  // ---- The first block ----

  logic                         first_q; // the block is the first of a WQE
  hcasim_pkg::wqe_ctrl_t        ctrl;
  hcasim_pkg::wqe_op_info_t     info;
  logic [15:0]                  qp_bit;
  logic                         ud, xrc, size_ok;
  logic [4:0]                   num_bb, blocks;

  assign ctrl    = block_i[UnitBits-1:0];
  assign info    = hcasim_pkg::wqe_op_info(ctrl.opcode);
  assign qp_bit  = qp_i.qp_type < 8'd16 ? 16'd1 << qp_i.qp_type[3:0] : 16'd0;
  assign ud      = qp_i.qp_type == hcasim_pkg::QPT_UD;
  assign xrc     = qp_i.qp_type == hcasim_pkg::QPT_XRC_SEND;
  assign size_ok = ctrl.size != 8'd0 && ctrl.size <= 8'(MaxUnits) && 16'(num_bb) <= posted_i;
  assign num_bb  = 5'((10'(ctrl.size) + 10'(BlockUnits - 1)) / 10'(BlockUnits));

  assign blocks  = size_ok ? num_bb : 5'd1;

  // Where the segments begin, in units, if the WQE has them.
  logic [6:0] at_seg, at_second, at_data_plain;

  assign at_seg    = 7'd1 + (info.address && ud ? UdUnits : (info.address && xrc ? 7'd1 : 7'd0));
  assign at_second = at_seg + 7'd1;
  assign at_data_plain = at_seg + (info.seg_bind ? BindUnits : 7'd0) + (info.seg_remote ? 7'd1 : 7'd0) +
                         (info.seg_atomic || info.seg_flush ? 7'd1 : 7'd0);

  function automatic logic [UnitBits-1:0] unit_of(input logic [BlockBits-1:0] block, input logic [1:0] number);
    unit_of = block[number*UnitBits +: UnitBits];
  endfunction

  hcasim_pkg::seg_ud_t     seg_ud;
  hcasim_pkg::seg_xrc_t    seg_xrc;
  hcasim_pkg::seg_remote_t seg_remote;
  hcasim_pkg::seg_atomic_t seg_atomic;
  hcasim_pkg::seg_flush_t  seg_flush;
  hcasim_pkg::seg_bind_t   seg_bind;

  assign seg_ud     = block_i[BlockBits-1:UnitBits];
  assign seg_xrc    = unit_of(block_i, 2'd1);
  assign seg_bind   = block_i[BlockBits-1:UnitBits];
  assign seg_remote = unit_of(block_i, at_seg[1:0]);
  assign seg_atomic = unit_of(block_i, at_second[1:0]);
  assign seg_flush  = unit_of(block_i, at_second[1:0]);

  // ---- What is wrong with ctrl and the segments that follow it ----

  localparam logic [7:0] OpErr = 8'(hcasim_pkg::CQE_STATUS_LOC_QP_OP_ERR);

  logic [7:0] head_status, head_vendor; // status OK: nothing so far
  logic [6:0] size;

  assign size = ctrl.size[6:0];

  always_comb begin
    head_status = OpErr;
    head_vendor = 8'(hcasim_pkg::VENDOR_ERR_NONE);
    if (!valid_i) begin
      // no block
    end else if (ctrl.index != index_i) head_vendor = 8'(hcasim_pkg::VENDOR_ERR_STALE_WQE);
    else if (ctrl.qpn != qp_i.qpn) head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_QPN);
    else if (!size_ok) head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
    else if (ctrl.qpn_flags_rsvd0 != '0) head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    else if (!info.valid || (info.qp_types & qp_bit) == '0) head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_OPCODE);
    else if (info.nop) head_status = 8'(hcasim_pkg::CQE_STATUS_OK);
    else if (size < at_seg) head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
    else if (info.address && ud &&
             (seg_ud.qpn[31:24] != '0 || seg_ud.flow_label[31:20] != '0 || seg_ud.sl[7:4] != '0 ||
              seg_ud.reserved != '0))
      head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    else if (info.address && xrc && (seg_xrc.srqn[31:24] != '0 || seg_xrc.reserved != '0))
      head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    else if (info.seg_remote && size < at_second) head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
    else if (info.seg_remote && seg_remote.reserved != '0) head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    else if (size < at_data_plain) head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
    else if (info.seg_bind && ((seg_bind.type_ != 8'd1 && seg_bind.type_ != 8'd2) || seg_bind.reserved != '0))
      head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    else if (info.seg_bind && (seg_bind.access & ~MwAccess) != '0) begin
      head_status = 8'(hcasim_pkg::CQE_STATUS_MW_BIND_ERR);
      head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    end else if (info.seg_flush &&
                 (seg_flush.type_ == '0 || (seg_flush.type_ & ~FlushTypes) != '0 ||
                  seg_flush.level > 8'(hcasim_pkg::FLUSH_LEVEL_MR) || seg_flush.reserved != '0))
      head_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    else if (info.seg_flush && seg_flush.length[63:32] != '0) begin // a RETH has 32 bits for it
      head_status = 8'(hcasim_pkg::CQE_STATUS_LOC_LEN_ERR);
      head_vendor = 8'(hcasim_pkg::VENDOR_ERR_MSG_TOO_LONG);
    end else head_status = 8'(hcasim_pkg::CQE_STATUS_OK);
  end

  hcasim_engine_pkg::wr_t head;

  always_comb begin
    head              = '0;
    if (valid_i) begin
      head.op           = ctrl.opcode;
      head.index        = index_i;
      head.num_bb       = blocks;
      head.status       = head_status;
      head.vendor_err   = head_vendor;
      head.signaled     = ctrl.signaled;
      head.solicited    = ctrl.solicited && (info.solicited_qp_types & qp_bit) != '0;
      head.fence        = ctrl.fence && (info.fence_qp_types & qp_bit) != '0;
      head.is_inline    = ctrl.inline_ && !info.nop;
      head.ip_csum      = ctrl.ip_csum && (info.csum_qp_types & qp_bit) != '0;
      head.imm          = ctrl.imm;
      head.inv_rkey     = ctrl.inv_rkey;
      head.remote_addr  = seg_remote.addr;
      head.rkey         = seg_remote.rkey;
      head.srqn         = seg_xrc.srqn[23:0];
      head.swap_add     = seg_atomic.swap_add;
      head.compare      = seg_atomic.compare;
      head.flush_length = seg_flush.length[31:0];
      head.flush_type   = seg_flush.type_;
      head.flush_level  = seg_flush.level;
    end
  end

  // ---- Every block: the TSO segment, and data ----

  hcasim_engine_pkg::wr_t        wr_q, wr;     // what the blocks before this one said; with this one
  hcasim_engine_pkg::decode_qp_t qp_q, qp;
  hcasim_pkg::seg_ud_t           ud_q;
  hcasim_pkg::seg_bind_t         bind_q;
  hcasim_pkg::wqe_op_info_t      info_q, row;
  logic [6:0]                    size_q, units; // of the WQE
  logic [6:0]                    base_q, base;  // unit that the block begins with
  logic [6:0]                    data_q, at_data;
  logic [4:0]                    left_q, left; // blocks, with this one
  logic                          done;

  assign qp    = first_q ? qp_i : qp_q;
  assign row   = first_q ? info : info_q;
  assign units = first_q ? size : size_q;
  assign base  = first_q ? '0 : base_q;
  assign left  = first_q ? blocks : left_q;
  assign done  = left == 5'd1;

  hcasim_pkg::seg_tso_t seg_tso;
  logic [6:0]           at_tso, tso_units; // the segment itself; its headers
  logic [15:0]          mss, hdr_size;
  logic                 tso_here;

  assign at_tso    = qp.qp_type == hcasim_pkg::QPT_UD ? 7'd1 + UdUnits : 7'd1;
  assign tso_here  = row.seg_tso && base[6:2] == at_tso[6:2];
  assign seg_tso   = unit_of(block_i, at_tso[1:0]);
  assign mss       = tso_here ? seg_tso.mss : wr_q.mss;
  assign hdr_size  = tso_here ? seg_tso.hdr_size : wr_q.hdr_size;
  assign tso_units = 7'((17'(seg_tso.hdr_size) + 17'(hcasim_pkg::SEG_UNIT - 1)) / 17'(hcasim_pkg::SEG_UNIT));
  assign at_data   = tso_here ? at_tso + 7'd1 + tso_units : (first_q ? at_data_plain : data_q);

  // What the units of this block are, and what they add to the length.
  logic [36:0] sum;
  logic [31:0] inline_length;
  logic        inline_here;

  always_comb begin
    sum           = '0;
    inline_length = '0;
    inline_here   = 1'b0;
    for (int unsigned i = 0; i < BlockUnits; i++) begin
      if (valid_i && base + 7'(i) >= at_data && base + 7'(i) < units) begin
        sum = sum + 37'(block_i[i*UnitBits + 64 +: 32]); // seg_data_t.length
        if (base + 7'(i) == at_data) begin
          inline_length = block_i[i*UnitBits +: 32];
          inline_here   = 1'b1;
        end
      end
    end
  end

  logic [6:0] inline_units; // that this length takes

  assign inline_units = 7'((13'(inline_length[11:0]) + 13'(hcasim_pkg::SEG_INLINE_BYTES) +
                            13'(hcasim_pkg::SEG_UNIT - 1)) / 13'(hcasim_pkg::SEG_UNIT));

  // What the request says of its payload, as far as it is known.
  logic        has_data, is_inline, needs_answer;
  logic [36:0] length;

  assign has_data     = row.gather || row.scatter || row.inline_data;
  assign needs_answer = row.scatter || row.seg_flush || row.inline_data;
  assign is_inline    = first_q ? head.is_inline : wr_q.is_inline;

  always_comb begin
    length = first_q ? '0 : wr_q.length;
    if (has_data && !is_inline) length = length + sum;
    else if (has_data && inline_here) length = 37'(inline_length);
  end

  // ---- What is wrong with the TSO segment, and with data ----

  logic [7:0] data_vendor; // its status is LOC_QP_OP_ERR
  logic       data_here;   // the block tells what kind of data there is

  assign data_here = row.seg_tso ? tso_here : first_q;

  always_comb begin
    data_vendor = 8'(hcasim_pkg::VENDOR_ERR_NONE);
    if (!valid_i) begin
      // no block
    end else if (row.seg_tso && (tso_here || done) && units <= at_tso) data_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
    else if (tso_here && (seg_tso.mss == '0 || seg_tso.hdr_size == '0 ||
                          32'(seg_tso.hdr_size) > hcasim_pkg::MAX_TSO_HDR || seg_tso.reserved != '0))
      data_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    else if (tso_here && units < at_data) data_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
    else if (data_here && is_inline && !row.inline_ok && !row.inline_data)
      data_vendor = 8'(hcasim_pkg::VENDOR_ERR_INLINE_NOT_ALLOWED);
    else if (data_here && !is_inline && row.inline_data) data_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    else if (data_here && !has_data && units != at_data) data_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
    else if (data_here && has_data && is_inline && units == at_data)
      data_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
    else if (data_here && has_data && !is_inline && units - at_data > 7'(hcasim_pkg::MAX_SGE))
      data_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
    else if (has_data && is_inline && inline_here && inline_length > hcasim_pkg::MAX_INLINE)
      data_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    else if (has_data && is_inline && inline_here && units - at_data != inline_units)
      data_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
  end

  // ---- The QP's limits ----

  logic [7:0]          limit_status, limit_vendor;
  logic [36:0]         max_length, max_packet;
  logic                raw, address_ok;
  logic [15:0]         max_inline;
  hcasim_pkg::seg_ud_t to;

  assign to         = first_q ? seg_ud : ud_q;
  assign address_ok = 32'(to.sgid_index) < hcasim_pkg::PORT_GIDS && to.port == qp.port; // a handle is of a port
  assign raw        = qp.qp_type == hcasim_pkg::QPT_RAW_PACKET;
  assign max_inline = row.inline_data ? 16'(row.length) : qp.max_inline; // a value in the request is no payload

  always_comb begin
    if (raw) max_packet = 37'(qp.port_mtu) + 37'(hcasim_pkg::FRAME_OVERHEAD);
    else if (qp.qp_type == hcasim_pkg::QPT_UD) max_packet = 37'(qp.port_mtu);
    else max_packet = 37'(hcasim_pkg::MAX_MSG);
    max_length = row.seg_tso ? 37'(hcasim_pkg::MAX_TSO) : max_packet;
  end

  always_comb begin
    limit_status = 8'(hcasim_pkg::CQE_STATUS_OK);
    limit_vendor = 8'(hcasim_pkg::VENDOR_ERR_NONE);
    if (!valid_i) begin
      // no block
    end else if (row.length != '0 && length != 37'(row.length)) begin
      limit_status = 8'(hcasim_pkg::CQE_STATUS_LOC_LEN_ERR);
      limit_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    end else if (is_inline && length > 37'(max_inline)) begin
      limit_status = 8'(hcasim_pkg::CQE_STATUS_LOC_LEN_ERR);
      limit_vendor = 8'(hcasim_pkg::VENDOR_ERR_INLINE_NOT_ALLOWED);
    end else if (length > max_length) begin
      limit_status = 8'(hcasim_pkg::CQE_STATUS_LOC_LEN_ERR);
      limit_vendor = 8'(hcasim_pkg::VENDOR_ERR_MSG_TOO_LONG);
    end else if (raw && row.sent && !row.seg_tso && length < 37'(hcasim_net_pkg::EthBytes)) begin
      limit_status = 8'(hcasim_pkg::CQE_STATUS_LOC_LEN_ERR);
      limit_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    end else if (needs_answer && !qp.rd_atomic) begin
      limit_status = OpErr;
      limit_vendor = 8'(hcasim_pkg::VENDOR_ERR_RD_ATOMIC_LIMIT);
    end else if (qp.qp_type == hcasim_pkg::QPT_UD && row.address && !address_ok) begin
      limit_status = OpErr;
      limit_vendor = 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
    end else if (row.seg_tso && 37'(hdr_size) + 37'(mss) > max_packet) begin
      limit_status = 8'(hcasim_pkg::CQE_STATUS_LOC_LEN_ERR);
      limit_vendor = 8'(hcasim_pkg::VENDOR_ERR_MSG_TOO_LONG);
    end
  end

  // ---- All of it ----

  logic good; // up to this block

  assign good = (first_q ? head.status : wr_q.status) == 8'(hcasim_pkg::CQE_STATUS_OK);

  always_comb begin
    wr = '0;
    if (valid_i) begin
      wr            = first_q ? head : wr_q;
      wr.data_at    = {at_data[5:0], 4'd0} + (is_inline ? 10'(hcasim_pkg::SEG_INLINE_BYTES) : '0);
      wr.length     = length;
      wr.num_sge    = has_data && !is_inline ? 5'(units - at_data) : '0;
      wr.mss        = mss;
      wr.hdr_size   = hdr_size;
      if (tso_here) wr.header_at = {at_tso[5:0] + 6'd1, 4'd0};
      if (good && !row.nop) begin
        if (data_vendor != 8'(hcasim_pkg::VENDOR_ERR_NONE)) begin
          wr.status     = OpErr;
          wr.vendor_err = data_vendor;
        end else if (done) begin
          wr.status     = limit_status;
          wr.vendor_err = limit_vendor;
        end
      end
    end
  end

  logic unused_bits; // for other users of the tables
  assign unused_bits = ^{row.msg, to, seg_xrc.srqn, seg_flush.length, inline_length};

  // ---- From block to block ----

  logic                   valid_q, take;
  hcasim_engine_pkg::wr_t out_q;
  hcasim_pkg::seg_ud_t    out_ud_q;
  hcasim_pkg::seg_bind_t  out_bind_q;

  assign ready_o = !done || !valid_q || ready_i;
  assign take    = valid_i && ready_o;
  assign valid_o = valid_q;
  assign wr_o    = out_q;
  assign ud_o    = out_ud_q;
  assign bind_o  = out_bind_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      first_q <= 1'b1;
      valid_q <= 1'b0;
    end else begin
      if (take) first_q <= done;
      if (take && done) valid_q <= 1'b1;
      else if (ready_i) valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      wr_q   <= wr;
      qp_q   <= qp;
      info_q <= row;
      size_q <= units;
      base_q <= base + 7'(BlockUnits);
      data_q <= at_data;
      left_q <= left - 5'd1;
      ud_q   <= to;
      bind_q <= first_q ? seg_bind : bind_q;
      if (done) begin
        out_q      <= wr;
        out_ud_q   <= to;
        out_bind_q <= first_q ? seg_bind : bind_q;
      end
    end
  end

  `HCASIM_ASSERT_STABLE(OutputStable, valid_o, ready_i, {wr_o, ud_o, bind_o})
  `HCASIM_ASSERT(SomethingPosted, !valid_i || !first_q || posted_i != '0)

endmodule
