# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The figures of a timing profile: structure and table of their reader (C++), JSON Schema, page."""

import json

from . import ctext, emit_md

_TYPES = """\
struct Figure {
	const char *key, *unit;
	enum { ANY, WHOLE, POWER_OF_2 } kind;
	double min, max;   /* in `unit` */
	double scale;      /* from `unit` to that of the structure: times are ps there */
	const char *limit; /* why other values cannot be; empty: the range that was thought of */
	bool optional;     /* a profile need not have it: */
	const char *as;    /* then it is as the figure of this key, which is before it in the table; or empty: */
	double otherwise;  /* this, in `unit` */
	double *place;
};

/* The first figure must not be above the second. */
struct FigureRule {
	const char *key, *at_most, *reason;
};
"""


def _members(figures, indent):
    out = ""
    for figure in figures.values():
        unit = "ps" if figure.scale != 1 else figure.unit
        out += f"{indent}double {figure.path[-1]}; /* {unit} */\n"
    return out


def _structure(profile):
    out = ""
    for group in profile.groups:
        if group.stages:
            out += "struct StageFigures {\n" + _members(group.stage_figures, "\t") + "};\n\n"
    out += "struct ProfileFigures {\n"
    for group in profile.groups:
        out += "\tstruct {\n" + _members(group.figures, "\t\t")
        if group.stages:
            out += f"\t\tStageFigures stages[{len(group.stages)}]; /* by enum hca_stage */\n"
        out += f"\t}} {group.name};\n"
    return out + "};\n\n"


def _place(figure):
    if len(figure.path) == 2:
        return ".".join(figure.path)
    group, array, stage, member = figure.path
    return f"{group}.{array}[HCA_STAGE_{stage.upper()}].{member}"


def _default(figure):
    otherwise = 0 if figure.same_as or figure.default is None else figure.default
    return f'{str(figure.default is not None).lower()}, "{figure.same_as}", {otherwise}'


def _table(profile):
    out = "/* All figures, with their places in `p`. */\n"
    out += "inline std::vector<Figure> profile_figures(ProfileFigures &p)\n{\n\treturn {\n"
    for figure in profile.figures().values():
        out += (
            f'\t\t{{"{figure.key}", "{figure.unit}", Figure::{figure.kind.upper()}, {figure.low}, {figure.high}, '
            f"{figure.scale}, {json.dumps(figure.limit)},\n\t\t {_default(figure)}, &p.{_place(figure)}}},\n"
        )
    return out + "\t};\n}\n\n"


def _rules(profile):
    out = "inline constexpr FigureRule profile_rules[] = {\n"
    for rule in profile.rules:
        out += f'\t{{"{rule["figure"]}", "{rule["at_most"]}", {json.dumps(rule["reason"])}}},\n'
    return out + "};\n\n"


def header(spec):
    stages = sum(len(group.stages) for group in spec.profile.groups)
    body = (
        f'static_assert(HCA_NUM_STAGES == {stages}, "a stage has no figures, or figures have no stage");\n\n'
    )
    body += "namespace hcasim\n{\n\n" + _structure(spec.profile) + _TYPES + "\n"
    body += _table(spec.profile) + _rules(spec.profile) + "} // namespace hcasim\n"
    title = "The figures of a timing profile, in C++. Include core/hca.h first."
    return ctext.header("HCASIM_PROFILE_H", title, ["vector"], body)


def _doc(figure):
    return f"{figure.doc} ({figure.limit})" if figure.limit else figure.doc


def _value(figure):
    if figure.kind == "power_of_2":
        values = [1 << n for n in range(64) if figure.low <= 1 << n <= figure.high]
        return {"enum": values}
    return {
        "type": "number" if figure.kind == "any" else "integer",
        "minimum": figure.low,
        "maximum": figure.high,
    }


def _object(properties, description=None, optional=()):
    out = {"description": description} if description else {}
    return out | {
        "type": "object",
        "additionalProperties": False,
        "required": [key for key in properties if key not in optional],
        "properties": properties,
    }


def _optional(figures):
    return [key for key, figure in figures.items() if figure.default is not None]


def _figure_schema(figure):
    text = {"type": "string", "minLength": 1}
    return _object({"value": _value(figure), "unit": {"const": figure.unit}, "source": text}, _doc(figure))


def _may_be_absent(group):
    return not group.stages and len(_optional(group.figures)) == len(group.figures)


def schema(spec):
    text = {"type": "string", "minLength": 1}
    properties = {"name": text, "description": text}
    for group in spec.profile.groups:
        figures = {key: _figure_schema(figure) for key, figure in group.figures.items()}
        if group.stages:
            stage = {key: _figure_schema(figure) for key, figure in group.stage_figures.items()}
            one = _object(stage, optional=_optional(group.stage_figures))
            figures["stages"] = _object({name: one for name in group.stages})
        properties[group.name] = _object(figures, group.doc, _optional(group.figures))
    optional = [group.name for group in spec.profile.groups if _may_be_absent(group)]
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB. Generated by spec/gen: do not edit.",
        "title": "a timing profile of hcasim",
    }
    return json.dumps(head | _object(properties, optional=optional), indent=1) + "\n"


def _rows(figures, prefix=""):
    for figure in figures.values():
        kind = {"any": "", "whole": ", whole", "power_of_2": ", power of 2"}[figure.kind]
        default = {type(None): "", str: f"`{prefix}{figure.default}`"}.get(
            type(figure.default), str(figure.default)
        )
        key = f"`{prefix}{figure.path[-1]}`"
        yield key, figure.unit, f"{figure.low} to {figure.high}{kind}", default, _doc(figure)


def page(spec):
    out = emit_md.NOTE + "# The figures of a timing profile\n\n"
    for group in spec.profile.groups:
        out += f"## {group.name}: {group.doc}\n\n"
        rows = [*_rows(group.figures), *_rows(group.stage_figures, "stages.NAME.")]
        out += emit_md.table(("key", "unit", "range", "without it", "meaning"), rows)
        if group.stages:
            out += "NAME: " + ", ".join(f"`{name}`" for name in group.stages) + "\n\n"
    out += "## Together\n\n"
    for rule in spec.profile.rules:
        out += f"- `{rule['figure']}` is not above `{rule['at_most']}`: {rule['reason']}\n"
    return out
