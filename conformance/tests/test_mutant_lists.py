# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Lists of equivalent mutants: what patterns mean, which rows are stale, and that the lists agree with the sources."""
import re
from functools import cache

import pytest
import yaml

from conftest import REPO
from hcasim_conform.mutants.generated import catalogue
from hcasim_conform.mutants.generated.patterns import NAME, Look, one, parse

CALL = "put(a, b + 1, get(c)) -> put(b + 1, a, get(c))"
UNDER = {"statement": "err = put(a, 7)", "under": "qp->c.state != HCASIM_QPS_ERR"}
FILE, OTHER = "provider/a.c", "sim/core/b.c"


def mutant(number, operator, change, function="f", file=FILE, **more):
    return catalogue.Mutant(number, file, function, 3, "x = 1;", operator, change, **more)


@pytest.mark.parametrize(
    "operator, change, pattern",
    [
        ("relational", "a->len < b -> a->len <= b", "<= len"),
        ("relational", "a < b -> 0", "0 a b"),
        ("relational", "p == q -> p != q", "!="),
        ("arithmetic", "a << 1 -> a >> 1", ">> 1"),
        ("arithmetic", "i += n -> i -= n", "-= n"),
        ("arithmetic", "~mask -> mask", "none mask"),
        ("logical", "a && b -> a || b", "|| a b"),
        ("logical", "a && b || c -> c", "without a b"),
        ("logical", "a && b || c -> a && b", "without c !a"),
        ("constant", "LIMIT -> LIMIT - 1", "-1 LIMIT"),
        ("constant", "true -> !true", "not true"),
        ("condition", "ready(a) -> !(ready(a))", "not ready()"),
        ("statement", "free(a) -> dropped", "drop free()"),
        ("argument", CALL, "swap put() a b !c"),
        ("field", "c->ci -> c->pi", "field ci"),
        ("constant", "VENDOR_ERR_X -> VENDOR_ERR_X + 1", "+1,-1 VENDOR_*"),
        ("constant", "7 -> 7 + 1", "constant 7 @put() @err @HCASIM_QPS_*"),
        ("constant", "7 -> 7 + 1", "any"),
    ],
)
def test_what_a_pattern_means(operator, change, pattern):
    assert one(pattern).means(Look(mutant(1, operator, change, **UNDER)))


@pytest.mark.parametrize(
    "operator, change, pattern",
    [
        ("relational", "a < b -> a <= b", ">= a"),
        ("relational", "a < b -> a <= b", "<= c"),
        ("relational", "a < b -> a <= b", "<= a !b"),
        ("constant", "7 -> 7 + 1", "+1 put"),  # only the statement has it
        ("constant", "7 -> 7 + 1", "+1 7 !@put"),
        ("constant", "7 -> 7 + 1", "logical"),
        ("statement", 'say("free()") -> dropped', "drop free()"),
        ("statement", "p->free(a) -> dropped", "drop free()"),
        ("logical", "a && b || c -> c", "without c"),
    ],
)
def test_what_a_pattern_does_not_mean(operator, change, pattern):
    assert not one(pattern).means(Look(mutant(1, operator, change, **UNDER)))


@pytest.mark.parametrize(
    "text, words",
    [
        ("magic a", "'magic a' does not begin with actions"),
        ("", "'' does not begin with actions"),
        ("+1 a; drop a->b", "'drop a->b': 'a->b' is no NAME"),
        ("+1 #0", "'#0' is no NAME"),
    ],
)
def test_a_wrong_pattern_is_named(text, words):
    with pytest.raises(ValueError, match=words):
        parse(text)


MUTANTS = [
    mutant(1, "constant", "1 -> 1 + 1"),
    mutant(2, "constant", "1 -> 1 + 1"),
    mutant(3, "statement", "free(x) -> dropped", "g"),
    mutant(4, "statement", "free(x) -> dropped", "h", OTHER),
]
SAME = {"same": {"unread": "x is never read again"}}


@pytest.fixture
def lists(tmp_path):
    def write(rows, causes=None):
        (tmp_path / "causes.yaml").write_text(yaml.safe_dump(causes or SAME), encoding="utf-8")
        (tmp_path / "rows.yaml").write_text(yaml.safe_dump(rows), encoding="utf-8")
        return catalogue.equivalents(MUTANTS, tmp_path)

    return write


