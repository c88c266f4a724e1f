// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// CRC-32 (IEEE 802.3, reflected) of up to Bytes bytes in one cycle, without the inversions at both ends. The caller has
// shifted the bytes to the end of the word and added the CRC so far to the first four of them: what stands before is 0,
// and zeroes in front of a message do not count.

`include "hcasim_assert.svh"

module hcasim_crc #(
  parameter int unsigned Bytes = 64
) (
  input  logic [Bytes*8-1:0] data_i, // byte 0, the first, in bits 7:0
  output logic [31:0]        crc_o
);

  // The bits of data_i whose sum is bit `number` of the CRC. A step of the register is crc' = (crc >> 1) ^ (crc[0] ^ d ?
  // CrcPoly : 0); this goes through the steps from the last back, with `row` the bits of the register that count.
  function automatic logic [Bytes*8-1:0] bits_of(input int unsigned number);
    logic [31:0]        row;
    logic [Bytes*8-1:0] sum;
    row = 32'd1 << number;
    for (int i = Bytes * 8 - 1; i >= 0; i--) begin
      sum[i] = ^(row & hcasim_net_pkg::CrcPoly);
      row = {row[30:0], sum[i]};
    end
    bits_of = sum;
  endfunction

  for (genvar b = 0; b < 32; b++) begin : gen_bit
    localparam logic [Bytes*8-1:0] Sum = bits_of(b);
    assign crc_o[b] = ^(data_i & Sum);
  end

  `HCASIM_LEGAL_BYTES

endmodule
