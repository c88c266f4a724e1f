// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Formats of the native adapter's CQEs and EQEs, and its doorbells. */
#include <endian.h>
#include <string.h>

#include "format.h"
#include "devices/common/common.h"
#include "hcasim_hw.h"

void native_encode_cqe(const struct hca_cpl *cpl, unsigned int phase, void *raw, uint32_t size)
{
	struct hcasim_cqe cqe = {
		.qpn_opcode = htole32(HCASIM_FIELD_PREP(HCASIM_CQE_QPN_MASK, cpl->qpn) |
				      HCASIM_FIELD_PREP(HCASIM_CQE_OPCODE_MASK, cpl->op)),
		.byte_count = htole32(cpl->byte_count),
		.imm = (__be32)cpl->imm,
		.inv_rkey = htole32(cpl->inv_rkey),
		.src_qpn_flags = htole32(HCASIM_FIELD_PREP(HCASIM_CQE_SRC_QPN_MASK, cpl->src_qpn) |
					 HCASIM_FIELD_PREP(HCASIM_CQE_GRH_MASK, cpl->grh) |
					 HCASIM_FIELD_PREP(HCASIM_CQE_CSUM_OK_MASK, hca_csum_ok(cpl)) |
					 HCASIM_FIELD_PREP(HCASIM_CQE_WITH_IMM_MASK, cpl->with_imm) |
					 HCASIM_FIELD_PREP(HCASIM_CQE_WITH_INV_MASK, cpl->with_inv) |
					 HCASIM_FIELD_PREP(HCASIM_CQE_TM_MATCH_MASK, cpl->tm_match) |
					 HCASIM_FIELD_PREP(HCASIM_CQE_TM_DATA_MASK, cpl->tm_data) |
					 HCASIM_FIELD_PREP(HCASIM_CQE_TM_SYNC_MASK, cpl->tm_sync) |
					 HCASIM_FIELD_PREP(HCASIM_CQE_TM_HANDLE_MASK, cpl->tm_handle)),
		.srqn = htole32(cpl->srqn),
		.timestamp = htole64(cpl->timestamp),
		.vlan = htole16(cpl->vlan),
		.sl = cpl->sl,
		.path_bits = cpl->path_bits,
		.pkey_index = htole16(cpl->pkey_index),
		.tm_priv = htole32(cpl->tm_priv),
		.tm_tag = htole64(cpl->tm_tag),
		.wqe_index = htole16(cpl->wqe_index),
		.wqe_op = cpl->wqe_op,
		.num_bb = cpl->num_bb,
		.status = cpl->status,
		.vendor_err = cpl->vendor_err,
		.owner = HCASIM_FIELD_PREP(HCASIM_CQE_PHASE_MASK, phase),
	};

	memcpy(cqe.smac, cpl->smac, sizeof(cqe.smac));
	memcpy(raw, &cqe, sizeof(cqe));
}

static void decode_db_sq(uint64_t v, struct hca_doorbell *db)
{
	db->kind = HCA_DB_SQ;
	db->number = HCASIM_FIELD_GET(HCASIM_DB_SQ_QPN_MASK, v);
	db->value = HCASIM_FIELD_GET(HCASIM_DB_SQ_PI_MASK, v);
}

static void decode_db_cq(uint64_t v, struct hca_doorbell *db)
{
	db->kind = HCA_DB_CQ_ARM;
	db->number = HCASIM_FIELD_GET(HCASIM_DB_CQ_CQN_MASK, v);
	db->value = HCASIM_FIELD_GET(HCASIM_DB_CQ_CI_MASK, v);
	db->arm_sn = HCASIM_FIELD_GET(HCASIM_DB_CQ_ARM_SN_MASK, v);
	db->solicited = HCASIM_FIELD_GET(HCASIM_DB_CQ_SOLICITED_MASK, v);
}

static void decode_db_srq(uint64_t v, struct hca_doorbell *db)
{
	db->kind = HCA_DB_SRQ_ARM;
	db->number = HCASIM_FIELD_GET(HCASIM_DB_SRQ_SRQN_MASK, v);
	db->value = HCASIM_FIELD_GET(HCASIM_DB_SRQ_LIMIT_MASK, v);
}

static void decode_db_tm(uint64_t v, struct hca_doorbell *db)
{
	db->kind = HCA_DB_TM;
	db->number = HCASIM_FIELD_GET(HCASIM_DB_TM_SRQN_MASK, v);
	db->value = HCASIM_FIELD_GET(HCASIM_DB_TM_PI_MASK, v);
}

/* The store lies inside one BlueFlame buffer. */
static bool in_blueflame(uint32_t offset, uint32_t size)
{
	uint32_t pos = offset - HCASIM_UAR_BF;

	if (offset < HCASIM_UAR_BF || pos >= HCASIM_UAR_BF_SIZE || !size)
		return false;
	return pos / HCASIM_BF_SIZE == (pos + size - 1) / HCASIM_BF_SIZE;
}

