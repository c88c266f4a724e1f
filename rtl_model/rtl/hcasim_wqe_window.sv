// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The WQEs inside the send path: Slots of them, in order, each with its basic blocks, what was decoded from them and the
// context that it came with. A slot is taken with the first block and free again when the WQE leaves.

`include "hcasim_assert.svh"

module hcasim_wqe_window #(
  parameter int unsigned Slots = 8, // a power of two
  localparam int unsigned SlotBits  = $clog2(Slots),
  localparam int unsigned Bits      = hcasim_pkg::WQEBB_SIZE * 8,
  localparam int unsigned BlockBits = $clog2(hcasim_pkg::WQE_MAX_BB)
) (
  input  logic                            clk_i,
  input  logic                            rst_i,
  input  logic                            block_valid_i,
  output logic                            block_ready_o,
  input  logic [Bits-1:0]                 block_i,
  input  logic [15:0]                     index_i,
  input  logic [15:0]                     posted_i,
  input  hcasim_engine_pkg::decode_qp_t   decode_qp_i,
  input  hcasim_engine_pkg::wqe_context_t context_i, // with the first block
  // Slots up to here, without it, are decoded; slots up to here, without it, have left. One bit more than a slot has.
  output logic [SlotBits:0]               decoded_o,
  input  logic [SlotBits:0]               left_i,
  // What is in a slot, in the same cycle: for the checks,
  input  logic [SlotBits-1:0]             check_slot_i,
  output hcasim_engine_pkg::wr_t          check_wr_o,
  output hcasim_engine_pkg::wqe_context_t check_context_o,
  output hcasim_pkg::seg_bind_t           check_bind_o,
  input  logic [BlockBits-1:0]            check_block_i,
  output logic [2*Bits-1:0]               check_lines_o, // that block and the next
  // for the packets,
  input  logic [SlotBits-1:0]             packet_slot_i,
  output hcasim_engine_pkg::wr_t          packet_wr_o,
  output hcasim_engine_pkg::wqe_context_t packet_context_o,
  output hcasim_pkg::seg_ud_t             packet_ud_o,
  // for the payload: an SGE and a line,
  input  logic [SlotBits+BlockBits-1:0]   sge_block_i,
  output logic [Bits-1:0]                 sge_line_o,
  input  logic [SlotBits+BlockBits-1:0]   inline_block_i,
  output logic [Bits-1:0]                 inline_line_o,
  // and for the end.
  output hcasim_engine_pkg::wr_t          left_wr_o,
  output logic                            left_follows_o
);

  localparam int unsigned WrBits      = $bits(check_wr_o);
  localparam int unsigned ContextBits = $bits(context_i);
  localparam int unsigned UdBits      = $bits(packet_ud_o);
  localparam int unsigned BindBits    = $bits(check_bind_o);

  logic [Bits-1:0]        block_mem   [Slots << BlockBits];
  logic [WrBits-1:0]      wr_mem      [Slots];
  logic [ContextBits-1:0] context_mem [Slots];
  logic [UdBits-1:0]      ud_mem      [Slots];
  logic [BindBits-1:0]    bind_mem    [Slots];

  logic [SlotBits:0]                decoded_q, slot; // of the block
  logic [BlockBits-1:0]             number_q, number; // of the next block, of this one
  logic                             take, decode_ready, decoded, full;
  hcasim_engine_pkg::wr_t           wr;
  hcasim_pkg::seg_ud_t              ud;
  hcasim_pkg::seg_bind_t            bind_seg;

  // A WQE is decoded in the cycle after its last block: what comes then is the first block of the next one.
  assign slot          = decoded_q + (SlotBits + 1)'(decoded);
  assign number        = decoded ? '0 : number_q;
  assign full          = slot - left_i == (SlotBits + 1)'(Slots);
  assign block_ready_o = decode_ready && !full;
  assign take          = block_valid_i && block_ready_o;
  assign decoded_o     = decoded_q;

  hcasim_wqe_decode u_decode (
    .clk_i,
    .rst_i,
    .valid_i (take),
    .ready_o (decode_ready),
    .block_i,
    .qp_i    (decode_qp_i),
    .index_i,
    .posted_i,
    .valid_o (decoded),
    .ready_i (1'b1),
    .wr_o    (wr),
    .ud_o    (ud),
    .bind_o  (bind_seg)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      decoded_q <= '0;
      number_q  <= '0;
    end else begin
      decoded_q <= slot;
      number_q  <= number + BlockBits'(take);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) block_mem[{slot[SlotBits-1:0], number}] <= block_i;
    if (take && number == '0) context_mem[slot[SlotBits-1:0]] <= context_i;
    if (decoded) begin
      wr_mem[decoded_q[SlotBits-1:0]]   <= wr;
      ud_mem[decoded_q[SlotBits-1:0]]   <= ud;
      bind_mem[decoded_q[SlotBits-1:0]] <= bind_seg;
    end
  end

  assign check_wr_o       = wr_mem[check_slot_i];
  assign check_context_o  = context_mem[check_slot_i];
  assign check_bind_o     = bind_mem[check_slot_i];
  assign check_lines_o    = {block_mem[{check_slot_i, check_block_i + BlockBits'(1)}],
                             block_mem[{check_slot_i, check_block_i}]};
  assign packet_wr_o      = wr_mem[packet_slot_i];
  assign packet_context_o = context_mem[packet_slot_i];
  assign packet_ud_o      = ud_mem[packet_slot_i];
  assign sge_line_o       = block_mem[sge_block_i];
  assign inline_line_o    = block_mem[inline_block_i];

  hcasim_engine_pkg::wqe_context_t left_context;

  assign left_wr_o      = wr_mem[left_i[SlotBits-1:0]];
  assign left_context   = context_mem[left_i[SlotBits-1:0]];
  assign left_follows_o = left_context.follows;

  logic unused_bits;
  assign unused_bits = ^{left_context};

  `HCASIM_ASSERT(NotOverfull, slot - left_i <= (SlotBits + 1)'(Slots))

  `HCASIM_LEGAL_POWER(Slots)

endmodule
