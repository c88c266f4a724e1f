// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* CQEs, doorbells and doorbell records of the mlx5 family. */
#include <endian.h>
#include <string.h>

#include <rdma/mlx5-abi.h>

#include "format.h"
#include "segment.h"
#include "devices/common/common.h"
#include "hcasim_mlx5.h"

#define PREP(field, v) HCASIM_FIELD_PREP(HCASIM_MLX5_##field##_MASK, v)
#define GET(field, v)  HCASIM_FIELD_GET(HCASIM_MLX5_##field##_MASK, v)

#define NO_VLAN     0xffff
#define PS_PER_TICK (1000000000ull / HCASIM_MLX5_CORE_CLOCK_KHZ)
#define FW_MAJOR    20ull /* a ConnectX-6 */
#define FW_MINOR    31ull
#define FW_SUBMINOR 1014ull
#define FW_CMDIF    5ull
#define INDEX_BITS  16

_Static_assert(HCASIM_MLX5_MEMIC_OP_INCREMENT == (int)HCA_DM_OP_ADD &&
		       HCASIM_MLX5_MEMIC_OP_TEST_AND_SET == (int)HCA_DM_OP_TEST_SET,
	       "operations are numbered as the core does");

static uint8_t cqe_opcode(const struct hca_cpl *cpl)
{
	switch (cpl->op) {
	case HCASIM_CQE_OP_REQ:
		return cpl->status ? HCASIM_MLX5_CQE_OPCODE_REQ_ERR : HCASIM_MLX5_CQE_OPCODE_REQ;
	case HCASIM_CQE_OP_RESIZE:
		return HCASIM_MLX5_CQE_OPCODE_RESIZE_CQ;
	default:
		break;
	}
	if (cpl->status)
		return HCASIM_MLX5_CQE_OPCODE_RESP_ERR;
	if (cpl->op == HCASIM_CQE_OP_RECV_WRITE_IMM)
		return HCASIM_MLX5_CQE_OPCODE_RESP_WR_IMM;
	if (cpl->with_inv)
		return HCASIM_MLX5_CQE_OPCODE_RESP_SEND_INV;
	return cpl->with_imm ? HCASIM_MLX5_CQE_OPCODE_RESP_SEND_IMM : HCASIM_MLX5_CQE_OPCODE_RESP_SEND;
}

static __be32 imm_inval_pkey(const struct hca_cpl *cpl)
{
	if (cpl->with_imm)
		return (__be32)cpl->imm;
	return htobe32(cpl->with_inv ? cpl->inv_rkey : cpl->pkey_index);
}

static uint8_t header_types(const struct hca_headers *h)
{
	static const uint8_t l4_types[] = {
		[HCA_L4_NONE] = HCASIM_MLX5_L4_HDR_NONE,
		[HCA_L4_UDP] = HCASIM_MLX5_L4_HDR_UDP,
		[HCA_L4_TCP] = HCASIM_MLX5_L4_HDR_TCP,
		[HCA_L4_TCP_ACK] = HCASIM_MLX5_L4_HDR_TCP_ACK,
		[HCA_L4_TCP_ACK_DATA] = HCASIM_MLX5_L4_HDR_TCP_ACK_DATA,
	};
	uint8_t l3 = HCASIM_MLX5_L3_HDR_NONE;

	if (h->ip)
		l3 = h->ip == 4 ? HCASIM_MLX5_L3_HDR_IPV4 : HCASIM_MLX5_L3_HDR_IPV6;
	return (uint8_t)(PREP(CQE_L3_HDR_TYPE, l3) | PREP(CQE_L4_HDR_TYPE, l4_types[h->l4]) |
			 PREP(CQE_IP_FRAG, h->fragment) | PREP(CQE_IP_EXT_OPTS, h->options));
}

