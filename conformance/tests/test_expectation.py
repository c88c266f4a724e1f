# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What is derived for single cells, held against what a reader of the pages would say."""
import pytest


def expect(by_id, cell_id):
    return by_id[cell_id].expect


def test_legal_write(by_id):
    cell = by_id["wr/rdma_write/rc/sge/-/signaled"]
    (wr,) = cell.wrs
    assert (wr.effect, wr.wc, wr.recv, cell.expect.event) == ("write", "RDMA_WRITE", None, -1)
    assert set(cell.ask) == {"SEND", "RDMA_WRITE"}


def test_send_imm_is_a_plain_receive_by_erratum(by_id):
    cell = by_id["wr/send_imm/ud/sge/ud_addr/signaled"]
    assert (cell.wrs[0].recv, cell.wrs[0].imm) == ("RECV", True)
    assert "SEND-IMM-RECV-OPCODE" in cell.expect.errata


def test_write_imm_consumes_a_receive(by_id):
    wr = by_id["wr/rdma_write_imm/uc/sge/-/signaled"].wrs[0]
    assert (wr.effect, wr.wc, wr.recv, wr.imm) == ("write", "RDMA_WRITE", "RECV_RDMA_WITH_IMM", True)


@pytest.mark.parametrize(
    "flags, event", [("signaled", 0), ("solicited", 1), ("solicited+signaled", 1), ("-", 0)]
)
def test_solicited_means_an_event(by_id, flags, event):
    assert expect(by_id, f"wr/send/rc/sge/-/{flags}").event == event


def test_unsignaled_has_no_completion(by_id):
    assert by_id["wr/rdma_read/rc/sge/-/-"].wrs[0].wc is None


@pytest.mark.parametrize(
    "cell_id",
    [
        "wr/rdma_read/rc/inline/-/signaled",  # inline only where the page allows it
        "wr/atomic_cmp_swp/rc/inline/-/signaled",
        "wr/rdma_read/rc/inline/ud_addr/signaled",  # also with a setter of another QP type on top
        "wr/rdma_write/rc/inline-over/-/signaled",
        "wr/rdma_write/rc/sge_list-over/-/signaled",
        "wr/send/ud/sge/-/signaled",  # no address
        "wr/send/ud/sge/xrc_srqn/signaled",  # the wrong one
        "wr/send/xrc_send/sge/-/signaled",
        "wr/bind_mw/xrc_send/none/xrc_srqn/signaled",  # NONE-ROWS
        "wr/bind_mw/rc/sge/-/signaled",
        "wr/flush/rc/sge/-/signaled",  # FLUSH-DATA
        "wr/send/rc/sge/-/signaled/batch-bad",
        "post/rdma_read/rc/inline/-/signaled",
        "post/rdma_read/uc/sge/-/signaled",
        "post/flush/rc/none/-/signaled",
    ],
)
def test_refused(by_id, cell_id):
    e = expect(by_id, cell_id)
    assert (e.level, e.create, e.post, e.bad_wr) == ("MUST", "ok", "refused", 0)


@pytest.mark.parametrize(
    "cell_id",
    [
        "wr/send/rc/none/-/signaled",  # NO-DATA-SETTER: 0 bytes
        "wr/send/rc/inline-max/-/signaled",
        "wr/send_imm/rc/inline/-/signaled",  # INLINE-OPS
        "wr/send/uc/sge/-/fence+signaled",  # FENCE-SCOPE
        "wr/rdma_read/rc/sge-0/-/signaled",
        "wr/bind_mw/xrc_send/none/-/signaled",
        "post/send_imm/ud/sge/ud_addr/signaled",
    ],
)
def test_executed(by_id, cell_id):
    e = expect(by_id, cell_id)
    assert (e.level, e.create, e.post) == ("MUST", "ok", "ok")


def test_creation_refused(by_id):
    e = expect(by_id, "wr/rdma_read/uc/sge/-/signaled")
    assert (e.create, e.create_errno, e.clause) == ("refused", "EOPNOTSUPP", "ibv_wr_post/USAGE/unsupported")


@pytest.mark.parametrize("data", ["none", "sge-0"])
def test_atomics_take_eight_bytes(by_id, data):
    e = expect(by_id, f"wr/atomic_fetch_add/rc/{data}/-/signaled")
    assert (e.post, e.status, e.errata) == ("error", "LOC_LEN_ERR", ("ATOMIC-LENGTH",))


def test_what_the_page_leaves_open(by_id):
    for cell_id in (
        "wr/send/rc/sge/-/signaled/unasked",
        "wr/send/rc/sge/ud_addr/signaled",
        "wr/rdma_write/rc/sge/-/solicited+signaled",
        "wr/send/rc/sge/-/ip_csum+signaled",
    ):
        e = expect(by_id, cell_id)
        assert (e.level, e.post) == ("UNDEFINED", "any"), cell_id
    assert expect(by_id, "wr/send/rc/sge/-/signaled/data-twice").post == "undefined"


def test_abort_executes_nothing(by_id):
    cell = by_id["wr/send/rc/sge/-/signaled/abort"]
    assert cell.abort and cell.expect.clause == "ibv_wr_post/USAGE/abort"
    assert "nothing is executed" in cell.expected()


def test_bad_list_names_the_bad_one(by_id):
    cell = by_id["post/send/rc/sge/-/signaled/list-bad"]
    assert (cell.expect.post, cell.expect.bad_wr) == ("refused", 1)
    assert [wr.data.over for wr in cell.wrs] == [False, True, False]


def test_only_errata_that_matter_are_cited(by_id):
    assert "INLINE-OPS" not in expect(by_id, "wr/send_imm/rc/sge/-/signaled").errata
    assert "INLINE-OPS" in expect(by_id, "wr/send_imm/rc/inline/-/signaled").errata
    assert "SRC-SEND" in expect(by_id, "wr/send_imm/xrc_send/sge/xrc_srqn/signaled").errata
    assert "SRC-SEND" not in expect(by_id, "wr/send_imm/uc/sge/-/signaled").errata


def test_lines_carry_all_the_runner_needs(cells):
    wr_keys = {
        "op",
        "data",
        "data_twice",
        "data_of",
        "qp_setter",
        "flags",
        "effect",
        "limit",
        "limit_delta",
        "wc",
        "recv",
        "imm",
        "inv",
        "len",
    }
    for cell in cells:
        if cell.api == "suite":
            continue
        line = cell.line()
        assert 1 <= len(line["wrs"]) <= 4
        assert all(set(wr) == wr_keys for wr in line["wrs"])


def test_a_fence_waits_for_the_data_it_sends(by_id):
    read, send = by_id["wr/send/rc/sge/-/fence+signaled/after-rdma_read"].wrs
    assert (read.op, read.wc, send.data_of) == ("RDMA_READ", None, 0)
    assert by_id["post/rdma_write/rc/sge/-/fence+signaled/after-atomic_fetch_add"].expect.post == "ok"
    assert "wr/send/uc/sge/-/fence+signaled/after-rdma_read" not in by_id
