# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Equivalent mutants that the compiler finds: those whose object code is that of the original.

The copy with all mutants of a file is preprocessed once, with the selected mutant as a constant; then it is compiled for
each mutant in question, and without a mutant, and the assembly texts are compared. Results are stored with the copy.
"""
import hashlib
import json
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .catalogue import CatalogueError

PLACE = "hcasim_mutant_fixed"  # switch.h
OPTIMISED = ["-O2", "-DNDEBUG", "-g0", "-w"]
NONE = 0


class File:
    """One source file: compares its mutants with the original."""

    def __init__(self, copy, command, folder):
        self.folder = folder
        self.command = [*command, *OPTIMISED]
        self.text = self._run(["-E", "-P", "-DHCASIM_MUTANT_FIXED", str(copy)])
        if PLACE not in self.text:
            raise CatalogueError(f"{copy}: is not made for a mutant that is a constant")
        version = self._run(["--version"]).splitlines()[0]
        self.reason = f"identical object code: {version}, {' '.join(OPTIMISED[:2])}"
        self.kept = copy.with_suffix(".identical.json")
        self.key = hashlib.sha256("\0".join([self.text, version, *self.command]).encode()).hexdigest()
        self.known = self._known()

    def _run(self, arguments, text=None):
        run = subprocess.run(
            [*self.command, *arguments],
            input=text,
            capture_output=True,
            text=True,
            cwd=self.folder,
            check=False,
        )
        if run.returncode:
            raise CatalogueError(f"{' '.join([*self.command, *arguments])}: {run.stderr.strip()}")
        return run.stdout

    def _known(self):
        """number -> whether it is identical, of an earlier run on the same text."""
        try:
            data = json.loads(self.kept.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {int(n): same for n, same in data["same"].items()} if data["key"] == self.key else {}

    def code(self, number):
        text = self.text.replace(PLACE, f"{number}u")
        return hashlib.sha256(self._run(["-x", "cpp-output", "-S", "-o", "-", "-"], text).encode()).digest()

    def compare(self, numbers, pool):
        """Those of the numbers whose code is the original's."""
        wanted = [n for n in numbers if n not in self.known]
        if wanted:
            right, *codes = pool.map(self.code, [NONE, *wanted])
            self.known |= {n: code == right for n, code in zip(wanted, codes)}
            data = {"key": self.key, "same": self.known}
            self.kept.write_text(json.dumps(data) + "\n", encoding="utf-8")
        return [n for n in numbers if self.known[n]]


def commands(build):
    """copy of a file -> (compiler and its options, folder), without optimisation, input and output."""
    found = {}
    for row in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words, options = iter(shlex.split(row["command"])), []
        for word in words:
            if word in ("-o", "-MF", "-MT", "-c"):
                next(words)
            elif not word.startswith(("-M", "-O", "-g", "-W", "-flto")) and not word.endswith("ccache"):
                options.append(word)
        found[Path(row["directory"], row["file"]).resolve()] = (options, row["directory"])
    return found


def find(mutants, build, jobs):
    """number -> reason, of those mutants that are identical to the original."""
    known, files, reasons = commands(build), {}, {}
    for mutant in mutants:
        files.setdefault(mutant.file, []).append(mutant.number)
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        for name, numbers in files.items():
            copy = (build / "generated-mutants" / name).resolve()
            if copy not in known:
                raise CatalogueError(f"{build}/compile_commands.json does not have {copy}")
            file = File(copy, *known[copy])
            reasons |= dict.fromkeys(file.compare(numbers, pool), file.reason)
    return reasons
