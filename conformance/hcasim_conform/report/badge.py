# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""badge.svg: the result of a run in a line, for a README."""

COLOURS = {True: "#2da44e", False: "#c11c28"}
WIDTH = 6.6  # of a character at 11 px
SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {text}">
<title>{label}: {text}</title>
<rect width="{width}" height="20" rx="3" fill="{colour}"/>
<path d="M3 0h{left}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#555"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="6" y="14">{label}</text><text x="{at}" y="14">{text}</text></g></svg>
"""


def draw(summary, status):
    """`status`: the exit status of the run."""
    ran = summary["cells"] - summary["skipped"]
    text = f"{summary['pass']:,} of {ran:,} pass"
    for outcome in ("fail", "flaky"):
        text += f", {summary[outcome]:,} {outcome}" if summary[outcome] else ""
    label = "verbs conformance"
    left, right = (round(len(part) * WIDTH) + 12 for part in (label, text))
    return SVG.format(
        width=left + right, left=left - 3, at=left + 6, label=label, text=text, colour=COLOURS[not status]
    )
