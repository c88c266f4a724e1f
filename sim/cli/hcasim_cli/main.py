# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The hcasim command: finds the sub-command. Modules are imported when they are needed: starting is quick."""
import os
import sys

USAGE = """\
usage: hcasim run [options] -- CMD...   run any verbs program on simulated adapters
       hcasim replay [options] FILE...  replay records of hcasim run --record, and compare
       hcasim timeline DIR -o FILE      what a traced run did, for ui.perfetto.dev
       hcasim wave DIR -o FILE          its queue levels, credits and stages, for GTKWave
       hcasim stat DIR | -- CMD...      its utilisation, queue depths, stalls and latencies
       hcasim conform [options]         run the conformance suite on a device under test
       hcasim calibrate                 compare the model with published measurements, or fit a profile to them
       hcasim calibrate --against NAME  compare an engine's clock cycles with a timing profile
       hcasim profile [NAME|FILE]       print a timing profile: every figure with its unit and source
       hcasim --version

hcasim run --help and so on list the options."""


class Build:
    """Where the parts of this build are."""

    def __init__(self, top, build, rdma_core_lib, sanitizer_runtime):
        self.top = top
        self.build = build
        self.rdma_core_lib = rdma_core_lib
        self.sanitizer_runtime = sanitizer_runtime

    @property
    def device_program(self):
        return f"{self.build}/bin/hcasim-device"

    @property
    def replay_program(self):
        return f"{self.build}/bin/hcasim-replay"

    @property
    def preload(self):
        return f"{self.build}/lib/libhcasim_preload.so"

    @property
    def preload_virtual(self):
        """The same for machines on the virtual clock."""
        return f"{self.build}/lib/libhcasim_preload_virtual.so"

    @property
    def provider(self):
        """As libibverbs wants it: it appends -rdmavNN.so."""
        return f"{self.build}/lib/libhcasim"

    @property
    def wrappers(self):
        return f"{self.build}/libexec/hcasim"

    @property
    def engines(self):
        """Shared libraries with send engines."""
        return f"{self.build}/lib/engines"

    @property
    def families(self):
        """Device families: folders of sim/devices with a driver."""
        folder = f"{self.top}/sim/devices"
        return sorted(
            name for name in os.listdir(folder) if os.path.isfile(f"{folder}/{name}/driver/driver.h")
        )

    @property
    def profiles(self):
        return f"{self.top}/sim/timing/profiles"


def version(build):
    with open(f"{build.top}/CMakeLists.txt") as file:
        for line in file:
            if line.startswith("project("):
                return line.split("VERSION")[1].split()[0]
    return "unknown"


def conform(build, args):
    sys.path.insert(0, f"{build.top}/conformance")
    os.environ["HCASIM_BUILD"] = build.build
    from hcasim_conform.cli import main as conform_main

    return conform_main(args)


def calibrate(build, args):
    if any(arg.split("=")[0] == "--against" for arg in args):
        from .calibrate import main as calibrate_main
    else:
        sys.path.insert(0, f"{build.top}/sim/calibrate")
        from hcasim_calibrate.cli import main as calibrate_main

    return calibrate_main(build, args)


def main(build, argv=None):
    args = sys.argv[1:] if argv is None else argv
    command = args[0] if args else None
    if command == "run":
        from .run import main as run_main

        return run_main(build, args[1:])
    if command == "replay":
        from .replay import main as replay_main

        return replay_main(build, args[1:])
    if command in ("timeline", "wave", "stat"):
        from . import views

        return getattr(views, f"{command}_main")(build, args[1:])
    if command == "conform":
        return conform(build, args[1:])
    if command == "calibrate":
        return calibrate(build, args[1:])
    if command == "profile":
        from .profile import main as profile_main

        return profile_main(build, args[1:])
    if command in ("-h", "--help", "help"):
        print(USAGE)
        return 0
    if command == "--version":
        print(f"hcasim {version(build)}")
        return 0
    if command:
        print(f"hcasim: '{command}' is not a command", file=sys.stderr)
    print(USAGE, file=sys.stderr)
    return 2
