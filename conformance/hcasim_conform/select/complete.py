# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Completion of cell ids on a command line, one part at a time: there are a million."""


def next_parts(enumerator, begin):
    """Beginnings of ids, up to the next slash, that start with `begin`."""
    found = [_cut(cell_id, begin) for cell_id in enumerator.extra if cell_id.startswith(begin)]
    for head, block in enumerator.blocks.items():
        found += [part for part in _of_block(head, block, begin) if part.startswith(begin)]
    return list(dict.fromkeys(found))


def _cut(cell_id, begin):
    end = cell_id.find("/", len(begin))
    return cell_id if end < 0 else cell_id[: end + 1]


def _of_block(head, block, begin):
    tails = [tail for tails in block.tails for tail in tails if tail]
    axes = [*([word] for word in head), block.data_ids, block.setter_ids, block.flag_ids, tails]
    *known, _ = begin.split("/", len(axes) - 1)
    if any(word not in axis for word, axis in zip(known, axes)):
        return []
    parts = ["/".join([*known, value]) for value in axes[len(known)]]
    flags = len(axes) - 2  # an id may end behind them
    if len(known) < flags:
        return [f"{part}/" for part in parts]
    return parts + [f"{part}/" for part in parts if len(known) == flags and tails]
