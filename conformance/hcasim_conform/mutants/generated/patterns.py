# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Patterns that describe mutants by operators and names, so that they outlive changes of other code.

A pattern is ACTIONS [NAME ...] [!NAME ...] [@NAME ...] [!@NAME ...] [#N]: what is planted, names that the changed
expression has and has not, names that its statement or the condition above it has and has not, and which of several
alike in a function, from 1. Names may be shell patterns (HCASIM_VENDOR_ERR_*); `free()` is a called function. Actions are separated by commas:

- the new operator: `<`, `>=`, `-`, `&&`, ...; `0` or `1` for a comparison that always has this result;
- `+1`, `-1` of a constant, `not` of a condition or truth value, `none` for a unary operator that is taken away;
- `without`: an operand of `&&` or `||` is taken away; the names are those of this operand;
- `drop` of a statement, `swap` of two arguments, `field`: the next one of its struct;
- an operator of the generator, as `relational` or `constant`: all of its actions; `any`: all.
"""
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

OPERATORS = ("relational", "arithmetic", "logical", "constant", "condition", "statement", "argument", "field")
WORDS = {"condition": "not", "statement": "drop", "argument": "swap", "field": "field"}
TOKEN = re.compile(
    r'"(?:\\.|[^"])*"|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+|\d+|->|<<=|>>=|<<|>>|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|\S'
)
STRING = re.compile(r'"(?:\\.|[^"])*"')
NAME = re.compile(r"(?<!\w)(?:[A-Za-z_]\w*|\d+)")
ACTIONS = re.compile(
    r"(?:[<>]=?|[=!]=|[01]|[+-]1|(?:\+\+|--|<<|>>|[-+*/%&|^])=?|&&|\|\||none|not|without|drop|swap|any"
    r"|relational|arithmetic|logical|constant|condition|statement|argument|field)"
)
CALL = re.compile(r"(?<![\w.>])[A-Za-z_]\w*\(")
CONDITION = re.compile(r"(?P<no>!?)(?P<around>@?)(?P<name>[\w*?]+(?:\(\))?)")


def names(text):
    """Names and numbers; those of functions that are called also as `name()`."""
    text = STRING.sub('""', text)
    return {*NAME.findall(text), *(f"{call})" for call in CALL.findall(text))}


def tokens(text):
    return TOKEN.findall(text)


def arguments(call):
    """(name and the rest before the arguments, arguments) of a call."""
    head, _, rest = call.partition("(")
    parts, depth, part = [], 0, ""
    for token in tokens(rest):
        depth += (token in "([{") - (token in ")]}")
        if token == "," and not depth:
            parts, part = [*parts, part], ""
        else:
            part += f" {token}"
    return head, [*parts, part]


def dropped(old, new):
    """The operand of && or || that is not in `new`."""
    return old[len(new) :] if old.startswith(new) else old[: len(old) - len(new)]


def replaced(old, new):
    """The token that is another one in `new`; "none" if it is only taken away."""
    a, b = tokens(old), tokens(new)
    return next((y for x, y in zip(a, b) if x != y), "none") if len(a) == len(b) else "none"


def looks(operator, change):
    """(action, names) of a mutant."""
    old, _, new = change.partition(" -> ")
    if operator == "relational":
        return new if new in "01" else replaced(old, new), names(old)
    if operator == "arithmetic":
        return replaced(old, new), names(old)
    if operator == "logical":
        if len(new) < len(old) - 2:
            return "without", names(dropped(old, new))
        return replaced(old, new), names(old)
    if operator == "constant":
        return ("not" if new.startswith("!") else new[-3] + "1"), names(old)
    if operator == "argument":
        (head, before), (_, after) = arguments(old), arguments(new)
        return "swap", names(f"{head}(").union(*(names(a) for a, b in zip(before, after) if a != b))
    return WORDS[operator], names(old)


class Look:
    """What patterns ask about a mutant."""

    def __init__(self, mutant):
        self.operator = mutant.operator
        self.action, self.names = looks(mutant.operator, mutant.change)
        self.around = names(mutant.statement) | names(mutant.under)


@dataclass(frozen=True)
class Pattern:
    actions: tuple
    conditions: tuple = ()  # (whether it is a name of the surroundings, name, whether it must be there)
    nth: int = 0
    text: str = field(default="", compare=False)

    @cached_property
    def _kinds(self):
        return set(self.actions) | set(OPERATORS if "any" in self.actions else ())

    def means(self, look):
        return bool(self._kinds & {look.action, look.operator}) and all(
            there == has(look.around if around else look.names, name)
            for around, name, there in self.conditions
        )

    def of(self, mutants, look):
        """Those of one function's mutants that it means."""
        found = [m for m in mutants if self.means(look(m))]
        return found[self.nth - 1 : self.nth] if self.nth else found


def has(there, name):
    return name in there or ("*" in name or "?" in name) and any(fnmatchcase(n, name) for n in there)


def parse(text):
    """The patterns of a text, which are separated by semicolons; ValueError names a wrong one."""
    return [one(part.strip()) for part in text.split(";")]


def one(text):
    first, *rest = text.split() or [""]
    actions = tuple(first.split(","))
    if not all(map(ACTIONS.fullmatch, actions)):
        raise ValueError(f"'{text}' does not begin with actions as '+1', '<=', 'drop' or 'any'")
    nth = int(rest.pop()[1:]) if rest and re.fullmatch(r"#[1-9]\d*", rest[-1]) else 0
    found = [CONDITION.fullmatch(word) for word in rest]
    if None in found:
        raise ValueError(f"'{text}': '{rest[found.index(None)]}' is no NAME, !NAME, @NAME or !@NAME")
    return Pattern(actions, tuple((bool(c["around"]), c["name"], not c["no"]) for c in found), nth, text)
