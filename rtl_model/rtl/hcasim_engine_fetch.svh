// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Part of hcasim_engine: reads of the ring, and the decoding of what they bring.

        // As many blocks as fit into a read, one read per queue at a time. In the error states the queue is still read:
        // the size of a WQE, and so what has to be flushed, is in the WQEs.
        StFetch: begin
          q_q.on_fetch  <= 1'b0;
          req_q.addr0   <= c_q.ring + 64'(first_block) * 64'(BlockBytes);
          req_q.bytes0  <= 11'(straight) * 11'(BlockBytes);
          req_q.addr1   <= c_q.ring;
          req_q.bytes1  <= 11'(fetch_size - straight) * 11'(BlockBytes);
          req_q.slot    <= slot_q;
          if (tag_avail) ask(hcasim_engine_pkg::ReqRead, StFetch1);
          else state_q <= StSettle;
        end
        StFetch1: begin
          if (ok_q) begin
            q_q.fetching <= 1'b1;
            q_q.fetched  <= q_q.fetched + fetch_size;
          end
          state_q <= StSettle;
        end

        // The next WQE of fetch buffer slot_q.
        StSize, StDecode1: if (state_q == StDecode1 || block_ack_i) begin
          req_q.slot    <= slot_q;
          req_q.block   <= f_q.used_bb;
          blocks_q      <= wqe_blocks;
          fed_q         <= '0;
          fail_vendor_q <= f_q.failed ? 8'(hcasim_pkg::VENDOR_ERR_DMA_FAULT) : NoError;
          bytes_q       <= wqe_bytes[10:0];
          wr_q          <= '0;
          ud_q          <= '0;
          bind_q        <= '0;
          w_q           <= '0;
          if (state_q == StSize && !native_i) begin
            ask(hcasim_engine_pkg::ReqSize, StDecode1);
          end else if (op_i == hcasim_engine_pkg::OpDecodeWork) begin
            count_q        <= f_q.failed || wqe_bytes == '0 ? BlockBytes : wqe_bytes;
            result_items_o <= 8'(wqe_blocks <= f_q.num_bb - f_q.used_bb); // 0: it will be fetched again
            state_q        <= StDone;
          end else if (f_q.failed) begin
            blocks_q <= 5'd1;
            bytes_q  <= 11'(BlockBytes);
            state_q  <= StLimits;
          end else if (!size_ok || 16'(wqe_blocks) > 16'(q_q.pi - index)) begin
            // The ring has no complete WQE here. Report the decoder's reason, if it has a better one.
            blocks_q      <= 5'd1;
            bytes_q       <= 11'(BlockBytes);
            fail_vendor_q <= 8'(hcasim_pkg::VENDOR_ERR_BAD_SIZE);
            state_q       <= native_i ? StBlocks : StForeign;
          end else if (wqe_blocks > f_q.num_bb - f_q.used_bb) begin
            q_q.fetched <= index; // its rest is still in the ring: fetch it again, completely
            state_q     <= StDecoded;
          end else begin
            state_q <= native_i ? StBlocks : StForeign;
          end
        end
        StBlocks: if (dec_valid) begin
          fed_q <= fed_q + 5'd1;
          if (fed_q + 5'd1 == blocks_q) state_q <= StDecode2;
        end
        StDecode2: if (dec_done) begin
          // Fields of segments that the WQE does not have are 0.
          wr_q         <= dec_wr;
          if (!dec_info.seg_remote) begin
            wr_q.remote_addr <= '0;
            wr_q.rkey        <= '0;
          end
          if (!dec_info.seg_atomic) begin
            wr_q.swap_add <= '0;
            wr_q.compare  <= '0;
          end
          if (!dec_info.seg_flush) begin
            wr_q.flush_length <= '0;
            wr_q.flush_type   <= '0;
            wr_q.flush_level  <= '0;
          end
          if (!dec_info.address || c_q.qp_type != 8'(hcasim_pkg::QPT_XRC_SEND)) wr_q.srqn <= '0;
          ud_q         <= dec_info.address && c_q.qp_type == 8'(hcasim_pkg::QPT_UD) ? dec_ud : '0;
          bind_q       <= dec_info.seg_bind ? dec_bind : '0;
          w_q.num_sge  <= 7'(dec_wr.num_sge);
          state_q      <= dec_info.seg_tso ? StTso : StLimits;
        end
        StForeign: begin
          req_q.bytes <= bytes_q;
          req_q.index <= index;
          ask(hcasim_engine_pkg::ReqDecode, StForeign1);
        end
        StForeign1: begin
          wr_q        <= dec_wr_i;
          ud_q        <= dec_ud_i;
          bind_q      <= dec_bind_i;
          w_q.num_sge <= dec_num_sge_i;
          state_q     <= StTso;
        end

        // The headers of TSO.
        StTso: begin
          fed_q   <= '0;
          state_q <= tso_wanted ? StTsoBlocks : StLimits;
        end
        StTsoBlocks: if (block_ack_i) begin
          fed_q <= fed_q + 5'd1;
          if (fed_q + 5'd1 == blocks_q) state_q <= StTsoParse;
        end
        StTsoParse: if (headers_done) begin
          net_q   <= headers_net;
          state_q <= StLimits;
        end
        StLimits: begin
          w_q.op        <= wr_q.op;
          w_q.index     <= index;
          w_q.num_bb    <= blocks_q;
          w_q.signaled  <= wr_q.signaled;
          w_q.fence     <= wr_q.fence;
          w_q.is_inline <= wr_q.is_inline;
          w_q.length    <= wr_q.length;
          w_q.mss       <= wr_q.mss;
          w_q.fetched   <= f_q.arrived;
          wr_q.index    <= index;
          wr_q.num_bb   <= blocks_q;
          if (fail_vendor_q != NoError && wr_q.vendor_err == NoError) begin
            w_q.failed     <= 1'b1;
            w_q.status     <= 8'(hcasim_pkg::CQE_STATUS_LOC_QP_OP_ERR);
            w_q.vendor_err <= fail_vendor_q;
          end else if (native_i && tso_wanted && !headers_ok) begin
            w_q.failed     <= 1'b1;
            w_q.status     <= 8'(hcasim_pkg::CQE_STATUS_LOC_QP_OP_ERR);
            w_q.vendor_err <= 8'(hcasim_pkg::VENDOR_ERR_BAD_SEGMENT);
          end else if (native_i ? wr_q.status != StatusOk : limit_vendor != NoError) begin
            w_q.failed     <= 1'b1;
            w_q.status     <= native_i ? wr_q.status : limit_status;
            w_q.vendor_err <= native_i ? wr_q.vendor_err : limit_vendor;
          end
          if (flushing) begin
            w_q.failed     <= 1'b1;
            w_q.status     <= 8'(hcasim_pkg::CQE_STATUS_WR_FLUSH_ERR);
            w_q.vendor_err <= NoError;
          end
          seq_q       <= q_q.tail;
          req_q.slot  <= slot_q;
          req_q.block <= f_q.used_bb;
          req_q.bytes <= bytes_q;
          req_q.check <= f_q.failed; // there are no bytes
          state_q     <= StAppend1;
        end
        StAppend1: if (rec_ack_i) ask(hcasim_engine_pkg::ReqSeen, StSeen1); // its record is written
        StSeen1: begin
          q_q.tail <= q_q.tail + 16'd1;
          wqes_q   <= wqes_q + 64'd1;
          f_q      <= f_next;
          // A WQE behind others changes nothing for those.
          short_q  <= q_q.head != seq_q && c_q.state == 3'(hcasim_pkg::QPS_RTS);
          if (f_next.used_bb == f_q.num_bb) state_q <= StDecoded;
          else state_q <= q_q.head != seq_q && c_q.state == 3'(hcasim_pkg::QPS_RTS) ? StList1 : StSettle;
        end

        // The fetch buffer is free again.
        StDecoded: begin
          if (fresh) q_q.fetching <= 1'b0;
          if (!fresh) state_q <= StDone;
          else state_q <= short_q ? StList1 : StSettle;
        end