/* For a push that starts at the first byte of a buffer, the control segment identifies it. */
static void decode_blueflame(uint32_t offset, const void *data, uint32_t size, struct hca_doorbell *db)
{
	struct hcasim_wqe_ctrl ctrl;

	db->kind = HCA_DB_BF;
	if ((offset - HCASIM_UAR_BF) % HCASIM_BF_SIZE || size < sizeof(ctrl))
		return;
	memcpy(&ctrl, data, sizeof(ctrl));
	db->number = HCASIM_FIELD_GET(HCASIM_WQE_CTRL_QPN_MASK, le32toh(ctrl.qpn_flags));
	db->value = le16toh(ctrl.index);
}

/* A doorbell register accepts one aligned store of its full size; other stores have no effect. */
void native_decode_doorbell(uint32_t offset, const void *data, uint32_t size, struct hca_doorbell *db)
{
	uint64_t v;

	memset(db, 0, sizeof(*db));
	db->kind = HCA_DB_NONE;
	if (in_blueflame(offset, size)) {
		decode_blueflame(offset, data, size, db);
		return;
	}
	if (size != sizeof(v))
		return;
	memcpy(&v, data, sizeof(v));
	v = le64toh(v);
	if (offset == HCASIM_UAR_DB_SQ)
		decode_db_sq(v, db);
	else if (offset == HCASIM_UAR_DB_CQ)
		decode_db_cq(v, db);
	else if (offset == HCASIM_UAR_DB_SRQ)
		decode_db_srq(v, db);
	else if (offset == HCASIM_UAR_DB_TM)
		decode_db_tm(v, db);
}

/* There the index continues at the next multiple of two turns, so that fresh memory, phase 0 everywhere, has no valid entry. */
static uint32_t resized_cq_index(uint32_t last, uint32_t entries)
{
	return last + (-last & (2 * entries - 1));
}

static uint16_t sq_record_pi(const void *record)
{
	const struct hcasim_sq_record *rec = record;

	return (uint16_t)le32toh(rec->sq_pi);
}

static uint32_t rq_record_pi(const void *record)
{
	const struct hcasim_sq_record *rec = record;

	return le32toh(rec->rq_pi);
}

static uint32_t srq_record_pi(const void *record)
{
	const struct hcasim_srq_record *rec = record;

	return le32toh(rec->pi);
}

static void decode_cq_record(const void *record, struct hca_cq_record *out)
{
	const struct hcasim_cq_record *rec = record;
	const uint32_t arm = le32toh(rec->arm);

	*out = (struct hca_cq_record){
		.ci = le32toh(rec->ci),
		.arm_sn = (uint8_t)HCASIM_FIELD_GET(HCASIM_CQ_RECORD_SN_MASK, arm),
		.solicited = HCASIM_FIELD_GET(HCASIM_CQ_RECORD_SOLICITED_MASK, arm),
	};
}

static uint64_t register_value(const struct hca_config *cfg, hca_ps now, unsigned int bar, uint64_t offset)
{
	if (bar == HCASIM_BAR_UAR)
		return offset % HCASIM_UAR_PAGE_SIZE == HCASIM_UAR_CLOCK ? now : 0;
	if (bar != HCASIM_BAR_REGS)
		return 0;
	switch (offset) {
	case HCASIM_REG_FW_VER:
		return 1ull << 32; /* 1.0.0 */
	case HCASIM_REG_CAPS:
		return cfg->num_ports;
	case HCASIM_REG_CLOCK_PS:
		return now;
	default:
		return 0;
	}
}

static void read_register(const struct hca_config *cfg, hca_ps now, unsigned int bar, uint64_t offset,
			  uint8_t out[8])
{
	const uint64_t v = htole64(register_value(cfg, now, bar, offset));

	memcpy(out, &v, sizeof(v));
}

const struct hca_personality native_personality = {
	.name = "native",
	.adapter = "hcasim",
	.wqebb_size = HCASIM_WQEBB_SIZE,
	.cqe_size = HCASIM_CQE_SIZE,
	.eqe_size = HCASIM_EQE_SIZE,
	.uar = {HCASIM_BAR_UAR, HCASIM_UAR_PAGE_SIZE, HCASIM_UAR_PAGES, HCASIM_UAR_BF, HCASIM_BF_SIZE,
		HCASIM_BF_BUFS},
	.dm = {HCASIM_BAR_DM, HCASIM_BAR_DM_SIZE},
	.qp_record_size = sizeof(struct hcasim_sq_record),
	.cq_record_size = sizeof(struct hcasim_cq_record),
	.srq_record_size = sizeof(struct hcasim_srq_record),
	.rq_index_bits = 32,
	.ci_bits = 32,
	.wqe_size = native_wqe_size,
	.decode_wqe = native_decode_wqe,
	.decode_rqe = native_decode_rqe,
	.decode_tm_op = native_decode_tm_op,
	.encode_wqe = native_encode_wqe,
	.encode_cqe = native_encode_cqe,
	.encode_eqe = common_encode_eqe,
	.decode_doorbell = native_decode_doorbell,
	.resized_cq_index = resized_cq_index,
	.sq_record_pi = sq_record_pi,
	.rq_record_pi = rq_record_pi,
	.srq_record_pi = srq_record_pi,
	.decode_cq_record = decode_cq_record,
	.read_register = read_register,
};
