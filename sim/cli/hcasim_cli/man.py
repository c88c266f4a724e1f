# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Manual pages, in man(7): of commands from their parsers, of files from the declarations of their keys."""
import argparse
import json
import os
import textwrap
import time

import yaml

from . import exits
from .commands import COMMANDS

WIDTH = 70  # of source lines; escapes make them longer
ENVIRONMENT = (
    ("NO_COLOR", "if set and not empty, output has no colors"),
    ("LD_LIBRARY_PATH", "a folder with libibverbs.so.1 is used instead of the rdma-core that hcasim brings"),
    ("XDG_RUNTIME_DIR", "folder for the sockets of running machines, else /dev/shm or /tmp"),
)


def plain(text):
    """A word or line of text: characters that mean something to roff are escaped."""
    text = " ".join(str(text).split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def paragraph(text):
    """Lines of text."""
    lines = textwrap.wrap(" ".join(str(text).split()), WIDTH, break_long_words=False, break_on_hyphens=False)
    return [plain(line) for line in lines]


def bold(text):
    return f"\\fB{plain(text)}\\fP"


class Page:
    def __init__(self, name, section, summary, version):
        day = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
        manual = "User Commands" if section == 1 else "File Formats"
        date = time.strftime("%Y-%m-%d", day)
        self.path = f"man{section}/{name}.{section}"
        self.lines = [f'.TH {name.upper()} {section} {date} "hcasim {version}" "{manual}"']
        self.section("NAME", f"{plain(name)} \\- {plain(summary)}")

    def section(self, title, *lines):
        self.lines += [f".SH {plain(title)}", *lines]

    def term(self, term, text):
        """A paragraph with a tag, which is roff already."""
        self.lines += [".TP", term, *paragraph(text)]

    def terms(self, rows):
        for term, text in rows:
            self.term(bold(term), text)

    def deeper(self, rows):
        """Runs `rows`, which adds terms below the last one."""
        self.lines.append(".RS")
        rows()
        self.lines.append(".RE")

    def example(self, text):
        lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
        self.lines += [".nf", *(f"\\&{line}" for line in lines), ".fi"]

    def text(self):
        return '.\\" SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB\n' + "\n".join(self.lines) + "\n"


def see_also(page, *names):
    """Names as hcasim-run(1)."""
    words = [name.rstrip(")").split("(") for name in names]
    rows = [f".BR {plain(name)} ({section})" for name, section in words]
    page.section("SEE ALSO", *(f"{row} ," for row in rows[:-1]), rows[-1])


# ---- Commands ----


def usage(parser):
    """The lines of a synopsis, without the name of the option for help."""
    formatter = argparse.HelpFormatter(parser.prog, width=10000)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    return [line.strip().replace("[-h] ", "") for line in formatter.format_help().strip().splitlines()]


def synopsis(parser):
    for line in usage(parser):
        yield f"{bold(parser.prog)} {plain(line.removeprefix(parser.prog))}"
        yield ".br"


def term_of(parser, action):
    names = ", ".join(bold(name) for name in action.option_strings)
    value = "" if action.nargs == 0 else parser._get_formatter()._format_args(action, action.dest.upper())
    return " ".join(filter(None, [names, f"\\fI{plain(value)}\\fP" if value else ""]))


def options(page, parser):
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            page.term(term_of(parser, action), formatter._expand_help(action) if action.help else "")


def command_page(build, rows):
    """Of a command; further rows are the same command with an option that selects another parser."""
    first = rows[0]
    page = Page(f"hcasim-{first.name.replace(' ', '-')}", 1, first.summary, build.version)
    parsers = [row.parser(build) for row in rows]
    page.section("SYNOPSIS", *[line for parser in parsers for line in synopsis(parser)][:-1])
    for row, parser in zip(rows, parsers):
        page.section(f"WITH {row.option}" if row.option else "DESCRIPTION", *paragraph(parser.description))
        if row is not first:
            options(page, parser)
            continue
        if parser.epilog:
            page.lines += [".PP", *paragraph(parser.epilog)]
        page.section("OPTIONS")
        options(page, parser)
    page.section("EXIT STATUS", "See", ".BR hcasim (1).")
    outer = [f"hcasim-{first.name.split()[0]}(1)"] if " " in first.name else []
    inner = {
        f"hcasim-{row.name.replace(' ', '-')}(1)": 0
        for row in COMMANDS
        if row.name.startswith(f"{first.name} ")
    }
    see_also(page, "hcasim(1)", *outer, *inner)
    return page


def main_page(build):
    page = Page("hcasim", 1, "simulated RDMA adapters and a conformance suite for verbs", build.version)
    page.section("SYNOPSIS", f"{bold('hcasim')} \\fICOMMAND\\fP [\\fIARGUMENT\\fP...]")
    page.section(
        "DESCRIPTION",
        *paragraph(
            "Runs verbs programs, unmodified, on simulated RDMA adapters, and tests verbs devices and providers."
        ),
    )
    page.section("COMMANDS")
    for name in dict.fromkeys(row.name for row in COMMANDS):
        summary = next(row.summary for row in COMMANDS if row.name == name)
        page.term(f".BR hcasim\\-{plain(name.replace(' ', '-'))} (1)", summary)
    page.term(f"{bold('help')} [\\fICOMMAND\\fP]", "print the commands, or the options of one")
    page.term(bold("--version"), "print the version, its commit, and the rdma-core that is used")
    page.section("EXIT STATUS")
    page.terms(exits.TABLE)
    page.lines += [".PP", *paragraph(exits.NOTE)]
    page.section("ENVIRONMENT")
    page.terms(ENVIRONMENT)
    page.section("EXAMPLES")
    page.example("hcasim run --hcas 2 -- ibv_devinfo\nhcasim conform --dut mlx5\nhcasim doctor")
    see_also(page, "hcasim-dut(5)", "hcasim-profile(5)")
    return page


# ---- DUT files ----


def kind(schema, defs):
    """What a value is, in words."""
    if "const" in schema:
        return f'"{schema["const"]}"'
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    if "anyOf" in schema:
        return " or ".join(kind(resolved(one, defs), defs) for one in schema["anyOf"])
    if schema["type"] == "array":
        return f"list: {kind(resolved(schema['items'], defs), defs)}"
    words = {"object": "mapping", "string": "text", "boolean": "true or false", "integer": "whole number"}
    low, high = schema.get("minimum"), schema.get("maximum")
    limits = (f" from {low}" if low is not None else "") + (f" to {high}" if high is not None else "")
    return words[schema["type"]] + limits


def resolved(schema, defs):
    """The schema with what it refers to."""
    return {**defs[schema["$ref"].rpartition("/")[2]], **schema} if "$ref" in schema else schema


def keys(page, schema, defs):
    for name, row in schema["properties"].items():
        row = resolved(row, defs)
        needed = "required" if name in schema.get("required", ()) else "optional"
        page.term(f"{bold(name)} ({plain(kind(row, defs))}; {needed})", row["description"])
        inner = resolved(row.get("items", row), defs)
        if "properties" in inner:
            page.deeper(lambda: keys(page, inner, defs))


def dut_page(build):
    folder = f"{build.top}/conformance"
    with open(f"{folder}/schema/dut.schema.json") as file:
        schema = json.load(file)
    page = Page("hcasim-dut", 5, "a device under test of hcasim conform", build.version)
    page.section(
        "DESCRIPTION",
        *paragraph(
            "A YAML file that says how a verbs device is started, what its ends are called, what it can do, and where "
            "it is known to fail. hcasim conform --dut takes its path, or the name of one that hcasim brings."
        ),
    )
    page.section("KEYS")
    page.term(f"{bold('extends')} (text; optional)", schema["description"])
    keys(page, schema, schema["$defs"])
    page.section("EXAMPLE")
    with open(f"{folder}/duts/native-release-1-hca.yaml") as file:
        page.example("".join(line for line in file if not line.startswith("#")))
    see_also(page, "hcasim-conform(1)")
    return page


# ---- Timing profiles ----


def limits(figure):
    whole = {"whole": "whole number ", "power_of_2": "power of 2 "}.get(figure.get("kind"), "")
    text = f"{whole}from {figure['min']} to {figure['max']} {figure['unit']}"
    default = figure.get("default")
    return (
        text
        if default is None
        else f"{text}; default {f'as {default}' if isinstance(default, str) else default}"
    )


def figures(page, prefix, rows):
    for row in rows:
        more = f" ({row['limit']})" if "limit" in row else ""
        key = f"{prefix}.{row['key']}"
        page.term(f"{bold(key)} ({plain(limits(row))})", row["doc"] + more)


def profile_page(build):
    with open(f"{build.top}/spec/profile.yaml") as file:
        groups = yaml.safe_load(file)["groups"]
    page = Page("hcasim-profile", 5, "a timing profile of hcasim", build.version)
    page.section(
        "DESCRIPTION",
        *paragraph(
            "A YAML file with the figures of an adapter, its host and the wire: for each one its value, unit and source. "
            "--profile takes its path, or the name of one that hcasim brings; --set KEY=VALUE replaces a figure."
        ),
    )
    page.lines.append(".PP")
    page.example('pcie:\n  mps: {value: 256, unit: B, source: "lspci -vv of our servers"}')
    for group in groups:
        page.section(group["name"], *paragraph(group["doc"]))
        figures(page, group["name"], group["figures"])
        if "stages" in group:
            names = ", ".join(group["stages"]["names"])
            page.lines += [".PP", *paragraph(f"STAGE is one of {names}.")]
            figures(page, f"{group['name']}.stages.STAGE", group["stages"]["figures"])
    see_also(page, "hcasim-profile(1)", "hcasim-run(1)")
    return page


def pages(build):
    yield main_page(build)
    for name in dict.fromkeys(row.name for row in COMMANDS):
        yield command_page(build, [row for row in COMMANDS if row.name == name])
    yield dut_page(build)
    yield profile_page(build)
