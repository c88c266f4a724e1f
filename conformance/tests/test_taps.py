# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks at the tap: right traces pass, and each falsified trace is detected."""
import json
import struct
from types import SimpleNamespace

import pytest
from scapy.contrib.roce import BTH, _bth_opcodes, opcode
from scapy.layers.inet import IP, UDP, in4_chksum
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from hcasim_conform.taps import artefacts
from hcasim_conform import cli
from hcasim_conform.run.drive import Result
from hcasim_conform.taps import hostlink
from hcasim_conform.taps import packets
from hcasim_conform.taps import judge as taps
from hcasim_conform.taps import wire
from hcasim_conform.taps.traces import Log, Piece, Records

HERE, FAR = "10.0.0.1", "10.0.0.2"
QP, TO, PSN, MTU = 0x11, 0x22, 0xFFFFFE, 1024
DEV = "hcasim0"
VA, RKEY = 0x7000, 0x1234
SIGNALED, SOLICITED, FENCE, INLINE = 2, 4, 1, 8


def frame(op, psn, payload=b"", se=0, transport="RC", back=False, qp=None, ackreq=None, migreq=1):
    """A frame made by scapy, with scapy's ICRC."""
    dqpn = qp if qp is not None else QP if back else TO
    pad = -len(payload) % 4
    number = opcode(transport, op)[0] if transport in ("RC", "UC", "UD") else op
    asks = not back and transport == "RC" and ("LAST" in op or "ONLY" in op) if ackreq is None else ackreq
    bth = BTH(
        opcode=number, solicited=se, migreq=migreq, padcount=pad, dqpn=dqpn, ackreq=asks, psn=psn & 0xFFFFFF
    )
    src, dst = (FAR, HERE) if back else (HERE, FAR)
    # a BTH whose payload scapy does not parse; the ICRC comes last, four bytes longer
    whole = (
        Ether()
        / IP(src=src, dst=dst)
        / UDP(sport=49152, dport=4791, chksum=0)
        / bth
        / Raw(payload + bytes(pad))
    )
    whole = Ether(bytes(whole))
    data = bytearray(bytes(whole))
    data[-4:] = whole[BTH].compute_icrc(b"")
    return bytes(data)


def reth(size, va=VA, rkey=RKEY):
    return struct.pack(">QII", va, rkey, size)


def aeth(syndrome=0x1F, msn=1):
    return struct.pack(">I", syndrome << 24 | msn)


def wr(op, size=0, flags=SIGNALED, **more):
    request = {"op": op, "flags": flags, "sge": [[0x9000, size]] if size else [], "wr_id": 1}
    return {**request, "va": VA, "rkey": RKEY, "imm": 0x11223344, "inv": 7, **more}


def region(*wrs, qpt="RC", api="wr", rc=0, bad=-1, abort=False):
    entry = {"api": api, "dev": DEV, "peer": "b", "psn": PSN, "qp": QP, "to": TO, "type": qpt}
    for request in wrs:
        request["from"] = QP
    return {**entry, "rc": rc, "bad": bad, "abort": abort, "wrs": list(wrs)}


def judged(regions, frames, tables, refusable=False):
    """Faults of a stream of (nanoseconds, frame)."""
    faults = []
    parsed = [packets.parse(ns, data) for ns, data in frames]
    judge = wire.WireJudge(
        MTU, lambda f, o, q: tables.flag(f).in_scope(tables.operation(o), q), faults.append
    )
    there = [p for p in parsed if not p.response]
    back = [p for p in parsed if p.response]
    judge.stream(regions, there, back, PSN, refusable)
    return faults


def write_frames():
    return [
        (10, frame("RDMA_WRITE_FIRST", PSN, reth(2500) + bytes(1024))),
        (20, frame("RDMA_WRITE_MIDDLE", PSN + 1, bytes(1024))),
        (30, frame("RDMA_WRITE_LAST", PSN + 2, bytes(452))),
        (40, frame("ACKNOWLEDGE", PSN + 2, aeth(), back=True)),
    ]


