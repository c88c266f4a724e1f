// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* QUERY_HCA_CAP: what a ConnectX-6 can do and this one does, too. All that is not set here is absent. */
#include <endian.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"
#include "devices/mlx5/format/format.h"

#define PREP(field, v)  htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_HCA_CAP_##field##_MASK, v))
#define OP_MOD_TYPE     1 /* bits from here on; below: the most there can be, or what there is */
#define PORT_ETHERNET   1
#define CQE_VERSION     1
#define LOG_PAGE        12
#define HOST_ORDER      1 /* mlx5_core sets this mode */
#define LOG_128         7 /* the smallest block of flow counters in the older encoding of sizes */
#define GID_TABLE_INDEX 4 /* the size as firmware counts: 8 << index */

static uint32_t log2_of(uint32_t n)
{
	uint32_t log = 0;

	while (log < 31 && n >> (log + 1))
		log++;
	return log;
}

static void limits(const struct hca_config *cfg, struct hcasim_mlx5_hca_cap *cap)
{
	const uint32_t rd_atomic = log2_of(cfg->max_rd_atomic);

	cap->dw4 = PREP(LOG_MAX_SRQ_SZ, log2_of(HCASIM_MLX5_MAX_SRQ_WR + 1)) |
		   PREP(LOG_MAX_QP_SZ, log2_of(HCASIM_MLX5_MAX_QP_WR)) |
		   PREP(LOG_MAX_QP, log2_of(cfg->max_qp));
	cap->dw5 = PREP(ECE_SUPPORT, 1) | PREP(LOG_MAX_SRQ, log2_of(cfg->max_srq));
	cap->dw6 = PREP(LOG_MAX_CQ_SZ, log2_of(HCASIM_MLX5_MAX_CQE + 1)) |
		   PREP(LOG_MAX_CQ, log2_of(cfg->max_cq));
	cap->dw7 = PREP(LOG_MAX_MKEY, log2_of(cfg->max_mr));
	cap->dw10 = PREP(LOG_MAX_RA_REQ_QP, rd_atomic) | PREP(LOG_MAX_RA_RES_QP, rd_atomic) |
		    PREP(RTS2RTS_QP_UDP_SPORT, 1);
	cap->dw14 = PREP(LOG_MAX_MSG, HCASIM_MLX5_LOG_MAX_MSG);
	cap->dw20 = PREP(MAX_WQE_SZ_SQ, HCASIM_MLX5_MAX_SQ_DESC);
	cap->dw24 =
		PREP(FLOW_COUNTER_BULK_ALLOC, (1u << (HCASIM_MLX5_LOG_MAX_FLOW_COUNTERS - LOG_128 + 1)) - 1);
	cap->dw28 = PREP(LOG_MAX_RMP, log2_of(cfg->max_srq));
	cap->dw21 = PREP(MAX_WQE_SZ_RQ, HCASIM_MLX5_MAX_RQ_DESC);
}

static void general(const struct hca_config *cfg, void *out)
{
	struct hcasim_mlx5_hca_cap cap = {
		.dw1 = PREP(HCA_CAP_2, 1),
		.dw11 = PREP(GID_TABLE_SIZE, GID_TABLE_INDEX),
		.dw13 = PREP(NIC_FLOW_TABLE, 1) | PREP(PORT_TYPE, PORT_ETHERNET) |
			PREP(NUM_PORTS, cfg->num_ports),
		.dw15 = PREP(CQE_VERSION, CQE_VERSION),
		.dw9 = PREP(QPC_EXTENSION, 1),
		.dw16 = PREP(QOS, 1) | PREP(ROCE, 1) | PREP(ATOMIC, 1),
		.dw17 = PREP(CQ_RESIZE, 1) | PREP(CQ_MODERATION, 1) | PREP(XRC, 1) | PREP(UD, 1) |
			PREP(UC, 1) | PREP(RC, 1),
		.dw18 = PREP(UAR_4K, 1) | PREP(LOG_PG_SZ, LOG_PAGE),
		.dw19 = PREP(BF, 1) | PREP(LOG_BF_REG_SIZE, log2_of(HCASIM_MLX5_BFREG_SIZE)),
		.general_obj_types = htobe64(1ull << HCASIM_MLX5_CMD_OBJ_RESERVED_QPN |
					     1ull << HCASIM_MLX5_CMD_OBJ_SCHEDULING_ELEMENT),
		.device_frequency_khz = htobe32(HCASIM_MLX5_CORE_CLOCK_KHZ),
	};

	limits(cfg, &cap);
	memcpy(out, &cap, sizeof(cap));
}

