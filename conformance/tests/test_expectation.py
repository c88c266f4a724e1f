# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Derived expectations of single cells, compared with ones read from the pages by hand."""
import pytest

from hcasim_conform.model import expect as ex
from hcasim_conform.model.cells import LEVELS, defined as is_run


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
        "wr/rdma_write/rc/inline-over/-/signaled",
        "wr/rdma_write/rc/sge_list-over/-/signaled",
        "wr/send/ud/sge/-/signaled",  # no address
        "wr/send/xrc_send/sge/-/signaled",
        "wr/bind_mw/xrc_send/none/xrc_srqn/signaled",  # NONE-ROWS
        "wr/bind_mw/rc/sge/-/signaled",
        "wr/send/rc/sge/-/signaled/batch-bad",
        "post/rdma_read/rc/inline/-/signaled",
        "post/rdma_read/uc/sge/-/signaled",
        "post/flush/rc/none/-/signaled",
    ],
)
def test_refused(by_id, cell_id):
    e = expect(by_id, cell_id)
    assert (e.create, e.post, e.bad_wr) == ("ok", "refused", 0)


@pytest.mark.parametrize(
    "cell_id",
    [
        "wr/send/rc/none/-/signaled",  # NO-DATA-SETTER: 0 bytes
        "wr/send/rc/inline-max/-/signaled",
        "wr/send_imm/rc/inline/-/signaled",  # INLINE-OPS
        "wr/rdma_read/rc/sge-0/-/signaled",
        "wr/bind_mw/xrc_send/none/-/signaled",
        "post/send_imm/ud/sge/ud_addr/signaled",
    ],
)
def test_executed(by_id, cell_id):
    e = expect(by_id, cell_id)
    assert (e.create, e.post) == ("ok", "ok")


@pytest.mark.parametrize(
    "cell_id, level",
    [
        # tables and sentences
        ("wr/rdma_write/rc/sge/-/signaled", "MUST"),
        ("wr/send/ud/sge/ud_addr/solicited+signaled", "MUST"),
        ("wr/send/rc/sge/-/fence+signaled", "MUST"),
        ("suite/fence/rc/after-reads", "MUST"),
        ("wr/send/rc/sge/-/signaled/abort", "MUST"),
        ("wr/rdma_write/rc/sge_list-over/-/signaled/abort", "MUST"),  # an abort has no failure
        ("post/rdma_read/uc/sge/-/signaled", "MUST"),
        ("post/rdma_read/uc/sge/-/signaled/2-of-3", "MUST"),
        ("suite/bad_wr/uc/send-operation-2", "MUST"),
        # the pages are silent, and the IBTA or verbs.h is not
        ("wr/send/xrc_send/sge/xrc_srqn/fence+signaled", "MUST-BY-ERRATUM"),  # FENCE-XRC
        ("wr/send/ud/sge/-/signaled", "MUST-BY-ERRATUM"),  # QP-SETTER-MISSING
        ("wr/send/rc/none/-/signaled", "MUST-BY-ERRATUM"),  # NO-DATA-SETTER
        ("wr/atomic_write/rc/none/-/signaled", "MUST-BY-ERRATUM"),
        ("suite/rnr/rc/rnr_retry-1", "MUST-BY-ERRATUM"),
        ("suite/fence/xrc_send/after-reads", "MUST-BY-ERRATUM"),
        ("suite/state/rc/reset-post", "MUST-BY-ERRATUM"),
        # nobody demands them but an erratum, or they contradict the page
        ("wr/send/uc/sge/-/fence+signaled", "SHOULD"),  # FENCE-SCOPE
        ("wr/send/rc/sge/-/ip_csum+signaled", "SHOULD"),  # IP-CSUM-SCOPE
        ("wr/rdma_read/rc/inline/-/signaled", "SHOULD"),  # INLINE-SCOPE
        ("wr/send/rc/sge/-/signaled/inline-flag", "SHOULD"),
        ("wr/flush/rc/sge/-/signaled", "SHOULD"),  # FLUSH-DATA-SETTER
        ("wr/bind_mw/rc/sge/-/signaled", "SHOULD"),  # SETTER-NOT-ALLOWED
        ("wr/rdma_write/rc/sge_list-over/-/signaled", "SHOULD"),  # POST-ERRNO
        ("wr/send/rc/sge/-/signaled/after-failed", "SHOULD"),
        ("suite/bad_wr/rc/send-sges-2", "SHOULD"),
    ],
)
def test_the_level_is_that_of_who_demands_it(by_id, cell_id, level):
    assert expect(by_id, cell_id).level == level


