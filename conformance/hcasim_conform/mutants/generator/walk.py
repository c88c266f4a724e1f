# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""All sites of a file: what is visited, and where nothing may be planted because C requires a constant."""
from contextlib import contextmanager

from clang.cindex import CursorKind as K
from clang.cindex import StorageClass
from clang.cindex import TypeKind as T

from .operators import COMPARISONS, Operators
from .probe import SCALARS, Purity, chooses, parts_of
from .site import Site
from .source import WRAPPERS, core, type_of

LOOPS = (K.FOR_STMT, K.WHILE_STMT, K.DO_STMT)
LABELS = (K.CASE_STMT, K.DEFAULT_STMT, K.LABEL_STMT)
NOT_RUN = (
    K.CXX_UNARY_EXPR,
    K.GENERIC_SELECTION_EXPR,
    K.ADDR_LABEL_EXPR,
    K.STRUCT_DECL,
    K.UNION_DECL,
    K.ENUM_DECL,
)
DROPPED = (K.CALL_EXPR, K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.UNARY_OPERATOR, K.RETURN_STMT)
ASSIGNMENTS = (K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR)
DROPPED += (K.BREAK_STMT, K.CONTINUE_STMT)


class Walk:
    def __init__(self, source):
        self.source = source
        self.purity = Purity(source)
        self.sites = {}
        self.statement, self.under = "", []

    def run(self):
        for name, void, body in self.source.functions():
            self.operators = Operators(self.source, name)
            self._block(body, void)
        return list(self.sites.values())

    def _add(self, sites):
        for site in sites:
            if self.sites.setdefault(site.key, site) is site:
                for mutant in site.mutants:
                    mutant.statement, mutant.under = self.statement, self.under[-1] if self.under else ""

    @contextmanager
    def _within(self, cursor):
        """What is found is part of this statement, condition or member of an initializer."""
        before, place = self.statement, self.source.range(cursor)
        self.statement = self.source.plain(*place) if place else before
        yield
        self.statement = before

    @contextmanager
    def _controlled(self, cursor):
        """What is found is only run if this condition or label says so; None: `default`, or a loop without an end."""
        place = self.source.range(cursor) if cursor else None
        self.under.append(self.source.plain(*place) if place else "default")
        yield
        self.under.pop()

    # -- statements; `goes_on`: the function has code after this one, or needs none

    def _block(self, cursor, goes_on):
        parts = list(cursor.get_children())
        for index, part in enumerate(parts):
            self._statement(part, goes_on or index + 1 < len(parts))

    def _statement(self, cursor, goes_on):
        kind, place = cursor.kind, self.source.range(cursor)
        if place in self.source.macros and kind != K.CALL_EXPR:  # a whole statement that is a macro
            self._drop(cursor, place)
        elif kind == K.COMPOUND_STMT:
            self._block(cursor, goes_on)
        elif kind == K.IF_STMT:
            self._if(cursor, goes_on)
        elif kind in LOOPS:
            self._loop(cursor)
        elif kind == K.SWITCH_STMT:
            self._switch(*cursor.get_children(), goes_on)
        elif kind in LABELS:
            self._statement(list(cursor.get_children())[-1], goes_on)
        elif kind == K.DECL_STMT:
            self._declarations(cursor)
        else:
            with self._within(cursor):
                self._simple(cursor, goes_on)

    def _switch(self, value, body, goes_on):
        """A statement is controlled by the label above it."""
        with self._within(value):
            self._expression(value)
        label = value
        parts = list(body.get_children())
        for index, part in enumerate(parts):
            label = self._label(part) if part.kind in LABELS else label
            with self._controlled(label):
                self._statement(part, goes_on or index + 1 < len(parts))

    @staticmethod
    def _label(cursor):
        """The value of the last of several labels in a row."""
        *value, statement = cursor.get_children()
        if statement.kind in LABELS:
            return Walk._label(statement)
        return value[0] if value else None

    def _if(self, cursor, goes_on):
        condition, *branches = cursor.get_children()
        with self._within(condition):
            self._condition(condition)
        with self._controlled(condition):
            for branch in branches:
                self._statement(branch, goes_on)

    def _loop(self, cursor):
        """The increment of a `for` is not mutated: without it the loop does not end."""
        parts = list(cursor.get_children())
        body = parts.pop(0 if cursor.kind == K.DO_STMT else -1)
        if cursor.kind == K.FOR_STMT:
            parts = self._for_condition(cursor, parts)
        with self._controlled(parts[0] if parts else None):
            self._statement(body, True)
        for part in parts:
            with self._within(part):
                self._condition(part)

    def _for_condition(self, cursor, parts):
        """libclang does not report which of the three parts of a `for` exist, so this looks at the semicolons."""
        place = self.source.range(cursor)
        if not place or place in self.source.macros:
            return []
        ranges = [self.source.range(part) for part in parts]
        if None in ranges:
            return []
        found = []
        for part, (start, _) in zip(parts, ranges):
            head = self.source.plain(place[0], start)
            if head.count(";") == 1 and part.kind != K.DECL_STMT:
                found.append(part)
        return found

    def _declarations(self, cursor):
        for variable in cursor.get_children():
            place = self.source.range(variable)
            if variable.kind != K.VAR_DECL or not place or variable.storage_class == StorageClass.STATIC:
                continue
            equals = self.source.bytes.find(b"=", place[0], place[1])
            for part in variable.get_children():
                inside = self.source.range(part)
                if equals >= 0 and inside and inside[0] > equals and part.kind != K.TYPE_REF:
                    with self._within(variable):
                        self._expression(part)

    def _simple(self, cursor, goes_on):
        place = self.source.range(cursor)
        if place and cursor.kind in DROPPED and (cursor.kind != K.RETURN_STMT or goes_on):
            self._drop(cursor, place)
        self._expression(cursor)

    def _drop(self, cursor, place):
        if place not in self.source.macros and self.source.in_macro(*place):
            return
        end = self.source.bytes.find(b";", place[1]) + 1
        if not end or self.source.plain(place[1], end) != ";":
            return
        mutants = [self.operators.mutant("statement", place, "dropped")]
        target = self._target(cursor)

        def render(inner, base):
            if not target:
                return f"{{ if (!MUTANT_IN({base}, 1)) {inner(place[0], end)} }}"
            return f"{{ MUTANT_DROP({base}, {target}, {inner(place[0], end)}) }}"

        self._add([Site(place[0], end, mutants, render)])

    def _target(self, cursor):
        """What an assignment changes, if it has no other effect."""
        place, parts = self.source.range(cursor), parts_of(cursor)
        if cursor.kind not in ASSIGNMENTS or self.source.in_macro(*place) or len(parts) != 2:
            return None
        if type_of(parts[0]).kind not in SCALARS or not all(map(self.purity.holds, parts)):
            return None
        # The assignment may change the choice, and what was not chosen need not be there.
        if chooses(parts[0]):
            return None
        where = self.source.range(parts[0])
        cast = "(const char *)" if type_of(parts[0]).kind == T.POINTER else ""  # also of an incomplete type
        return where and f"{cast}({self.source.plain(*where)})"

    # -- expressions

    def _condition(self, cursor):
        """Negates its atoms; comparisons and && have their own mutants, which are at least as strong."""
        inner = core(cursor)
        found = self.operators.binary(inner) if inner.kind == K.BINARY_OPERATOR else None
        operator = found[3] if found else ""
        if operator in ("&&", "||"):
            self._expression(cursor)
        else:
            self._atom(inner, operator)
            self._expression(cursor)

    def _atom(self, inner, operator):
        place = self.source.range(inner)
        whole = place and (
            place in self.source.macros or not self.source.in_macro(*place) or inner.kind == K.CALL_EXPR
        )
        if place and operator not in COMPARISONS and whole:
            self._add([self.operators.negation(place)])

    def _expression(self, cursor, compared=""):
        if cursor.kind in NOT_RUN or type_of(cursor).kind == T.POINTER and self._is_null(cursor):
            return
        place = self.source.range(cursor)
        if place in self.source.macros and self.operators.is_constant(cursor):
            self._add(self.operators.of_constant(cursor, compared))
            return
        if cursor.kind not in WRAPPERS:
            self._operators(cursor, compared)
        self._children(cursor, compared)

    @staticmethod
    def _is_null(cursor):
        return core(cursor).kind == K.INTEGER_LITERAL

    def _operators(self, cursor, compared):
        ops, kind = self.operators, cursor.kind
        if kind == K.BINARY_OPERATOR:
            self._add(ops.of_binary(cursor))
        elif kind == K.COMPOUND_ASSIGNMENT_OPERATOR:
            self._add(ops.of_assignment(cursor))
        elif kind == K.UNARY_OPERATOR:
            self._add(ops.of_unary(cursor))
        elif kind == K.CALL_EXPR:
            self._add(ops.of_call(cursor))
        elif kind == K.MEMBER_REF_EXPR:
            self._add(ops.of_member(cursor))
        elif ops.is_constant(cursor):
            self._add(ops.of_constant(cursor, compared))

    def _children(self, cursor, compared):
        parts = list(cursor.get_children())
        found = self.operators.binary(cursor) if cursor.kind == K.BINARY_OPERATOR else None
        operator = found[3] if found else ""
        if cursor.kind in WRAPPERS:
            operator = compared
        for index, part in enumerate(parts):
            logical = operator in ("&&", "||") and cursor.kind == K.BINARY_OPERATOR
            if logical or (cursor.kind == K.CONDITIONAL_OPERATOR and index == 0):
                self._condition(part)
            elif cursor.kind == K.DECL_STMT or part.kind.is_declaration():
                continue
            elif cursor.kind == K.INIT_LIST_EXPR:
                with self._within(part):
                    self._expression(part)
            else:
                last = index == len(parts) - 1
                self._expression(part, operator if last and operator in COMPARISONS else "")


def sites_of(source):
    return Walk(source).run()
