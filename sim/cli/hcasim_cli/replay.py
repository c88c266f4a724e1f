# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim replay: does again what a record says, and compares."""
import subprocess
import sys

from . import exits
from .options import engine_in, engine_names
from .parser import Parser


def parser(build):
    p = Parser(
        prog="hcasim replay",
        description="Replays records of `hcasim run --record` without the application and compares every TLP, frame, "
        "WQE and CQE, byte for byte and picosecond for picosecond. Exits with 0 if nothing differs, with 1 after the "
        "first difference, with 2 if a file cannot be replayed.",
        epilog="More: docs/record-replay.md.",
    )
    p.add_argument("files", nargs="+", metavar="FILE", help="records")
    p.add_argument(
        "--engine",
        type=engine_in(build),
        default="c",
        metavar="NAME|FILE",
        help=f"send engine: {', '.join(engine_names(build.engines))}, a shared library, or lockstep:NAME (default: c)",
    ).completes = "engines"
    p.add_argument("--print", action="store_true", help="print the events as text, and replay nothing")
    return p


def main(build, args):
    options = parser(build).parse_args(args)
    command = [build.replay_program, "--engine", options.engine] + (["--print"] if options.print else [])
    status = exits.OK
    for name in options.files:
        sys.stdout.flush()
        try:
            result = subprocess.run([*command, "--", name], stdin=subprocess.DEVNULL, check=False).returncode
        except OSError as error:
            print(f"hcasim: cannot start {build.replay_program}: {error.strerror}", file=sys.stderr)
            return exits.MACHINE_FAILED
        status = max(status, result if result >= 0 else exits.MACHINE_FAILED)
    return status
