# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The initramfs of the soft-RoCE machine: a kernel's own modules, installed programs and the runner of this build."""
import gzip
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]

# In logical order; dependencies are read from the files.
MODULES = ("virtio_pci", "virtio_console", "veth", "crc32_generic", "ib_uverbs", "rdma_ucm", "rdma_rxe")
PROVIDER = "librxe-rdmav34.so"
# as udev creates them; they are here so that init needs no mkdir
FOLDERS = ("bin", "dev", "lib", "lib64", "lib/modules", "proc", "sys", "tmp")


class ImageError(Exception):
    """A part of the image is missing; the message names it and how to get it."""


def find_program(name, hint):
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not path:
        raise ImageError(f"there is no '{name}' here: {hint}")
    return Path(path)


def fetched():
    """The folder of ci/linux-fetch. In a checkout, the first use calls it."""
    program, folder = REPO / "ci" / "linux-fetch", REPO / "build" / "linux"
    if program.exists() and not folder.exists():
        print("soft-roce: fetching Debian's kernel (70 MB, once)", file=sys.stderr, flush=True)
        subprocess.run([program, folder], check=False, stdout=sys.stderr)
    return folder


class Kernel:
    """A kernel image and its modules, unpacked by ci/linux-fetch or installed."""

    def __init__(self):
        given = os.environ.get("HCASIM_LINUX")
        places = [given] if given else [fetched(), "/"]
        found = [k for p in places for k in sorted(Path(p).glob("boot/vmlinuz-*-amd64"))]
        for image in found if given else reversed(found):
            self.image = image
            self.release = image.name.removeprefix("vmlinuz-")
            self.modules = image.parents[1] / "lib" / "modules" / self.release
            if list(self.modules.rglob("rdma_rxe.ko")):
                return
        raise ImageError(
            "there is no Linux kernel with the module rdma_rxe here: run ci/linux-fetch build/linux in the source tree, "
            "install linux-image-amd64, or name a folder with its boot and lib/modules in HCASIM_LINUX"
        )

    def load_order(self):
        """Paths of the modules that MODULES needs, each after those it depends on."""
        files = {p.stem.replace("-", "_"): p for p in self.modules.rglob("*.ko")}
        order = []

        def visit(name):
            if name not in files:
                return  # built into this kernel
            for needed in depends_on(files[name]):
                visit(needed)
            if files[name] not in order:
                order.append(files[name])

        for name in MODULES:
            visit(name)
        return order


def depends_on(module):
    """Names in the .modinfo section."""
    found = re.search(rb"\0depends=([^\0]*)\0", module.read_bytes())
    names = found.group(1).decode() if found else ""
    return [n.replace("-", "_") for n in names.split(",") if n]


def libraries(program):
    """Shared objects that a program is linked to, with the loader."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    if "not found" in done.stdout:
        raise ImageError(f"{program}: {done.stdout.strip()}")
    return [Path(p) for p in re.findall(r"(/\S+) \(0x", done.stdout)]


class Archive:
    """A cpio archive in the format of a kernel's initramfs (Documentation/driver-api/early-userspace/buffer-format)."""

    def __init__(self):
        self.parts = []
        self.names = set()

    def add(self, name, data=b"", mode=stat.S_IFREG | 0o755):
        if name in self.names:
            return
        self.names.add(name)
        path = name.encode() + b"\0"
        fields = [len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0]
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + path
        self.parts += [head.ljust(-(-len(head) // 4) * 4, b"\0"), data.ljust(-(-len(data) // 4) * 4, b"\0")]

    def add_program(self, path, name):
        """Adds a program, its libraries in /lib, and the loader at the path that the program names."""
        self.add(name, path.read_bytes())
        for library in libraries(path):
            folder = "lib64" if library.name.startswith("ld-linux") else "lib"
            self.add(f"{folder}/{library.name}", library.read_bytes())

    def write(self, path):
        self.add("TRAILER!!!", mode=0)
        path.write_bytes(gzip.compress(b"".join(self.parts), 1, mtime=0))


def find_provider(runner):
    """librxe of the libibverbs that the runner is linked to, or the installed one."""
    verbs = next((p for p in libraries(runner) if p.name.startswith("libibverbs.so")), None)
    places = [verbs.parent, verbs.parent / "libibverbs"] if verbs else []
    for place in [*places, Path("/usr/lib/x86_64-linux-gnu/libibverbs")]:
        if (place / PROVIDER).exists():
            return place / PROVIDER
    raise ImageError(f"there is no {PROVIDER} here: install ibverbs-providers")


def build(path, runner, kernel):
    """Writes the initramfs."""
    archive = Archive()
    for folder in FOLDERS:
        archive.add(folder, mode=stat.S_IFDIR | 0o755)
    archive.add("init", (HERE / "init").read_bytes())
    archive.add("bin/busybox", find_program("busybox", "install busybox-static").read_bytes())
    archive.add("bin/sh", b"busybox", mode=stat.S_IFLNK | 0o777)
    for name in ("ip", "rdma"):
        archive.add_program(find_program(name, "install iproute2"), f"bin/{name}")
    archive.add_program(runner, "bin/runner")
    archive.add_program(find_provider(runner), f"lib/{PROVIDER}")
    order = kernel.load_order()
    archive.add("lib/modules/order", "".join(f"{m.name}\n" for m in order).encode())
    for module in order:
        archive.add(f"lib/modules/{module.name}", module.read_bytes())
    archive.write(path)
