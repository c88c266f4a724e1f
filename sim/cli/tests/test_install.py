# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""cmake --install: a copy that an ordinary user runs after it was moved, where neither build folder nor source tree exists."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

BUILD = Path(os.environ["HCASIM_BUILD"])
TOP = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "conformance"))
from hcasim_conform.report import results  # noqa: E402

TREES = [TOP, BUILD, Path(os.environ["RDMA_CORE_BUILD"]), Path(os.environ["RDMA_CORE_SOURCE"])]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
PROGRAMS = {"", "-calibrate", "-conform-runner", "-device", "-dma", "-experiment", "-profile", "-replay"}
COMPONENTS = ["hcasim", "hcasim-rtl", "hcasim-dev", "hcasim-doc"]
PAIR = [
    TOP / "sim/tests/pair.py",
    BUILD / "sim/tests/libhcasim_ready.so",
]  # starts a client when its server listens


def output(*command, **options):
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def hidden():
    """The trees, without those below another one."""
    trees = {tree.resolve() for tree in TREES}
    return [tree for tree in trees if not trees.intersection(tree.parents)]


class Copy:
    """An installed copy."""

    def __init__(self, folder):
        self.prefix = folder / "moved"
        self.work = folder / "work"
        self.work.mkdir()
        self.work.chmod(0o777)
        for component in COMPONENTS:
            command = ["cmake", "--install", str(BUILD), "--component", component]
            output(*command, "--prefix", str(folder / "first"))
        (folder / "first").rename(self.prefix)
        self.private = next(self.prefix.glob("lib*/**/hcasim/build.json")).parent

    def run(self, *command):
        """The output of a command that sees an empty folder in place of each tree; no user but root enters it."""
        root = os.geteuid() == 0
        enter = ["unshare", "--mount"] if root else ["unshare", "--user", "--map-root-user", "--mount"]
        hide = " && ".join(f"mount -t tmpfs none {tree}" for tree in hidden())
        environment = ["env", "-i", f"PATH={self.prefix}/bin:/usr/bin:/bin", "HOME=/tmp", "TERM=dumb"]
        command = [*(NOBODY if root else []), *environment, *command]
        return output(*enter, "sh", "-c", f'{hide} && exec "$@"', "sh", *command, cwd=self.work)


@pytest.fixture(scope="module")
def copy():
    folder = Path(tempfile.mkdtemp(prefix="hcasim-install-", dir="/tmp"))
    folder.chmod(0o755)
    yield Copy(folder)
    shutil.rmtree(folder)


def test_no_file_names_a_tree(copy):
    for path in copy.prefix.rglob("*"):
        text = os.readlink(path).encode() if path.is_symlink() else path.is_file() and path.read_bytes()
        named = [tree for tree in hidden() if text and os.fsencode(f"{tree}/") in text]
        assert not named, f"{path} names {named}"


def test_programs(copy):
    """Those of hcasim, and none of a test."""
    assert {path.name for path in (copy.private / "bin").iterdir()} == {f"hcasim{name}" for name in PROGRAMS}
    assert {path.name for path in (copy.prefix / "bin").iterdir()} == {"hcasim", "hcasim-conform-runner"}
    driver = next(copy.prefix.rglob("etc/libibverbs.d/hcasim.driver"))
    assert driver.read_text() == "driver hcasim\n"
    assert list(copy.prefix.glob("lib*/**/libibverbs/libhcasim-rdmav34.so"))


def pingpong(work):
    pair, ready = (shutil.copy(file, work) for file in PAIR)
    server = ["ibv_rc_pingpong", "-g", "0", "-d", "hcasim0"]
    client = ["ibv_rc_pingpong", "-g", "0", "-d", "hcasim1", "localhost"]
    return ["/usr/bin/python3", pair, json.dumps({"server": server, "client": client, "ready": ready})]


def test_programs_run(copy):
    assert output(str(copy.prefix / "bin/hcasim"), "--version").startswith("hcasim ")
    assert copy.run("hcasim", "run", "--hcas", "2", "--", "ibv_devinfo").count("PORT_ACTIVE") == 2
    assert "1000 iters" in copy.run("hcasim", "run", "--hcas", "2", "--", *pingpong(copy.work))
    assert "link hcasim0/1 state ACTIVE" in copy.run("hcasim", "run", "--", "rdma", "link")
    assert "mlx5_0" in copy.run("hcasim", "run", "--device", "mlx5", "--", "ibv_devinfo")
    assert "rxe0" in copy.run("hcasim", "run", "--device", "rxe", "--", "ibv_devinfo")


