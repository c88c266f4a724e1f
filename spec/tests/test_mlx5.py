# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The layouts and numbers of families/mlx5.yaml are those of rdma-core's headers."""

import importlib

import pytest
from test_numbers import compile_c

# Our structure, theirs (mlx5dv.h, wqe.h), and our member with theirs, or with an offset where theirs is in no header.
MEMBERS = {
    ("wqe_ctrl", "mlx5_wqe_ctrl_seg"): {
        "opmod_idx_opcode": "opmod_idx_opcode", "qpn_ds": "qpn_ds", "fm_ce_se": "fm_ce_se", "imm": "imm",
    },
    ("seg_raddr", "mlx5_wqe_raddr_seg"): {"raddr": "raddr", "rkey": "rkey"},
    ("seg_atomic", "mlx5_wqe_atomic_seg"): {"swap_add": "swap_add", "compare": "compare"},
    ("seg_xrc", "mlx5_wqe_xrc_seg"): {"srqn": "xrc_srqn"},
    ("seg_dgram", "mlx5_wqe_datagram_seg"): {
        "qkey": "av.key.qkey.qkey", "dqp": "av.dqp_dct", "stat_rate_sl": "av.stat_rate_sl",
        "udp_sport": "av.rlid", "rmac": "av.rmac", "tclass": "av.tclass", "hop_limit": "av.hop_limit",
        "gid_fl": "av.grh_gid_fl", "rgid": "av.rgid",
    },
    ("seg_umr", "mlx5_wqe_umr_ctrl_seg"): {
        "flags": "flags", "klm_octowords": "klm_octowords", "mkey_mask": "mkey_mask",
    },
    ("seg_mkey", "mlx5_wqe_mkey_context_seg"): {
        "state": "free", "access_flags": "access_flags", "qpn_mkey": "qpn_mkey", "start_addr": "start_addr",
        "len": "len", "log_page_size": "log_page_size",
    },
    ("seg_klm", "mlx5_wqe_umr_klm_seg"): {"byte_count": "byte_count", "mkey": "mkey", "address": "address"},
    ("seg_repeat", "mlx5_wqe_umr_repeat_block_seg"): {
        "byte_count": "byte_count", "op": "op", "repeat_count": "repeat_count", "num_entries": "num_ent",
    },
    ("seg_repeat_entry", "mlx5_wqe_umr_repeat_ent_seg"): {
        "stride": "stride", "byte_count": "byte_count", "mkey": "memkey", "address": "va",
    },
    ("seg_data", "mlx5_wqe_data_seg"): {"byte_count": "byte_count", "lkey": "lkey", "addr": "addr"},
    ("seg_inline", "mlx5_wqe_inl_data_seg"): {"byte_count": "byte_count"},
    ("seg_srq_next", "mlx5_wqe_srq_next_seg"): {"next_wqe_index": "next_wqe_index"},
    ("cqe", "mlx5_cqe64"): {
        "wqe_id": "wqe_id", "rx_hash_result": "rsvd4[8]", "rx_hash_type": "rsvd4[12]", "ml_path": "ml_path",
        "slid": "slid", "flags_rqpn": "flags_rqpn",
        "hds_ip_ext": "hds_ip_ext", "l4_hdr_type_etc": "l4_hdr_type_etc", "vlan_info": "vlan_info",
        "srqn_uidx": "srqn_uidx", "imm_inval_pkey": "imm_inval_pkey", "app": "app", "app_op": "app_op",
        "app_info": "app_info", "byte_cnt": "byte_cnt", "timestamp": "timestamp",
        "sop_drop_qpn": "sop_drop_qpn", "wqe_counter": "wqe_counter", "op_own": "op_own",
    },
    ("cqe_err", "mlx5_err_cqe"): {
        "srqn_uidx": "srqn", "vendor_err_synd": "vendor_err_synd", "syndrome": "syndrome",
        "s_wqe_opcode_qpn": "s_wqe_opcode_qpn", "wqe_counter": "wqe_counter", "op_own": "op_own",
    },
}  # fmt: skip
# Commands (mlx5_ifc.h, whose structures have a byte for each bit): our member, the bits of ours, and their member.
COMMANDS = {
    ("cmd_in", "general_obj_in_cmd_hdr"): [
        ("opcode", None, "opcode"), ("uid", None, "uid"), ("op_mod", None, "obj_type"),
        ("number", None, "obj_id"), ("range", "LOG_OBJ_RANGE", "log_obj_range"),
    ],
    ("cmd_in", "query_hca_cap_in"): [("op_mod", None, "op_mod")],
    ("cmd_in", "rts2rts_qp_in"): [("number", "OBJECT", "qpn"), ("number", "QPC_EXT", "qpc_ext")],
    ("cmd_out", "general_obj_out_cmd_hdr"): [
        ("status", None, "status"), ("syndrome", None, "syndrome"), ("number", None, "obj_id"),
    ],
    ("hca_cap", "cmd_hca_cap"): [
        ("dw1", "HCA_CAP_2", "hca_cap_2"), ("dw4", "LOG_MAX_SRQ_SZ", "log_max_srq_sz"),
        ("dw4", "LOG_MAX_QP_SZ", "log_max_qp_sz"), ("dw4", "LOG_MAX_QP", "log_max_qp"),
        ("dw5", "LOG_MAX_SRQ", "log_max_srq"), ("dw6", "LOG_MAX_CQ_SZ", "log_max_cq_sz"),
        ("dw6", "LOG_MAX_CQ", "log_max_cq"), ("dw7", "LOG_MAX_MKEY", "log_max_mkey"),
        ("dw9", "QPC_EXTENSION", "qpc_extension"), ("dw16", "QOS", "qos"),
        ("dw10", "LOG_MAX_RA_REQ_QP", "log_max_ra_req_qp"), ("dw10", "LOG_MAX_RA_RES_QP", "log_max_ra_res_qp"),
        ("dw10", "RTS2RTS_QP_UDP_SPORT", "rts2rts_qp_udp_sport"), ("dw11", "GID_TABLE_SIZE", "gid_table_size"),
        ("dw12", "PKEY_TABLE_SIZE", "pkey_table_size"), ("dw13", "NIC_FLOW_TABLE", "nic_flow_table"),
        ("dw13", "PORT_TYPE", "port_type"),
        ("dw13", "NUM_PORTS", "num_ports"), ("dw14", "LOG_MAX_MSG", "log_max_msg"),
        ("dw15", "CQE_VERSION", "cqe_version"), ("dw16", "ROCE", "roce"), ("dw16", "ATOMIC", "atomic"),
        ("dw17", "CQ_RESIZE", "cq_resize"), ("dw17", "CQ_MODERATION", "cq_moderation"), ("dw17", "XRC", "xrc"),
        ("dw17", "UD", "ud"), ("dw17", "UC", "uc"), ("dw17", "RC", "rc"), ("dw18", "UAR_4K", "uar_4k"),
        ("dw18", "LOG_PG_SZ", "log_pg_sz"), ("dw19", "BF", "bf"),
        ("dw19", "LOG_BF_REG_SIZE", "log_bf_reg_size"), ("dw20", "MAX_WQE_SZ_SQ", "max_wqe_sz_sq"),
        ("dw21", "MAX_WQE_SZ_RQ", "max_wqe_sz_rq"),
        ("dw28", "LOG_MAX_RMP", "log_max_rmp"), ("general_obj_types", None, "general_obj_types"),
        ("device_frequency_khz", None, "device_frequency_khz"),
    ],
    ("hca_cap_2", "cmd_hca_cap_2"): [
        ("dw4", "LOG_RESERVED_QPN_GRANULARITY", "log_reserved_qpn_granularity"),
    ],
    ("hca_cap_qos", "qos_cap"): [
        ("dw0", "NIC_SQ_SCHEDULING", "nic_sq_scheduling"), ("dw0", "NIC_BW_SHARE", "nic_bw_share"),
        ("dw0", "NIC_RATE_LIMIT", "nic_rate_limit"), ("dw1", "NIC_QP_SCHEDULING", "nic_qp_scheduling"),
    ],
    ("qpc_ext", "qpc_ext"): [
        ("queue_group_requester", None, "qos_queue_group_id_requester"),
        ("queue_group_responder", None, "qos_queue_group_id_responder"),
    ],
    ("cmd_modify_sq", "modify_sq_in"): [
        ("number", "SQ_STATE", "sq_state"), ("number", "SQN", "sqn"),
        ("modify_bitmask", None, "modify_bitmask"), ("dw0", "STATE", "sq_context.state"),
        ("dw8", "QUEUE_GROUP", "sq_context.qos_queue_group_id"),
    ],
    ("cmd_sched_elem", "create_sched_elem_in"): [
        ("select", None, "sched_elem.modify_field_select"),
        ("hierarchy", "SCHEDULING_HIERARCHY", "sched_elem.scheduling_hierarchy"),
        ("element", "ELEMENT_TYPE", "sched_elem.sched_context.element_type"),
        ("attributes", "TSAR_TYPE", "sched_elem.sched_context.sched_elem_attr.tsar.tsar_type"),
        ("parent_element_id", None, "sched_elem.sched_context.parent_element_id"),
        ("bw_share", None, "sched_elem.sched_context.bw_share"),
        ("max_average_bw", None, "sched_elem.sched_context.max_average_bw"),
    ],
    ("hca_cap_atomic", "atomic_caps"): [
        ("operations", None, "atomic_operations"), ("size_qp", None, "atomic_size_qp"),
    ],
    ("hca_cap_dm", "device_mem_cap"): [
        ("dw0", "MEMIC", "memic"), ("log_max_alignment", None, "log_max_memic_addr_alignment"),
        ("bar_start", None, "memic_bar_start_addr"), ("bar_size", None, "memic_bar_size"),
        ("max_size", None, "max_memic_size"),
    ],
    ("hca_cap_flow_table", "flow_table_nic_cap"): [
        (type, None, f"flow_table_properties_{type}")
        for type in ("nic_receive", "nic_receive_rdma", "nic_receive_sniffer", "nic_transmit", "nic_transmit_rdma")
    ],
    ("flow_table_prop", "flow_table_prop_layout"): [
        ("dw0", "FT_SUPPORT", "ft_support"), ("dw0", "FLOW_TAG", "flow_tag"),
        ("dw0", "FLOW_COUNTER", "flow_counter"), ("dw1", "LOG_MAX_FT_SIZE", "log_max_ft_size"),
        ("dw1", "MAX_FT_LEVEL", "max_ft_level"), ("dw3", "LOG_MAX_FT_NUM", "log_max_ft_num"),
        ("dw4", "LOG_MAX_FLOW_COUNTER", "log_max_flow_counter"),
        ("dw4", "LOG_MAX_DESTINATION", "log_max_destination"), ("dw5", "LOG_MAX_FLOW", "log_max_flow"),
        ("fields", "IP_VERSION", "ft_field_support.outer_ip_version"),
        ("fields", "IPV4_TTL", "ft_field_support.outer_ipv4_ttl"),
    ],
    ("cmd_create_flow_table", "create_flow_table_in"): [
        ("vport", "OTHER_VPORT", "other_vport"), ("type", "TABLE_TYPE", "table_type"),
        ("context", "REFORMAT_EN", "flow_table_context.reformat_en"),
        ("context", "DECAP_EN", "flow_table_context.decap_en"),
        ("context", "SW_OWNER", "flow_table_context.sw_owner"),
        ("context", "TERMINATION_TABLE", "flow_table_context.termination_table"),
        ("context", "TABLE_MISS_ACTION", "flow_table_context.table_miss_action"),
        ("context", "LEVEL", "flow_table_context.level"),
        ("context", "LOG_SIZE", "flow_table_context.log_size"),
        ("miss", "TABLE_MISS_ID", "flow_table_context.table_miss_id"),
    ],
    ("cmd_create_flow_group", "create_flow_group_in"): [  # the rest is not there
        ("vport", "OTHER_VPORT", "other_vport"), ("type", "TABLE_TYPE", "table_type"),
        ("table", "TABLE_ID", "table_id"),
    ],
    ("cmd_set_fte", "set_fte_in"): [
        ("vport", "OTHER_VPORT", "other_vport"), ("type", "TABLE_TYPE", "table_type"),
        ("table", "TABLE_ID", "table_id"), ("flow_index", None, "flow_index"),
        ("group_id", None, "flow_context.group_id"), ("tag", "FLOW_TAG", "flow_context.flow_tag"),
        ("actions", "ACTION", "flow_context.action"),
        ("destinations", "EXTENDED_DESTINATION", "flow_context.extended_destination"),
        ("destinations", "DESTINATION_LIST_SIZE", "flow_context.destination_list_size"),
        ("counters", "FLOW_COUNTER_LIST_SIZE", "flow_context.flow_counter_list_size"),
    ],
    ("fte_dest", "dest_format"): [
        ("dest", "DESTINATION_TYPE", "destination_type"), ("dest", "DESTINATION_ID", "destination_id"),
    ],
    ("fte_counter", "flow_counter_list"): [("flow_counter_id", None, "flow_counter_id")],
    ("ads", "ads"): [
        ("pkey", "PKEY_INDEX", "pkey_index"), ("timeout", "ACK_TIMEOUT", "ack_timeout"),
        ("timeout", "SRC_ADDR_INDEX", "src_addr_index"), ("timeout", "STAT_RATE", "stat_rate"),
        ("timeout", "HOP_LIMIT", "hop_limit"), ("flow", "TCLASS", "tclass"),
        ("flow", "FLOW_LABEL", "flow_label"), ("dscp_sport", "ECN", "ecn"), ("dscp_sport", "DSCP", "dscp"),
        ("dscp_sport", "UDP_SPORT", "udp_sport"), ("port", "ETH_PRIO", "eth_prio"), ("port", "SL", "sl"),
        ("port", "VHCA_PORT_NUM", "vhca_port_num"), ("port", "RMAC_HIGH", "rmac_47_32"),
        ("rmac_low", None, "rmac_31_0"),
    ],
    ("qpc", "qpc"): [
        ("dw0", "STATE", "state"), ("dw0", "ST", "st"), ("dw0", "PM_STATE", "pm_state"),
        ("dw0", "OFFLOAD_TYPE", "offload_type"), ("dw1", "WQ_SIGNATURE", "wq_signature"),
        ("dw1", "BLOCK_LB_MC", "block_lb_mc"), ("dw1", "PD", "pd"), ("dw2", "MTU", "mtu"),
        ("dw2", "LOG_MSG_MAX", "log_msg_max"), ("dw2", "LOG_RQ_SIZE", "log_rq_size"),
        ("dw2", "LOG_RQ_STRIDE", "log_rq_stride"), ("dw2", "NO_SQ", "no_sq"),
        ("dw2", "LOG_SQ_SIZE", "log_sq_size"), ("dw2", "TS_FORMAT", "ts_format"), ("dw2", "RLKY", "rlky"),
        ("dw2", "ULP_STATELESS", "ulp_stateless_offload_mode"), ("dw3", "COUNTER_SET_ID", "counter_set_id"),
        ("dw3", "UAR_PAGE", "uar_page"), ("dw4", "USER_INDEX", "user_index"),
        ("dw5", "LOG_PAGE_SIZE", "log_page_size"), ("dw5", "REMOTE_QPN", "remote_qpn"),
        ("dw28", "LOG_ACK_REQ_FREQ", "log_ack_req_freq"), ("dw28", "LOG_SRA_MAX", "log_sra_max"),
        ("dw28", "RETRY_COUNT", "retry_count"), ("dw28", "RNR_RETRY", "rnr_retry"),
        ("send_psn", "NEXT_SEND_PSN", "next_send_psn"), ("send_cq", "CQN_SND", "cqn_snd"),
        ("dw36", "LOG_RRA_MAX", "log_rra_max"), ("dw36", "ATOMIC_MODE", "atomic_mode"), ("dw36", "RRE", "rre"),
        ("dw36", "RWE", "rwe"), ("dw36", "RAE", "rae"), ("dw36", "PAGE_OFFSET", "page_offset"),
        ("dw37", "MIN_RNR_NAK", "min_rnr_nak"), ("dw37", "NEXT_RCV_PSN", "next_rcv_psn"),
        ("xrc", "XRCD", "xrcd"), ("recv_cq", "CQN_RCV", "cqn_rcv"), ("dbr_addr", None, "dbr_addr"),
        ("q_key", None, "q_key"), ("rq", "RQ_TYPE", "rq_type"), ("rq", "SRQN", "srqn_rmpn_xrqn"),
        ("cs", "CS_REQ", "cs_req"), ("cs", "CS_RES", "cs_res"), ("dw52", "DBR_UMEM_VALID", "dbr_umem_valid"),
        ("dbr_umem_id", None, "dbr_umem_id"),
    ],
    ("cmd_create_qp", "create_qp_in"): [
        ("opt_param_mask", None, "opt_param_mask"), ("umem_id", None, "wq_umem_id"),
        ("umem", "UMEM_VALID", "wq_umem_valid"),
    ],
    ("cmd_modify_qp", "rts2rts_qp_in"): [
        ("opt_param_mask", None, "opt_param_mask"), ("opt_param_mask_2", None, "opt_param_mask_95_32"),
    ],
    ("cmd_create_mkey", "create_mkey_in"): [
        ("flags", "FREE", "memory_key_mkey_entry.free"),
        ("flags", "ACCESS_MODE_HIGH", "memory_key_mkey_entry.access_mode_4_2"),
        ("flags", "UMR_EN", "memory_key_mkey_entry.umr_en"),
        ("flags", "LOCAL_READ", "memory_key_mkey_entry.lr"),
        ("flags", "ACCESS_MODE", "memory_key_mkey_entry.access_mode_1_0"),
        ("qpn_mkey", "QPN", "memory_key_mkey_entry.qpn"),
        ("qpn_mkey", "TAG", "memory_key_mkey_entry.mkey_7_0"),
        ("flags_pd", "BSF_EN", "memory_key_mkey_entry.bsf_en"),
        ("flags_pd", "EN_RINVAL", "memory_key_mkey_entry.en_rinval"),
        ("flags_pd", "PD", "memory_key_mkey_entry.pd"),
        ("start_addr", None, "memory_key_mkey_entry.start_addr"),
        ("len", None, "memory_key_mkey_entry.len"),
        ("translations_octowords", None, "memory_key_mkey_entry.translations_octword_size"),
        ("crypto", "CRYPTO_EN", "memory_key_mkey_entry.crypto_en"),
        ("actual_octowords", None, "translations_octword_actual_size"),
    ],
}  # fmt: skip
FIELD = "offsetof(struct mlx5_ifc_flow_table_fields_supported_bits"
NUMBERS = {
    "offsetof(struct hcasim_mlx5_seg_eth, cs_flags)": "offsetof(struct mlx5_wqe_eth_seg, cs_flags)",
    "offsetof(struct hcasim_mlx5_seg_eth, mss)": "offsetof(struct mlx5_wqe_eth_seg, mss)",
    "offsetof(struct hcasim_mlx5_seg_eth, inline_hdr_sz)": "offsetof(struct mlx5_wqe_eth_seg, inline_hdr_sz)",
    "offsetof(struct hcasim_mlx5_seg_eth, inline_hdr)": "offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start)",
    "HCASIM_MLX5_INVALID_LKEY": "MLX5_INVALID_LKEY",
    "HCASIM_MLX5_WQEBB_SIZE": "MLX5_SEND_WQE_BB",
    "HCASIM_MLX5_UAR_DB_CQ": "MLX5_CQ_DOORBELL",
    "HCASIM_MLX5_SEG_INLINE_IS_INLINE_MASK": "MLX5_INLINE_SEG",
    "HCASIM_MLX5_SEG_DGRAM_EXTENDED_MASK": "MLX5_EXTENDED_UD_AV",
    "HCASIM_MLX5_CQ_RECORD_SOLICITED_MASK": "MLX5_CQ_DB_REQ_NOT_SOL",
    "HCASIM_MLX5_WQE_CTRL_SOLICITED_MASK": "MLX5_WQE_CTRL_SOLICITED",
    "HCASIM_FIELD_PREP(HCASIM_MLX5_WQE_CTRL_CE_MASK, HCASIM_MLX5_CE_ALWAYS)": "MLX5_WQE_CTRL_CQ_UPDATE",
    "HCASIM_FIELD_PREP(HCASIM_MLX5_WQE_CTRL_FM_MASK, HCASIM_MLX5_FM_FENCE)": "MLX5_WQE_CTRL_FENCE",
    "HCASIM_FIELD_PREP(HCASIM_MLX5_WQE_CTRL_FM_MASK, HCASIM_MLX5_FM_SMALL)": "MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE",
    "HCASIM_MLX5_SEG_ETH_L3_CSUM_MASK": "MLX5_ETH_WQE_L3_CSUM",
    "HCASIM_MLX5_SEG_ETH_L4_CSUM_MASK": "MLX5_ETH_WQE_L4_CSUM",
    "HCASIM_MLX5_SEG_UMR_INLINE_MASK": "MLX5_WQE_UMR_CTRL_FLAG_INLINE",
    "HCASIM_MLX5_SEG_UMR_CHECK_FREE_MASK": "MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE",
    "HCASIM_MLX5_SEG_UMR_CHECK_QPN_MASK": "MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN",
    "HCASIM_MLX5_SEG_UMR_MASK_LEN_MASK": "MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN",
    "HCASIM_MLX5_SEG_UMR_MASK_START_ADDR_MASK": "MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR",
    "HCASIM_MLX5_SEG_UMR_MASK_MKEY_MASK": "MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY",
    "HCASIM_MLX5_SEG_UMR_MASK_QPN_MASK": "MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN",
    "HCASIM_MLX5_SEG_UMR_MASK_FREE_MASK": "MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE",
    "HCASIM_MLX5_SEG_UMR_MASK_ACCESS_MASK": "MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE | "
    "MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ | MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE | "
    "MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC",
    "HCASIM_MLX5_SEG_UMR_TRANSLATION_OFFSET_EN_MASK": "MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET",
    "HCASIM_MLX5_SEG_MKEY_LOCAL_WRITE_MASK": "MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE",
    "HCASIM_MLX5_ACCESS_MODE_KLMS": "MLX5_MKC_ACCESS_MODE_KLMS",
    "sizeof(struct hcasim_mlx5_cmd_create_mkey)": "sizeof(struct mlx5_ifc_create_mkey_in_bits) / 8",
    "HCASIM_MLX5_SEG_MKEY_FREE_MASK": "MLX5_WQE_MKEY_CONTEXT_FREE",
    "HCASIM_MLX5_SEG_MKEY_ATOMIC_MASK": "MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC",
    "HCASIM_MLX5_SEG_MKEY_REMOTE_WRITE_MASK": "MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE",
    "HCASIM_MLX5_SEG_MKEY_REMOTE_READ_MASK": "MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ",
    "HCASIM_MLX5_CMD_MODIFY_QP_OPT_UDP_SPORT_MASK": "MLX5_QPC_OPT_MASK_32_UDP_SPORT",
    "sizeof(struct hcasim_mlx5_ads)": "sizeof(struct mlx5_ifc_ads_bits) / 8",
    "sizeof(struct hcasim_mlx5_qpc)": "sizeof(struct mlx5_ifc_qpc_bits) / 8",
    "8 * offsetof(struct hcasim_mlx5_ads, rgid)": "offsetof(struct mlx5_ifc_ads_bits, rgid_rip)",
    "8 * offsetof(struct hcasim_mlx5_qpc, path)": "offsetof(struct mlx5_ifc_qpc_bits, primary_address_path)",
    "8 * offsetof(struct hcasim_mlx5_qpc, other_path)": "offsetof(struct mlx5_ifc_qpc_bits, secondary_address_path)",
    "sizeof(struct hcasim_mlx5_cmd_create_qp)": "sizeof(struct mlx5_ifc_create_qp_in_bits) / 8",
    "sizeof(struct hcasim_mlx5_cmd_modify_qp)": "sizeof(struct mlx5_ifc_init2rtr_qp_in_bits) / 8",
    "8 * offsetof(struct hcasim_mlx5_cmd_create_qp, qpc)": "offsetof(struct mlx5_ifc_create_qp_in_bits, qpc)",
    "8 * offsetof(struct hcasim_mlx5_cmd_modify_qp, qpc)": "offsetof(struct mlx5_ifc_init2rtr_qp_in_bits, qpc)",
    "8 * offsetof(struct hcasim_mlx5_cmd_query_qp_out, qpc)": "offsetof(struct mlx5_ifc_query_qp_out_bits, qpc)",
    "HCASIM_MLX5_CMD_OBJ_RESERVED_QPN": "MLX5_OBJ_TYPE_RESERVED_QPN",
    "HCASIM_MLX5_CMD_OBJ_SCHEDULING_ELEMENT": "MLX5_OBJ_TYPE_SCHEDULING_ELEMENT",
    "HCASIM_MLX5_CAP_QOS << 1": "MLX5_SET_HCA_CAP_OP_MOD_QOS",
    "HCASIM_MLX5_CMD_MODIFY_QP_OPT_QOS_QUEUE_GROUP_MASK": "MLX5_QPC_OPT_MASK_32_QOS_QUEUE_GROUP_ID",
    "HCASIM_MLX5_CMD_MODIFY_SQ_SET_QUEUE_GROUP_MASK": "MLX5_MODIFY_SQ_BITMASK_QOS_QUEUE_GROUP_ID",
    "HCASIM_MLX5_SQ_STATE_RDY": "MLX5_SQC_STATE_RDY",
    "HCASIM_MLX5_SCHED_HIERARCHY_NIC": "MLX5_SCHED_HIERARCHY_NIC",
    "HCASIM_MLX5_SCHED_ELEM_TSAR": "MLX5_SCHED_ELEM_TYPE_TSAR",
    "HCASIM_MLX5_SCHED_ELEM_QUEUE_GROUP": "MLX5_SCHED_ELEM_TYPE_QUEUE_GROUP",
    "HCASIM_MLX5_SCHED_TSAR_DWRR": "MLX5_SCHED_TSAR_TYPE_DWRR",
    "HCASIM_MLX5_CMD_SCHED_ELEM_SELECT_BW_SHARE_MASK": "MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE",
    "HCASIM_MLX5_CMD_SCHED_ELEM_SELECT_MAX_AVERAGE_BW_MASK": "MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW",
    "8 * offsetof(struct hcasim_mlx5_hca_cap_qos, dw8)": "offsetof(struct mlx5_ifc_qos_cap_bits, nic_element_type)",
    "8 * sizeof(struct hcasim_mlx5_cmd_sched_elem)": "sizeof(struct mlx5_ifc_create_sched_elem_in_bits)",
    "8 * sizeof(struct hcasim_mlx5_cmd_modify_sq)": "sizeof(struct mlx5_ifc_modify_sq_in_bits)",
    "8 * sizeof(struct hcasim_mlx5_qpc_ext)": "sizeof(struct mlx5_ifc_qpc_ext_bits)",
    "8 * (sizeof(struct hcasim_mlx5_cmd_modify_qp) + sizeof(struct hcasim_mlx5_qpc_ext))": "sizeof(struct mlx5_ifc_rts2rts_qp_in_bits)",
    "HCASIM_MLX5_CAP_ATOMIC": "MLX5_CAP_ATOMIC",
    "HCASIM_MLX5_CAP_DEVICE_MEM << 1": "MLX5_SET_HCA_CAP_OP_MOD_DEVICE_MEMORY",
    "HCASIM_MLX5_CAP_FLOW_TABLE << 1": "MLX5_SET_HCA_CAP_OP_MOD_NIC_FLOW_TABLE",
    "8 * sizeof(struct hcasim_mlx5_flow_table_prop)": "sizeof(struct mlx5_ifc_flow_table_prop_layout_bits)",
    "8 * sizeof(struct hcasim_mlx5_cmd_create_flow_table)": "sizeof(struct mlx5_ifc_create_flow_table_in_bits)",
    "8 * HCASIM_MLX5_SET_FTE_LISTS": "sizeof(struct mlx5_ifc_set_fte_in_bits)",
    "8 * sizeof(struct hcasim_mlx5_fte_dest)": "sizeof(struct mlx5_ifc_dest_format_bits)",
    "8 * sizeof(struct hcasim_mlx5_fte_counter)": "sizeof(struct mlx5_ifc_flow_counter_list_bits)",
    "__builtin_clz(HCASIM_MLX5_FLOW_TABLE_PROP_L2_MASK)": f"{FIELD}, outer_dmac)",
    "32 - __builtin_ctz(HCASIM_MLX5_FLOW_TABLE_PROP_L2_MASK)": f"{FIELD}, outer_ip_version)",
    "__builtin_clz(HCASIM_MLX5_FLOW_TABLE_PROP_VLAN_MASK)": f"{FIELD}, outer_first_prio)",
    "32 - __builtin_ctz(HCASIM_MLX5_FLOW_TABLE_PROP_VLAN_MASK)": f"{FIELD}, outer_ipv4_ttl)",
    "__builtin_clz(HCASIM_MLX5_FLOW_TABLE_PROP_IP_MASK)": f"{FIELD}, outer_sip)",
    "32 - __builtin_ctz(HCASIM_MLX5_FLOW_TABLE_PROP_IP_MASK)": f"{FIELD}, outer_frag)",
    "__builtin_clz(HCASIM_MLX5_FLOW_TABLE_PROP_L4_MASK)": f"{FIELD}, outer_ip_protocol)",
    "32 - __builtin_ctz(HCASIM_MLX5_FLOW_TABLE_PROP_L4_MASK)": f"{FIELD}, outer_tcp_flags)",
    "8 * offsetof(struct hcasim_mlx5_flow_table_prop, fields)": "offsetof(struct mlx5_ifc_flow_table_prop_layout_bits, ft_field_support)",
    "8 * offsetof(struct hcasim_mlx5_flow_table_prop, field_bits)": "offsetof(struct mlx5_ifc_flow_table_prop_layout_bits, ft_field_bitmask_support)",
    "HCASIM_MLX5_FLOW_TABLE_NIC_RX": "FS_FT_NIC_RX",
    "HCASIM_MLX5_FLOW_TABLE_NIC_TX": "FS_FT_NIC_TX",
    "HCASIM_MLX5_FLOW_ACTION_FWD_DEST": "MLX5_FLOW_CONTEXT_ACTION_FWD_DEST",
    "HCASIM_MLX5_FLOW_ACTION_COUNT": "MLX5_FLOW_CONTEXT_ACTION_COUNT",
    "HCASIM_MLX5_FLOW_DEST_FLOW_TABLE": "MLX5_FLOW_DEST_TYPE_FT",
    "HCASIM_MLX5_FLOW_DEST_TIR": "MLX5_FLOW_DEST_TYPE_TIR",
    "HCASIM_MLX5_CAP_GENERAL_2 << 1": "MLX5_SET_HCA_CAP_OP_MOD_GENERAL_DEVICE_CAP_2",
    "HCASIM_MLX5_L3_HDR_IPV4": "MLX5_CQE_L3_HDR_TYPE_IPV4",
}
NOT_IN_IFC = ["QUERY_ADAPTER", "QUERY_CQ", "MODIFY_CQ", "QUERY_FLOW_COUNTER"]  # libmlx5 does not use them
CALLED_OTHERWISE = {
    "TO_ERR_QP": "2ERR_QP", "TO_RST_QP": "2RST_QP", "ALLOC_FLOW_COUNTER": "CREATE_FLOW_COUNTER",
}  # fmt: skip
# What a flow matches: our member, and theirs in mlx5_ifc.h, whose structures have a byte for each bit.
MATCH_OUTER = {
    "smac": "smac_47_16", "ethertype": "ethertype", "dmac": "dmac_47_16", "first_tci": "first_prio",
    "ip_protocol": "ip_protocol", "ip_tos": "ip_dscp", "kind": "cvlan_tag", "tcp_sport": "tcp_sport",
    "tcp_dport": "tcp_dport", "ipv4_checks": "ipv4_ihl", "ip_ttl": "ip_ttl_hoplimit", "udp_sport": "udp_sport",
    "udp_dport": "udp_dport", "src_ip": "src_ip_127_96", "dst_ip": "dst_ip_127_96",
}  # fmt: skip
SYNDROMES = {
    "LOC_LEN_ERR": "LOCAL_LENGTH_ERR", "LOC_QP_OP_ERR": "LOCAL_QP_OP_ERR", "LOC_PROT_ERR": "LOCAL_PROT_ERR",
    "LOC_ACCESS_ERR": "LOCAL_ACCESS_ERR", "REM_INV_REQ_ERR": "REMOTE_INVAL_REQ_ERR",
    "REM_ACCESS_ERR": "REMOTE_ACCESS_ERR", "REM_OP_ERR": "REMOTE_OP_ERR",
    "RETRY_EXC_ERR": "TRANSPORT_RETRY_EXC_ERR", "REM_ABORT_ERR": "REMOTE_ABORTED_ERR",
}  # fmt: skip


