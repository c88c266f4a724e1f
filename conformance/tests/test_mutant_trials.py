# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Generated mutants: the cells that are run for each, the output, the ratchet."""
import json
import os
from pathlib import Path

import pytest

from hcasim_conform.model.tables import Tables
from hcasim_conform.mutants.generated import catalogue, command, kept, machine, page, score, trial
from hcasim_conform.mutants.generated.machine import MachineError
from hcasim_conform.mutants.generated.reach import Stepped, holds, packed, reach
from hcasim_conform.run import dut as duts

SEND, INLINE, WRITE = (
    "wr/send/rc/sge/-/signaled",
    "wr/send/rc/inline-1/-/signaled",
    "wr/rdma_write/rc/sge/-/signaled",
)
# the fake device: which cells reach a mutant, and which of them it makes red
REACHED = {SEND: {"4096": 0, "4097": 1}, INLINE: {"4096": 1}, WRITE: {"4098": 0}}


def mutant(number, **more):
    row = {"file": "provider/a.c", "function": "f", "line": 3, "text": "x = 1;", "operator": "constant"}
    return catalogue.Mutant(**{**row, "number": number, "change": f"1 -> {number}", **more})


MUTANTS = [mutant(number) for number in (4096, 4097, 4098, 4099)]


@pytest.fixture
def device(write_dut, fake_bin, monkeypatch):
    """(path of its DUT file, folder of programs)."""
    monkeypatch.setenv("FAKE_MUTANTS", json.dumps(REACHED))
    return write_dut(env={"HCASIM_RUNTIME": "there"}), fake_bin


@pytest.fixture
def reached(device, by_id):
    return reach(duts.load(str(device[0])), device[1], [by_id[i] for i in REACHED], MUTANTS, 2)


def test_what_cells_reach(reached):
    found = {m.number: {cell.id for cell in reached.cells(m.number)} for m in MUTANTS}
    assert found == {4096: {SEND, INLINE}, 4097: {SEND}, 4098: {WRITE}, 4099: set()}
    assert not reached.red and set(reached.cost) == set(REACHED)


def test_what_is_reached_before_the_first_cell_may_show_in_all(reached):
    assert reached.others(4098) == []
    reached.always = 1 << 2 | 1 << 3
    assert {cell.id for cell in reached.others(4098)} == {SEND, INLINE}
    assert len(reached.cells(4099)) == 3 and reached.others(4099) == []


def test_the_device_is_asked_for_what_it_reported_at_its_start(reached):
    reached.asked, reached.started = packed(bytes((0, 1, 0, 0))), packed(bytes((1, 0, 0, 0)))
    assert [reached.when_asked(m.number) for m in MUTANTS] == [True, True, False, False]


WRITE_CALL = "1"  # number of write(2), x86-64


def wait_until_blocked(process):
    """Until it can do nothing more: it is in write(2), whose pipe is full, or has ended."""
    call = Path(f"/proc/{process.proc.pid}/syscall")
    while process.proc.poll() is None and call.read_text(encoding="ascii").split()[0] != WRITE_CALL:
        os.sched_yield()


def test_the_first_cell_begins_when_what_came_before_has_been_read(device, by_id, monkeypatch):
    """However far the runner gets before the driver reads what it has reached."""
    written = Stepped.written

    def first_is_slow(process, seconds):
        written(process, seconds)
        monkeypatch.setattr(Stepped, "written", written)
        wait_until_blocked(process)

    monkeypatch.setattr(Stepped, "written", first_is_slow)
    found = reach(duts.load(str(device[0])), device[1], [by_id[i] for i in REACHED], MUTANTS, 1)
    assert {cell.id for cell in found.cells(4097)} == {SEND}


def test_what_is_red_without_a_mutant_is_told_and_not_used(device, by_id, monkeypatch):
    monkeypatch.setenv("FAKE_FAIL", SEND)
    found = reach(duts.load(str(device[0])), device[1], [by_id[i] for i in REACHED], MUTANTS, 1)
    assert found.red == [(SEND, "byte 3 <is> wrong")]
    assert {cell.id for cell in found.cells(4096)} == {INLINE}


def test_a_cell_for_which_probes_are_too_slow_is_run_without_them(device, by_id, monkeypatch):
    monkeypatch.setenv("FAKE_FAIL_PROBED", SEND)
    found = reach(duts.load(str(device[0])), device[1], [by_id[i] for i in REACHED], MUTANTS, 1)
    assert not found.red and {cell.id for cell in found.cells(4096)} == {SEND, INLINE}


def test_a_runner_that_dies_costs_its_cell(device, by_id, monkeypatch):
    monkeypatch.setenv("FAKE_CRASH", INLINE)
    found = reach(duts.load(str(device[0])), device[1], [by_id[i] for i in REACHED], MUTANTS, 1)
    assert [cell for cell, _ in found.red] == [INLINE] and set(found.cost) == {SEND, WRITE}


