# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Options of `hcasim run`."""
import argparse
import os

from .parser import Parser

DEFAULT_PROFILE = "gen4x16-200g"
DEFAULT_FAMILY = "native"
MAX_HCAS = 16


def number(low, high):
    def check(value):
        try:
            parsed = int(value, 0)
        except ValueError:
            parsed = None
        if parsed is None or not low <= parsed <= high:
            raise argparse.ArgumentTypeError(f"'{value}' is not a number from {low} to {high}")
        return parsed

    return check


def adapters(families):
    """A number of adapters, or a name for each; the native one has the name of its provider, too."""

    def check(value):
        if not any(char.isalpha() for char in value):
            return str(number(1, MAX_HCAS)(value))
        names = value.split(",")
        for name in names:
            if name not in (*families, "hcasim"):
                raise argparse.ArgumentTypeError(f"'{name}' is unknown; available: {', '.join(families)}")
        if len(names) > MAX_HCAS:
            raise argparse.ArgumentTypeError(f"'{value}' is more than {MAX_HCAS} adapters")
        return value

    return check


def profile_names(folder):
    return sorted(name[: -len(".yaml")] for name in os.listdir(folder) if name.endswith(".yaml"))


def profile_in(folder):
    """The name of a built-in profile, or the path of a YAML file."""

    def check(value):
        if "/" in value or value.endswith(".yaml"):
            if not os.path.isfile(value):
                raise argparse.ArgumentTypeError(f"there is no file '{value}'")
            return os.path.abspath(value)
        if value not in profile_names(folder):
            raise argparse.ArgumentTypeError(
                f"'{value}' is unknown; available: {', '.join(profile_names(folder))}"
            )
        return f"{folder}/{value}.yaml"

    return check


def add_set(p):
    p.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="replace a figure of the timing profile, as in pcie.mps=128, in the figure's unit; may be repeated",
    ).completes = "figures"


def engine_names(folder):
    """Engines of this build; rtl-small.so is rtl:small."""
    files = os.listdir(folder) if os.path.isdir(folder) else []
    return ["c", *sorted(name[: -len(".so")].replace("-", ":", 1) for name in files if name.endswith(".so"))]


RTL = ("rtl", "rtl:checked", "rtl:small")  # not built for ci/demo


def engine_in(build):
    """As hcasim-device expects it: c, the path of a shared library, or lockstep: and one of these."""

    def single(value):
        if value == "c":
            return value
        if "/" in value:
            if not os.path.isfile(value):
                raise argparse.ArgumentTypeError(f"there is no file '{value}'")
            return os.path.abspath(value)
        if value in RTL:
            build.engine(value)
        names = engine_names(build.engines)
        if value not in names:
            hint = " (it is built with Verilator: ci/setup test)" if value in RTL else ""
            raise argparse.ArgumentTypeError(
                f"'{value}' is unknown{hint}; available: {', '.join(names)}, lockstep, lockstep:NAME, or the path of a shared library"
            )
        return build.engine(value)

    def check(value):
        pair, _, second = value.partition(":")
        return f"lockstep:{single(second or 'rtl:checked')}" if pair == "lockstep" else single(value)

    return check


def machine_name(value):
    plain = value.isascii() and value.replace("-", "").replace("_", "").isalnum()
    if not plain or len(value) > 32:
        raise argparse.ArgumentTypeError(f"'{value}' is not a name of up to 32 letters, digits, - and _")
    return value


