# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Exit statuses of all hcasim commands. hcasim(1) and docs/running.md have this table."""
OK = 0
FAILED = 1
WRONG = 2
MACHINE_FAILED = 125  # this and the next two as env(1) and timeout(1)
CANNOT_RUN = 126
NOT_FOUND = 127
SIGNALED = 128  # plus the number of the signal

TABLE = (
    (str(OK), "success"),
    (str(FAILED), "what was tested failed, or differs from what it is compared with"),
    (str(WRONG), "wrong command line, file or figure"),
    (str(MACHINE_FAILED), "the simulated machine failed"),
    (str(CANNOT_RUN), "CMD cannot be executed"),
    (str(NOT_FOUND), "CMD was not found"),
    (f"{SIGNALED}+N", "CMD, or hcasim itself, was ended by signal N"),
)
NOTE = "If nothing of this applies, hcasim run exits with the status of CMD."
