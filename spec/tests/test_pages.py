# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""wr.yaml agrees with the man pages of rdma-core: tables cell by cell, sentences word by word."""

import re

import pytest

PAGES = {
    "ibv_wr_post": "libibverbs/man/ibv_wr_post.3.md",
    "ibv_post_send": "libibverbs/man/ibv_post_send.3",
    "ibv_post_recv": "libibverbs/man/ibv_post_recv.3",
    "ibv_post_srq_recv": "libibverbs/man/ibv_post_srq_recv.3",
    "ibv_poll_cq": "libibverbs/man/ibv_poll_cq.3",
    "ibv_req_notify_cq": "libibverbs/man/ibv_req_notify_cq.3.md",
    "ibv_create_qp": "libibverbs/man/ibv_create_qp.3",
    "ibv_modify_qp": "libibverbs/man/ibv_modify_qp.3",
    "ibv_create_srq_ex": "libibverbs/man/ibv_create_srq_ex.3",
    "ibv_attach_mcast": "libibverbs/man/ibv_attach_mcast.3.md",
    "ibv_advise_mr": "libibverbs/man/ibv_advise_mr.3.md",
    "ibv_query_device": "libibverbs/man/ibv_query_device.3",
    "ibv_query_gid": "libibverbs/man/ibv_query_gid.3.md",
    "ibv_query_rt_values_ex": "libibverbs/man/ibv_query_rt_values_ex.3",
    "ibv_alloc_pd": "libibverbs/man/ibv_alloc_pd.3",
    "ibv_alloc_parent_domain": "libibverbs/man/ibv_alloc_parent_domain.3",
    "ibv_open_xrcd": "libibverbs/man/ibv_open_xrcd.3",
    "ibv_open_qp": "libibverbs/man/ibv_open_qp.3",
    "ibv_rereg_mr": "libibverbs/man/ibv_rereg_mr.3.md",
    "ibv_query_qp": "libibverbs/man/ibv_query_qp.3",
    "ibv_query_ece": "libibverbs/man/ibv_query_ece.3.md",
    "ibv_set_ece": "libibverbs/man/ibv_set_ece.3.md",
    "ibv_create_ah": "libibverbs/man/ibv_create_ah.3",
    "ibv_create_flow": "libibverbs/man/ibv_create_flow.3",
    "ibv_modify_qp_rate_limit": "libibverbs/man/ibv_modify_qp_rate_limit.3",
    "ibv_create_srq": "libibverbs/man/ibv_create_srq.3",
    "ibv_query_srq": "libibverbs/man/ibv_query_srq.3",
    "ibv_modify_srq": "libibverbs/man/ibv_modify_srq.3",
    "ibv_modify_cq": "libibverbs/man/ibv_modify_cq.3",
    "ibv_create_cq_ex": "libibverbs/man/ibv_create_cq_ex.3",
    "ibv_resize_cq": "libibverbs/man/ibv_resize_cq.3.md",
    "ibv_create_comp_channel": "libibverbs/man/ibv_create_comp_channel.3",
    "ibv_create_cq": "libibverbs/man/ibv_create_cq.3",
    "ibv_get_cq_event": "libibverbs/man/ibv_get_cq_event.3",
    "ibv_get_async_event": "libibverbs/man/ibv_get_async_event.3",
    "ibv_reg_mr": "libibverbs/man/ibv_reg_mr.3",
    "ibv_alloc_mw": "libibverbs/man/ibv_alloc_mw.3",
    "ibv_bind_mw": "libibverbs/man/ibv_bind_mw.3",
    "ibv_alloc_dm": "libibverbs/man/ibv_alloc_dm.3",
    "ibv_alloc_td": "libibverbs/man/ibv_alloc_td.3",
    "ibv_post_srq_ops": "libibverbs/man/ibv_post_srq_ops.3",
    "ibv_create_wq": "libibverbs/man/ibv_create_wq.3",
    "ibv_modify_wq": "libibverbs/man/ibv_modify_wq.3",
    "ibv_create_rwq_ind_table": "libibverbs/man/ibv_create_rwq_ind_table.3",
    "ibv_create_qp_ex": "libibverbs/man/ibv_create_qp_ex.3",
    "ibv_import_device": "libibverbs/man/ibv_import_device.3.md",
    "ibv_import_pd": "libibverbs/man/ibv_import_pd.3.md",
    "ibv_import_mr": "libibverbs/man/ibv_import_mr.3.md",
    "ibv_import_dm": "libibverbs/man/ibv_import_dm.3.md",
    "tag_matching": "Documentation/tag_matching.md",
    "ibv_event_type_str": "libibverbs/man/ibv_event_type_str.3.md",
    "ibv_create_counters": "libibverbs/man/ibv_create_counters.3.md",
    "ibv_fork_init": "libibverbs/man/ibv_fork_init.3.md",
    "rdma_post_writev": "librdmacm/man/rdma_post_writev.3",
    "rdma_connect": "librdmacm/man/rdma_connect.3",
    "rdma_accept": "librdmacm/man/rdma_accept.3",
    "rdma_reject": "librdmacm/man/rdma_reject.3",
    "rdma_disconnect": "librdmacm/man/rdma_disconnect.3",
    "rdma_listen": "librdmacm/man/rdma_listen.3",
    "rdma_get_cm_event": "librdmacm/man/rdma_get_cm_event.3",
    "rdma_cm": "librdmacm/man/rdma_cm.7",
    "rdma_create_id": "librdmacm/man/rdma_create_id.3",
    "rdma_create_qp": "librdmacm/man/rdma_create_qp.3",
    "rdma_create_ep": "librdmacm/man/rdma_create_ep.3",
    "rdma_create_srq": "librdmacm/man/rdma_create_srq.3",
    "rdma_bind_addr": "librdmacm/man/rdma_bind_addr.3",
    "rdma_resolve_addr": "librdmacm/man/rdma_resolve_addr.3",
    "rdma_get_devices": "librdmacm/man/rdma_get_devices.3",
    "rdma_resolve_route": "librdmacm/man/rdma_resolve_route.3",
    "rdma_leave_multicast": "librdmacm/man/rdma_leave_multicast.3",
    "rdma_getaddrinfo": "librdmacm/man/rdma_getaddrinfo.3",
    "rdma_get_recv_comp": "librdmacm/man/rdma_get_recv_comp.3",
    "rdma_post_send": "librdmacm/man/rdma_post_send.3",
}
NEWER = {  # of rdma-core 65.0
    "rdma_resolve_addrinfo": "librdmacm/man/rdma_resolve_addrinfo.3.in.rst",
    "ibv_create_comp_cntr": "libibverbs/man/ibv_create_comp_cntr.3.md",
    "ibv_qp_attach_comp_cntr": "libibverbs/man/ibv_qp_attach_comp_cntr.3.md",
    "ibv_query_comp_cntr_caps": "libibverbs/man/ibv_query_comp_cntr_caps.3.md",
}


