# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim explain: says in sentences what went wrong in a traced run, and where in the program."""
import json
import sys
import textwrap

from .. import exits
from ..parser import Parser
from ..views import view
from .problems import Collector
from .records import Folder

FINE = "nothing went wrong: no request failed, no call was refused, and no program hung"


def parser(_build):
    p = Parser(
        prog="hcasim explain",
        description="Says what went wrong in a run that was traced: failed completions, asynchronous events, refused calls, "
        "dropped datagrams, and who waits for what, each with its cause, work request, packet and line of the program. "
        "Exits with 0 if nothing went wrong, and with 1 otherwise.",
        epilog="Example: hcasim explain t, or hcasim run --explain -- ./my_program. More: docs/explain.md.",
    )
    p.add_argument("folder", metavar="DIR", help="folder of hcasim run --trace")
    p.add_argument("--json", action="store_true", help="as JSON")
    return p


def wrong(problems):
    """False: there are only events of normal operation."""
    return any(not problem.note for problem in problems)


def consequences(problem):
    for (hca, qpn), count in problem.flushed.items():
        requests = "request was" if count == 1 else "requests were"
        yield f"then {count} {requests} flushed on QP {qpn} of {hca} (IBV_WC_WR_FLUSH_ERR)"


def details(problem):
    found = {}
    for what, text in problem.details:
        found.setdefault(what.replace(" ", "_"), []).append(text)
    return {what: "; ".join(texts) for what, texts in found.items()}


def as_json(problems):
    return [
        {"ps": p.ps, "rule": p.rule, "title": p.title, "cause": p.cause, "count": p.count, "note": p.note}
        | details(p)
        | {"consequences": list(consequences(p))}
        for p in problems
    ]


def paragraph(number, problem):
    times = f" ({problem.count} times)" if problem.count > 1 else ""
    lines = [f"{number}. {problem.title}{times}, at {problem.ps / 1e3:.1f} ns"]
    lines += textwrap.wrap(f"{problem.cause}.", 100, break_long_words=False)
    for what, text in problem.details + [("and", text) for text in consequences(problem)]:
        lines += textwrap.wrap(f"{what}: {text}", 100, subsequent_indent="  ", break_long_words=False)
    return "\n   ".join(lines)


def text_of(problems, with_events=True):
    parts = [] if wrong(problems) else [FINE]
    parts += [paragraph(number, problem) for number, problem in enumerate(problems, 1)]
    if not with_events:
        parts.append("The trace has no events.log (--no-events): packets and posting calls are not known.")
    return "\n\n".join(parts)


def explain(folder, out, json_format=False):
    """Prints what went wrong. True: something did."""
    read = Folder(folder)
    problems = Collector(read).collect()
    if json_format:
        print(json.dumps({"problems": as_json(problems)}, indent=1), file=out)
    else:
        print(text_of(problems, read.with_events), file=out)
    return wrong(problems)


def main(build, args):
    options = parser(build).parse_args(args)
    found = []
    status = view(lambda: found.append(explain(options.folder, sys.stdout, options.json)))
    return status or (exits.FAILED if found[0] else exits.OK)
