# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim __complete WORD... CURRENT: what the current word of a command line can be, for completion/hcasim.bash and _hcasim.

Prints a line for each word, with its meaning behind a tab. Prints nothing where file names are meant, or nothing is known.
An argument of a parser names its words by the attribute `completes`, a key of SOURCES; choices need none.
"""
import argparse
import glob
import os

import yaml

from . import exits, machine_folder
from .commands import COMMANDS, after, find
from .options import DEFAULT_PROFILE, engine_names, profile_names

# ---- Values ----


def duts(build, _begin):
    files = glob.glob(f"{build.top}/conformance/duts/*.yaml")
    devices = glob.glob("/sys/class/infiniband/*")
    names = [os.path.basename(path).removesuffix(".yaml") for path in files]
    return names + [f"device:{os.path.basename(path)}" for path in devices]


def engines(build, _begin):
    names = engine_names(build.engines)
    return [*names, "lockstep", *(f"lockstep:{name}" for name in names)]


def machines(_build, _begin):
    """Names of this user's running machines."""
    found = [path for base in machine_folder.bases() for path in glob.glob(machine_folder.named("*", base))]
    own = machine_folder.named("", "")
    return [f"/{os.path.basename(path)}".removeprefix(own) for path in found]


def keys(node, prefix=""):
    for key, value in node.items():
        if isinstance(value, dict) and "value" in value:
            yield f"{prefix}{key}="
        elif isinstance(value, dict):
            yield from keys(value, f"{prefix}{key}.")


def figures(build, _begin):
    with open(f"{build.profiles}/{DEFAULT_PROFILE}.yaml") as file:
        return keys(yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def cells(_build, begin):
    from hcasim_conform.model.tables import Tables
    from hcasim_conform.select.complete import next_parts
    from hcasim_conform.select.enumeration import Enumerator

    return next_parts(Enumerator(Tables()), begin)


SOURCES = {
    "duts": duts,
    "profiles": lambda build, _: profile_names(build.profiles),
    "engines": engines,
    "families": lambda build, _: build.families,
    "machines": machines,
    "figures": figures,
    "cells": cells,
}


def values(build, action, begin):
    source = getattr(action, "completes", None)
    found = SOURCES[source](build, begin) if source else action.choices or ()
    return dict.fromkeys(sorted(found), "")


# ---- The place on the command line ----


def options(command, parser):
    """The options of a command, and those that select another row of the table."""
    rows = {row.option: row.summary for row in COMMANDS if row.name == command.name and row.option}
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            rows.update((name, formatter._expand_help(action)) for name in action.option_strings)
    return rows


def value_of(build, parser, before, current):
    """Words for the value of an option, or of the positional argument."""
    known = parser._option_string_actions
    name, equals, begin = current.partition("=")
    if equals and name in known:
        return {f"{name}={word}": "" for word in values(build, known[name], begin)}
    if before and before[-1] in known and known[before[-1]].nargs != 0:
        return values(build, known[before[-1]], current)
    positional = [action for action in parser._actions if not action.option_strings]
    return values(build, positional[0], current) if positional else {}


def candidates(build, before, current):
    """{word: meaning}"""
    summaries = {command.name: command.summary for command in reversed(COMMANDS)}
    if before[:1] == ["help"]:
        return {word: summaries[" ".join([*before[1:], word])] for word in after(" ".join(before[1:]))}
    if not before:
        more = {"help": "print the options of a command", "--help": "", "--version": ""}
        return {**{word: summaries[word] for word in after()}, **more}
    command = find(before)
    if not command:
        return {}
    parser = command.parser(build)
    if current.startswith("-") and "=" not in current:
        return options(command, parser)
    if command.name.split() == before and after(command.name) and not current.startswith("-"):
        return {word: summaries[f"{command.name} {word}"] for word in after(command.name)}
    return value_of(build, parser, before, current)


def main(build, args):
    *before, current = args
    for word, meaning in candidates(build, before, current).items():
        if word.startswith(current):
            print(f"{word}\t{' '.join(meaning.split())}" if meaning else word)
    return exits.OK
