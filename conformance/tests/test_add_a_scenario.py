# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""docs/add-a-scenario.md, step by step: its code is compiled by its command, and its cells run."""
import os
import re
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PAGE = (REPO / "docs" / "add-a-scenario.md").read_text(encoding="utf-8")
CODE = re.search(r"```c\n(.*?)```", PAGE, re.S)[1]
MAKE, COMPILE, RUN = re.findall(r"^ {7}((?:mkdir|cc|hcasim) .*)$", PAGE, re.M)


@pytest.fixture(scope="module")
def shell(build, tmp_path_factory):
    """Runs a command of the page in a folder of its own; its status, and what it printed."""
    folder = tmp_path_factory.mktemp("mine")
    env = dict(os.environ, PATH=f"{build / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def run(command, code=None):
        if code:
            (folder / "signaled.c").write_text(code, encoding="utf-8")
        command = command.replace("-I conformance", f"-I {REPO}/conformance")
        command = command.replace("-I build", f"-I {build.parent}")
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    assert run(MAKE)[0] == 0
    return run


def compiled(shell, code):
    status, said = shell(COMPILE, code)
    assert status == 0, said
    return shell(RUN)


def test_as_it_is_written(shell):
    status, said = compiled(shell, CODE)
    assert status == 0 and "3 cells on native: 3 pass" in said, said


def test_a_check_that_is_turned_round(shell):
    status, said = compiled(shell, CODE.replace("SAYS(", 'ARGS({"wrong", 1}), SAYS('))
    assert status == 1 and "0 pass, 3 fail" in said, said


def test_a_wrong_row(shell):
    status, said = compiled(shell, CODE.replace("SEND 64", "SENT 64"))
    assert status == 2 and "scenario last_signaled: operation 'SENT': must be one of ATOMIC" in said, said


def test_a_cell_that_exists(shell):
    status, said = compiled(shell, CODE.replace('"example"', '"notify"').replace('"last-signaled"', '"any"'))
    assert status == 2 and "the cell suite/notify/rc/any is one of event_any, too" in said, said


def test_an_object_that_cannot_be_loaded(shell):
    status, said = compiled(shell, CODE.replace("kit_plan(", "kit_plans("))
    assert status == 2 and "undefined symbol: kit_plans" in said, said


def test_a_folder_without_scenarios(shell):
    status, said = shell(RUN.replace("mine", "."))
    assert status == 2 and "/*.so: there is no such file" in said, said