def test_scapy_and_the_reader_agree():
    for number, name in _bth_opcodes.items():
        if name.startswith("RD_") or name == "CNP":
            continue
        transport, op = name.split("_", 1)
        payload = bytes(range(40))
        data = frame(op, 0x123456, payload, se=1, transport=transport)
        packet = packets.parse(5, data)
        assert (packet.transport, packet.op) == (transport, op)
        assert (packet.dqpn, packet.psn, packet.solicited) == (TO, 0x123456, True)
        assert packet.icrc_ok, name
        broken = bytearray(data)
        broken[-6] ^= 1
        assert not packets.parse(5, bytes(broken)).icrc_ok
        summed = bytearray(data)
        assert packet.udp_sum_ok and not any(summed[40:42])
        summed[40:42] = in4_chksum(17, Ether(data)[IP], data[34:]).to_bytes(2, "big")
        assert packets.parse(5, bytes(summed)).udp_sum_ok
        summed[40] ^= 1
        assert not packets.parse(5, bytes(summed)).udp_sum_ok


def test_a_write_of_three_packets(tables):
    assert judged([region(wr("RDMA_WRITE", 2500))], write_frames(), tables) == []


def doctor(at, *change, **keywords):
    frames = write_frames()
    frames[at] = (frames[at][0], frame(*change, **keywords))
    return frames


@pytest.mark.parametrize(
    "frames, words",
    [
        (doctor(0, "SEND_FIRST", PSN, bytes(1024)), "opcode RC SEND_FIRST, expected RC RDMA_WRITE_FIRST"),
        (doctor(1, "RDMA_WRITE_MIDDLE", PSN + 2, bytes(1024)), "PSN 0x0, expected 0xffffff"),
        (doctor(1, "RDMA_WRITE_MIDDLE", PSN + 1, bytes(1020)), "1020 bytes of payload, expected 1024"),
        (doctor(2, "RDMA_WRITE_LAST", PSN + 2, bytes(452), se=1), "SE bit 1, expected 0"),
        (doctor(0, "RDMA_WRITE_FIRST", PSN, reth(2500, rkey=5) + bytes(1024)), "rkey 0x5, expected 0x1234"),
        (doctor(0, "RDMA_WRITE_FIRST", PSN, reth(2501) + bytes(1024)), "dmalen 0x9c5, expected 0x9c4"),
        (doctor(0, "RDMA_WRITE_FIRST", PSN, reth(2500, va=VA + 1) + bytes(1024)), "va 0x7001"),
        (doctor(3, "ACKNOWLEDGE", PSN + 1, aeth(), back=True), "never acknowledged"),
        (doctor(3, "ACKNOWLEDGE", PSN + 2, aeth(0x62), back=True), "was not acknowledged"),
        (write_frames()[:2] + write_frames()[3:], "2 of 3 packets"),
        (write_frames() + [(50, frame("SEND_ONLY", PSN + 3, bytes(8)))], "no accepted request asked for"),
    ],
)
def test_a_doctored_write(frames, words, tables):
    faults = judged([region(wr("RDMA_WRITE", 2500))], frames, tables)
    assert faults and words in faults[0], faults


def refused(frames, tables, statuses=("REM_ACCESS_ERR",), later=1):
    """Faults of WRITEs of which the second is refused, and the number of refusals."""
    faults = []
    parsed = [packets.parse(ns, data) for ns, data in frames]
    judge = wire.WireJudge(
        MTU, lambda f, o, q: tables.flag(f).in_scope(tables.operation(o), q), faults.append
    )
    there, back = ([p for p in parsed if p.response == side] for side in (False, True))
    wrs = [wr("RDMA_WRITE", 8) for _ in range(2 + later)]
    return faults, judge.cut_short([region(*wrs)], there, back, None, statuses)


def small(number):
    return frame("RDMA_WRITE_ONLY", PSN + number, reth(8) + bytes(8))


def answer(number, syndrome=0x1F):
    return frame("ACKNOWLEDGE", PSN + number, aeth(syndrome), back=True)


def refused_frames():
    return [(10, small(0)), (20, small(1)), (30, answer(0)), (40, answer(1, 0x62))]


def test_a_refused_request(tables):
    assert refused(refused_frames(), tables) == ([], 1)
    # packets sent before the refusal may arrive, and are not answered
    assert refused(refused_frames()[:2] + [(25, small(2))] + refused_frames()[2:], tables) == ([], 1)
    # refused by the requester: it is not sent
    assert refused([(10, small(0)), (30, answer(0))], tables, ("LOC_PROT_ERR",)) == ([], 0)


