# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""--headers: inline calls are compiled with the headers of a folder."""
import os
from pathlib import Path

import pytest

from conftest import REPO
from hcasim_conform.run import headers

INCLUDE = Path(os.environ.get("RDMA_CORE_BUILD", REPO / "build" / "rdma-core")) / "include"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.setenv(headers.VARIABLE, "")


def test_the_runners_get_what_was_compiled(tmp_path):
    headers.build(INCLUDE, tmp_path)
    assert Path(os.environ[headers.VARIABLE]) == tmp_path / "inline.so"
    assert (tmp_path / "inline.so").stat().st_size


def test_headers_that_do_not_compile_are_named(tmp_path):
    (tmp_path / "rdma").mkdir()
    (tmp_path / "rdma" / "rdma_verbs.h").write_text("#error old\n", encoding="utf-8")
    with pytest.raises(headers.HeadersError, match=rf"--headers {tmp_path}: cc ended with 1: (?s:.*)old"):
        headers.build(tmp_path, tmp_path)


def test_a_compiler_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-cc")
    with pytest.raises(headers.HeadersError, match="no-such-cc: No such file"):
        headers.build(INCLUDE, tmp_path)
