// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: WQEs that are decoded and not completed, from `head` to `tail`.

        // WQE seq_q, in w_q, completes in error, in its turn; no packet from it on is sent any more.
        StFail: begin
          state_q <= ret_fail_q;
          if (!w_q.failed && !w_q.acked) begin
            w_q.failed     <= 1'b1;
            w_q.status     <= fail_status_q;
            w_q.vendor_err <= fail_vendor_q;
            if (behind(q_q.cur, seq_q)) begin
              q_q.cur     <= seq_q;
              q_q.cur_pkt <= '0;
            end
            if (!q_q.fault || behind(q_q.fault_seq, seq_q)) q_q.fault_seq <= seq_q;
            q_q.fault <= 1'b1;
            store(ret_fail_q);
          end
        end

        // The first WQE from walk_q on that still has packets to be sent or acknowledged.
        StOpen: begin
          if (walk_q == q_q.tail) state_q <= ret_open_q;
          else if (rec_ack_i) begin
            seq_q   <= walk_q;
            w_q     <= rec_wqe_i;
            state_q <= StOpen1;
          end
        end
        StOpen1: begin
          if (w_q.acked) begin
            walk_q  <= walk_q + 16'd1;
            state_q <= StOpen;
          end else begin
            state_q <= ret_open_q;
          end
        end

        // The timer is set to at_q.
        StTimerSet: begin
          req_q.at     <= at_q;
          q_q.timer_on <= at_q != Never;
          if (at_q != Never || q_q.timer_on) ask(hcasim_engine_pkg::ReqTimer, ret_set_q);
          else state_q <= ret_set_q;
        end

        // The ACK timeout runs while a started request is not acknowledged.
        StTimer: begin
          if (!timer_asks) begin
            state_q <= ret_timer_q;
          end else if (rec_ack_i) begin
            seq_q   <= q_q.ack;
            w_q     <= rec_wqe_i;
            state_q <= StTimer1;
          end
        end
        StTimer1: begin
          if (!(reliable && c_q.timeout != '0 && has_ack && w_q.started && !w_q.failed) ||
              (c_q.state != 3'(hcasim_pkg::QPS_RTS) && c_q.state != 3'(hcasim_pkg::QPS_SQD)))
            set_timer(Never, ret_timer_q);
          else if (!q_q.timer_on) ask(hcasim_engine_pkg::ReqNow, StTimer2);
          else state_q <= ret_timer_q;
        end
        StTimer2: begin
          q_q.ack_deadline <= time_q + (TimeoutUnit << c_q.timeout);
          set_timer(time_q + (TimeoutUnit << c_q.timeout), ret_timer_q);
        end

        // Everything that is not acknowledged is sent again.
        StBack: begin
          if (!has_ack) state_q <= ret_back_q;
          else load(q_q.ack, StBack1);
        end
        StBack1: begin
          walk_q <= q_q.ack;
          if (w_q.started) begin
            q_q.cur     <= q_q.ack;
            q_q.cur_pkt <= sent;
            state_q     <= StBack2;
          end else begin
            state_q <= ret_back_q;
          end
        end
        StBack2: begin
          q_q.rd_out <= '0;
          if (walk_q == q_q.tail) ask(hcasim_engine_pkg::ReqNow, StBack4);
          else load(walk_q, StBack3);
        end
        StBack3: begin
          walk_q         <= walk_q + 16'd1;
          w_q.rd_counted <= 1'b0;
          if (w_q.rd_counted) store(StBack2);
          else state_q <= StBack2;
        end
        StBack4: begin
          q_q.ack_deadline  <= time_q + (TimeoutUnit << c_q.timeout);
          retransmissions_q <= retransmissions_q + 64'd1;
          state_q           <= ret_back_q;
        end

        StRetry: load(q_q.ack, StRetry1);
        StRetry1: begin
          if (q_q.retries >= c_q.retry_cnt) begin
            fail(8'(hcasim_pkg::CQE_STATUS_RETRY_EXC_ERR), NoError, ret_retry_q);
          end else begin
            q_q.retries     <= q_q.retries + 8'd1;
            ret_back_q      <= ret_retry_q;
            state_q         <= StBack;
            sequence_naks_q <= sequence_naks_q + 64'(cause_q == CauseNak);
            implied_naks_q  <= implied_naks_q + 64'(cause_q == CauseImplied);
            timeouts_q      <= timeouts_q + 64'(cause_q == CauseTimeout);
          end
        end

        // Several pending responses may show the same loss; go back only once.
        StImplied: begin
          if (!q_q.nak_rewound && q_q.paging == '0) begin
            q_q.nak_rewound <= 1'b1;
            cause_q         <= CauseImplied;
            ret_retry_q     <= StReplyEnd;
            state_q         <= StRetry;
          end else begin
            state_q <= StReplyEnd;
          end
        end

        // PSNs before una_q are acknowledged; w_q is the oldest request with one of them.
        StAcked: begin
          acked(una_q);
          ask(hcasim_engine_pkg::ReqNow, StAcked1);
        end
        StAcked1: begin
          q_q.ack_deadline <= time_q + (TimeoutUnit << c_q.timeout);
          walk_q           <= seq_q;
          if (sent >= w_q.npsn) begin
            w_q.acked      <= 1'b1;
            w_q.rd_counted <= 1'b0;
            if (w_q.rd_counted) q_q.rd_out <= q_q.rd_out - 16'd1;
            all_q      <= q_q.cur == seq_q; // answered after it was scheduled to be sent again: `cur` moves on with `ack`
            ret_open_q <= StAcked3;
            store(StOpen);
          end else begin
            if (q_q.cur == seq_q && q_q.cur_pkt < sent) q_q.cur_pkt <= sent;
            state_q <= ret_acked_q;
          end
        end
        StAcked3: begin
          q_q.ack <= walk_q;
          if (all_q) begin
            q_q.cur     <= walk_q;
            q_q.cur_pkt <= '0;
          end
          state_q <= ret_acked_q;
        end

        // The peer has received everything up to until_q; not all_q: but a READ or atomic among it is not answered. The oldest
        // WQE ends at once if it needs no completion, one a cycle: the next one is read meanwhile.
        StUntil: begin
          all_q <= 1'b1;
          if (!has_ack) begin
            state_q <= ret_until_q;
          end else if (rec_ack_i) begin
            seq_q   <= q_q.ack;
            w_q     <= rec_wqe_i;
            state_q <= StUntil1;
          end
        end
        StUntil1: begin
          if (w_q.acked) begin
            q_q.ack <= q_q.ack + 16'd1;
            until_next();
          end else if (ends_here) begin
            if (req_ack_i) begin
              acked(w_q.first_psn + w_q.npsn);
              q_q.ack_deadline <= ans_time_i + (TimeoutUnit << c_q.timeout);
              q_q.ack          <= q_q.ack + 16'd1;
              q_q.head         <= q_q.head + 16'd1;
              q_q.retired      <= w_q.index + 16'(w_q.num_bb);
              until_next();
            end
          end else if (!w_q.started || w_q.failed || 24'(until_q - q_q.una_psn) >= 24'(q_q.next_psn - q_q.una_psn)) begin
            state_q <= ret_until_q;
          end else if (answered) begin
            all_q   <= 1'b0;
            state_q <= ret_until_q;
          end else begin
            una_q       <= 24'(until_q - q_q.una_psn) < 24'(w_q.npsn - sent) ? until_q + 24'd1 : w_q.first_psn + w_q.npsn;
            ret_acked_q <= StUntil;
            state_q     <= StAcked;
          end
        end

        // Pages that WQE seq_q, in w_q, reads, or (result_q) those for a response, are asked for.
        StFault: begin
          if (q_q.paging[result_q]) state_q <= ret_fault_q;
          else if (!tag_avail) fail(8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR), 8'(hcasim_pkg::VENDOR_ERR_DMA_FAULT),
                                    ret_fault_q);
          else ask_memory(hcasim_engine_pkg::ReqPages, '0, '1, result_q, 1'b0, StFault1);
        end
        StFault1: begin
          if (ok_q) begin
            q_q.paging[result_q] <= 1'b1;
            state_q              <= ret_fault_q;
          end else begin
            fail(8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR), 8'(hcasim_pkg::VENDOR_ERR_DMA_FAULT), ret_fault_q);
          end
        end
