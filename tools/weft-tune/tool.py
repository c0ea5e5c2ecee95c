# SPDX-License-Identifier: BSD-3-Clause
"""Facts of the installation, and the ways in which weft-tune ends early. Every module may use this one."""
VERSION = "0"  # the starter fills in the real one
MEASURE = "weft-measure"  # the program that sets and measures, likewise


class Failed(Exception):
    """A line for the user; exit status 1."""


class Stopped(Exception):
    """A signal ended the run; exit status 1."""


class Usage(Exception):
    """A wrong command line, in one line; exit status 2."""


def reason(error):
    """The system's text for an OSError."""
    return error.strerror or str(error)
