# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Selection of cells: the covering set, -k, shards; the number of others, and the reasons."""
from collections import Counter
from itertools import chain, combinations

import pytest

from hcasim_conform import cli
from hcasim_conform.select import selection
from hcasim_conform.model.cells import defined as is_run
from hcasim_conform.select.covering import base
from hcasim_conform.select.explain import explain
from hcasim_conform.select.selection import EXHAUSTIVE, SelectionError, Selector

# Some of the operations: with and without data, receives and setters; the whole product would take too long.
SOME = ("send_imm", "rdma_read", "bind_mw", "send_tso", "atomic_write")


@pytest.fixture(scope="module")
def selector(enumerator):
    return Selector(enumerator, seed=0)


def pairs(cell):
    """The pairs of values of a cell, and how it must end; from the cell, not from the numbers of covering.py."""
    values = (cell.qpt, cell.data.id, cell.qp_setter, cell.flags, cell.region.id)
    ends = (cell.expect.create, cell.expect.post)
    return {(ends, *pair) for pair in combinations(enumerate(values), 2)}


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("api", ["wr", "post"])
@pytest.mark.parametrize("short", SOME)
def test_every_pair_is_covered(enumerator, chosen, api, short, seed):
    blocks = [b for key, b in enumerator.blocks.items() if key[:2] == (api, short)]
    exist = set().union(*(pairs(b.cell(where)) for b in blocks for where in b.defined()))
    mine = [c for c in chosen(seed) if getattr(c, "block", None) in blocks]
    assert set().union(*map(pairs, mine)) == exist
    assert len(mine) < sum(1 for b in blocks for _ in b.defined()) or len(exist) < 20


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("api", ["wr", "post"])
@pytest.mark.parametrize("short", SOME)
def test_every_chosen_cell_covers_something_alone(enumerator, chosen, api, short, seed):
    blocks = [b for key, b in enumerator.blocks.items() if key[:2] == (api, short)]
    always = {b.id_of(where) for b in blocks for where in base(b)}
    mine = [c for c in chosen(seed) if getattr(c, "block", None) in blocks]
    items = {c.id: {*pairs(c), (c.block, c.expect)} for c in mine}
    times = Counter(chain.from_iterable(items.values()))
    assert not [i for i in items if i not in always and all(times[item] > 1 for item in items[i])]


@pytest.mark.parametrize("seed", [0, 7])
def test_whatever_the_pages_demand_of_a_row_runs(enumerator, chosen, seed):
    """All MUSTs, and SHOULDs: each sentence, way to end, place of bad_wr, event and erratum of each row and QP type."""
    mine = {}
    for cell in chosen(seed):
        mine.setdefault(getattr(cell, "block", None), set()).add(cell.expect)
    for block in enumerator.blocks.values():
        assert {expect for _, expect in block.judged()} == mine.get(block, set()), block.head


def test_every_value_of_an_axis_stands_alone_on_every_qp_type(enumerator, chosen):
    """Each requirement is tested alone, where nothing else can hide a fault."""
    ids = {c.id for c in chosen(0)}
    for block in enumerator.blocks.values():
        for axis, size in enumerate(block.shape):
            for value in range(size):
                where = block.plain[:axis] + (value,) + block.plain[axis + 1 :]
                assert block.id_of(where) in ids or not is_run(block.cell(where))


def test_the_extra_cells_always_run(enumerator, chosen):
    ids = {c.id for c in chosen(3)}
    assert {c.id for c in enumerator.extra.values() if is_run(c)} <= ids


def test_a_seed_chooses_and_does_so_again(enumerator, tables, chosen):
    from hcasim_conform.select.covering import covering
    from hcasim_conform.select.enumeration import Enumerator

    first = [c.id for c in chosen(0)]
    assert [c.id for c in covering(Enumerator(tables), 0)] == first
    assert len(set(first)) == len(first)
    assert set(first) != {c.id for c in chosen(7)}


