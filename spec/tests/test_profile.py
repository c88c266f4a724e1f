# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The figures of timing profiles: the JSON Schema, the table of the reader, the page."""

import json
import re

import jsonschema
import pytest
import yaml
from conftest import ROOT

PROFILES = sorted((ROOT / "sim/timing/profiles").glob("*.yaml"))


@pytest.fixture(scope="session")
def validator(generated):
    schema = json.loads((generated / "profile.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def declared(documents):
    """{key: entry} of all figures, from the YAML itself."""
    figures = {}
    for group in documents["profile"]["groups"]:
        figures |= {f"{group['name']}.{entry['key']}": entry for entry in group["figures"]}
        stages = group.get("stages", {"names": [], "figures": []})
        for stage in stages["names"]:
            for entry in stages["figures"]:
                figures[f"{group['name']}.stages.{stage}.{entry['key']}"] = entry
    return figures


def place(profile, key):
    for step in key.split("."):
        profile = profile.setdefault(step, {})  # a group need not be there
    return profile


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_shipped_profiles_satisfy_the_schema(validator, path):
    profile = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert not [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(profile)]


def test_the_schema_has_every_rule_of_every_figure(validator, documents):
    """A value that is out of range, of another kind or unit, and a missing or unknown key are refused."""
    good = yaml.safe_load(PROFILES[0].read_text(encoding="utf-8"))
    figures = declared(documents)
    assert len(figures) > 60
    for key, entry in figures.items():
        group, name = key.rsplit(".", 1)
        had = name in place(good, group)
        assert had or "default" in entry, key
        figure = place(good, group).setdefault(
            name, {"value": entry["min"], "unit": entry["unit"], "source": "a test"}
        )
        bad = [entry["min"] - 1, entry["max"] + 1, "many"]
        bad += {"any": [], "whole": [entry["min"] + 0.5], "power_of_2": [3 * entry["min"] // 2]}[
            entry.get("kind", "any")
        ]
        for member, values in (("value", bad), ("unit", ["parsecs"]), ("source", [""]), ("extra", [1])):
            kept = dict(figure)
            for value in values:
                figure[member] = value
                assert not validator.is_valid(good), f"{key}.{member} = {value!r}"
            figure.clear()
            figure.update(kept)
        assert validator.is_valid(good), key
        kept = place(good, group).pop(name)
        assert validator.is_valid(good) == ("default" in entry), key
        if had:
            place(good, group)[name] = kept


def test_the_reader_has_every_figure(generated, documents):
    text = (generated / "include/hcasim_profile.h").read_text(encoding="utf-8")
    row = re.compile(r'\{"([\w.]+)", "([^"]+)", Figure::(\w+), ([\d.]+), ([\d.]+), (\d+),')
    scale = {"ns": "1000", "us": "1000000"}
    rows = {key: rest for key, *rest in row.findall(text)}
    assert rows == {
        key: [
            entry["unit"],
            entry.get("kind", "any").upper(),
            str(entry["min"]),
            str(entry["max"]),
            scale.get(entry["unit"], "1"),
        ]
        for key, entry in declared(documents).items()
    }


def test_the_reader_has_every_default(generated, documents):
    text = (generated / "include/hcasim_profile.h").read_text(encoding="utf-8")
    row = re.compile(r'\{"([\w.]+)",[^\n]*\n\s*(true|false), "([\w.]*)", ([\d.]+), &p')
    for key, optional, other, value in row.findall(text):
        default = declared(documents)[key].get("default")
        assert optional == str(default is not None).lower()
        assert other == (f"{key.rsplit('.', 1)[0]}.{default}" if isinstance(default, str) else "")
        assert float(value) == (default if isinstance(default, (int, float)) else 0)


def test_the_page_names_every_figure(generated, documents):
    page = (generated / "docs/profile.md").read_text(encoding="utf-8")
    for group in documents["profile"]["groups"]:
        for entry in group["figures"] + group.get("stages", {"figures": []})["figures"]:
            assert entry["key"] in page and entry["doc"] in page and entry.get("limit", "") in page
