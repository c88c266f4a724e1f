#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Queues of DEVX, by the classes of rdma-core's own tests: what is refused, and what a lost adapter leaves.

test_devx.py runs it with pyverbs and these tests in PYTHONPATH: devx_queues.py --dev DEVICE NAME-OF-A-TEST.
"""
import ctypes
import errno
import mmap
import os
import sys
import unittest

from args_parser import parser

parser.parse_args()

from tests.mlx5_base import Mlx5DevxRcResources, Mlx5DevxTrafficBase  # noqa: E402
from tests.mlx5_prm_structs import CreateCqIn, CreateCqOut, SwCqc  # noqa: E402
from pyverbs.providers.mlx5.mlx5dv import Mlx5Cqe64, Mlx5DevxObj, Mlx5UMEM  # noqa: E402
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError  # noqa: E402

PAGE = mmap.PAGESIZE
LOCAL_WRITE = 1
WR_FLUSH_ERR = 5
REQ_ERR, RESP_ERR, INVALID = 13, 14, 15


class Queues(Mlx5DevxTrafficBase):
    def create_cq(self, end, cq, record, size=6):
        context = SwCqc(
            c_eqn=end.eqn,
            uar_page=end.uar["cq"].page_id,
            log_cq_size=size,
            dbr_umem_valid=1,
            dbr_umem_id=record,
        )
        request = CreateCqIn(cq_umem_valid=1, cq_umem_id=cq, sw_cqc=context)
        return Mlx5DevxObj(end.ctx, request, len(CreateCqOut()))

    def fails(self, error, call, *arguments, **named):
        with self.assertRaises((PyverbsRDMAError, PyverbsError)) as caught:
            call(*arguments, **named)
        text = str(caught.exception)
        found = getattr(caught.exception, "error_code", None)
        self.assertTrue(found == error or str(error) in text, f"{text}, expected {errno.errorcode[error]}")

    def test_memory(self):
        """It must be mapped, of the same context, and large enough; nobody takes it from a queue."""
        self.create_players(Mlx5DevxRcResources)
        end, other = self.server, self.client
        ring, record = (end.umems[name].umem_id for name in ("cq", "cq_dbr"))
        foreign = other.umems["cq"].umem_id
        self.create_cq(end, ring, record).close()
        self.fails(errno.EREMOTEIO, self.create_cq, end, foreign, record)
        self.fails(errno.EREMOTEIO, self.create_cq, end, ring, foreign)
        self.fails(errno.EREMOTEIO, self.create_cq, end, ring + 1000, record)
        self.fails(errno.EREMOTEIO, self.create_cq, end, record, ring)
        self.fails(errno.EREMOTEIO, self.create_cq, end, ring, record, size=22)
        self.fails(errno.EFAULT, Mlx5UMEM, end.ctx, PAGE, addr=PAGE, access=LOCAL_WRITE)
        self.fails(errno.EINVAL, Mlx5UMEM, end.ctx, 0, addr=PAGE, access=LOCAL_WRITE)
        self.fails(errno.EBUSY, end.cq.close)
        with mmap.mmap(-1, PAGE) as memory:
            address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            umem = Mlx5UMEM(end.ctx, PAGE, addr=address, access=LOCAL_WRITE)
            cq = self.create_cq(end, umem.umem_id, record, size=4)
            self.fails(errno.EBUSY, umem.close)
            cq.close()
            umem.close()
        self.send_imm_traffic()

    def test_leave(self):
        """The program ends with everything in use: what follows in the same machine finds nothing of it."""
        self.create_players(Mlx5DevxRcResources)
        self.server.post_recv()
        self.client.post_send()
        print("left", flush=True)
        os._exit(0)

    def flushed(self, end):
        """All entries: each posting has one, and the adapter is not there to write others."""
        cqe = None
        while True:
            entry = end.umems["cq"].umem_addr + (end.qattr.cq.cons_idx % end.qattr.cq.ncqes) * 64
            cqe = Mlx5Cqe64(entry)
            if not cqe.is_empty() and cqe.opcode in (RESP_ERR, REQ_ERR):
                return cqe

    def test_lost(self):
        """The device process is killed while a receive is outstanding: it is flushed."""
        self.create_players(Mlx5DevxRcResources)
        ring = self.server.umems["cq"].umem_addr
        for entry in range(self.server.qattr.cq.ncqes):  # as software must, and these classes do not
            ctypes.c_uint8.from_address(ring + entry * 64 + 63).value = INVALID << 4
        self.server.post_recv()
        print("outstanding", flush=True)
        cqe = self.flushed(self.server)
        syndrome = int(cqe.dump().split()[13], 16) & 0xFF
        self.assertEqual(syndrome, WR_FLUSH_ERR, cqe.dump())
        print("flushed", flush=True)
        os._exit(0)


if __name__ == "__main__":
    unittest.main(defaultTest=[f"Queues.test_{name}" for name in sys.argv[1:]], argv=sys.argv[:1])
