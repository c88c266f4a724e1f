# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Migrates a guest of QEMU over RDMA to a second QEMU of the same machine, and compares the memory of both.

migration.py PORT live: the guest runs, and its memory is registered in chunks.
migration.py PORT pinned: the guest is stopped, and all of its memory is registered before (rdma-pin-all).
"""
import json
import random
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

MEMORY = 64 << 20
PATTERN = (32 << 20, 8 << 20)  # where random bytes are in the guest's memory: address, length


class Guest:
    """A QEMU without devices, whose monitor (QMP) is a socket pair."""

    def __init__(self, *options):
        ours, theirs = socket.socketpair()
        monitor = ["-chardev", f"socket,id=monitor,fd={theirs.fileno()}", "-mon", "monitor,mode=control"]
        machine = [
            "-machine",
            "pc,accel=tcg",
            "-m",
            f"{MEMORY}B",
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
        ]
        command = ["qemu-system-x86_64", *machine, *monitor, *options]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        self.stream = ours.makefile("rw")
        self.read()
        self.ask("qmp_capabilities")

    def read(self):
        line = self.stream.readline()
        if not line:
            raise SystemExit(f"qemu ended with status {self.process.wait()}")
        return json.loads(line)

    def ask(self, command, **arguments):
        print(json.dumps({"execute": command, "arguments": arguments}), file=self.stream, flush=True)
        while True:
            answer = self.read()
            if "error" in answer:
                raise SystemExit(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def wait_migration(self):
        while True:
            event = self.read()
            if event.get("event") == "MIGRATION" and event["data"]["status"] in ("completed", "failed"):
                return event["data"]["status"]

    def read_memory(self, folder, address, length):
        self.ask("pmemsave", val=address, size=length, filename=f"{folder}/memory")
        return Path(folder, "memory").read_bytes()

    def end(self):
        self.ask("quit")
        return self.process.wait()


def migrate(port, pinned, source, destination):
    uri = f"rdma:10.77.0.1:{port}"
    wanted = ["events", *(["rdma-pin-all"] if pinned else [])]
    for guest in (source, destination):
        guest.ask(
            "migrate-set-capabilities", capabilities=[{"capability": name, "state": True} for name in wanted]
        )
    if pinned:
        source.ask("stop")
    destination.ask("migrate-incoming", uri=uri)
    source.ask("migrate", uri=uri)
    print("source:", source.wait_migration())
    print("destination:", destination.wait_migration())
    print("sent:", source.ask("query-migrate")["ram"]["transferred"])
    print("guest:", destination.ask("query-status")["status"])


def main():
    port, pinned = sys.argv[1], {"live": False, "pinned": True}[sys.argv[2]]
    address, length = PATTERN
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pattern").write_bytes(random.randbytes(length))
        loader = f"loader,file={folder}/pattern,addr={address},force-raw=on"
        source, destination = Guest("-device", loader), Guest("-incoming", "defer")
        migrate(port, pinned, source, destination)
        part = (0, MEMORY) if pinned else PATTERN  # a running guest changes the rest
        sides = [guest.read_memory(folder, *part) for guest in (source, destination)]
        print("memory:", "same" if sides[0] == sides[1] and sides[0].strip(b"\0") else "different")
    return max(source.end(), destination.end())


if __name__ == "__main__":
    sys.exit(main())
