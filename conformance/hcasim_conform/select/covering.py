# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The covering set: the cells of a run that is not exhaustive.

Base cells have at most one coordinate off its plain value: each row of the tables, each setter, each flag
set, each limit and each region on its own, on every QP type. They always run. The rest is chosen by a
seed, such that for every operation of every API

- each verdict of a QP type (the sentence, its level, how a cell ends, bad_wr, event, errata) that belongs
  to a defined cell belongs to a chosen one: every requirement of the pages on a row is tested at least once;
- each pair of values of two axes (QP type, data setter, QP setter, flags, region) that occurs in a defined
  cell occurs in a chosen one, for each way in which such a cell may have to end, so that a refusal does
  not count for an executed request;
- each chosen cell is the only one with some verdict or pair.
"""
import multiprocessing
import os
import random
from collections import Counter

from hcasim_conform.model.cells import defined

# A cell is chosen if it has at least this many new pairs; the threshold is lowered step by step.
TAKE = (5, 3, 2, 1)
END = {"ok": 0, "refused": 1, "any": 2, "error": 3, "none": 4}  # how a cell ends; none: there is no QP
SHIFT = 12


def base(block):
    """The places of a block with at most one coordinate off its plain value that are defined."""
    seen = dict.fromkeys([block.plain])
    for axis, size in enumerate(block.shape):
        for value in range(size):
            seen[block.plain[:axis] + (value,) + block.plain[axis + 1 :]] = None
    return [where for where in seen if block.expect(where).level != "UNDEFINED"]


def plain(enumerator):
    """The cells of every run, independent of the seed: base cells and extra cells."""
    cells = [block.cell(where) for block in enumerator.blocks.values() for where in base(block)]
    return cells + [c for c in enumerator.extra.values() if defined(c)]


class Numbers:
    """Assigns numbers to the values of all axes: QP type, data setter, QP setter, flags, region."""

    def __init__(self):
        self.known = {}

    def of(self, axis, names):
        return [self.known.setdefault((axis, name), len(self.known)) for name in names]


def verdicts(block):
    """A function that numbers the verdicts of Expects; equal verdicts have the same number."""
    known, by_id = {}, {}

    def number(expect):
        # by id(): the block keeps them alive, and hashing 250,000 of them is slow
        found = by_id.get(id(expect))
        if found is None:
            found = by_id[id(expect)] = known.setdefault(expect, len(known))
        return found

    return number


def held(block, numbers):
    """(place, items to cover) of each defined cell: its pairs, which include how the cell must end, and its verdict."""
    (qpt,) = numbers.of(0, [block.qpt])
    verdict = verdicts(block)
    datas, setters = numbers.of(1, block.data_ids), numbers.of(2, block.setter_ids)
    flags, around = numbers.of(3, block.flags), numbers.of(4, block.regions)
    qpt <<= SHIFT
    for where, expect in block.judged():
        d, s, f, _, r = where
        end = END[expect.post if expect.create == "ok" else "none"] << (2 * SHIFT)
        d, s, f, r = datas[d], setters[s], flags[f], around[r]
        # pairs of each axis with each later one
        high_q, high_d, high_s, high_f = end | qpt, end | d << SHIFT, end | s << SHIFT, end | f << SHIFT
        pairs = (
            high_q | d, high_q | s, high_q | f, high_q | r,
            high_d | s, high_d | f, high_d | r,
            high_s | f, high_s | r,
            high_f | r,
            (block, verdict(expect)),
        )  # fmt: skip
        yield where, pairs


def needed(taken):
    """Without the cells of which others cover everything as well."""
    times = Counter(item for _, _, items in taken for item in items)
    kept = []
    for block, where, items in taken:
        if any(times[item] == 1 for item in items):
            kept.append((block, where))
        else:
            times.subtract(items)
    return kept


def pairwise(blocks, chance):
    """Places of these blocks that cover all their verdicts and pairs beyond those of the base cells, each some of them alone."""
    numbers, always_covered = Numbers(), set()
    left = []
    for block in blocks:
        always = set(base(block))
        for where, pairs in held(block, numbers):
            if where in always:
                always_covered.update(pairs)
            else:
                left.append((block, where, pairs))
    chance.shuffle(left)
    covered, taken = set(always_covered), []
    for least in TAKE:
        rest = []
        for cell in left:
            new = [p for p in cell[2] if p not in covered]
            if len(new) >= least:
                covered.update(new)
                taken.append((*cell[:2], set(cell[2]) - always_covered))
            elif new:
                rest.append(cell)
        left = rest
    return needed(taken)


class Chooser:
    """Chooses places for the blocks of one operation after the other, in one of several processes."""

    blocks, seed = {}, 0

    @classmethod
    def prepare(cls, blocks, seed):
        cls.blocks, cls.seed = blocks, seed

    @classmethod
    def choose(cls, keys):
        """For each block: the places that the seed chose, and its number of cells of each level."""
        blocks = [cls.blocks[key] for key in keys]
        chance = random.Random(f"{cls.seed}/{blocks[0].api}/{blocks[0].op.name}")
        places = {block: [] for block in blocks}
        for block, where in pairwise(blocks, chance):
            places[block].append(where)
        return [(key, sorted(places[block]), block.levels) for key, block in zip(keys, blocks)]


def covering(enumerator, seed):
    """All cells of the covering set, in the order of the tables."""
    groups = {}
    for key in enumerator.blocks:
        groups.setdefault(key[:2], []).append(key)
    jobs = min(len(os.sched_getaffinity(0)), len(groups))
    # fork: the processes have the blocks already, only places are copied
    with multiprocessing.get_context("fork").Pool(jobs, Chooser.prepare, (enumerator.blocks, seed)) as pool:
        chosen = [found for group in pool.imap(Chooser.choose, groups.values()) for found in group]
    cells = []
    for key, places, levels in chosen:
        block = enumerator.blocks[key]
        block.levels = levels  # counted where the places were chosen
        cells += [block.cell(where) for where in base(block) + places]
    return cells + [c for c in enumerator.extra.values() if defined(c)]
