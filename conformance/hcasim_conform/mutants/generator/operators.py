# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The operators on expressions: what each plants where. walk.py has those on statements.

Comparisons have the three results that subsume all others (Kaminski, Ammann, Offutt: "Better predicates", 2013); where an
order has no meaning (pointers, enumerations, truth values) they are inverted. Of two equal mutants,
`x < 8 + 1` and `x <= 8`, only the first is planted.
"""
import re

from clang.cindex import CursorKind as K
from clang.cindex import TypeKind as T

from .site import Mutant, Site
from .source import INTEGERS, UNSIGNED, core, type_of

COMPARISONS = {"<": ("<=", "!=", "0"), "<=": ("<", "==", "1"), ">": (">=", "!=", "0"), ">=": (">", "==", "1")}
COMPARISONS |= {"==": ("<=", ">=", "0"), "!=": ("<", ">", "1")}
ZERO = {"==": ("!=",), "!=": ("==",), ">": (">=",), "<=": ("1",)}  # an unsigned one with 0
ARITHMETIC = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "/",
    "&": "|",
    "|": "&",
    "^": "&",
    "<<": ">>",
    ">>": "<<",
}
LOGICAL = {"&&": "||", "||": "&&"}
ADDRESSES = (T.POINTER, T.CONSTANTARRAY, T.INCOMPLETEARRAY)
LITERAL = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*")
NAME = re.compile(r"[A-Za-z_]\w*")
CONSTANT_MACRO = re.compile(r"[A-Z_][A-Z0-9_]*")


class Operators:
    """Sites of one function's expressions."""

    def __init__(self, source, function):
        self.source = source
        self.function = function

    def mutant(self, operator, place, new, old=None):
        old = old or self.source.plain(*place)
        return Mutant(operator, f"{old} -> {new}", place[0], self.function)

    def binary(self, cursor):
        """(place, left, right, operator) of a binary operator written in this file, else None."""
        place, parts = self.source.range(cursor), list(cursor.get_children())
        if len(parts) != 2 or not place:
            return None
        left, right = (self.source.range(part) for part in parts)
        if not left or not right or place != (left[0], right[1]) or left[1] > right[0]:
            return None
        return place, left, right, self.source.plain(left[1], right[0])

    def of_binary(self, cursor):
        found = self.binary(cursor)
        if not found:
            return []
        place, left, right, operator = found
        types = [type_of(core(part)).kind for part in cursor.get_children()]
        if operator in COMPARISONS:
            return [self._comparison(place, left, right, operator, types)]
        if operator in LOGICAL:
            return [self._logical(place, left, right, operator)]
        if operator in ARITHMETIC and not all(kind in ADDRESSES for kind in types):
            return [self._exchange("arithmetic", place, left, right, operator, ARITHMETIC[operator])]
        return []

    def of_assignment(self, cursor):
        """Compound ones: `a += b`."""
        found = self.binary(cursor)
        operator = found and found[3].removesuffix("=")
        if not found or operator not in ARITHMETIC:
            return []
        return [self._exchange("arithmetic", *found[:3], found[3], ARITHMETIC[operator] + "=")]

    def _comparison(self, place, left, right, operator, types):
        a, b = self.source.plain(*left), self.source.plain(*right)
        ordered = all(kind in INTEGERS and kind not in (T.ENUM, T.BOOL) for kind in types)
        if not ordered:
            return self._turned(place, left, right, operator)
        wrong = ZERO.get(operator) if b == "0" and types[0] in UNSIGNED else None
        wrong = wrong or COMPARISONS[operator]
        results = [w if w in "01" else f"a_ {w} b_" for w in wrong] + ["c_"] * (3 - len(wrong))
        mutants = [self.mutant("relational", place, w if w in "01" else f"{a} {w} {b}") for w in wrong]

        def render(inner, base):
            return f"MUTANT_COMPARE({base}, {operator}, ({inner(*left)}), ({inner(*right)}), {', '.join(results)})"

        return Site(*place, mutants, render)

    def _turned(self, place, left, right, operator):
        other = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}[operator]
        new = f"{self.source.plain(*left)} {other} {self.source.plain(*right)}"
        return self.negation(place, [self.mutant("relational", place, new)])

    def negation(self, place, mutants=None):
        mutants = mutants or [self.mutant("condition", place, f"!({self.source.plain(*place)})")]
        return Site(*place, mutants, lambda inner, base: f"(MUTANT_IN({base}, 1) ^ !!({inner(*place)}))")

    def _logical(self, place, left, right, operator):
        a, b = self.source.plain(*left), self.source.plain(*right)
        news = [f"{a} {LOGICAL[operator]} {b}", a, b]
        mutants = [self.mutant("logical", place, new) for new in news]
        return self.alternatives(
            place, mutants, [f"(({a}) {LOGICAL[operator]} ({b}))", f"!!({a})", f"!!({b})"]
        )

    def _exchange(self, name, place, left, right, operator, other):
        a, b = self.source.plain(*left), self.source.plain(*right)
        mutant = self.mutant(name, place, f"{a} {other} {b}")
        wrong = (
            f"({a}) {other} ({b})"
            if name == "arithmetic" and not other.endswith("=")
            else f"{a} {other} ({b})"
        )
        return self.alternatives(place, [mutant], [wrong])

    @staticmethod
    def alternatives(place, mutants, texts):
        """Text of `right`, or of the selected mutant's replacement."""

        def render(inner, base):
            wrong = f"({texts[-1]})"
            for index in reversed(range(len(texts) - 1)):
                wrong = f"(MUTANT_IS({base + index}) ? ({texts[index]}) : {wrong})"
            return f"(MUTANT_IN({base}, {len(texts)}) ? {wrong} : ({inner(*place)}))"

        return Site(*place, mutants, render)

    def of_unary(self, cursor):
        place = self.source.range(cursor)
        text = place and self.source.plain(*place)
        if not text:
            return []
        for old, new in (("++", "--"), ("--", "++")):
            if text.startswith(old) or text.endswith(old):
                wrong = text.replace(old, new)
                return [self.alternatives(place, [self.mutant("arithmetic", place, wrong)], [wrong])]
        if text[0] in "~-" and not LITERAL.fullmatch(text[1:]):
            return [self.alternatives(place, [self.mutant("arithmetic", place, text[1:])], [text[1:]])]
        return []

    def is_constant(self, cursor):
        """A literal, a constant of an enumeration, or a macro in capitals that is a number."""
        place = self.source.range(cursor)
        if not place or type_of(cursor).kind not in INTEGERS:
            return False
        text = self.source.text(*place)
        if text == "NULL":
            return False
        if place in self.source.macros:
            return bool(CONSTANT_MACRO.fullmatch(text)) or text in ("true", "false")
        if cursor.kind == K.INTEGER_LITERAL:
            return bool(LITERAL.fullmatch(text))
        return (
            cursor.kind == K.DECL_REF_EXPR
            and cursor.referenced.kind == K.ENUM_CONSTANT_DECL
            and text == cursor.spelling
        )

    def of_constant(self, cursor, compared=""):
        """`compared`: the comparison whose right side it is; one of ±1 is already a mutant of that comparison."""
        place = self.source.range(cursor)
        text = self.source.text(*place)
        if text.startswith("memory_order_"):  # must be constant, and has no effect on one processor
            return []
        if text in ("true", "false"):
            news = [f"!{text}"]
        else:
            news = [f"{text} {sign} 1" for sign in "+-"]
            same = {"<": "+", ">=": "+", "<=": "-", ">": "-"}.get(compared)
            news = [new for new in news if not same or f" {same} " not in new]
        mutants = [self.mutant("constant", place, new) for new in news]
        return [self.alternatives(place, mutants, news)]

    def of_call(self, cursor):
        """Swaps neighbouring arguments of the same type."""
        arguments = [self.source.range(a) for a in cursor.get_arguments()]
        place = self.source.range(cursor)
        if not place or None in arguments or len(arguments) < 2 or place in self.source.macros:
            return []
        between = [self.source.plain(a[1], b[0]) for a, b in zip(arguments, arguments[1:]) if a[1] <= b[0]]
        if between != [","] * (len(arguments) - 1):
            return []
        kinds = [type_of(core(a)) for a in cursor.get_arguments()]
        pairs = [i for i in range(len(kinds) - 1) if self._alike(kinds[i], kinds[i + 1])]
        texts = [self.source.plain(*a) for a in arguments]
        pairs = [i for i in pairs if texts[i] != texts[i + 1]]
        head, tail = self.source.plain(place[0], arguments[0][0]), self.source.plain(
            arguments[-1][1], place[1]
        )
        news, mutants = [], []
        for i in pairs:
            swapped = texts[:i] + [texts[i + 1], texts[i]] + texts[i + 2 :]
            news.append(f"{head}{', '.join(swapped)}{tail}")
            mutants.append(self.mutant("argument", place, news[-1]))
        return [self.alternatives(place, mutants, news)] if news else []

    @staticmethod
    def _alike(a, b):
        if a.kind in INTEGERS and b.kind in INTEGERS:
            return (a.kind == T.ENUM) == (b.kind == T.ENUM) and a.get_size() == b.get_size()
        return a.spelling.replace("const ", "") == b.spelling.replace("const ", "")

    def of_member(self, cursor):
        """The next field of the same type in its struct."""
        place, children = self.source.range(cursor), list(cursor.get_children())
        base = self.source.range(children[0]) if children else None
        other = self._other_field(cursor.referenced)
        if not place or not base or not other or base[0] != place[0]:
            return []
        joint = self.source.text(base[1], place[1])
        if joint.strip() not in (f"->{cursor.spelling}", f".{cursor.spelling}"):
            return []
        joint = joint.strip().removesuffix(cursor.spelling)
        wrong = f"{self.source.plain(*base)}{joint}{other}"
        mutants = [self.mutant("field", place, wrong)]

        def render(inner, number):
            return f"(*(MUTANT_IN({number}, 1) ? &({wrong}) : &({inner(*base)}{joint}{cursor.spelling})))"

        return [Site(*place, mutants, render)]

    @staticmethod
    def _other_field(field):
        if not field or field.kind != K.FIELD_DECL or field.is_bitfield():
            return None
        parent = field.semantic_parent
        if parent.kind != K.STRUCT_DECL:
            return None
        alike = [
            f.spelling
            for f in parent.get_children()
            if f.kind == K.FIELD_DECL
            and f.spelling
            and not f.is_bitfield()
            and type_of(f).spelling == type_of(field).spelling
        ]
        if len(alike) < 2 or field.spelling not in alike:
            return None
        return alike[(alike.index(field.spelling) + 1) % len(alike)]
