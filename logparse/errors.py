"""Every error that logparse raises, with the exit code the command line gives it.

    LogparseError
    ├── UsageError          2  an option or argument cannot be followed
    ├── NothingRecognised   3  the input holds no line of a known engine
    ├── InputError          4  the input cannot be read
    ├── ModelError          4  a model description cannot be read
    └── PatternError        5  a pattern set breaks its own rules

Each message is one line that names the trouble and the cure.
"""

from __future__ import annotations


class LogparseError(Exception):
    """Base of all errors that logparse raises on purpose."""

    exit_code = 1


class UsageError(LogparseError):
    """An option or argument cannot be followed."""

    exit_code = 2


class NothingRecognised(LogparseError):  # noqa: N818 - reads as what happened, not as a fault
    """The input holds no line of a known engine."""

    exit_code = 3


class InputError(LogparseError):
    """The input cannot be read."""

    exit_code = 4


class ModelError(LogparseError):
    """A model description cannot be read."""

    exit_code = 4


class PatternError(LogparseError):
    """A pattern set breaks its own rules."""

    exit_code = 5
