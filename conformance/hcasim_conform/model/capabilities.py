# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a device can do: declared in its DUT file, reported by itself, and needed by a cell.

Capabilities have the names of the DUT file: `operations/RC/FLUSH`, `srq`, `rdma_cm`,
`memory_windows/2`, `flags/IP_CSUM`, `on_demand/RC/SEND`, `device_memory`, `tag_matching`, `work_queues`,
`imports`, `limits/max_sge`.
"""
import functools
from dataclasses import dataclass

from hcasim_conform.model.tables import Tables

FLAGS = ("FENCE", "SIGNALED", "SOLICITED", "INLINE", "IP_CSUM")
WINDOWS = (1, 2)
LIMITS = ("max_sge", "max_inline_data")
SWITCHES = ("srq", "device_memory", "tag_matching", "work_queues", "imports", "rdma_cm")
# Beyond what the pages of every release of rdma-core ask for: a device has them only where its DUT file says so.
EXTRAS = ("misuse", "completion_counters")
ON_DEMAND_TYPES = ("RC", "UC", "UD", "XRC_SEND")
ON_DEMAND = ("SEND", "RECV", "WRITE", "READ", "ATOMIC", "SRQ_RECV", "FLUSH", "ATOMIC_WRITE")
WINDOW_OPS = ("BIND_MW", "LOCAL_INV", "SEND_WITH_INV")

# Attributes (ibv_query_device_ex(3)) of which one is enough for a device to have an operation.
ATTRIBUTES_OF = {
    "ATOMIC_CMP_AND_SWP": ("ATOMICS",),
    "ATOMIC_FETCH_AND_ADD": ("ATOMICS",),
    "ATOMIC_WRITE": ("ATOMIC_WRITE",),
    "BIND_MW": ("MEM_WINDOW_TYPE_1", "MEM_WINDOW_TYPE_2"),
    "FLUSH": ("FLUSH",),
    "LOCAL_INV": ("MEM_MGT_EXTENSIONS", "MEM_WINDOW_TYPE_2"),
    "SEND_WITH_INV": ("MEM_MGT_EXTENSIONS", "MEM_WINDOW_TYPE_2"),
    "TSO": ("TSO",),
}
CHECKSUM_ATTRIBUTES = ("UD_IP_CSUM", "RAW_IP_CSUM", "RC_IP_CSUM")


@functools.cache
def _tables():
    return Tables()


@dataclass(frozen=True)
class Finding:
    """A contradiction between a device and its DUT file, or between two reports of the device."""

    kind: str  # denied: the file says no; absent: the device says no; contradiction: the device says both
    capability: str
    declared: str
    reported: str
    text: str
    reason: str | None = None  # of a known finding

    def record(self):
        return dict(vars(self))


class Capabilities:
    """A set of capabilities. The device has everything that a declaration does not mention."""

    def __init__(self, doc):
        operations = doc.get("operations", {t: "all" for t in _tables().qp_types})
        self.operations = {t: self._operations(t, ops) for t, ops in operations.items()}
        self.windows = tuple(doc.get("memory_windows", WINDOWS))
        self.flags = tuple(doc.get("flags", FLAGS))
        self.on_demand = doc.get("on_demand", {t: ON_DEMAND for t in ON_DEMAND_TYPES})
        self.switches = {name: doc.get(name, True) for name in SWITCHES}
        self.switches.update((name, doc.get(name, False)) for name in EXTRAS)
        self.limits = dict(doc.get("limits", {}))

    @staticmethod
    def _operations(qpt, ops):
        legal = tuple(op.name for op in _tables().operations if qpt in op.wr or qpt in op.post)
        return legal if ops == "all" else tuple(ops)

    @classmethod
    def of_report(cls, end, other):
        """The capabilities that both ends of the device report: a cell needs both."""
        both = [a for a in end["attributes"] if a in other["attributes"]]
        return cls(
            {
                "operations": {
                    t: [op for op in ops if op in other["operations"][t]]
                    for t, ops in end["operations"].items()
                    if t in other["operations"]
                },
                "memory_windows": [n for n in WINDOWS if f"MEM_WINDOW_TYPE_{n}" in both],
                "flags": [f for f in FLAGS if f != "IP_CSUM" or any(a in both for a in CHECKSUM_ATTRIBUTES)],
                "on_demand": {
                    t: [op for op in ops if op in other["on_demand"].get(t, ())]
                    for t, ops in end["on_demand"].items()
                },
                "srq": "SRQ" in both,
                "device_memory": "DEVICE_MEMORY" in both,
                "tag_matching": "TAG_MATCHING" in both,
                "work_queues": "WORK_QUEUES" in both,
                "imports": "IMPORT" in both,
                "rdma_cm": True,  # not reported by the device: address resolution is configured in the DUT file
                "limits": {name: min(end["limits"][name], other["limits"][name]) for name in LIMITS},
            }
        )

    def has(self, name):
        kind, _, rest = name.partition("/")
        if kind == "operations":
            qpt, _, op = rest.partition("/")
            return qpt in self.operations and (not op or op in self.operations[qpt])
        if kind == "memory_windows":
            return int(rest) in self.windows
        if kind == "flags":
            return rest in self.flags
        if kind == "on_demand":
            qpt, _, op = rest.partition("/")
            has = self.on_demand.get(qpt, ())
            return op in has if op else bool(has)
        return self.switches[kind]

    def limit(self, name):
        return self.limits.get(name)

    def names(self):
        """The names of all capabilities, for comparisons."""
        for qpt in _tables().qp_types:
            yield f"operations/{qpt}"
            yield from (f"operations/{qpt}/{op.name}" for op in _tables().operations if qpt in op.wr)
        yield from (f"memory_windows/{n}" for n in WINDOWS)
        for qpt in ON_DEMAND_TYPES:
            yield f"on_demand/{qpt}"
            yield from (f"on_demand/{qpt}/{op}" for op in ON_DEMAND)
        yield from ("flags/IP_CSUM", "srq", "device_memory", "tag_matching", "work_queues", "imports")


def _qp_type(cell):
    # the receiving end of an XRC pair is created together with its sender
    return "XRC_SEND" if cell.qpt == "XRC_RECV" else cell.qpt


def _work_needs(cell, wr):
    """Only requests that are legal on their QP type need the operation: every device must refuse the others."""
    op = _tables().operation(wr.op)
    qpt = _qp_type(cell)
    # a suite requests the operations that it posts by ibv_wr_*; others go through ibv_post_send()
    api = "wr" if cell.api == "suite" and wr.op in cell.ask else cell.api
    if api in ("wr", "post", "suite") and qpt not in op.types(api):
        return
    yield f"operations/{qpt}/{wr.op}"
    if wr.op in WINDOW_OPS:
        yield "memory_windows/2"
    for flag in wr.flags:
        if flag == "IP_CSUM":
            yield "flags/IP_CSUM"


def needs(cell):
    """Names of the capabilities that a cell needs. A cell of a suite may add others in `needs`."""
    if cell.qpt:
        yield f"operations/{_qp_type(cell)}"
    if cell.api == "srq":
        yield "srq"
    if cell.api == "writev":
        yield "rdma_cm"
    yield from getattr(cell, "needs", ())
    for wr in getattr(cell, "wrs", ()):
        yield from _work_needs(cell, wr)


def over_limit(capabilities, cell):
    """(limit, needed, has) when a fixed length or count of the cell is beyond what the device grants."""
    for wr in getattr(cell, "wrs", ()):
        data = wr.data
        if data.limit != "none":
            continue  # follows from what is granted
        name = "max_inline_data" if data.inline else "max_sge"
        needed = sum(data.lengths) if data.inline else len(data.lengths)
        has = capabilities.limit(name)
        if has is not None and needed > has:
            return name, needed, has
    return None


def _contradictions(reported):
    """Operations that ibv_create_qp_ex() grants and the attributes deny, and the reverse."""
    for role in ("requester", "responder"):
        end = reported[role]
        granted = {op for ops in end["operations"].values() for op in ops}
        for op, attributes in ATTRIBUTES_OF.items():
            has = any(a in end["attributes"] for a in attributes)
            if has == (op in granted):
                continue
            says = " or ".join(attributes)
            yield Finding(
                "contradiction",
                f"attributes/{op}",
                "granted by ibv_create_qp_ex" if op in granted else "refused by ibv_create_qp_ex",
                f"{says}: {'yes' if has else 'no'}",
                f"{end['device']}: ibv_create_qp_ex() {'grants' if op in granted else 'grants no'} {op}, "
                f"ibv_query_device_ex() reports {'' if has else 'no '}{says}",
            )


def _differences(declared, reported, device):
    for name in declared.names():
        says, has = declared.has(name), reported.has(name)
        parent = name.rpartition("/")[0]
        if says == has or (name.count("/") == 2 and declared.has(parent) != reported.has(parent)):
            continue  # one finding for a whole QP type
        yield Finding(
            "denied" if has else "absent",
            name,
            "yes" if says else "no",
            "yes" if has else "no",
            f"{device} reports {'' if has else 'no '}{name}, the DUT file {'declares' if says else 'denies'} it",
        )
    for name, says in declared.limits.items():
        has = reported.limits[name]
        if says > has:
            text = f"{device} reports {name} = {has}, the DUT file declares {says}"
            yield Finding("absent", f"limits/{name}", str(says), str(has), text)
        elif says < has:
            text = f"{device} reports {name} = {has}, the DUT file denies more than {says}"
            yield Finding("denied", f"limits/{name}", str(says), str(has), text)


def findings(declared, reported):
    """All disagreements; `declared` is None when the file leaves the capabilities to the device."""
    found = {}
    if declared:
        requester, responder = reported["requester"], reported["responder"]
        own = Capabilities.of_report(requester, responder)
        for finding in _differences(declared, own, requester["device"]):
            found.setdefault(finding.capability, finding)
    for finding in _contradictions(reported):
        found.setdefault(finding.capability, finding)
    return list(found.values())