def test_nothing_undefined_is_chosen(chosen):
    assert all(is_run(c) for c in chosen(0))


def test_exhaustive_is_every_defined_cell(enumerator, defined):
    whole = Selector(enumerator, EXHAUSTIVE).select()
    assert [c.id for c in whole.cells] == [c.id for c in defined]
    assert all(reason.startswith("UNDEFINED") for reason in whole.left_out)


@pytest.mark.parametrize("expression", [None, "post/rdma_write/ and not fence", "wr/send/rc/sge/-/signaled"])
@pytest.mark.parametrize("shard", [None, (2, 3)])
@pytest.mark.parametrize("mode", [selection.COVERING, EXHAUSTIVE])
def test_counts_add_up(enumerator, selector, mode, expression, shard):
    it = selector if mode == selector.mode else Selector(enumerator, mode)
    counts = it.select(expression, shard).counts({})
    assert counts["run"] + sum(counts["left_out"].values()) == counts["exist"] == enumerator.size()
    assert ("in other shards" in counts["left_out"]) == bool(shard)
    if (
        mode == selection.COVERING and not expression and not shard
    ):  # number of each level, and the reasons for the others
        for level in ("MUST", "MUST-BY-ERRATUM", "SHOULD"):
            run = sum(c.expect.level == level for c in it.of_mode())
            spared = counts["left_out"][selection.spared(level, it.seed)]
            assert run + spared == sum(c.expect.level == level for c in enumerator.defined())


def test_skipped_cells_are_counted(selector):
    whole = selector.select("wr/send/rc/sge/-/signaled or wr/flush/rc/none/-/signaled")
    counts = whole.counts({"wr/flush/rc/none/-/signaled": "no FLUSH"})
    assert (counts["run"], counts["left_out"]["no FLUSH"]) == (1, 1)
    assert counts["run"] + sum(counts["left_out"].values()) == counts["exist"]


@pytest.mark.parametrize("parts", [1, 7])
def test_shards_are_disjoint_and_complete(selector, parts):
    whole = [c.id for c in selector.select().cells]
    shards = [[c.id for c in selector.select(shard=(k, parts)).cells] for k in range(1, parts + 1)]
    assert sorted(i for shard in shards for i in shard) == sorted(whole)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert shards[0] == [c.id for c in selector.select(shard=(1, parts)).cells]


def test_ids_run_in_any_case(selector):
    rare = next(c for c in selector.enumerator.defined() if c.id not in {x.id for x in selector.of_mode()})
    both = selector.select(f"{rare.id} or wr/send/rc/sge/-/signaled")
    assert [c.id for c in both.cells] == [rare.id, "wr/send/rc/sge/-/signaled"]


def test_k_is_that_of_pytest(selector):
    ids = [c.id for c in selector.select("wr/RDMA_write/rc and (fence or abort) and not solicited").cells]
    assert ids and all(i.startswith("wr/rdma_write/rc/") and "solicited" not in i for i in ids)
    assert all("fence" in i or "abort" in i for i in ids)


@pytest.mark.parametrize(
    "expression, words",
    [
        ("((", "-k '(('"),
        ("wr/send/rc/sge/-/signaled/unasked", "UNDEFINED, never run: a builder"),
        ("wr/sennd/rc/sge/-/signaled", "near it: wr/send/rc/sge/-/signaled"),
        ("teleport", "selects no cell"),
    ],
)
def test_a_selection_that_cannot_be(selector, expression, words):
    with pytest.raises(SelectionError) as error:
        selector.select(expression)
    assert words in str(error.value)


def test_what_only_an_exhaustive_run_has(selector):
    chosen = {c.id for c in selector.of_mode()}
    head = next(c.id for c in selector.enumerator.defined() if c.id not in chosen and c.variant == "threads")
    with pytest.raises(SelectionError, match="with --exhaustive it selects 1"):
        selector.select(f"{head} and not teleport")


