# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Faults of other vendors' providers: the lists fit rdma-core and the suite; planting; and what is said of a gate."""
import os
import re
from pathlib import Path

import pytest
import yaml

from conftest import REPO
from hcasim_conform.mutants import provider as providers
from hcasim_conform.run import dut

SOURCE = Path(os.environ.get("RDMA_CORE_SOURCE", REPO / "build" / "rdma-core-src"))
LISTS = sorted(path.stem for path in providers.FAULTS.glob("*.yaml"))
FILE = "providers/x/a.c"
TEXT = """int twice(int a);

static int
twice(int a)
{
	return a + a;
}

int thrice(int a)
{
	return twice(a) + a;
}
"""
RED, OTHER = "wr/send/rc/sge/-/signaled", "wr/send/uc/sge/-/signaled"


def targets_of(source):
    """Build targets of rdma-core's providers: rdma_shared_provider() names them so, rdma_provider() after the file."""
    abi = re.search(
        r"IBVERBS_PABI_VERSION \"(\d+)\"", (source / "CMakeLists.txt").read_text(encoding="utf-8")
    )[1]
    for path in source.glob("providers/*/CMakeLists.txt"):
        for kind, name in re.findall(
            r"^rdma_(shared_)?provider\((\w+)", path.read_text(encoding="utf-8"), re.M
        ):
            yield name if kind else f"{name}-rdmav{abi}"


@pytest.mark.parametrize("page", ["ci.md", "for-provider-maintainers.md"])
def test_the_recipes_name_targets_of_rdma_core(page):
    text = (REPO / "docs" / page).read_text(encoding="utf-8")
    named = re.findall(r"ninja -C build ibverbs rdmacm (\S+)", text)
    assert named and set(named) <= set(targets_of(SOURCE))
    if page == "ci.md":  # each provider that has a DUT file of its own
        assert [name.split("-")[0] for name in named] == ["mlx5", "rxe"]


def fault(*edits, **more):
    return providers.Fault("f", "", "", tuple(edits), **more)


@pytest.fixture
def tree(tmp_path):
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    path.write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_planting_in_a_function(tree):
    made = providers.planted(fault((FILE, "twice", "a + a", "a"), (FILE, None, "twice(a)", "0")), tree)
    assert made == {FILE: TEXT.replace("a + a", "a").replace("twice(a)", "0")}
    assert (tree / FILE).read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize(
    "edit, words",
    [
        ((FILE, None, "b", ""), "fault f: providers/x/a.c contains 0 times, instead of once: 'b'"),
        ((FILE, None, "return", ""), "contains 2 times"),
        ((FILE, "thrice", "a + a", ""), "thrice() of providers/x/a.c contains 0 times"),
        ((FILE, "four", "a", ""), "fault f: providers/x/a.c has no function four()"),
        (("providers/x/b.c", None, "a", ""), "fault f: .*b.c: No such file"),
    ],
)
def test_an_edit_that_does_not_fit_names_the_fault(edit, words, tree):
    with pytest.raises(providers.ProviderError, match=words.replace("()", r"\(\)")):
        providers.planted(fault(edit), tree)


@pytest.mark.parametrize(
    "file, place",
    [
        ("providers/rxe/rxe.c", "rxe.c"),
        ("providers/rxe/rxe_queue.h", "rxe_queue.h"),
        ("libibverbs/cmd.c", "cmd.c"),
        ("libibverbs/verbs.h", "include/infiniband/verbs.h"),
        ("librdmacm/rdma_verbs.h", "include/rdma/rdma_verbs.h"),
        ("kernel-headers/rdma/rdma_user_rxe.h", "include/rdma/rdma_user_rxe.h"),
    ],
)
def test_headers_are_where_programs_look_for_them(file, place, tmp_path):
    assert providers.Provider.place(file, tmp_path) == tmp_path / place


