// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: the next packet of a send queue. The packets of a message are computed from the WQE and the
// packet's number in it, so going back (IBTA 9.7.5.1.1, go-back-N) only sets `cur` and `cur_pkt`.

        StSend: take_wqe();
        StSend3: begin
          if (error_q != NoError) fail(8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR), error_q, StSettle);
          else state_q <= StSend4;
        end
        StSend4: begin
          error_q <= NoError;
          if (local_op && !info.nop) ask(hcasim_engine_pkg::ReqLocal, StSend5);
          else if (tso) state_q <= StSegments;
          else state_q <= StSend5;
        end
        StSegments: if (segments_done) state_q <= StSend5;
        StSend5: begin
          if (local_op && error_q != NoError) begin
            fail(8'(hcasim_pkg::CQE_STATUS_MW_BIND_ERR), error_q, StSettle);
          end else begin
            start_wqe();
            store(StSend6);
          end
        end

        // Pages of the next packet's payload. Those of a result are requested when it arrives.
        StSend6: begin
          if (w_q.npsn == '0) state_q <= StRan;
          else if (reads || w_q.is_inline) state_q <= StSend8;
          else ask_memory(hcasim_engine_pkg::ReqPresent, offset, 64'(mtu), 1'b0, 1'b0, StSend7);
        end
        StSend7: begin
          result_q    <= 1'b0;
          ret_fault_q <= StSettle;
          state_q     <= ok_q ? StSend8 : StFault;
        end

        // Its pieces, and the packet. Without memory nothing changes: the next step tries again.
        StSend8: begin
          error_q <= NoError;
          if (data_len != '0 && !w_q.is_inline)
            ask_memory(hcasim_engine_pkg::ReqLookup, offset, 64'(data_len), 1'b0, 1'b0, StSend10);
          else state_q <= StSend10;
        end
        StSend10: begin
          req_q.offset <= offset;
          req_q.check  <= data_len == '0 || w_q.is_inline; // no pieces
          if (error_q != NoError) fail(8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR), error_q, StSettle);
          else if (!tag_avail) state_q <= StSettle;
          else begin
            ask(hcasim_engine_pkg::ReqPacket, StPacket);
            state_q <= StPacket;
          end
        end
        StPacket: if (req_ack_i) sent_packet();
        // A packet ends no WQE: only the lists are left, with the next WQE that is not acknowledged.
        StNext: begin
          if (listing) lists();
          else if (rec_ack_i) q_q.cur <= q_q.cur + 16'd1;
        end

        // A local operation is acknowledged as soon as it is executed.
        StRan: begin
          w_q.acked  <= 1'b1;
          walk_q     <= q_q.cur + 16'd1;
          ret_open_q <= StRan1;
          store(StOpen);
        end
        StRan1: begin
          q_q.cur     <= walk_q;
          q_q.cur_pkt <= '0;
          walk_q      <= q_q.ack;
          ret_open_q  <= StRan2;
          state_q     <= StOpen;
        end
        StRan2: begin
          q_q.ack     <= walk_q;
          ret_timer_q <= StSettle;
          state_q     <= StTimer;
        end