def plain(text):
    """Words only: no roff requests and escapes, no Markdown marks, no line breaks."""
    text = re.sub(r"(?m)^\.\\\".*$|^\.(?:[A-Z]{2}|nf|fi|in|sp|ti)\b[ \t]*", " ", text)
    text = re.sub(r"^\.[BIPR]+[ \t]*", " ", text, flags=re.M)
    text = re.sub(r"\\s-1|\\s0|\\f[A-Z]|\\&", "", text).replace("\\-", "-")
    text = re.sub(r"[*\\\"]", "", text).replace("_", " ")
    return re.sub(r"\s+", " ", text).replace(" ,", ",").replace(" .", ".").lower()


@pytest.fixture(scope="session")
def pages(rdma_source, rdma_newer_source):
    newer = NEWER if rdma_newer_source.exists() else {}
    found = {name: rdma_source / path for name, path in PAGES.items()}
    found |= {name: rdma_newer_source / path for name, path in newer.items()}
    return {name: path.read_text(encoding="utf-8") for name, path in found.items()}


def wr_table(text):
    """Operation -> builder, QP types, setters of the Markdown table."""
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and cells[1].startswith("ibv_wr_"):
            types = [name.strip() for name in cells[2].split(",")]
            rows[cells[0]] = (cells[1].removesuffix("()"), types, cells[3])
    return rows