@pytest.mark.parametrize(
    "frames, words",
    [
        (refused_frames()[:3], "0 of 1 packets"),  # the third is missing without a reason
        (refused_frames()[:3] + [(40, answer(1, 0x61))], "a refusal that is not REM_ACCESS_ERR"),
        (refused_frames() + [(50, answer(2))], "an answer behind a refusal"),
        (refused_frames() + [(50, answer(1, 0x62))], "2 refusals"),
        (
            [(10, small(0)), (20, frame("SEND_ONLY", PSN + 1, bytes(8)))] + refused_frames()[2:],
            "opcode RC SEND_ONLY",
        ),
        (
            refused_frames()[:2] + [(25, small(2)), (26, small(3))] + refused_frames()[2:],
            "no accepted request asked for",
        ),
        (refused_frames()[:1] + refused_frames()[2:3], "0 of 1 packets"),
    ],
)
def test_a_doctored_refusal(frames, words, tables):
    faults, _ = refused(frames, tables)
    assert faults and words in faults[0], faults


@pytest.mark.parametrize("how", [{"abort": True}, {"rc": 22}, {"rc": 22, "bad": 0, "api": "post"}])
def test_what_is_refused_or_aborted_must_be_silent(how, tables):
    entry = region(wr("SEND", 8), **how)
    assert judged([entry], [], tables) == []
    faults = judged([entry], [(1, frame("SEND_ONLY", PSN, bytes(8)))], tables)
    assert "no accepted request asked for" in faults[0]


def test_a_list_is_sent_up_to_its_bad_request(tables):
    entry = region(wr("SEND", 8), wr("SEND", 8), rc=22, bad=1, api="post")
    first = [(1, frame("SEND_ONLY", PSN, bytes(8))), (2, frame("ACKNOWLEDGE", PSN, aeth(), back=True))]
    assert judged([entry], first, tables) == []
    assert judged([entry], first + [(3, frame("SEND_ONLY", PSN + 1, bytes(8)))], tables)


def test_immediate_data_and_the_solicited_bit(tables):
    entry = region(wr("SEND_WITH_IMM", 8, SIGNALED | SOLICITED), qpt="UC")
    imm, swapped = struct.pack(">I", 0x11223344), struct.pack("<I", 0x11223344)

    def one(data, se=1):
        sent = frame("SEND_ONLY_WITH_IMMEDIATE", PSN, data + bytes(8), se=se, transport="UC")
        return judged([entry], [(1, sent)], tables)

    assert one(imm) == []
    assert "imm 0x44332211, expected 0x11223344" in one(swapped)[0]
    assert "SE bit 0, expected 1" in one(imm, se=0)[0]


def test_ud_header(tables):
    entry = region(wr("SEND", 8, qpn=TO, qkey=0x11111111), qpt="UD")

    def one(qkey, src):
        deth = struct.pack(">IBBH", qkey, 0, src >> 16, src & 0xFFFF)
        return judged([entry], [(1, frame("SEND_ONLY", PSN, deth + bytes(8), transport="UD"))], tables)

    assert one(0x11111111, QP) == []
    assert "qkey" in one(0x22222222, QP)[0]
    assert "src_qp" in one(0x11111111, QP + 1)[0]


def fenced(answer_at):
    read = [(10, frame("RDMA_READ_REQUEST", PSN, reth(1100)))]
    answers = [
        (30, frame("RDMA_READ_RESPONSE_FIRST", PSN, aeth() + bytes(1024), back=True)),
        (answer_at, frame("RDMA_READ_RESPONSE_LAST", PSN + 1, aeth() + bytes(76), back=True)),
    ]
    send = [(50, frame("SEND_ONLY", PSN + 2, bytes(8)))]
    return read + answers + send + [(60, frame("ACKNOWLEDGE", PSN + 2, aeth(msn=2), back=True))]


def test_a_fenced_request_waits_for_the_whole_answer(tables):
    entry = region(wr("RDMA_READ", 1100), wr("SEND", 8, SIGNALED | FENCE))
    assert judged([entry], fenced(40), tables) == []
    assert "FENCE: SEND leaves at 50 ns" in judged([entry], fenced(55), tables)[0]
    unfenced = region(wr("RDMA_READ", 1100), wr("SEND", 8))
    assert judged([unfenced], fenced(55), tables) == []