def test_no_cell_is_above_its_errata(defined, tables):
    for cell in defined:
        for name in cell.expect.errata:
            assert LEVELS.index(cell.expect.level) >= LEVELS.index(tables.errata[name]["level"]), cell.id


def test_xrc_cites_what_widens_rc_only(by_id):
    for case in ("rnr/xrc_send/rnr_retry-1", "retry/xrc_send/timeout-6", "psn/xrc_send/repeated-send"):
        assert "XRC-ATTRIBUTES" in expect(by_id, f"suite/{case}").errata
    assert "XRC-ATTRIBUTES" not in expect(by_id, "suite/rnr/rc/rnr_retry-1").errata


def test_creation_refused(by_id):
    e = expect(by_id, "wr/rdma_read/uc/sge/-/signaled")
    assert (e.create, e.create_errno, e.clause) == ("refused", "EOPNOTSUPP", "ibv_wr_post/USAGE/unsupported")


@pytest.mark.parametrize("data", ["none", "sge-0"])
def test_atomics_take_eight_bytes(by_id, data):
    e = expect(by_id, f"wr/atomic_fetch_add/rc/{data}/-/signaled")
    assert (e.post, e.status, e.errata) == ("error", "LOC_LEN_ERR", ("ATOMIC-LENGTH",))


@pytest.mark.parametrize(
    "cell_id, why",
    [
        ("wr/send/rc/sge/-/signaled/unasked", "send_ops_flags"),
        ("wr/send/rc/sge/ud_addr/signaled", "no such setter"),
        ("wr/send/rc/sge/ud_addr+xrc_srqn/signaled", "no such setter"),
        ("wr/send/ud/sge/ud_addr+xrc_srqn/signaled", "no such setter"),
        ("wr/send/ud/sge/xrc_srqn/signaled", "no such setter"),  # soft-RoCE: a call to address 0
        ("wr/rdma_read/rc/inline/ud_addr/signaled", "no such setter"),  # regardless of other faults
        ("wr/bind_mw/xrc_send/none/ud_addr/signaled", "no such setter"),
        ("wr/send/rc/sge+sge/-/signaled", "called once"),
        ("wr/send/rc/sge+inline/-/signaled", "called once"),
        ("wr/send/raw_packet/inline-1/-/signaled", "Ethernet header"),
        ("post/send/rc/sge/-/signaled/threads", "several threads"),
        ("post/bind_mw/rc/sge/-/signaled", "without data"),
    ],
)
def test_what_nobody_says_is_never_run(by_id, cell_id, why):
    cell = by_id[cell_id]
    assert cell.expect.level == "UNDEFINED" and why in cell.expect.why
    assert not is_run(cell)


@pytest.mark.parametrize(
    "cell_id, post",
    [
        (
            "wr/rdma_write/rc/sge/-/solicited+signaled",
            "any",
        ),  # "valid only for Send and RDMA Write with immediate"
        ("wr/send/uc/sge/-/fence+signaled", "any"),
        ("post/send/raw_packet/sge/-/fence+ip_csum+signaled", "any"),
        ("wr/rdma_write/rc/sge/-/ip_csum+signaled", "any"),
        ("wr/flush/rc/sge/-/signaled", "any"),
        ("wr/send/rc/sge/-/signaled/inline-flag", "any"),
        ("wr/send/ud/sge/ud_addr+ud_addr/signaled", "any"),
        ("wr/send_tso/ud/none/ud_addr/signaled", "refused"),
        ("post/send/rc/inline_list-sges-over/-/signaled", "any"),
    ],
)
def test_what_the_page_leaves_to_detection(by_id, cell_id, post):
    e = expect(by_id, cell_id)
    assert (e.level, e.post) == ("SHOULD", post)


