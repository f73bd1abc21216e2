"""Owns the errors a person may see: one sentence, what to do about it, and the exit status 3.

Whatever ends a command on purpose is one of these. The command line prints them and never a
traceback; 3 is "cannot tell", because 1 and 2 would be read as WARNING and CRITICAL by a prober.
"""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Sequence, Tuple


class ClockAgentError(Exception):
    """What went wrong in one sentence, and in ``hint`` what helps (empty when nothing can)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ClockAgentError):
    """The command line asks for something that cannot be."""


class ConfigError(ClockAgentError):
    """The configuration cannot be used. ``problems`` holds every reason, one line each."""

    def __init__(self, problems: Sequence[str], hint: str = "") -> None:
        super().__init__("\n".join(problems), hint)
        self.problems: Tuple[str, ...] = tuple(problems)


class ForbiddenConfig(ConfigError):
    """The configuration is not for this user to read; nothing is known to be wrong with it."""
