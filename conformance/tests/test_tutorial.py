# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Executes docs/tutorial.md: every command of its console blocks, and compares the output that the page shows. The pages
for each kind of user show no output; their options exist.

The folder of the run looks like a clone in which ci/demo has run. gdb runs in batch mode; a browser presses "Copy C".
"""
import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from browser import Browser
from conftest import REPO

TUTORIAL = REPO / "docs" / "tutorial.md"
USERS = sorted((REPO / "docs").glob("for-*.md"))  # a page for each kind of user: at most a screen
LEFT_OUT = " ..."
CELL = "wr/rdma_write_imm/rc/sge/-/signaled"
# What may differ between two runs or two compilers.
VARIABLE = (
    (r"\b0x(7f|5[56])[0-9a-f]{10}\b", "ADDRESS"),
    (r"\b(Breakpoint \d+ at) \S+: file (\S+), line \d+", r"\1 ADDRESS: file \2, line LINE"),
    (r"\bremote_addr=\d+", "remote_addr=ADDRESS"),
    (r"(\.[ch]):\d+$", r"\1:LINE"),
    (r"^\d+\t", "LINE\t"),
)


@dataclass
class Step:
    """A command of the page, the lines typed at gdb's prompt, and the output that the page shows."""

    command: str
    typed: list = field(default_factory=list)
    shown: list = field(default_factory=list)

    @property
    def batch(self):
        """The command without a person: gdb's own input as options."""
        words = " ".join(f"-ex {shlex.quote(line)}" for line in self.typed)
        return self.command.replace("gdb -q ", f"gdb -q -nx -batch {words} ") if self.typed else self.command


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def steps_of(page):
    steps = []
    for line in "".join(blocks(page, "console")).splitlines():
        if line.startswith("$ "):
            steps.append(Step(line.removeprefix("$ ")))
        elif line.startswith("> ") and steps[-1].command.endswith("\\"):
            steps[-1].command += "\n" + line.removeprefix("> ")
        elif line.startswith("(gdb) "):
            steps[-1].typed.append(line.removeprefix("(gdb) "))
        else:
            steps[-1].shown.append(line)
    return steps


def normal(line):
    for pattern, replacement in VARIABLE:
        line = re.sub(pattern, replacement, line)
    return line


def shows(shown, output):
    """Whether the lines of a page are the output, from its first line to its last one."""
    parts = (r"(.*\n)*?" if line == LEFT_OUT else re.escape(normal(line)) + r"\n" for line in shown)
    lines = "".join(normal(line) + "\n" for line in output.splitlines())
    return re.fullmatch("".join(parts), lines)


@pytest.fixture
def clone(tmp_path, build):
    """A folder with what the page uses of a clone in which ci/demo has run."""
    links = {
        "provider": REPO / "provider",
        "conformance": REPO / "conformance",
        "build/release": build,
        "build/rdma-core": os.environ.get("RDMA_CORE_BUILD", REPO / "build" / "rdma-core"),
        "build/rdma-core-src": os.environ.get("RDMA_CORE_SOURCE", REPO / "build" / "rdma-core-src"),
    }
    (tmp_path / "build").mkdir()
    for name, target in links.items():
        (tmp_path / name).symlink_to(Path(target).resolve())
    return tmp_path


@pytest.fixture
def browser(tmp_path_factory):
    it = Browser(tmp_path_factory.mktemp("profile"))
    yield it
    it.close()


def copy_c(browser, report):
    """The text that the button "Copy C" of the cell gives."""
    browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.open(report, f"#{CELL}")
    browser.click(".entry[open] .calls .copy")
    browser.until("document.querySelector('.entry[open] .calls .copy').textContent === 'Copied'")
    return browser.run("navigator.clipboard.readText()")


def test_every_command_of_the_tutorial(clone, browser):
    exported = []
    environment = {**os.environ, "HOME": str(clone)}
    for step in steps_of(TUTORIAL):
        if step.command == "cat build/tutorial/cell.c":
            text = copy_c(browser, clone / "build/tutorial/red/report.html")
            (clone / "build/tutorial/cell.c").write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["bash", "-c", "\n".join([*exported, step.batch])],
            cwd=clone,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"$ {step.command}\n{done.stdout}{done.stderr}"
        assert shows(step.shown, done.stdout), f"$ {step.command}\n{done.stdout}"
        if step.command.startswith("export "):
            exported.append(step.command)


def options(build, *command):
    done = subprocess.run(
        [build / "bin/hcasim", *command, "--help"], capture_output=True, text=True, check=True
    )
    return set(re.findall(r"(?<![\w-])--?\w[\w-]*", done.stdout))


@pytest.mark.parametrize("page", USERS, ids=lambda page: page.stem)
def test_a_page_for_users_fits_on_a_screen_and_names_options_that_exist(page, build):
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 45 and not blocks(page, "console")
    commands = re.findall(r"\bhcasim (\w+)([^\n#`]*)", "".join(blocks(page, "sh")))
    assert len(commands) >= 3
    for name, rest in commands:
        used = re.findall(r"(?<=\s)--?\w[\w-]*", rest.split(" -- ")[0])
        assert set(used) <= options(build, name), f"hcasim {name}{rest}"