def test_a_read_that_is_answered_short(tables):
    entry = region(wr("RDMA_READ", 1100))
    frames = fenced(40)[:2]
    assert "no RDMA_READ_RESPONSE_LAST of 76 bytes" in judged([entry], frames, tables)[0]


def test_atomic_operands(tables):
    entry = region(wr("ATOMIC_FETCH_AND_ADD", 8, compare_add=-2, swap=0))
    good = struct.pack(">QIQQ", VA, RKEY, (1 << 64) - 2, 0)
    bad = struct.pack(">QIQQ", VA, RKEY, 2, 0)
    answer = [(2, frame("ATOMIC_ACKNOWLEDGE", PSN, aeth() + bytes(8), back=True))]
    assert judged([entry], [(1, frame("FETCH_ADD", PSN, good))] + answer, tables) == []
    assert "swap_add" in judged([entry], [(1, frame("FETCH_ADD", PSN, bad))] + answer, tables)[0]
    assert "ATOMIC_ACKNOWLEDGE" in judged([entry], [(1, frame("FETCH_ADD", PSN, good))], tables)[0]


def attempts(times, gap, nak_after=None):
    """(requests, answers) of a SEND that is repeated."""
    sent = [packets.parse(1000 * gap * n, frame("SEND_ONLY", PSN, bytes(8))) for n in range(times)]
    if nak_after is None:
        return sent, []
    nak = frame("ACKNOWLEDGE", PSN, aeth(0x2C), back=True)
    return sent, [packets.parse(p.ns + nak_after, nak) for p in sent]


@pytest.mark.parametrize(
    "seen, words",
    [
        (attempts(3, 640), None),
        (attempts(3, 641, 500), None),
        (attempts(2, 640), "sent 2 times, expected 3"),
        (attempts(4, 640), "sent 4 times, expected 3"),
        (attempts(3, 639), "repeated after 639000 ns"),
        (attempts(3, 640, 500), "repeated after 639500 ns"),  # the time is measured from the answer
        (([], []), "never sent"),
    ],
)
def test_how_often_and_when_a_request_is_repeated(seen, words):
    faults = []
    wire.judge_attempts(*seen, 3, 640_000, faults.append)
    assert bool(faults) == bool(words) and (not words or words in faults[0]), faults


# -- host link ---------------------------------------------------------------------------------------------


def tlp(ns, kind, addr, dir_="up", size=64, **more):
    record = {"ps": ns * 1000, "arrival": ns * 1000, "hca": DEV, "dir": dir_, "type": kind}
    return {**record, "addr": hex(addr), "len": size, **({"bar": 2} if dir_ == "down" else {}), **more}


def test_a_log_is_cut_by_time(tmp_path):
    log = tmp_path / "tlp.log"
    log.write_text('{"ps":3000,"n":1}\n{"hca":"other", "ps": 1000}\n{"ps":2000,"n":2}\n{"ps":2500,"n"')
    piece = Log(log).piece(1.5, 3.5)
    assert [record["n"] for record in piece] == [2, 1] and len(piece) == 2
    log.write_text('{"ns":1}\n')
    with pytest.raises(ValueError, match='without the field ps: {"ns":1}'):
        Log(log)


def bell(ns, qp=QP):
    return tlp(ns, "MWr", 0x3000, "down", 8, data=struct.pack("<II", qp, 1).hex())


def push(ns, qp=QP, at=0x3800):
    return tlp(ns, "MWr", at, "down", 64, data=struct.pack("<BBHIII", 1, 2, 0, 1 << 24 | qp, 0, 0).hex())


def wqe(ns, op="RDMA_WRITE", flags=("signaled",)):
    return {"ps": ns * 1000, "hca": DEV, "qpn": QP, "op": op, "flags": list(flags)}


def cqe_write(ns):
    return tlp(ns, "MWr", 0xC000, **{"class": "cqe", "qpn": QP})


def piece_of(tlps, wqes):
    """The host link alone, from lines as in the logs."""
    return Piece([], *(Records([json.dumps(r).encode() for r in log]) for log in (tlps, wqes, [])))


def host_faults(regions, tables, tlps, wqes, seen=()):
    faults = []
    piece = piece_of(tlps, wqes)
    judge = hostlink.HostJudge(piece, tables, faults.append)
    judge.judge(DEV, QP, regions, list(seen))
    return faults


