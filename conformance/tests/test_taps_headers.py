# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks at the tap of what is in the headers of any packet: checksums, bits of the BTH, the MSN, padding."""
import pytest
from test_taps import aeth, frame, judged, region, reth, wr, write_frames, PSN

from hcasim_conform.taps import judge as taps
from hcasim_conform.taps import wire
from hcasim_conform.taps.traces import Piece, Records


def flaws(frames):
    return taps.flaws(Piece(frames, Records([]), Records([]), Records([])))


@pytest.mark.parametrize("at, back", [(1, False), (3, True)])
def test_a_wrong_icrc(at, back):
    """Of a request, and of an answer."""
    frames = write_frames()
    data = bytearray(frames[at][1])
    data[-6] ^= 1
    frames[at] = (20, bytes(data))
    assert flaws(write_frames()) == []
    (fault,) = flaws(frames)
    assert "the ICRC is wrong" in fault and ("ACKNOWLEDGE" in fault) == back


@pytest.mark.parametrize(
    "change, words",
    [
        ({"migreq": 0}, "MigReq is 0"),
        ({"back": True, "ackreq": 1}, "an answer asks for an acknowledgement (AckReq)"),
    ],
)
def test_bits_of_the_bth(change, words):
    (fault,) = flaws([(10, frame("ACKNOWLEDGE", PSN, aeth(), **{"back": True, **change}))])
    assert words in fault


def sends(*answers, **first):
    """Two SENDs and their answers, each (PSN, MSN)."""
    frames = [(10, frame("SEND_ONLY", PSN, bytes(8), **first)), (20, frame("SEND_ONLY", PSN + 1, bytes(8)))]
    return frames + [
        (30 + n, frame("ACKNOWLEDGE", psn, aeth(msn=msn), back=True)) for n, (psn, msn) in enumerate(answers)
    ]


@pytest.mark.parametrize(
    "answers, words",
    [
        ([(PSN, 1), (PSN + 1, 2)], None),
        ([(PSN + 1, 2)], None),
        ([(PSN, 0), (PSN + 1, 1)], "MSN 0x0, expected 0x1"),
        ([(PSN, 1), (PSN + 1, 1)], "MSN 0x1, expected 0x2"),
        ([(PSN, 1), (PSN + 1, 3)], "MSN 0x3, expected 0x2"),
    ],
)
def test_the_msn_counts_requests(answers, words, tables):
    faults = judged([region(wr("SEND", 8)), region(wr("SEND", 8))], sends(*answers), tables)
    assert [words in fault for fault in faults] == ([True] if words else [])


def test_the_msn_of_an_answer_may_count_what_is_executed_by_then(tables):
    """A READ of two packets of a QP that was used before, and a SEND: the MSN of the former may have the latter."""
    both = [region(wr("RDMA_READ", 1100)), region(wr("SEND", 8))]

    def counted(first, last, ack):
        frames = [
            (10, frame("RDMA_READ_REQUEST", PSN, reth(1100))),
            (11, frame("SEND_ONLY", PSN + 2, bytes(8))),
            (30, frame("RDMA_READ_RESPONSE_FIRST", PSN, aeth(msn=first) + bytes(1024), back=True)),
            (31, frame("RDMA_READ_RESPONSE_LAST", PSN + 1, aeth(msn=last) + bytes(76), back=True)),
            (40, frame("ACKNOWLEDGE", PSN + 2, aeth(msn=ack), back=True)),
        ]
        return judged(both, frames, tables)

    for first, last in ((0, 1), (1, 1), (2, 2)):
        assert counted(first, last, 2) == []
    assert "MSN 0x3, expected 0x0" in counted(3, 3, 2)[0]


def test_the_last_request_asks_for_its_answer(tables):
    both = [region(wr("SEND", 8)), region(wr("SEND", 8))]
    assert judged(both, sends((PSN + 1, 2), ackreq=0), tables) == []  # the second covers the first
    frames = sends((PSN + 1, 2))
    frames[1] = (20, frame("SEND_ONLY", PSN + 1, bytes(8), ackreq=0))
    assert "does not ask for an answer (AckReq)" in judged(both, frames, tables)[0]


def test_padding_of_a_short_frame():
    faults = []
    posted = [region(wr("SEND", 20), qpt="RAW_PACKET")]
    wire.judge_frames(posted, [b"\1" * 20 + bytes(40)], faults.append)
    assert faults == []
    wire.judge_frames(posted, [b"\1" * 21 + bytes(39)], faults.append)
    assert faults == ["wire: the padding of a short frame is not zero"]
