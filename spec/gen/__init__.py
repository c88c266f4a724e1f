# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Turns the YAML files of spec/ into C headers, a SystemVerilog package, a Python module and Markdown."""
