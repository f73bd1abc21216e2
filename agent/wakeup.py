"""Owns the one place where the daemon waits: a pipe that signals and threads can write to.

``poll()`` on a pipe is not moved by steps of the wall clock, and returns at once for a signal that
arrives just before it: the byte is already there.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from types import FrameType
from typing import Mapping, Optional

#: The longest single wait, in seconds. poll() does not count time spent suspended.
LONGEST = 30.0


class Wakeup:
    """Signals as flags, and a wait that any of them or any thread can end."""

    def __init__(self, flags: Mapping[int, str]) -> None:
        """``flags``: signal number -> the word that ``raised`` answers to after it came."""
        self._flags = flags
        self._raised = dict.fromkeys(flags.values(), False)
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._poller = select.poll()
        self._poller.register(self._reader, select.POLLIN)
        for number in flags:
            signal.signal(number, self._flag)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def poke(self) -> None:
        """End the present wait, or the next one. Any thread may."""
        with contextlib.suppress(OSError):  # full: there is a byte to wake up for already
            os.write(self._writer, b"\0")

    def wait(self, seconds: float) -> None:
        """Wait for a poke, a signal, or ``seconds`` (at most LONGEST)."""
        if self._poller.poll(max(0.0, min(seconds, LONGEST)) * 1000):
            with contextlib.suppress(OSError):
                while os.read(self._reader, 4096):
                    pass

    def raised(self, word: str) -> bool:
        """Whether the signal of ``word`` has come and has not been taken."""
        return self._raised[word]

    def take(self, word: str) -> bool:
        """As ``raised``, and forget it."""
        came, self._raised[word] = self._raised[word], False
        return came

    def _flag(self, number: int, _frame: Optional[FrameType]) -> None:
        self._raised[self._flags[number]] = True
