# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The conformance suite: the work request tables of the verbs man pages, cell by cell, on a verbs device."""
