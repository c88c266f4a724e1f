# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The covering set: what runs when not every defined cell does.

Base cells have at most one coordinate off its plain value: each row of the tables, each setter, each flag
set, each limit and each region on its own, on every QP type. They always run. The rest is chosen by a
seed: cells such that, for every operation of every API, each pair of values of two axes (QP type, data
setter, QP setter, flags, region) that occurs in a defined cell occurs in a chosen one, and does so for
each way such a cell may have to end, so that a refusal does not stand in for an executed request.
"""
import random
from itertools import combinations

AXES = 5  # QP type, data setter, QP setter, flags, region
# A cell is taken if it brings at least so many new pairs; from the most to what is left.
TAKE = (5, 3, 2, 1)
ENDS = ("ok", "refused", "any", "error")


def base(block):
    """The places of a block with at most one coordinate off its plain value that are defined."""
    seen = dict.fromkeys([block.plain])
    for axis, size in enumerate(block.shape):
        for value in range(size):
            seen[block.plain[:axis] + (value,) + block.plain[axis + 1 :]] = None
    return [where for where in seen if block.expect(where).level != "UNDEFINED"]


class Pairs:
    """Numbers the pairs of values that a cell holds."""

    def __init__(self):
        self.values = {}

    def value(self, axis, name):
        return self.values.setdefault((axis, name), len(self.values))

    def of(self, qpt, block, where):
        """The pairs of one cell, each a number that also says how the cell must end."""
        d, s, f, _, r = where
        names = (qpt, block.data_ids[d], block.setter_ids[s], f, r)
        values = [self.value(axis, name) for axis, name in enumerate(names)]
        expect = block.expect(where)
        end = ENDS.index(expect.post) if expect.create == "ok" else len(ENDS)
        return [(end << 24) | (a << 12) | b for a, b in combinations(values, 2)]


def pairwise(blocks, chance):
    """Places of these blocks that cover all their pairs beyond those of the base cells."""
    pairs, covered = Pairs(), set()
    left = []
    for block in blocks:
        always = set(base(block))
        for where in block.defined():
            held = pairs.of(block.qpt, block, where)
            if where in always:
                covered.update(held)
            else:
                left.append((block, where, held))
    chance.shuffle(left)
    taken = []
    for least in TAKE:
        rest = []
        for cell in left:
            new = [p for p in cell[2] if p not in covered]
            if len(new) >= least:
                covered.update(new)
                taken.append(cell[:2])
            elif new:
                rest.append(cell)
        left = rest
    return taken


def covering(enumerator, seed):
    """All cells of the covering set, in the order of the tables; and the ids of those that the seed chose."""
    groups = {}
    for block in enumerator.blocks.values():
        groups.setdefault((block.api, block.op.name), []).append(block)
    chosen = {}  # block -> places
    for (api, op), blocks in groups.items():
        for block, where in pairwise(blocks, random.Random(f"{seed}/{api}/{op}")):
            chosen.setdefault(block, []).append(where)
    cells = []
    for block in enumerator.blocks.values():
        cells += [block.cell(where) for where in base(block) + sorted(chosen.get(block, ()))]
    return cells + [c for c in enumerator.beside.values() if c.defined]
