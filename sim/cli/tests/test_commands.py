# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The table of commands: help, words that are no command, and exit statuses."""
import contextlib
import os
import pty
import re
import signal
import subprocess

import pytest
from conftest import HCASIM, TOP, hcasim

from hcasim_cli import exits
from hcasim_cli.commands import COMMANDS


def refused(*words):
    result = hcasim(*words)
    assert result.returncode == exits.WRONG and not result.stdout, result.stdout
    return result.stderr


def test_help_lists_every_command():
    result = hcasim("--help")
    assert result.returncode == 0 and hcasim("help").stdout == result.stdout == hcasim("-h").stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command.title} +{re.escape(command.summary)}$", result.stdout, re.M)
    assert refused() == result.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.title)
def test_help_of_a_command(command):
    words = command.title.split()
    result = hcasim("help", *words)
    assert result.returncode == 0 and result.stdout.startswith(
        f"usage: hcasim {command.name} "
    ), result.stderr
    assert command.option in result.stdout
    value = ["x"] if command.option else []
    assert hcasim(*words, *value, "--help").stdout == result.stdout


@pytest.mark.parametrize(
    "words, message",
    [
        (["rum", "--", "true"], "hcasim: 'rum' is no command; the nearest one is 'run'\n"),
        (["--verison"], "hcasim: '--verison' is no command; the nearest one is '--version'\n"),
        (["help", "confrom"], "hcasim: 'confrom' is no command; the nearest one is 'conform'\n"),
        (["xyz"], "hcasim: 'xyz' is no command; there are: run, replay, "),
        (["conform", "merg", "a"], "hcasim conform: 'merg' is no command; the nearest one is 'merge'\n"),
        (["conform", "a"], "hcasim conform: 'a' is no command; there are: merge, report, trend, mutants\n"),
        (["run", "--hca", "x", "--", "true"], "argument --hcas: 'x' is unknown"),
        (
            ["run", "--hcsa=2", "--", "true"],
            "unrecognized arguments: --hcsa=2; the nearest option is --hcas\n",
        ),
        (["conform", "--duts", "a"], "unrecognized arguments: --duts; the nearest option is --dut\n"),
        (["run", "--zzz", "--", "true"], "unrecognized arguments: --zzz\n"),
    ],
)
def test_a_word_that_is_none_is_named(words, message):
    assert message in refused(*words)


def test_a_reader_that_ends_early():
    """As `hcasim conform --list | head -1`."""
    listing = subprocess.Popen(
        [HCASIM, "conform", "--list", "-k", "wr/send"], stdout=-1, stderr=-1, text=True
    )
    assert listing.stdout.readline().startswith("wr/send")
    listing.stdout.close()
    assert listing.stderr.read() == "" and listing.wait() == exits.SIGNALED + signal.SIGPIPE


def test_an_interrupted_command():
    command = subprocess.Popen([HCASIM, "conform", "--list"], stdout=-1, stderr=-1, text=True)
    assert command.stdout.readline()
    command.send_signal(signal.SIGINT)
    assert "Traceback" not in command.communicate()[1]
    assert command.returncode in (exits.OK, exits.SIGNALED + signal.SIGINT)


def test_a_missing_module_is_named(tmp_path):
    (tmp_path / "rich.py").write_text("raise ModuleNotFoundError(name='rich')\n")
    result = hcasim("conform", "--list", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert result.returncode == exits.WRONG
    assert result.stderr == "hcasim: the Python module rich is missing: hcasim doctor says what to install\n"


def on_a_terminal(*words, **environment):
    """What a command shows on one."""
    ours, its = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", **environment}
    with subprocess.Popen([HCASIM, *words], stdin=its, stdout=its, stderr=its, env=env) as command:
        os.close(its)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while part := os.read(ours, 65536):
                shown += part
    os.close(ours)
    assert command.returncode == 0, shown
    return shown.decode()


@pytest.mark.parametrize("variable, colors", [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_color(tmp_path, variable, colors):
    shown = on_a_terminal("conform", "-k", "wr/send/rc/sge/-/signaled", "--out", tmp_path, **variable)
    assert "1 pass" in shown and bool(re.search(r"\x1b\[[\d;]*3\dm", shown)) == colors


def test_exit_statuses_are_documented():
    page = (TOP / "docs/running.md").read_text()
    rows = re.findall(r"^\| `(\S+)` \| (.*) \|$", page.split("## Exit status\n")[1].split("\n## ")[0], re.M)
    assert tuple(rows) == exits.TABLE
