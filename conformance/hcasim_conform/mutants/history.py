# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Faults that rdma-core really had (conformance/mutants/history.yaml), and the page about them.

    python3 -m hcasim_conform.mutants.history [-k WORD] [--page]

builds each fault into a library, runs the cells named for it, and compares with a run without it; or prints the tables
of docs/history.md.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import jsonschema

from hcasim_conform import yaml_text
from hcasim_conform.mutants import provider

FIXES = provider.HERE / "mutants" / "history.yaml"
OTHERS = provider.HERE / "mutants" / "analogies.yaml"  # fixes of providers that hcasim does not run
SCHEMA = provider.HERE / "schema" / "history.schema.json"
BUILD = provider.HERE.parent / "build"
TREES = {
    "56.1": "rdma-core",
    "65.0": "rdma-core-65",
}  # release -> folder of the build, and of the sources + "-src"
LIBRARIES = ("librdmacm", "libibverbs", "mlx5", "rxe")
PROVIDERS = ("efa", "hns", "irdma", "bnxt_re")


@dataclass(frozen=True)
class Fix:
    """A fix of rdma-core's history, and the fault that it removed."""

    id: str
    commit: str
    library: str
    fix: str
    effect: str
    fault: provider.Fault | None = None  # None: it cannot be rebuilt
    release: str = provider.RELEASE
    analogy: str = ""
    dut: str = ""
    caught_by: tuple = ()
    environment: tuple = ()  # (name, value)
    missed: str = ""

    @property
    def headers(self):
        """Whether only inline calls have the fault."""
        return self.fault is not None and all(file.endswith("verbs.h") for file, *_ in self.fault.edits)


def _fix(row):
    parts = (row, *row.get("also", ())) if "file" in row else ()
    edits = tuple((part["file"], part.get("function"), part["find"], part["with"]) for part in parts)
    red = tuple(row.get("caught_by", ()))
    fault = provider.Fault(row["id"], row["fix"], row["effect"], edits, red) if edits else None
    same = {key: row[key] for key in ("id", "commit", "library", "fix", "effect")}
    more = {key: row[key] for key in ("release", "analogy", "dut") if key in row}
    missed = row.get("missed") or row.get("not_rebuilt", "")
    environment = tuple(row.get("environment", {}).items())
    return Fix(**same, **more, fault=fault, caught_by=red, environment=environment, missed=missed)


def load(path=FIXES):
    doc = yaml_text.load(Path(path).read_text(encoding="utf-8"))
    try:
        jsonschema.validate(doc, json.loads(SCHEMA.read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        where = "/".join(str(p) for p in error.absolute_path) or "the file"
        raise provider.ProviderError(f"{path}: {where}: {error.message}") from error
    fixes = [_fix(row) for row in doc["fixes"]]
    twice = [name for name, count in Counter(fix.id for fix in fixes).items() if count > 1]
    if twice:
        raise provider.ProviderError(f"{path}: the id {twice[0]} is there twice")
    return fixes


def others():
    """[{provider, commit, effect, seen_by or none}] of analogies.yaml."""
    return yaml_text.load(OTHERS.read_text(encoding="utf-8"))["fixes"]


# ---- the page


def rates(fixes):
    """[(library, faults, measured, caught)], the sum last."""
    rows = []
    for name in (*LIBRARIES, "all"):
        these = [fix for fix in fixes if name in (fix.library, "all")]
        caught = sum(bool(fix.caught_by) for fix in these)
        rows.append((name, len(these), caught + sum(bool(fix.missed) for fix in these), caught))
    return rows


def analogies(rows):
    """Markdown: how many faults of other providers a cell would see, and why not the rest."""
    lines = ["| provider | fixes | seen by a cell |", "|---|---|---|"]
    for name in PROVIDERS:
        these = [row for row in rows if row["provider"] == name]
        lines.append(f"| {name} | {len(these)} | {sum('seen_by' in row for row in these)} |")
    lines += ["", "Not seen:", ""]
    lines += [item(f"- {r['provider']}: {r['effect']}; {r['none']}") for r in rows if "none" in r]
    return "\n".join(lines) + "\n"


def page(fixes):
    """Markdown: the rates, what is missed, and what is open. Which cells catch the others is in the list itself."""
    lines = ["| library | faults | measured | caught | of all |", "|---|---|---|---|---|"]
    lines += [
        f"| {name} | {n} | {done} | {caught} | {100 * caught / n:.0f} % |"
        for name, n, done, caught in rates(fixes)
    ]
    lines += ["", "Missed, with the reason why no cell sees it:", ""]
    lines += [item(f"- `{f.id}` ({f.library}): {f.effect}; {f.missed}") for f in fixes if f.missed]
    rest = ", ".join(f"`{f.id}`" for f in fixes if not f.missed and not f.caught_by)
    if rest:
        lines += ["", item(f"Not measured yet: {rest}.", "")]
    return "\n".join(lines) + "\n"


def item(text, indent="  "):
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


# ---- the trial


class Trial:
    """`hcasim conform --diff` on a library with and without a fault."""

    def __init__(self, hcasim, folder, build=BUILD):
        self.hcasim, self.folder, self.build = Path(hcasim), Path(folder), Path(build)

    def _conform(self, fix, out, lib, *more):
        dut = fix.dut if fix.release == provider.RELEASE else self._newer(fix, out, lib)
        words = [self.hcasim, "conform", "--dut", dut, "--no-tap", "-k", " or ".join(fix.caught_by)]
        env = dict(os.environ, LD_LIBRARY_PATH=str(lib), **dict(fix.environment))
        done = subprocess.run(
            [str(word) for word in (*words, "--out", out, *more)],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    @staticmethod
    def _newer(fix, out, lib):
        """A DUT file: those of newer releases name their libraries themselves."""
        file = Path(f"{out}.yaml")
        base = provider.HERE / "duts" / f"{fix.dut}-65.yaml"
        text = f"extends: {base}\nname: {fix.dut}-65\nenv: {{LD_LIBRARY_PATH: {lib}}}\n"
        file.write_text(text, encoding="utf-8")
        return file

    def run(self, fix):
        """(exit status of the gate, its output): 1 if the fault is caught."""
        tree = TREES[fix.release]
        folder = (self.folder / fix.id).resolve()
        lib = provider.Provider(fix.library, self.build / f"{tree}-src", self.build / tree).make(
            fix.fault, folder
        )
        status, said = self._conform(fix, folder / "before", self.build / tree / "lib")
        if status:
            return status + 10, said
        headers = ("--headers", self._headers(folder, tree)) if fix.headers else ()
        return self._conform(fix, folder / "after", lib, "--diff", folder / "before", *headers)

    def _headers(self, folder, tree):
        """A folder of headers: those of the build, but for the one with the fault."""
        made, whole = folder / "src" / "include", self.build / tree / "include"
        for place in ("infiniband", "rdma"):
            (made / place).mkdir(exist_ok=True)
            for header in (whole / place).iterdir():
                if not (made / place / header.name).exists():
                    (made / place / header.name).symlink_to(header.resolve())
        return made


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-k", default="", metavar="WORD", help="only faults whose id contains WORD")
    p.add_argument("--page", action="store_true", help="print the tables of docs/history.md")
    args = p.parse_args()
    fixes = load()
    if args.page:
        print(page(fixes), analogies(others()), sep="\n", end="")
        return 0
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(BUILD / "release" / "bin" / "hcasim", folder)
        for fix in fixes:
            if fix.caught_by and args.k in fix.id:
                status, said = trial.run(fix)
                missed += status != 1
                print(f"{fix.id}: {'caught' if status == 1 else said}", flush=True)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
