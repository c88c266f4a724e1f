#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Flows of mlx5dv_dr's root table and tables of DEVX, by the classes of rdma-core's own tests.

test_devx.py runs it as it does devx_queues.py: steering.py --dev DEVICE NAME-OF-A-TEST.
"""
import errno
import os
import struct
import sys
import unittest

from args_parser import parser

parser.parse_args()

import pyverbs.enums as e  # noqa: E402
import tests.utils as u  # noqa: E402
from tests.test_mlx5_dr import Mlx5DrResources, Mlx5DrTest  # noqa: E402
from tests.test_mlx5_flow import Mlx5MatcherTest  # noqa: E402
from pyverbs.providers.mlx5.dr_action import DrActionDefMiss, DrActionQp, DrActionTag  # noqa: E402
from pyverbs.providers.mlx5.dr_matcher import DrMatcher  # noqa: E402
from pyverbs.providers.mlx5.dr_rule import DrRule  # noqa: E402
from pyverbs.providers.mlx5.dr_table import DrTable  # noqa: E402
from pyverbs.providers.mlx5.mlx5dv import Mlx5DevxObj  # noqa: E402
from pyverbs.pyverbs_error import PyverbsRDMAError  # noqa: E402

SMAC = bytes.fromhex(u.PacketConsts.SRC_MAC.replace(":", ""))
OTHER = bytes([0x88] * 6)
TAG = 0x123
CREATE_FLOW_TABLE, CREATE_FLOW_GROUP, SET_FLOW_TABLE_ENTRY = 0x930, 0x933, 0x936
NIC_TX = 1
DROP = 2


def command(opcode, size, **words):
    """Words by their offset in the command: w16=0x1000000."""
    out = bytearray(size)
    struct.pack_into(">H", out, 0, opcode)
    for place, value in words.items():
        struct.pack_into(">I", out, int(place[1:]), value)
    return bytes(out)


# rdma-core's tests of tunnels ask devlink, which knows no simulated adapter, about its embedded
# switch. This adapter has none.
u.encap_mode_check = lambda name: True


class Steering(Mlx5DrTest, Mlx5MatcherTest):
    def players(self):
        self.create_players(Mlx5DrResources, wc_flags=e.IBV_WC_EX_WITH_FLOW_TAG)

    def devx(self, *arguments, **words):
        return Mlx5DevxObj(self.server.ctx, command(*arguments, **words), 16)

    def number(self, obj):
        return struct.unpack_from(">I", bytes(obj.out_view), 8)[0]

    def tables(self):
        """A table of sent frames, whose only entry drops them; nothing leads to it."""
        table = self.devx(CREATE_FLOW_TABLE, 64, w16=NIC_TX << 24, w24=200 << 16)
        place = {"w16": NIC_TX << 24, "w20": self.number(table)}
        group = self.devx(CREATE_FLOW_GROUP, 1024, **place)
        entry = self.devx(SET_FLOW_TABLE_ENTRY, 832, **place, w68=self.number(group), w76=DROP)
        return table, group, entry

    def busy(self, obj):
        with self.assertRaises(PyverbsRDMAError) as caught:
            obj.close()
        self.assertEqual(caught.exception.error_code, errno.EBUSY)

    def test_tag(self):
        """The tag of a rule is in the completions of its frames."""
        self.players()
        actions = [DrActionTag(TAG), DrActionQp(self.server.qp)]
        self.create_rx_recv_rules(SMAC, actions, root_only=True)
        u.raw_traffic(self.client, self.server, self.iters)
        self.assertEqual(self.server.cq.read_flow_tag(), TAG)

    def test_miss(self):
        """The first rule shows its frames past the second one; another frame meets that."""
        self.players()
        miss, to_qp = self.actions = DrActionDefMiss(), DrActionQp(self.server.qp)
        self.create_rx_recv_rules(SMAC, [miss], root_only=True)
        mask, value = self.create_dest_mac_params()
        second = DrMatcher(DrTable(self.domain_rx, 0), 2, u.MatchCriteriaEnable.OUTER, mask)
        self.rules.append(DrRule(second, value, [to_qp]))
        u.post_recv(self.server, u.get_recv_wr(self.server))
        self.send_client_raw_packets(3, src_mac=SMAC)
        self.send_client_raw_packets(1, src_mac=OTHER)
        u.poll_cq_ex(self.server.cq)
        self.assertEqual(self.server.mr.read(self.server.msg_size, 0)[6:12], OTHER)

    def test_order(self):
        """What is used is not destroyed before its user."""
        self.players()
        table, group, entry = self.tables()
        self.busy(table)
        self.busy(group)
        for obj in entry, group, table:
            obj.close()

    def test_leave(self):
        """The program ends with everything in use: what follows in the same machine finds nothing of it."""
        self.players()
        left = self.tables()
        self.create_rx_recv_rules(SMAC, [DrActionDefMiss()], root_only=True)
        print(f"left {len(left)}", flush=True)
        os._exit(0)


if __name__ == "__main__":
    unittest.main(defaultTest=[f"Steering.test_{name}" for name in sys.argv[1:]], argv=sys.argv[:1])
