# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which cells run, how many do not, and why."""
import difflib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from _pytest.mark.expression import Expression, ParseError

from hcasim_conform.model import addresses
from hcasim_conform.model.cells import defined, ids_of
from hcasim_conform.select.covering import covering
from hcasim_conform.report.results import OTHER_SHARDS

COVERING, EXHAUSTIVE = "covering", "exhaustive"
NOT_TESTED = "do not test the requirements of the command line"
NOT_NAMED = "not named by -k"


class SelectionError(Exception):
    """An invalid or empty selection; the message says how to correct it."""


@dataclass
class Selection:
    mode: str
    seed: int
    cells: list
    exist: int
    left_out: dict  # reason to number

    def counts(self, skipped=()):
        """skipped: id to reason, of cells that the device cannot run."""
        left_out = dict(self.left_out)
        for reason in dict(skipped).values():
            left_out[reason] = left_out.get(reason, 0) + 1
        return {"exist": self.exist, "run": len(self.cells) - len(skipped), "left_out": left_out}


def spared(level, seed):
    """Why a defined cell does not run: other cells of the run cover it (covering.py)."""
    return (
        f"{level}, not in the covering set of seed {seed}: what the pages demand of such a cell, and each pair "
        "of its values, runs in other cells"
    )


def never(reason):
    return f"UNDEFINED, never run: {reason}"


def matcher(expression):
    """pytest's -k on one name: (id) -> bool."""
    try:
        compiled = Expression.compile(expression)
    except ParseError as error:
        raise SelectionError(f"-k {expression!r}: {error}") from error
    return lambda cell_id: compiled.evaluate(lambda word: word.lower() in cell_id)


def named(enumerator, expression):
    """The cells of an expression that consists of ids (ID, or ID or ID); else an empty list."""
    cells = [enumerator.find(part.strip()) for part in expression.split(" or ")]
    if not all(cells):
        return []
    for cell in cells:
        if not defined(cell):
            raise SelectionError(f"{cell.id} is {never(cell.expect.why)}")
    return list({c.id: c for c in cells}.values())


def near(enumerator, cell_id, number=5):
    """Similar ids, for an error message."""
    found = []
    parts = cell_id.split("/")
    api = difflib.get_close_matches(parts[0], ("wr", "post"), 1, 0.4) or ["wr"]
    blocks = ["/".join(key) for key in enumerator.blocks if key[0] == api[0]]
    for head in difflib.get_close_matches("/".join([api[0], *parts[1:3]]), blocks, 2):
        block = enumerator.blocks[tuple(head.split("/"))]
        axes = (
            block.data_ids,
            block.setter_ids,
            block.flag_ids,
            sorted(t for tails in block.tails for t in tails),
        )
        given = [*parts[3:6], "/".join(parts[6:])] + [""] * 4
        tail = [
            (difflib.get_close_matches(g, names, 1, 0.3) or [names[p]])[0] if g not in names else g
            for g, names, p in zip(given, axes, (*block.plain[:3], 0))
        ]
        found.append("/".join([head, *tail]).rstrip("/"))
    found += difflib.get_close_matches(cell_id, enumerator.extra, number)
    found = [i for i in dict.fromkeys(found) if enumerator.find(i)]
    return sorted(found, key=lambda i: -difflib.SequenceMatcher(None, i, cell_id).ratio())[:number]


def shard_of(text):
    """(k, n) of 'k/n'."""
    k, slash, n = text.partition("/")
    if not (slash and k.isdecimal() and n.isdecimal()):
        raise SelectionError(f"--shard {text!r}: must be K/N, as 2/5")
    if not 1 <= int(k) <= int(n):
        raise SelectionError(
            f"--shard {text!r}: there is no part {int(k)} of {int(n)}; the parts are 1 to {int(n)}"
        )
    return int(k), int(n)


def clauses_at(given):
    """The clauses of some addresses of requirements."""
    found = set()
    for address in given:
        clauses = addresses.clauses_of(address)
        if not clauses:
            close = difflib.get_close_matches(address, set(addresses.load().values()), 3, 0.4)
            near_it = f"; near it: {', '.join(close)}" if close else ""
            raise SelectionError(
                f"'{address}' is no requirement, section or page, as wr/3.2, wr/3, wr/{near_it}"
            )
        found |= clauses
    return found


class Selector:
    def __init__(self, enumerator, mode=COVERING, seed=0, requirements=()):
        self.enumerator = enumerator
        self.clauses = clauses_at(requirements)
        self.mode = mode
        self.seed = seed

    @lru_cache(maxsize=None)
    def of_mode(self):
        if self.mode == EXHAUSTIVE:
            return list(self.enumerator.defined())
        return covering(self.enumerator, self.seed)

    def _empty(self, expression):
        matches = matcher(expression)
        others = sum(matches(c.id) for c in self.enumerator.defined()) if self.mode == COVERING else 0
        said = f"-k {expression!r} selects no cell"
        if others:
            return f"{said} of the covering set; with --exhaustive it selects {others}"
        close = (
            near(self.enumerator, expression) if expression.count("/") > 1 and " " not in expression else []
        )
        return f"{said}; near it: {', '.join(close)}" if close else said

    def _choose(self, expression, left_out, defined):
        """The cells of mode and expression."""
        exact = named(self.enumerator, expression) if expression else []
        # A list of ids may be longer than an expression that can be parsed.
        matches = matcher(expression) if expression and not exact else None
        if exact:
            left_out[NOT_NAMED] = defined - len(exact)
            return exact
        cells = self.of_mode()
        if self.mode == COVERING:
            run = Counter(c.expect.level for c in cells)
            for level, number in self.enumerator.levels().items():
                left_out[spared(level, self.seed)] = number - run[level]
        if not matches:
            return cells
        chosen = [c for c in cells if any(map(matches, ids_of(c)))]
        if not chosen:
            raise SelectionError(self._empty(expression))
        left_out["not matched by -k"] = len(cells) - len(chosen)
        return chosen

    def select(self, expression=None, shard=None):
        exist = self.enumerator.size()
        undefined = self.enumerator.undefined()
        left_out = {never(why): number for why, number in undefined.items()}
        cells = self._choose(expression, left_out, exist - sum(undefined.values()))
        if self.clauses:
            tests = [c for c in cells if self.clauses & {c.expect.clause, *c.expect.also}]
            if not tests:
                raise SelectionError("no selected cell tests these requirements")
            left_out[NOT_TESTED] = len(cells) - len(tests)
            cells = tests
        if shard:
            k, n = shard
            mine = cells[k - 1 :: n]
            left_out[OTHER_SHARDS] = len(cells) - len(mine)
            cells = mine
        left_out = {reason: number for reason, number in left_out.items() if number}
        return Selection(self.mode, self.seed, cells, exist, left_out)