def post_table(text):
    """Opcode -> QP types of the table of crosses."""
    head = re.search(r"^OPCODE\s*\|(.*)$", text, re.M).group(1)
    columns = [name.strip().removeprefix("IBV_QPT_") for name in head.split("|")]
    rows = {}
    for opcode, marks in re.findall(r"^IBV_WR_(\w+)\s*\|(.*)$", text, re.M):
        rows[opcode] = [name for name, mark in zip(columns, marks.split("|")) if mark.strip() == "X"]
    return rows


def of_pages(documents):
    """Operations in the tables; the others have their row from verbs.h, by an erratum."""
    operations = documents["wr"]["operations"]
    return {op["name"]: op for op in operations if not op["clause"].startswith("verbs.h/")}


def test_table_of_ibv_wr_post(documents, pages):
    rows = wr_table(pages["ibv_wr_post"])
    assert len(rows) == 12
    operations = of_pages(documents)
    assert set(operations) == set(rows)
    corrected = {"SRC SEND": ["XRC_SEND"], "RD": []}  # SRC-SEND, FLUSH-RD
    for name, (builder, types, setters) in rows.items():
        expected = {good for one in types for good in corrected.get(one, [one])}
        assert set(operations[name]["wr"]) == expected, name
        assert operations[name]["builder"] == builder
        assert operations[name]["setters"] == ([] if setters == "NONE" else setters.split(", ")), name


def test_table_of_ibv_post_send(documents, pages):
    rows = post_table(pages["ibv_post_send"])
    assert len(rows) == 11
    for name, operation in of_pages(documents).items():
        assert set(operation["post"]) == set(rows.get(name, [])), name


def test_table_of_2006(documents):
    """The page of libibverbs 1.1.8: seven opcodes on three QP types, 13 crosses."""
    crosses = {op["name"]: op["post_2006"] for op in documents["wr"]["operations"] if op.get("post_2006")}
    assert len(crosses) == 7 and sum(len(types) for types in crosses.values()) == 13


def test_valid_cells_are_those_of_the_page(documents):
    """34 of the 60 cells of the table are valid (12 operations on 5 QP types)."""
    table = of_pages(documents).values()
    assert sum(len(op["wr"]) for op in table) == 34
    assert len(table) * len(documents["wr"]["qp_types"]) == 60


def quotes(documents):
    """(clause, sentence) of everything that is quoted, but for rows of tables."""
    wr = documents["wr"]
    for entry in wr["setters"] + wr["flags"] + wr["calls"]:
        yield entry["clause"], entry["quote"]
        if "post_quote" in entry:
            yield entry["post_clause"], entry["post_quote"]
        for clause in entry.get("clauses", []):
            yield clause["id"], clause["quote"]
    for operation in wr["operations"]:
        if "effect" in operation:
            yield operation["effect_clause"], operation["effect"]
    for rule in wr["rules"]:
        yield rule["id"], rule["quote"]


def test_every_sentence_stands_on_its_page(documents, pages):
    missing = []
    texts = {name: plain(text) for name, text in pages.items()}
    absent = NEWER.keys() - pages.keys()
    for clause, sentence in quotes(documents):
        if clause.split("/")[0] in absent:
            continue
        if plain(sentence).strip() not in texts[clause.split("/")[0]]:
            missing.append((clause, sentence))
    assert not missing


def test_errata_are_used_and_complete(documents):
    """Each line of the review of the pages has a decision; every decision is used."""
    wr = documents["wr"]
    used = set()
    for entry in wr["operations"] + wr["setters"] + wr["flags"] + wr["calls"] + wr["rules"]:
        used |= set(entry.get("errata", []))
    declared = {erratum["id"] for erratum in wr["errata"]}
    assert used == declared
    assert {
        "SRC-SEND", "FLUSH-RD", "FLUSH-DATA", "SEND-IMM-RECV-OPCODE", "WRITE-BYTES", "INLINE-LIST-TYPE",
        "EXAMPLE-NAMES", "QP-SETTER-SCOPE", "NONE-ROWS", "INV-WHAT", "INLINE-OPS", "FENCE-SCOPE",
        "ATOMIC-WRITE-UNDOCUMENTED", "TSO-UD", "POST-TABLE-AGE", "OPS-UNSUPPORTED", "OPS-NOT-ASKED",
        "POST-ERRNO", "POST-IN-RESET",
    } <= declared  # fmt: skip
