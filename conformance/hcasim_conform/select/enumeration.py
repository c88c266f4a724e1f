# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""All cells: the product of the axes, and the extra cells."""
from collections import Counter

from hcasim_conform.model.axes import FLAGS
from hcasim_conform.model.cells import defined
from hcasim_conform.model.product import Block
from hcasim_conform.select.extra import Extra


class Enumerator:
    """All cells: the blocks of the product, and the extra cells."""

    def __init__(self, tables, extra=None):
        self.tables = tables
        self.blocks = {}
        for api in ("wr", "post"):
            for op in (op for op in tables.operations if api in op.apis):
                for qpt in tables.qp_types:
                    self.blocks[api, op.short, qpt.lower()] = Block(tables, api, op, qpt)
        self.extra = {c.id: c for c in (Extra(tables).cells() if extra is None else extra)}
        self.renamed = {c.was: c.id for c in self.extra.values() if c.was}

    def find(self, cell_id):
        """The cell of an id, or None."""
        if cell_id in self.extra or cell_id in self.renamed:
            return self.extra[self.renamed.get(cell_id, cell_id)]
        parts = cell_id.split("/")
        block = self.blocks.get(tuple(parts[:3]))
        if not block or not 6 <= len(parts) <= 8:
            return None
        flags = "+".join(sorted(parts[5].split("+"), key=_flag_order))
        tail = "/".join(parts[6:])
        try:
            d, s, f = (
                block.data_ids.index(parts[3]),
                block.setter_ids.index(parts[4]),
                block.flag_ids.index(flags),
            )
            a = next(i for i, tails in enumerate(block.tails) if tail in tails)
        except (ValueError, StopIteration):
            return None
        return block.cell((d, s, f, a, block.tails[a].index(tail)))

    def size(self):
        return sum(block.size for block in self.blocks.values()) + len(self.extra)

    def undefined(self):
        """Why cells are never run: reason to number."""
        found = sum((block.undefined() for block in self.blocks.values()), Counter())
        found.update(c.expect.why for c in self.extra.values() if not defined(c))
        return found

    def levels(self):
        """Number of defined cells for each level."""
        found = sum((block.levels for block in self.blocks.values()), Counter())
        found.update(c.expect.level for c in self.extra.values() if defined(c))
        return found

    def cells(self):
        """Every cell, one after the other."""
        for block in self.blocks.values():
            for where in block.places():
                yield block.cell(where)
        yield from self.extra.values()

    def defined(self):
        """Every defined cell."""
        for block in self.blocks.values():
            for where in block.defined():
                yield block.cell(where)
        yield from filter(defined, self.extra.values())


def _flag_order(name):
    return FLAGS.index(name.upper()) if name.upper() in FLAGS else len(FLAGS)
