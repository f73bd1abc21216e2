"""Owns what every ``check`` needs of ``threading`` and ``signal``, without their price (8 ms).

A ground module: any may ask. The daemon's own threads, which live long, use ``threading``.
"""

from __future__ import annotations

import _thread

from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import signal as signal
    from typing import Callable
else:
    import _signal as signal  # noqa: F401  the same calls; the constants are plain numbers


class Latch:
    """Something that happens once. Any thread may wait for it."""

    def __init__(self) -> None:
        self._shut = _thread.allocate_lock()
        self._shut.acquire()

    def open(self) -> None:
        """It has happened; to be called once."""
        self._shut.release()

    def wait(self, seconds: float) -> bool:
        """Wait for it, up to ``seconds``; True when it has happened."""
        if not self._shut.acquire(timeout=max(0.0, seconds)):
            return False
        self._shut.release()
        return True


def start(work: Callable[[], None]) -> None:
    """Run ``work`` in a thread that nobody waits for on the way out.

    ``work`` must not raise. Raises RuntimeError when there are no more threads.
    """
    _thread.start_new_thread(work, ())
