# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A place in a file where mutants are planted, and its replacement text (mutant schemata: all mutants in one build)."""
from dataclasses import dataclass, field


@dataclass
class Mutant:
    operator: str
    change: str  # original and mutant: "a < b -> a <= b"
    offset: int
    function: str
    number: int = 0
    statement: str = ""  # or condition or initialized member that it is part of
    under: str = ""  # the condition or label that controls the statement


@dataclass
class Site:
    """`render(inner, base)`: its text. inner(start, end) is that of a part with the sites in it; base the first number."""

    start: int
    end: int
    mutants: list
    render: object
    inner: list = field(default_factory=list)  # sites
    probe: bool = False  # probe.py; it has no mutants of its own
    first: int = 0  # number of the first mutant in it
    count: int = 0  # and how many there are, with those of inner sites

    @property
    def key(self):
        return self.start, self.end, tuple(m.change for m in self.mutants)


def nest(sites):
    """A forest: sites within sites. One that overlaps with another crosswise is left out; returns (roots, those)."""
    roots, open_, crossing = [], [], []
    for site in sorted(sites, key=lambda s: (s.start, -s.end, not s.probe)):
        while open_ and open_[-1].end <= site.start:
            open_.pop()
        if open_ and site.end > open_[-1].end:
            crossing.append(site)
            continue
        (open_[-1].inner if open_ else roots).append(site)
        open_.append(site)
    return roots, crossing


def number(sites, base):
    for site in sites:
        site.first = base
        for mutant in site.mutants:
            mutant.number = base
            base += 1
        base = number(site.inner, base)
        site.count = base - site.first
    return base


def render(source, sites, start, end):
    """The text from start to end with the sites in it."""
    out, at = [], start
    for site in sites:
        if site.end <= start or site.start >= end:
            continue

        def inner(a, b, site=site):
            return render(source, site.inner, a, b)

        out += [source.text(at, site.start), site.render(inner, site.first)]
        at = site.end
    return "".join([*out, source.text(at, end)])
