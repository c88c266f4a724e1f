# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A mistake in the YAML is refused, by a message that names file, place and value."""

import copy
import json
import re
import subprocess
import sys

import jsonschema
import pytest
import yaml
from conftest import SPEC

from gen import __main__ as generator
from gen import spec as spec_module
from gen.load import FILES, NATIVE, SpecError
from gen.load import schema as load_schema


def pick(entries, name):
    return next(entry for entry in entries if entry.get("name", entry.get("id", entry.get("op"))) == name)


def pick_key(figures, key):
    return next(figure for figure in figures if figure["key"] == key)


def stage_figure(documents, key):
    stages = next(group["stages"] for group in documents["profile"]["groups"] if "stages" in group)
    return pick_key(stages["figures"], key)


def layout(documents, name, file=NATIVE):
    return pick(documents[file]["layouts"], name)


def field(documents, layout_name, member, bits=None, file=NATIVE):
    found = pick(layout(documents, layout_name, file)["members"], member)
    return pick(found["bits"], bits) if bits else found


def operation(documents, name):
    return pick(documents["wr"]["operations"], name)


def opcode(documents, name):
    return pick(documents["wire"]["opcodes"], name)


def enum(documents, file, name):
    return pick(documents[file]["enums"], name)["values"]


MUTATIONS = {
    "a member of a family's layout that is not aligned": (
        lambda d: d["families/rxe"]["layouts"][0]["members"].insert(0, {"name": "lock", "type": "u8"}),
        ["families/rxe.yaml", "layouts[queue].log2_elem_size", "is not a multiple of 4"],
    ),
    "a figure that stands twice": (
        lambda d: d["profile"]["groups"][0]["figures"].append(d["profile"]["groups"][0]["figures"][0]),
        ["profile.yaml", "groups[pcie]", "raw_rate"],
    ),
    "a figure without a range": (
        lambda d: pick_key(d["profile"]["groups"][0]["figures"], "raw_rate").update(min=8192),
        ["profile.yaml", "pcie", "raw_rate", "min 8192 is not below max 8192"],
    ),
    "a default that is no figure": (
        lambda d: stage_figure(d, "interval").update(default="units"),
        ["profile.yaml", "stages.figures[interval]", "default 'units' is no figure before it"],
    ),
    "a default of another unit": (
        lambda d: stage_figure(d, "interval").update(default="width"),
        ["profile.yaml", "stages.figures[interval]", "default 'width' has another unit or range"],
    ),
    "a default that is out of range": (
        lambda d: stage_figure(d, "units").update(default=0),
        ["profile.yaml", "stages.figures[units]", "default 0 is out of range"],
    ),
    "bounds of a power of 2 that are none": (
        lambda d: pick_key(d["profile"]["groups"][0]["figures"], "mps").update(min=100),
        ["profile.yaml", "mps", "min 100 and max 4096 are not powers of 2"],
    ),
    "a rule of no figure": (
        lambda d: d["profile"]["rules"][0].update(at_most="pcie.mpx"),
        ["profile.yaml", "rules", "'pcie.mpx' is no figure"],
    ),
    "a rule of different units": (
        lambda d: d["profile"]["rules"][0].update(at_most="pcie.tags"),
        ["profile.yaml", "rules", "pcie.mps and pcie.tags have different units"],
    ),
    "a syndrome that is no status": (
        lambda d: enum(d, "families/mlx5", "syndrome")[0].update(name="LOCAL_LENGTH_ERR"),
        ["families/mlx5.yaml", "enums[syndrome].LOCAL_LENGTH_ERR", "is no cqe_status of core.yaml"],
    ),
    "an opcode of a family that is not declared": (
        lambda d: d["families/mlx5"]["wqe_formats"][0].update(opcode="NOTHING"),
        ["families/mlx5.yaml", "wqe_formats[NOTHING]", "opcode is not declared"],
    ),
    "an operation of a family that core.yaml does not have": (
        lambda d: d["families/mlx5"]["wqe_formats"][-1].update(other="LOCAL_INVAL"),
        ["families/mlx5.yaml", "wqe_formats[UMR]", "'LOCAL_INVAL' is not in enum wqe_op"],
    ),
    "a segment of a family that is not declared": (
        lambda d: d["families/mlx5"]["wqe_formats"][2].update(segments=["seg_remote"]),
        ["families/mlx5.yaml", "wqe_formats[RDMA_WRITE]", "segment 'seg_remote' is not declared"],
    ),
    "bits overlap": (
        lambda d: field(d, "wqe_ctrl", "qpn_flags", "fence").update(bits=[25, 25]),
        ["families/native.yaml", "wqe_ctrl", "fence", "bit 25 overlaps field solicited"],
    ),
    "bits beyond the member": (
        lambda d: field(d, "cqe", "owner", "phase").update(bits=[8, 8]),
        ["families/native.yaml", "cqe", "phase", "[8, 8] do not fit into 8 bits"],
    ),
    "size is not the sum": (
        lambda d: layout(d, "cqe").update(size=60),
        ["families/native.yaml", "layouts[cqe]", "size is 60 but the members sum to 64"],
    ),
    "misaligned member": (
        lambda d: layout(d, "eqe", "core")["members"].insert(1, {"name": "odd", "type": "u8"}),
        ["core.yaml", "eqe", "not a multiple of 2"],
    ),
    "unknown type": (
        lambda d: field(d, "rqe", "num_sge").update(type="u9"),
        ["families/native.yaml", "layouts[rqe].members[num_sge].type", "u9"],
    ),
    "member twice": (
        lambda d: field(d, "seg_data", "lkey").update(name="addr"),
        ["families/native.yaml", "seg_data", "addr"],
    ),
    "enum value twice": (
        lambda d: pick(enum(d, "core", "wqe_op"), "FLUSH").update(value=11),
        ["core.yaml", "wqe_op", "FLUSH", "value 11 is already that of TSO"],
    ),
    "enum value too wide": (
        lambda d: pick(enum(d, "core", "vendor_err"), "QP_STATE").update(value=256),
        ["families/native.yaml", "vendor_err", "value 256", "8 bits"],
    ),
    "enum not declared": (
        lambda d: field(d, "eqe", "type", file="core").update(enum="nothing"),
        ["core.yaml", "eqe", "enum 'nothing' is not declared"],
    ),
    "registers overlap": (
        lambda d: pick(d[NATIVE]["registers"], "CAPS").update(offset=0),
        ["families/native.yaml", "registers[CAPS]", "overlaps FW_VER"],
    ),
    "doorbell beyond the page": (
        lambda d: pick(d[NATIVE]["uar"], "bf").update(offset=0xF00),
        ["families/native.yaml", "uar[bf]", "beyond 0x1000"],
    ),
    "register misaligned": (
        lambda d: pick(d[NATIVE]["uar"], "db_cq").update(offset=0x24),
        ["families/native.yaml", "uar[db_cq]", "offset 0x24 is not aligned"],
    ),
    "BARs collide": (
        lambda d: pick(d[NATIVE]["device"]["bars"], "uar").update(index=0),
        ["families/native.yaml", "bars[uar]", "BAR slot 0"],
    ),
    "constant disagrees": (
        lambda d: pick(d[NATIVE]["constants"], "CQE_SIZE").update(value=128),
        ["families/native.yaml", "constants[CQE_SIZE]", "128", "64"],
    ),
    "WQE without a format": (
        lambda d: d[NATIVE]["wqe_formats"].remove(pick(d[NATIVE]["wqe_formats"], "ATOMIC_WRITE")),
        ["families/native.yaml", "wqe_formats", "ATOMIC_WRITE"],
    ),
    "status that is not the verbs one": (
        lambda d: pick(enum(d, "core", "cqe_status"), "FATAL_ERR").update(value=18),
        ["core.yaml", "cqe_status", "FATAL_ERR", "18", "19"],
    ),
    "value of another type": (
        lambda d: pick(d[NATIVE]["constants"], "MAX_SGE").update(value="many"),
        ["families/native.yaml", "constants[MAX_SGE].value", "many"],
    ),
    "property that nobody knows": (
        lambda d: layout(d, "cqe").update(sise=64),
        ["families/native.yaml", "layouts[cqe]", "sise"],
    ),
    "opcode twice": (
        lambda d: opcode(d, "FLUSH").update(value=0x14),
        ["wire.yaml", "opcodes[FLUSH]", "0x14", "RC_FETCH_ADD"],
    ),
    "header not declared": (
        lambda d: opcode(d, "FLUSH").update(headers=["gueth"]),
        ["wire.yaml", "opcodes[FLUSH]", "header 'gueth'"],
    ),
    "headers out of order": (
        lambda d: opcode(d, "FLUSH").update(headers=["reth", "feth"]),
        ["wire.yaml", "opcodes[FLUSH]", "not in the order of `headers`"],
    ),
    "immediate flag without header": (
        lambda d: opcode(d, "SEND_LAST_WITH_IMMEDIATE").update(headers=[]),
        ["wire.yaml", "SEND_LAST_WITH_IMMEDIATE", "IMM", "immdt"],
    ),
    "first and middle": (
        lambda d: opcode(d, "SEND_FIRST")["flags"].append("MIDDLE"),
        ["wire.yaml", "SEND_FIRST", "exactly one of first, middle, last, only"],
    ),
    "opcode beyond five bits": (
        lambda d: opcode(d, "FLUSH").update(value=0x20),
        ["wire.yaml", "opcodes[FLUSH].value", "32"],
    ),
    "message of an unknown opcode": (
        lambda d: pick(d["wire"]["messages"], "SEND").update(first="SEND_START"),
        ["wire.yaml", "messages[SEND].first", "SEND_START"],
    ),
    "message begins in the middle": (
        lambda d: pick(d["wire"]["messages"], "SEND").update(first="SEND_MIDDLE"),
        ["wire.yaml", "messages[SEND].first", "SEND_MIDDLE has no flag START"],
    ),
    "unknown QP type": (
        lambda d: operation(d, "FLUSH").update(wr=["RC", "RD"]),
        ["wr.yaml", "operations[FLUSH].wr", "RD"],
    ),
    "row without a clause": (
        lambda d: operation(d, "SEND").pop("clause"),
        ["wr.yaml", "operations[SEND]", "clause"],
    ),
    "clause of an unknown page": (
        lambda d: operation(d, "SEND").update(clause="ibv_wr_past/WORK-REQUESTS/table/SEND"),
        ["wr.yaml", "[SEND]", "ibv_wr_past"],
    ),
    "clause of another row": (
        lambda d: operation(d, "SEND").update(clause=operation(d, "TSO")["clause"]),
        ["wr.yaml", "row TSO", "row SEND"],
    ),
    "erratum that does not exist": (
        lambda d: operation(d, "SEND")["errata"].append("NO-SUCH"),
        ["wr.yaml", "[SEND]", "NO-SUCH"],
    ),
    "unknown completion opcode": (
        lambda d: operation(d, "TSO").update(wc="SEGMENTED"),
        ["wr.yaml", "operations[TSO].wc", "SEGMENTED"],
    ),
    "unknown WQE opcode": (
        lambda d: operation(d, "TSO").update(wqe_op="LSO"),
        ["wr.yaml", "operations[TSO].wqe_op", "LSO"],
    ),
    "WQE opcode of another row": (
        lambda d: operation(d, "TSO").update(wqe_op="SEND"),
        ["wr.yaml", "operations[TSO]", "SEND"],
    ),
    "flag on an unknown operation": (
        lambda d: pick(d["wr"]["flags"], "SOLICITED")["ops"].append("RECV"),
        ["wr.yaml", "flags[SOLICITED]", "RECV"],
    ),
    "inline without data": (
        lambda d: operation(d, "FLUSH").update(inline=True),
        ["wr.yaml", "operations[FLUSH]", "inline"],
    ),
    "a counter that stands twice": (
        lambda d: d["counters"]["reasons"].append({"name": "qkey", "doc": "again"}),
        ["counters.yaml", "refused_qkey"],
    ),
    "a file of a counter that is not declared": (
        lambda d: d["families/rxe"]["sysfs"]["hw_counters"].append({"name": "lost"}),
        ["families/rxe.yaml", "sysfs.hw_counters[lost]", "counter 'lost' is not declared"],
    ),
    "a counter that is always 0": (
        lambda d: pick(d["families/rxe"]["sysfs"]["hw_counters"], "rdma_sends").update(always_0="no", counter="sends"),
        ["families/rxe.yaml", "rdma_sends"],
    ),
    "a family without the enum that its WQEs need": (
        lambda d: d["families/rxe"].update(wqe_formats=d["families/mlx5"]["wqe_formats"]),
        ["families/rxe.yaml", "enum opcode is not declared"],
    ),
    "a family with a page of registers of no size": (
        lambda d: d["families/rxe"].update(uar=d["families/mlx5"]["uar"]),
        ["families/rxe.yaml: constants", "UAR_PAGE_SIZE is not declared"],
    ),
    "a family without a driver's number": (
        lambda d: d["families/rxe"]["family"].pop("driver_id"),
        ["families/rxe.yaml: family", "'driver_id' is a required property"],
    ),
    "a family with the name of another part of the spec": (
        lambda d: d.update({"families/wire": d["families/rxe"]}),
        ["families/wire.yaml", "hcasim_wire.h is already"],
    ),
    "a family with a name that C does not take": (
        lambda d: d.update({"families/two-ports": d["families/rxe"]}),
        ["families/two-ports.yaml", "lower-case letters"],
    ),
    "verbs value twice": (
        lambda d: pick(enum(d, "verbs", "qpt"), "UC").update(value=2),
        ["verbs.yaml", "qpt", "UC", "value 2 is already that of RC"],
    ),
}  # fmt: skip


