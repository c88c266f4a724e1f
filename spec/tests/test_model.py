# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The spec is consistent, computed here independently of the generator."""

import re

import pytest

SIZES = {
    "u8": 1,
    "u16": 2,
    "u32": 4,
    "u64": 8,
    "le16": 2,
    "le32": 4,
    "le64": 8,
    "be16": 2,
    "be32": 4,
    "be64": 8,
}


def all_layouts(documents):
    device, wire = documents["families/native"], documents["wire"]
    return [*device["layouts"], *device["abi"], *wire["headers"]]


def type_size(text):
    base, count = re.fullmatch(r"(\w+?)(?:\[(\d+)\])?", text).groups()
    return SIZES[base] * int(count or 1), SIZES[base]


def test_members_sum_to_the_size_and_are_aligned(documents):
    for layout in documents["families/native"]["layouts"] + documents["families/native"]["abi"]:
        offset = 0
        for member in layout["members"]:
            size, alignment = type_size(member["type"])
            assert offset % alignment == 0, (layout["name"], member["name"])
            offset += size
        assert offset == layout.get("size", offset), layout["name"]


def test_udata_has_no_tail_padding(documents):
    """udata structures are copied whole: user space and driver must see the same size on every ABI."""
    for layout in documents["families/native"]["abi"]:
        sizes = [type_size(member["type"]) for member in layout["members"]]
        assert sum(size for size, _ in sizes) % max(alignment for _, alignment in sizes) == 0, layout["name"]


def test_header_sizes_are_those_of_the_specification(documents):
    expected = {
        "bth": 12, "reth": 16, "atomiceth": 28, "atomicacketh": 8, "aeth": 4, "immdt": 4, "ieth": 4,
        "xrceth": 4, "deth": 8, "feth": 4,
    }  # fmt: skip
    found = {}
    for header in documents["wire"]["headers"]:
        found[header["name"]] = sum(type_size(member["type"])[0] for member in header["members"])
        assert found[header["name"]] == header["size"]
    assert found == expected


def test_no_bit_is_used_twice(documents):
    for layout in all_layouts(documents):
        for member in layout["members"]:
            used = set()
            for bits in member.get("bits", []):
                high, low = bits["bits"]
                span = set(range(low, high + 1))
                assert high < 8 * type_size(member["type"])[0] and not span & used, (
                    layout["name"],
                    bits["name"],
                )
                used |= span


def test_no_value_is_used_twice(documents):
    for name in ("core", "wire", "verbs"):
        for enum in documents[name]["enums"]:
            numbers = [1 << v["bit"] if "bit" in v else v["value"] for v in enum["values"]]
            assert len(set(numbers)) == len(numbers), enum["name"]


def test_opcodes_are_unique(documents):
    transports = {t["name"]: t["value"] for t in documents["wire"]["transports"]}
    values = [
        transports[t] << 5 | op["value"] for op in documents["wire"]["opcodes"] for t in op["transports"]
    ]
    assert len(set(values)) == len(values)


def test_offsets_come_from_the_header_list(model):
    sizes = {name: header.size for name, header in model.wire.headers.items()}
    for opcode in model.wire.opcodes:
        position = 0
        for name in opcode.headers:
            assert opcode.offsets[name] == position, opcode.name
            position += sizes[name]
        assert opcode.header_len == position, opcode.name


@pytest.mark.parametrize(
    "name, length",
    [
        ("RC_SEND_ONLY", 12), ("RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", 32), ("RC_COMPARE_SWAP", 40),
        ("RC_ATOMIC_ACKNOWLEDGE", 24), ("UD_SEND_ONLY_WITH_IMMEDIATE", 24), ("XRC_RDMA_READ_REQUEST", 32),
        ("XRC_RDMA_READ_RESPONSE_ONLY", 16), ("RC_FLUSH", 32), ("RC_ATOMIC_WRITE", 28), ("CNP", 12),
    ],
)  # fmt: skip
def test_header_lengths(model, name, length):
    assert {opcode.name: opcode.header_len for opcode in model.wire.opcodes}[name] == length


def test_every_message_of_an_operation_is_on_the_wire_of_its_qp_types(documents):
    """An operation that a QP type takes has its opcodes on that transport."""
    transport = {"RC": "RC", "UC": "UC", "UD": "UD", "XRC_SEND": "XRC"}
    codes = {op["name"]: op["transports"] for op in documents["wire"]["opcodes"]}
    messages = {message["name"]: message for message in documents["wire"]["messages"]}
    for operation in documents["wr"]["operations"]:
        for qp_type in operation["wr"]:
            if "message" not in operation or qp_type == "RAW_PACKET":
                continue
            parts = ["only"] if qp_type == "UD" else ["first", "middle", "last", "only"]
            for part in parts:
                code = messages[operation["message"]].get(part)
                assert code is None or transport[qp_type] in codes[code], (operation["name"], qp_type, code)


def test_longest_wqe_fits(documents):
    """Room for every operation with the most SGEs, the most inline data, and the longest headers."""
    device = documents["families/native"]
    constants = {c["name"]: c["value"] for c in device["constants"]}
    sizes = {layout["name"]: layout["size"] for layout in device["layouts"]}
    room = constants["WQE_MAX_BB"] * constants["WQEBB_SIZE"]
    assert room // constants["SEG_UNIT"] < 256  # ctrl.size is a byte
    for row in device["wqe_formats"]:
        fixed = sizes["wqe_ctrl"] + (sizes["seg_ud"] if row["address"] else 0)
        fixed += sum(sizes[name] for name in row["segments"])
        if "seg_tso" in row["segments"]:
            fixed += constants["MAX_TSO_HDR"]
        sges = constants["MAX_SGE"] * sizes["seg_data"]
        inline = sizes["seg_inline"] + constants["MAX_INLINE"]
        assert fixed + (sges if row["data"] in ("gather", "scatter") else 0) <= room, row["op"]
        if row["data"] == "gather" and "seg_tso" not in row["segments"]:
            assert fixed + inline <= room, row["op"]
