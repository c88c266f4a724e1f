# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suites beside the matrix: what a table of single requests cannot say.

A case is a cell like any other: an id, a sentence, a level, and a line for the runner. The requests that it
posts and the completions that they must have come from the tables; what is done with them is the scenario
of the runner (conformance/runner/suites/) that the line names.
"""
from .suite_faults import Faults
from .suite_misuse import Misuse
from .suite_objects import Objects
from .suite_posting import Posting
from .suite_psn import Sequence
from .suite_queues import Queues

SUITES = (Posting, Faults, Sequence, Objects, Queues, Misuse)


def cases(tables):
    """Every case of every suite, in their order. Ids are unique."""
    return [case for suite in SUITES for case in suite(tables).cases()]
