# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim __generate DIR: writes the files of share/ that are made from the table of commands. The build calls it."""
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
    files = {f"man/{page.path}": page.text() for page in man.pages(build)}
    for name, text in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return exits.OK
