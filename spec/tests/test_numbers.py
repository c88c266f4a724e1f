# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Numbers defined elsewhere: verbs.h, the kernel's ABI, packet opcodes, CRC."""

import subprocess

import pytest
from scapy.contrib import roce


def compile_c(text, folder, includes, compiler=("cc", "-std=gnu11")):
    path = folder / "test.c"
    path.write_text(text, encoding="utf-8")
    flags = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", *(f"-I{name}" for name in includes)]
    return subprocess.run([*compiler, *flags, path], capture_output=True, text=True, check=False)


def assertions(documents):
    """One assertion for each number of verbs.yaml."""
    out = '#include <infiniband/verbs.h>\n#include "hcasim_verbs.h"\n'
    for enum in documents["verbs"]["enums"]:
        for value in enum["values"]:
            if "since" in value:
                continue
            ours, theirs = f"{enum['c_prefix']}{value['name']}", f"{enum['ibv_prefix']}{value['name']}"
            out += f'_Static_assert((long)({ours}) == (long)({theirs}), "{ours}");\n'
    return out


def test_verbs_numbers_are_those_of_verbs_h(documents, generated, rdma_include, tmp_path):
    result = compile_c(assertions(documents), tmp_path, [generated / "include", rdma_include])
    assert result.returncode == 0, result.stderr


def test_that_comparison_can_fail(documents, generated, rdma_include, tmp_path):
    text = (
        assertions(documents) + '_Static_assert((long)HCASIM_QPT_RC == (long)IBV_QPT_UC, "RC against UC");\n'
    )
    result = compile_c(text, tmp_path, [generated / "include", rdma_include])
    assert result.returncode != 0 and "RC against UC" in result.stderr


def test_qp_types_and_access_are_those_of_the_kernel(documents, generated, rdma_include, tmp_path):
    kernel_names = {"XRC_SEND": "XRC_INI", "XRC_RECV": "XRC_TGT"}
    out = '#include <rdma/ib_user_ioctl_verbs.h>\n#include "hcasim_verbs.h"\n'
    for enum, ours, theirs in (
        ("qpt", "HCASIM_QPT_", "IB_UVERBS_QPT_"),
        ("access", "HCASIM_ACCESS_", "IB_UVERBS_ACCESS_"),
    ):
        values = next(one["values"] for one in documents["verbs"]["enums"] if one["name"] == enum)
        for value in values:
            name = value["name"]
            out += f'_Static_assert((long){ours}{name} == (long){theirs}{kernel_names.get(name, name)}, "{name}");\n'
    result = compile_c(out, tmp_path, [generated / "include", rdma_include])
    assert result.returncode == 0, result.stderr


# scapy has no XRC, no invalidate, no memory placement.
NOT_IN_SCAPY = [
    ("RC_SEND_LAST_WITH_INVALIDATE", 0x16), ("RC_SEND_ONLY_WITH_INVALIDATE", 0x17), ("RC_FLUSH", 0x1C),
    ("RC_ATOMIC_WRITE", 0x1D), ("UC_SEND_LAST_WITH_INVALIDATE", 0x36), ("UC_SEND_ONLY_WITH_INVALIDATE", 0x37),
    ("XRC_SEND_FIRST", 0xA0), ("XRC_ATOMIC_ACKNOWLEDGE", 0xB2),
]  # fmt: skip


def test_opcodes_are_those_of_scapy(model):
    """Except scapy's RD opcodes, which the spec does not have."""
    ours = {opcode.value: opcode.name for opcode in model.wire.opcodes}
    for value, name in roce._bth_opcodes.items():
        if not name.startswith("RD_"):
            assert ours[value] == name
    for value in set(ours) - set(roce._bth_opcodes):
        assert ours[value].startswith("XRC_") or (ours[value], value) in NOT_IN_SCAPY


@pytest.mark.parametrize(
    "name, value", [*NOT_IN_SCAPY, ("UC_RDMA_WRITE_ONLY", 0x2A), ("UD_SEND_ONLY", 0x64), ("CNP", 0x81)]
)
def test_opcodes_that_scapy_lacks(model, name, value):
    assert {opcode.name: opcode.value for opcode in model.wire.opcodes}[name] == value


def test_bth_is_that_of_scapy(hcasim_spec):
    packet = roce.BTH(
        opcode=0x0A, solicited=1, padcount=3, pkey=0xFFFF, dqpn=0x123456, ackreq=1, psn=0xABCDEF
    )
    fields = dict(opcode=0x0A, se=1, pad=3, pkey=0xFFFF, dqpn=0x123456, ackreq=1, psn=0xABCDEF)
    theirs = bytes(packet)[:12]
    # scapy's default for the migration bit and version is that of the standard: set and 0.
    assert hcasim_spec.encode("bth", migreq=packet.migreq, tver=packet.version, **fields) == theirs


def test_aeth_is_that_of_scapy(hcasim_spec):
    assert hcasim_spec.encode("aeth", kind=1, value=14, msn=7) == bytes(roce.AETH(syndrome=0x2E, msn=7))[:4]
