# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Options of `hcasim run`."""
import argparse
import os

DEFAULT_PROFILE = "gen4x16-200g"
# What can be chosen now; a name that is known but not built yet says so.
AVAILABLE = {"device": ["native"], "engine": ["c"], "kernel": ["6.1", "latest"], "mmio": ["trap"]}
PLANNED = {"device": ["mlx5"], "engine": ["rtl", "lockstep"], "mmio": ["poll"]}


def one_of(option):
    def check(value):
        available = ", ".join(AVAILABLE[option])
        if value in PLANNED.get(option, []):
            raise argparse.ArgumentTypeError(f"'{value}' is not built yet; available: {available}")
        if value not in AVAILABLE[option]:
            raise argparse.ArgumentTypeError(f"'{value}' is unknown; available: {available}")
        return value

    return check


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


def profile_names(folder):
    return sorted(name[: -len(".yaml")] for name in os.listdir(folder) if name.endswith(".yaml"))


def profile_in(folder):
    """A profile's name, or the path of a file of one's own."""

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


def machine_name(value):
    plain = value.isascii() and value.replace("-", "").replace("_", "").isalnum()
    if not plain or len(value) > 32:
        raise argparse.ArgumentTypeError(f"'{value}' is not a name of up to 32 letters, digits, - and _")
    return value


def parser(build):
    p = argparse.ArgumentParser(
        prog="hcasim run",
        usage="hcasim run [options] -- CMD...",
        description="Runs CMD, and whatever it starts, on one simulated machine. Returns CMD's exit status.",
    )
    p.add_argument(
        "--hcas", type=number(1, 16), default=1, metavar="N", help="adapters on the wire, 1 to 16 (1)"
    )
    p.add_argument("--device", type=one_of("device"), default="native", help="device family: native")
    p.add_argument("--engine", type=one_of("engine"), default="c", help="send engine: c")
    p.add_argument(
        "--profile",
        type=profile_in(build.profiles),
        default=f"{build.profiles}/{DEFAULT_PROFILE}.yaml",
        metavar="NAME|FILE",
        help=f"timing profile: {', '.join(profile_names(build.profiles))} ({DEFAULT_PROFILE})",
    )
    p.add_argument(
        "--kernel",
        type=one_of("kernel"),
        default="latest",
        metavar="RELEASE",
        help="Linux whose uverbs and rdma_cm libraries find: 6.1, latest (latest)",
    )
    p.add_argument("--mmio", type=one_of("mmio"), default="trap", help="how stores to the BAR are seen: trap")
    p.add_argument("--fault", metavar="SPEC", help="faults to inject on the wire")
    p.add_argument(
        "--trace", metavar="DIR", help="write wire.pcap and the logs of TLPs and WQEs to this folder"
    )
    p.add_argument(
        "--seed", type=number(0, 2**64 - 1), default=1, metavar="N", help="of all random choices (1)"
    )
    p.add_argument(
        "--system-verbs", action="store_true", help="the system's libibverbs, not the one built here"
    )
    p.add_argument("--name", type=machine_name, help="lets --attach find the machine while it runs")
    p.add_argument(
        "--attach", type=machine_name, metavar="NAME", help="run CMD on a machine that runs already"
    )
    return p


def parse(build, args):
    """(options, CMD). The command stands after `--`, or from the first word that is no option."""
    p = parser(build)
    if "--" in args:
        at = args.index("--")
        options, command = p.parse_args(args[:at]), args[at + 1 :]
    else:
        p.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        options = p.parse_args(args)
        command = options.command
    if not command:
        p.error("there is no CMD to run")
    return options, command