static void general_2(void *out)
{
	const struct hcasim_mlx5_hca_cap_2 cap = {
		.dw4 = htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_HCA_CAP_2_LOG_RESERVED_QPN_GRANULARITY_MASK,
						 HCASIM_MLX5_LOG_RESERVED_QPNS)),
		.dw18 = htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_HCA_CAP_2_FLOW_COUNTER_BULK_LOG_MAX_ALLOC_MASK,
						  HCASIM_MLX5_LOG_MAX_FLOW_COUNTERS))};

	memcpy(out, &cap, sizeof(cap));
}

#define QOS(field, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_HCA_CAP_QOS_##field##_MASK, v))

/* Scheduling elements for queues; none of an embedded switch. */
static void qos(void *out)
{
	const struct hcasim_mlx5_hca_cap_qos cap = {
		.dw0 = QOS(PACKET_PACING, 1) | QOS(PACKET_PACING_BURST_BOUND, 1) |
		       QOS(PACKET_PACING_TYPICAL_SIZE, 1) | QOS(PACKET_PACING_UID, 1) |
		       QOS(NIC_SQ_SCHEDULING, 1) | QOS(NIC_BW_SHARE, 1) | QOS(NIC_RATE_LIMIT, 1),
		.dw1 = QOS(NIC_QP_SCHEDULING, 1) |
		       QOS(LOG_MAX_QOS_NIC_QUEUE_GROUP, HCASIM_MLX5_LOG_MAX_SCHED_ELEMS),
		.packet_pacing_max_rate = htobe32(HCASIM_RATE_LIMIT_MAX),
		.packet_pacing_min_rate = htobe32(HCASIM_RATE_LIMIT_MIN),
		.dw4 = QOS(PACKET_PACING_RATE_TABLE_SIZE, HCASIM_MLX5_PP_RATES),
		.max_tsar_bw_share = htobe32(HCASIM_MLX5_MAX_BW_SHARE),
		.dw8 = QOS(NIC_ELEMENT_TSAR, 1) | QOS(NIC_ELEMENT_QUEUE_GROUP, 1) | QOS(NIC_TSAR_DWRR, 1),
	};

	memcpy(out, &cap, sizeof(cap));
}

static void atomic(void *out)
{
	const struct hcasim_mlx5_hca_cap_atomic cap = {
		.dw2 = htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_HCA_CAP_ATOMIC_REQ_8B_ENDIANNESS_MODE_MASK,
						 HOST_ORDER) |
			       HCASIM_MLX5_HCA_CAP_ATOMIC_SUPPORTED_REQ_8B_ENDIANNESS_MODE_1_MASK),
		.operations = htobe16(HCASIM_MLX5_HCA_CAP_ATOMIC_CMP_SWAP_MASK |
				      HCASIM_MLX5_HCA_CAP_ATOMIC_FETCH_ADD_MASK),
		.size_qp = htobe16(HCASIM_MLX5_HCA_CAP_ATOMIC_BYTES_8_MASK)};

	memcpy(out, &cap, sizeof(cap));
}

#define PROP(field, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_FLOW_TABLE_PROP_##field##_MASK, v))
#define ALL_OF(field)  htobe32(HCASIM_MLX5_FLOW_TABLE_PROP_##field##_MASK)

/* Frames come out of tunnels when they are received, and go into them when they are sent. */
static __be32 tunnels(bool received)
{
	return PROP(REFORMAT, 1) | PROP(REFORMAT_AND_MODIFY_ACTION, 1) | PROP(DECAP, received) |
	       PROP(REFORMAT_L3_TUNNEL_TO_L2, received) | PROP(REFORMAT_L2_TO_L3_TUNNEL, !received);
}

/* Tables of each type that there is have the same limits; an entry has one destination. RoCE packets are not changed. */
static void one_type(bool received, bool roce, uint8_t out[sizeof(struct hcasim_mlx5_flow_table_prop)])
{
	const __be32 changes = PROP(LOG_MAX_MODIFY_HEADER_CONTEXT, HCASIM_MLX5_LOG_MODIFY_HEADERS) |
			       PROP(MAX_MODIFY_HEADER_ACTIONS, HCASIM_MLX5_MAX_MODIFY_ACTIONS);
	const uint32_t counters = log2_of(HCASIM_MLX5_FLOW_COUNTER_BLOCKS);
	const __be32 fields = ALL_OF(L2) | ALL_OF(VLAN) | ALL_OF(IPV4_TTL) | ALL_OF(IP) | ALL_OF(L4);
	const __be32 geneve = received && !roce ? ALL_OF(GENEVE) : 0;
	const struct hcasim_mlx5_flow_table_prop prop = {
		.dw0 = PROP(FT_SUPPORT, 1) | PROP(FLOW_TAG, received) | PROP(FLOW_COUNTER, 1) |
		       (roce ? 0 : tunnels(received)),
		.dw1 = PROP(LOG_MAX_FT_SIZE, HCASIM_MLX5_LOG_MAX_FT_SIZE) |
		       PROP(MAX_FT_LEVEL, HCASIM_MLX5_MAX_FT_LEVEL) | (roce ? 0 : changes),
		.dw3 = PROP(LOG_MAX_FT_NUM, log2_of(HCASIM_MLX5_FLOW_TABLES)),
		.dw4 = PROP(LOG_MAX_FLOW_COUNTER, counters),
		.dw5 = PROP(LOG_MAX_FLOW, HCASIM_MLX5_LOG_MAX_FT_SIZE),
		.fields = fields | ALL_OF(IP_VERSION) | geneve,
		.field_bits = fields | geneve,
	};

	memcpy(out, &prop, sizeof(prop));
}

