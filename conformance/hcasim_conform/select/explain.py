# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim conform --explain ID: the clause and errata of a cell, what it posts and expects, whether it runs."""
from hcasim_conform.model.axes import ALONE
from hcasim_conform.model.cells import TITLES, defined
from hcasim_conform.select.covering import base
from hcasim_conform.select.selection import COVERING, SelectionError, near, never

INDENT = "          "


def _request(wr):
    data = wr.data
    lengths = {"none": f"{list(data.lengths)} bytes", "inline": f"as many bytes as granted {data.delta:+d}"}
    lengths["sge"] = f"as many SGEs as granted {data.delta:+d}, of {(*data.lengths, 0)[0]} bytes"
    parts = [wr.op, "without data" if data.setter == "none" else f"{data.setter}: {lengths[data.limit]}"]
    if data.again:
        parts.append(f"then {data.again}")
    if wr.qp_setter != "none":
        parts.append(wr.qp_setter.replace("+", " and then "))
    parts.append("+".join(wr.flags) or "no flags")
    return ", ".join(parts).replace(" +0", "")


def _posted(cell):
    """What is posted, a line for each posting."""
    names = {"wr": "ibv_wr_start .. ibv_wr_complete", "post": "ibv_post_send", "writev": "rdma_post_writev"}
    names.update({"recv": "ibv_post_recv", "srq": "ibv_post_srq_recv"})
    before, rival, behind = (getattr(cell, name, None) for name in ("before", "rival", "behind"))
    if before:
        yield f"before: {names[before.api]}: {'; '.join(map(_request, before.wrs))}"
    name = "ibv_wr_start .. ibv_wr_abort" if getattr(cell, "abort", False) else names.get(cell.api, cell.api)
    yield f"{name}: {'; '.join(map(_request, cell.wrs))}"
    if rival:
        yield f"second thread: {names[rival.api]}: {'; '.join(map(_request, rival.wrs))}"
    if behind:
        yield f"behind: {names[behind.api]}: {'; '.join(map(_request, behind.wrs))}"


def _runs(selector, cell):
    if not defined(cell):
        return f"no: {never(cell.expect.why)}"
    block = getattr(cell, "block", None)
    if not block or cell.where in base(block):
        return "always: it stands in the covering set of every seed"
    if selector.mode == COVERING and any(c.id == cell.id for c in selector.of_mode()):
        return f"yes: the covering set of seed {selector.seed} has it, to cover pairs; and with --exhaustive"
    return f"with --exhaustive; not in the covering set of seed {selector.seed}; -k with its id runs it"


def _axes(cell):
    region = getattr(cell, "region", ALONE)
    yield "operation", f"{cell.op} on {cell.qpt}"
    if cell.ask:
        yield "asked", f"send_ops_flags: {', '.join(cell.ask)}"
    if region.id:
        yield "region", region.id


def explain(tables, selector, cell_id, lacks=None):
    """The lines to print."""
    cell = selector.enumerator.find(cell_id)
    if not cell:
        close = near(selector.enumerator, cell_id)
        raise SelectionError(
            f"there is no cell {cell_id!r}" + (f"; near it: {', '.join(close)}" if close else "")
        )
    e = cell.expect
    said = [("cell", cell.id), ("level", TITLES.get(e.level, e.level)), *_axes(cell)]
    said.append(("sentence", f"{e.clause}\n{INDENT}\"{tables.sentences.get(e.clause, '')}\""))
    said += [("also", f'{c}\n{INDENT}"{tables.sentences[c]}"') for c in e.also]
    for name in dict.fromkeys(e.errata + tables.clause_errata.get(e.clause, ())):
        row = tables.errata[name]
        said.append(("erratum", f"{name}: {row['page']}\n{INDENT}here: {row['decision']}"))
    if hasattr(cell, "wrs"):
        said.append(("posted", f"\n{INDENT}".join(_posted(cell))))
    said += [("expected", cell.expected()), ("runs", _runs(selector, cell))]
    reason = lacks(cell) if lacks else None
    if reason:
        said.append(("skipped", f"on this device: {reason}"))
    return [f"{name:9} {text}" for name, text in said]
