# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A runner without a device, for tests of the driver. FAKE_* name cells that fail, crash, hang, have another
name, or are slow or late."""
import json
import os
import signal
import sys
import time

SLOW = 0.4  # seconds of processor time, on the first processor


def say(line):
    print(json.dumps(line), flush=True)


def listed(name, cell):
    return cell in os.environ.get(name, "").split()


lines = [json.loads(line) for line in sys.stdin]
if os.environ.get("FAKE_NO_DEVICE"):
    say({"error": "no RDMA device 'a' here; there is none", "wrong": True})
    sys.exit(2)
if os.environ.get("FAKE_SILENT_EXIT"):
    print("the last output", file=sys.stderr)
    sys.exit(3)
assert set(lines[0]) - {"fresh", "ready"} == {"dut", "seed", "brief"}, lines[0]
if "query" in lines[1]:
    say({"reported": json.loads(os.environ["FAKE_REPORT"])})
    sys.exit(0)


def generated(cell):
    """FAKE_MUTANTS: {cell: {number of a mutant that it reaches: whether that makes it red}}, by the map of switch.h."""
    rows = json.loads(os.environ.get("FAKE_MUTANTS", "{}")).get(cell, {})
    if not rows:
        return False
    with open(os.environ["HCASIM_MUTANT_MAP"], "r+b") as file:
        chosen, recording = (int.from_bytes(file.read(4), sys.byteorder) for _ in range(2))
        for number in rows:
            file.seek(8 + int(number))  # behind the selection
            file.write(b"\1")
    return rows.get(str(chosen), False) or (recording == 2 and listed("FAKE_FAIL_PROBED", cell))


if lines[0].get("ready"):
    say({"ready": True})
for cell in (line["id"] for line in lines[1:]):
    say({"begin": ":" if listed("FAKE_GARBLED", cell) else cell})
    if listed("FAKE_CRASH", cell):
        os.kill(os.getpid(), signal.SIGSEGV)
    while listed("FAKE_HANG", cell):
        signal.pause()
    if listed("FAKE_SLOW", cell):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        end = time.process_time() + SLOW
        while time.process_time() < end:
            pass
    bad = listed("FAKE_FAIL", cell)
    if listed("FAKE_FAIL_SECOND", cell):  # in every second process, counted by a file
        mark = os.environ["FAKE_MARK"]
        bad = os.path.exists(mark)
        os.remove(mark) if bad else open(mark, "w").close()
    if listed("FAKE_FAIL_ONCE", cell) and os.path.exists(os.environ["FAKE_MARK"]):
        os.remove(os.environ["FAKE_MARK"])
        bad = True
    bad |= generated(cell)
    bad |= os.environ.get("HCASIM_MUTANT", "") in os.environ.get("FAKE_FAIL_MUTANT", "").split()
    result = {"pass": not bad, "seen": "this and that; ", "faults": ["byte 3 <is> wrong"] if bad else []}
    if bad and os.environ.get("FAKE_LATE"):
        result["late"] = True
    say({"end": cell, **result, "errno": None, "calls": ["ibv_wr_start(qpx)"], "us": 5})
if os.environ.get("FAKE_CRASH_AT_END"):
    os.kill(os.getpid(), signal.SIGSEGV)
