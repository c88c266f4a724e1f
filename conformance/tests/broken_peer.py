# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A proxy between a runner and its real peer that fails once: HOW NAME COUNT MARK COMMAND...

Fails in the way HOW at the COUNT-th call NAME, unless the file MARK, which it creates then, exists. A peer command of
the tests. The frames are those of conformance/runner/remote/wire.h.
"""
import os
import signal
import subprocess
import sys
from pathlib import Path

from peer_frames import CALLS, HEAD


def frame(pipe):
    head = pipe.read(HEAD.size)
    if len(head) < HEAD.size:
        sys.exit(peer.wait())
    magic, call, number, error, length = HEAD.unpack(head)
    return call, head, pipe.read(length)


def say(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def break_now(how, head):
    if how == "crash":
        peer.send_signal(signal.SIGSEGV)
        peer.wait()
        print("the last output of the peer", file=sys.stderr, flush=True)
        sys.exit(128 + signal.SIGSEGV)  # as a shell or ssh reports it
    if how == "killed":
        peer.kill()
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hang":
        while True:
            signal.pause()
    if how == "garbage":
        say(b"Broadcast message from root: the system is going down")
    if how == "error":  # an error of the call; the peer does not end
        magic, call, number, _, _ = HEAD.unpack(head)
        say(HEAD.pack(magic, call, number, 12, 0))
    if how == "long":  # longer than any valid answer
        magic, call, number, _, _ = HEAD.unpack(head)
        say(HEAD.pack(magic, call, number, 0, 0xFFFFFFFF))
    if how == "short":
        magic, call, number, _, _ = HEAD.unpack(head)
        say(HEAD.pack(magic, call, number, 0, 1) + b"x")


how, name, count, mark, *command = sys.argv[1:]
left = int(count)
peer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
say(peer.stdout.readline())
while True:
    call, head, body = frame(sys.stdin.buffer)
    left -= CALLS[call] == name
    if CALLS[call] == name and left == 0 and not Path(mark).exists():
        Path(mark).touch()
        break_now(how, head)
        continue
    peer.stdin.write(head + body)
    peer.stdin.flush()
    _, head, body = frame(peer.stdout)
    say(head + body)
