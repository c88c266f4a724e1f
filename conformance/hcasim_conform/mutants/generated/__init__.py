# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs generated mutants on the cells that reach them (docs/mutants.md)."""
