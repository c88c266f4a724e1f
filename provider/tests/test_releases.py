# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Releases of rdma-core between 56.1 and 65.0, of which no mirror has the source: the provider compiles with the headers
that they had. Each is one of the two that are there, with some of what came in between added or taken away.

CC, CMAKE: programs. RDMA_CORE_BUILD, RDMA_CORE_NEWER_BUILD: 56.1's and 65.0's builds. SPEC_INCLUDE: generated headers.
"""
import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROVIDER = HERE.parent
BUILDS = {"56.1": Path(os.environ["RDMA_CORE_BUILD"]), "65.0": Path(os.environ["RDMA_CORE_NEWER_BUILD"])}
FLAGS = [
    "-std=gnu11",
    "-D_GNU_SOURCE",
    "-fsyntax-only",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
]

FDS = "HCASIM_GET_CONTEXT_HAS_FDS"  # 57
MEMORY = "HCASIM_CREATE_CQ_HAS_MEMORY"  # 59
DMAH = "HCASIM_HAS_DMAH"  # 59: IBVERBS_1.15 of debian/libibverbs1.symbols
PORT_SPEED = "HCASIM_HAS_PORT_SPEED"  # 62: IBVERBS_1.16
QP_DRIVER = "HCASIM_CREATE_QP_EX2_HAS_DRIVER"  # after 62
COMP_CNTR = "HCASIM_HAS_COMP_CNTR"  # after 62: IBVERBS_1.18
ALL = {FDS, MEMORY, DMAH, PORT_SPEED, QP_DRIVER, COMP_CNTR}

# How driver.h loses it again: what is replaced, by what.
REMOVE = {
    FDS: [(r"(ibv_cmd_get_context\([^;]*?)\s*struct ibv_fd_arr \*fd_arr,", r"\1")],
    MEMORY: [(r"(ibv_cmd_create_cq(?:_ex)?\([^;]*?)\s*struct verbs_create_cq_prov_attr \*prov_attr,", r"\1")],
    DMAH: [
        (r"int ibv_cmd_(?:alloc_dmah|free_dmah|reg_mr_ex)\([^;]*;", ""),
        (r"\tstruct ibv_dmah \*\(\*alloc_dmah\)[^;]*;|\tint \(\*dealloc_dmah\)[^;]*;", ""),
        (r"\tstruct ibv_mr \*\(\*reg_mr_ex\)[^;]*;", ""),
        (r"struct verbs_dmah \{[^}]*\};", ""),
        (r"static inline struct verbs_dmah \*verbs_get_dmah[^}]*\}", ""),
    ],
    PORT_SPEED: [(r"\tint \(\*query_port_speed\)[^;]*;|int ibv_cmd_query_port_speed\([^;]*;", "")],
    QP_DRIVER: [(r"(ibv_cmd_create_qp_ex2\([^;]*?),\s*struct ibv_command_buffer \*driver\)", r"\1)")],
    COMP_CNTR: [
        (r"\t(?:int|struct ibv_comp_cntr) \*?\(\*\w*comp_cntr\w*\)[^;]*;", ""),
        (r"int ibv_cmd_\w*comp_cntr\w*\([^;]*;", ""),
    ],
}
# How it gets it early. What comes with structures of its own cannot be added so.
ADD = {
    FDS: [
        (r"(ibv_cmd_get_context\([^;]*?)(struct ib_uverbs_get_context_resp)", r"\1struct ibv_fd_arr *fds, \2")
    ],
    MEMORY: [
        (
            r"(ibv_cmd_create_cq_ex\([^;]*?)(struct verbs_cq \*)",
            r"\1struct verbs_create_cq_prov_attr *prov, \2",
        )
    ],
    QP_DRIVER: [(r"(ibv_cmd_create_qp_ex2\([^;]*?)\)", r"\1, struct ibv_command_buffer *driver)")],
}

TREES = {
    "56": ("56.1", set()),
    "57, 58": ("56.1", {FDS}),
    "59 to 61": ("65.0", ALL - {PORT_SPEED, QP_DRIVER, COMP_CNTR}),
    "62": ("65.0", ALL - {QP_DRIVER, COMP_CNTR}),
    "65": ("65.0", ALL),
    **{f"56 with {name}": ("56.1", {name}) for name in (MEMORY, QP_DRIVER)},
    **{f"65 without {name}": ("65.0", ALL - {name}) for name in (FDS, MEMORY, DMAH, PORT_SPEED, COMP_CNTR)},
}


def headers(folder, base, has):
    """The include folder of `base` as links, but for a driver.h that has what it is to have."""
    include = BUILDS[base] / "include"
    driver = (include / "infiniband/driver.h").read_text()
    present = set() if base == "56.1" else ALL
    edits = [edit for name in present - has for edit in REMOVE[name]] + [
        edit for name in has - present for edit in ADD[name]
    ]
    for pattern, text in edits:
        driver, count = re.subn(pattern, text, driver)
        assert count, pattern
    forward = "struct ibv_fd_arr;\nstruct verbs_create_cq_prov_attr;\nstruct ibv_command_buffer;\n"
    driver = driver.replace("#ifdef __cplusplus", f"{forward}#ifdef __cplusplus", 1)
    (folder / "infiniband").mkdir(parents=True)
    for entry in [*include.iterdir(), *(include / "infiniband").iterdir()]:
        if entry.name not in ("infiniband", "driver.h"):
            (folder / entry.relative_to(include)).symlink_to(entry)
    (folder / "infiniband/driver.h").write_text(driver)
    return folder


def probed(include):
    command = [os.environ["CMAKE"], f"-DINCLUDE={include}", "-P", HERE / "probe.cmake"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^-- (\w+)=([01])$", output, re.M))


def concerned():
    """Sources that are not the same for all releases."""
    compat = re.compile(r"HCASIM_(?:\w+_)?HAS_|\bhcasim_cmd_(?:get_context|create_cq_ex|create_qp_ex2)\(")
    return [path for path in sorted(PROVIDER.glob("*.c")) if compat.search(path.read_text())]


def compile_with(include, definitions):
    folders = [f"-I{PROVIDER}", f"-I{os.environ['SPEC_INCLUDE']}", "-isystem", include]
    defined = [f"-D{name}={value}" for name, value in definitions.items()]
    command = [os.environ["CC"], *FLAGS, *defined, *folders, *concerned()]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@pytest.mark.parametrize("name", TREES)
def test_it_compiles(name, tmp_path):
    base, has = TREES[name]
    include = headers(tmp_path / "include", base, has)
    definitions = probed(include)
    assert definitions == {name: str(int(name in has)) for name in ALL}
    result = compile_with(include, definitions)
    assert not result.returncode, result.stderr


@pytest.mark.parametrize("name", [FDS, MEMORY, QP_DRIVER])
@pytest.mark.parametrize("base", BUILDS)
def test_a_wrong_answer_does_not_compile(base, name, tmp_path):
    include = headers(tmp_path / "include", base, set() if base == "56.1" else ALL)
    definitions = probed(include)
    definitions[name] = str(1 - int(definitions[name]))
    result = compile_with(include, definitions)
    assert result.returncode and "arguments to function" in result.stderr, result.stderr
