"""Every error strop raises for something a user can put right, and the exit code of the command that meets it.

    StropError                  1
    |- ConfigError              2   a key, a value, a row, a name
    |- DoesNotFit               3   memory or disk
    |- DataError                4   a file, a line, a prompt
    |  '- NotEnoughSignal       4   the data's groups are all right or all wrong
    |- RewardError              5   a reward that raises, or returns what is not a number
    '- NumericsError            6   a loss or gradient that is not finite

The message is one line that names the thing and says what to do. Anything else that escapes is a bug in strop.
"""

from __future__ import annotations


class StropError(Exception):
    """Something a user can put right."""

    exit_code = 1


class ConfigError(StropError):
    """A configuration that cannot mean anything: the message names the key path and the nearest right one."""

    exit_code = 2


class DoesNotFit(StropError):
    """Not enough memory or disk."""

    exit_code = 3


class DataError(StropError):
    """A data file or prompt that cannot be used: the message names file, line and column where it can."""

    exit_code = 4


class NotEnoughSignal(DataError):
    """Dynamic sampling drew as many groups as it may and too few had mixed scores."""


class RewardError(StropError):
    """A reward that raised, or returned something that is not one finite number for each completion."""

    exit_code = 5


class NumericsError(StropError):
    """A loss or gradient that is not finite; raised before the optimizer step, so the weights are unharmed."""

    exit_code = 6