/* `fields`: HCASIM_RSS_FIELD_* */
static uint8_t hash_type(uint32_t fields)
{
	static const struct {
		uint32_t field;
		uint8_t type;
	} of[] = {
		{HCASIM_RSS_FIELD_SRC_IPV4, PREP(CQE_HASH_SRC_IP, HCASIM_MLX5_HASH_IP_IPV4)},
		{HCASIM_RSS_FIELD_DST_IPV4, PREP(CQE_HASH_DST_IP, HCASIM_MLX5_HASH_IP_IPV4)},
		{HCASIM_RSS_FIELD_SRC_IPV6, PREP(CQE_HASH_SRC_IP, HCASIM_MLX5_HASH_IP_IPV6)},
		{HCASIM_RSS_FIELD_DST_IPV6, PREP(CQE_HASH_DST_IP, HCASIM_MLX5_HASH_IP_IPV6)},
		{HCASIM_RSS_FIELD_SRC_PORT_TCP, PREP(CQE_HASH_SRC_L4, HCASIM_MLX5_HASH_L4_TCP)},
		{HCASIM_RSS_FIELD_DST_PORT_TCP, PREP(CQE_HASH_DST_L4, HCASIM_MLX5_HASH_L4_TCP)},
		{HCASIM_RSS_FIELD_SRC_PORT_UDP, PREP(CQE_HASH_SRC_L4, HCASIM_MLX5_HASH_L4_UDP)},
		{HCASIM_RSS_FIELD_DST_PORT_UDP, PREP(CQE_HASH_DST_L4, HCASIM_MLX5_HASH_L4_UDP)},
	};
	uint8_t type = 0;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		type |= fields & of[i].field ? of[i].type : 0;
	return type;
}

/* A received frame has the tag of its flow where other completions have the number of the queue. */
static uint32_t number_or_tag(const struct hca_cpl *cpl)
{
	if (cpl->tagged)
		return cpl->flow_tag;
	return cpl->frame ? 0 : cpl->qpn;
}

static void encode_good(const struct hca_cpl *cpl, uint8_t owner, struct hcasim_mlx5_cqe *cqe)
{
	const uint8_t sop = cpl->op == HCASIM_CQE_OP_REQ ? hcasim_mlx5_opcode_of(cpl->wqe_op) : 0;
	const bool vlan = cpl->vlan != NO_VLAN;

	*cqe = (struct hcasim_mlx5_cqe){
		.rx_hash_result = htobe32(cpl->hash),
		.rx_hash_type = hash_type(cpl->hash_fields),
		.ml_path = cpl->path_bits,
		.flags_rqpn = htobe32(PREP(CQE_RQPN, cpl->src_qpn) | PREP(CQE_SL, cpl->sl) |
				      PREP(CQE_GRH, cpl->grh)),
		.hds_ip_ext = (uint8_t)(PREP(CQE_L2_OK, 1) | PREP(CQE_L3_OK, cpl->headers.l3_ok) |
					PREP(CQE_L4_OK, cpl->headers.l4_ok)),
		.l4_hdr_type_etc = (uint8_t)(PREP(CQE_CV, vlan) | header_types(&cpl->headers)),
		.vlan_info = htobe16(vlan ? cpl->vlan : 0),
		.srqn_uidx = htobe32(PREP(CQE_UIDX, cpl->user_index)),
		.imm_inval_pkey = imm_inval_pkey(cpl),
		.byte_cnt = htobe32(cpl->byte_count),
		.timestamp = htobe64(cpl->timestamp / PS_PER_TICK),
		.sop_drop_qpn = htobe32(PREP(CQE_QPN, number_or_tag(cpl)) | PREP(CQE_SOP, sop)),
		.wqe_counter = htobe16(cpl->wqe_index),
		.op_own = (uint8_t)(PREP(CQE_OWNER, owner) | PREP(CQE_SE, cpl->solicited) |
				    PREP(CQE_OPCODE, cqe_opcode(cpl))),
	};
}

static void encode_error(const struct hca_cpl *cpl, uint8_t owner, struct hcasim_mlx5_cqe_err *cqe)
{
	const uint8_t opcode = cpl->op == HCASIM_CQE_OP_REQ ? hcasim_mlx5_opcode_of(cpl->wqe_op) : 0;

	*cqe = (struct hcasim_mlx5_cqe_err){
		.srqn_uidx = htobe32(PREP(CQE_ERR_UIDX, cpl->user_index)),
		.vendor_err_synd = cpl->vendor_err,
		.syndrome = hcasim_mlx5_syndrome_of(cpl->status),
		.s_wqe_opcode_qpn = htobe32(PREP(CQE_ERR_QPN, cpl->qpn) | PREP(CQE_ERR_S_WQE_OPCODE, opcode)),
		.wqe_counter = htobe16(cpl->wqe_index),
		.op_own = (uint8_t)(PREP(CQE_ERR_OWNER, owner) | PREP(CQE_ERR_OPCODE, cqe_opcode(cpl))),
	};
}