@pytest.mark.parametrize("ring", [bell, push])
def test_one_doorbell_for_a_region(ring, tables):
    entry = [region(wr("RDMA_WRITE", 64), wr("RDMA_WRITE", 64))]
    wqes = [wqe(2), wqe(3)]
    assert host_faults(entry, tables, [ring(1), bell(1, QP + 1)], wqes) == []
    assert "2 doorbells" in host_faults(entry, tables, [ring(1), ring(2)], wqes)[0]
    assert "0 doorbells" in host_faults(entry, tables, [], wqes)[0]


def test_a_push_in_small_stores_counts_once(tables):
    first = push(1)
    first.update(len=8, data=first["data"][:16])
    rest = [tlp(2 + i, "MWr", 0x3808 + 8 * i, "down", 8, data="00" * 8) for i in range(7)]
    assert host_faults([region(wr("RDMA_WRITE", 64))], tables, [first] + rest, [wqe(3)]) == []


def mlx5_store(ns, page_offset, size, qp=QP, bar=0):
    """The beginning of a control segment: index and opcode, QP number and size, both big-endian."""
    data = struct.pack(">II", 7 << 8 | 8, qp << 8 | 2) + bytes(size - 8)
    more = {"hca": "mlx5_1", "bar": bar, "data": data[:16].hex()}
    return tlp(ns, "MWr", 0x5000 + page_offset, "down", size, **more)


@pytest.mark.parametrize(
    "stores, count",
    [
        ([mlx5_store(1, 0x800, 8), mlx5_store(2, 0x900, 8)], 2),
        ([mlx5_store(1, 0xA00, 64), mlx5_store(1, 0xA40, 64), mlx5_store(2, 0xB00, 8)], 2),
        ([mlx5_store(1, 0x800, 8, QP + 1)], 0),
        ([mlx5_store(1, 0x020, 8)], 0),  # arms a CQ
        ([mlx5_store(1, 0x800, 8, bar=4)], 0),  # device memory
        ([{**bell(1), "bar": 0}, {**mlx5_store(1, 0x800, 8), "hca": "mlx5_0"}], 0),
    ],
)
def test_doorbells_of_mlx5(stores, count):
    assert len(hostlink.rung(stores, "mlx5_1", QP)) == count


def test_mlx5_rings_once_for_a_region(tables):
    faults = []
    wqes = [{**wqe(2), "hca": "mlx5_1"}]
    for stores in ([], [mlx5_store(1, 0x800, 8)], [mlx5_store(1, 0x800, 64), mlx5_store(1, 0x900, 8)]):
        judge = hostlink.HostJudge(piece_of(stores, wqes), tables, faults.append)
        judge.region_counts("mlx5_1", QP, [region(wr("RDMA_WRITE", 64))])
    assert [fault.split(" of")[0] for fault in faults] == ["host link: 0 doorbells", "host link: 2 doorbells"]


def test_a_family_without_doorbells_in_a_bar(tables):
    """The work requests that it reads are still those that were posted."""
    faults = []
    for wqes in ([], [{**wqe(2), "hca": "rxe0"}]):
        judge = hostlink.HostJudge(piece_of([], wqes), tables, faults.append)
        judge.region_counts("rxe0", QP, [region(wr("RDMA_WRITE", 64))])
    assert len(faults) == 1 and "read 0 work requests" in faults[0]


def test_a_store_to_device_memory_is_no_doorbell(tables):
    store = {**tlp(1, "MWr", 0x3800, "down", 4, data=struct.pack("<I", QP).hex()), "bar": 4}
    assert host_faults([region(wr("RDMA_WRITE", 64))], tables, [store, bell(2)], [wqe(3)]) == []


@pytest.mark.parametrize("how", [{"abort": True}, {"rc": 22}])
def test_nothing_of_a_refused_region_is_read(how, tables):
    entry = [region(wr("RDMA_WRITE", 64), **how)]
    assert host_faults(entry, tables, [], []) == []
    assert "1 doorbells" in host_faults(entry, tables, [bell(1)], [])[0]
    assert "read 1 work requests" in host_faults(entry, tables, [], [wqe(1)])[0]


