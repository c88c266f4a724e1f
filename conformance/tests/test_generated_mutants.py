# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Generated mutants: each operator on a small program, which is right without a mutant and wrong with each."""
import os
import resource
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import REPO
from hcasim_conform.mutants.generated.catalogue import CatalogueError
from hcasim_conform.mutants.generated.identical import File
from hcasim_conform.mutants.generated.machine import SWITCH as MAP_VARIABLE
from hcasim_conform.mutants.generated.machine import TRIES, Map
from hcasim_conform.mutants.generator import generate
from hcasim_conform.mutants.generator.source import SourceError

SWITCH = REPO / "conformance" / "mutants" / "generated"
BASE = 4096
HEAD = """
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
enum color { RED, GREEN, BLUE };
struct box { unsigned int x, y; const char *name; unsigned int z : 4, t : 4; };
#define LIMIT 7
#define TWICE(v) ((v) * 2)
static int log_of[8];
static int calls;
static void note(int v) { log_of[calls++ & 7] = v; }
static int join(int a, int b) { return a * 10 + b; }
"""
TAIL = """
int main(int argc, char **argv)
{
	for (int a = -2; a < 10; a++)
		for (int b = -2; b < 10; b++) {
			calls = 0;
			printf("%d ", all[argc > 1 ? strtol(argv[1], NULL, 10) : 0](a, b));
			for (int i = 0; i < calls && i < 8; i++)
				printf("(%d) ", log_of[i]);
		}
	return 0;
}
"""


def bounded():
    """Limits the processor time, since a mutant may loop for ever."""
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))


class Planted:
    """A program of some functions; the first argument selects one."""

    def __init__(self, folder, *functions):
        self.folder = folder
        self.source = folder / "sample.c"
        names = ", ".join(f"f{i}" for i in range(len(functions)))
        bodies = "".join(text.replace("int f(", f"int f{i}(") for i, text in enumerate(functions))
        table = f"static int (*const all[])(int, int) = {{{names}}};\n"
        self.source.write_text(HEAD + bodies + table + TAIL, encoding="utf-8")
        self.copy = folder / "copy.c"
        self.compiler = ["cc", "-std=gnu11", f"-I{SWITCH}"]
        generate.main(
            [
                str(self.source),
                "--name",
                "sample.c",
                "--base",
                str(BASE),
                "--out",
                str(self.copy),
                "--",
                *self.compiler,
            ]
        )
        data = generate.json.loads(self.copy.with_suffix(".c.json").read_text(encoding="utf-8"))
        self.left_out = data["left_out"]
        self.all = data["mutants"]
        self.mutants = self.of(0)

    def of(self, index):
        return [m for m in self.all if m["function"] == f"f{index}"]

    def build(self):
        program = self.folder / "program"
        subprocess.run([*self.compiler, "-w", "-o", program, self.copy, SWITCH / "switch.c"], check=True)
        self.plain = self.folder / "plain"
        subprocess.run([*self.compiler, "-w", "-o", self.plain, self.source], check=True)
        self.right = self.output(self.plain)
        return program

    def reached(self, program):
        """The numbers that a run without a mutant records."""
        switch = Map()
        switch.record(TRIES)
        env = {**os.environ, MAP_VARIABLE: switch.path}
        subprocess.run([program], stdout=subprocess.DEVNULL, env=env, check=True)
        seen = switch.take([(0, BASE + 4096)])
        switch.close()
        return {m["number"] for m in self.mutants if seen[m["number"]]}

    @staticmethod
    def output(program, number="", index=0):
        env = {**os.environ, "HCASIM_MUTANT": str(number)}
        run = subprocess.run(
            [program, str(index)], capture_output=True, env=env, preexec_fn=bounded, check=False
        )
        return run.returncode, run.stdout


@pytest.fixture
def planted(tmp_path):
    return lambda *functions: Planted(tmp_path, *functions)


def function(text):
    return f"static int f(int a, int b)\n{{\n{text}\n}}\n"


