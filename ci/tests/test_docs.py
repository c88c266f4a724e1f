# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Links between the pages of the repository lead to a file, and to a heading in it."""
import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PAGES = subprocess.run(
    ["git", "-C", TOP, "ls-files", "*.md"], capture_output=True, text=True, check=True
).stdout.split()
CODE = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page):
    """As GitHub makes them: lower case, without punctuation, spaces as dashes."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_links_of_a_page(name):
    page = TOP / name
    for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