def test_work_requests_are_those_that_were_posted(tables):
    entry = [region(wr("RDMA_WRITE", 64, SIGNALED | FENCE))]
    good = wqe(2, flags=("signaled", "fence"))
    assert host_faults(entry, tables, [bell(1)], [good]) == []
    assert "flag fence is False" in host_faults(entry, tables, [bell(1)], [wqe(2)])[0]
    assert (
        "read SEND, posted was RDMA_WRITE"
        in host_faults(entry, tables, [bell(1)], [{**good, "op": "SEND"}])[0]
    )


def test_inline_data_is_in_the_work_request(tables):
    """libmlx5 leaves no inline segment where there is no data."""
    for size, faults in ((64, 1), (0, 0)):
        request = {**wr("RDMA_WRITE", 0, SIGNALED | INLINE), "sge": [[0x9000, size]]}
        assert len(host_faults([region(request)], tables, [bell(1)], [wqe(2)])) == faults, size


def test_inline_data_is_not_read_from_its_buffer(tables):
    entry = [region(wr("RDMA_WRITE", 64, SIGNALED | INLINE))]
    wqes = [wqe(2, flags=("signaled", "inline"))]
    read = tlp(3, "MRd", 0x9010, **{"class": "payload", "qpn": QP})
    other = tlp(3, "MRd", 0x9040, **{"class": "payload", "qpn": QP})
    assert host_faults(entry, tables, [bell(1), other], wqes) == []
    assert "inline data was read" in host_faults(entry, tables, [bell(1), read], wqes)[0]


def test_buffers_of_a_refused_request_are_left_alone(tables):
    refused = [region(wr("RDMA_WRITE", 64), rc=12)]
    read = tlp(3, "MRd", 0x9010, **{"class": "payload", "qpn": QP})
    assert "a request that was not accepted" in host_faults(refused, tables, [read], [])[0]
    both = refused + [region(wr("RDMA_WRITE", 64))]  # the same buffer in an accepted request
    assert host_faults(both, tables, [bell(1), read], [wqe(2)]) == []


@pytest.mark.parametrize(
    "wrs, sizes, good",
    [
        ([wr("SEND", 100)], [100], True),
        ([wr("SEND", 20)], [60], True),
        ([wr("SEND", 100)], [100, 100], False),
        ([wr("SEND", 100)], [], False),
        ([wr("TSO", 1000, hdr=54, mss=400)], [454, 454, 254], True),
        ([wr("TSO", 1000, hdr=54, mss=400)], [454, 454, 255], False),
    ],
)
def test_frames_of_a_raw_qp(wrs, sizes, good):
    faults = []
    wire.judge_frames([region(*wrs, qpt="RAW_PACKET")], [bytes(n) for n in sizes], faults.append)
    assert (not faults) == good


def test_a_completion_comes_last(tables):
    entry = [region(wr("RDMA_READ", 64))]
    answer = packets.parse(40, frame("RDMA_READ_RESPONSE_ONLY", PSN, aeth() + bytes(64), back=True))
    request = packets.parse(10, frame("RDMA_READ_REQUEST", PSN, reth(64)))
    seen = [wire.Request(entry[0]["wrs"][0], entry[0], [request], [answer])]
    data = tlp(50, "MWr", 0x9000, **{"class": "payload", "qpn": QP})
    wqes = [wqe(2, "RDMA_READ")]
    assert host_faults(entry, tables, [bell(1), data, cqe_write(60)], wqes, seen) == []
    assert "before its data" in host_faults(entry, tables, [bell(1), data, cqe_write(45)], wqes, seen)[0]
    assert (
        "before RDMA_READ_RESPONSE_ONLY"
        in host_faults(entry, tables, [bell(1), cqe_write(35)], wqes, seen)[0]
    )


def ends(roce_v1=False):
    gids = [(bytes(10) + b"\xff\xff" + bytes(map(int, at.split(".")))).hex() for at in (HERE, FAR)]
    return [{"dev": dev, "gid": gid, "roce_v1": roce_v1} for dev, gid in zip((DEV, "b"), gids)]


