# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Plants mutants by the standard operators into a C source file (docs/mutants.md)."""
