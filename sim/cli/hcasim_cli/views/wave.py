# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim wave: queue levels, credits and stage activity as a waveform for GTKWave."""
import shutil
import subprocess
import tempfile
from operator import itemgetter

from .trace import LINKS, STAGES, TraceError


def identifier(number):
    """VCD's short names: printable characters."""
    name = ""
    while True:
        number, digit = divmod(number, 94)
        name += chr(33 + digit)
        if not number:
            return name


def edges(records):
    """(ps, 0 or 1): without the ends at which the next one starts."""
    changes = {}
    for record in sorted(records, key=lambda r: r.ps):
        if record.end > record.ps:
            changes[record.ps] = 1
            changes.setdefault(record.end, 0)
    return sorted(changes.items())


def signals(trace):
    """[(adapter, group, name, bits, [(ps, value), ...])]"""
    found = []
    for hca in trace.hcas:
        for stage in STAGES:
            steps = [s for s in trace.steps if s.hca == hca and s.stage == stage]
            found.append((hca, "busy", stage, 1, edges(steps)))
        for where in STAGES + LINKS:
            stalls = [s for s in trace.stalls if s.hca == hca and s.where == where]
            if stalls:
                found.append((hca, "waits", where, 1, edges(stalls)))
        for record in trace.ranges:
            if record.hca == hca:
                found.append((hca, "levels", record.name, 32, trace.levels[hca, record.name]))
    return found


def write_vcd(trace, file):
    file.write(f"$comment hcasim wave {trace.folder} $end\n$timescale 1ps $end\n")
    found = signals(trace)
    scope, changes = (), []
    for number, (hca, group, name, bits, values) in enumerate(found):
        if scope != (hca, group):
            file.write("$upscope $end\n$upscope $end\n" if scope else "")
            file.write(f"$scope module {hca} $end\n$scope module {group} $end\n")
            scope = (hca, group)
        file.write(f"$var {'wire' if bits == 1 else 'integer'} {bits} {identifier(number)} {name} $end\n")
        if not values or values[0][0]:
            changes.append((0, number, 0))
        changes += [(ps, number, value) for ps, value in values]
    file.write("$upscope $end\n$upscope $end\n$enddefinitions $end\n")
    at = None
    changes.sort(key=itemgetter(0))
    for ps, number, value in changes:
        if ps != at:
            file.write(f"#{ps}\n")
            at = ps
        one = f"{value}{identifier(number)}" if found[number][3] == 1 else f"b{value:b} {identifier(number)}"
        file.write(one + "\n")
    file.write(f"#{max([at or 0, *(s.end for s in trace.steps)])}\n")


def write(trace, path):
    """FST, or VCD if the name ends so."""
    if path.endswith(".vcd"):
        with open(path, "w") as file:
            write_vcd(trace, file)
        return
    if not shutil.which("vcd2fst"):
        raise TraceError(
            "vcd2fst is not installed (package gtkwave); a file name that ends in .vcd needs no program"
        )
    with tempfile.NamedTemporaryFile("w", suffix=".vcd") as file:
        write_vcd(trace, file)
        file.flush()
        result = subprocess.run(["vcd2fst", file.name, path], capture_output=True, text=True, check=False)
    if result.returncode:
        raise TraceError(f"vcd2fst: {(result.stderr or result.stdout).strip()}")