def test_two_data_setters_on_a_row_without_data_are_refused(by_id):
    assert expect(by_id, "wr/local_inv/rc/sge+sge/-/signaled").post == "refused"


def test_a_flag_out_of_its_scope_leaves_the_others_in_force(by_id):
    e = expect(by_id, "wr/send/uc/sge/-/fence+ip_csum+solicited+signaled")
    assert (e.event, e.errata) == (1, ("FENCE-SCOPE", "IP-CSUM-SCOPE"))
    assert e.clause == "ibv_wr_post/WORK-REQUESTS/Flags/IBV_SEND_FENCE"


def test_a_checksum_flag_changes_nothing_in_what_is_no_ip_packet(by_id):
    e = expect(by_id, "wr/send/raw_packet/sge/-/ip_csum+signaled")
    assert e.post == "ok" and "IP-CSUM-UD" in e.errata


REFUSED = "wr/rdma_write/rc/sge_list-over/-/signaled"
ERROR = "wr/atomic_cmp_swp/rc/sge-0/-/signaled"


def test_a_bad_request_aborts_its_whole_region(by_id):
    for place in ("1-of-3", "2-of-3", "3-of-3", "threads"):  # with threads, too, the refusal is what is seen
        e = expect(by_id, f"{REFUSED}/{place}")
        assert (e.post, e.bad_wr, e.clause) == ("refused", 0, "ibv_wr_post/RETURN-VALUE/failure")


def test_a_bad_request_ends_its_list(by_id):
    for place, bad_wr in (("1-of-3", 0), ("2-of-3", 1), ("3-of-3", 2)):
        e = expect(by_id, f"post/rdma_write/rc/sge_list-over/-/signaled/{place}")
        assert (e.post, e.bad_wr) == ("refused", bad_wr)
        assert expect(by_id, f"post/atomic_cmp_swp/rc/none/-/signaled/{place}").bad_wr == bad_wr


def test_regions_of_a_legal_request(by_id):
    plain = "wr/rdma_write/rc/sge/-/signaled"
    clauses = {
        "2-of-3": "ibv_wr_post/USAGE/multiple",
        "abort": "ibv_wr_post/USAGE/abort",
        "after-failed": "ibv_wr_post/RETURN-VALUE/failure",
        "interleaved": "ibv_wr_post/DESCRIPTION/interleave",
        "threads": "ibv_wr_post/CONCURRENCY/lock",
    }
    for region, clause in clauses.items():
        e = expect(by_id, f"{plain}/{region}")
        assert (e.post, e.clause) == ("ok", clause)


@pytest.mark.parametrize("cell_id", [REFUSED, ERROR, "wr/send/ud/sge/-/signaled"])
def test_an_abort_has_no_failure(by_id, cell_id):
    e = expect(by_id, f"{cell_id}/abort")
    assert (e.level, e.post, e.status) == ("MUST", "ok", None)


def test_the_faults_of_axes_are_those_of_the_request(enumerator, tables):
    """Blocks combine faults of single axes; derive() uses a whole request."""
    for block in enumerator.blocks.values():
        for d, data in enumerate(block.datas):
            for s, setter in enumerate(block.setters):
                for f in (0, 3, 7, len(block.flags) - 1):
                    if f < len(block.flags):
                        whole = ex.derive(
                            tables, block.api, block.op, block.qpt, data, setter, block.flags[f]
                        )
                        assert block.base(d, s, f) == whole, block.id_of((d, s, f, 0, 0))


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


def test_lines_carry_all_the_runner_needs(defined):
    wr_keys = {
        "op",
        "data",
        "data_again",
        "data_of",
        "qp_setter",
        "qp_setter_again",
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
    for cell in defined[::13]:
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
