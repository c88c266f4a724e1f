// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the modules of the send engine hand to each other. Addresses of hosts (MAC, GID) and immediate data stand as in
// memory, byte 0 in bits 7:0; everything else is a number.
package hcasim_engine_pkg;

  // One packet to be made: its headers' fields, as struct pkt_spec of sim/core/wire/headers.h with the address vector
  // and the port's own addresses.
  typedef struct packed {
    logic [7:0]   opcode; // BTH.opcode, of a request
    logic [47:0]  dmac;
    logic [47:0]  smac;
    logic [127:0] dgid;
    logic [127:0] sgid;
    logic [7:0]   traffic_class;
    logic [7:0]   hop_limit; // 0: the usual
    logic [19:0]  flow_label;
    logic [15:0]  sport;
    logic [23:0]  dqpn;
    logic [23:0]  psn;
    logic         se;
    logic         ackreq;
    logic [31:0]  qkey;
    logic [23:0]  sqpn;
    logic [23:0]  srqn;
    logic [63:0]  va;
    logic [31:0]  rkey;
    logic [31:0]  dmalen; // bytes of the whole message
    logic [63:0]  swap_add;
    logic [63:0]  compare;
    logic [31:0]  imm;
    logic [31:0]  inv_rkey;
    logic [1:0]   sel;
    logic [3:0]   plt;
    logic [15:0]  payload_len; // bytes, without padding
  } packet_t;

  // What the decoder has to know of the QP.
  typedef struct packed {
    logic [7:0]  qp_type; // QPT_*
    logic [23:0] qpn;
    logic [7:0]  port;
    logic [15:0] port_mtu;   // bytes
    logic [15:0] max_inline; // bytes
    logic        rd_atomic;  // max_rd_atomic is not 0
  } decode_qp_t;

  // One decoded WQE, as struct hca_wr of sim/core/personality.h. SGEs, inline bytes and TSO headers stay in the WQE.
  typedef struct packed {
    logic [7:0]   op;     // WQE_OP_*
    logic [15:0]  index;  // of its first basic block
    logic [4:0]   num_bb;
    logic [7:0]   status; // CQE_STATUS_*; but for OK, what follows does not count, except `signaled`
    logic [7:0]   vendor_err;
    logic         signaled;
    logic         solicited;
    logic         fence;
    logic         is_inline;
    logic         ip_csum;
    logic [31:0]  imm;
    logic [31:0]  inv_rkey;
    logic [63:0]  remote_addr;
    logic [31:0]  rkey;
    logic [23:0]  srqn;
    logic [63:0]  swap_add;
    logic [63:0]  compare;
    logic [15:0]  mss;
    logic [15:0]  hdr_size;
    logic [31:0]  flush_length;
    logic [7:0]   flush_type;
    logic [7:0]   flush_level;
    logic [36:0]  length;    // bytes of payload: the sum of at most 30 lengths of 32 bits
    logic [4:0]   num_sge;
    logic [9:0]   data_at;   // byte of the WQE where SGEs or inline bytes begin
    logic [9:0]   header_at; // TSO: where its headers begin
  } wr_t;

  // What a QP's packets are made with.
  typedef struct packed {
    logic [7:0]   qp_type; // QPT_*
    logic [23:0]  qpn;
    logic [3:0]   mtu_log; // path MTU: 8 for 256 bytes to 12 for 4096
    logic [31:0]  qkey;
    logic [23:0]  dest_qpn;
    logic [15:0]  udp_sport;
    logic [47:0]  smac;
    logic [127:0] sgid;
    logic [127:0] dgid; // these: of connected QPs
    logic [47:0]  dmac;
    logic [7:0]   hop_limit;
    logic [7:0]   traffic_class;
    logic [19:0]  flow_label;
  } send_qp_t;

  // Where the headers of an Ethernet frame or an IPoIB datagram are, as struct net of sim/core/wire/net.h, and what a
  // TSO segment's are made from.
  typedef struct packed {
    logic        ipv4;
    logic        ipv6;
    logic        tcp; // a whole header of it is at l4_at
    logic        udp;
    logic [15:0] l3_at;
    logic [15:0] l4_at;
    logic [15:0] l3_end; // by IP's length
    logic [15:0] id;     // IPv4
    logic [31:0] seq;    // TCP
    logic [15:0] control; // length, flags
  } net_t;

  // What is done to the payload of a packet on its way.
  typedef struct packed {
    logic        sums;     // IPv4, TCP and UDP checksums are inserted
    logic        datagram; // of a UD message
    logic [15:0] length;   // bytes of the payload
    logic        tso;      // its headers are `net`, with these fields
    net_t        net;
    logic [15:0] ip_bytes; // IPv4: total length; IPv6: of the payload
    logic [15:0] id;
    logic [31:0] seq;
    logic [15:0] control;
  } offload_t;

  // What a WQE is given to the send path with.
  typedef struct packed {
    send_qp_t    qp;
    logic [23:0] psn;     // of the message's first packet
    logic [23:0] first;   // number of the packet to begin with
    logic        follows; // it stands behind the WQE before it: its PSN does, and it is flushed if that one fails
  } wqe_context_t;

  // ---- Control of queue pairs: as struct engine_ops and struct engine_ports of sim/core/engine.h ----

  // What the engine is asked to do. Those from OpQuery on change nothing.
  typedef enum logic [4:0] {
    OpCreate, OpSet, OpReset, OpDestroy, OpError, OpPortSet, OpDoorbell, OpPush,
    OpReadDone, OpWritten, OpPages, OpLeave, OpReleased, OpResponse, OpTimer, OpTaken,
    OpFetch, OpDecode, OpPacketise,
    OpQuery, OpCompletion, OpState, OpFetchWork, OpDecodeWork, OpPacketiseWork
  } op_e;

  // What the engine asks for. The answer comes before the next request.
  typedef enum logic [3:0] {
    ReqNow,     // the time
    ReqRead,    // of the send queue, up to two segments
    ReqLookup,  // keys of the WQE's SGEs; with `check` only that, of all of them
    ReqPresent, // pages of them
    ReqPages,   // to map their pages
    ReqLocal,   // BIND_MW or LOCAL_INV
    ReqPacket,  // to send packet_o, with the pieces of the last look-up
    ReqResult,  // to write the payload of the response to the pieces of the last look-up
    ReqTimer,   // at `at`; all ones: none
    ReqFailed,  // the QP is in `state`
    ReqDrained,
    ReqSeen,    // the WQE was decoded; its bytes go from the fetch buffer to its record
    ReqSize,    // bytes of the WQE at a block of a fetch buffer, if another device family decodes
    ReqDecode   // and the WQE itself
  } request_e;

  typedef struct packed {
    logic [3:0]  kind; // request_e
    logic [23:0] qpn;
    logic [15:0] tag;
    logic [15:0] seq;   // of the WQE in its queue
    logic        write; // ReqLookup, ReqPresent, ReqPages: the memory is written to
    logic        check;
    logic [63:0] offset; // in the message
    logic [63:0] length;
    logic [63:0] at; // picoseconds
    logic [2:0]  state;
    logic [63:0] addr0, addr1; // ReqRead: segments
    logic [10:0] bytes0, bytes1;
    logic [4:0]  slot; // fetch buffer
    logic [4:0]  block;
    logic [10:0] bytes;
    logic [15:0] index; // ring index of the block
  } request_t;

  // The attributes of a QP: struct engine_qp.
  typedef struct packed {
    logic [23:0]  qpn;
    logic [7:0]   qp_type;
    logic [2:0]   state;
    logic [31:0]  pasid;
    logic [63:0]  ring;
    logic [15:0]  entries;
    logic [31:0]  pdn;
    logic [15:0]  max_inline;
    logic [3:0]   mtu_log;
    logic [1:0]   port;
    logic [4:0]   timeout;
    logic [7:0]   retry_cnt;
    logic [7:0]   rnr_retry;
    logic [7:0]   max_rd_atomic;
    logic [31:0]  qkey;
    logic [23:0]  dest_qpn;
    logic [15:0]  udp_sport;
    logic [127:0] dgid;
    logic [47:0]  dmac;
    logic [7:0]   sgid_index;
    logic [7:0]   hop_limit;
    logic [7:0]   traffic_class;
    logic [7:0]   sl;
    logic [7:0]   av_port;
    logic [31:0]  flow_label;
    logic         paused;
  } qp_attr_t;

  // The state of a send queue. WQEs are numbered in the order of decoding: those from `head` to before `tail` are in
  // the window, `cur` and `ack` are `tail` if there is no such WQE.
  typedef struct packed {
    logic        live;
    logic [23:0] epoch; // of reset and creation: what was pending before is dropped
    logic        on_fetch; // in that list
    logic        on_tx;
    logic [15:0] pi; // ring indices
    logic [15:0] fetched;
    logic [15:0] retired;
    logic        fetching;
    logic [15:0] head;
    logic [15:0] tail;
    logic [15:0] cur; // the next WQE to make packets of
    logic [15:0] ack; // oldest not fully acknowledged
    logic [23:0] cur_pkt;
    logic [23:0] una_psn;
    logic [23:0] next_psn;
    logic [15:0] rd_out;
    logic [15:0] rd_incomplete;
    logic        nak_rewound;
    logic        fault; // packets of WQEs from fault_seq on do not leave
    logic [15:0] fault_seq;
    logic        rnr_wait;
    logic [1:0]  paging;
    logic [7:0]  retries;
    logic [7:0]  rnr_retries;
    logic [63:0] ack_deadline;
    logic        timer_on;
    logic        drained_sent;
  } qp_state_t;

  // What of a decoded WQE is needed until it has completed. Its request is a record of its own.
  typedef struct packed {
    logic [7:0]  op;
    logic [15:0] index;
    logic [4:0]  num_bb;
    logic        signaled;
    logic        fence;
    logic        is_inline;
    logic [36:0] length;
    logic [6:0]  num_sge;
    logic [15:0] mss;
    logic [23:0] first_psn;
    logic [23:0] npsn;
    logic [15:0] dma_pending;
    logic [7:0]  status;
    logic [7:0]  vendor_err;
    logic        failed;
    logic        started; // has PSNs
    logic        settled; // its error is final
    logic        acked;
    logic        rd_counted; // one of rd_out
    logic [47:0] fetched;    // cycles: its blocks were there; its first packet was made, 0: none
    logic [47:0] issued;
  } wqe_t;

  typedef enum logic [1:0] {
    TagRead, TagPacket, TagResult, TagPages
  } tag_e;

  // A pending operation.
  typedef struct packed {
    logic [1:0]  kind; // tag_e
    logic [23:0] qpn; // place of the queue pair's context
    logic [23:0] epoch;
    logic [15:0] seq;
    logic [4:0]  slot;  // TagRead
    logic [15:0] count; // TagResult: transfers under way
    logic        result; // TagPages: of a result
    logic        last;  // TagPacket: of its WQE
  } tag_t;

  // Basic blocks that were read from the ring, or pushed.
  typedef struct packed {
    logic [23:0] qpn; // place of the queue pair's context
    logic [23:0] epoch;
    logic [15:0] index;
    logic [4:0]  num_bb;
    logic [4:0]  used_bb;
    logic [23:0] owner; // its number
    logic        failed;
    logic [47:0] arrived; // cycle in which they were there
  } fetch_t;

  // A WQE that has left its queue: its end is final, and its completion, if it has one, is taken. As struct
  // engine_retired.
  typedef struct packed {
    logic [63:0] order; // of all WQEs of the engine
    logic [23:0] qpn;
    logic [15:0] index; // ring index of its first basic block
    logic [7:0]  op;
    logic [4:0]  num_bb;
    logic        signaled;
    logic [47:0] fetched;   // cycles since reset
    logic [47:0] issued;    // 0: no packet was made of it
    logic [47:0] completed;
    logic [23:0] first_psn; // 0 if it was not started
    logic [23:0] psns;      // of its message: packets, or those of its response
    logic [7:0]  status;
    logic [7:0]  vendor_err;
  } retire_t;

  // struct engine_response
  typedef struct packed {
    logic [23:0] psn;
    logic        data;
    logic        atomic;
    logic        last; // `end` there
    logic [31:0] payload_len;
    logic [1:0]  kind;
    logic [7:0]  value;
  } response_t;

endpackage
