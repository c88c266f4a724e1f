# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""spec/wr.yaml as the suite reads it: rows, flags, setters and the sentences they come from.

This is the suite's own path from the pages to its expectations. It does not use the rules that the
generator derives from the same file for the provider and the device.
"""
from dataclasses import dataclass, replace
from pathlib import Path


from hcasim_conform import yaml_text
from hcasim_conform.model.cells import LEVELS

SPEC = Path(__file__).resolve().parents[3] / "spec" / "wr.yaml"
PREFIX = "ibv_wr_"


@dataclass(frozen=True)
class Operation:
    name: str
    builder: str | None  # None: only through ibv_post_send()
    wr: tuple
    post: tuple
    setters: tuple  # DATA, QP: as the table lists them
    data: str  # required, optional, none
    length: int | None
    inline: bool
    srqn: bool
    memory: str  # what happens to it: enum effect of runner/cell/cell.h
    wc: str
    recv: str | None
    recv_flags: tuple
    clause: str
    effect_clause: str
    post_clause: str
    errata: tuple
    wqe_op: str  # of the model's native device, whose host link may be recorded

    @property
    def short(self):
        return self.builder.removeprefix(PREFIX) if self.builder else self.name.lower()

    @property
    def apis(self):
        return ("wr", "post") if self.builder else ("post",)

    def types(self, api):
        return self.wr if api == "wr" else self.post


@dataclass(frozen=True)
class Flag:
    name: str
    apis: tuple
    qp_types: tuple
    ops: tuple
    clause: str
    post_clause: str

    def in_scope(self, op, qpt):
        return op.name in self.ops and qpt in self.qp_types


@dataclass(frozen=True)
class Call:
    name: str
    qp_types: tuple
    clause: str
    clauses: tuple


class Tables:
    """The whole file. Unknown keys are ignored: spec/ has the schema of the file."""

    def __init__(self, path=SPEC):
        with open(path, encoding="utf-8") as f:
            doc = yaml_text.load(f)
        self.sentences = {}  # clause id -> text of the page
        self.errata = {e["id"]: e for e in doc["errata"]}
        self.clause_errata = {}  # clause id -> ids of errata
        self.untested = {}  # clause id -> why no cell can test it
        self.qp_types = tuple(doc["qp_types"])
        self.operations = [self._operation(row) for row in doc["operations"]]
        names = tuple(op.name for op in self.operations)
        self.flags = [self._flag(row, names) for row in doc["flags"]]
        self.setters = {row["name"]: self._sentence(row) for row in doc["setters"]}
        self.calls = {row["name"]: self._call(row) for row in doc["calls"]}
        for row in doc["rules"]:
            self._say(row["id"], row["quote"], row)

    def _say(self, clause, quote, row=None):
        self.sentences[clause] = quote
        if row and row.get("errata"):
            self.clause_errata[clause] = tuple(row["errata"])
        if row and "untested" in row:
            self.untested[clause] = row["untested"]

    def _sentence(self, row):
        self._say(row["clause"], row["quote"], row)
        return row["clause"]

    def _operation(self, row):
        clause = row["clause"]
        self._say(clause, row["quote"])
        recv = row.get("recv") or {}
        effect_clause = row.get("effect_clause", clause)
        post_clause = row.get("post_clause", "ibv_post_send/DESCRIPTION/table")
        if "effect" in row:
            self._say(effect_clause, row["effect"])
        post = ", ".join(f"IBV_QPT_{t}" for t in row["post"]) or "none"
        self._say(post_clause, f"table of opcodes: IBV_WR_{row['name']}: {post}")
        return Operation(
            name=row["name"],
            builder=row.get("builder"),
            wr=tuple(row["wr"]),
            post=tuple(row["post"]),
            setters=tuple(row["setters"]),
            data=row["data"],
            length=row.get("length"),
            inline=row["inline"],
            srqn=row["srqn"],
            memory=row["memory"],
            wc=row["wc"],
            recv=recv.get("opcode"),
            recv_flags=tuple(recv.get("flags", ())),
            clause=clause,
            effect_clause=effect_clause,
            post_clause=post_clause,
            errata=tuple(row.get("errata", ())),
            wqe_op=row["wqe_op"],
        )

    def _flag(self, row, all_ops):
        self._sentence(row)
        self._say(row["post_clause"], row["post_quote"], row)
        return Flag(
            name=row["name"],
            apis=tuple(row["api"]),
            qp_types=self.qp_types if row["qp_types"] == "all" else tuple(row["qp_types"]),
            ops=all_ops if row["ops"] == "all" else tuple(row["ops"]),
            clause=row["clause"],
            post_clause=row["post_clause"],
        )

    def _call(self, row):
        clauses = tuple(self._say(c["id"], c["quote"], c) or c["id"] for c in row["clauses"])
        return Call(row["name"], tuple(row["qp_types"]), self._sentence(row), clauses)

    def graded(self, expect):
        """The expectation at the level that its errata leave to it: what rests on a decision alone is no MUST."""
        levels = [expect.level, *(self.errata[e]["level"] for e in expect.errata)]
        level = max(levels, key=LEVELS.index)
        return expect if level == expect.level else replace(expect, level=level)

    def operation(self, name):
        return next(op for op in self.operations if op.name == name)

    def flag(self, name):
        return next(flag for flag in self.flags if flag.name == name)
