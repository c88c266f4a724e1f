# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim_wr.h: the rules of work requests, for the provider and all device families; hcasim_ops.h: operations, for the core."""

from . import ctext

_TYPES = """\
enum hcasim_wr_data {
	HCASIM_WR_DATA_NONE,     /* a data setter or SGE is an error */
	HCASIM_WR_DATA_OPTIONAL, /* without one: 0 bytes */
	HCASIM_WR_DATA_REQUIRED,
};

#define HCASIM_QPT_BIT(qpt) (1U << (qpt))

/* One row of the tables of ibv_wr_post(3) and ibv_post_send(3). Masks of QP types: HCASIM_QPT_BIT. */
struct hcasim_wr_rule {
	const char *name;
	uint32_t qp_types;         /* ibv_wr_* takes it on these */
	uint32_t post_qp_types;    /* ibv_post_send takes it on these */
	uint8_t data;              /* enum hcasim_wr_data */
	uint8_t length;            /* the only payload length there is, or 0: any */
	uint8_t inline_ok;         /* inline data is allowed */
	uint32_t ud_addr_qp_types; /* ibv_wr_set_ud_addr is mandatory on these */
	uint32_t srqn_qp_types;    /* ibv_wr_set_xrc_srqn is mandatory on these */
	uint32_t send_flags;       /* flags that have an effect: HCASIM_SEND_*, of ibv_post_send */
	uint32_t wr_flags;         /* the same, of wr_flags */
	uint32_t fence_qp_types;   /* where FENCE has an effect */
	uint32_t solicited_qp_types; /* where SOLICITED has an effect */
	uint32_t csum_qp_types;    /* where IP_CSUM has an effect */
	uint64_t send_ops_flag;    /* IBV_QP_EX_WITH_*, or 0: not through ibv_wr_* */
	int wr_opcode;             /* enum ibv_wr_opcode, or -1: not through ibv_post_send */
	int wc_opcode;             /* enum ibv_wc_opcode of the sender's completion */
	int recv_wc_opcode;        /* enum ibv_wc_opcode at the peer, or -1: consumes no receive */
	uint32_t recv_wc_flags;    /* enum ibv_wc_flags at the peer */
	uint8_t wqe_op;            /* enum hcasim_wqe_op */
	uint8_t value;             /* its data is a value in the request (ATOMIC_WRITE), not a data setter's */
};

"""


def _qp_mask(names):
    return " | ".join(f"HCASIM_QPT_BIT(HCASIM_QPT_{name})" for name in names) or "0"


def _types(operation):
    """QP types on which one of the interfaces accepts the operation."""
    return dict.fromkeys(operation["wr"] + operation["post"])


def _flags(requests, operation, api):
    names = []
    for flag in requests.flags.values():
        if any(flag["name"] in requests.flags_of(operation, qpt, api) for qpt in _types(operation)):
            names.append(f"HCASIM_SEND_{flag['name']}")
    return " | ".join(names) or "0"


def where_flag(requests, operation, flag):
    """QP types on which the flag has an effect."""
    return [qpt for qpt in _types(operation) if flag in requests.flags_of(operation, qpt, "wr")]


def _where(requests, operation, flag):
    return _qp_mask(where_flag(requests, operation, flag))


def _rule(requests, operation, wqe_format):
    def setter(name):
        return _qp_mask([qpt for qpt in _types(operation) if requests.qp_setter(operation, qpt) == name])

    recv = operation.get("recv")
    recv_flags = [f"HCASIM_IBV_WC_FLAG_{flag}" for flag in recv["flags"]] if recv else []
    members = {
        "name": f'"{operation["name"]}"',
        "qp_types": _qp_mask(operation["wr"]),
        "post_qp_types": _qp_mask(operation["post"]),
        "data": f"HCASIM_WR_DATA_{operation['data'].upper()}",
        "length": operation.get("length", 0),
        "inline_ok": int(operation["inline"]),
        "ud_addr_qp_types": setter("ud_addr"),
        "srqn_qp_types": setter("xrc_srqn"),
        "send_flags": _flags(requests, operation, "post") if operation["post"] else "0",
        "wr_flags": _flags(requests, operation, "wr"),
        "fence_qp_types": _where(requests, operation, "FENCE"),
        "solicited_qp_types": _where(requests, operation, "SOLICITED"),
        "csum_qp_types": _where(requests, operation, "IP_CSUM"),
        "send_ops_flag": f"HCASIM_QP_EX_WITH_{operation['name']}" if operation["wr"] else "0",
        "wr_opcode": f"HCASIM_IBV_WR_{operation['name']}" if operation["post"] else "-1",
        "wc_opcode": f"HCASIM_IBV_WC_{operation['wc']}",
        "recv_wc_opcode": f"HCASIM_IBV_WC_{recv['opcode']}" if recv else "-1",
        "recv_wc_flags": " | ".join(recv_flags) or "0",
        "wqe_op": f"HCASIM_WQE_OP_{operation['wqe_op']}",
        "value": int(operation["data"] == "none" and wqe_format["data"] == "inline"),
    }
    body = "".join(f"\t\t.{name} = {value},\n" for name, value in members.items())
    return f"\t/* {operation['clause']} */\n\t{{\n{body}\t}},\n"