SAMPLES = {
    "relational": [
        ("return a < b;", ["a < b -> a <= b", "a < b -> a != b", "a < b -> 0"]),
        ("return a >= b;", ["a >= b -> a > b", "a >= b -> a == b", "a >= b -> 1"]),
        ("return a == b;", ["a == b -> a <= b", "a == b -> a >= b", "a == b -> 0"]),
        ("unsigned int u = b; return u > 0;", ["u > 0 -> u >= 0"]),
        ("enum color c = a & 1; return c == BLUE - 1;", ["c == BLUE - 1 -> c != BLUE - 1"]),
        ('const char *p = a < b ? "x" : 0; return p == NULL;', ["p == NULL -> p != NULL"]),
    ],
    "arithmetic": [
        ("return a + b;", ["a + b -> a - b"]),
        ("return a & b;", ["a & b -> a | b"]),
        ("int c = a; c += b; return c;", ["c += b -> c -= b"]),
        ("int c = a; c++; return c;", ["c++ -> c--"]),
        ("return ~a;", ["~a -> a"]),
    ],
    "logical": [("return a && b;", ["a && b -> a || b", "a && b -> a", "a && b -> b"])],
    "constant": [
        ("return 3;", ["3 -> 3 + 1", "3 -> 3 - 1"]),
        ("return LIMIT;", ["LIMIT -> LIMIT + 1", "LIMIT -> LIMIT - 1"]),
        ("enum color c = GREEN; return c;", ["GREEN -> GREEN + 1", "GREEN -> GREEN - 1"]),
        ("bool c = true; return c;", ["true -> !true"]),
        ("return a < 4;", ["4 -> 4 - 1"]),  # a < 4 + 1 is a <= 4
        ("return TWICE(5);", ["5 -> 5 + 1", "5 -> 5 - 1"]),
    ],
    "condition": [
        ("if (a) note(b); return 0;", ["a -> !(a)"]),
        ("return b ? a : -a;", ["b -> !(b)"]),
        ("while (a & 3) a++; return a;", ["a & 3 -> !(a & 3)"]),
    ],
    "statement": [
        ("note(a); return b;", ["note(a) -> dropped"]),
        ("if (a)\n\t\tb = 9;\n\telse\n\t\tb = 8;\n\treturn b;", ["b = 9 -> dropped", "b = 8 -> dropped"]),
        ("if (a > b) return a; return b;", ["return a -> dropped"]),
        ("switch (a) {\n\tcase 1: b = 5; break;\n\tdefault: b = 6;\n\t} return b;", ["break -> dropped"]),
    ],
    "argument": [("return join(a, b);", ["join(a, b) -> join(b, a)"])],
    "field": [
        ("struct box s = {a, b}; return s.x;", ["s.x -> s.y"]),
        ("struct box s = {a, b}, *p = &s; p->y = 77; return s.x + 3 * s.y;", ["p->y -> p->x"]),
    ],
}
CASES = [(operator, *sample) for operator, samples in SAMPLES.items() for sample in samples]


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    found = Planted(tmp_path_factory.mktemp("samples"), *(function(body) for _, body, _ in CASES))
    assert found.left_out == 0
    return found, found.build()


