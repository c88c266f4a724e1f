# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The soft-RoCE machine: a kernel under qemu without KVM, and the port at which its runners are asked for."""
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
# With one processor the device's work is done while a request is posted, and takes the same course in every run.
PROCESSORS = 1
# A busy host is late with the interrupts by which a kernel tests its timers, and with much else.
KERNEL_LINE = "console=ttyS0 panic=-1 oops=panic mitigations=off loglevel=5 no_timer_check tsc=reliable"

# What the console says when a kernel gives up, most telling first.
COMPLAINTS = (r"BUG: .*", r"Kernel panic.*", r"general protection fault.*", r"init: .*")


class MachineError(Exception):
    """The machine did not come up or is gone; the message says what its console said."""


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

    def lines(self, deadline=None):
        """What the machine says, line by line; ends when it is gone, or at the deadline."""
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
        """What the console said last of why it is gone."""
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
    """Where the service and the runners' wrapper meet."""
    name = os.environ.get("HCASIM_DUT_DIR")
    if not name:
        raise MachineError(
            "HCASIM_DUT_DIR names no folder: `hcasim conform --dut soft-roce` starts this program"
        )
    return Path(name)
