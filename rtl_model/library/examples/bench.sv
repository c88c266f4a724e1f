// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A test bench in SystemVerilog for the send engine, by DPI-C: RDMA WRITEs with inline data. Each WQE is read by the engine
// from an array of this bench; each packet's header fields and payload are checked, and acknowledged.
module bench;
  import "DPI-C" function chandle hcasim_engine_open();
  import "DPI-C" function void hcasim_engine_close(chandle engine);
  import "DPI-C" function int hcasim_engine_qp(chandle engine, int unsigned qpn, longint unsigned ring, int unsigned blocks,
                                               int unsigned mtu, int unsigned dest_qpn, int unsigned psn);
  import "DPI-C" function int hcasim_engine_doorbell(chandle engine, int unsigned qpn, int unsigned pi);
  import "DPI-C" function int hcasim_engine_next(chandle engine);
  import "DPI-C" function longint unsigned hcasim_engine_field(chandle engine, int field);
  import "DPI-C" function int hcasim_engine_piece(chandle engine, int unsigned i, output longint unsigned addr,
                                                  output int unsigned length);
  import "DPI-C" function int hcasim_engine_head(chandle engine, int unsigned at, output bit [511:0] bytes);
  import "DPI-C" function int hcasim_engine_data(chandle engine, int unsigned at, input bit [511:0] bytes);
  import "DPI-C" function int hcasim_engine_read_done(chandle engine, int unsigned tag, int status);
  import "DPI-C" function int hcasim_engine_leave(chandle engine, int unsigned tag, int failed);
  import "DPI-C" function int hcasim_engine_released(chandle engine, int unsigned tag);
  import "DPI-C" function int hcasim_engine_ack(chandle engine, int unsigned qpn, int unsigned psn, int unsigned kind,
                                                int unsigned value);
  import "DPI-C" function longint unsigned hcasim_engine_cycles(chandle engine);

  // As in hcasim_engine.h.
  typedef enum int {
    EventIdle, EventRead, EventPacket, EventCompletion, EventResult, EventTimer, EventFailed
  } event_e;
  typedef enum int {
    FieldQpn, FieldTag, FieldPieces, FieldLength, FieldOpcode, FieldPsn, FieldDestQpn, FieldAckreq, FieldVa, FieldRkey,
    FieldDmalen, FieldHead, FieldIndex, FieldBlocks, FieldStatus, FieldAt
  } field_e;

  localparam int unsigned Qpn = 3, Blocks = 64, Wqes = 500, FirstPsn = 32'hfffff0;
  localparam longint unsigned Ring = 64'h4000;

  chandle      engine;
  bit [511:0]  ring [Blocks]; // host memory
  int unsigned completed = 0, packets = 0;

  task automatic check(input bit good, input string what);
    if (!good) $fatal(1, "%s (packet %0d, completion %0d)", what, packets, completed);
  endtask

  function automatic longint unsigned field(field_e which);
    return hcasim_engine_field(engine, which);
  endfunction

  // WQE n: RDMA WRITE of n % 28 inline bytes of value n to address 4096 * n.
  function automatic bit [511:0] wqe(int unsigned n);
    hcasim_pkg::wqe_ctrl_t   ctrl = '0;
    hcasim_pkg::seg_remote_t remote = '0;
    int unsigned             bytes = n % 28;
    bit [511:0]              w;

    ctrl.opcode   = 8'(hcasim_pkg::WQE_OP_RDMA_WRITE);
    ctrl.size     = 8'((16 + 16 + 4 + bytes + 15) / 16);
    ctrl.index    = 16'(n);
    ctrl.qpn      = 24'(Qpn);
    ctrl.signaled = 1'b1;
    ctrl.inline_  = 1'b1;
    remote.addr   = 64'(n) * 4096;
    remote.rkey   = 32'h1234;
    w             = 512'({32'(bytes), remote, ctrl});
    for (int unsigned i = 0; i < bytes; i++) w[288 + 8 * i +: 8] = 8'(n);
    return w;
  endfunction

  task automatic read();
    longint unsigned addr;
    int unsigned     length, at = 0;

    for (int unsigned i = 0; i < int'(field(FieldPieces)); i++) begin
      check(hcasim_engine_piece(engine, i, addr, length) == 0, "piece");
      for (int unsigned from = 0; from < length; from += 64) begin
        check(hcasim_engine_data(engine, at, ring[6'((addr - Ring + 64'(from)) / 64)]) == 0, "data");
        at += 64;
      end
    end
    check(hcasim_engine_read_done(engine, int'(field(FieldTag)), 0) == 0, "read_done");
  endtask

  task automatic packet();
    int unsigned tag = int'(field(FieldTag)), psn = int'(field(FieldPsn)), bytes = packets % 28;
    bit [511:0]  head;

    check(field(FieldOpcode) == 64'(hcasim_pkg::BTH_OP_RC_RDMA_WRITE_ONLY), "opcode");
    check(psn == ((FirstPsn + packets) & 32'hffffff), "PSN");
    check(field(FieldVa) == 64'(packets) * 4096 && field(FieldRkey) == 64'h1234, "RETH");
    check(field(FieldLength) == 64'(bytes) && field(FieldDmalen) == field(FieldLength), "length");
    if (bytes != 0) begin
      check(hcasim_engine_head(engine, 0, head) == 0, "head");
      for (int unsigned i = 0; i < 64; i++) check(head[8 * i +: 8] == (i < bytes ? 8'(packets) : 8'd0), "payload");
    end
    packets++;
    check(hcasim_engine_leave(engine, tag, 0) == 1, "leave");
    check(hcasim_engine_released(engine, tag) == 0, "released");
    check(hcasim_engine_ack(engine, Qpn, psn, 0, 31) == 0, "ack");
  endtask

  task automatic serve(int unsigned wqes);
    event_e kind;

    while (completed < wqes) begin
      kind = event_e'(hcasim_engine_next(engine)); // in a case it would be called for each comparison
      unique case (kind)
        EventRead: read();
        EventPacket: packet();
        EventTimer: ;
        EventCompletion: begin
          check(field(FieldIndex) == 64'(completed) && field(FieldStatus) == 0, "completion");
          completed++;
        end
        default: check(0, kind.name());
      endcase
    end
  endtask

  initial begin
    engine = hcasim_engine_open();
    check(hcasim_engine_qp(engine, Qpn, Ring, Blocks, 1024, 8, FirstPsn) == 0, "qp");
    for (int unsigned n = 0; n < Wqes; n++) begin
      ring[6'(n)] = wqe(n);
      if (n % 16 == 15 || n + 1 == Wqes) begin // a doorbell for 16
        check(hcasim_engine_doorbell(engine, Qpn, n + 1) == 0, "doorbell");
        serve(n + 1);
      end
    end
    check(hcasim_engine_doorbell(engine, Qpn + 1, 1) < 0, "a QP that does not exist");
    $display("%0d WRITEs, %0d cycles", Wqes, hcasim_engine_cycles(engine));
    hcasim_engine_close(engine);
    $finish;
  end
endmodule