def test_the_cause_comes_first(tables, by_id):
    """A work request without its flag, and so a packet without its SE bit: the host link's fault is the cause."""
    cell = by_id["wr/rdma_write_imm/rc/sge/-/solicited+signaled"]
    imm = struct.pack(">I", 0x11223344)
    only = frame("RDMA_WRITE_ONLY_WITH_IMMEDIATE", PSN, reth(64) + imm + bytes(64))
    frames = [(10, only), (20, frame("ACKNOWLEDGE", PSN, aeth(), back=True))]
    logs = ([bell(1)], [wqe(2, "RDMA_WRITE_IMM")], [])
    piece = Piece(frames, *(Records([json.dumps(r).encode() for r in log]) for log in logs))
    tap = taps.Tap(SimpleNamespace(runner_line={"dut": {"mtu": MTU}}), tables, None)
    result = Result(True, posts=[region(wr("RDMA_WRITE_WITH_IMM", 64, SIGNALED | SOLICITED))])
    result.ends = ends()
    faults = tap.faults_of(cell, result, piece, {})
    assert faults == [
        "host link: RDMA_WRITE_IMM: flag solicited is False in the work request",
        "wire: RDMA_WRITE_WITH_IMM, packet 1 of 1: SE bit 0, expected 1",
    ]


@pytest.mark.parametrize("others, faults", [(0, 1), (1, 0)])
def test_packets_that_wait_for_those_of_another_qp(others, faults, tables, by_id):
    """An unreliable QP completes when its packet is at the port, which may be busy: on a busy host it often is."""
    cell = by_id["wr/send/uc/sge/-/signaled"]
    posts, frames, tlps, wqes = [], [], [], []
    for number in range(1 + others):
        qp = QP + 4 * number
        posts.append({**region(wr("SEND", 8), qpt="UC"), "qp": qp, "to": qp + 1})
        frames.append((50 + number, frame("SEND_ONLY", PSN, bytes(8), transport="UC", qp=qp + 1)))
        tlps += [bell(1, qp), {**cqe_write(40 + number), "qpn": qp}]
        wqes.append({**wqe(2, "SEND"), "qpn": qp})
    piece = Piece(frames, *(Records([json.dumps(r).encode() for r in log]) for log in (tlps, wqes, [])))
    tap = taps.Tap(SimpleNamespace(runner_line={"dut": {"mtu": MTU}}), tables, None)
    result = Result(True, posts=posts)
    result.ends = ends()
    found = tap.faults_of(cell, result, piece, {})
    assert len(found) == faults and all("before SEND_ONLY" in fault for fault in found), found


def test_a_tap_needs_a_clock(tables, tmp_path):
    """Cells that posted something cannot be found in the traces; others have nothing to be found."""
    tap = taps.Tap(SimpleNamespace(runner_line={"dut": {"mtu": MTU}}), tables, None)
    posted, quiet = Result(True, posts=[region(wr("RDMA_WRITE", 64))]), Result(True)
    tap.judge(tmp_path, [(None, posted), (None, quiet)])
    assert not posted.passed and posted.faults == [taps.NO_CLOCK]
    assert quiet.passed


def test_a_piece_ends_where_the_next_cell_begins():
    """A cell in which the runner ends has no times: what it sends is not of the cell before it."""
    one, two, last = (Result(True, clock=(begin, begin + 5)) for begin in (10, 20, 40))
    assert taps.ends_of([one, two, Result(False), last]) == [20, 25, float("inf")]
    assert taps.ends_of([one, Result(False)]) == [15]


# -- files -------------------------------------------------------------------------------------------------


def test_a_cells_own_capture_is_read_again(tmp_path):
    path = tmp_path / "one.pcap"
    path.write_bytes(artefacts.pcap(write_frames()))
    assert packets.frames(path) == write_frames()


def test_a_file_that_is_no_capture(tmp_path):
    path = tmp_path / "x.pcap"
    path.write_bytes(b"nothing of the kind, but long enough")
    with pytest.raises(packets.BadPacket, match="x.pcap"):
        packets.frames(path)


@pytest.mark.parametrize("short", [45, 60])
def test_a_frame_that_is_too_short(short):
    with pytest.raises(packets.BadPacket):
        packets.parse(0, frame("SEND_ONLY", 0, bytes(8))[:short])


def test_addresses():
    assert taps.wire_address("00000000000000000000ffff0a4d0001") == bytes([10, 77, 0, 1])
    assert taps.wire_address("fe80000000000000000000fffe000001")[:2] == b"\xfe\x80"


@pytest.mark.parametrize(
    "options, taps_on",
    [([], True), (["--exhaustive"], False), (["--exhaustive", "--tap"], True), (["--no-tap"], False)],
)
def test_when_taps_are_on(options, taps_on):
    assert cli.wants_taps(cli.parser(None).parse_args(options)) == taps_on
