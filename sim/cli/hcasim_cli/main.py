# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The hcasim command: finds the command in the table and runs it."""
import os
import signal
import sys

from . import exits
from .commands import COMMANDS, after, find
from .parser import nearest


def usage():
    width = max(len(command.title) for command in COMMANDS)
    rows = "\n".join(f"  {command.title:{width}}  {command.summary}" for command in COMMANDS)
    return f"usage: hcasim COMMAND [ARGUMENT...]\n\n{rows}\n\nhcasim help COMMAND lists its options; hcasim --version."


def unknown(word, outer=""):
    """Says that no command has this name, and which one has one like it."""
    choices = after(outer) + ([] if outer else ["help", "--help", "--version"])
    near = nearest(word, choices)
    more = f"the nearest one is '{near}'" if near else f"there are: {', '.join(choices)}"
    print(f"{f'hcasim {outer}'.rstrip()}: '{word}' is no command; {more}", file=sys.stderr)
    return exits.WRONG


def inner_unknown(command, words):
    """Whether a word follows the command that could only be a command of its own, and is none.

    An address of a requirement, as wr/3.2 or wr/, has a slash.
    """
    inner = words[len(command.name.split()) :]
    return bool(after(command.name) and inner and not inner[0].startswith("-") and "/" not in inner[0])


def help_of(build, words):
    command = find(words)
    if not words:
        print(usage())
    elif not command:
        return unknown(words[0])
    elif inner_unknown(command, words):
        return unknown(words[1], command.name)
    else:
        command.parser(build).print_help()
    return exits.OK


def dispatch(build, words):
    if not words:
        print(usage(), file=sys.stderr)
        return exits.WRONG
    if words[0] in ("-h", "--help", "help"):
        return help_of(build, words[1:])
    if words[0] == "__generate":
        from .generate import main as generate

        return generate(build, words[1:])
    if words[0] == "__complete":
        from .completion import main as complete

        os.environ["HCASIM_BUILD"] = build.build
        return complete(build, words[1:])
    if words[0] == "--version":
        from .versions import text

        print(text(build))
        return exits.OK
    command = find(words)
    if not command:
        return unknown(words[0])
    if inner_unknown(command, words):
        return unknown(words[1], command.name)
    if command.name.startswith(("conform", "doctor")):  # they use the conformance runner
        os.environ["HCASIM_BUILD"] = build.build
    return command.main(build, words[len(command.name.split()) :])


def main(build, argv=None):
    sys.stdout.reconfigure(line_buffering=True)  # a pipe or a log gets each line at once
    try:
        return dispatch(build, sys.argv[1:] if argv is None else argv)
    except ModuleNotFoundError as error:
        print(
            f"hcasim: the Python module {error.name} is missing: hcasim doctor says what to install",
            file=sys.stderr,
        )
        return exits.WRONG
    except KeyboardInterrupt:
        return exits.SIGNALED + signal.SIGINT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return exits.SIGNALED + signal.SIGPIPE
