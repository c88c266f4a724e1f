# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Latencies from tlp.log."""
import bisect
import itertools
import json
import operator
import statistics


class TraceError(Exception):
    """A run whose trace does not show what was to be measured."""


def load(path):
    with open(path) as file:
        return sorted(map(json.loads, file), key=operator.itemgetter("ps"))


def is_store(record, end):
    return record["hca"] == f"hcasim{end}" and record["dir"] == "down" and record["type"] == "MWr"


def arrived(record, end, kind):
    """Bytes of payload, or whether it is a CQE, that this record brings to the memory of end `end`."""
    to_host = record["hca"] == f"hcasim{end}" and record["dir"] == "up" and record["type"] == "MWr"
    return to_host and record.get("class") == kind and record["len"]


class Message:
    """One message from end `source`; what ends it depends on the operation, as in perftest."""

    def __init__(self, op, size, source):
        self.source = source
        self.left = size
        # WRITE: the last byte is seen in memory. SEND: the receiver's CQE. READ, atomics: the requester's CQE.
        self.end, self.kind = {"write": (1 - source, "payload"), "send": (1 - source, "cqe")}.get(
            op, (source, "cqe")
        )

    def landed(self, record):
        """Whether the program can see it now."""
        got = arrived(record, self.end, self.kind)
        if got:
            self.left -= got if self.kind == "payload" else self.left
        return self.left <= 0


def starts(records, run, start, end):
    """When the first store of each message between two times left the processor, picoseconds."""
    there_and_back = run["op"] in ("write", "send")
    found, source, message = [], 0, None
    first = bisect.bisect_left(records, start, key=operator.itemgetter("ps"))
    for record in records[first:]:
        if record["ps"] > end:
            break
        if message is None:
            if is_store(record, source):
                found.append(record["ps"])
                message = Message(run["op"], run["size"], source)
        elif message.landed(record):
            source = 1 - source if there_and_back else 0
            message = None
    return found


def latency(records, run, start, end):
    """
    From the store of a message to that of the next one, which the program makes when it has seen the first: half a
    round trip, if they go there and back. The median, without the first message each way, which finds nothing in the
    adapter's caches.
    """
    found = starts(records, run, start, end)
    want = run["count"] * (2 if run["op"] in ("write", "send") else 1)
    if len(found) != want:
        raise TraceError(f"{run['op']} of {run['size']} B: {len(found)} messages in the trace, not {want}")
    return statistics.median(b - a for a, b in itertools.pairwise(found[2:]))
