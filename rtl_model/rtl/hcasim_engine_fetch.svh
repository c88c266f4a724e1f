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
          req_q.slot    <= 5'(slot_q);
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

        // The next WQE of fetch buffer slot_q: its size, and its blocks through the decoder.
        StSize, StDecode1: size_wqe();
        StBlocks: if (dec_take) begin
          fed_q <= fed_q + 5'd1;
          if (fed_q + 5'd1 == blocks_q) state_q <= StDecode2;
        end
        StDecode2: begin
          wr_q        <= wr_new;
          ud_q        <= dec_info.address && c_q.qp_type == 8'(hcasim_pkg::QPT_UD) ? dec_ud : '0;
          bind_q      <= dec_info.seg_bind ? dec_bind : '0;
          w_q.num_sge <= 7'(dec_wr.num_sge);
          if (dec_info.seg_tso) state_q <= StTso;
          else limit_wqe();
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
        StLimits: limit_wqe();

        // Its record is written, and its bytes go there. A WQE that is not the oldest changes nothing for those before it.
        StAppend: begin
          stored_q <= stored_q || rec_ack_i;
          seen_q   <= seen_q || req_ack_i;
          if (appended) begin
            q_q.tail <= q_q.tail + 16'd1;
            wqes_q   <= wqes_q + 64'd1;
            f_q      <= f_next;
            if (f_ends) q_q.fetching <= 1'b0;
            if (alone) lists();
            else state_q <= StSettle;
          end
        end

        // The fetch buffer is free again.
        StDecoded: begin
          if (fresh) q_q.fetching <= 1'b0;
          state_q <= fresh ? StSettle : StIdle;
        end