@pytest.fixture
def judge(device, reached, tmp_path):
    made = trial.Trial(str(device[0]), device[1], Tables(), tmp_path, reached, trial.Catchers())
    yield made
    made.end()


def test_verdicts(judge):
    verdicts = {m.number: judge.judge(m) for m in MUTANTS}
    assert {n: v.outcome for n, v in verdicts.items()} == {
        4096: "caught",
        4097: "caught",
        4098: "survived",
        4099: "unreached",
    }
    assert (verdicts[4096].cell, verdicts[4097].cell) == (INLINE, SEND)
    assert verdicts[4097].fault == "byte 3 <is> wrong" and verdicts[4099].run == 0


@pytest.mark.parametrize(
    "cells, outcome",
    [
        ([SEND, SEND], "caught"),
        ([SEND, WRITE, SEND], "caught"),
        ([SEND, None], "survived"),
        ([SEND, WRITE, INLINE], "survived"),
    ],
)
def test_a_listed_one_is_caught_by_the_same_cell_twice(judge, monkeypatch, cells, outcome):
    trials = iter(cells)

    def once(of):
        cell = next(trials)
        return trial.Verdict(of, "caught" if cell else "survived", cell or "")

    monkeypatch.setattr(judge, "judge", once)
    assert judge.twice(MUTANTS[0]).outcome == outcome and not list(trials)


def test_the_end_of_its_time_is_no_catch(judge, by_id, monkeypatch):
    """The runner is killed before its next cell, which would say the same of any mutant."""
    cells = [by_id[i] for i in (SEND, INLINE, WRITE)]
    monkeypatch.setattr(judge.reached, "cells", lambda number: cells)
    late = iter([False])
    monkeypatch.setattr(judge, "_late", lambda: next(late, True))
    verdict = judge.judge(mutant(4098))
    assert (verdict.outcome, verdict.run, verdict.fault) == ("survived", 1, "")


def test_a_device_with_a_mutant_starts_again(judge):
    judge.judge(mutant(4098))
    machine = judge.machine
    assert machine.alive()  # the provider's mutant was only in the runner
    judge.judge(mutant(4098, file="sim/core/a.c"))
    assert not machine.alive() and judge.machine is None


def test_a_machine_that_never_starts_is_no_verdict(judge, monkeypatch):
    monkeypatch.setattr(machine, "START", 0.5)
    judge.dut.env = {}
    with pytest.raises(MachineError, match="did not start"):
        judge.judge(MUTANTS[0])


def test_the_order_of_cells(by_id):
    cells = [by_id[i] for i in (SEND, INLINE, WRITE, "suite/order/rc/mixed")]
    cost = {cells[0].id: 9, cells[1].id: 1, cells[2].id: 5, cells[3].id: 3}
    found = [cell.id for cell in trial.order(cells, [cells[2]], 9, cost)]
    assert found[0] == WRITE  # it caught another one
    assert set(found) == {cell.id for cell in cells} and len(found) == 4
    first = trial.order(cells, [], 3, cost)
    assert {trial.kind(cell) for cell in first} == {trial.kind(cell) for cell in cells}
    assert [cost[cell.id] for cell in first] == sorted(cost[cell.id] for cell in first)


def test_bits():
    seen = bytes([0, 1] * 9 + [1])
    assert [holds(packed(seen), place) for place in range(len(seen))] == list(seen)


def test_those_not_caught_are_chosen_again(tmp_path):
    verdicts = [trial.Verdict(MUTANTS[0], "caught"), trial.Verdict(MUTANTS[1], "survived")]
    path = tmp_path / "generated-mutants.json"
    path.write_text(json.dumps({"verdicts": [v.record() for v in verdicts]}), encoding="utf-8")
    args = command.parser(None).parse_args(["--generated", "--again", str(path)])
    assert command.select(MUTANTS[:2], args, {}) == [MUTANTS[1]]
    args = command.parser(None).parse_args(["--generated", "provider/a.c:g"])
    with pytest.raises(catalogue.CatalogueError, match="no mutant is chosen"):
        command.select(MUTANTS, args, {})


@pytest.mark.parametrize(
    "caught, more, fails", [(0, "", 0), (1, "", 1), (2, "--sample=40", 0), (3, "--sample=40", 1)]
)
def test_a_listed_one_must_not_be_caught(capsys, caught, more, fails):
    """Of a sample one in 20 may be."""
    args = command.parser(None).parse_args(["--generated", "--listed", *more.split()])
    verdicts = [trial.Verdict(MUTANTS[1], "caught" if n < caught else "survived", SEND) for n in range(40)]
    assert len(command.complaints(args, {}, verdicts, MUTANTS, {})) == fails
    said = f"listed as equivalent, but caught by {SEND}: #4097 provider/a.c:"
    assert capsys.readouterr().out.count(said) == caught


