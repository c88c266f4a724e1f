# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What the mark `cover` leaves by day has each value, and each pair of values, that the whole has."""
import itertools

import pytest

from by_day import covering

ROWS = {
    number: dict(zip("abcd", values))
    for number, values in enumerate(itertools.product(range(2), range(3), range(4), range(5)))
}


@pytest.mark.parametrize("n, most", [(1, 5), (2, 25), (4, 120)])
def test_what_occurs_together_is_there(n, most):
    chosen = [ROWS[key] for key in covering(ROWS, n)]
    of = lambda rows: {part for row in rows for part in itertools.combinations(row.items(), n)}  # noqa: E731
    assert of(chosen) == of(ROWS.values()) and len(chosen) <= most


def test_values_that_do_not_go_together_are_not_missed():
    rows = {0: {"a": 1, "b": 1}, 1: {"a": 2, "b": 1}, 2: {"a": 2, "b": 3}}
    assert covering(rows, 1) == {0, 2} and covering(rows, 2) == {0, 1, 2}
