# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Manual pages: complete, and without a warning of man and mandoc."""
import json
import os
import re
import shutil
import subprocess

import pytest
import yaml
from conftest import TOP, hcasim

from hcasim_cli import exits
from hcasim_cli.commands import COMMANDS
from hcasim_cli.man import paragraph


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    folder = tmp_path_factory.mktemp("share")
    result = hcasim("__generate", folder)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def shown(share):
    """The text of a page, as man shows it."""

    def show(name):
        path = share / f"man/man{name[-1]}" / name
        env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "1000", "MANROFFOPT": "-rHY=0"}
        command = ["man", "--warnings", "-P", "cat", "-l", path]
        result = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
        assert result.stderr == ""
        return re.sub(" +", " ", result.stdout)

    return show


def name_of(command):
    return f"hcasim-{command.name.replace(' ', '-')}.1"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.title)
def test_a_page_has_every_option_of_its_command(shown, command):
    text, usage = shown(name_of(command)), hcasim("help", *command.title.split()).stdout
    assert f"{name_of(command)[:-2]} - " in text and command.name in text.split("SYNOPSIS")[1]
    options = set(re.findall(r"^  (-\w|--[\w-]+)", usage, re.M)) | set(re.findall(r", (--[\w-]+)", usage))
    missing = {option for option in options if not re.search(rf"(^|[ ,]){option}\b", text, re.M)}
    assert options and not missing


def test_the_first_page(shown):
    text = shown("hcasim.1")
    for command in COMMANDS:
        assert f" {name_of(command)[:-2]}(1)" in text
    for status, meaning in exits.TABLE:
        assert re.search(rf"^ {re.escape(status)}\s+{re.escape(meaning)}$", text, re.M)


def keys(schema, defs):
    """(name, schema) of all keys, the inner ones behind the outer one."""
    for name, row in schema.get("properties", {}).items():
        row = {**defs.get(row.get("$ref", "").rpartition("/")[2], {}), **row}
        yield name, row
        yield from keys(row, defs)
        yield from keys(row.get("items", {}), defs)


def test_dut_page(shown):
    schema = json.loads((TOP / "conformance/schema/dut.schema.json").read_text())
    text, at = shown("hcasim-dut.5"), 0
    for name, row in keys(schema, schema["$defs"]):
        at = text.index(f"\n {name} (", at) + 1  # in this order
        assert row["description"].split()[0] in text[at:]
    assert " extends: native.yaml\n" in text


def test_profile_page(shown):
    text = shown("hcasim-profile.5")
    for group in yaml.safe_load((TOP / "spec/profile.yaml").read_text())["groups"]:
        inner = group.get("stages", {"figures": []})["figures"]
        rows = [(f"{group['name']}.{row['key']}", row) for row in group["figures"]]
        for key, row in rows + [(f"{group['name']}.stages.STAGE.{row['key']}", row) for row in inner]:
            line = next(line for line in text.splitlines() if line.startswith(f" {key} ("))
            assert f"from {row['min']} to {row['max']} {row['unit']}" in line
            assert row["doc"] in text


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
def test_mandoc(share):
    pages = sorted(share.glob("man/*/*"))
    result = subprocess.run(["mandoc", "-Tlint", *pages], capture_output=True, text=True, check=False)
    assert len(pages) > len(COMMANDS) and result.stdout == ""


def test_lines_that_roff_would_take_for_requests():
    text = " ".join(["x" * 60, ".TH", "y" * 60, "'s", "back\\slash", "--option"])
    lines = paragraph(text)
    assert all(line[0] not in ".'" for line in lines) and "back\\eslash \\-\\-option" in " ".join(lines)


def test_pages_do_not_depend_on_the_day(share, tmp_path):
    """A package has the same ones whenever it is built."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": "86400"}
    hcasim("__generate", tmp_path, env=env)
    assert '1970-01-02 "hcasim ' in (tmp_path / "man/man1/hcasim.1").read_text()