def test_listed_ones_are_chosen():
    args = command.parser(None).parse_args(["--generated", "--listed"])
    assert command.select(MUTANTS, args, {4097: None}) == [MUTANTS[1]]


def test_the_kinds_are_told():
    verdicts = [trial.Verdict(MUTANTS[0], "equivalent", kind=k) for k in ("same", "unruled", "unruled")]
    said = score.tell_kinds(score.kinds(verdicts), 6, 8)
    assert said == "not counted: 1 same, 2 unruled; with all but 'same' counted: 6 of 10, 60.0 %"


def test_a_build_without_mutants_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HCASIM_BUILD", str(tmp_path))
    assert command.main(None, ["--generated", "--list"]) == 2
    assert "was not built with -DHCASIM_GENERATED_MUTANTS=ON" in capsys.readouterr().err


POPULATION = {"provider": 3500, "sim/core": 12000, "sim/devices": 3500}
ALL_KNOWN = {part: (int(0.8 * n), n) for part, n in POPULATION.items()}


def test_the_ratchet_of_a_sample():
    def said(caught, known):
        return score.complaints({"provider": (caught, 100), "sim/core": (0, 0)}, known, POPULATION)

    assert said(67, ALL_KNOWN) == [] and said(100, ALL_KNOWN) == []
    assert len(said(66, ALL_KNOWN)) == 1
    few = {part: (80, 100) for part in POPULATION}  # from a sample: only its lower bound counts
    assert said(60, few) == [] and len(said(50, few)) == 1


def test_the_ratchet_of_all():
    assert score.complaints(ALL_KNOWN, ALL_KNOWN, POPULATION) == []
    worse = {**ALL_KNOWN, "provider": (2700, 3500)}
    (said,) = score.complaints(worse, ALL_KNOWN, POPULATION)
    assert said.startswith("provider: 2700 of 3500 caught, it was 2800 of 3500")


def test_a_sample_follows_from_its_seed():
    numbers = [mutant(n) for n in range(1000)]
    first, again, other = (score.sample(numbers, 100, seed) for seed in ("a", "a", "b"))
    assert first == again != other and len({m.number for m in first}) == 100


def test_the_score_file(tmp_path):
    path = tmp_path / "score.yaml"
    path.write_text("# why\nparts: {}\n", encoding="utf-8")
    score.write(ALL_KNOWN, path)
    assert score.load(path) == ALL_KNOWN and path.read_text(encoding="utf-8").startswith("# why\n")
    assert set(score.load()) == set(catalogue.PARTS)


def test_the_page(tmp_path):
    verdicts = [
        trial.Verdict(MUTANTS[0], "caught", SEND, "byte 3"),
        trial.Verdict(MUTANTS[1], "survived", run=7),
        trial.Verdict(
            mutant(5, change="a < b -> a <= b"), "equivalent", kind="same", reason="nobody reads it"
        ),
    ]
    page.write(tmp_path / "mutants.html", verdicts, "1 of 2")
    text = (tmp_path / "mutants.html").read_text(encoding="utf-8")
    assert "50.0 % <b>provider/a.c</b>: 1 of 2" in text and "<code>3  x = 1;</code>" in text
    assert "survived, constant (#4097): <code>1 -&gt; 4097</code>, 7 cells green" in text
    assert "a &lt; b -&gt; a &lt;= b</code>: nobody reads it" in text and "4096" not in text


def test_survivors_are_listed(tmp_path):
    args = command.parser(None).parse_args(["--generated", "--out", str(tmp_path)])
    outcomes = ("caught", "survived", "unreached", "equivalent")
    verdicts = [trial.Verdict(m, outcome, reach=7) for m, outcome in zip(MUTANTS, outcomes)]
    command.report(args, verdicts, [], 0, 1)
    assert (tmp_path / command.SURVIVORS).read_text(encoding="utf-8").splitlines() == [
        "survived  #4097 provider/a.c:3 f() constant: 1 -> 4097, 7 cells reach it",
        "unreached #4098 provider/a.c:3 f() constant: 1 -> 4098, 7 cells reach it",
    ]


def test_what_cells_reach_is_kept(device, by_id, reached, tmp_path):
    path, cells = tmp_path / "reached.json", [by_id[i] for i in REACHED]
    kept.save(path, "a key", reached)
    again = kept.load(path, "a key", MUTANTS, cells)
    for found in (again, reached):
        found.lock = None
        found.classes = {bits: [cell.id for cell in cells] for bits, cells in found.classes.items()}
    assert vars(again) == vars(reached)
    assert kept.load(path, "another", MUTANTS, cells) is None
    dut = duts.load(str(device[0]))
    key = kept.key_of(tmp_path, dut, cells)
    assert key == kept.key_of(tmp_path, dut, cells) != kept.key_of(tmp_path, dut, cells[1:])
    (tmp_path / "bin" / "device").write_text("another build", encoding="utf-8")
    assert kept.key_of(tmp_path, dut, cells) != key
