# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Single faults of other vendors' providers (conformance/mutants/providers), planted into copies of their sources.

Nothing is written into rdma-core's source tree or build: the changed files are compiled and linked with the commands
of that build into another folder, which a program gets by LD_LIBRARY_PATH.
"""
import json
import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import jsonschema

from hcasim_conform import yaml_text

HERE = Path(__file__).resolve().parents[2]
FAULTS = HERE / "mutants" / "providers"
SCHEMA = HERE / "schema" / "providers.schema.json"
RELEASE = "56.1"  # of rdma-core: the lists quote its source
# Where a program finds a header of that folder.
INCLUDES = {"libibverbs": "infiniband", "librdmacm": "rdma", "kernel-headers": ""}
DEPENDENCIES = ("-MD", "-MT", "-MF")  # of the object that is not rebuilt; the last two take an argument


class ProviderError(Exception):
    """The list does not fit the sources, or these do not compile; the message names the fault."""


@dataclass(frozen=True)
class Fault:
    id: str
    what: str
    why: str
    edits: tuple  # (file, function or None, find, with)
    red: tuple = ()  # ids of cells that must become worse
    green: tuple = ()  # ids of cells next to them that must not
    figures: tuple = ()  # of the timing profile, as "fifo.doorbell=1"
    race: bool = False  # one of the red cells is enough: which one it is depends on the time
    says: str = ""  # regular expression for what is said of each red cell
    not_caught: str = ""  # why no cell can tell

    @property
    def cells(self):
        return self.red + self.green


def _edit(row):
    return row["file"], row.get("function"), row["find"], row["with"]


def _fault(row, path):
    try:
        re.compile(row.get("says", ""))
    except re.error as error:
        raise ProviderError(f"{path}: fault {row['id']}: says '{row['says']}': {error}") from error
    edits = tuple(_edit(part) for part in (row, *row.get("also", ())))
    red, green, figures = (tuple(row.get(key, ())) for key in ("red", "green", "figures"))
    said = row.get("race", False), row.get("says", ""), row.get("not_caught", "")
    return Fault(row["id"], row["what"], row["why"], edits, red, green, figures, *said)


def load(path):
    """The faults of a provider's list."""
    doc = yaml_text.load(Path(path).read_text(encoding="utf-8"))
    try:
        jsonschema.validate(doc, json.loads(SCHEMA.read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        where = "/".join(str(p) for p in error.absolute_path) or "the file"
        raise ProviderError(f"{path}: {where}: {error.message}") from error
    faults = [_fault(row, path) for row in doc["faults"]]
    ids = [fault.id for fault in faults]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise ProviderError(f"{path}: the id {twice[0]} is there twice")
    return faults


def fits(source, release=RELEASE):
    """Whether a source tree is of this release."""
    try:
        text = (Path(source) / "CMakeLists.txt").read_text(encoding="utf-8")
    except OSError:
        return False
    return f'set(PACKAGE_VERSION "{release}")' in text


# ---- planting


def body(text, function):
    """(start, end) of a function's definition in the style of rdma-core: its name after text in the first column, a '}' there."""
    for match in re.finditer(rf"^(?:[a-z].*?\b)?{re.escape(function)}\(", text, re.M):
        begins = re.compile(r"[{;]").search(text, match.end())
        if begins and begins[0] == "{":
            return match.start(), text.index("\n}", begins.end())
    return None


def plant(name, text, edit):
    """The text of a file with one edit of the fault `name`."""
    file, function, find, replacement = edit
    where = (0, len(text)) if function is None else body(text, function)
    if where is None:
        raise ProviderError(f"fault {name}: {file} has no function {function}()")
    place = f"{function}() of {file}" if function else file
    count = text.count(find, *where)
    if count != 1:
        raise ProviderError(f"fault {name}: {place} contains {count} times, instead of once: {find!r}")
    at = text.index(find, *where)
    return text[:at] + replacement + text[at + len(find) :]


def planted(fault, source):
    """{file: text} of the files that a fault changes."""
    texts = {}
    for edit in fault.edits:
        file = edit[0]
        try:
            text = texts.get(file) or (Path(source) / file).read_text(encoding="utf-8")
        except OSError as error:
            raise ProviderError(f"fault {fault.id}: {source}/{file}: {error.strerror}") from error
        texts[file] = plant(fault.id, text, edit)
    return texts


# ---- building


class Provider:
    """A provider, or libibverbs or librdmacm, of a finished build of rdma-core: it can be built again elsewhere."""

    def __init__(self, name, source, build):
        self.name = name
        self.source = Path(source).resolve()
        self.build = Path(build).resolve()
        self.folder = name if name in INCLUDES else f"providers/{name}"
        plugins = sorted(
            self.build.glob(f"lib/{name}.so" if name in INCLUDES else f"lib/lib{name}-rdmav*.so")
        )
        if not plugins:
            raise ProviderError(f"{self.build}/lib has no library of {name}: build rdma-core first")
        self.library = plugins[0].resolve()
        self.compile, self.link = self._commands()

    def _commands(self):
        """{source file: words}, and the words that link."""
        target = self.library.relative_to(self.build)
        lines = self._run("its build", ["ninja", "-C", self.build, "-t", "commands", target]).splitlines()
        own = f" -c {self.source}/{self.folder}/"
        compiled = [shlex.split(line) for line in lines if own in line]
        link = next(line for line in lines if f" -o {target} " in line)
        return {words[-1]: words for words in compiled}, shlex.split(link.split("&&")[1])

    def _run(self, what, words):
        words = [str(word) for word in words]
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ProviderError(f"{what}: {words[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def _sources(self, texts):
        """The source files to compile: the changed ones, or all if a header is changed."""
        if all(file.endswith(".c") for file in texts):
            return [str(self.source / file) for file in texts]
        return list(self.compile)

    def make(self, fault, out):
        """Builds the provider with a fault; returns a folder of libraries that has it, and all else of the build."""
        texts = planted(fault, self.source)
        sources = Path(out) / "src"
        sources.mkdir(parents=True)
        for file, text in texts.items():
            self.place(file, sources).write_text(text, encoding="utf-8")
        objects = {}
        for file in self._sources(texts):
            here = sources / Path(file).name
            if not here.exists():
                here.write_bytes(Path(file).read_bytes())
            old, new = self._compile(fault, file, here)
            objects[old] = str(new)
        return self._libraries(fault, Path(out) / "lib", objects)

    @staticmethod
    def place(file, sources):
        """A source next to the others; a header that programs include in a folder of headers."""
        first, *rest = Path(file).parts
        if first not in INCLUDES or not file.endswith(".h"):
            return sources / rest[-1]
        below = "/".join(rest[:-1]) if first == "kernel-headers" else INCLUDES[first]
        place = sources / "include" / below / rest[-1]
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _compile(self, fault, file, here):
        if file not in self.compile:
            raise ProviderError(f"fault {fault.id}: {file} is no part of {self.library.name}")
        words, kept = iter(self.compile[file]), []
        for word in words:
            if word not in DEPENDENCIES:
                kept.append(word)
            elif word != DEPENDENCIES[0]:
                next(words)
        old, new = kept[kept.index("-o") + 1], here.with_suffix(".o")
        kept = [str(new) if word == old else word for word in kept[:-1]]
        # Headers next to the file, but not those that the fault changes, are in the tree.
        first = next(place for place, word in enumerate(kept) if word.startswith("-"))
        kept[first:first] = [f"-iquote{here.parent}", f"-I{here.parent}/include"]
        self._run(f"fault {fault.id}", [*kept, here, f"-iquote{self.source}/{self.folder}"])
        return old, new

    def _libraries(self, fault, lib, objects):
        lib.mkdir()
        for entry in (self.build / "lib").iterdir():
            if entry.resolve() != self.library:
                (lib / entry.name).symlink_to(entry)
            elif entry.is_symlink():
                (lib / entry.name).symlink_to(os.readlink(entry))
        target = str(self.library.relative_to(self.build))
        new = {**objects, target: str(lib / self.library.name)}
        self._run(f"fault {fault.id}", [new.get(word, word) for word in self.link])
        return lib


# ---- judging

WORSE = re.compile(r"^worse  (\S+): (?:pass|known) -> (.*)$", re.M)


def complaints(fault, said):
    """What the output of `hcasim conform --diff` should say of a provider with this fault, and does not."""
    worse = dict(WORSE.findall(said))
    missed = [f"{cell} is not worse" for cell in fault.red if cell not in worse]
    if fault.race and len(missed) < len(fault.red):
        missed = []
    others = [f"{cell} is worse, too" for cell in worse if cell not in fault.red]
    reasons = [
        f"{cell}: {worse[cell]}: not /{fault.says}/"
        for cell in fault.red
        if cell in worse and not re.search(fault.says, worse[cell])
    ]
    return missed + others + reasons