def _lookup():
    return """\
/* The row of an opcode of ibv_post_send, or NULL. */
static inline const struct hcasim_wr_rule *hcasim_wr_rule_of_opcode(int wr_opcode)
{
	for (unsigned int i = 0; i < HCASIM_WR_NUM; i++)
		if (wr_opcode >= 0 && hcasim_wr_rules[i].wr_opcode == wr_opcode)
			return &hcasim_wr_rules[i];
	return NULL;
}

/* The row of one of enum hcasim_wqe_op, or NULL. */
static inline const struct hcasim_wr_rule *hcasim_wr_rule_of_wqe_op(uint8_t wqe_op)
{
	for (unsigned int i = 0; i < HCASIM_WR_NUM; i++)
		if (hcasim_wr_rules[i].wqe_op == wqe_op)
			return &hcasim_wr_rules[i];
	return NULL;
}
"""


def wr_header(spec):
    requests = spec.wr
    body = '#include "hcasim_core.h"\n#include "hcasim_verbs.h"\n\n'
    body += "/* Operations: rows of the tables. */\nenum hcasim_wr_op {\n"
    body += "".join(f"\tHCASIM_WR_{name},\n" for name in requests.operations) + "\tHCASIM_WR_NUM\n};\n\n"
    body += _TYPES
    body += "static const struct hcasim_wr_rule hcasim_wr_rules[HCASIM_WR_NUM] = {\n"
    body += "".join(
        _rule(requests, operation, spec.device.wqe_formats[operation["wqe_op"]])
        for operation in requests.operations.values()
    )
    body += "};\n\n"
    body += _lookup()
    return ctext.header("HCASIM_WR_H", "Rules of work requests.", ["stddef.h", "stdint.h"], body)


_OPS = """\
/* What one of enum hcasim_wqe_op is to the send engine. */
struct hcasim_wqe_op_info {
	uint32_t qp_types; /* HCASIM_QPT_BIT: on these it is carried out */
	uint8_t msg;       /* HCASIM_MSG_*: how it goes over the wire; HCASIM_NUM_MSG: it does not */
	uint8_t length;    /* the only payload length there is, or 0: any */
	bool local;        /* sends nothing */
	bool result;       /* data comes back: READ, atomics */
	bool answered;     /* HCASIM_BTH_F_ANSWERED */
	bool value;        /* its data is a value in the request, not payload */
};

"""


def _op_facts(spec, op, operation):
    """Facts derived from the rows of a WQE opcode; `operation` is None for NOP."""
    message = spec.wire.messages.get(operation.get("message")) if operation else None
    return {
        "length": operation.get("length", 0) if operation else 0,
        "local": not message,
        "result": spec.device.wqe_formats[op]["data"] == "scatter",
        "answered": bool(message) and "ANSWERED" in spec.wire.codes[message["only"]]["flags"],
        "value": spec.device.wqe_formats[op]["data"] == "inline",
    }


def ops_header(spec):
    """hcasim_ops.h: for the device, which needs the tables of work requests and those of the wire together."""
    of_op = {operation["wqe_op"]: operation for operation in spec.wr.operations.values()}
    body = '#include "hcasim_wire.h"\n#include "hcasim_wr.h"\n\n' + _OPS
    body += "/* NULL if the opcode is not defined. */\n"
    body += "static inline const struct hcasim_wqe_op_info *hcasim_wqe_op_info(uint8_t op)\n{\n"
    body += "\tstatic const struct hcasim_wqe_op_info table[] = {\n"
    for op in spec.device.wqe_formats:
        operation = of_op.get(op)
        types = _types(operation) if operation else spec.wr.qp_types
        message = operation and operation.get("message")
        body += f"\t\t[HCASIM_WQE_OP_{op}] = {{\n\t\t\t.qp_types = {_qp_mask(types)},\n"
        body += f"\t\t\t.msg = {f'HCASIM_MSG_{message}' if message else 'HCASIM_NUM_MSG'},\n"
        body += "".join(
            f"\t\t\t.{name} = {int(value)},\n" for name, value in _op_facts(spec, op, operation).items()
        )
        body += "\t\t},\n"
    body += "\t};\n\n\treturn op < sizeof(table) / sizeof(table[0]) ? &table[op] : NULL;\n}\n"
    return ctext.header(
        "HCASIM_OPS_H", "Operations of the send engine.", ["stdbool.h", "stddef.h", "stdint.h"], body
    )