static bool is_atomic(const struct hca_cpl *cpl)
{
	return cpl->op == HCASIM_CQE_OP_REQ &&
	       (cpl->wqe_op == HCASIM_WQE_OP_ATOMIC_CS || cpl->wqe_op == HCASIM_WQE_OP_ATOMIC_FA);
}

/*
 * Payload takes the place of what describes a datagram. In a CQE of 128 bytes, what does not fit there is in the first
 * half. The result of an atomic is big-endian there, in whatever mode (docs/mlx5-findings.md, D42).
 */
static void put_payload(const struct hca_cpl *cpl, uint8_t *raw, uint32_t size)
{
	const bool half = cpl->payload_len > HCASIM_MLX5_CQE_PAYLOAD;

	uint8_t *at = half ? raw : raw + size - HCASIM_MLX5_CQE_SIZE;
	uint64_t result;

	memcpy(at, cpl->payload, cpl->payload_len);
	if (is_atomic(cpl)) {
		memcpy(&result, at, sizeof(result));
		result = htobe64(result);
		memcpy(at, &result, sizeof(result));
	}
	raw[size - 1] |= PREP(CQE_INLINE_SCATTER,
			      half ? HCASIM_MLX5_INLINE_SCATTER_FIRST_HALF : HCASIM_MLX5_INLINE_SCATTER_CQE);
}

/* A CQE of 128 bytes has the completion in its second half: the owner bit is in the last byte of both sizes. */
void mlx5_encode_cqe(const struct hca_cpl *cpl, unsigned int phase, void *raw, uint32_t size)
{
	union {
		struct hcasim_mlx5_cqe good;
		struct hcasim_mlx5_cqe_err err;
	} cqe;

	if (cpl->status)
		encode_error(cpl, !phase, &cqe.err);
	else
		encode_good(cpl, !phase, &cqe.good);
	memset(raw, 0, size - sizeof(cqe));
	memcpy((uint8_t *)raw + size - sizeof(cqe), &cqe, sizeof(cqe));
	if (cpl->payload && !cpl->status)
		put_payload(cpl, raw, size);
}

static void decode_db_cq(const void *data, struct hca_doorbell *db)
{
	__be64 raw;
	uint64_t v;

	memcpy(&raw, data, sizeof(raw));
	v = be64toh(raw);
	db->kind = HCA_DB_CQ_ARM;
	db->number = (uint32_t)GET(DB_CQ_CQN, v);
	db->value = (uint32_t)GET(DB_CQ_CI, v);
	db->arm_sn = (uint8_t)GET(DB_CQ_ARM_SN, v);
	db->solicited = GET(DB_CQ_SOLICITED, v);
}

/* The first 8 bytes of a WQE alone announce it, with all before it; with more behind them they push it. */
static void decode_bf(uint32_t at, const void *data, uint32_t size, struct hca_doorbell *db)
{
	struct hcasim_mlx5_wqe_ctrl ctrl;

	db->kind = HCA_DB_BF;
	if (at || size < 8)
		return;
	memcpy(&ctrl, data, 8);
	db->number = GET(WQE_CTRL_QPN, be32toh(ctrl.qpn_ds));
	db->value = GET(WQE_CTRL_INDEX, be32toh(ctrl.opmod_idx_opcode));
	if (size > 8)
		return;
	db->kind = HCA_DB_SQ;
	db->value = mlx5_index_after(data);
}

void mlx5_decode_doorbell(uint32_t offset, const void *data, uint32_t size, struct hca_doorbell *db)
{
	const uint32_t at = (offset - HCASIM_MLX5_UAR_BF) % HCASIM_MLX5_BF_SIZE;

	memset(db, 0, sizeof(*db));
	db->kind = HCA_DB_NONE;
	if (offset >= HCASIM_MLX5_UAR_BF && size && at + size <= HCASIM_MLX5_BF_SIZE)
		decode_bf(at, data, size, db);
	else if (offset == HCASIM_MLX5_UAR_DB_CQ && size == 8)
		decode_db_cq(data, db);
}