def check(left, right):
    return f'_Static_assert((unsigned long)({left}) == (unsigned long)({right}), "{left}");\n'


def check_command(ours, theirs, member, bits, their_member):
    """The place of the highest bit, and how many there are; ours are big-endian numbers."""
    mine, yours = f"struct hcasim_mlx5_{ours}", f"struct mlx5_ifc_{theirs}_bits"
    place, width = f"8 * offsetof({mine}, {member})", f"8 * sizeof((({mine} *)0)->{member})"
    if bits:
        mask = f"(uint64_t)HCASIM_MLX5_{ours.upper()}_{bits}_MASK"
        place += f" + {width} - 64 + __builtin_clzll({mask})"
        width = f"__builtin_popcountll({mask})"
    return check(place, f"offsetof({yours}, {their_member})") + check(
        width, f"sizeof((({yours} *)0)->{their_member})"
    )


@pytest.fixture(scope="module")
def assertions(documents):
    out = "#include <stdint.h>\n#include <endian.h>\n#include <infiniband/mlx5dv.h>\n"
    out += '#include "providers/mlx5/wqe.h"\n#include "hcasim_mlx5.h"\n'
    out += '#define u8 uint8_t\n#include "providers/mlx5/mlx5_ifc.h"\n'
    for (ours, theirs), members in MEMBERS.items():
        out += check(f"sizeof(struct hcasim_mlx5_{ours})", f"sizeof(struct {theirs})")
        for mine, yours in members.items():
            out += check(
                f"offsetof(struct hcasim_mlx5_{ours}, {mine})", f"offsetof(struct {theirs}, {yours})"
            )
    for (ours, theirs), members in COMMANDS.items():
        for member, bits, their_member in members:
            out += check_command(ours, theirs, member, bits, their_member)
    for ours, theirs in MATCH_OUTER.items():
        out += check(
            f"8 * offsetof(struct hcasim_mlx5_match_outer, {ours})",
            f"offsetof(struct mlx5_ifc_dr_match_spec_bits, {theirs})",
        )
    for ours, theirs in NUMBERS.items():
        out += check(ours, theirs)
    enums = {
        enum["name"]: [value["name"] for value in enum["values"]]
        for enum in documents["families/mlx5"]["enums"]
    }
    for name in enums["opcode"]:
        out += check(f"HCASIM_MLX5_OPCODE_{name}", f"MLX5_OPCODE_{name}")
    for name in enums["cqe_opcode"]:
        out += check(f"HCASIM_MLX5_CQE_OPCODE_{name}", f"MLX5_CQE_{name}")
    for name in enums["cmd"]:
        if name not in NOT_IN_IFC:
            out += check(f"HCASIM_MLX5_CMD_{name}", f"MLX5_CMD_OP_{CALLED_OTHERWISE.get(name, name)}")
    for name in enums["cmd_status"]:
        out += check(f"HCASIM_MLX5_CMD_STATUS_{name}", f"MLX5_CMD_STAT_{name}")
    for name in enums["syndrome"]:
        out += check(f"HCASIM_MLX5_SYNDROME_{name}", f"MLX5_CQE_SYNDROME_{SYNDROMES.get(name, name)}")
    return out


