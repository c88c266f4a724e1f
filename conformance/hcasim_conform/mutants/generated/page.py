# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""mutants.html: the score by file and function, and every surviving mutant with its line."""
import jinja2

from .score import share

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Generated mutants</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }
table { border-collapse: collapse; } th, td { padding: .15em .8em .15em 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code { font: 13px ui-monospace, monospace; white-space: pre-wrap; }
summary { cursor: pointer; } details { margin: .3em 0; } .line { color: #555; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #ddd; } .line { color: #999; } }
</style></head><body>
<h1>Generated mutants</h1>
<p>{{ about }}</p>
<table><tr><th>part</th><th class="n">caught</th><th class="n">of</th><th class="n">score</th></tr>
{% for row in parts %}<tr><td>{{ row.name }}</td><td class="n">{{ row.caught }}</td><td class="n">{{ row.mutants }}</td>
<td class="n">{{ row.score }}</td></tr>
{% endfor %}</table>
<h2>By file and function</h2>
{% for file in files %}<details><summary>{{ file.score }} <b>{{ file.name }}</b>: {{ file.caught }} of {{ file.mutants }}</summary>
{% for function in file.functions %}<p>{{ function.score }} <b>{{ function.name }}()</b>: {{ function.caught }} of {{ function.mutants }}</p>
{% for line in function.lines %}<div class="line"><code>{{ line.number }}  {{ line.text }}</code></div><ul>
{% for v in line.survivors %}<li>{{ v.kind or v.outcome }}, {{ v.mutant.operator }} (#{{ v.mutant.number }}): <code>{{ v.mutant.change }}</code>
{%- if v.reason %}: {{ v.reason }}{% elif v.run %}, {{ v.run }} cells green{% endif %}</li>
{% endfor %}</ul>{% endfor %}{% endfor %}</details>
{% endfor %}</body></html>
"""


def row(name, verdicts, **more):
    counted = [v for v in verdicts if v.outcome != "equivalent"]
    caught = sum(v.outcome == "caught" for v in counted)
    return {
        "name": name,
        "caught": caught,
        "mutants": len(counted),
        "score": share(caught, len(counted)),
        **more,
    }


def grouped(verdicts, key):
    groups = {}
    for verdict in verdicts:
        groups.setdefault(key(verdict.mutant), []).append(verdict)
    return groups


def lines(verdicts):
    left = [v for v in verdicts if v.outcome != "caught"]
    return [
        {"number": number, "text": found[0].mutant.text, "survivors": found}
        for number, found in sorted(grouped(left, lambda m: m.line).items())
    ]


def functions(verdicts):
    return [
        row(name, found, lines=lines(found))
        for name, found in grouped(verdicts, lambda m: m.function).items()
    ]


def write(path, verdicts, about):
    parts = [row(name, found) for name, found in sorted(grouped(verdicts, lambda m: m.part).items())]
    files = [
        row(name, found, functions=functions(found))
        for name, found in sorted(grouped(verdicts, lambda m: m.file).items())
    ]
    page = jinja2.Environment(autoescape=True).from_string(PAGE)
    path.write_text(
        page.render(about=about, parts=parts + [row("all", verdicts)], files=files), encoding="utf-8"
    )
