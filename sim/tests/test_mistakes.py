# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What `hcasim explain` says of the mistakes of mistakes.yaml: cause, objects, sizes, and the function that made the call."""
import json
import os
import re
import signal
import subprocess

import pytest
import yaml

from conftest import BUILD, HERE, Machine

MISTAKES = yaml.safe_load((HERE / "mistakes.yaml").read_text())
FAMILIES = ["native", "mlx5", "rxe"]
RUNS = [(m, family) for m in MISTAKES for family in m.get("devices", FAMILIES)]
SHARED = [m for m in MISTAKES if "program" not in m]  # of one machine for each family


def machine(family, *options):
    return Machine(hcas=2, options=["--device", family, *options], memlock=True)


def wait_for_waits(folder, hanging):
    """Until the trace says of each of these processes what it waits for: a second after the last one has made a call."""
    seen = set()
    with subprocess.Popen(
        ["tail", "-n", "+1", "-f", folder / "verbs.log"], stdout=subprocess.PIPE, text=True
    ) as tail:
        while not hanging <= seen:
            record = json.loads(tail.stdout.readline())
            if record.get("event") == "waits":
                seen.add(record["pid"])
        tail.kill()


def run_all(family, folder):
    """Runs the programs of a family on one machine; what they print, by name."""
    rows = [m for m in SHARED if family in m.get("devices", FAMILIES)]
    rows.sort(key=lambda m: bool(m.get("hangs")))
    process = machine(family, "--trace", folder).start(
        BUILD / "bin/hcasim-mistakes", *[m["name"] for m in rows]
    )
    output = ""
    for line in process.stdout:
        output += line
        if line == "all started\n":
            pids = {name: int(pid) for name, pid in re.findall(r"^-- (\w+), process (\d+)$", output, re.M)}
            wait_for_waits(folder, {pids[m["name"]] for m in rows if m.get("hangs")})
            os.killpg(process.pid, signal.SIGINT)
    process.wait()
    parts = re.split(r"^-- (\w+), process (\d+)\n", output, flags=re.M)
    return {name: (int(pid), text) for name, pid, text in zip(parts[1::3], parts[2::3], parts[3::3])}


def text_of(problem):
    return "\n".join(str(part) for part in problem.values())


def assign(problems, began):
    """The problems of each process: those that name it, and else those of its time."""
    found = {pid: [] for pid in began}
    for problem in problems:
        named = re.search(r"\bprocess (\d+)", text_of(problem))
        before = [pid for pid, ps in began.items() if ps <= problem["ps"]]
        pid = int(named[1]) if named else max(before, key=began.get)
        found[pid].append(text_of(problem))
    return found


def first_records(folder):
    began = {}
    for line in (folder / "verbs.log").read_text().splitlines():
        record = json.loads(line)
        if "pid" in record:
            began.setdefault(record["pid"], record["ps"])
    return began


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    """Of each family what each program printed, and what is said of it."""
    runs = {}

    def get(family):
        if family not in runs:
            folder = tmp_path_factory.mktemp(family)
            printed = run_all(family, folder)
            command = [BUILD / "bin/hcasim", "explain", "--json", folder]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            assert result.returncode == 1, result.stderr
            said = assign(json.loads(result.stdout)["problems"], first_records(folder))
            runs[family] = {name: (text, said[pid]) for name, (pid, text) in printed.items()}
        return runs[family]

    return get


def number(value):
    """A regular expression for the number, in decimal or hexadecimal."""
    return rf"(?:0x0*{int(value):x}|{value})\b"


def fill_in(pattern, output):
    values = dict(re.findall(r"^(\w+) = (\d+)$", output, re.M))
    return re.sub(r"<(\w+)>", lambda match: number(values[match[1]]), pattern)


@pytest.mark.parametrize("mistake, family", RUNS, ids=[f"{m['name']}-{family}" for m, family in RUNS])
def test_mistake(explained, mistake, family):
    if "program" in mistake:
        program, *arguments = mistake["program"].split()
        output = machine(family, "--explain").run(BUILD / "bin" / program, *arguments).output
        said = [output]
    else:
        output, said = explained(family)[mistake["name"]]
    assert re.search(mistake["sees"], output), output
    wanted = [fill_in(pattern, output) for pattern in mistake["says"]]
    at = mistake.get("at", mistake["name"])
    if at:
        wanted.append(rf"\b{at}\(\)")
    explanation = "\n\n".join(said)
    missing = [pattern for pattern in wanted if not re.search(pattern, explanation)]
    assert not missing, f"not said: {missing}\n{output}\n{explanation}"


def test_table():
    """The table has the functions of hcasim-mistakes, each once, and at least 20 that people ask about."""
    names = [m["name"] for m in SHARED]
    sources = "".join(path.read_text() for path in sorted(HERE.glob("mistakes*.c")))
    assert sorted(names) == sorted(re.findall(r'\{"(\w+)", \1\}', sources))
    assert sum(len(m.get("asked", [])) >= 3 for m in MISTAKES) >= 20
