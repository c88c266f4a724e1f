# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The table of commands. Help, manual pages and completion are generated from it and the parsers of its rows."""
import importlib
import sys
from typing import NamedTuple

from . import exits


class Command(NamedTuple):
    name: str  # one or two words
    summary: str
    module: str  # imported when the command is used: hcasim starts quickly
    prefix: str = ""  # of the module's functions parser(build) and main(build, args)
    option: str = ""  # the row is for command lines with this option
    light: str = ""  # module of the parser, if that of main takes long to import

    @property
    def title(self):
        return f"{self.name} {self.option}".rstrip()

    def parser(self, build):
        return self._function(build, self.light or self.module, "parser")(build)

    def main(self, build, args):
        return self._function(build, self.module, "main")(build, args)

    def _function(self, build, module, name):
        sys.path += [folder for folder in build.modules if folder not in sys.path]
        try:
            return getattr(importlib.import_module(module), self.prefix + name)
        except ModuleNotFoundError as error:
            if not module.startswith(error.name):
                raise
            print(
                f"hcasim {self.name}: not in an installed copy: it needs the source tree and its build",
                file=sys.stderr,
            )
            sys.exit(exits.WRONG)


CONFORM = "hcasim_conform.options"
COMMANDS = (
    Command("run", "run any verbs program on simulated adapters", "hcasim_cli.run"),
    Command("replay", "replay records of hcasim run --record, and compare", "hcasim_cli.replay"),
    Command("timeline", "timeline of a traced run, for ui.perfetto.dev", "hcasim_cli.views", "timeline_"),
    Command(
        "wave", "queue levels, credits and stages of a traced run, for GTKWave", "hcasim_cli.views", "wave_"
    ),
    Command(
        "stat", "utilisation, queue depths, stalls and latencies of a traced run", "hcasim_cli.views", "stat_"
    ),
    Command("explain", "say what went wrong in a traced run, and where in the program", "hcasim_cli.explain"),
    Command(
        "conform", "run the conformance suite on a device under test", "hcasim_conform.cli", light=CONFORM
    ),
    Command("conform merge", "join the shards of a run", "hcasim_conform.commands", "merge_", light=CONFORM),
    Command(
        "conform report",
        "put several runs side by side into one report",
        "hcasim_conform.commands",
        "report_",
        light=CONFORM,
    ),
    Command(
        "conform trend",
        "show the runs of a folder in their order",
        "hcasim_conform.commands",
        "trend_",
        light=CONFORM,
    ),
    Command(
        "conform mutants", "run the suite on faulty builds of the adapter", "hcasim_conform.mutants.judge"
    ),
    Command(
        "conform mutants",
        "run the suite on the mutants of a generator",
        "hcasim_conform.mutants.generated.command",
        option="--generated",
    ),
    Command("calibrate", "compare the model with published measurements", "hcasim_calibrate.cli"),
    Command(
        "calibrate",
        "compare an engine's clock cycles with a profile",
        "hcasim_cli.calibrate",
        option="--against",
    ),
    Command("doctor", "try whether hcasim works on this host, and say what to change", "hcasim_cli.doctor"),
    Command("profile", "print a timing profile: every figure with its unit and source", "hcasim_cli.profile"),
)


def find(words):
    """The command that a command line starts with, or None."""
    own = words[: words.index("--")] if "--" in words else words
    options = {word.split("=")[0] for word in own}
    named = [c for c in COMMANDS if c.name.split() == words[: len(c.name.split())]]
    fitting = [c for c in named if not c.option or c.option in options]
    return max(fitting, key=lambda c: (len(c.name), len(c.option)), default=None)


def after(name=""):
    """The words that can follow a command, or the empty name."""
    outer = name.split()
    inner = [c.name.split() for c in COMMANDS]
    found = [words[len(outer)] for words in inner if words[:-1] == outer]
    return list(dict.fromkeys(found))
