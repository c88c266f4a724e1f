# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Mutants by machine: planted by the standard operators, run on the cells that reach them (docs/mutants.md)."""
