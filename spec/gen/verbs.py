# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""verbs.yaml: numbers of the verbs API."""

from .model import parse_enum, unique

FILE = "verbs.yaml"


def parse(document):
    where = f"{FILE}: enums"
    return unique(where, document["enums"], lambda entry: parse_enum(where, entry))
