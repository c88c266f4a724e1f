# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Probes: expressions without side effects whose value tells whether a mutant in them makes a difference.

When cells' reach is recorded, such an expression is evaluated again with each of its mutants; the first value is used. A
mutant must not make this crash, so none may be in an address that is dereferenced or in a divisor, or decide whether such a part
is evaluated.
"""
from clang.cindex import CursorKind as K
from clang.cindex import TypeKind as T

from .site import Site
from .source import INTEGERS, NOT_EXPRESSIONS, WRAPPERS, core, type_of

LEAVES = (K.INTEGER_LITERAL, K.CHARACTER_LITERAL, K.DECL_REF_EXPR, K.CXX_UNARY_EXPR)
CASTS = (*WRAPPERS, K.CSTYLE_CAST_EXPR)
STATEMENTS = (K.COMPOUND_STMT, K.RETURN_STMT)  # of an inline function in a header
GUARDS = ("&&", "||")
SCALARS = (*INTEGERS, T.POINTER)


def parts_of(cursor):
    return [c for c in cursor.get_children() if c.kind not in NOT_EXPRESSIONS]


def operator_of(cursor):
    """The operator of a binary or unary expression, also of one inside a macro."""
    parts = parts_of(cursor)
    ends = [c.extent.end.offset for c in parts]
    for token in cursor.get_tokens():
        offset = token.extent.start.offset
        if len(parts) == 2 and ends[0] <= offset < parts[1].extent.start.offset and token.spelling != ")":
            return token.spelling
        if len(parts) == 1 and not parts[0].extent.start.offset <= offset < ends[0]:
            return token.spelling
    return ""


def divides(cursor):
    return cursor.kind == K.BINARY_OPERATOR and operator_of(cursor) in ("/", "%")


def guards(cursor):
    """Whether its first operand decides if another one is evaluated."""
    if cursor.kind == K.BINARY_OPERATOR:
        return operator_of(cursor) in GUARDS
    return cursor.kind == K.CONDITIONAL_OPERATOR


def chooses(cursor):
    return guards(cursor) or any(map(chooses, parts_of(cursor)))


def contains_division(cursor):
    return divides(cursor) or any(map(contains_division, parts_of(cursor)))


class Purity:
    """Which expressions of a file have no side effects, so that they may be evaluated several times."""

    def __init__(self, source):
        self.source = source
        self.functions = {}

    def holds(self, cursor):
        kind, parts = cursor.kind, parts_of(cursor)
        if cursor.type.is_volatile_qualified() or "_Atomic" in cursor.type.spelling:
            return False
        if kind in CASTS:
            known = len(parts) == 1
        elif kind == K.BINARY_OPERATOR:
            operator = operator_of(cursor)
            known = operator not in ("", ",", "=")
        elif kind == K.UNARY_OPERATOR:
            known = operator_of(cursor) in ("-", "~", "!", "*", "&", "+")
        elif kind == K.CALL_EXPR:
            return self._pure_call(cursor)
        else:
            known = kind in (*LEAVES, K.MEMBER_REF_EXPR, K.CONDITIONAL_OPERATOR, K.ARRAY_SUBSCRIPT_EXPR)
        return known and (kind == K.CXX_UNARY_EXPR or all(self.holds(part) for part in parts))

    def _pure_call(self, cursor):
        """Of an inline function in a header, which only returns an expression."""
        function = cursor.referenced and cursor.referenced.get_definition()
        if not function or self.source.range(function):
            return False
        name = function.get_usr()
        if name not in self.functions:
            self.functions[name] = False  # for one that calls itself
            body = [part for part in function.get_children() if part.kind == K.COMPOUND_STMT]
            self.functions[name] = bool(body) and self._pure_body(body[0])
        return self.functions[name] and all(self.holds(a) for a in cursor.get_arguments())

    def _pure_body(self, cursor):
        if cursor.kind in STATEMENTS:
            return all(self._pure_body(part) for part in cursor.get_children())
        return self.holds(cursor) and not contains_division(cursor)


class Probes:
    """Probes of one file, for the sites that are there."""

    def __init__(self, source, sites):
        self.source = source
        self.sites = sorted(sites, key=lambda s: s.start)
        self.purity = Purity(source)

    def run(self):
        found = []
        for _, _, body in self.source.functions():
            self._visit(body, found)
        return found

    # -- where

    def _visit(self, cursor, found):
        """Adds the largest possible probes in a statement or expression that is not one itself."""
        objects = self._objects(cursor)
        for part in cursor.get_children():
            if part.kind in NOT_EXPRESSIONS or part.kind in (K.CASE_STMT, K.DEFAULT_STMT):
                self._visit_label(part, found)
            elif part.kind == K.VAR_DECL and part.storage_class.name == "STATIC":
                continue
            elif part not in objects and part.kind.is_expression() and self._probe(part, found):
                continue
            else:
                self._visit(part, found)

    def _visit_label(self, label, found):
        parts = list(label.get_children())
        if parts and label.kind in (K.CASE_STMT, K.DEFAULT_STMT):
            self._visit_one(parts[-1], found)

    def _visit_one(self, statement, found):
        if not (statement.kind.is_expression() and self._probe(statement, found)):
            self._visit(statement, found)

    def _objects(self, cursor):
        """Operands that must stay objects: of an assignment, ++, &, sizeof, and of `.`."""
        parts, kind = parts_of(cursor), cursor.kind
        if kind in (K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR):
            wanted = kind != K.BINARY_OPERATOR or operator_of(cursor) == "="
        elif kind == K.UNARY_OPERATOR:
            wanted = operator_of(cursor) in ("&", "++", "--")
        elif kind == K.MEMBER_REF_EXPR:
            wanted = bool(parts) and type_of(core(parts[0])).kind != T.POINTER
        else:
            wanted = kind in (K.CXX_UNARY_EXPR, *CASTS)
        return parts[:1] if wanted else []

    def _probe(self, cursor, found):
        place = self.source.range(cursor)
        if not place or self.source.in_macro(*place) or type_of(cursor).kind not in SCALARS:
            return False
        inside = [s for s in self.sites if place[0] <= s.start and s.end <= place[1]]
        if not inside or not self.purity.holds(cursor) or not self._safe(cursor, inside):
            return False
        found.append(probe(place))
        return True

    def _safe(self, cursor, inside):
        """No mutant decides what is dereferenced, or whether."""
        return not any(self._has(part, inside) for part in self._decisive(cursor))

    def _has(self, part, inside):
        place = self.source.range(part)
        return place is None or any(place[0] <= s.start and s.end <= place[1] for s in inside)

    def _decisive(self, cursor):
        """Parts in which a mutant could make an access go wrong."""
        parts = parts_of(cursor)
        if divides(cursor):
            yield parts[1]
            yield from self._decisive(parts[0])
        elif self._accesses(cursor):
            yield from parts
        elif guards(cursor) and any(self._accessed(part) - self._sure(parts[0]) for part in parts[1:]):
            yield cursor  # with the mutants of the operator
        else:
            for part in parts:
                yield from self._decisive(part)

    def _accessed(self, cursor):
        """The addresses, as texts, that an expression may dereference."""
        found = {self.source.plain(*self._extent(cursor))} if self._accesses(cursor) else set()
        return found.union(*map(self._accessed, parts_of(cursor)))

    def _sure(self, cursor):
        """Those that it dereferences whatever its value is."""
        parts = parts_of(cursor)
        if guards(cursor):
            return self._sure(parts[0])
        found = {self.source.plain(*self._extent(cursor))} if self._accesses(cursor) else set()
        return found.union(*map(self._sure, parts))

    def _extent(self, cursor):
        """Of the pointer in `p->x`, of a divisor; of the whole expression otherwise."""
        if cursor.kind == K.MEMBER_REF_EXPR:
            cursor = parts_of(cursor)[0]
        elif divides(cursor):
            cursor = parts_of(cursor)[1]
        return self.source.range(cursor) or (0, 0)

    def _accesses(self, cursor):
        """Whether it goes wrong with a wrong address, or divisor."""
        parts = parts_of(cursor)
        if cursor.kind == K.ARRAY_SUBSCRIPT_EXPR:
            return True
        if cursor.kind == K.MEMBER_REF_EXPR:
            return bool(parts) and type_of(core(parts[0])).kind == T.POINTER
        if cursor.kind == K.UNARY_OPERATOR:
            return operator_of(cursor) == "*"
        if divides(cursor):
            return True
        if cursor.kind == K.CALL_EXPR:
            return any(type_of(a).kind == T.POINTER for a in cursor.get_arguments())
        return False


def probe(place):
    site = Site(*place, [], None, probe=True)

    def render(inner, base):
        return f"MUTANT_PROBE({base}, {site.count}, {inner(*place)})"

    site.render = render
    return site
