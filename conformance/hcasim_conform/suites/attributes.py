# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Transitions of a QP and its attributes.

What a transition requires on the way from RESET to RTS is the table of ibv_modify_qp(3); everything else, what a
transition allows and which transitions exist, is table 91 of the IBTA (vol. 1, 10.3.1).
"""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite

REQUIRED = "ibv_modify_qp/NOTES/required"
NONE_MODIFIED = "ibv_modify_qp/NOTES/none-modified"
CUR_STATE = "ibv_modify_qp/DESCRIPTION/cur_qp_state"

BITS = """STATE CUR_STATE EN_SQD_ASYNC_NOTIFY ACCESS_FLAGS PKEY_INDEX PORT QKEY AV PATH_MTU TIMEOUT RETRY_CNT RNR_RETRY
RQ_PSN MAX_QP_RD_ATOMIC ALT_PATH MIN_RNR_TIMER SQ_PSN MAX_DEST_RD_ATOMIC PATH_MIG_STATE CAP DEST_QPN""".split()
STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
TYPES = {"RC": 2, "UC": 3, "UD": 4, "RAW_PACKET": 8, "XRC_SEND": 9, "XRC_RECV": 10}

# Values that the suite has none of: alternate paths, other sizes (both only where the device says so).
APART = ("ALT_PATH", "PATH_MIG_STATE")

CONNECTED = ("PKEY_INDEX", "PORT", "ACCESS_FLAGS")
DATAGRAM = ("PKEY_INDEX", "PORT", "QKEY")
PATH = ("AV", "PATH_MTU", "DEST_QPN", "RQ_PSN")
REQUESTER = ("TIMEOUT", "RETRY_CNT", "RNR_RETRY", "MAX_QP_RD_ATOMIC")
RESPONDER = ("MAX_DEST_RD_ATOMIC", "MIN_RNR_TIMER")
INIT = dict.fromkeys(TYPES, CONNECTED) | {"UD": DATAGRAM, "RAW_PACKET": ("PORT",)}

# (from, to): what each type requires, and what it allows besides.
NONE = dict.fromkeys(TYPES, ())
RTS = {
    "RC": ("CUR_STATE", "ACCESS_FLAGS", "MIN_RNR_TIMER"),
    "UC": ("CUR_STATE", "ACCESS_FLAGS"),
    "UD": ("CUR_STATE", "QKEY"),
    "RAW_PACKET": (),
    "XRC_SEND": ("CUR_STATE", "ACCESS_FLAGS"),
    "XRC_RECV": ("CUR_STATE", "ACCESS_FLAGS", "MIN_RNR_TIMER"),
}
DRAINED = ("AV", "ACCESS_FLAGS", "PKEY_INDEX", "PORT")
TRANSITIONS = {
    ("RESET", "INIT"): (INIT, NONE),
    ("INIT", "INIT"): (NONE, INIT | {"RAW_PACKET": ()}),
    ("INIT", "RTR"): (
        dict.fromkeys(TYPES, PATH)
        | dict.fromkeys(("RC", "XRC_RECV"), PATH + RESPONDER)
        | dict.fromkeys(("UD", "RAW_PACKET"), ()),
        dict.fromkeys(TYPES, ("ACCESS_FLAGS", "PKEY_INDEX"))
        | {"UD": ("PKEY_INDEX", "QKEY"), "RAW_PACKET": ()},
    ),
    ("RTR", "RTS"): (
        dict.fromkeys(TYPES, ("SQ_PSN",))
        | dict.fromkeys(("RC", "XRC_SEND"), REQUESTER + ("SQ_PSN",))
        | {"XRC_RECV": ("TIMEOUT", "SQ_PSN"), "RAW_PACKET": ()},
        RTS,
    ),
    ("RTS", "RTS"): (NONE, RTS),
    ("RTS", "SQD"): (NONE, dict.fromkeys(TYPES, ("EN_SQD_ASYNC_NOTIFY",)) | {"RAW_PACKET": ()}),
    ("SQD", "RTS"): (NONE, RTS),
    ("SQD", "SQD"): (
        NONE,
        {
            "RC": DRAINED + REQUESTER + RESPONDER,
            "UC": ("ACCESS_FLAGS", "PKEY_INDEX"),
            "UD": ("PKEY_INDEX", "QKEY"),
            "XRC_SEND": DRAINED + REQUESTER,
            "XRC_RECV": DRAINED + ("TIMEOUT",) + RESPONDER,
        },
    ),
}
# Attributes of which a transition says nothing that a program could rely on.
IGNORED = {
    # the half of the other end: ib_uverbs removes it, since programs pass RC's attributes at both ends
    "XRC_SEND": RESPONDER,
    "XRC_RECV": ("RETRY_CNT", "RNR_RETRY", "MAX_QP_RD_ATOMIC"),
}
UPWARDS = (("RESET", "INIT"), ("INIT", "RTR"), ("RTR", "RTS"))
# Every state that a program can leave for RESET or ERR. Linux refuses ERR from RESET.
DOWNWARDS = [(s, "RESET") for s in ("INIT", "RTR", "RTS", "SQD", "ERR")]
DOWNWARDS += [(s, "ERR") for s in ("INIT", "RTR", "RTS", "SQD")]
REACHED = ("RESET", "INIT", "RTR", "RTS", "SQD", "ERR")

SAYS_REQUIRED = (
    "the transition is refused if one of the required attributes is missing, and then nothing has changed; with all of "
    "them it is made, and ibv_query_qp reports what was set, together or one by one"
)
SAYS_ATTRIBUTES = (
    "each attribute that the transition allows is set and reported by ibv_query_qp, alone and with all others; each that "
    "it does not have is refused, and then nothing has changed"
)

# Creation. Case: clause, expectation, level.
CREATION = {
    "limits": (
        "ibv_query_device/NOTES/limits",
        "as many requests and SGEs as the device says that it has are granted, one more is refused; what was granted is at "
        "least what was asked for, and ibv_query_qp reports the same",
        "SHOULD",
    ),
    "parts": (
        "ibv_create_qp/NOTES/srq",
        "a QP that is neither RC nor UD gets no SRQ; with one, the size of the receive queue is ignored; without the CQs "
        "that the type needs there is no QP",
        "MUST",
    ),
    "unknown": (
        "ibv_create_qp/RETURN-VALUE",
        "types, operations, flags and members that verbs.h does not have are refused with an errno, operations with EOPNOTSUPP",
        "SHOULD",
    ),
}


def mask(names):
    return sum(1 << BITS.index(name) for name in names)


class Attributes(Suite):
    def cases(self):
        for qpt in TYPES:
            yield from self._required(qpt)
            yield from self._allowed(qpt)
            yield from self._downwards(qpt)
            yield from self._none(qpt)
            yield from self._values(qpt)
            yield self._masks_of_creation(qpt)
            if qpt != "XRC_RECV":
                yield from self._creation(qpt)

    def _values(self, qpt):
        says = "each value at the edge of an attribute is reported by ibv_query_qp; one beyond is refused and changes nothing"
        yield self._case(qpt, "values", "values", NONE_MODIFIED, says, {}, "MUST")
        if qpt in ("RC", "UC", "XRC_SEND", "XRC_RECV"):
            yield self._case(qpt, "values-of-width", "values", NONE_MODIFIED, says, {"wide": 1})
            says = "the same with the fields of ah_attr"
            yield self._case(qpt, "address", "values_address", NONE_MODIFIED, says, {}, "MUST")

    def _case(self, qpt, case, scenario, clause, says, args, level="SHOULD"):
        # the receiving end of XRC is a type of QP, but has no requests of its own
        owner = "XRC_SEND" if qpt == "XRC_RECV" else qpt
        return Case(
            suite="modify",
            qpt=owner,
            case=("recv-" if qpt == "XRC_RECV" else "") + case,
            scenario=scenario,
            says=says,
            expect=Expect(clause, level=level, errata=() if level == "MUST" else ("TRANSITIONS",)),
            args={"type": TYPES[qpt]} | args,
        )

    def _masks(self, qpt, way):
        required, optional = (masks[qpt] for masks in TRANSITIONS[way])
        ignored = APART + IGNORED.get(qpt, ())
        if way == ("SQD", "SQD") and qpt == "UC":
            ignored += (
                "AV",
                "PORT",
            )  # IBTA allows both, Linux' table has the address alone: it cannot be given
        if qpt == "RAW_PACKET":
            ignored += ("EN_SQD_ASYNC_NOTIFY",)
        return {
            "from": STATES.index(way[0]),
            "to": STATES.index(way[1]),
            "required": mask(required),
            "optional": mask(name for name in optional if name not in ignored),
            "ignored": mask(ignored),
        }

    def _required(self, qpt):
        for way in UPWARDS:
            args = self._masks(qpt, way)
            level = "SHOULD" if qpt.startswith("XRC") else "MUST"  # the page has no table for XRC
            name = f"{way[0].lower()}-{way[1].lower()}"
            yield self._case(qpt, name, "transition_required", REQUIRED, SAYS_REQUIRED, args, level)

    def _allowed(self, qpt):
        for way in TRANSITIONS:
            if qpt == "RAW_PACKET" and way in (("INIT", "INIT"), ("SQD", "SQD")):
                continue
            args = self._masks(qpt, way)
            name = f"{way[0].lower()}-{way[1].lower()}-attributes"
            yield self._case(qpt, name, "transition_attributes", NONE_MODIFIED, SAYS_ATTRIBUTES, args)

    def _downwards(self, qpt):
        says = "from each state; the transition needs no attribute, and one that is given is refused and changes nothing"
        for after in ("RESET", "ERR"):
            args = {"to": STATES.index(after), "ignored": mask(IGNORED.get(qpt, ()))}
            args |= {before: 1 for before, to in DOWNWARDS if to == after}
            name = f"to-{after.lower()}"
            yield self._case(qpt, name, "transition_each", NONE_MODIFIED, says, args)

    def _none(self, qpt):
        says = "a transition that does not exist is refused, whatever is given with it, and changes nothing"
        ways = set(TRANSITIONS) | set(DOWNWARDS) | {("RESET", "RESET"), ("ERR", "ERR"), ("RESET", "ERR")}
        args = {"none": 1}
        for before in REACHED:
            missing = [STATES.index(s) for s in STATES if (before, s) not in ways] + [len(STATES)]
            args[before] = sum(1 << state for state in missing)
        yield self._case(qpt, "none", "transition_each", NONE_MODIFIED, says, args)
        says = "a cur_qp_state other than the state of the QP is refused and changes nothing"
        if qpt != "RAW_PACKET":
            args = self._masks(qpt, ("RTR", "RTS"))
            yield self._case(qpt, "cur_qp_state", "transition_wrong_state", CUR_STATE, says, args)

    @staticmethod
    def _masks_of_creation(qpt):
        return Case(
            suite="create",
            qpt="XRC_SEND" if qpt == "XRC_RECV" else qpt,
            case="recv-masks" if qpt == "XRC_RECV" else "masks",
            scenario="create_masks",
            says="a member without its bit of comp_mask counts for nothing, one of 0 asks for nothing, and bits and flags that "
            "verbs.h does not have are refused",
            expect=Expect("ibv_create_qp_ex/DESCRIPTION/comp_mask", level="SHOULD"),
            args={"type": TYPES[qpt]},
        )

    def _creation(self, qpt):
        for case, (clause, says, level) in CREATION.items():
            yield Case(
                suite="create",
                qpt=qpt,
                case=case,
                scenario=f"create_{case}",
                says=says,
                expect=Expect(clause, level=level, errata=("OPS-UNSUPPORTED",) if case == "unknown" else ()),
                args={"type": TYPES[qpt], "srq": int(qpt != "XRC_SEND")},
                needs=("srq",) if case == "parts" else (),
            )
        if qpt == "XRC_SEND":
            return  # has no receive queue
        yield Case(
            suite="create",
            qpt=qpt,
            case="granted",
            scenario="carry",
            says="a QP takes and executes as many requests and receives as it was granted, each with as many SGEs or inline "
            "bytes",
            expect=Expect("ibv_create_qp/DESCRIPTION/granted"),
            args={"type": TYPES[qpt]},
        )
