# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The whole spec: all files, read and checked together."""

from dataclasses import dataclass

from . import core, counters, device, family, load, profile, verbs, wire, wr
from .load import SpecError


@dataclass
class Spec:
    core: core.Core
    device: device.Device
    families: dict  # all but the native one, by name
    wire: wire.Wire
    verbs: dict
    wr: wr.WorkRequests
    profile: profile.Profile
    counters: counters.Counters


def _check_statuses(spec):
    """A CQE status is the number of the verbs status it is named after."""
    statuses = spec.verbs["ibv_wc_status"].by_name()
    for value in spec.core.enums["cqe_status"].values:
        expected = statuses.get("SUCCESS" if value.name == "OK" else value.name)
        if value.value != expected:
            where = f"core.yaml: enums[cqe_status].{value.name}"
            raise SpecError(where, f"value {value.value} is not that of IBV_WC_{value.name}, {expected}")


def read(folder):
    """Reads spec/ from `folder`; raises SpecError for the first contradiction."""
    documents = {name: load.load_file(folder, name) for name in load.names(folder)}
    verbs_enums = verbs.parse(documents["verbs"])
    wire_spec = wire.parse(documents["wire"])
    core_spec = core.parse(documents["core"])
    device_spec = device.parse(documents[load.NATIVE], core_spec)
    files = [name for name in documents if name.startswith(load.FAMILIES)]
    families = [family.parse(name, documents[name], core_spec) for name in files if name != load.NATIVE]
    sysfs = {name: documents[name]["sysfs"] for name in files if "sysfs" in documents[name]}
    spec = Spec(
        core_spec,
        device_spec,
        {one.name: one for one in families},
        wire_spec,
        verbs_enums,
        wr.parse(documents["wr"], core_spec, wire_spec, verbs_enums),
        profile.parse(documents["profile"]),
        counters.parse(documents["counters"], sysfs),
    )
    _check_statuses(spec)
    return spec
