"""Why a program could not be run, in words for the user."""

from __future__ import annotations


class CannotRun(Exception):
    """The program was not run, or not to its end, so nothing is known about it: exit code 2."""
