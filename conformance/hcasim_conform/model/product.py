# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The product of the axes: one block of cells for each API, operation and QP type.

The product has about a million cells. A block has its axes; a cell of it is six small numbers until its requests
or expectations are needed.
"""
from collections import Counter
from dataclasses import replace
from functools import cached_property

from hcasim_conform.model import expect as ex
from hcasim_conform.model.also import of_request
from hcasim_conform.model.axes import ALONE, FLAG_SETS, SIGNALED, TOO_MANY, UNASKED
from hcasim_conform.model.axes import asked_for, data_kinds, mandatory_setter, plain_data, qp_setters, regions
from hcasim_conform.model.cells import Batch, Posted
from hcasim_conform.model.requests import plain_send, work


class ProductCell(Posted):
    """A cell of the product: its block, and the number of its value on each axis of the block."""

    __slots__ = ("block", "where")

    def __init__(self, block, where):
        self.block = block
        self.where = where  # data, setter, flags, asked, region

    api = property(lambda self: self.block.api)
    op = property(lambda self: self.block.op.name)
    short = property(lambda self: self.block.op.short)
    qpt = property(lambda self: self.block.qpt)
    data = property(lambda self: self.block.datas[self.where[0]])
    qp_setter = property(lambda self: self.block.setters[self.where[1]])
    flags = property(lambda self: self.block.flags[self.where[2]])
    asked = property(lambda self: self.block.asked[self.where[3]])
    region = property(lambda self: self.block.regions[self.where[4]])
    expect = property(lambda self: self.block.expect(self.where))
    index = property(lambda self: self.region.before)
    abort = property(lambda self: self.region.abort)

    @property
    def id(self):
        return self.block.id_of(self.where)

    @property
    def variant(self):
        return self.block.tails[self.where[3]][self.where[4]]

    @property
    def ask(self):
        return self.block.ask(self.asked)

    @property
    def wrs(self):
        own = work(self.block.op, self.data, self.qp_setter, self.flags)
        region = self.region
        if not region.before and not region.behind:
            return (own,)
        send = self.block.send
        return (send,) * region.before + (own,) + (send,) * region.behind

    @property
    def before(self):
        if self.region.after_failed:
            return self.block.failing
        return self.block.other if self.region.interleaved else None

    @property
    def behind(self):
        return self.block.other if self.region.interleaved else None

    @property
    def rival(self):
        return self.block.rival if self.region.threads else None


class Block:
    """The cells of one API, operation and QP type."""

    def __init__(self, tables, api, op, qpt):
        self.tables, self.api, self.op, self.qpt = tables, api, op, qpt
        self.legal = qpt in op.types(api)
        self.right = mandatory_setter(op, qpt)
        self._axes()
        self._names()
        self.send = plain_send(tables, qpt)
        self.failing = Batch(api, (plain_send(tables, qpt, TOO_MANY),), "refused")
        self.other = Batch("post" if api == "wr" else "wr", (self.send,))
        self.rival = Batch(api, (self.send,) * 3)
        self._base = {}  # (data, setter, flags) -> Expect
        self._same = {}  # Expect -> the instance used for all equal ones
        self._also = {}  # place -> Expect
        self._placed = {}  # (Expect, region) -> Expect
        self._not_asked = ex.not_asked()
        self._faults = None

    def _axes(self):
        """A QP whose creation is refused has no further axes, nor has a builder outside the table."""
        alone = self.api == "wr" and not self.legal
        plain = plain_data(self.op, self.qpt)
        self.datas = [plain] if alone else data_kinds(self.api, self.op, self.qpt)
        self.setters = (self.right,) if alone else qp_setters(self.api, self.op, self.qpt)
        self.flags = [SIGNALED] if alone else FLAG_SETS
        self.asked = (True, False) if self.api == "wr" else (True,)
        self.regions = (ALONE,) if alone else regions(self.api)
        self.plain = (
            next(i for i, d in enumerate(self.datas) if d == plain),
            self.setters.index(self.right),
            self.flags.index(SIGNALED),
            0,
            0,
        )

    def _names(self):
        """Names of the values of each axis in ids."""
        self.head = f"{self.api}/{self.op.short}/{self.qpt.lower()}"
        self.data_ids = [d.id for d in self.datas]
        self.setter_ids = ["-" if s == "none" else s for s in self.setters]
        self.flag_ids = ["+".join(f).lower() or "-" for f in self.flags]
        self.tails = [
            ["/".join(filter(None, ("" if asked else UNASKED, r.id))) for r in self.regions]
            for asked in self.asked
        ]

    def id_of(self, where):
        d, s, f, a, r = where
        tail = self.tails[a][r]
        head = f"{self.head}/{self.data_ids[d]}/{self.setter_ids[s]}/{self.flag_ids[f]}"
        return f"{head}/{tail}" if tail else head

    @property
    def shape(self):
        return len(self.datas), len(self.setters), len(self.flags), len(self.asked), len(self.regions)

    @property
    def size(self):
        d, s, f, a, r = self.shape
        return d * s * f * a * r

    def ask(self, asked):
        """send_ops_flags of the QP. SEND is for the other requests of the cell."""
        if not asked:
            if self.op.name != "SEND":
                return ("SEND",)
            return ("TSO",) if self.qpt == "RAW_PACKET" else ("SEND_WITH_IMM",)
        if self.api == "wr" and not self.legal:
            return (self.op.name,)
        return asked_for(self.op, self.qpt) if self.legal else ("SEND",)

    # -- expectations ------------------------------------------------------------------------

    def _axis_faults(self):
        """Faults of the values of each axis; the fault of a request is the worst of them."""
        t, api, op, qpt = self.tables, self.api, self.op, self.qpt
        datas = [
            ex.worst((ex.data_fault(t, api, op, d), ex.length_fault(op, api, qpt, d))) for d in self.datas
        ]
        setters = [ex.setter_fault(op, qpt, s) if api == "wr" else None for s in self.setters]
        flags = [ex.flag_fault(t, api, op, qpt, f) for f in self.flags]
        return datas, setters, flags

    def base(self, d, s, f):
        """The expectation for the request alone and requested in send_ops_flags."""
        known = self._base.get((d, s, f))
        if known:
            return known
        if not self.legal:
            found = self.tables.graded(ex.not_in_table(self.api, self.op))
        else:
            self._faults = self._faults or self._axis_faults()
            datas, setters, flags = self._faults
            # the order of expect.derive(): of equal faults the first counts
            found = ex.worst((setters[s], datas[d], flags[f]))
            found = found or ex.legal(self.tables, self.api, self.op, self.qpt, self.datas[d], self.flags[f])
            found = self.tables.graded(found)
        found = self._same.setdefault(found, found)  # few differ, each is used in all regions
        self._base[d, s, f] = found
        return found

    def expect(self, where):
        d, s, f, a, r = where
        if not self.asked[a]:
            return self._not_asked
        base = self.base(d, s, f)
        if not r:
            return self._alone(base, where) if base.post == base.create == "ok" else base
        return self._in_region(base, r)

    def _in_region(self, base, r):
        key = (id(base), r)
        if key not in self._placed:
            self._placed[key] = self.tables.graded(ex.in_region(base, self.api, self.regions[r]))
        return self._placed[key]

    def _alone(self, base, where):
        """The expectation for a legal request alone, with the further sentences that it tests."""
        if where not in self._also:
            d, _, f, _, _ = where
            plain = d == self.plain[0]
            flags = self.flags[f]
            also = of_request(self.tables, self.api, self.op, self.qpt, self.datas[d], flags, plain)
            self._also[where] = replace(base, also=also) if also else base
        return self._also[where]

    # -- cells -------------------------------------------------------------------------------

    def cell(self, where):
        return ProductCell(self, where)

    def places(self):
        """Every cell, as its place on the axes."""
        datas, setters, flags, asked, around = (range(n) for n in self.shape)
        for d in datas:
            for s in setters:
                for f in flags:
                    for a in asked:
                        for r in around:
                            yield d, s, f, a, r

    def judged(self):
        """The places of all cells that can be run, each with its expected result."""
        datas, setters, flags, _, around = (range(n) for n in self.shape)
        for d in datas:
            for s in setters:
                for f in flags:
                    if self.base(d, s, f).level == "UNDEFINED":
                        continue
                    for r in around:
                        expect = self.expect((d, s, f, 0, r))
                        if expect.level != "UNDEFINED":
                            yield (d, s, f, 0, r), expect

    def defined(self):
        """The places of all defined cells."""
        return (where for where, _ in self.judged())

    @cached_property
    def levels(self):
        """The number of defined cells of each level."""
        return Counter(expect.level for _, expect in self.judged())

    def undefined(self):
        """Reason -> number of cells that are never run."""
        found = Counter()
        datas, setters, flags, asked, around = (range(n) for n in self.shape)
        if len(asked) > 1:
            found[self._not_asked.why] = self.size // 2
        requests = [self.base(d, s, f) for d in datas for s in setters for f in flags]
        number = Counter(map(id, requests))  # few differ
        for base in {id(base): base for base in requests}.values():
            if base.level == "UNDEFINED":
                found[base.why] += number[id(base)] * len(around)
                continue
            for r in around[1:]:
                placed = self._in_region(base, r)
                if placed.level == "UNDEFINED":
                    found[placed.why] += number[id(base)]
        return found
