# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The ratchet: the score must not fall below the one that was reached.

score.yaml has, for each part, how many mutants a run caught and of how many, without equivalent ones. That run was of
all mutants, or of a random sample, which gives the share p that the suite catches with a standard error e; the lower
bound is p - 3 e (e = sqrt(p (1 - p) / n * (1 - n / N)) for n of N drawn without replacement; 0 for all).

- A run of all fails if a part's share is below that bound by more than SLACK, which allows for timing.
- A sample of n of which k are caught fails if a suite with exactly that bound would catch k or fewer in less than one
  of a thousand samples: P(X <= k) < 0.001, X binomial. Without replacement the spread is smaller, so the test errs
  towards green. With n = 100 and a bound of 0.8 it is red from 66 down.
"""
import random
from collections import Counter
from math import comb, sqrt
from pathlib import Path


from .catalogue import HERE, PARTS, SAME

from hcasim_conform import yaml_text

SCORE = HERE / "mutants" / "generated" / "score.yaml"
LIKELY = 0.001
SLACK = 0.005


def load(path=SCORE):
    parts = yaml_text.load(Path(path).read_text(encoding="utf-8"))["parts"]
    return {part: (row["caught"], row["mutants"]) for part, row in parts.items()}


def count(verdicts):
    """part -> (caught, mutants), equivalent ones not counted."""
    counted = [v for v in verdicts if v.outcome != "equivalent"]
    of = {part: [v.outcome == "caught" for v in counted if v.mutant.part == part] for part in PARTS}
    return {part: (sum(caught), len(caught)) for part, caught in of.items()}


def share(caught, mutants):
    return f"{100 * caught / mutants:.1f} %" if mutants else "-"


def kinds(verdicts):
    """kind -> how many equivalent ones."""
    return dict(sorted(Counter(v.kind for v in verdicts if v.outcome == "equivalent").items()))


def tell_kinds(kinds, caught, mutants):
    """What is not counted, and the score if only those that behave as the original were not."""
    more = mutants + sum(number for kind, number in kinds.items() if kind != SAME)
    said = ", ".join(f"{number} {kind}" for kind, number in kinds.items()) or "none"
    return f"not counted: {said}; with all but '{SAME}' counted: {caught} of {more}, {share(caught, more)}"


def so_few(caught, mutants, share):
    """P(X <= caught) of a binomial distribution."""
    return sum(comb(mutants, k) * share**k * (1 - share) ** (mutants - k) for k in range(caught + 1))


def least(caught, mutants, population):
    """Lower bound of the suite's share, from `caught` of a sample of `mutants` out of `population`."""
    share = caught / mutants
    return share - 3 * sqrt(share * (1 - share) / mutants * max(0, 1 - mutants / population))


def total(pairs):
    return tuple(map(sum, zip(*pairs)))


def complaints(counts, known, population):
    """The complaints about a run; `counts`, `known`: part -> (caught, mutants), `population`: part -> mutants."""
    if total(counts.values())[1] == sum(population.values()):
        return list(
            filter(None, (of_part(part, counts[part], known[part], population[part]) for part in counts))
        )
    caught, mutants = total(counts.values())
    share = least(*total(known.values()), sum(population.values()))
    chance = so_few(caught, mutants, share)
    if chance >= LIKELY:
        return []
    return [
        f"{caught} of {mutants} caught: of a suite that catches {share:.3f} that has a chance of {chance:.1g}"
    ]


def of_part(part, count, known, population):
    share = least(*known, population)
    if not count[1] or count[0] / count[1] >= share - SLACK:
        return None
    return f"{part}: {count[0]} of {count[1]} caught, it was {known[0]} of {known[1]}, at least {share:.3f}"


def sample(mutants, size, seed):
    """A random choice that depends only on the seed."""
    return sorted(random.Random(seed).sample(mutants, min(size, len(mutants))), key=lambda m: m.number)


def write(counts, path=SCORE):
    """Writes the new ratchet; the comments above it stay."""
    head = [line for line in Path(path).read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    rows = [
        f"  {part}: {{caught: {caught}, mutants: {mutants}}}" for part, (caught, mutants) in counts.items()
    ]
    Path(path).write_text("\n".join([*head, "parts:", *rows]) + "\n", encoding="utf-8")
