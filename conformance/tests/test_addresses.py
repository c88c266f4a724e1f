# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Short addresses of requirements: each sentence has one, which it keeps, and which selects its cells."""
import pytest

from hcasim_conform import cli
from hcasim_conform.model import addresses
from hcasim_conform.select.selection import SelectionError, Selector, clauses_at

KNOWN = {"ibv_wr_post/A/one": "wr/1.1", "ibv_wr_post/A/two": "wr/1.2", "ibv_wr_post/B/one": "wr/2.1"}


def test_each_sentence_has_an_address(tables):
    """If one is missing: python3 -m hcasim_conform.model.addresses, in conformance/."""
    known = addresses.load()
    assert set(tables.sentences) <= set(known)
    assert len(set(known.values())) == len(known)
    assert known["ibv_wr_post/WORK-REQUESTS/RDMA/ibv_wr_rdma_write_imm"] == "wr/3.2"


def test_addresses_are_kept():
    """A new sentence comes last in its section, also where others are gone from the specification."""
    found = addresses.numbered(["ibv_wr_post/C/x", "ibv_wr_post/A/three", "ibv_poll_cq/A/one"], KNOWN)
    assert found == {
        **KNOWN,
        "ibv_wr_post/C/x": "wr/3.1",
        "ibv_wr_post/A/three": "wr/1.3",
        "ibv_poll_cq/A/one": "poll_cq/1.1",
    }


@pytest.mark.parametrize(
    "address, more", [("wr/3.2", ["wr/3.2"]), ("wr/3", ["wr/3.1", "wr/3.3"]), ("wr/", ["wr/1.1"])]
)
def test_an_address_selects_its_cells(enumerator, address, more):
    clauses = clauses_at([address])
    at = addresses.load()
    assert set(more) <= {at[clause] for clause in clauses}
    selection = Selector(enumerator, requirements=[address]).select()
    assert selection.cells
    assert all(clauses & {c.expect.clause, *c.expect.also} for c in selection.cells)
    counts = selection.counts()
    assert counts["run"] + sum(counts["left_out"].values()) == counts["exist"]


def test_no_such_address():
    with pytest.raises(SelectionError, match="'wr/3.99' is no requirement, section or page.*near it: wr/3"):
        clauses_at(["wr/3.99"])


def test_addresses_on_the_command_line(capsys):
    assert cli.main(None, ["--list", "wr/3.2", "-k", "signaled and rc"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines and all("/rdma_write_imm/" in line and "  wr/3.2  " in line for line in lines)
    assert cli.main(None, ["--list", "wr/3.2", "-k", "rdma_read"]) == 2
    assert "no selected cell tests these requirements" in capsys.readouterr().err
