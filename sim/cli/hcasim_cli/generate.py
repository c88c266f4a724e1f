# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim __generate DIR: writes the manual pages to DIR/man. The build calls it."""
import os
from pathlib import Path

from . import exits, man


class WithoutEngines:
    """A build as its package is installed: other engines than c are of another package."""

    engines = os.devnull

    def __init__(self, build):
        self._build = build

    def __getattr__(self, name):
        return getattr(self._build, name)


def main(build, args):
    (folder,) = args
    build = WithoutEngines(build)
    for page in man.pages(build):
        path = Path(folder, "man", page.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.text(), encoding="utf-8")
    return exits.OK