@pytest.mark.parametrize("text", ["3/2", "0/2", "2", "/", "a/b", "1/0", "-1/2", "1/2/3"])
def test_a_shard_that_is_none(text):
    with pytest.raises(SelectionError, match="--shard '" + text):
        selection.shard_of(text)


def test_shard_of():
    assert selection.shard_of("2/5") == (2, 5)


@pytest.mark.parametrize(
    "args, words",
    [
        (["--repeat", "0"], "'0' is not a number from 1"),
        (["--repeat", "x"], "'x' is not a number from 1"),
        (["--seed", "-4"], "--seed"),
        (["--jobs", "0"], "'0' is not a number from 1"),
    ],
)
def test_a_bad_number_is_named(capsys, args, words):
    with pytest.raises(SystemExit) as end:
        cli.main(None, args)
    assert end.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong, right",
    [
        ("wr/rdma_wirte/rc/sge/-/signaled", "wr/rdma_write/rc/sge/-/signaled"),
        ("post/rdma_read/rc/sge_lst-3/-/signaled", "post/rdma_read/rc/sge_list-3/-/signaled"),
        ("wr/send/ud/sge/ud_adr/signaled", "wr/send/ud/sge/ud_addr/signaled"),
        ("wr/send/rc/sge/-/signaled/abrot", "wr/send/rc/sge/-/signaled/abort"),
    ],
)
def test_near_ids(enumerator, wrong, right):
    near = selection.near(enumerator, wrong)
    assert right in near and len(near) <= 5
    assert all(enumerator.find(i) for i in near)


# -- --explain


def said(tables, selector, cell_id, **more):
    lines = explain(tables, selector, cell_id, **more)
    return {line.split()[0]: line for line in lines}, "\n".join(lines)


def test_explain_says_all(tables, selector):
    parts, text = said(tables, selector, "wr/rdma_write_imm/uc/sge_list-3/-/solicited+signaled")
    assert {"cell", "level", "operation", "sentence", "posted", "expected", "runs"} <= set(parts)
    assert "generate a completion event" in text and "[1250, 1, 1249] bytes" in text
    assert "a solicited event" in parts["expected"]


@pytest.mark.parametrize(
    "cell_id, words",
    [
        ("wr/send/rc/sge/-/signaled", "always"),
        ("wr/send/rc/sge/-/signaled/threads", "always"),
        ("wr/send/rc/sge/-/signaled/unasked", "UNDEFINED, never run"),
    ],
)
def test_explain_says_whether_it_runs(tables, selector, cell_id, words):
    assert words in said(tables, selector, cell_id)[0]["runs"]


def test_explain_knows_what_the_seed_chose(tables, selector):
    chosen = {c.id for c in selector.of_mode()}
    always = {b.id_of(w) for b in selector.enumerator.blocks.values() for w in base(b)}
    by_seed = next(c.id for c in selector.of_mode() if hasattr(c, "block") and c.id not in always)
    rare = next(c.id for c in selector.enumerator.defined() if c.id not in chosen)
    assert "yes: the covering set of seed 0" in said(tables, selector, by_seed)[0]["runs"]
    assert "with --exhaustive; not in the covering set" in said(tables, selector, rare)[0]["runs"]


def test_explain_every_kind_of_cell(tables, selector):
    """Every kind of posting has a description."""
    for cell in [c for c in selector.of_mode()[::199]] + list(selector.enumerator.extra.values())[::17]:
        assert "expected" in said(tables, selector, cell.id)[0]


def test_explain_what_the_device_lacks(tables, selector):
    parts, _ = said(tables, selector, "wr/send/rc/sge/-/signaled", lacks=lambda cell: "no SEND here")
    assert "no SEND here" in parts["skipped"]


def test_explain_of_nothing(capsys):
    assert cli.main(None, ["--explain", "wr/rdma_wirte/rc/sge/-/signaled"]) == 2
    assert "near it: wr/rdma_write/rc/sge/-/signaled" in capsys.readouterr().err
