# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The soft-RoCE machine: a kernel under qemu without KVM, and the port for requests to run a runner in it."""
import os
import re
import selectors
import socket
import subprocess
import time
from pathlib import Path

from image import find_program

MEMORY = "384M"
BOOT_WITHIN = 120  # seconds
# With one processor the device works while a request is posted, in the same order in every run.
PROCESSORS = 1
# On a busy host the interrupts with which a kernel checks its timers, and other things, are late.
KERNEL_LINE = "console=ttyS0 panic=-1 oops=panic mitigations=off loglevel=5 no_timer_check tsc=reliable"

# What the console prints when a kernel stops, most specific first.
COMPLAINTS = (r"BUG: .*", r"Kernel panic.*", r"general protection fault.*", r"init: .*")


class MachineError(Exception):
    """The machine did not boot or has ended; the message has the console's output."""


class Machine:
    def __init__(self, folder, kernel, initramfs, number):
        self.console = folder / f"console-{number}"
        qemu = find_program("qemu-system-x86_64", "install qemu-system-x86")
        self.command = [
            str(qemu),
            *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(PROCESSORS), "-m", MEMORY),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-kernel", str(kernel.image), "-initrd", str(initramfs), "-append", KERNEL_LINE),
            *("-serial", f"file:{self.console}", "-device", "virtio-serial-pci"),
            *("-device", "virtserialport,chardev=port,name=runner"),
        ]
        self.proc = None
        self.port = None
        self.rest = b""
        self.release = None

    def boot(self):
        """Returns when the devices are there."""
        self.port, theirs = socket.socketpair()
        with theirs:
            self.proc = subprocess.Popen(
                [*self.command, "-chardev", f"socket,id=port,fd={theirs.fileno()}"],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        deadline = time.monotonic() + BOOT_WITHIN
        for line in self.lines(deadline):
            if line.startswith(b"ready "):
                self.release = line.split()[1].decode()
                return
        raise MachineError(self.complaint())

    def ask(self, environment, lines):
        """Sends a request (see init)."""
        head = b"".join(b"env %s\n" % variable.encode() for variable in environment)
        self.port.sendall(head + b"run %d\n" % len(lines) + lines)

    def execute(self, *arguments):
        """What the program in the runner's place prints, and its status."""
        self.port.sendall(b"exec %s\n" % " ".join(arguments).encode())
        printed = []
        for line in self.lines():
            if line.startswith(b"= "):
                return b"\n".join(printed).decode(), int(line[2:])
            printed.append(line)
        raise MachineError(self.complaint())

    def lines(self, deadline=None):
        """The machine's output by lines, until it ends or the deadline is reached."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.port, selectors.EVENT_READ)
            while selector.select(deadline and max(0, deadline - time.monotonic())):
                try:
                    chunk = self.port.recv(65536)
                except ConnectionError:
                    return
                if not chunk:
                    return
                *whole, self.rest = (self.rest + chunk).split(b"\n")
                yield from whole

    def complaint(self):
        """The console's last message about the reason of its end."""
        try:
            text = self.console.read_text(encoding="utf-8", errors="replace")
        except OSError:
            text = ""
        for pattern in COMPLAINTS:
            found = re.findall(pattern, text)
            if found:
                return f"the machine is gone: {found[0].strip()}"
        return (
            f"the machine does not answer: {' / '.join(text.strip().splitlines()[-2:]) or 'silent console'}"
        )

    def warnings(self):
        """Kernel warnings on the console so far."""
        try:
            return re.findall(r"WARNING: .*", self.console.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return []

    def kill(self):
        if self.port:
            self.port.close()
        if self.proc:
            self.proc.kill()
            self.proc.wait()


def folder():
    """The folder shared by the service and the runners' wrapper."""
    name = os.environ.get("HCASIM_DUT_DIR")
    if not name:
        raise MachineError(
            "HCASIM_DUT_DIR names no folder: `hcasim conform --dut soft-roce` starts this program"
        )
    return Path(name)