/* The RESIZE entry has an index of its own: the new ring goes on at the one behind it. */
static uint32_t resized_cq_index(uint32_t last, uint32_t entries)
{
	(void)entries;
	return last + 1;
}

static uint16_t sq_record_pi(const void *record)
{
	const struct hcasim_mlx5_qp_record *rec = record;

	return (uint16_t)GET(QP_RECORD_SQ_PI, be32toh(rec->snd));
}

static uint32_t rq_record_pi(const void *record)
{
	const struct hcasim_mlx5_qp_record *rec = record;

	return GET(QP_RECORD_RQ_PI, be32toh(rec->rcv));
}

static uint32_t srq_record_pi(const void *record)
{
	const struct hcasim_mlx5_srq_record *rec = record;

	return GET(SRQ_RECORD_PI, be32toh(rec->counter));
}

static void decode_cq_record(const void *record, struct hca_cq_record *out)
{
	const struct hcasim_mlx5_cq_record *rec = record;
	const uint32_t arm = be32toh(rec->arm);

	*out = (struct hca_cq_record){
		.ci = GET(CQ_RECORD_CI, be32toh(rec->set_ci)),
		.arm_sn = (uint8_t)GET(CQ_RECORD_ARM_SN, arm),
		.solicited = GET(CQ_RECORD_SOLICITED, arm),
	};
}

static uint16_t srq_next(const void *wqe)
{
	const struct hcasim_mlx5_seg_srq_next *next = wqe;

	return be16toh(next->next_wqe_index);
}

static void read_register(const struct hca_config *cfg, hca_ps now, unsigned int bar, uint64_t offset,
			  uint8_t out[8])
{
	uint64_t v = 0;
	__be64 raw;

	(void)cfg;
	if (bar == HCASIM_MLX5_BAR && offset == HCASIM_MLX5_REG_INTERNAL_TIMER)
		v = now / PS_PER_TICK;
	else if (bar == HCASIM_MLX5_BAR && offset == HCASIM_MLX5_REG_FW_REV)
		v = PREP(FW_REV_MAJOR, FW_MAJOR) | PREP(FW_REV_MINOR, FW_MINOR) |
		    PREP(FW_REV_SUBMINOR, FW_SUBMINOR) | PREP(FW_REV_CMDIF, FW_CMDIF);
	raw = htobe64(v);
	memcpy(out, &raw, sizeof(raw));
}

const struct hca_personality mlx5_personality = {
	.name = "mlx5",
	.adapter = "mlx5_",
	.wqebb_size = HCASIM_MLX5_WQEBB_SIZE,
	.cqe_size = HCASIM_MLX5_CQE_SIZE,
	.eqe_size = HCASIM_EQE_SIZE,
	.uar = {HCASIM_MLX5_BAR, HCASIM_MLX5_UAR_PAGE_SIZE, HCASIM_MLX5_UAR_PAGES, HCASIM_MLX5_UAR_BF,
		HCASIM_MLX5_BF_SIZE, HCASIM_MLX5_BF_BUFS},
	.av_without_port = true,
	.dm = {HCASIM_MLX5_BAR_DM, HCASIM_MLX5_BAR_DM_SIZE},
	.qp_record_size = sizeof(struct hcasim_mlx5_qp_record),
	.cq_record_size = sizeof(struct hcasim_mlx5_cq_record),
	.srq_record_size = sizeof(struct hcasim_mlx5_srq_record),
	.rq_index_bits = INDEX_BITS,
	.ci_bits = 24,
	.wqe_size = mlx5_wqe_size,
	.decode_wqe = mlx5_decode_wqe,
	.key_part = mlx5_key_part,
	.decode_rqe = mlx5_decode_rqe,
	.decode_srqe = mlx5_decode_srqe,
	.encode_cqe = mlx5_encode_cqe,
	.encode_eqe = common_encode_eqe,
	.resized_cq_index = resized_cq_index,
	.sq_record_pi = sq_record_pi,
	.sq_record_rules = true,
	.rq_record_pi = rq_record_pi,
	.srq_record_pi = srq_record_pi,
	.decode_cq_record = decode_cq_record,
	.srq_next = srq_next,
	.srq_fault_completes = true,
	.read_register = read_register,
	.decode_doorbell = mlx5_decode_doorbell,
	.dm_ops = 1u << HCA_DM_OP_ADD | 1u << HCA_DM_OP_TEST_SET,
};
