# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A C source file as libclang sees it: expressions and statements with their places in the file's own text."""
import re
from ctypes import POINTER, byref, c_uint

from clang import cindex
from clang.cindex import CursorKind as K
from clang.cindex import TypeKind as T

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
INTEGERS = {T.BOOL, T.CHAR_U, T.UCHAR, T.USHORT, T.UINT, T.ULONG, T.ULONGLONG, T.CHAR_S, T.SCHAR, T.SHORT}
INTEGERS |= {T.INT, T.LONG, T.LONGLONG, T.ENUM}
UNSIGNED = {T.BOOL, T.CHAR_U, T.UCHAR, T.USHORT, T.UINT, T.ULONG, T.ULONGLONG}
WRAPPERS = (K.UNEXPOSED_EXPR, K.PAREN_EXPR)
NOT_EXPRESSIONS = (K.TYPE_REF, K.MEMBER_REF)


class SourceError(Exception):
    """The file cannot be parsed as C; the message is the compiler's."""


def _offset(location):
    """(file name, offset) in the source text: of a macro argument, or of the macro's call."""
    ask = cindex.conf.lib.clang_getFileLocation
    ask.argtypes = [cindex.SourceLocation, POINTER(cindex.c_object_p), *[POINTER(c_uint)] * 3]
    file, line, column, offset = cindex.c_object_p(), c_uint(), c_uint(), c_uint()
    ask(location, byref(file), byref(line), byref(column), byref(offset))
    return (cindex.File(file).name if file else None), offset.value


def type_of(cursor):
    return cursor.type.get_canonical()


def core(cursor):
    """Without parentheses and implicit conversions."""
    while cursor.kind in WRAPPERS:
        inner = [c for c in cursor.get_children() if c.kind not in NOT_EXPRESSIONS]
        if len(inner) != 1:
            break
        cursor = inner[0]
    return cursor


class Source:
    def __init__(self, path, arguments):
        self.path = str(path)
        try:
            with open(path, "rb") as file:
                self.bytes = file.read()
            self.unit = cindex.Index.create().parse(self.path, arguments, options=1)  # with macro expansions
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror}") from error
        except cindex.TranslationUnitLoadError as error:
            raise SourceError(f"{path}: libclang cannot read it") from error
        errors = [d for d in self.unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if errors:
            raise SourceError(f"{path}: {errors[0].location.line}: {errors[0].spelling}")
        self.macros = self._macros()

    def _macros(self):
        found = {}
        for cursor in self.unit.cursor.get_children():
            if cursor.kind == K.MACRO_INSTANTIATION and self.range(cursor):
                found[self.range(cursor)] = cursor.spelling
        return found

    def range(self, cursor):
        """(start, end) in bytes; None if the text is not in this file."""
        extent = cursor.extent
        (file, start), (other, end) = _offset(extent.start), _offset(extent.end)
        return (start, end) if file == other == self.path and start < end else None

    def text(self, start, end):
        return self.bytes[start:end].decode()

    def plain(self, start, end):
        """The text on one line without comments, so that repeating it moves no line of the file."""
        return re.sub(r"\s+", " ", COMMENT.sub(" ", self.text(start, end))).strip()

    def in_macro(self, start, end):
        return any(s <= start and end <= e for s, e in self.macros)

    def line(self, offset):
        return self.bytes.count(b"\n", 0, offset) + 1

    def line_text(self, offset):
        begin = self.bytes.rfind(b"\n", 0, offset) + 1
        return self.text(begin, self.bytes.index(b"\n", offset)).strip()

    def functions(self):
        """(name, whether it returns void, body) of each function defined here."""
        for cursor in self.unit.cursor.get_children():
            if cursor.kind != K.FUNCTION_DECL or not self.range(cursor):
                continue
            for part in cursor.get_children():
                if part.kind == K.COMPOUND_STMT:
                    yield cursor.spelling, cursor.result_type.kind == T.VOID, part

    def includes(self):
        return sorted({i.include.name for i in self.unit.get_includes()})
