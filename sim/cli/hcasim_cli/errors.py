# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Errors for the user of hcasim run."""
import contextlib

from . import exits


class RunError(Exception):
    """An error for the user; the run ends with this status."""

    def __init__(self, text, status=exits.MACHINE_FAILED):
        super().__init__(text)
        self.status = status


@contextlib.contextmanager
def naming(what, status=exits.MACHINE_FAILED):
    """Turns an OSError into a RunError that starts with `what`."""
    try:
        yield
    except OSError as error:
        raise RunError(f"{what}: {error.strerror or error}", status) from None
