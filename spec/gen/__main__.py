# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""python3 -m gen --spec DIR --out DIR: checks the spec and writes everything that is derived from it."""

import argparse
import sys
from pathlib import Path

from . import (
    emit_counters,
    emit_family,
    emit_hw,
    emit_md,
    emit_profile,
    emit_py,
    emit_sv,
    emit_verbs,
    emit_wire,
    emit_wr,
)
from . import spec as spec_module
from .load import SpecError


def outputs(spec):
    """Every generated file: path below the output folder, and its text."""
    families = {}
    for name, family in spec.families.items():
        families[f"include/hcasim_{name}.h"] = emit_family.header(family, spec.counters)
        families[f"docs/{name}.md"] = emit_family.page(family)
    return families | {
        "include/hcasim_core.h": emit_hw.core_header(spec),
        "include/hcasim_hw.h": emit_hw.hw_header(spec),
        "include/hcasim-abi.h": emit_hw.abi_header(spec),
        "include/hcasim_counters.h": emit_counters.header(spec.counters),
        "include/hcasim_profile.h": emit_profile.header(spec),
        "include/hcasim_verbs.h": emit_verbs.verbs_header(spec),
        "include/hcasim_wire.h": emit_wire.wire_header(spec),
        "include/hcasim_wr.h": emit_wr.wr_header(spec),
        "include/hcasim_ops.h": emit_wr.ops_header(spec),
        "sv/hcasim_pkg.sv": emit_sv.package(spec),
        "python/hcasim_spec/__init__.py": emit_py.module(spec),
        "python/hcasim_spec/codec.py": emit_py.codec(),
        "docs/core.md": emit_md.core_page(spec),
        "docs/counters.md": emit_counters.page(spec.counters),
        "docs/native.md": emit_md.device_page(spec),
        "docs/wire.md": emit_md.wire_page(spec),
        "docs/work-requests.md": emit_md.wr_page(spec),
        "docs/profile.md": emit_profile.page(spec),
        "profile.schema.json": emit_profile.schema(spec),
    }


def _write(path, text):
    """Does not write an unchanged file, so that nothing is compiled again."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(prog="spec/gen", description=__doc__)
    parser.add_argument("--spec", type=Path, required=True, help="folder with the YAML files")
    parser.add_argument("--out", type=Path, help="folder to write to; without it the spec is only checked")
    parser.add_argument("--stamp", type=Path, help="file to touch when all is written")
    args = parser.parse_args()
    try:
        spec = spec_module.read(args.spec)
    except SpecError as error:
        print(f"spec/gen: {error}", file=sys.stderr)
        return 1
    if args.out:
        for name, text in outputs(spec).items():
            _write(args.out / name, text)
    if args.stamp:
        args.stamp.touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
