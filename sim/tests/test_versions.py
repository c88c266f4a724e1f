# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs of several releases of rdma-core on one machine: each uses its libibverbs and our plugin."""
import os
import re
import shutil
from pathlib import Path

import pytest

from conftest import BUILD, NEWER, RDMA_CORE_BUILD, Machine, free_port

pytestmark = pytest.mark.skipif(not (NEWER / "bin").exists(), reason="ci/setup did not get rdma-core 65.0")
DEVINFO = NEWER / "bin/ibv_devinfo"  # its DT_RUNPATH points to its own libraries
DEBIANS = Path("/usr/bin")


def loaded(output):
    """The libibverbs and the plugin that each program used."""
    names = re.findall(r"calling init: (\S+/(?:libibverbs\.so|libhcasim-rdmav)\S*)", output)
    return [Path(name) for name in names]


def plugin(number):
    return BUILD / f"lib/libhcasim-rdmav{number}.so"


def of_newer(files):
    verbs, ours = files
    return verbs.is_relative_to(NEWER.resolve()) and ours == plugin(65)


WAYS = {
    "alone": [DEVINFO],
    "from a shell": ["sh", "-c", f"{DEVINFO}; true"],
    "by PATH": ["env", f"PATH={DEVINFO.parent}:/usr/bin", "ibv_devinfo"],
    "without environment": ["env", "-i", "LD_DEBUG=libs", DEVINFO],
}


@pytest.mark.parametrize("options", [[], ["--system-verbs"]], ids=["", "system"])
@pytest.mark.parametrize("way", WAYS)
def test_a_program_of_another_release_keeps_its_libraries(way, options):
    result = Machine(options=options).run(*WAYS[way], env=dict(os.environ, LD_DEBUG="libs"))
    assert result.status == 0 and "PORT_ACTIVE" in result.output, result.output
    assert of_newer(loaded(result.output)), result.output


def test_a_plugin_in_the_users_folder_takes_precedence(tmp_path):
    """As rdma-core with the provider in its tree has it. A program of another release keeps ours."""
    (tmp_path / "libibverbs.so.1").symlink_to(RDMA_CORE_BUILD / "lib/libibverbs.so.1")
    theirs = tmp_path / plugin(34).name
    shutil.copy(plugin(34), theirs)
    environment = dict(os.environ, LD_DEBUG="libs", LD_LIBRARY_PATH=str(tmp_path))
    result = Machine().run("ibv_devinfo", env=environment)
    assert result.status == 0 and loaded(result.output) == [tmp_path / "libibverbs.so.1", theirs]
    both = f"env -i LD_DEBUG=libs LD_LIBRARY_PATH={tmp_path} {DEBIANS}/ibv_devinfo; env -u LD_LIBRARY_PATH {DEVINFO}"
    result = Machine().run("sh", "-c", both, env=environment)
    files = loaded(result.output)
    assert files[:2] == [tmp_path / "libibverbs.so.1", theirs] and of_newer(files[2:]), files


def test_the_users_library_path_is_left():
    environment = dict(os.environ, LD_LIBRARY_PATH=f"/none:{NEWER}/lib")
    result = Machine().run("sh", "-c", "echo $LD_LIBRARY_PATH", env=environment)
    assert result.output == f"/none:{NEWER}/lib\n"


def test_ours_stands_before_the_users_other_folders():
    environment = dict(os.environ, LD_LIBRARY_PATH="/none")
    machine = Machine()
    assert (
        machine.run("printenv", "LD_LIBRARY_PATH", env=environment).output == f"{RDMA_CORE_BUILD}/lib:/none\n"
    )
    # For a program with its own libraries only our folder is removed from the path.
    result = machine.run("sh", "-c", f"LD_DEBUG=libs {DEVINFO}", env=environment)
    assert of_newer(loaded(result.output)) and "search path=/none" in result.output, result.output


def test_three_releases_in_one_shell():
    script = f"{DEVINFO}; {DEBIANS}/ibv_devinfo; {RDMA_CORE_BUILD}/bin/ibv_devinfo"
    machine = Machine(options=["--system-verbs"])
    result = machine.run("sh", "-c", script, env=dict(os.environ, LD_DEBUG="libs"))
    assert result.output.count("PORT_ACTIVE") == 3, result.output
    plugins = [file for file in loaded(result.output) if "hcasim" in file.name]
    assert plugins == [plugin(65), plugin(34), plugin(34)], result.output


@pytest.mark.parametrize("client", [DEBIANS, RDMA_CORE_BUILD / "bin"], ids=["44", "56"])
def test_releases_talk_to_each_other(client, gid_index):
    common = ["-N", "-c", "-p", free_port(), "-g", gid_index, "-n", 100]
    machine = Machine(hcas=2, options=["--system-verbs"])
    ends = machine.run_pair(
        [NEWER / "bin/ibv_rc_pingpong", "-d", "hcasim0", *common],
        [client / "ibv_rc_pingpong", "-d", "hcasim1", *common, "localhost"],
    )
    assert "100 iters in" in ends.server and "100 iters in" in ends.client