def parser(build):
    p = Parser(
        prog="hcasim run",
        usage="hcasim run [options] -- CMD...",
        description="Runs CMD, and every program that it starts, on a simulated machine with RDMA adapters. "
        "Exits with the status of CMD.",
        epilog="Example: hcasim run --hcas 2 --trace t -- ./my_verbs_test. More: docs/running.md.",
    )
    p.add_argument(
        "--device",
        choices=build.families,
        default=DEFAULT_FAMILY,
        help=f"device family of the adapters (default: {DEFAULT_FAMILY})",
    )
    p.add_argument(
        "--hcas",
        type=adapters(build.families),
        default="1",
        metavar="N|NAME,...",
        help="number of adapters, 1 to 16 (default: 1), or the device family of each one",
    ).completes = "families"
    p.add_argument(
        "--profile",
        type=profile_in(build.profiles),
        default=f"{build.profiles}/{DEFAULT_PROFILE}.yaml",
        metavar="NAME|FILE",
        help=f"timing profile: {', '.join(profile_names(build.profiles))} (default: {DEFAULT_PROFILE}), or a YAML file",
    ).completes = "profiles"
    add_set(p)
    p.add_argument(
        "--fault",
        metavar="SPEC",
        help="faults to inject on the wire, each with its probability: loss=0.01,dup=0.01,reorder=0.01,corrupt=0.001",
    )
    p.add_argument(
        "--trace",
        metavar="DIR",
        help="write wire.pcap and the logs of TLPs, WQEs, CQEs and stages to this folder",
    )
    p.add_argument(
        "--no-events",
        action="store_true",
        help="--trace without events.log, which takes most of its time and space and is for hcasim timeline, wave and stat",
    )
    p.add_argument(
        "--explain",
        action="store_true",
        help="say on standard error what went wrong, when CMD has ended: hcasim explain",
    )
    p.add_argument(
        "--record",
        metavar="FILE",
        help="write all stimulus and output of the adapters to this file, for hcasim replay",
    )
    p.add_argument(
        "--seed",
        type=number(0, 2**64 - 1),
        default=1,
        metavar="N",
        help="seed of all random choices (default: 1)",
    )
    p.add_argument(
        "--clock",
        choices=["wall", "virtual"],
        default="wall",
        help="wall: simulated time follows the wall clock while the adapters are idle; virtual: it passes only by what "
        "adapters and the profile's section cpu say, whatever the host's speed (default: wall)",
    )
    p.add_argument(
        "--engine",
        type=engine_in(build),
        default="c",
        metavar="NAME|FILE",
        help=f"send engine: {', '.join(engine_names(build.engines))} or a shared library; lockstep:NAME: the C engine "
        "and another one, compared call by call; lockstep: lockstep:rtl:checked (default: c)",
    ).completes = "engines"
    p.add_argument(
        "--wave",
        metavar="FILE",
        help="lockstep: write the other engine's waveform (FST) of the time before the first difference to this file",
    )
    p.add_argument(
        "--kernel",
        choices=["6.1", "latest"],
        default="latest",
        help="Linux release whose uverbs and rdma_cm ABI libraries find (default: latest)",
    )
    p.add_argument(
        "--no-memlock",
        action="store_true",
        help="ignore the programs' RLIMIT_MEMLOCK, beyond which Linux registers no memory without CAP_IPC_LOCK",
    )
    p.add_argument(
        "--system-verbs",
        action="store_true",
        help="use the system's libibverbs instead of the one built here",
    )
    p.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print no notes on programs that do not see the adapters, only errors",
    )
    p.add_argument(
        "--name",
        type=machine_name,
        metavar="NAME",
        help="name of the machine, for --attach in another terminal",
    )
    p.add_argument(
        "--attach", type=machine_name, metavar="NAME", help="run CMD on a machine that is already running"
    ).completes = "machines"
    return p


def check_together(p, options):
    """Options that would have no effect are errors."""
    if options.attach:
        for name, value in vars(options).items():
            if name not in ("attach", "system_verbs", "quiet", "command") and value != p.get_default(name):
                option = name.replace("_", "-")
                p.error(f"--{option} is for a new machine: '{options.attach}', of --attach, runs already")
    if options.no_events and options.trace is None:
        p.error("--no-events has no effect without --trace")
    if options.no_events and options.explain:
        p.error("--no-events leaves out events.log, which --explain needs")
    if options.wave is not None and not options.engine.startswith("lockstep:"):
        p.error("--wave has no effect without --engine lockstep")


def parse(build, args):
    """(options, CMD). The command follows `--`, or starts at the first word that is not an option."""
    p = parser(build)
    if "--" in args:
        at = args.index("--")
        options, command = p.parse_args(args[:at]), args[at + 1 :]
    else:
        p.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        options = p.parse_args(args)
        command = options.command
    if not command:
        p.error("no CMD to run: hcasim run [options] -- CMD...")
    check_together(p, options)
    return options, command
