# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim_wire.h: packet headers and opcodes."""

from . import ctext
from .wire import MAX_HEADERS

_INFO = """\
/* What a packet of one opcode is made of. */
struct hcasim_bth_op_info {
	const char *name;
	uint8_t op;
	uint8_t transport; /* enum hcasim_transport */
	uint32_t flags;    /* HCASIM_BTH_F_* */
	uint8_t num_hdrs;
	uint8_t hdr[%(max)d]; /* enum hcasim_hdr, in order, BTH first */
	uint8_t hdr_offset[HCASIM_NUM_HDR]; /* by enum hcasim_hdr, from the BTH; 0 if absent (and for the BTH) */
	uint8_t hdr_len; /* bytes of all headers: where the payload starts */
};

"""


def _plain_enum(name, prefix, items, doc, last=""):
    out = ctext.comment(doc) + f"enum hcasim_{name} {{\n"
    out += "".join(f"\t{prefix}{key} = {value},{ctext.aside(text)}\n" for key, value, text in items)
    return out + (f"\t{last}\n" if last else "") + "};\n\n"


def _declarations(wire):
    headers = [(name.upper(), index, layout.doc) for index, (name, layout) in enumerate(wire.headers.items())]
    out = _plain_enum("hdr", "HCASIM_HDR_", headers, "headers of a packet", "HCASIM_NUM_HDR")
    transports = [(t["name"], t["value"], t.get("doc", "")) for t in wire.transports.values()]
    out += _plain_enum("transport", "HCASIM_TRANSPORT_", transports, "bits 7:5 of an opcode")
    out += ctext.define("HCASIM_BTH_TRANSPORT_SHIFT", 5, "opcode = transport << 5 | code")
    out += ctext.define("HCASIM_BTH_CODE_MASK", "0x1f") + "\n"
    codes = [
        (name, f"{entry['value']:#04x}", "")
        for name, entry in wire.codes.items()
        if entry["transports"] != ["CNP"]
    ]
    out += _plain_enum("bth_code", "HCASIM_BTH_CODE_", codes, "bits 4:0 of an opcode")
    opcodes = [(op.name, f"{op.value:#04x}", "") for op in wire.opcodes]
    out += _plain_enum("bth_op", "HCASIM_BTH_OP_", opcodes, "BTH.opcode")
    for flag in wire.flags.values():
        out += ctext.define(
            f"HCASIM_BTH_F_{flag['name']}", ctext.number(1 << flag["bit"]), flag.get("doc", "")
        )
    return out + "\n"


def _info(wire, opcode):
    flags = " | ".join(f"HCASIM_BTH_F_{flag}" for flag in opcode.flags)
    headers = ", ".join(f"HCASIM_HDR_{name.upper()}" for name in opcode.headers)
    offsets = ", ".join(str(opcode.offsets.get(name, 0)) for name in wire.headers)
    return (
        f'\t\t{{"{opcode.name}", HCASIM_BTH_OP_{opcode.name}, HCASIM_TRANSPORT_{opcode.transport},\n'
        f"\t\t {flags},\n\t\t {len(opcode.headers)}, {{{headers}}}, {{{offsets}}}, {opcode.header_len}}},\n"
    )


def _lookup(wire):
    out = _INFO % {"max": MAX_HEADERS}
    out += "/* NULL if the opcode is not defined. */\n"
    out += "static inline const struct hcasim_bth_op_info *hcasim_bth_op_info(uint8_t op)\n{\n"
    out += "\tstatic const struct hcasim_bth_op_info table[] = {\n"
    out += "".join(_info(wire, opcode) for opcode in wire.opcodes) + "\t};\n\n\tswitch (op) {\n"
    for index, opcode in enumerate(wire.opcodes):
        out += f"\tcase HCASIM_BTH_OP_{opcode.name}:\n\t\treturn &table[{index}];\n"
    out += "\tdefault:\n\t\treturn NULL;\n\t}\n}\n\n"
    out += "static inline const char *hcasim_bth_op_name(uint8_t op)\n{\n"
    out += "\tconst struct hcasim_bth_op_info *info = hcasim_bth_op_info(op);\n\n"
    return out + '\treturn info ? info->name : "?";\n}\n\n'


def _messages(wire):
    items = [(name, index, "") for index, name in enumerate(wire.messages)]
    out = _plain_enum(
        "msg", "HCASIM_MSG_", items, "messages, by what the packets are made of", "HCASIM_NUM_MSG"
    )
    out += "/* Codes of a message's packets. A message that is always one packet has only `only`. */\n"
    out += "struct hcasim_msg_codes {\n\tconst char *name;\n\tuint8_t first, middle, last, only;\n};\n\n"
    out += "static const struct hcasim_msg_codes hcasim_msg_codes[HCASIM_NUM_MSG] = {\n"
    for name, message in wire.messages.items():
        parts = [message.get(part, message["only"]) for part in ("first", "middle", "last", "only")]
        out += f'\t{{"{name}", ' + ", ".join(f"HCASIM_BTH_CODE_{part}" for part in parts) + "},\n"
    return out + "};\n\n"


def _rnr(wire):
    values = ", ".join(str(value) for value in wire.rnr_timer_ns)
    out = "/* RNR NAK timer field (5 bits) in nanoseconds. */\n"
    out += "static inline uint32_t hcasim_rnr_timer_ns(unsigned int code)\n{\n"
    return out + f"\tstatic const uint32_t table[32] = {{{values}}};\n\n\treturn table[code & 31];\n}}\n"


def wire_header(spec):
    wire = spec.wire
    body = ctext.FIELD_MACROS + ctext.section("Constants")
    for value in wire.constants.values():
        body += ctext.define(f"HCASIM_{value.name}", value.value, value.doc)
    body += ctext.section("Headers")
    body += "".join(ctext.enum(one) for one in wire.enums.values())
    body += "".join(ctext.struct(layout) for layout in wire.headers.values())
    body += ctext.section("Opcodes") + _declarations(wire) + _lookup(wire)
    body += ctext.section("Messages") + _messages(wire) + _rnr(wire)
    title = "RoCEv2 as it stands on the wire."
    return ctext.header("HCASIM_WIRE_H", title, ["stddef.h", "stdint.h", "linux/types.h"], body)
