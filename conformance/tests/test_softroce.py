# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The machine of the soft-RoCE DUT: tests that need no boot."""
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOFTROCE = Path(__file__).resolve().parents[1] / "softroce"
sys.path.insert(0, str(SOFTROCE))

import image  # noqa: E402


def module(folder, name, depends):
    path = folder / "lib" / "modules" / "6.9-amd64" / "kernel" / f"{name}.ko"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF\0name=" + name.encode() + b"\0depends=" + ",".join(depends).encode() + b"\0")


@pytest.fixture
def linux(tmp_path, monkeypatch):
    """A kernel and those modules whose dependencies matter."""
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot" / "vmlinuz-6.9-amd64").write_bytes(b"kernel")
    module(tmp_path, "ib_core", [])
    module(tmp_path, "ib_uverbs", ["ib_core"])
    module(tmp_path, "crc32-generic", [])
    module(tmp_path, "rdma_rxe", ["ib_core", "ib-uverbs"])
    monkeypatch.setenv("HCASIM_LINUX", str(tmp_path))
    return tmp_path


def test_modules_come_behind_what_they_need(linux):
    kernel = image.Kernel()
    names = [p.stem for p in kernel.load_order()]
    assert kernel.release == "6.9-amd64"
    assert sorted(names) == ["crc32-generic", "ib_core", "ib_uverbs", "rdma_rxe"]
    assert names.index("ib_core") < names.index("ib_uverbs") < names.index("rdma_rxe")


def entries(path):
    """name: (mode, data) of a cpio archive in the newc format."""
    data, at, found = gzip.decompress(path.read_bytes()), 0, {}
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = data[at + 110 : at + 110 + name_size - 1].decode()
        body = -(-(at + 110 + name_size) // 4) * 4
        if name == "TRAILER!!!":
            return found
        found[name] = (mode, data[body : body + size])
        at = -(-(body + size) // 4) * 4


def test_the_archive(tmp_path):
    archive = image.Archive()
    archive.add("dev", mode=0o040755)
    archive.add("odd", b"12345")
    archive.add("odd", b"again")
    archive.add("next", b"")
    archive.write(tmp_path / "initramfs")
    assert entries(tmp_path / "initramfs") == {
        "dev": (0o040755, b""),
        "odd": (0o100755, b"12345"),
        "next": (0o100755, b""),
    }


def test_the_image_holds_all_that_init_calls(linux, build, tmp_path):
    runner = build / "bin" / "hcasim-conform-runner"
    image.build(tmp_path / "initramfs", runner, image.Kernel())
    found = entries(tmp_path / "initramfs")
    order = found["lib/modules/order"][1].decode().split()
    assert {
        "init",
        "bin/busybox",
        "bin/sh",
        "bin/ip",
        "bin/rdma",
        "bin/runner",
        "lib/librxe-rdmav34.so",
    } <= set(found)
    assert {f"lib/modules/{name}" for name in order} <= set(found)
    assert any(name.startswith("lib/libibverbs.so") for name in found)
    assert "lib64/ld-linux-x86-64.so.2" in found


def test_a_kernel_without_rxe_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HCASIM_LINUX", str(tmp_path))
    monkeypatch.setattr(image, "REPO", tmp_path)
    if list(Path("/lib/modules").rglob("rdma_rxe.ko")):
        pytest.skip("this machine's own kernel has it")
    with pytest.raises(image.ImageError, match="ci/linux-fetch"):
        image.Kernel()


def softroce(*words, **env):
    command = [sys.executable, str(SOFTROCE / "softroce"), *words]
    return subprocess.run(command, input="", capture_output=True, text=True, timeout=60, env=env, check=False)


def test_without_qemu_it_says_so(linux, build, tmp_path):
    """All programs of the image are installed, qemu is not."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("busybox", "ip", "rdma", "ldd", "sh"):
        (programs / name).symlink_to(image.find_program(name, "needed"))
    (programs / "hcasim-conform-runner").symlink_to(build / "bin" / "hcasim-conform-runner")
    env = {"PATH": str(programs), "HCASIM_DUT_DIR": str(tmp_path), "HCASIM_LINUX": os.environ["HCASIM_LINUX"]}
    done = softroce("serve", **env)
    assert done.returncode == 1
    assert (
        json.loads(done.stdout)["error"] == "there is no 'qemu-system-x86_64' here: install qemu-system-x86"
    )


@pytest.mark.parametrize(
    "env, words", [({}, "HCASIM_DUT_DIR"), ({"HCASIM_DUT_DIR": "/nowhere"}, "No such file")]
)
def test_a_wrapper_without_its_service(env, words):
    done = softroce("run", "--", "hcasim-conform-runner", PATH=os.environ["PATH"], **env)
    assert done.returncode == 70
    assert words in done.stderr


def test_usage():
    assert softroce("fly").returncode == 2
