# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The ratchet: the score that was reached once is not lost again.

score.yaml has, for each part, how many mutants the last full run caught and how many there were, without equivalent
ones. A full run fails when a part's share is below that one (by more than SLACK, for what depends on time). A sample of
n mutants, of which k are caught, fails when so few or fewer would come from a suite that is as good as it was, whose
share is p, in less than one of a thousand samples: P(X <= k) < 0.001 for X binomial (n, p). Samples are drawn without
replacement, which makes their spread smaller: the rule errs towards green. With n = 100 and p = 0.8 it is red from 66
down: a suite that has come down to 0.66 is red every other time.
"""
import random
from math import comb
from pathlib import Path

import yaml

from .catalogue import HERE, PARTS

SCORE = HERE / "mutants" / "generated" / "score.yaml"
LIKELY = 0.001
SLACK = 0.005


def load(path=SCORE):
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))["parts"]


def count(verdicts):
    """part -> (caught, mutants), equivalent ones not counted."""
    counts = {part: [0, 0] for part in PARTS}
    for verdict in verdicts:
        if verdict.outcome != "equivalent":
            counts[verdict.mutant.part][0] += verdict.outcome == "caught"
            counts[verdict.mutant.part][1] += 1
    return {part: tuple(pair) for part, pair in counts.items()}


def so_few(caught, mutants, share):
    """P(X <= caught) of a binomial distribution."""
    return sum(comb(mutants, k) * share**k * (1 - share) ** (mutants - k) for k in range(caught + 1))


def complaints(counts, known, whole):
    """What the ratchet says of a run: of all mutants, or of a sample."""
    if whole:
        return [
            f"{part}: {caught} of {mutants} caught, the ratchet is {known[part]['caught']} of {known[part]['mutants']}"
            for part, (caught, mutants) in counts.items()
            if mutants and caught / mutants < known[part]["caught"] / known[part]["mutants"] - SLACK
        ]
    caught, mutants = (sum(pair[i] for pair in counts.values()) for i in (0, 1))
    share = sum(k["caught"] for k in known.values()) / sum(k["mutants"] for k in known.values())
    chance = so_few(caught, mutants, share)
    if chance >= LIKELY:
        return []
    return [f"{caught} of {mutants} caught: with the ratchet's share of {share:.3f} that has a chance of {chance:.1g}"]


def sample(mutants, size, seed):
    """A random choice that follows from the seed."""
    return sorted(random.Random(seed).sample(mutants, min(size, len(mutants))), key=lambda m: m.number)


def write(counts, path=SCORE):
    """The new ratchet; what is written by hand above it stays."""
    head = [line for line in Path(path).read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    rows = [f"  {part}: {{caught: {caught}, mutants: {mutants}}}" for part, (caught, mutants) in counts.items()]
    Path(path).write_text("\n".join([*head, "parts:", *rows]) + "\n", encoding="utf-8")
