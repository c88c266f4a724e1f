# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim_verbs.h: numbers of the verbs API."""

from . import ctext


def verbs_header(spec):
    body = "".join(ctext.enum(one, declare_name=not one.mask) for one in spec.verbs.values())
    title = "Numbers of the verbs API, for parts that do not include infiniband/verbs.h."
    return ctext.header("HCASIM_VERBS_H", title, [], body)
