# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suites outside the matrix test what a table of single requests cannot express.

A case is a cell with an id, a sentence, a level, and a line for the runner. The runner lists its scenarios with the
rows of their cells (conformance/runner/suites/scenario.h); the requests of a row and their expected completions come
from the tables.
"""
import json
import re
import subprocess
from dataclasses import dataclass, field, replace
from functools import lru_cache

from hcasim_conform import programs
from hcasim_conform.model.axes import Data, mandatory_setter
from hcasim_conform.model.cells import ASK_INLINE, ASK_SGE, NARROW, TYPES, Expect, Wr

PIECE = 4096  # most bytes of an SGE in a cell
LENGTH = re.compile(r"(inline )?(\d+(?:\+\d+)*)(\+)?( most([+-]\d+)?)?")
ARGUMENT = re.compile(r"\{(\w+)\}")
FLAGS = ("fence", "solicited", "ip_csum")
TEXTS = "suite qps posts clause also level errata status needs ask wire says".split()


class ScenarioError(ValueError):
    """A row that cannot be a cell: the scenario, the member, its value, and what is possible."""


@dataclass(frozen=True)
class Case:
    """One case. `needs`: the capabilities that a device must have, as named in DUT files."""

    suite: str
    qpt: str
    case: str
    scenario: str
    says: str
    expect: Expect
    wrs: tuple = ()
    args: dict = field(default_factory=dict)
    ask: tuple = ("SEND",)
    ask_sge: int = ASK_SGE
    needs: tuple = ()
    was: str = ""  # the id that the cell had before
    wire: str = ""  # faults that its wire must have (docs/running.md, --fault), or NARROW
    api: str = "suite"
    flags: tuple = ()
    qp_setter: str = "none"
    data: Data = Data("none", "none")

    @property
    def id(self):
        return f"suite/{self.suite}/{self.qpt.lower()}/{self.case}"

    @property
    def op(self):
        return self.suite

    @property
    def short(self):
        return self.suite

    @property
    def variant(self):
        return self.case

    def line(self):
        """The case as the runner reads it."""
        line = {
            "id": self.id,
            "api": "suite",
            "suite": self.suite,
            "case": self.case,
            "scenario": self.scenario,
            "qp": self.qpt,
            "ask": list(self.ask),
            "ask_inline": ASK_INLINE,
            "ask_sge": self.ask_sge,
            "args": dict(self.args),
            "wrs": [wr.line() for wr in self.wrs],
        }
        if self.expect.status:
            line["status"] = self.expect.status
        return line

    def expected(self):
        return self.says


def data_of(text):
    """The data setter of a request's text, and the rest of it: "inline 17+1 most+1 fence" """
    found = LENGTH.match(text)
    if not found:
        return Data("none", "none"), text
    inline, numbers, several, limit, delta = found.groups()
    lengths = tuple(int(number) for number in numbers.split("+"))
    while several and not inline and lengths[-1] > PIECE:
        lengths = (*lengths[:-1], PIECE, lengths[-1] - PIECE)
    setter = ("inline" if inline else "sge") + ("_list" if several or len(lengths) > 1 else "")
    bound = "none" if not limit else "inline" if setter == "inline" else "sge"
    return Data("text", setter, lengths, bound, int(delta or 0)), text[found.end() :]


