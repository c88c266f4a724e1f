# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Completion: the words that hcasim knows, and the TAB key in bash and zsh."""
import os
import pty
import re
import select
import shutil
import subprocess

import pytest
import yaml
from conftest import BUILD, TOP, hcasim

from hcasim_cli.commands import COMMANDS, after

SCRIPTS = TOP / "sim/cli/completion"
ENV = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
DUTS = sorted(path.stem for path in (TOP / "conformance/duts").glob("*.yaml"))
PROFILES = sorted(path.stem for path in (TOP / "sim/timing/profiles").glob("*.yaml"))


def words(*line):
    result = hcasim("__complete", *line)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return [row.split("\t")[0] for row in result.stdout.splitlines()]


@pytest.mark.night
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.title)
def test_every_option(command):
    usage = hcasim("help", *command.title.split()).stdout
    wanted = set(re.findall(r"^  (-\w|--[\w-]+)", usage, re.M)) | set(re.findall(r", (--[\w-]+)", usage))
    value = ["x"] if command.option else []
    assert wanted and wanted <= set(words(*command.title.split(), *value, "-"))
    other = [row.option for row in COMMANDS if row.name == command.name and row.option]
    assert set(other) <= set(words(*command.name.split(), "-"))


def test_commands():
    assert set(after()) <= set(words("")) and words("conf") == ["conform"] and words("nothing", "") == []
    assert words("conform", "m") == ["merge", "mutants"] and words("help", "conform", "m") == [
        "merge",
        "mutants",
    ]


def test_names():
    assert words("conform", "--dut", "") == DUTS
    assert words("conform", "--dut=mlx5-") == [f"--dut={name}" for name in DUTS if name.startswith("mlx5-")]
    assert words("run", "--profile", "") == words("profile", "") == PROFILES
    assert {"c", "lockstep", "lockstep:c"} <= set(words("run", "--engine", ""))
    assert words("run", "--clock", "v") == ["virtual"] and "native" in words("run", "--hcas", "")
    assert words("run", "--trace", "") == words("replay", "") == []  # the shell's own: files


def test_figures():
    figures = words("run", "--set", "")
    profile = yaml.safe_load((TOP / "sim/timing/profiles/gen4x16-200g.yaml").read_text())
    assert {"pcie.mps=", "engine.stages.fetch.fixed="} <= set(figures)
    assert sum(figure.startswith("wire.") for figure in figures) == len(profile["wire"])


def test_running_machines():
    name = f"complete-{os.getpid()}"
    with subprocess.Popen(
        [BUILD / "bin/hcasim", "run", "--name", name, "--", "cat"], stdin=-1, stdout=-1
    ) as machine:
        machine.stdin.write(b"x\n")
        machine.stdin.flush()
        assert machine.stdout.readline() == b"x\n"
        assert words("run", "--attach", "complete-") == [name]
        machine.stdin.close()


def test_cells_by_their_parts():
    listed = hcasim("conform", "--list", "-k", "suite/state").stdout.splitlines()
    heads = words("conform", "-k", "suite/state/")
    assert set(heads) == {line.split()[0].rpartition("/")[0] + "/" for line in listed}
    found = {part for head in heads for part in words("conform", "--explain", head)}
    assert found >= {line.split()[0] for line in listed} and len(found) > 20
    tail = words("conform", "-k", "wr/send/rc/sge/-/sig")
    assert tail == ["wr/send/rc/sge/-/signaled", "wr/send/rc/sge/-/signaled/"]


def test_cells_are_found_quickly():
    """In processor time: other programs may run."""
    before = os.times()
    assert words("conform", "-k", "suite/state/rc/abrupt-d")
    after_it = os.times()
    used = after_it.children_user + after_it.children_system - before.children_user - before.children_system
    assert used < 1


# ---- bash ----


def in_bash(line):
    """What the function leaves in COMPREPLY."""
    script = f'. {SCRIPTS}/hcasim.bash; COMP_LINE=$1 COMP_POINT=${{#1}}; _hcasim; printf "%s\\n" "${{COMPREPLY[@]}}"'
    command = ["bash", "--norc", "-c", script, "bash", line]
    result = subprocess.run(command, env=ENV, capture_output=True, text=True, check=True)
    assert not result.stderr
    return result.stdout.split()


@pytest.mark.parametrize(
    "line, found",
    [
        ("hcasim conf", ["conform"]),
        ("hcasim conform --dut mlx5-4", ["mlx5-44"]),
        ("hcasim conform --dut=mlx5-4", ["mlx5-44"]),  # bash replaces what is behind '='
        ("hcasim run --engine lockstep:", None),
        ("hcasim conform -k 'wr/rdma_w", ["wr/rdma_write/", "wr/rdma_write_imm/"]),
        ("hcasim run --trace ", []),
        ("hcasim run --hcas 2 -- tru", ["true", "truncate"]),
        ("hcasim run -- true --de", []),
    ],
)
def test_the_function_of_bash(line, found):
    if found is None:
        assert "c" in in_bash(line) and not any(":" in word for word in in_bash(line)[:1])
    else:
        assert set(found) <= set(in_bash(line)) and bool(found) == bool(in_bash(line))


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, *command):
        self.shown = ""
        self.pid, self.file = pty.fork()
        if not self.pid:
            os.chdir("/")
            os.execvpe(command[0], command, {**ENV, "PS1": "ready> "})

    def type(self, keys, shows):
        """Waits until the terminal shows this."""
        self.shown = ""
        os.write(self.file, keys.encode())
        while shows not in self.shown:
            assert select.select([self.file], [], [], 30)[0], (shows, self.shown)
            self.shown += os.read(self.file, 4096).decode()

    def end(self):
        os.close(self.file)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal():
    opened = []

    def start(*command):
        opened.append(Terminal(*command))
        return opened[0]

    yield start
    opened[0].end()


def press_tab(shell):
    shell.type("hcasim doct\t", "hcasim doctor ")
    shell.type("\025hcasim conform --dut soft\t", "--dut soft-roce ")
    shell.type("\025hcasim conform --dut=soft\t", "--dut=soft-roce ")
    shell.type("\025hcasim conform -k suite/state/rc/abrupt-doo\t", "/abrupt-doorbells ")
    shell.type("\025hcasim run --set pcie.mrr\t", "pcie.mrrs=")
    shell.type("128 --trace /proc/self/oom_score_a\t", "dj")  # files
    shell.type("\025hcasim run -- hcasim-conform-r\t", "hcasim-conform-runner ")


def test_bash_on_a_terminal(terminal):
    shell = terminal("bash", "--norc", "--noprofile", "-i")
    shell.type(f". {SCRIPTS}/hcasim.bash && echo read''y\n", "ready\r\n")
    press_tab(shell)


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_on_a_terminal(terminal):
    shell = terminal("zsh", "-f", "-i")
    shell.type(
        f"fpath=({SCRIPTS} $fpath); autoload -U compinit; compinit -D -u && echo read''y\n", "ready\r\n"
    )
    press_tab(shell)
    shell.type("\025hcasim conform me\t\t", "merge ")
    shell.type("\025hcasim r\t", "replay  -- replay records")