def test_layouts_and_numbers_are_those_of_libmlx5(assertions, generated, rdma_include, rdma_source, tmp_path):
    result = compile_c(assertions, tmp_path, [generated / "include", rdma_include, rdma_source])
    assert result.returncode == 0, result.stderr


def test_that_comparison_can_fail(assertions, generated, rdma_include, rdma_source, tmp_path):
    text = assertions + check("offsetof(struct hcasim_mlx5_cqe, app)", "offsetof(struct mlx5_cqe64, app_op)")
    result = compile_c(text, tmp_path, [generated / "include", rdma_include, rdma_source])
    assert result.returncode != 0 and "hcasim_mlx5_cqe, app" in result.stderr


# The context of a CQ is not in mlx5_ifc.h: our bits, and the field of rdma-core's tests (mlx5_prm_structs.py).
CQC = {
    "status": "status", "dbr_umem_valid": "dbr_umem_valid", "cqe_sz": "cqe_sz", "collapsed": "cc",
    "overrun_ignore": "oi", "period_mode": "cq_period_mode", "compression": "cqe_compression_en", "state": "st",
    "dbr_umem_id": "dbr_umem_id", "page_offset": "page_offset", "log_cq_size": "log_cq_size",
    "uar_page": "uar_page", "period": "cq_period", "max_count": "cq_max_count", "c_eqn": "c_eqn",
    "log_page_size": "log_page_size", "last_notified": None, "last_solicited": None,
    "consumer_counter": "consumer_counter", "producer_counter": "producer_counter",
}  # fmt: skip
BYTES = {"be32": 4, "be64": 8}