@pytest.mark.parametrize(
    "file, functions, text, numbers",
    [
        (FILE, "f", "any", {1, 2}),
        (FILE, "f g", "any", {1, 2, 3}),
        (FILE, "*", "drop x", {3}),
        ("*", "*", "drop free()", {3, 4}),
        ("sim/*", "*", "drop free()", {4}),
        (FILE, "f", "+1 #2", {2}),
        (FILE, "f g", "+1 #1; drop free()", {1, 3}),
    ],
)
def test_what_a_row_means(lists, file, functions, text, numbers):
    found = lists({file: {f"{functions} unread": text}})
    assert set(found) == numbers and {e.kind for e in found.values()} == {"same"}


def test_a_guard_names_its_tests(lists):
    causes = {"guarded": {"checked": {"reason": "the driver checks it", "tests": ["core.queues", "kernel"]}}}
    found = lists({FILE: {"f checked": "any"}}, causes)
    assert found[1] == catalogue.Equivalent("guarded", "the driver checks it (tested by core.queues, kernel)")


@pytest.mark.parametrize(
    "row, words",
    [
        ({"f unread": "drop"}, r"rows\.yaml: provider/a\.c: f unread: no mutant is 'drop'"),
        ({"f unread": "+1; -1"}, "f unread: no mutant is '-1'"),
        ({"f unread": "+1 1 #3"}, "no mutant is '[+]1 1 #3'"),
        ({"f x unread": "any"}, "f x unread: no function x has mutants"),
        ({"f unknown": "any"}, r"causes\.yaml does not declare 'unknown'"),
        ({"f unread": "magic"}, r"provider/a\.c: f unread: 'magic' does not begin"),
        ({"unread": "any"}, r"rows\.yaml: provider/a\.c: 'unread' does not match"),
    ],
)
def test_a_wrong_row_is_named(lists, row, words):
    with pytest.raises(catalogue.CatalogueError, match=words):
        lists({FILE: row})


@pytest.mark.parametrize(
    "causes, words",
    [
        ({"same": {**SAME["same"], "more": "something else"}}, "no row has the cause 'more'"),
        ({**SAME, "memory": {"unread": "something else"}}, "unread is declared twice"),
        ({"boring": SAME["same"]}, "'boring' was unexpected"),
        ({"guarded": {"unread": {"reason": "x is never read"}}}, "'tests' is a required property"),
        ({"same": {"unread": "it is"}}, "same/unread: 'it is' is too short"),
    ],
)
def test_a_wrong_cause_is_named(lists, causes, words):
    with pytest.raises(catalogue.CatalogueError, match=words):
        lists({FILE: {"f unread": "any"}}, causes)


LISTS = sorted(p for p in catalogue.EQUIVALENT.glob("*.yaml") if p.name != catalogue.CAUSES)


@cache
def sources(file):
    """The text of a file, or of all whose names fit."""
    tops = ("provider", "sim")
    paths = [p for top in tops for p in (REPO / top).rglob("*.c")] if "*" in file else [REPO / file]
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def unknown(row, text):
    """What a row of a file names and its text does not have."""
    words = {word for pattern in row.patterns for _, word, _ in pattern.conditions}
    missing = [f for f in row.functions if "*" not in f and not re.search(rf"\b{f}\(", text)]
    there = set(NAME.findall(text))
    return missing + sorted(w for w in words if "*" not in w and w.removesuffix("()") not in there)


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.name)
def test_the_lists_name_what_the_sources_have(path):
    """Without a build with mutants: a renamed function or field is noticed by each commit."""
    rows = list(catalogue.rows_of(path))
    keys = [line for line in path.read_text(encoding="utf-8").splitlines() if re.match(r"  \S.*?: ", line)]
    assert len(rows) == len(keys), "a row occurs twice, or is not on a line of its own"
    wrong = [f"{row}: {word}" for row in rows for word in unknown(row, sources(row.file))]
    assert not wrong, "\n".join(wrong)


def test_every_cause_of_the_lists_is_declared_and_used():
    used = {row.cause for path in LISTS for row in catalogue.rows_of(path)}
    assert used == set(catalogue.causes_of(catalogue.EQUIVALENT))


def test_a_renamed_function_is_noticed(tmp_path):
    path = tmp_path / "rows.yaml"
    path.write_text(f"{FILE}:\n  gone unread: drop there()\n", encoding="utf-8")
    (row,) = catalogue.rows_of(path)
    assert unknown(row, "static int f(void)\n{\n\tthere();\n}\n") == ["gone"]
    assert unknown(row, "static int gone(void)\n{\n\telsewhere();\n}\n") == ["there()"]
