// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: the beginning and end of an op, access to memory, and short ops.

        // The context of the last op is still here: an op of the same queue pair begins in the cycle in which it comes. It is
        // stored when that of another queue pair is needed.
        StIdle, StDispatch: begin
          if (state_q == StIdle) begin
            served_q <= op_valid_i;
            if (op_valid_i) begin
              op_q     <= op_i;
              res_ok_q <= 1'b0;
              tag_q    <= tag_now;
              slot_q   <= queue_head;
              f_q      <= f_head;
              qpn_q    <= op_qpn;
              if (op_i == hcasim_engine_pkg::OpPortSet) mtu_q[op_port_i] <= op_mtu_i;
              else if (!dispatch) state_q <= held_q && changed_q ? StSave : StContext;
            end
          end
          if (dispatch) begin
            req_q.at  <= Never;
            changed_q <= changed_q || op_i < hcasim_engine_pkg::OpQuery;
            state_q   <= StIdle;
            carry_out();
          end
        end

        StSave: state_q <= StContext; // it is in the cache
        StContext: if (load_ack) begin
          c_q        <= load_attr;
          q_q        <= load_state;
          held_q     <= 1'b1;
          held_qpn_q <= qpn_q;
          changed_q  <= 1'b0;
          state_q    <= StDispatch;
        end
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
          state_q <= StIdle;
        end

        StState: begin
          result_cur_o <= has_cur ? w_q.index : '0;
          load(q_q.ack, StState1);
        end
        StState1: begin
          result_ack_o <= has_ack ? w_q.index : '0;
          state_q      <= StIdle;
        end
