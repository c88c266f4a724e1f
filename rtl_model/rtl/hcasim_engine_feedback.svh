// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: what comes back (IBTA 9.7.5, 9.7.6): acknowledges, NAKs, responses of READs and atomics, the
// timer, written results, pages, packets that are about to leave. An acknowledge counts for all earlier requests; a
// response or acknowledge that skips an earlier READ shows that responses were lost: an implied NAK.

        // Drop acknowledges of PSNs that were never sent, or are acknowledged already: they are late.
        StReply: begin
          q_q.ack     <= walk_q;
          ret_timer_q <= StReply1;
          state_q     <= StTimer;
        end
        StReply1: begin
          if (!reliable || !has_ack) state_q <= StSettle;
          else load(q_q.ack, StReply2);
        end
        StReply2: begin
          until_q <= response_i.psn - 24'd1;
          state_q <= StUntil;
          if (!w_q.started || 24'(response_i.psn - q_q.una_psn) >= 24'(q_q.next_psn - q_q.una_psn)) begin
            state_q <= StSettle;
          end else if (response_i.data) begin
            ret_until_q <= StData;
            all_q       <= 1'b1;
            if (response_i.psn == q_q.una_psn) state_q <= StData;
          end else if (response_i.kind == 2'(hcasim_pkg::AETH_KIND_ACK)) begin
            until_q     <= response_i.psn;
            ret_until_q <= StReply3;
          end else if (response_i.kind == 2'(hcasim_pkg::AETH_KIND_RNR) ||
                       response_i.kind == 2'(hcasim_pkg::AETH_KIND_NAK)) begin
            ret_until_q <= StNak;
          end else begin
            state_q <= StReplyEnd;
          end
        end
        StReply3: state_q <= all_q ? StReplyEnd : StImplied;
        StReplyEnd: begin
          ret_timer_q <= StSettle;
          state_q     <= StTimer;
        end

        // ---- Responses with data ----

        StData: begin
          if (!all_q) state_q <= StImplied;
          else load(q_q.ack, StData1);
        end
        StData1: begin
          req_q.offset <= response_i.atomic ? '0 : answer_offset;
          req_q.length <= response_i.atomic ? 64'd8 : 64'(response_i.payload_len);
          state_q      <= StResult;
          if (!w_q.started || w_q.failed || q_q.una_psn != response_i.psn)
            state_q <= StReplyEnd;
          else if (!answered || response_i.atomic != (reads && w_q.op != 8'(hcasim_pkg::WQE_OP_RDMA_READ)) ||
                   (!response_i.atomic && (response_i.payload_len != answer_length ||
                                           response_i.last != (answer_pkt == w_q.npsn - 24'd1))))
            fail(8'(hcasim_pkg::CQE_STATUS_BAD_RESP_ERR), 8'(hcasim_pkg::VENDOR_ERR_SEQUENCE), StReplyEnd);
        end

        // Target memory of the result.
        StResult: begin
          error_q <= NoError;
          count_q <= '0;
          if (req_q.length != '0)
            ask_memory(hcasim_engine_pkg::ReqLookup, req_q.offset, req_q.length, 1'b1, 1'b0, StResult1);
          else state_q <= StResult1;
        end
        StResult1: begin
          pieces_q <= count_q != '0;
          if (error_q != NoError) fail(8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR), error_q, StReplyEnd);
          else ask_memory(hcasim_engine_pkg::ReqPresent, req_q.offset, req_q.length, 1'b1, 1'b0, StResult2);
        end
        StResult2: begin
          result_q    <= 1'b1;
          ret_fault_q <= StReplyEnd;
          if (!ok_q) state_q <= StFault;
          else if (!pieces_q) state_q <= StResult4;
          else if (!tag_avail) fail(8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR), 8'(hcasim_pkg::VENDOR_ERR_DMA_FAULT),
                                    StReplyEnd);
          else ask(hcasim_engine_pkg::ReqResult, StResult3);
        end
        StResult3: begin
          if (count_q[31]) begin
            fail(8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR), 8'(hcasim_pkg::VENDOR_ERR_DMA_FAULT), StReplyEnd);
          end else begin
            w_q.dma_pending <= w_q.dma_pending + count_q[15:0];
            store(StResult4);
          end
        end
        StResult4: begin
          una_q       <= response_i.psn + 24'd1;
          ret_acked_q <= StReplyEnd;
          state_q     <= StAcked;
        end

        // ---- NAKs ----

        StNak: begin
          ret_retry_q <= StReplyEnd;
          if (!all_q) begin
            state_q <= StImplied;
          end else if (response_i.kind == 2'(hcasim_pkg::AETH_KIND_RNR)) begin
            state_q <= StRnr;
          end else if (response_i.value == 8'(hcasim_pkg::NAK_PSN_SEQ)) begin
            cause_q <= CauseNak;
            state_q <= StRetry;
          end else begin
            load(q_q.ack, StFatal);
          end
        end

        StRnr: begin
          ret_back_q <= StRnr2;
          if (q_q.rnr_wait) begin
            state_q <= StReplyEnd;
          end else begin
            if (c_q.rnr_retry != 8'd7 && q_q.rnr_retries >= c_q.rnr_retry) begin
              load(q_q.ack, StRnr1);
            end else begin
              rnr_naks_q      <= rnr_naks_q + 64'd1;
              q_q.rnr_retries <= q_q.rnr_retries + 8'd1;
              q_q.retries     <= '0; // the peer has answered: only retries from here on count
              state_q         <= StBack;
            end
          end
        end
        StRnr1: fail(8'(hcasim_pkg::CQE_STATUS_RNR_RETRY_EXC_ERR), NoError, StReplyEnd);
        StRnr2: begin
          q_q.rnr_wait <= 1'b1;
          ask(hcasim_engine_pkg::ReqNow, StRnr3);
        end
        StRnr3: set_timer(time_q + 64'(rnr_timer.ns) * 64'd1000, StReplyEnd);

        StFatal: begin
          unique case (response_i.value)
            8'(hcasim_pkg::NAK_INV_REQ):    fail(8'(hcasim_pkg::CQE_STATUS_REM_INV_REQ_ERR), NoError, StReplyEnd);
            8'(hcasim_pkg::NAK_REM_ACCESS): fail(8'(hcasim_pkg::CQE_STATUS_REM_ACCESS_ERR), NoError, StReplyEnd);
            8'(hcasim_pkg::NAK_REM_OP):     fail(8'(hcasim_pkg::CQE_STATUS_REM_OP_ERR), NoError, StReplyEnd);
            default:                        fail(8'(hcasim_pkg::CQE_STATUS_BAD_RESP_ERR), NoError, StReplyEnd);
          endcase
        end

        // ---- The timer ----

        StExpired: begin
          ret_timer_q <= StSettle;
          if (q_q.rnr_wait) begin
            q_q.rnr_wait <= 1'b0;
            state_q      <= StTimer;
          end else begin
            ask(hcasim_engine_pkg::ReqNow, StExpired1);
          end
        end
        StExpired1: begin
          ret_retry_q <= StTimer;
          if (time_q < q_q.ack_deadline) begin
            set_timer(q_q.ack_deadline, StSettle);
          end else if (q_q.paging != '0) begin // it waits for the host, not for the peer
            ask(hcasim_engine_pkg::ReqNow, StExpired2);
          end else begin
            cause_q         <= CauseTimeout;
            q_q.nak_rewound <= 1'b0;
            state_q         <= StRetry;
          end
        end
        StExpired2: begin
          q_q.ack_deadline <= time_q + (TimeoutUnit << c_q.timeout);
          state_q          <= StTimer;
        end

        // ---- Results and pages ----

        StWritten: begin
          w_q.dma_pending <= w_q.dma_pending - 16'd1;
          if (op_flag_i && !w_q.failed) w_q.acked <= 1'b0;
          if (fresh) store(StWritten1);
          else state_q <= StIdle;
        end
        StWritten1: begin
          if (op_flag_i) fail(8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR), 8'(hcasim_pkg::VENDOR_ERR_DMA_FAULT), StSettle);
          else state_q <= StSettle;
        end

        StPages: begin
          q_q.paging[tag_q.result] <= 1'b0;
          ret_timer_q              <= StSettle;
          ret_back_q               <= StTimer;
          if (flushing || !in_window(tag_q.seq, q_q.head, q_q.tail)) state_q <= StSettle;
          else if (!op_flag_i) load(tag_q.seq, StPages1);
          else state_q <= tag_q.result ? StBack : StTimer;
        end
        StPages1: fail(8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR), 8'(hcasim_pkg::VENDOR_ERR_DMA_FAULT), StTimer);

        // ---- A packet is about to leave ----

        StLeave: fail(8'(hcasim_pkg::CQE_STATUS_LOC_PROT_ERR), 8'(hcasim_pkg::VENDOR_ERR_DMA_FAULT), StLeave1);
        StLeave1: left();
        StLeft: begin
          w_q.acked <= 1'b1;
          store(StSettle);
        end
