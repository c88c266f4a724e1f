# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suite about device memory: requests whose memory on one side is on the adapter."""
from hcasim_conform.model.cells import Data, Expect
from hcasim_conform.suites.base import RELIABLE, SIGNALED, Case, Suite

IN_SGES = "ibv_alloc_dm/Device-memory-registration/sge"
FROM_ZERO = "ibv_alloc_dm/Device-memory-registration/zero-based"
COPIED = "ibv_alloc_dm/Accessing-an-allocated-device-memory/copy"
LOCAL, TARGET, RECEIVED = 1, 2, 4  # enum link_memory of the runner
SIZE = 3000  # several packets
PIECE = 12  # bytes of a copy: its ends are not at multiples of 8
OFFSET = 4100  # of a region in its device memory

AS_ANY = "the request is executed as with any other memory, and so is one after it"


class DeviceMemory(Suite):
    def cases(self):
        for qpt in RELIABLE:
            names = ("SEND", "RDMA_WRITE", "RDMA_READ", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD")
            yield from self._both(qpt, names)
            yield from (self._remote(qpt, name) for name in ("FLUSH", "ATOMIC_WRITE"))
            yield from (self._list(qpt, name, mixed) for name in ("SEND", "RDMA_READ") for mixed in (0, 1))
        for qpt, names in (
            ("UC", ("SEND", "RDMA_WRITE")),
            ("UD", ("SEND",)),
            ("RAW_PACKET", ("SEND",)),
        ):
            yield from self._both(qpt, names)
        yield from (self._list("UD", "SEND", mixed) for mixed in (0, 1))
        for name, where in (("RDMA_WRITE", LOCAL), ("RDMA_WRITE", TARGET), ("SEND", RECEIVED)):
            yield self._offset("RC", name, where)
        yield self._copy("RC", "RDMA_WRITE", LOCAL)
        yield self._copy("RC", "RDMA_WRITE", TARGET)

    def _both(self, qpt, names):
        for name in names:
            yield self._local(qpt, name)
            yield self._remote(qpt, name)

    def _local(self, qpt, name):
        says = f"with local device memory {AS_ANY}"
        return self._case(qpt, name, f"{name.lower()}-local", LOCAL, IN_SGES, says)

    def _remote(self, qpt, name):
        says = f"with remote device memory {AS_ANY}"
        where = RECEIVED if name == "SEND" else TARGET
        return self._case(qpt, name, f"{name.lower()}-remote", where, IN_SGES, says)

    def _list(self, qpt, name, mixed):
        memory = "device memory, host memory and device memory" if mixed else "device memory"
        says = f"with three SGEs of {memory} {AS_ANY}"
        data = Data("sge_list", "sge_list", (100, 36, 300) if qpt == "UD" else (1000, 36, 1500))
        case = f"{name.lower()}-{'mixed' if mixed else 'sge_list'}"
        return self._case(qpt, name, case, LOCAL, IN_SGES, says, data=data, mixed=mixed)

    def _offset(self, qpt, name, where):
        side = "local" if where == LOCAL else "remote"
        says = (
            f"with a {side} region that begins {OFFSET} bytes behind the device memory it is of, addresses are "
            "bytes from the beginning of the region"
        )
        return self._case(
            qpt, name, f"{name.lower()}-{side}-offset", where, FROM_ZERO, says, dm_offset=OFFSET
        )

    def _copy(self, qpt, name, where):
        side = "local" if where == LOCAL else "remote"
        says = f"with {side} device memory that is filled and read by copies of {PIECE} bytes {AS_ANY}"
        return self._case(qpt, name, f"{name.lower()}-{side}-copy", where, COPIED, says, dm_piece=PIECE)

    def _case(self, qpt, name, case, where, clause, says, data=None, **args):
        size = 600 if qpt in ("UD", "RAW_PACKET") else SIZE
        return Case(
            suite="device_memory",
            qpt=qpt,
            case=case,
            scenario="in_order",
            says=says,
            expect=Expect(clause),
            wrs=tuple(self.work(name, qpt, SIGNALED, data=data, size=size) for _ in range(2)),
            args={"device_memory": where, "wr": 1, **args},
            ask=tuple(dict.fromkeys(("SEND", name))),
            needs=("device_memory",),
        )