#define CHANGE(field) htobe32(HCASIM_MLX5_HEADER_MODIFY_PROP_##field##_MASK)

/* Where it says which fields can be copied is not known. */
static void header_changes(uint8_t out[sizeof(struct hcasim_mlx5_header_modify_prop)])
{
	const struct hcasim_mlx5_header_modify_prop prop = {
		.set = CHANGE(L2) | CHANGE(VLAN) | CHANGE(IPV4_TTL) | CHANGE(IP) | CHANGE(L4),
		.set_3 = htobe32(HCASIM_MLX5_HEADER_MODIFY_PROP_IPV6_HOP_LIMIT_MASK),
		.add = CHANGE(L2) | CHANGE(VLAN) | CHANGE(IPV4_TTL) | CHANGE(IP) | CHANGE(L4),
		.add_3 = htobe32(HCASIM_MLX5_HEADER_MODIFY_PROP_IPV6_HOP_LIMIT_MASK),
	};

	memcpy(out, &prop, sizeof(prop));
}

#define NIC(field, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_HCA_CAP_FLOW_TABLE_##field##_MASK, v))

/* Longer than the shortest answer. */
static void flow_tables(void *out, size_t room)
{
	struct hcasim_mlx5_hca_cap_flow_table cap = {
		.dw1 = NIC(ENCAP_GENERAL_HEADER, 1) |
		       NIC(LOG_MAX_PACKET_REFORMAT_CONTEXT, HCASIM_MLX5_LOG_PACKET_REFORMATS) |
		       NIC(MAX_ENCAP_HEADER_SIZE, HCASIM_MLX5_MAX_ENCAP_HEADER)};

	one_type(true, false, cap.nic_receive);
	one_type(true, true, cap.nic_receive_rdma);
	one_type(false, false, cap.nic_transmit);
	one_type(false, true, cap.nic_transmit_rdma);
	header_changes(cap.header_modify_nic_receive);
	header_changes(cap.header_modify_nic_transmit);
	memcpy(out, &cap, room < sizeof(cap) ? room : sizeof(cap));
}

static void device_memory(void *out)
{
	const struct hcasim_mlx5_hca_cap_dm cap = {
		.dw0 = htobe32(HCASIM_MLX5_HCA_CAP_DM_MEMIC_MASK),
		.increment_sizes = 1,
		.test_and_set_sizes = 1,
		.log_min_alloc = LOG_PAGE,
		.log_max_alignment = (uint8_t)log2_of(HCASIM_MLX5_BAR_DM_SIZE),
		.bar_size = htobe32(HCASIM_MLX5_BAR_DM_SIZE),
		.max_size = htobe32(HCASIM_MLX5_BAR_DM_SIZE),
		.operations = htobe32(mlx5_personality.dm_ops),
	};

	memcpy(out, &cap, sizeof(cap));
}

uint8_t mlx5_devx_query_hca_cap(struct mlx5_devx_cmd *cmd)
{
	uint8_t *out = cmd->out + sizeof(struct hcasim_mlx5_cmd_out);

	const uint16_t type = be16toh(cmd->head.op_mod) >> OP_MOD_TYPE;

	switch (type) {
	case HCASIM_MLX5_CAP_GENERAL:
		general(cmd->call->dev->cfg, out);
		return HCASIM_MLX5_CMD_STATUS_OK;
	case HCASIM_MLX5_CAP_GENERAL_2:
		general_2(out);
		return HCASIM_MLX5_CMD_STATUS_OK;
	case HCASIM_MLX5_CAP_ATOMIC:
		atomic(out);
		return HCASIM_MLX5_CMD_STATUS_OK;
	case HCASIM_MLX5_CAP_FLOW_TABLE:
		flow_tables(out, cmd->out_len - sizeof(struct hcasim_mlx5_cmd_out));
		return HCASIM_MLX5_CMD_STATUS_OK;
	case HCASIM_MLX5_CAP_QOS:
		qos(out);
		return HCASIM_MLX5_CMD_STATUS_OK;
	case HCASIM_MLX5_CAP_DEVICE_MEM:
		device_memory(out);
		return HCASIM_MLX5_CMD_STATUS_OK;
	default: /* of the types in between nothing is there */
		return type < HCASIM_MLX5_CAP_GENERAL_2 ? HCASIM_MLX5_CMD_STATUS_OK
							: HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	}
}
