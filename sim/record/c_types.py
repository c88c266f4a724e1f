# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reads function declarations and structs of a C header with pycparser, after the compiler's preprocessor."""
import subprocess
from dataclasses import dataclass, field

from pycparser import c_ast, c_generator, c_parser

# So that the compiler's own headers are C that pycparser knows.
PLAIN = ["-D__attribute__(x)=", "-D__extension__=", "-D__typeof__(x)=int", "-D_Alignas(x)="]
SIGNED = {
    "int",
    "long",
    "short",
    "char",
    "signed char",
    "long long",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
}
BYTE = {"uint8_t", "int8_t", "char", "unsigned char", "signed char", "bool", "_Bool"}


@dataclass
class Type:
    kind: str  # void, bool, int, struct, pointer, array
    text: str  # as in C, without the name of a variable
    const: bool = False
    signed: bool = False
    target: "Type" = None  # of a pointer, or of an array's elements
    count: str = None  # of an array: an expression of numbers
    struct: str = None  # its name


@dataclass
class Function:
    name: str
    result: Type
    params: list = field(default_factory=list)  # (name, Type)


class Header:
    def __init__(self, path, compiler):
        command = [*compiler, "-E", "-x", "c", *PLAIN, path]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        self.path = path
        self.text_of = c_generator.CGenerator().visit
        self.nodes = c_parser.CParser().parse(text).ext
        self.typedefs, self.structs = {}, {}
        for node in self.nodes:
            if isinstance(node, c_ast.Typedef):
                self.typedefs[node.name] = node.type
            self.keep_struct(node)

    def keep_struct(self, node):
        kind = getattr(getattr(node, "type", None), "type", None) or getattr(node, "type", None)
        if isinstance(kind, c_ast.Struct) and kind.decls:
            self.structs[kind.name] = kind.decls

    def functions(self, after_line):
        """Functions that this file itself declares below a line."""
        for node in self.nodes:
            if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
                if node.coord.file == self.path and node.coord.line > after_line:
                    params = node.type.args.params if node.type.args else []
                    yield Function(
                        node.name, self.type(node.type.type), [(p.name, self.type(p.type)) for p in params]
                    )

    def members(self, struct):
        return [(member.name, self.type(member.type)) for member in self.structs[struct]]

    def type(self, node):
        if isinstance(node, c_ast.PtrDecl):
            target = self.type(node.type)
            return Type("pointer", f"{target.text} *", target=target)
        if isinstance(node, c_ast.ArrayDecl):
            return Type("array", "", target=self.type(node.type), count=self.text_of(node.dim))
        return self.plain(node)

    def plain(self, node):
        """The type of a declaration without pointers and arrays."""
        const = "const" in node.quals
        prefix = "const " if const else ""
        if isinstance(node.type, c_ast.Struct):
            return Type("struct", f"{prefix}struct {node.type.name}", const, struct=node.type.name)
        if isinstance(node.type, c_ast.Enum):
            return Type("int", f"{prefix}enum {node.type.name}", const)
        name = " ".join(node.type.names)
        if (
            name in self.typedefs
            and isinstance(self.typedefs[name], c_ast.TypeDecl)
            and name not in BYTE | SIGNED
        ):
            resolved = self.type(self.typedefs[name])
            return Type(**{**vars(resolved), "text": prefix + name, "const": const})
        kind = {"void": "void", "bool": "bool", "_Bool": "bool"}.get(name, "int")
        return Type(kind, prefix + name, const, signed=name in SIGNED)
