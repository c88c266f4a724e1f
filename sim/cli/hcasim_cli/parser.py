# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Argument parsers of all commands."""
import argparse
import difflib


def nearest(word, choices):
    """The choice that is most like a word, or None."""
    return next(iter(difflib.get_close_matches(word, choices, 1)), None)


class Parser(argparse.ArgumentParser):
    """Names the nearest option if one is unknown."""

    UNKNOWN = "unrecognized arguments: "

    def error(self, message):
        if message.startswith(self.UNKNOWN):
            word = message.removeprefix(self.UNKNOWN).split()[0].split("=")[0]
            near = nearest(word, self._option_string_actions)
            message += f"; the nearest option is {near}" if near else ""
        super().error(message)
