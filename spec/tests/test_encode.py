# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""C and Python write the same bytes for every structure and any values."""

import c_encoder
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def layouts(model):
    return [
        *model.device.layouts.values(),
        *model.device.abi.values(),
        *(layout for family in model.families.values() for layout in family.layouts.values()),
        *model.wire.headers.values(),
    ]


@pytest.fixture(scope="module")
def library(layouts, generated, tmp_path_factory):
    return c_encoder.build(layouts, generated / "include", tmp_path_factory.mktemp("encoder"))


def values_of(layout):
    strategies = {}
    for name, width, count in c_encoder.fields(layout):
        if count:
            strategies[name] = st.binary(min_size=count, max_size=count)
        else:
            strategies[name] = st.integers(0, (1 << width) - 1)
    return st.fixed_dictionaries(strategies)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_c_and_python_encode_identically(data, layouts, library, hcasim_spec):
    layout = data.draw(st.sampled_from(layouts), label="layout")
    values = data.draw(values_of(layout), label="values")
    raw = hcasim_spec.encode(layout.name, **values)
    assert raw == c_encoder.encode(library, layout, values)
    assert hcasim_spec.decode(layout.name, raw) == values


def test_every_layout_at_its_extremes(layouts, library, hcasim_spec):
    """All ones and all zeroes, so that these are tested in every run, whatever hypothesis chooses."""
    for layout in layouts:
        for ones in (True, False):
            values = {
                name: (b"\xff" if ones else b"\0") * count if count else ((1 << width) - 1 if ones else 0)
                for name, width, count in c_encoder.fields(layout)
            }
            raw = hcasim_spec.encode(layout.name, **values)
            assert raw == c_encoder.encode(library, layout, values), layout.name
            assert hcasim_spec.decode(layout.name, raw) == values


def test_a_value_that_does_not_fit_is_refused(hcasim_spec):
    for fields, text in (
        ({"qpn": 1 << 24}, "wqe_ctrl.qpn: 0x1000000 does not fit 24 bits"),
        ({"size": 256}, "wqe_ctrl.size: 0x100 does not fit 8 bits"),
        ({"index": -1}, "wqe_ctrl.index: -0x1 does not fit 16 bits"),
        ({"nonsense": 1}, "wqe_ctrl: no field 'nonsense'"),
    ):
        with pytest.raises(hcasim_spec.FieldError, match=text):
            hcasim_spec.encode("wqe_ctrl", **fields)
    with pytest.raises(hcasim_spec.FieldError, match="seg_ud.dgid: 17 bytes do not fit 16"):
        hcasim_spec.encode("seg_ud", dgid=bytes(17))
    with pytest.raises(hcasim_spec.FieldError, match="cqe: 63 bytes, it needs 64"):
        hcasim_spec.decode("cqe", bytes(63))


def test_known_bytes(hcasim_spec):
    """Bytes written by hand, which show a mistake that C and Python share."""
    raw = hcasim_spec.encode(
        "wqe_ctrl", opcode=4, size=3, index=0x1234, qpn=0xABCDEF, signaled=1, inline=1, imm=1
    )
    assert raw.hex() == "04033412efcdab090000000100000000"
    raw = hcasim_spec.encode("bth", opcode=0x64, se=1, pad=2, pkey=0xFFFF, dqpn=0x11, ackreq=1, psn=0x010203)
    assert raw.hex() == "64a0ffff0000001180010203"
    raw = hcasim_spec.encode("aeth", kind=3, value=1, msn=0x000203)
    assert raw.hex() == "61000203"
    raw = hcasim_spec.encode("feth", sel=1, plt=2)
    assert raw.hex() == "00000012"
    raw = hcasim_spec.encode("cqe", qpn=5, opcode=1, owner=1, phase=1, status=12, wqe_index=0x0102)
    assert raw[:4].hex() == "05000001" and raw[56:].hex() == "020100000c000001"
