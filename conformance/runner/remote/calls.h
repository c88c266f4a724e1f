/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The calls between a runner and its peer process, from which both sides' structures, and the peer's dispatch, come. It
 * is included where CALL(name, objects, values, answer, tail) is defined, and NEED and MAY if `objects` is used.
 *
 * objects: NEED(kind, name) is one that must exist, MAY(kind, name) one that may be left out. tail: whether bytes may
 * follow the structure of the call. `id` of an answer is the number of a new object.
 */
/* clang-format off */
#define VALUES(...) __VA_ARGS__
CALL(open, ,
     VALUES(char device[PEER_NAME]; char address[PEER_NAME]; int32_t port, gid_index; uint32_t timeout_ms;),
     VALUES(char device[PEER_NAME]; struct ibv_device_attr attr; struct ibv_port_attr port; union ibv_gid gid;
	    uint64_t clock_khz; peer_id pd;), 0) /* tail of the answer: reason of an error */
CALL(query, , , , 0) /* tail of the answer: JSON */
CALL(map, , VALUES(uint64_t base, size;), , 0)
CALL(sync, , VALUES(uint32_t num_blocks;), , 1) /* tail: blocks in use, then changes; of the answer: changes */
CALL(release, , VALUES(peer_id id;), , 0)
CALL(alloc_pd, , , VALUES(peer_id id;), 0)
CALL(reg_mr, NEED(PD, pd), VALUES(uint32_t access; uint64_t addr, length, iova;),
     VALUES(peer_id id; uint32_t lkey, rkey;), 0)
CALL(alloc_dm, , VALUES(uint64_t length; uint32_t log_align_req, comp_mask;), VALUES(peer_id id;), 0)
CALL(reg_dm_mr, NEED(PD, pd) NEED(DM, dm), VALUES(uint64_t offset, length; uint32_t access;),
     VALUES(peer_id id; uint32_t lkey, rkey;), 0)
/* length: bytes to read, the tail of the answer; 0: write the tail of the call */
CALL(copy_dm, NEED(DM, dm), VALUES(uint64_t offset; uint32_t length;), , 1)
CALL(create_channel, , , VALUES(peer_id id;), 0)
CALL(create_cq, MAY(CHANNEL, channel), VALUES(uint32_t cqe, extended; uint64_t wc_flags;),
     VALUES(peer_id id; uint32_t cqe;), 0)
CALL(req_notify_cq, NEED(CQ, cq), VALUES(int32_t solicited_only;), , 0)
/* tail of both: the caller's array of struct ibv_wc, before and after the call; timestamp: if the CQ has them */
CALL(poll_cq, NEED(CQ, cq), VALUES(int32_t num;), VALUES(int32_t result; uint64_t timestamp;), 1)
CALL(query_rt_values, , , VALUES(uint64_t raw_clock;), 0)
CALL(modify_cq, NEED(CQ, cq), VALUES(struct ibv_modify_cq_attr attr;), , 0)
CALL(create_srq, NEED(PD, pd) MAY(XRCD, xrcd) MAY(CQ, cq), /* extended: ibv_create_srq_ex() */
     VALUES(uint32_t extended; struct ibv_srq_attr attr;), VALUES(peer_id id; struct ibv_srq_attr attr;), 0)
CALL(get_srq_num, NEED(SRQ, srq), , VALUES(uint32_t number;), 0)
CALL(modify_srq, NEED(SRQ, srq), VALUES(int32_t mask; struct ibv_srq_attr attr;), , 0)
CALL(query_srq, NEED(SRQ, srq), , VALUES(struct ibv_srq_attr attr;), 0)
CALL(open_xrcd, , , VALUES(peer_id id;), 0)
CALL(create_qp, MAY(PD, pd) MAY(XRCD, xrcd) MAY(CQ, send_cq) MAY(CQ, recv_cq) MAY(SRQ, srq),
     VALUES(uint32_t type, sq_sig_all, extended; struct ibv_qp_cap cap;), /* extended: ibv_create_qp_ex() */
     VALUES(peer_id id; uint32_t qp_num; struct ibv_qp_cap cap;), 0)
CALL(modify_qp, NEED(QP, qp), VALUES(int32_t mask; struct ibv_qp_attr attr;), , 0)
CALL(query_qp, NEED(QP, qp), VALUES(int32_t mask;),
     VALUES(struct ibv_qp_attr attr; struct ibv_qp_cap cap; uint32_t type, sq_sig_all;), 0)
/* tail: `num` struct peer_send_wr or peer_recv_wr; bad: index that *bad_wr named, -1: none */
CALL(post_send, NEED(QP, qp), VALUES(uint32_t num;), VALUES(int32_t result, bad;), 1)
CALL(post_recv, MAY(QP, qp) MAY(SRQ, srq), VALUES(uint32_t num;), VALUES(int32_t result, bad;), 1)
CALL(alloc_mw, NEED(PD, pd), VALUES(uint32_t type;), VALUES(peer_id id; uint32_t rkey;), 0)
CALL(bind_mw, NEED(QP, qp) NEED(MW, mw) MAY(MR, mr),
     VALUES(uint32_t send_flags, access; uint64_t wr_id, addr, length;), VALUES(uint32_t rkey;), 0)
CALL(create_flow, NEED(QP, qp), , VALUES(peer_id id;), 1) /* tail: struct ibv_flow_attr and its specifications */
CALL(ah_from_wc, NEED(PD, pd), VALUES(uint32_t port; struct ibv_wc wc; struct ibv_grh grh;), VALUES(peer_id id;), 0)
CALL(wait, MAY(CHANNEL, channel), VALUES(int32_t timeout_ms;), VALUES(uint32_t ready;), 0) /* 0: asynchronous events */
CALL(get_cq_event, NEED(CHANNEL, channel), , VALUES(peer_id cq;), 0)
CALL(get_async_event, , , VALUES(uint32_t type, port; peer_id id;), 0)
/* stage: enum peer_cm_stage; error: errno of `step`; port: of PEER_CM_LISTEN, as in struct sockaddr_in */
CALL(cm, , VALUES(uint32_t stage;),
     VALUES(int32_t error; char step[64]; uint32_t port; peer_id pd, cq, qp; uint32_t qp_num;), 0)
/* clang-format on */
#undef CALL
#undef NEED
#undef MAY
#undef VALUES
