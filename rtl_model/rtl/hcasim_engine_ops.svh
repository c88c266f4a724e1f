// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: the beginning and end of an op, access to memory, and short ops.

        StIdle: begin
          res_ok_q <= 1'b0;
          tag_q   <= tag_now;
          slot_q  <= queue_head;
          f_q     <= fetch_q[queue_head];
          f_q.failed <= read_failed_q[queue_head];
          f_q.arrived <= arrived_q[queue_head];
          qpn_q   <= op_qpn;
          short_q <= 1'b0;
          if (op_valid_i) begin
            if (op_i == hcasim_engine_pkg::OpPortSet) begin
              mtu_q[op_port_i] <= op_mtu_i;
              state_q          <= StDone;
            end else if (held_q && held_qpn_q == op_qpn) begin
              state_q <= StDispatch;
            end else begin
              state_q <= held_q && changed_q ? StSave : StContext;
            end
          end
        end

        // The context of the last op is still here: it is stored when that of another queue pair is needed.
        StSave: if (load_ack) state_q <= StContext;
        StContext: if (load_ack) begin
          c_q        <= load_attr;
          q_q        <= load_state;
          held_q     <= 1'b1;
          held_qpn_q <= qpn_q;
          changed_q  <= 1'b0;
          state_q    <= StDispatch;
        end
        StDone: state_q <= StIdle;

        StRequest: if (req_ack_i) begin
          ok_q    <= ans_ok_i;
          error_q <= ans_error_i;
          time_q  <= ans_time_i;
          count_q <= ans_count_i;
          state_q <= ret_req_q;
        end

        StLoad: if (rec_ack_i) begin
          w_q     <= rec_wqe_i;
          state_q <= ret_load_q;
        end

        StStore: if (rec_ack_i) state_q <= ret_store_q;

        StDispatch: begin
          req_q.at  <= Never;
          changed_q <= changed_q || op_i < hcasim_engine_pkg::OpQuery;
          unique case (op_i)
            hcasim_engine_pkg::OpCreate: begin
              c_q       <= attr_i;
              q_q       <= '0;
              q_q.epoch <= q_q.epoch + 24'd1;
              q_q.live  <= 1'b1;
              state_q   <= StDone;
            end
            hcasim_engine_pkg::OpSet: begin
              c_q <= attr_i;
              if (set_psn_i) begin
                q_q.next_psn <= psn_i;
                q_q.una_psn  <= psn_i;
              end
              if (set_state_i && attr_i.state == 3'(hcasim_pkg::QPS_SQD)) q_q.drained_sent <= 1'b0;
              if (attr_i.state == 3'(hcasim_pkg::QPS_RTS) && c_q.state == 3'(hcasim_pkg::QPS_SQE)) q_q.fault <= 1'b0;
              ret_timer_q <= StSettle;
              state_q     <= StTimer;
            end
            hcasim_engine_pkg::OpReset, hcasim_engine_pkg::OpDestroy: state_q <= StClear;
            hcasim_engine_pkg::OpError: begin
              ret_error_q <= StSettle;
              state_q     <= c_q.state == 3'(hcasim_pkg::QPS_ERR) || c_q.state == 3'(hcasim_pkg::QPS_RESET) ? StDone
                                                                                                         : StError;
            end
            // The producer index is 16 bits for a ring of at most 32768 basic blocks. Ignore an index outside the
            // ring, counted from the oldest slot in use: it is stale or invalid.
            hcasim_engine_pkg::OpDoorbell: begin
              if (16'(op_index_i - q_q.retired) > 16'(q_q.pi - q_q.retired) &&
                  16'(op_index_i - q_q.retired) <= c_q.entries) q_q.pi <= op_index_i;
              state_q <= StSettle;
            end
            // The pushed bytes replace a read of the ring if everything posted before has been fetched.
            hcasim_engine_pkg::OpPush: begin
              ok_q <= c_q.state == 3'(hcasim_pkg::QPS_RTS) && !q_q.fetching && q_q.fetched == q_q.pi &&
                      q_q.fetched == op_index_i && room_q != '0;
              slot_q <= free_slot;
              if (16'(op_index_i + 16'(op_blocks_i) - q_q.retired) > 16'(q_q.pi - q_q.retired) &&
                  16'(op_index_i + 16'(op_blocks_i) - q_q.retired) <= c_q.entries)
                q_q.pi <= op_index_i + 16'(op_blocks_i);
              state_q <= StPush;
            end
            hcasim_engine_pkg::OpReadDone: begin
              slot_q  <= tag_q.slot;
              state_q <= StDone;
            end
            hcasim_engine_pkg::OpWritten: load(tag_q.seq, StWritten);
            hcasim_engine_pkg::OpPages: state_q <= fresh ? StPages : StDone;
            hcasim_engine_pkg::OpLeave: state_q <= StLeave;
            hcasim_engine_pkg::OpReleased: state_q <= StDone;
            hcasim_engine_pkg::OpResponse: begin
              walk_q     <= q_q.ack;
              ret_open_q <= StReply;
              state_q    <= StOpen;
            end
            hcasim_engine_pkg::OpTimer: begin
              q_q.timer_on <= 1'b0;
              state_q      <= StExpired;
            end
            hcasim_engine_pkg::OpTaken: load(q_q.head, StPop);
            hcasim_engine_pkg::OpFetch: begin
              slot_q  <= free_slot;
              state_q <= StFetch;
            end
            hcasim_engine_pkg::OpDecode: begin
              tag_q.epoch <= f_q.epoch;
              if (!(q_q.live && q_q.epoch == f_q.epoch)) state_q <= StDecoded;
              else state_q <= f_q.failed ? StDecode1 : StSize;
            end
            hcasim_engine_pkg::OpPacketise: state_q <= StSend;
            hcasim_engine_pkg::OpQuery: begin
              res_ok_q <= c_q.state == 3'(hcasim_pkg::QPS_SQD) && !q_q.drained_sent;
              state_q <= StDone;
            end
            hcasim_engine_pkg::OpState: load(q_q.cur, StState);
            hcasim_engine_pkg::OpCompletion: load(q_q.head, StWork);
            hcasim_engine_pkg::OpPacketiseWork: load(q_q.cur, StWork);
            hcasim_engine_pkg::OpFetchWork: begin
              count_q        <= 32'(fetch_size) * BlockBytes;
              result_items_o <= 8'(fetch_size);
              state_q        <= StDone;
            end
            default: state_q <= f_q.failed ? StDecode1 : StSize; // OpDecodeWork
          endcase
        end

        StPush: begin
          q_q.fetching <= q_q.fetching || slot_take;
          if (slot_take) q_q.fetched <= q_q.pi;
          res_ok_q <= slot_take;
          state_q <= StSettle;
        end

        // The oldest WQE, or the size of the next packet.
        StWork: begin
          res_ok_q       <= q_q.head != q_q.tail && w_q.dma_pending == '0 &&
                            (w_q.failed || (w_q.acked && w_q.signaled));
          result_items_o <= 8'(w_q.num_sge) + 8'd1;
          count_q        <= '0;
          if (!reads && offset <= 64'(w_q.length))
            count_q <= 64'(w_q.length) - offset < 64'(mtu) ? 32'(64'(w_q.length) - offset) : mtu;
          state_q <= StDone;
        end

        StState: begin
          result_cur_o <= has_cur ? w_q.index : '0;
          load(q_q.ack, StState1);
        end
        StState1: begin
          result_ack_o <= has_ack ? w_q.index : '0;
          state_q      <= StDone;
        end
