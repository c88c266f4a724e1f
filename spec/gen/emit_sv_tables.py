# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
Tables of hcasim_pkg.sv, as functions that return a packed structure.

Written for yosys 0.23, which has no `return` and does not resolve a package's names inside its functions: rows
are numbers, with the name in a comment.
"""

from .emit_wr import where_flag

QP_TYPE_BITS = 16  # masks of QP types: bit enum ibv_qp_type; no WQE is posted to DRIVER QPs
_MESSAGE_PARTS = ("first", "middle", "last", "only")


class Table:
    """A function with a `width` bit number as argument, and the structure that it returns."""

    def __init__(self, name, doc, width, fields):
        self.name, self.doc, self.width, self.fields, self.rows = name, doc, width, fields, []

    def row(self, key, comment, values):
        self.rows.append((key, comment, values))

    def _fields(self):
        out = f"  // {self.doc}\n  typedef struct packed {{\n"
        for name, width, doc in self.fields:
            kind = f"logic [{width - 1}:0]" if width > 1 else "logic"
            out += f"    {kind} {name};" + (f" // {doc}" if doc else "") + "\n"
        return out + f"  }} {self.name}_t;\n\n"

    def text(self):
        bits = sum(width for _, width, _ in self.fields)
        out = self._fields()
        out += f"  // As {self.name}_t.\n"
        out += (
            f"  function automatic logic [{bits - 1}:0] {self.name}(input logic [{self.width - 1}:0] key);\n"
        )
        out += "    unique case (key)\n"
        for key, comment, values in self.rows:
            row = ", ".join(f"{width}'h{values.get(name, 0):x}" for name, width, _ in self.fields)
            out += f"      {self.width}'h{key:x}: {self.name} = {{{row}}}; // {comment}\n"
        return out + f"      default: {self.name} = {bits}'h0;\n    endcase\n  endfunction\n\n"


def _qp_mask(spec, names):
    numbers = spec.verbs["qpt"].by_name()
    return sum(1 << numbers[name] for name in dict.fromkeys(names))


def _wqe_ops(spec):
    segments = [name for row in spec.device.wqe_formats.values() for name in row["segments"]]
    fields = [
        ("valid", 1, "the opcode is defined"),
        ("nop", 1, "has no row in the tables of work requests: whatever follows ctrl is not read"),
        ("address", 1, "seg_ud follows ctrl on UD QPs, seg_xrc on XRC_SEND QPs"),
        *((name, 1, "") for name in dict.fromkeys(segments)),
        ("gather", 1, "data: SGEs to read, or one inline segment"),
        ("scatter", 1, "data: SGEs to write"),
        ("inline_data", 1, "data: one inline segment"),
        ("inline_ok", 1, "inline data is allowed"),
        ("length", 8, "the only payload length there is, or 0: any"),
        ("sent", 1, "goes over the wire, as `msg`"),
        ("msg", 4, "MSG_*"),
        ("qp_types", QP_TYPE_BITS, "on these it is carried out"),
        ("fence_qp_types", QP_TYPE_BITS, "where FENCE has an effect"),
        ("solicited_qp_types", QP_TYPE_BITS, "where SOLICITED has an effect"),
        ("csum_qp_types", QP_TYPE_BITS, "where IP_CSUM has an effect"),
    ]
    table = Table("wqe_op_info", "What an opcode of a WQE is to the send engine.", 8, fields)
    of_op = {operation["wqe_op"]: operation for operation in spec.wr.operations.values()}
    numbers, messages = spec.core.enums["wqe_op"].by_name(), list(spec.wire.messages)
    for op, wqe_format in spec.device.wqe_formats.items():
        values = {"valid": 1, "address": int(wqe_format["address"])}
        values.update({name: 1 for name in wqe_format["segments"]})
        values[{"inline": "inline_data"}.get(wqe_format["data"], wqe_format["data"])] = 1
        operation = of_op.get(op)
        if operation:
            values.update(_operation(spec, operation, messages))
        else:
            values.update(nop=1, qp_types=_qp_mask(spec, spec.wr.qp_types))
        table.row(numbers[op], op, values)
    return table


def _operation(spec, operation, messages):
    values = {
        "inline_ok": int(operation["inline"]),
        "length": operation.get("length", 0),
        "qp_types": _qp_mask(spec, operation["wr"] + operation["post"]),
    }
    for name, flag in (("fence", "FENCE"), ("solicited", "SOLICITED"), ("csum", "IP_CSUM")):
        values[f"{name}_qp_types"] = _qp_mask(spec, where_flag(spec.wr, operation, flag))
    if operation.get("message"):
        values.update(sent=1, msg=messages.index(operation["message"]))
    return values


def _messages(wire):
    fields = [(part, 5, "") for part in _MESSAGE_PARTS]
    doc = "Codes of a message's packets. One that is always one packet has it four times."
    table = Table("msg_codes", doc, 4, fields)
    for index, (name, message) in enumerate(wire.messages.items()):
        codes = {part: wire.codes[message.get(part, message["only"])]["value"] for part in _MESSAGE_PARTS}
        table.row(index, name, codes)
    return table


def _opcodes(wire):
    fields = [
        ("valid", 1, "the opcode is defined"),
        ("comp", 1, "consumes a receive WQE when its message ends"),
    ]
    fields += [(f"has_{name}", 1, "") for name in wire.headers]
    fields += [("bytes", 8, "of all transport headers, which stand in the order of these bits")]
    table = Table("bth_op_info", "What a packet of an opcode is made of.", 8, fields)
    for op in wire.opcodes:
        values = {"valid": 1, "comp": int("COMP" in op.flags), "bytes": op.header_len}
        values.update({f"has_{name}": 1 for name in op.headers})
        table.row(op.value, op.name, values)
    return table


def _rnr_timers(wire):
    table = Table("rnr_timer", "RNR NAK timer field (IBTA table 45).", 5, [("ns", 30, "nanoseconds")])
    for code, ns in enumerate(wire.rnr_timer_ns):
        table.row(code, f"{ns / 1e6:g} ms", {"ns": ns})
    return table


def text(spec):
    wire = spec.wire
    out = "  // bits 7:5 of BTH.opcode\n  typedef enum logic [2:0] {\n"
    out += ",\n".join(f"    TRANSPORT_{t['name']} = 3'h{t['value']:x}" for t in wire.transports.values())
    out += (
        "\n  } transport_e;\n\n  // messages, by what the packets are made of\n  typedef enum logic [3:0] {\n"
    )
    out += ",\n".join(f"    MSG_{name} = 4'h{index:x}" for index, name in enumerate(wire.messages))
    out += "\n  } msg_e;\n\n"
    tables = _wqe_ops(spec), _messages(wire), _opcodes(wire), _rnr_timers(wire)
    return out + "".join(table.text() for table in tables)
