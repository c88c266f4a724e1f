# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""`--headers`: the calls that are inline in verbs.h and rdma_verbs.h, compiled with the headers under test.

The runner is compiled before it meets the libraries under test, so it has the inline code of its own build.
"""
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
SOURCE = HERE / "runner" / "suites" / "connection" / "inline.c"
VARIABLE = "HCASIM_CONFORM_INLINE"  # of the runner: the shared object


class HeadersError(Exception):
    """The headers do not compile; the message names the folder and quotes the compiler."""


def build(folder, out):
    """Compiles the calls and has all runners load them."""
    made = Path(out).resolve() / "inline.so"
    words = [os.environ.get("CC", "cc"), "-std=gnu11", "-shared", "-fPIC", "-O1", "-I", folder, SOURCE]
    # Only a link to the libraries selects the versions of their symbols: those under test, or next to the headers.
    words += ["-L", Path(folder).parent / "lib", "-libverbs", "-lrdmacm"]
    env = dict(os.environ, LIBRARY_PATH=os.environ.get("LD_LIBRARY_PATH", ""))
    try:
        done = subprocess.run(
            [str(word) for word in (*words, "-o", made)], env=env, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise HeadersError(f"--headers {folder}: {words[0]}: {error.strerror}") from error
    if done.returncode:
        raise HeadersError(
            f"--headers {folder}: {words[0]} ended with {done.returncode}: {done.stderr[-2000:]}"
        )
    os.environ[VARIABLE] = str(made)
