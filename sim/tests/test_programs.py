# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The programs of programs.yaml; with HCASIM_PROGRAMS=nightly also those only for the nightly run."""
import re
import shlex

import pytest
import yaml

from conftest import HERE, NIGHTLY, Machine, free_port

PROGRAMS = yaml.safe_load((HERE / "programs.yaml").read_text())
RUNS = {"full", "nightly"} if NIGHTLY else {"full"}
RUN = [
    pytest.param(program, family, id=f"{program['name']}-{family}")
    for program in PROGRAMS
    if program["run"] in RUNS
    for family in program.get("families", ["native"])
]


def command_of(text, port):
    return shlex.split(text.format(port=port, here=HERE))


@pytest.mark.parametrize("system", [False, True], ids=["56.1", "debian"])
@pytest.mark.parametrize("program, family", RUN)
def test_program(program, family, system):
    machine, port = Machine(hcas=2, system=system, family=family), free_port()
    if "alone" in program:
        result = machine.run(*command_of(program["alone"], port))
        assert result.status == 0, result.output
        output = result.output
    else:
        ends = [command_of(program[end], port) for end in ("server", "client")]
        more = {name: program[name] for name in ("endless", "gate") if name in program}
        output = machine.run_pair(*ends, **more).client
    for expected in program["expect"]:
        assert re.search(expected, output), f"no {expected!r} in:\n{output}"


@pytest.mark.parametrize("program", PROGRAMS, ids=[program["name"] for program in PROGRAMS])
def test_entry(program):
    """An entry runs, or is skipped with its reason."""
    if program["run"] in ("full", "nightly"):
        assert program["expect"] and ("alone" in program) != ("server" in program and "client" in program)
    else:
        assert program["run"] is False and program["why"]
