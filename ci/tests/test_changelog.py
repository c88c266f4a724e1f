# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""CHANGELOG.md: an entry for the version of CMakeLists.txt, in the form of Keep a Changelog."""
import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
ENTRY = re.compile(r"^## \[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d|unreleased)$")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def headings(level):
    lines = (TOP / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("#" * level + " ")]


def test_the_first_entry_is_the_version_of_the_build():
    text = (TOP / "CMakeLists.txt").read_text(encoding="utf-8")
    version = re.search(r"^project\(hcasim VERSION ([\d.]+) ", text, re.M)[1]
    assert headings(2)[0].startswith(f"## [{version}] - "), "CHANGELOG.md lacks an entry for this version"


def test_entries_have_the_form():
    entries = [ENTRY.match(line) for line in headings(2)]
    assert all(entries), headings(2)
    versions = [tuple(map(int, entry.groups()[:3])) for entry in entries]
    assert versions == sorted(set(versions), reverse=True)
    assert all(entry[4] != "unreleased" for entry in entries[1:])
    assert {line.removeprefix("### ") for line in headings(3)} <= KINDS