def write(documents, folder):
    (folder / "families").mkdir()
    for name, document in documents.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


def test_unchanged_copy_is_accepted(documents, tmp_path):
    write(documents, tmp_path)
    spec_module.read(tmp_path)


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_refused(documents, tmp_path, name):
    mutate, words = MUTATIONS[name]
    mutant = copy.deepcopy(documents)
    mutate(mutant)
    assert mutant != documents
    write(mutant, tmp_path)
    with pytest.raises(SpecError) as error:
        spec_module.read(tmp_path)
    for word in words:
        assert word in str(error.value)


def test_key_that_stands_twice(documents, tmp_path):
    write(documents, tmp_path)
    with open(tmp_path / "verbs.yaml", "a", encoding="utf-8") as stream:
        stream.write("version: 1\n")
    with pytest.raises(SpecError, match=r"verbs.yaml:\d+: key 'version' stands twice"):
        spec_module.read(tmp_path)


@pytest.mark.parametrize("text", ["a: [", "- 1\n", "", "!!python/object:os.system {}\n"])
def test_not_our_yaml(documents, tmp_path, text):
    write(documents, tmp_path)
    (tmp_path / "wire.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match="wire.yaml"):
        spec_module.read(tmp_path)


def test_command_reports_and_writes_nothing(documents, tmp_path):
    """The program that the build calls: exit status 1, one line, no output files."""
    mutant = copy.deepcopy(documents)
    layout(mutant, "cqe")["size"] = 60
    write(mutant, tmp_path)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "gen", "--spec", tmp_path, "--out", out]
    result = subprocess.run(command, cwd=SPEC, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and not out.exists()
    assert (
        result.stderr.startswith("spec/gen: families/native.yaml: layouts[cqe]")
        and result.stderr.count("\n") == 1
    )


def test_missing_file(documents, tmp_path):
    write(documents, tmp_path)
    (tmp_path / "wr.yaml").unlink()
    with pytest.raises(SpecError, match="wr.yaml: No such file"):
        spec_module.read(tmp_path)


def test_a_new_file_is_a_family(documents, tmp_path):
    """No other list names it: the smallest one that is accepted."""
    smallest = {"version": 1, "family": {"doc": "a test", "driver_id": 0, "uverbs_abi": 1}}
    write({**documents, "families/new": smallest}, tmp_path)
    outputs = generator.outputs(spec_module.read(tmp_path))
    assert "#define HCASIM_NEW_UVERBS_ABI 1\n" in outputs["include/hcasim_new.h"]
    assert "new: a test" in outputs["docs/new.md"]


@pytest.mark.parametrize("name", [*FILES, NATIVE, "families/any"])
def test_schemas_are_schemas(name):
    """Schemas are valid, and every reference in them resolves: validation detects a dangling one only when it is used."""
    schema = load_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    references = re.findall(r'"\$ref": "#/\$defs/(\w+)"', json.dumps(schema))
    assert set(references) <= set(schema["$defs"])
