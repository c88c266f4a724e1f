# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Experiments as data: YAML files, checked against experiments.schema.json."""
import dataclasses
import functools
import json
import os

import jsonschema
import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
UNITS = {"latency": ("ns", "us"), "rate": ("M/s",), "bandwidth": ("Gb/s",), "efficiency": ("%",)}


class DataError(Exception):
    """An error for the user: it names file, key and value."""


@dataclasses.dataclass
class Row:
    """One point: what to run, and what was published."""

    experiment: dict
    series: str
    at: int
    published: tuple  # (lowest, highest), or empty
    use: str  # fitted, check, or empty
    run: dict  # all parameters
    model: float | None = None  # measured

    @property
    def error(self):
        """Percent that the model is above or below what was published; 0 inside a published range."""
        if not self.published or self.model is None:
            return None
        low, high = self.published
        nearest = min(max(self.model, low), high)
        return 100 * (self.model / nearest - 1)

    @property
    def bad(self):
        limit = self.experiment.get("within")
        return self.error is not None and limit is not None and abs(self.error) > limit

    @property
    def judged(self):
        """How the row was used, or that nothing was published for it."""
        return self.use or "prediction"

    @property
    def label(self):
        return f"{self.experiment['name']} {self.series} {self.at}"


@functools.cache
def validator(kind):
    with open(f"{HERE}/../{kind}.schema.json") as file:
        return jsonschema.Draft202012Validator(json.load(file))


def key_of(error):
    return ".".join(map(str, error.absolute_path)) or "the file"


def validate(path, data, kind):
    error = jsonschema.exceptions.best_match(validator(kind).iter_errors(data))
    if error:
        raise DataError(f"{path}: {key_of(error)}: {error.message}")


def check(path, data):
    """The schema, and what it cannot say."""
    validate(path, data, "experiments")
    if data["unit"] not in UNITS[data["quantity"]]:
        allowed = " or ".join(UNITS[data["quantity"]])
        raise DataError(f"{path}: unit: '{data['unit']}' of a {data['quantity']}, which has {allowed}")
    dma = data.get("program") == "dma"
    for row in rows_of(data):
        wrong = set(row.run) - {"traffic", "size"} if dma else {"traffic"} & set(row.run)
        if wrong:
            program = data.get("program", "verbs")
            raise DataError(f"{path}: run.{min(wrong)}: is not for program {program} ({row.series} {row.at})")
    if dma and not all({"traffic", "size"} <= set(row.run) for row in rows_of(data)):
        raise DataError(f"{path}: run.traffic, run.size: missing; program dma needs both")
    for row in rows_of(data):
        if len(row.published) == 2 and row.published[0] > row.published[1]:
            low, high = row.published
            raise DataError(f"{path}: published: {low} is not below {high} ({row.series} {row.at})")
    published = [row for series in data["series"] for row in series["rows"] if "published" in row]
    for key in ("source", "within"):
        if published and key not in data:
            raise DataError(f"{path}: {key}: missing, though rows have published figures")


def rows_of(data):
    for series in data["series"]:
        for row in series["rows"]:
            published = row.get("published", ())
            run = {**data.get("run", {}), **series.get("run", {}), **row.get("run", {})}
            run[data["axis"]] = row["at"]
            yield Row(
                data,
                series["name"],
                row["at"],
                (published, published) if isinstance(published, (int, float)) else tuple(published),
                row.get("use", ""),
                run,
            )


def read_yaml(path, option=""):
    """`option` begins the message about a file that cannot be read."""
    try:
        with open(path) as file:
            return yaml.safe_load(file)
    except OSError as error:
        raise DataError(f"{option}{path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise DataError(f"{path}: not YAML: {' '.join(str(error).split())}") from None


def load_file(path):
    data = read_yaml(path)
    check(path, data)
    data["file"] = path
    return data


def load(paths):
    """The experiments of files and folders, by name."""
    files = []
    for path in paths:
        if os.path.isdir(path):
            files += sorted(f"{path}/{name}" for name in os.listdir(path) if name.endswith(".yaml"))
        else:
            files.append(path)
    found = {}
    for path in files:
        data = load_file(path)
        if data["name"] in found:
            raise DataError(f"{path}: name: '{data['name']}' is that of {found[data['name']]['file']}, too")
        found[data["name"]] = data
    if not found:
        raise DataError(f"{', '.join(paths)}: there is no experiment (*.yaml)")
    return found
