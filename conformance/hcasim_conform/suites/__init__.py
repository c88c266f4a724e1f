# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suites outside the matrix test what a table of single requests cannot express.

A case is a cell with an id, a sentence, a level, and a line for the runner. Its requests and their expected
completions come from the tables; the line names the scenario of the runner (conformance/runner/suites/) that
posts them.
"""
from dataclasses import replace

from hcasim_conform.suites.completions import Completions
from hcasim_conform.suites.answers import Answers
from hcasim_conform.suites.attributes import Attributes
from hcasim_conform.suites.connection import Connection
from hcasim_conform.suites.control import Control
from hcasim_conform.suites.device_memory import DeviceMemory
from hcasim_conform.suites.counters import Counters
from hcasim_conform.suites.differ import Differ
from hcasim_conform.suites.faults import Faults
from hcasim_conform.suites.memory import Memory
from hcasim_conform.suites.misuse import Misuse
from hcasim_conform.suites.narrow import narrow
from hcasim_conform.suites.objects import Objects
from hcasim_conform.suites.packets import Packets
from hcasim_conform.suites.paging import Paging
from hcasim_conform.suites.posting import Posting
from hcasim_conform.suites.psn import Sequence
from hcasim_conform.suites.queues import Queues
from hcasim_conform.suites.sending import Sending
from hcasim_conform.suites.sentences import Sentences
from hcasim_conform.suites.sharing import Sharing
from hcasim_conform.suites.stopping import Stopping
from hcasim_conform.suites.tags import Tags
from hcasim_conform.suites.work_queues import WorkQueues

SUITES = (
    *(Posting, Differ, Faults, Sequence, Objects, Queues, Misuse),
    *(Paging, DeviceMemory, Sending, Stopping, Memory, Packets, Answers),
    *(Attributes, Control, Sentences, Tags, Completions, Counters, WorkQueues, Sharing, Connection),
)


def cases(tables):
    """Every case of every suite, in order, at the level that its errata leave to it. Ids are unique."""
    found = [case for suite in SUITES for case in suite(tables).cases()]
    found += list(narrow(found))
    return [replace(case, expect=tables.graded(case.expect)) for case in found]
