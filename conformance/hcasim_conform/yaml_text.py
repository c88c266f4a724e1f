# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""YAML, parsed by libyaml: PyYAML's own parser needs a second for spec/wr.yaml."""
import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML may have been built without libyaml


def load(text):
    """The document of a text or an open file. Raises yaml.YAMLError."""
    return yaml.load(text, _LOADER)