class Rows:
    """The rows of one scenario, as cases."""

    def __init__(self, tables, scenario, rows):
        self.tables, self.scenario, self.rows = tables, scenario, rows
        self.names = {op.name for op in tables.operations}

    def _wrong(self, member, value, choices):
        raise ScenarioError(
            f"scenario {self.scenario}: {member} '{value}': must be one of {', '.join(sorted(choices))}"
        )

    def _operation(self, name):
        if name not in self.names:
            self._wrong("operation", name, self.names)
        return self.tables.operation(name)

    def _known(self, row):
        for member, known in (("clause", self.tables.sentences), ("also", self.tables.sentences)):
            for word in row[member].split():
                if word not in known:
                    page = [name for name in known if name.startswith(word.partition("/")[0] + "/")]
                    self._wrong(member, word, page or known)
        for word in row["errata"].split():
            if word.rpartition("/")[2] not in self.tables.errata:
                self._wrong("errata", word, self.tables.errata)
        if row["level"] not in ("", "MUST", "SHOULD"):
            self._wrong("level", row["level"], ("MUST", "SHOULD"))

    def cases(self):
        texts = dict.fromkeys(TEXTS, "")
        for row in self.rows:
            texts |= {name: row[name] for name in TEXTS if name in row}
            row = {"ops": "", "was": "", **row, **texts}
            self._known(row)
            for name in row["ops"].split() or [None]:
                for form in row["forms"] or [{"suffix": "", "args": {}}]:
                    yield from self._types(row, name, form)

    def _types(self, row, name, form):
        for qpt in row["qps"].split():
            if qpt not in TYPES:
                self._wrong("qps", qpt, TYPES)
            if name and qpt not in self._operation(name).post:
                continue
            case = self._case(row, name, form, qpt)
            yield case
            if row["narrow"]:
                says = f"with queues of one entry inside the device: {case.says}"
                yield replace(
                    case, suite="narrow", case=f"{case.suite}-{case.case}", says=says, wire=NARROW, was=""
                )

    def _case(self, row, name, form, qpt):
        def text(member):
            value = row[member]
            if name:
                value = value.replace("{op}", name if member not in ("name", "was") else name.lower())
                value = value.replace("{short}", self.tables.operation(name).short)
            return value.replace("{qp}", qpt)

        args = row["args"] | form["args"]
        wrs = self._posts(text("posts"), qpt, args.get("sig_all"))
        errata = (word.rpartition("/") for word in row["errata"].split())
        return Case(
            suite=row["suite"],
            qpt=qpt,
            case=text("name") + form["suffix"],
            scenario=self.scenario,
            says=self._says(row["says"], args),
            expect=Expect(
                row["clause"],
                level=row["level"] or "MUST",
                status=row["status"] or None,
                errata=tuple(word for only, _, word in errata if only in ("", qpt)),
                also=tuple(row["also"].split()),
            ),
            wrs=wrs,
            args=args,
            ask=("SEND", *self._ask(text("ask"), wrs)),
            ask_sge=row["sges"] or ASK_SGE,
            needs=tuple(text("needs").split()),
            was=self._was(text("was"), qpt, form["suffix"]),
            wire=row["wire"],
        )

    @staticmethod
    def _says(text, args):
        return ARGUMENT.sub(lambda found: str(args.get(found[1], 0)), text)

    @staticmethod
    def _was(text, qpt, suffix):
        suite, _, name = text.partition("/")
        return f"suite/{suite}/{qpt.lower()}/{name}{suffix}" if text else ""

    @staticmethod
    def _ask(text, wrs):
        """ "posts": the operations of the requests."""
        return sorted({wr.op for wr in wrs} - {"SEND"}) if text == "posts" else text.split()

    def _posts(self, text, qpt, sig_all):
        requests = []
        for request in filter(None, text.split(", ")):
            number, times, rest = request.rpartition(" x ")
            name, _, rest = rest.partition(" ")
            op = self._operation(name.removesuffix("!"))
            if name.endswith("!") or qpt in op.post:
                requests += [self._request(op, rest, qpt, sig_all)] * int(number or 1)
        return tuple(requests)

    def _request(self, op, text, qpt, sig_all):
        data, rest = data_of(text)
        words = rest.split()
        if data.setter == "none" and op.length and op.data != "none":
            data = Data("sge", "sge", (op.length,))
        before = -1
        if "of" in words:
            at = words.index("of")
            before = int(words[at + 1])
            del words[at : at + 2]
        unsignaled = "unsignaled" in words
        flags = tuple(word.upper() for word in words if word != "unsignaled")
        for word in flags:
            if word.lower() not in FLAGS:
                self._wrong("posts, flag", word.lower(), (*FLAGS, "unsignaled", "of N"))
        return Wr(
            op=op.name,
            data=data,
            qp_setter=mandatory_setter(op, qpt),
            flags=flags if unsignaled else (*flags, "SIGNALED"),
            effect=op.memory,
            wc=op.wc if sig_all or not unsignaled else None,
            recv=op.recv,
            imm="WITH_IMM" in op.recv_flags,
            inv="WITH_INV" in op.recv_flags,
            data_of=before,
        )


@lru_cache(maxsize=None)
def listed():
    """The scenarios of the runner of this build, and of the folder HCASIM_SCENARIOS."""
    runner = programs.folder() / programs.RUNNER
    try:
        done = subprocess.run([runner, "--list"], capture_output=True, check=True)
    except OSError as error:
        raise ScenarioError(f"{runner}: {error.strerror}") from None
    except subprocess.CalledProcessError as error:
        raise ScenarioError(error.stderr.decode(errors="replace").strip()) from None
    return json.loads(done.stdout)


def cases(tables):
    """Every case of every suite, at the level that its errata leave to it. Ids are unique."""
    found = {}
    for scenario in listed():
        for case in Rows(tables, scenario["scenario"], scenario["rows"]).cases():
            if case.id in found:
                raise ScenarioError(
                    f"scenario {case.scenario}: the cell {case.id} is one of {found[case.id].scenario}, too"
                )
            found[case.id] = replace(case, expect=tables.graded(case.expect))
    return list(found.values())