def bits_of(layout):
    """The bits of a big-endian layout: {name: mask}, as of one number."""
    masks, place = {}, 8 * layout["size"]
    for member in layout["members"]:
        size = BYTES.get(member["type"]) or int(member["type"][3:-1])
        place -= 8 * size
        fields = member.get("bits", [{"name": member["name"], "bits": [8 * size - 1, 0]}])
        for field in fields:
            high, low = field["bits"]
            masks[field["name"]] = ((1 << (high - low + 1)) - 1) << (place + low)
    return masks


def test_context_of_cqs_is_that_of_the_tests_of_rdma_core(documents, rdma_source, monkeypatch):
    pytest.importorskip("scapy")
    monkeypatch.syspath_prepend(str(rdma_source / "tests"))
    structs = importlib.import_module("mlx5_prm_structs")
    layouts = {layout["name"]: layout for layout in documents["families/mlx5"]["layouts"]}
    ours = bits_of(layouts["cqc"])
    for name, theirs in CQC.items():
        if theirs:
            width = ours[name].bit_count()
            cqc = bytes(structs.SwCqc(**{theirs: (1 << width) - 1}))
            assert int.from_bytes(cqc, "big") == ours[name], name
    create = structs.CreateCqIn(cq_umem_valid=1)
    assert len(bytes(create)) == layouts["cmd_create_cq"]["size"]
    assert int.from_bytes(bytes(create), "big") & ((1 << 1408) - 1) == 0
    assert int.from_bytes(bytes(create), "big") & bits_of(layouts["cmd_create_cq"])["umem_valid"]


