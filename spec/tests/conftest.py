# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fixtures: the spec as YAML, as model, and as generated files in a folder of this run."""

import importlib
import os
import sys
from pathlib import Path

import pytest
import yaml

SPEC = Path(__file__).resolve().parent.parent
ROOT = SPEC.parent
sys.path.insert(0, str(SPEC))
sys.dont_write_bytecode = True

from gen import __main__ as generator  # noqa: E402
from gen import load  # noqa: E402
from gen import spec as spec_module  # noqa: E402


@pytest.fixture(scope="session")
def documents():
    """All files as plain YAML: what the tests compare the generator with."""
    return {name: yaml.safe_load((SPEC / f"{name}.yaml").read_text()) for name in load.names(SPEC)}


@pytest.fixture(scope="session")
def model():
    return spec_module.read(SPEC)


@pytest.fixture(scope="session")
def generated(model, tmp_path_factory):
    """A folder with everything the generator writes."""
    folder = tmp_path_factory.mktemp("generated")
    for name, text in generator.outputs(model).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def hcasim_spec(generated):
    """The generated Python module."""
    sys.path.insert(0, str(generated / "python"))
    try:
        yield importlib.import_module("hcasim_spec")
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="session")
def rdma_include():
    return Path(os.environ.get("HCASIM_RDMA_INCLUDE", ROOT / "build" / "rdma-core" / "include"))


@pytest.fixture(scope="session")
def rdma_source():
    return Path(os.environ.get("HCASIM_RDMA_SOURCE", ROOT / "build" / "rdma-core-src"))


@pytest.fixture(scope="session")
def rdma_newer_source():
    """The newer release, if there is one."""
    return Path(os.environ.get("HCASIM_RDMA_NEWER_SOURCE", ROOT / "build" / "rdma-core-65-src"))