@pytest.fixture
def write(tmp_path):
    def make(**change):
        row = {"id": "f", "what": "a fault of some kind", "why": "a reason for it", "file": FILE, "find": "a"}
        row |= {"with": "b", "red": [RED], "says": "wrong", **change}
        row = {key: value for key, value in row.items() if value is not None}
        path = tmp_path / "list.yaml"
        path.write_text(yaml.safe_dump({"faults": [row, {**row, "id": "g"}]}), encoding="utf-8")
        return path

    return make


def test_a_list(write):
    first, second = providers.load(write(green=[OTHER], also=[{"file": FILE, "find": "c", "with": ""}]))
    assert (first.id, second.id, first.cells) == ("f", "g", (RED, OTHER))
    assert first.edits == ((FILE, None, "a", "b"), (FILE, None, "c", ""))


@pytest.mark.parametrize(
    "change, words",
    [
        ({"file": "/etc/passwd.c"}, "faults/0/file"),
        ({"red": None, "says": None}, "faults/0"),
        ({"red": []}, "faults/0"),
        ({"not_caught": "no cell can tell"}, "faults/0"),
        ({"says": "("}, r"fault f: says '\('"),
        ({"id": "g"}, "the id g is there twice"),
        ({"colour": "red"}, "faults/0"),
    ],
)
def test_a_wrong_list_is_named(change, words, write):
    with pytest.raises(providers.ProviderError, match=words):
        providers.load(write(**change))


def test_complaints():
    one = fault(red=(RED,), green=(OTHER,), says="wrong|expected")
    worse = f"worse  {RED}: pass -> fail: byte 3 is wrong\nworse  9 cells compared: 1 worse\n"
    assert providers.complaints(one, worse) == []
    assert providers.complaints(one, "same   9 cells compared\n") == [f"{RED} is not worse"]
    assert providers.complaints(one, worse + f"worse  {OTHER}: pass -> fail: x\n") == [
        f"{OTHER} is worse, too"
    ]
    either = fault(red=(RED, OTHER), says="wrong", race=True)
    assert providers.complaints(either, worse) == []
    assert providers.complaints(either, "") == [f"{RED} is not worse", f"{OTHER} is not worse"]
    (said,) = providers.complaints(one, worse.replace("wrong", "late"))
    assert said.startswith(f"{RED}: fail: byte 3 is late: not")


def test_the_lists_are_long_enough():
    assert {name: len(providers.load(providers.FAULTS / f"{name}.yaml")) for name in LISTS}.keys() == {
        "mlx5",
        "rxe",
    }
    for name, least in (("mlx5", 20), ("rxe", 5)):
        assert sum(bool(one.red) for one in providers.load(providers.FAULTS / f"{name}.yaml")) >= least


def test_the_lists_are_for_one_release(tree):
    (tree / "CMakeLists.txt").write_text(f'set(PACKAGE_VERSION "{providers.RELEASE}")\n', encoding="utf-8")
    assert providers.fits(tree)
    (tree / "CMakeLists.txt").write_text('set(PACKAGE_VERSION "65.0")\n', encoding="utf-8")
    assert not providers.fits(tree) and not providers.fits(tree / "none")


@pytest.mark.skipif(not providers.fits(SOURCE), reason=f"the lists are for rdma-core {providers.RELEASE}")
@pytest.mark.parametrize("name", LISTS)
def test_a_list_fits_rdma_core_and_the_suite(name, by_id):
    device = dut.load(name)
    for one in providers.load(providers.FAULTS / f"{name}.yaml"):
        providers.planted(one, SOURCE)
        for cell in one.cells:
            known = device.difference(by_id[cell])
            assert device.supports(by_id[cell]) and not (known and known.whole), f"{one.id}: {cell}"


@pytest.mark.parametrize("name", LISTS)
def test_a_second_fault_is_caught_behind_each_known_difference(name, by_id):
    """A cause that excuses observations hides no other fault: one of the list is red in a cell of that cause."""
    device = dut.load(name)
    excused = {row.cause for row in device.differences if not row.whole}
    known = [
        device.difference(by_id[cell])
        for one in providers.load(providers.FAULTS / f"{name}.yaml")
        for cell in one.red
    ]
    behind = {row.cause for one in known if one and not one.whole for row in one.rows}
    assert excused and not excused - behind
