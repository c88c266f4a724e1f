# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ci/circles: files that need each other are found, by include, import, and symbol."""
import json
import subprocess
from pathlib import Path

import pytest

CIRCLES = Path(__file__).parent.parent / "circles"
NAMES = "abcd"


def tree(tmp_path, **sources):
    """Runs ci/circles on a tree of these files, whose C sources are compiled in `build`."""
    commands = []
    build = tmp_path / "build"
    build.mkdir()
    for name, text in {"sim/containers/table.c": "int table;", **sources}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
        if path.suffix == ".c":
            words = ["cc", "-w", "-I", str(tmp_path), "-c", str(path), "-o", name.replace("/", "_") + ".o"]
            subprocess.run(words, cwd=build, check=True)
            commands.append({"directory": str(build), "file": str(path), "command": " ".join(words)})
    (build / "compile_commands.json").write_text(json.dumps(commands))
    result = subprocess.run([CIRCLES, tmp_path, build], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def ring(names, text):
    """text(name, next name) of each, the last one's next is the first."""
    return [text(name, names[(i + 1) % len(names)]) for i, name in enumerate(names)]


def calls(name, other):
    return f"void {other}(void); void {name}(void) {{ {other}(); }}"


@pytest.mark.parametrize("names, status", [("abc", 0), (NAMES, 1)])
def test_by_symbols(tmp_path, names, status):
    found, output = tree(tmp_path, **{f"provider/{n}.c": t for n, t in zip(names, ring(names, calls))})
    assert found == status
    assert f"circles: {len(names)}\n" in output
    assert ("provider/a.c needs provider/b.c: b\n" in output) == bool(status)


@pytest.mark.parametrize("names, status", [("abc", 0), (NAMES, 1)])
def test_by_includes(tmp_path, names, status):
    text = ring(names, lambda name, other: f'#include "{other}.h"')
    assert tree(tmp_path, **{f"sim/core/{n}.h": t for n, t in zip(names, text)})[0] == status


@pytest.mark.parametrize(
    "line",
    [
        "from hcasim_conform.run import {0}",
        "from . import {0}",
        "def f():\n    import hcasim_conform.run.{0}",
    ],
)
@pytest.mark.parametrize("names, status", [("abc", 0), (NAMES, 1)])
def test_by_imports(tmp_path, line, names, status):
    text = ring(names, lambda name, other: line.format(other))
    files = {f"conformance/hcasim_conform/run/{n}.py": t for n, t in zip(names, text)}
    assert tree(tmp_path, **files)[0] == status


def test_tests_are_free(tmp_path):
    files = {f"provider/tests/{n}.c": t for n, t in zip(NAMES, ring(NAMES, calls))}
    assert tree(tmp_path, **files)[0] == 0


def test_against_the_borders(tmp_path):
    status, output = tree(
        tmp_path, **{"sim/core/hca.c": "void hca(void) {}", "sim/kernel/cm.c": calls("cm", "hca")}
    )
    assert status == 1
    assert output.endswith(
        "sim/kernel/cm.c uses hca of sim/core/hca.c: sim/kernel does not stand on sim/core\n"
    )


@pytest.mark.parametrize(
    "user, owner", [("mlx5/driver/cq", "native/driver/eq"), ("common/eq", "native/driver/eq")]
)
def test_against_the_borders_of_families(tmp_path, user, owner):
    files = {f"sim/devices/{owner}.c": "void poll(void) {}", f"sim/devices/{user}.c": calls("cq", "poll")}
    status, output = tree(tmp_path, **files)
    assert status == 1
    assert output.endswith("does not stand on the device family native\n")


def test_families_use_what_is_common(tmp_path):
    files = {"common/eq": "void poll(void) {}", "mlx5/driver/cq": calls("cq", "poll")}
    assert tree(tmp_path, **{f"sim/devices/{n}.c": t for n, t in files.items()})[0] == 0


def test_nothing_is_built(tmp_path):
    (tmp_path / "compile_commands.json").write_text("[]")
    result = subprocess.run([CIRCLES, tmp_path, tmp_path], capture_output=True, text=True)
    assert result.returncode == 2 and "nothing of" in result.stderr
