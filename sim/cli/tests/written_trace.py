# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A trace folder that a test writes record by record, and what hcasim explain makes of it."""
import json

from hcasim_cli.explain import as_json
from hcasim_cli.explain.problems import Collector
from hcasim_cli.explain.records import LOGS, Folder

RTS_MASK, RTR_MASK, INIT_MASK = 0x12E01, 0x129181, 0x39


class Trace:
    """Two connected RC queue pairs, QP 16 of a0 and QP 17 of a1, and what a test adds."""

    def __init__(self, folder):
        self.folder, self.ps = folder, 1000
        self.logs = {name: [] for name in (*LOGS, "events.log")}
        for hca, file in (("a0", 1), ("a1", 2)):
            limits = {"max_qp_wr": 100, "max_sge": 4, "max_cqe": 1000, "max_srq_wr": 50, "max_srq_sge": 4}
            limits |= {"max_qp_rd_atom": 16, "max_qp_init_rd_atom": 16, "max_mr_size": 2**40}
            self.verb(hca=hca, event="device", ports=1, active_mtu=3, pkeys=1, **limits)
            self.call(file, "alloc_pd", handle=0)
            self.call(file, "create_cq", cqe=128, handle=1, cqn=3, granted={"cqe": 128})
            self.region(file, handle=2, start=0x10000, length=4096, access=15, key=0x1101 + 0x100 * file)
            self.qp(file, 16 if file == 1 else 17)
        self.connect()

    def verb(self, **members):
        self.ps += 1000
        self.logs["verbs.log"].append({"ps": self.ps, **members})

    def call(self, file, call, **members):
        self.verb(hca=f"a{file - 1}", file=file, pid=7, tid=7, call=call, **members)

    def region(self, file, handle, start, length, access, key, pd=0):
        where = {"start": hex(start), "hca_va": hex(start), "length": length, "access_flags": hex(access)}
        self.call(file, "reg_mr", pd_handle=pd, handle=handle, lkey=hex(key), rkey=hex(key), **where)

    def qp(self, file, number, **more):
        args = {"pd_handle": 0, "send_cq_handle": 1, "recv_cq_handle": 1, "qp_type": 2, "max_send_wr": 4}
        args |= {"max_recv_wr": 4, "max_send_sge": 1, "max_recv_sge": 1, "max_inline_data": 0}
        args |= {"handle": number, "qpn": number, "granted": {"max_send_wr": 4, "max_send_sge": 1}}
        self.call(file, "create_qp", **args | more)

    def modify(self, file, number, state, mask, **more):
        args = {
            "path_mtu": 3,
            "rq_psn": 0,
            "sq_psn": 0,
            "dest_qp_num": 33 - number,
            "timeout": 10,
            "rnr_retry": 7,
        }
        args |= {
            "retry_cnt": 3,
            "qp_access_flags": "0xf",
            "is_global": 1,
            "dgid": "fe" * 16,
            "av_port": 1,
            "port_num": 1,
        }
        args |= {
            "qp_handle": number,
            "attr_mask": hex(mask),
            "qp_state": state,
            "max_rd_atomic": 4,
            "sgid_index": 0,
        }
        args |= {"max_dest_rd_atomic": 2, "pkey_index": 0, "min_rnr_timer": 1, "cur_qp_state": 0}
        self.call(file, "modify_qp", **args | more)

    def connect(self):
        for file, number in ((1, 16), (2, 17)):
            for state, mask in ((1, INIT_MASK), (2, RTR_MASK), (3, RTS_MASK)):
                self.modify(file, number, state, mask)

    def wqe(
        self,
        op="RDMA_WRITE",
        index=0,
        length=64,
        addr=0x10000,
        rkey=0x1301,
        lkey=0x1201,
        flags=("signaled",),
        **more,
    ):
        self.ps += 1000
        record = {
            "ps": self.ps,
            "hca": "a0",
            "qpn": 16,
            "index": index,
            "op": op,
            "length": length,
            "num_bb": 1,
        }
        record |= {"flags": list(flags), "sge": [{"addr": "0x10000", "length": length, "lkey": hex(lkey)}]}
        if not op.startswith("SEND"):
            record |= {"remote_addr": hex(addr), "rkey": hex(rkey)}
        self.logs["wqe.log"].append(record | more)

    def refused(self, reason, nak=None, **more):
        self.ps += 1000
        record = {"event": "refused", "ps": self.ps, "hca": "a1", "reason": reason, "qpn": 17, "psn": 0}
        self.logs["events.log"].append(record | ({"nak": nak} if nak else {}) | more)

    def cqe(self, status, vendor_err="NONE", op="REQ", **more):
        self.ps += 1000
        record = {"ps": self.ps, "hca": "a0", "cqn": 3, "qpn": 16, "op": op, "wqe_op": "SEND", "wqe_index": 0}
        self.logs["cqe.log"].append(record | {"status": status, "vendor_err": vendor_err, "raw": ""} | more)

    def write(self):
        for name, records in self.logs.items():
            (self.folder / name).write_text(
                "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in records)
            )
        return self.folder

    def explain(self):
        return as_json(Collector(Folder(self.write())).collect())
