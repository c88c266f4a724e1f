# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What was measured and what was published, as text and as JSON."""


def number(value):
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def published_text(row):
    return "–".join(number(bound) for bound in dict.fromkeys(row.published))


def judgement(row):
    if row.error is None:
        return ""
    return f"{row.error:+.2f} %" + (" OUT OF BOUNDS" if row.bad else "")


def heading(data):
    within = f", bound {data['within']} %" if "within" in data else ""
    return f"{data['name']}: {data['title']} (profile {data['profile']}, {data['unit']}{within})"


def print_experiment(data, rows):
    print(heading(data))
    print(f"  published: {data.get('source', 'nothing; what follows is a prediction of the model')}")
    print(f"  {'':20}{data['axis']:>9}{'model':>10}{'published':>12}  {'use':12}error")
    for row in rows:
        text = f"  {row.series:20}{row.at:>9}{number(row.model):>10}{published_text(row):>12}  {row.judged:12}{judgement(row)}"
        print(text.rstrip())
    print()


def worst(rows, use):
    errors = [abs(row.error) for row in rows if row.use == use and row.error is not None]
    word = {"fitted": "fitted", "check": "only checked"}[use]
    return f"{len(errors)} rows {word}, largest error {max(errors):.2f} %" if errors else f"no row {word}"


def summary(rows):
    bad = sum(row.bad for row in rows)
    predictions = sum(not row.published for row in rows)
    return f"{worst(rows, 'fitted')}; {worst(rows, 'check')}; {predictions} predictions; {bad} out of bounds"


def as_json(row):
    return {
        "experiment": row.experiment["name"],
        "series": row.series,
        row.experiment["axis"]: row.at,
        "unit": row.experiment["unit"],
        "model": row.model,
        "published": list(row.published) or None,
        "use": row.judged,
        "error_percent": row.error,
        "within": None if row.error is None else not row.bad,
    }