# The same for flow counters: our layout, their command, and what its fields are called here.
COUNTERS = {
    ("cmd_query_flow_counter", "QueryFlowCounterIn"): {
        "mkey": "mkey", "address": "address", "clear": "clear", "dump_to_memory": "dump_to_memory",
        "num_of_counters": "num_of_counters", "flow_counter_id": "flow_counter_id",
    },
    ("traffic_counter", "TrafficCounter"): {"packets": "packets", "octets": "octets"},
    ("cmd_create_tir", "CreateTirIn"): {
        "disp_type": "tir_context.disp_type", "lro_enable_mask": "tir_context.lro_enable_mask",
        "inline_rqn_vhca_id_valid": "tir_context.inline_rqn_vhca_id_valid",
        "inline_q_type": "tir_context.inline_q_type", "inline_rqn": "tir_context.inline_rqn",
        "tunneled_offload_en": "tir_context.tunneled_offload_en",
        "indirect_table": "tir_context.indirect_table", "rx_hash_fn": "tir_context.rx_hash_fn",
        "transport_domain": "tir_context.transport_domain",
    },
}  # fmt: skip


@pytest.mark.parametrize("ours, theirs", COUNTERS)
def test_flow_counters_are_those_of_the_tests_of_rdma_core(ours, theirs, documents, rdma_source, monkeypatch):
    pytest.importorskip("scapy")
    monkeypatch.syspath_prepend(str(rdma_source / "tests"))
    command = getattr(importlib.import_module("mlx5_prm_structs"), theirs)
    masks = bits_of(
        next(layout for layout in documents["families/mlx5"]["layouts"] if layout["name"] == ours)
    )
    size = next(layout["size"] for layout in documents["families/mlx5"]["layouts"] if layout["name"] == ours)
    head = bytes(command())
    for name, field in COUNTERS[ours, theirs].items():
        most = command()
        part = most
        *parts, field = field.split(".")
        for inner in parts:
            part = getattr(part, inner)
        setattr(part, field, (1 << masks[name].bit_count()) - 1)
        changed = int.from_bytes(head[:size], "big") ^ int.from_bytes(bytes(most)[:size], "big")
        assert changed == masks[name], name
