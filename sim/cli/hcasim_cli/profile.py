# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim profile: prints a timing profile, or the JSON Schema of profiles; and --set of other commands."""
import contextlib
import os
import subprocess
import sys
import tempfile

import yaml

from . import exits
from .options import DEFAULT_PROFILE, add_set, profile_in, profile_names
from .parser import Parser


class ProfileError(Exception):
    """An error for the user."""


def effective(build, profile, sets):
    """The text of a profile with these figures replaced. bin/hcasim-profile checks it, as the device does."""
    result = subprocess.run(
        [f"{build.build}/bin/hcasim-profile", profile, *sets], capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise ProfileError(result.stderr.strip() or f"hcasim-profile ended with {result.returncode}")
    return result.stdout


@contextlib.contextmanager
def effective_file(build, profile, sets):
    """Path of the profile, or of a temporary one with these figures replaced."""
    if not sets:
        yield profile
        return
    text = effective(build, profile, sets)
    with tempfile.TemporaryDirectory(prefix="hcasim-profile-") as folder:
        path = f"{folder}/{os.path.basename(profile)}"
        with open(path, "w") as file:
            file.write(text)
        yield path


def parser(build):
    p = Parser(
        prog="hcasim profile",
        description="Prints a timing profile with the value, unit and source of every figure, as a file that --profile "
        "accepts. Without arguments: the profiles that there are.",
        epilog="Example: hcasim profile connectx3 --set pcie.mps=128 --print > mine.yaml. More: docs/profiles.md.",
    )
    p.add_argument(
        "profile", nargs="?", type=profile_in(build.profiles), metavar="NAME|FILE"
    ).completes = "profiles"
    p.add_argument(
        "--print", action="store_true", help="print the profile: the one named, or the default of hcasim run"
    )
    p.add_argument("--schema", action="store_true", help="print the JSON Schema of timing profiles")
    add_set(p)
    return p


def print_list(build):
    for name in profile_names(build.profiles):
        with open(f"{build.profiles}/{name}.yaml") as file:
            print(f"{name:14}  {yaml.safe_load(file)['description']}")


def main(build, args):
    p = parser(build)
    options = p.parse_args(args)
    if options.schema and (options.profile or options.print or options.set):
        p.error("--schema is that of all profiles: it goes with no other argument")
    if options.print or options.set:
        options.profile = options.profile or f"{build.profiles}/{DEFAULT_PROFILE}.yaml"
    try:
        if options.schema:
            with open(f"{build.build}/spec/profile.schema.json") as file:
                sys.stdout.write(file.read())
        elif options.profile:
            sys.stdout.write(effective(build, options.profile, options.set))
        else:
            print_list(build)
    except (ProfileError, OSError) as error:
        print(f"hcasim: {error}", file=sys.stderr)
        return exits.WRONG
    return exits.OK