def test_the_other_commands(copy):
    assert "value: 128" in copy.run("hcasim", "profile", "connectx5", "--set", "pcie.mps=128")
    assert '"$schema"' in copy.run("hcasim", "profile", "--schema")
    copy.run("hcasim", "run", "--record", "r", "--trace", "t", "--", "ibv_devinfo")
    copy.run("hcasim", "replay", "r")
    copy.run("hcasim", "timeline", "t", "-o", "t.json")
    assert "run and hcasim conform work" in copy.run("hcasim", "doctor")
    assert "mlx5-44\n" in copy.run("hcasim", "__complete", "conform", "--dut", "")
    assert copy.run("hcasim", "__complete", "conform", "-k", "suite/state/rc/abrupt-d").count("\n") > 1
    assert "HCASIM-DUT(5)" in copy.run("man", "-M", str(copy.prefix / "share/man"), "hcasim-dut")
    refused = "hcasim conform mutants; test $? = 2"
    assert "not in an installed copy" in copy.run("sh", "-c", refused)
    assert "2 rows fitted" in copy.run("hcasim", "calibrate", "-k", "dma-read-latency")


CELL = "wr/send/rc/sge/-/solicited"
HEADERS = "-I{prefix}/share/hcasim/conformance -I{private}/rdma-core/include"
LINKED = "{private}/lib/libhcasim-reproduce.a -L{private}/rdma-core/lib -lrdmacm -libverbs -ljansson -o cell"


def test_conform(copy):
    assert "134 pass, 0 fail" in copy.run("hcasim", "conform", "-k", "wr/send/rc", "--out", "out")
    about = json.loads((copy.private / "build.json").read_text())
    versions = results.load(copy.work / "out")["versions"]
    assert versions["hcasim"] == (about["commit"] or about["version"])
    assert versions["rdma-core"] != "unknown"


def test_the_program_of_a_cell(copy):
    """Compiled with the installed headers and library, of the calls that the record has."""
    copy.run("hcasim", "conform", "-k", CELL, "--no-tap", "--out", "out")
    calls = results.load(copy.work / "out")["cells"][0]["calls"]
    statements = [call if call.startswith("/*") else f"{call};" for call in calls]
    lines = ['#include "reproduce.h"', "void reproduce(void)", "{", *statements, "}"]
    (copy.work / "cell.c").write_text("\n".join(lines))
    words = f"cc {HEADERS} cell.c {LINKED}".format(prefix=copy.prefix, private=copy.private).split()
    copy.run(*words)
    assert "CQE" in copy.run("hcasim", "run", "--hcas", "2", "--", "./cell", "hcasim0", "hcasim1")


def test_headers_of_engines(copy):
    (copy.work / "engine.c").write_text('#include "core/engine.h"\nstruct engine_ops ops;\n')
    copy.run("cc", "-std=gnu11", f"-I{copy.prefix}/include/hcasim", "-c", "engine.c")


BENCH = """
#include <hcasim_engine.h>
int main(void)
{
	void *engine = hcasim_engine_open();
	int event = hcasim_engine_next(engine);
	hcasim_engine_close(engine);
	return event != HCASIM_EVENT_IDLE;
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(bench C)
find_package(hcasim-engine REQUIRED)
add_executable(bench bench.c)
target_link_libraries(bench PRIVATE hcasim::hcasim-engine)
"""


def needs_rtl(copy):
    if not list(copy.private.glob("lib/engines/rtl.so")):
        pytest.skip("installable-rtl was not built: there is no verilator")


def test_the_engine_as_a_library(copy):
    needs_rtl(copy)
    (copy.work / "bench.c").write_text(BENCH)
    (copy.work / "CMakeLists.txt").write_text(CMAKE)
    copy.run("cmake", f"-DCMAKE_PREFIX_PATH={copy.prefix}", "-B", "cmake", ".")
    copy.run("cmake", "--build", "cmake")
    copy.run("cmake/bench")
    library = next(copy.prefix.glob("lib*/**/libhcasim-engine.so")).parent
    search = f"PKG_CONFIG_PATH={library}/pkgconfig"
    options = copy.run("env", search, "pkg-config", "--cflags", "--libs", "hcasim-engine").split()
    copy.run("cc", "bench.c", *options, f"-Wl,-rpath,{library}", "-o", "bench")
    copy.run("./bench")


def test_an_engine_in_rtl(copy):
    needs_rtl(copy)
    for engine in ("rtl", "lockstep"):
        output = copy.run("hcasim", "conform", "-k", CELL, "--engine", engine, "--out", "out")
        assert "1 pass, 0 fail" in output


def copied_launcher(folder):
    (folder / "bin").mkdir(parents=True)
    shutil.copy(BUILD / "bin/hcasim", folder / "bin")
    shutil.copy(BUILD / "build.json", folder)
    command = [folder / "bin/hcasim", "run", "--", "true"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@pytest.mark.skipif(TOP not in BUILD.resolve().parents, reason="the build folder is not in the source tree")
def test_a_copied_tree_does_not_run_the_programs_of_the_original(tmp_path):
    build = tmp_path / BUILD.resolve().relative_to(TOP)
    assert f"there is no folder {tmp_path}" in copied_launcher(build)
    for folder in ("sim/cli/hcasim_cli", "sim/timing/profiles"):
        shutil.copytree(TOP / folder, tmp_path / folder)
    shutil.rmtree(build)
    assert f"cannot start {build}/bin/hcasim-device" in copied_launcher(build)