@pytest.mark.parametrize("index", range(len(CASES)), ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_an_operator(samples, index):
    found, program = samples
    operator, _, changes = CASES[index]
    right = found.output(found.plain, index=index)
    assert found.output(program, index=index) == right
    there = {m["change"]: m["number"] for m in found.of(index) if m["operator"] == operator}
    assert set(changes) <= set(there), there
    for change in changes:
        assert found.output(program, there[change], index) != right, change


ALL = function(
    """
	struct box s = {.x = a + 1, .y = b};
	int sum = 0;

	for (int i = 0; i < LIMIT && (i != b || !a); i++) {
		if (i == 3)
			continue;
		if (!s.x && s.y > (unsigned int)i)
			break;
		sum += join(i, TWICE(sum & 15)); // 1, 2
	}
	do {
		sum--; /* down */
	} while (sum > 1000);
	note(sum ? s.x : s.y);
	return sum < 0 ? -1 : sum;"""
)


def test_all_at_once(planted):
    """Nested mutants, each selected by number: all but a few make a difference, and none is active unselected."""
    found = planted(ALL)
    program = found.build()
    assert found.output(program) == found.right
    numbers = [m["number"] for m in found.mutants]
    assert len(set(numbers)) == len(numbers) > 50
    same = [m["change"] for m in found.mutants if found.output(program, m["number"]) == found.right]
    assert len(same) < len(numbers) / 4, same


def test_lines_stay(planted):
    """Errors and debuggers must name the line of the source."""
    found = planted(ALL)
    text = found.source.read_text(encoding="utf-8").splitlines()
    for mutant in found.mutants:
        assert text[mutant["line"] - 1].strip() == mutant["text"]
    copy = found.copy.read_text(encoding="utf-8").splitlines()
    assert len(copy) == len(text) + 2  # the header, #line


def test_what_a_mutant_is_part_of(planted):
    found = planted(
        function(
            """
	struct box all[2] = {{.x = a, .y = 3}};

	switch (a) {
	case LIMIT:
	default:
		note(4);
		break;
	case 5:
		b++;
	}
	if (a < b)
		while (b-- > 6)
			note(7);
	for (;;)
		return 8 + b;
"""
        )
    )
    around = {m["change"]: (m["statement"], m["under"]) for m in found.mutants}
    assert around["3 -> 3 + 1"] == (".y = 3", "")
    assert around["4 -> 4 + 1"] == ("note(4)", "default")
    assert around["b++ -> b--"] == ("b++", "5")
    assert around["a < b -> a <= b"] == ("a < b", "")
    assert around["6 -> 6 + 1"] == ("b-- > 6", "a < b")
    assert around["note(7) -> dropped"] == ("note(7)", "b-- > 6")
    assert around["8 -> 8 + 1"] == ("return 8 + b", "default")


CONSTANT = function(
    """
	static const int table[LIMIT - 4] = {1, 2, 3};
	char room[LIMIT + 1];
	enum { FEW = 3 };
	_Static_assert(sizeof(room) == 8, "room");

	switch (a) {
	case LIMIT - 1:
		return FEW;
	case BLUE:
		return sizeof(int) * 2 + table[1];
	}
	room[0] = b;
	return room[0];"""
)


def test_where_c_wants_a_constant_nothing_is_planted(planted):
    found = planted(CONSTANT)
    assert found.left_out == 0
    assert found.output(found.build()) == found.right
    changes = [m["change"] for m in found.mutants]
    assert not [c for c in changes if "LIMIT" in c or c.startswith("BLUE") or "int +" in c], changes


def test_what_does_not_compile_is_left_out_and_counted(planted):
    found = planted(function("int t[4] = {[2] = a};\n\treturn t[2] + b;"))
    assert found.left_out > 0
    assert found.output(found.build()) == found.right
    assert "t[2] + b -> t[2] - b" in [m["change"] for m in found.mutants]


def test_a_wrong_source_is_named(planted):
    with pytest.raises(SystemExit, match="sample.c: .*undeclared"):
        planted(function("return nowhere;"))


def test_a_wrong_number_is_named(planted):
    program = planted(ALL).build()
    for text in ("x", "9999999", "-1"):
        run = subprocess.run([program], capture_output=True, env={"HCASIM_MUTANT": text}, check=False)
        assert run.returncode == 2 and f"HCASIM_MUTANT is '{text}'".encode() in run.stderr


def test_source_error():
    with pytest.raises(SourceError, match="/nowhere.c: No such file"):
        generate.Source("/nowhere.c", [])


PROBED = function(
    """
	struct box boxes[2] = {{1, 2}, {3, 4}}, *p = a < 0 ? NULL : &boxes[a & 1];
	unsigned int part = 5;

	if (p && p->x > 1 && p->y != 2)
		part = p->x * 2 + p->y / (p->x - 2);
	if (!p || p->y == p->x + 1)
		part = part;
	boxes[0].x = boxes[b & 1].y;
	note(part & LIMIT);
	return part ? boxes[0].x : 9 % (b + 3);"""
)


CHOSEN = function(
    """
	struct node { struct node *next; } first = {NULL}, *last = a < 0 ? &first : NULL, *list = last;

	*(list ? &last->next : &list) = &first;
	*(a > b ? &a : &b) = 3;
	return join(join(a, b), !!list + 2 * !!first.next);"""
)


def test_what_is_recorded(planted):
    """A mutant that makes a difference is always recorded; many that make none are not, and none crashes the program.

    In CHOSEN an assignment changes which place its left side names."""
    for text in (ALL, CHOSEN, PROBED):
        found = planted(text)
        program = found.build()
        reached = found.reached(program)
        differ = {m["number"] for m in found.mutants if found.output(program, m["number"]) != found.right}
        assert differ <= reached
        assert "MUTANT_PROBE" in found.copy.read_text(encoding="utf-8")
    same = [m for m in found.mutants if m["text"] == "part = part;" and m["operator"] == "statement"]
    assert same and same[0]["number"] not in reached


def test_the_compiler_finds_equivalent_ones(planted):
    found = planted(
        function("unsigned char low = a;\n\tint sum = 0;\n\tsum = a + b;\n\treturn low < 256 ? sum : a;")
    )
    file = File(found.copy, found.compiler, found.folder)
    with ThreadPoolExecutor(2) as pool:
        same = file.compare([m["number"] for m in found.all], pool)
        again = File(found.copy, found.compiler, found.folder)
        assert again.known and again.compare([m["number"] for m in found.all], pool) == same
    changes = {m["change"] for m in found.all if m["number"] in same}
    assert {"low < 256 -> 1", "low < 256 -> low <= 256"} & changes and "a + b -> a - b" not in changes
    assert "identical object code: cc" in file.reason


def test_a_copy_without_the_switch_is_named(tmp_path):
    (tmp_path / "a.c").write_text("int x;\n", encoding="utf-8")
    with pytest.raises(CatalogueError, match="a.c: is not made for"):
        File(tmp_path / "a.c", ["cc"], tmp_path)
