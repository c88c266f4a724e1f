# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim_verbs.h: numbers of the verbs API."""

from . import ctext


def _each(one):
    """A macro that applies another one to each name, for tables of names."""
    names = " ".join(f"X({value.name})" for value in one.values)
    return ctext.define(f"HCASIM_EACH_{one.name.upper()}(X)", names) + "\n"


def verbs_header(spec):
    body = "".join(ctext.enum(one, declare_name=not one.mask) + _each(one) for one in spec.verbs.values())
    title = "Numbers of the verbs API, for parts that do not include infiniband/verbs.h."
    return ctext.header("HCASIM_VERBS_H", title, [], body)
