# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Where the parts of hcasim are: in a build folder and its source tree, or below the prefix of an installed copy.

An installed copy mirrors the build folder below lib/hcasim and the source tree below share/hcasim, so that paths are the same
in both.
"""
import json
import os
import subprocess
import sys

CONFIGURED = "CMAKE_CACHEFILE_DIR:INTERNAL="


def load(folder):
    """The build in a folder; None: it is no such folder."""
    try:
        with open(f"{folder}/build.json", encoding="utf-8") as file:
            return Build(folder, json.load(file))
    except FileNotFoundError:
        return None


class Build:
    """The parts of one build folder, or of its mirror in an installed copy.

    `about` is the content of its build.json: paths in it are relative to the folder, unless they are absolute.
    """

    def __init__(self, folder, about):
        self.build = folder
        self.about = about
        self.top = self._located(about["top"])
        self.sanitizer_runtime = about["sanitizer_runtime"]

    def _located(self, path):
        return os.path.normpath(os.path.join(self.build, path))

    @property
    def rdma_core(self):
        """The folder of the rdma-core that programs get, or None: that of the system."""
        return self._located(self.about["rdma_core"]) if self.about["rdma_core"] else None

    @property
    def rdma_core_lib(self):
        return self.rdma_core and f"{self.rdma_core}/lib"

    @property
    def rdma_core_bin(self):
        return self.rdma_core and f"{self.rdma_core}/bin"

    @property
    def version(self):
        return self.about["version"]

    @property
    def commit(self):
        """The commit of the source tree; in an installed copy, the one that it was installed from. "": not known."""
        if not os.path.exists(f"{self.top}/.git"):
            return self.about["commit"]
        git = ["git", "-C", self.top, "describe", "--always", "--dirty", "--tags"]
        try:
            return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return ""

    @property
    def device_program(self):
        return self._located(self.about["device"])

    @property
    def replay_program(self):
        return self.program("hcasim-replay")

    def program(self, name):
        return self._made(f"{self.build}/bin/{name}", name)

    def engine(self, name):
        """The file of a send engine; rtl:small is rtl-small.so."""
        plain = name.replace(":", "-", 1)
        return self._made(f"{self.engines}/{plain}.so", f"engine-{plain}")

    def _made(self, path, target):
        """The path of a part. In a build folder, one that the target `hcasim` does not have is built at its first use."""
        if not os.path.exists(path) and os.path.exists(f"{self.build}/CMakeCache.txt"):
            original = self._copied_from()
            if original:
                print(
                    f"hcasim: {target} is not built, and {self.build} is a copy of {original}: "
                    "remove it and configure again",
                    file=sys.stderr,
                )
                return path
            print(f"hcasim: building {target}, once", file=sys.stderr, flush=True)
            command = ["cmake", "--build", self.build, "--target", target]
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
            )
            if done.returncode:
                print("\n".join(done.stdout.splitlines()[-20:]), file=sys.stderr)
        return path

    def _copied_from(self):
        """The folder that cmake configured, if this is a copy: its rules build that folder. Else None."""
        with open(f"{self.build}/CMakeCache.txt", encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in file if line.startswith(CONFIGURED)]
        original = lines[0].removeprefix(CONFIGURED) if lines else self.build
        return None if os.path.realpath(original) == os.path.realpath(self.build) else original

    @property
    def preload(self):
        return f"{self.build}/lib/libhcasim_preload.so"

    @property
    def calls(self):
        """For programs of traced machines."""
        return f"{self.build}/lib/libhcasim_calls.so"

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
        """Device families that hcasim-device has."""
        return self.about["families"]

    @property
    def profiles(self):
        return f"{self.top}/sim/timing/profiles"

    @property
    def modules(self):
        """Folders with Python packages of commands."""
        return [f"{self.top}/conformance", f"{self.top}/sim/calibrate"]
