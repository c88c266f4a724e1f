# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every output is accepted by the tools of its users."""

import subprocess
from pathlib import Path

import pytest
from test_numbers import compile_c

HEADERS = (
    "hcasim_core.h", "hcasim_hw.h", "hcasim-abi.h", "hcasim_mlx5.h", "hcasim_rxe.h", "hcasim_verbs.h", "hcasim_wire.h",
    "hcasim_wr.h",
)  # fmt: skip
COMPILERS = {
    "gcc": ("gcc", "-std=gnu11", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wvla"),
    "clang": ("clang", "-std=gnu11", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wvla"),
    "g++": ("g++", "-std=gnu++17", "-xc++"),
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("header", HEADERS)
def test_each_header_stands_alone(generated, tmp_path, header, compiler):
    text = f'#include "{header}"\n#include "{header}"\n'
    result = compile_c(text, tmp_path, [generated / "include"], COMPILERS[compiler])
    assert result.returncode == 0, result.stderr


def test_headers_and_verbs_h_live_together(generated, rdma_include, tmp_path):
    text = "#include <infiniband/verbs.h>\n" + "".join(f'#include "{header}"\n' for header in HEADERS)
    result = compile_c(text, tmp_path, [generated / "include", rdma_include])
    assert result.returncode == 0, result.stderr


def test_verilator_accepts_the_package(generated):
    command = ["verilator", "--lint-only", "-Wall", generated / "sv" / "hcasim_pkg.sv"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_yosys_accepts_the_package_and_its_tables(generated, tmp_path):
    top = tmp_path / "top.sv"
    top.write_text(
        "module top (input logic [7:0] i, output hcasim_pkg::wqe_op_info_t a, output hcasim_pkg::msg_codes_t b,\n"
        "            output hcasim_pkg::bth_op_info_t c);\n"
        "  assign a = hcasim_pkg::wqe_op_info(i);\n"
        "  assign b = hcasim_pkg::msg_codes(i[3:0]);\n"
        "  assign c = hcasim_pkg::bth_op_info(i);\n"
        "endmodule\n",
        encoding="utf-8",
    )
    script = f"read_verilog -sv {generated / 'sv' / 'hcasim_pkg.sv'} {top}; hierarchy -check -top top; proc"
    result = subprocess.run(["yosys", "-q", "-p", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_systemverilog_structures_have_the_sizes_of_c(generated, model, tmp_path):
    """$bits of every structure, checked by elaboration."""
    layouts = [*model.core.layouts.values(), *model.device.layouts.values(), *model.wire.headers.values()]
    text = "module check import hcasim_pkg::*; ();\n"
    for layout in layouts:
        text += f'  if ($bits({layout.name}_t) != {layout.size * 8}) $error("{layout.name}");\n'
    top = tmp_path / "check.sv"
    top.write_text(text + "endmodule\n", encoding="utf-8")
    command = ["verilator", "--lint-only", "--top-module", "check", generated / "sv" / "hcasim_pkg.sv", top]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_pages_name_everything(generated, documents):
    page = (generated / "docs" / "work-requests.md").read_text(encoding="utf-8")
    for entry in documents["wr"]["operations"] + documents["wr"]["flags"]:
        assert entry["name"] in page
    for erratum in documents["wr"]["errata"]:
        assert erratum["id"] in page and erratum["reason"] in page
    for file in ("core", "families/native"):
        page = (generated / "docs" / f"{Path(file).name}.md").read_text(encoding="utf-8")
        for layout in documents[file]["layouts"]:
            assert f"### {layout['name']} ({layout['size']} bytes)" in page


def test_cells_are_the_whole_matrix(hcasim_spec, documents):
    wr = documents["wr"]
    cells = {(cell["operation"], cell["qp_type"]): cell for cell in hcasim_spec.CELLS}
    assert len(cells) == len(hcasim_spec.CELLS) == len(wr["operations"]) * len(wr["qp_types"])
    assert cells["SEND", "UD"]["qp_setter"] == "ud_addr"
    assert cells["SEND", "RC"]["qp_setter"] is None
    assert cells["RDMA_READ", "XRC_SEND"]["qp_setter"] == "xrc_srqn"
    assert cells["LOCAL_INV", "XRC_SEND"]["qp_setter"] is None
    assert cells["RDMA_READ", "UC"]["wr"] is False
    assert cells["RDMA_READ", "RC"]["data_setters"] == ["sge", "sge_list"]
    assert cells["RDMA_WRITE", "RC"]["data_setters"] == ["sge", "sge_list", "inline", "inline_list"]
    assert cells["FLUSH", "RC"]["data_setters"] == []
    assert cells["RDMA_WRITE", "RC"]["wr_flags"] == ["FENCE", "SIGNALED"]
    assert cells["SEND", "UD"]["post_flags"] == ["SIGNALED", "SOLICITED", "INLINE", "IP_CSUM"]
