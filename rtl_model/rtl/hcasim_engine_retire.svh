// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: the end of WQEs, in order: completed, flushed, or removed without a completion.

        // ERR (IBTA 10.3.1.6): nothing is sent any more; posted WQEs are flushed.
        StError: begin
          c_q.state <= 3'(hcasim_pkg::QPS_ERR);
          set_timer(Never, StError1);
        end
        StError1: begin
          q_q.rnr_wait <= 1'b0;
          state_q      <= ret_error_q;
        end

        // Every change of a queue ends here. Removes WQEs that end without a completion; stops at one that needs a
        // completion, or has not ended.
        StSettle: begin
          if (q_q.head == q_q.tail) begin
            settled();
          end else if (rec_ack_i) begin
            seq_q   <= q_q.head;
            w_q     <= rec_wqe_i;
            state_q <= StSettle1;
          end
        end
        StSettle1: begin
          settled();
          if (w_q.dma_pending == '0) begin
            if (w_q.failed && !w_q.settled && !flushing) begin
              w_q.settled <= 1'b1;
              walk_q      <= q_q.head + 16'd1;
              store(StFlush);
            end else if (w_q.failed ? !w_q.started && !w_q.settled : !w_q.acked) begin
              if (flushing) begin // even if it is invalid, since it was never executed
                w_q.failed     <= 1'b1;
                w_q.settled    <= 1'b1;
                w_q.status     <= 8'(hcasim_pkg::CQE_STATUS_WR_FLUSH_ERR);
                w_q.vendor_err <= NoError;
                store(StSqd);
              end
            end else if (!w_q.failed && !w_q.signaled) begin
              state_q <= StPop;
            end
          end
        end

        // IBTA 10.3.1: a failed send stops the send queue of an unreliable QP, and both queues of a reliable one. Later
        // WQEs are flushed, even if the peer has acknowledged them.
        StFlush: begin
          if (walk_q != q_q.tail) begin
            load(walk_q, StFlush1);
          end else if (reliable || c_q.state != 3'(hcasim_pkg::QPS_RTS)) begin
            ret_error_q <= StFailed;
            state_q     <= StError;
          end else begin
            c_q.state <= 3'(hcasim_pkg::QPS_SQE);
            state_q   <= StFailed;
          end
        end
        StFlush1: begin
          w_q.failed     <= 1'b1;
          w_q.settled    <= 1'b1;
          w_q.status     <= 8'(hcasim_pkg::CQE_STATUS_WR_FLUSH_ERR);
          w_q.vendor_err <= NoError;
          walk_q         <= walk_q + 16'd1;
          store(StFlush);
        end
        StFailed: begin
          req_q.state <= c_q.state;
          ask(hcasim_engine_pkg::ReqFailed, StSqd);
        end

        // The oldest WQE, in w_q, leaves the window.
        StPop: begin
          q_q.retired <= w_q.index + 16'(w_q.num_bb);
          q_q.head    <= q_q.head + 16'd1;
          if (q_q.cur == q_q.head) begin
            q_q.cur     <= q_q.head + 16'd1;
            q_q.cur_pkt <= '0;
          end
          if (q_q.ack == q_q.head) q_q.ack <= q_q.head + 16'd1;
          if (w_q.rd_counted) q_q.rd_out <= q_q.rd_out - 16'd1;
          if (w_q.started && answered) q_q.rd_incomplete <= q_q.rd_incomplete - 16'd1;
          state_q <= StSettle;
        end

        // IBTA 10.3.1.5: everything that was started before SQD has completed.
        StSqd: begin
          if (c_q.state == 3'(hcasim_pkg::QPS_SQD) && !q_q.drained_sent) load(q_q.head, StDrain);
          else state_q <= StList;
        end
        StDrain: begin
          if (q_q.head != q_q.tail && w_q.started) begin
            state_q <= StList;
          end else begin
            q_q.drained_sent <= 1'b1;
            ask(hcasim_engine_pkg::ReqDrained, StList);
          end
        end
        StList: if (listing) lists();

        // RESET: no WQE, all else as in a new queue.
        StClear: set_timer(Never, StClear1);
        StClear1: begin
          q_q       <= '0;
          q_q.epoch <= q_q.epoch + 24'd1;
          q_q.live  <= op_i != hcasim_engine_pkg::OpDestroy;
          c_q.state <= 3'(hcasim_pkg::QPS_RESET);
          state_q   <= StIdle;
        end
