"""Owns the daemon's own log lines: one line each, and never a reason to wait.

A pipe nobody reads, a stopped journald or a full disk blocks whoever writes to it, so one thread
writes and the loop only puts lines into a bounded queue. What does not fit is dropped and counted.
"""

from __future__ import annotations

import queue
import threading
from typing import Optional, TextIO

#: Lines that wait for a slow reader before new ones are dropped.
CAPACITY = 1000

#: syslog priorities, as ``<N>`` prefixes that journald takes off again.
ERROR, WARNING, INFO = 3, 4, 6


class Log:
    """A log on one text stream."""

    def __init__(self, stream: Optional[TextIO], priorities: bool) -> None:
        """``priorities``: start each line with its syslog priority (the stream is the journal).

        No ``stream``: the program was started with its output closed, and there is nobody to tell.
        """
        self._stream = stream
        self._priorities = priorities
        self._lines: queue.Queue[Optional[str]] = queue.Queue(CAPACITY)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def info(self, text: str) -> None:
        """Something worth a line."""
        self._put(INFO, text)

    def warning(self, text: str) -> None:
        """Something is not as it should be, and the daemon copes."""
        self._put(WARNING, text)

    def error(self, text: str) -> None:
        """Something needs a person."""
        self._put(ERROR, text)

    def close(self, timeout: float) -> None:
        """Write what is waiting, for at most ``timeout`` seconds."""
        try:
            self._lines.put(None, timeout=timeout)
        except queue.Full:
            return
        self._thread.join(timeout)

    def _put(self, priority: int, text: str) -> None:
        prefix = f"<{priority}>" if self._priorities else ""
        line = prefix + " ".join(text.split()) + "\n"
        try:
            if self._dropped:
                self._lines.put_nowait(f"{prefix}{self._dropped} log lines dropped: slow reader\n")
                self._dropped = 0
            self._lines.put_nowait(line)
        except queue.Full:
            self._dropped += 1

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            if line is None:
                return
            if self._stream is None:
                continue
            try:
                self._stream.write(line)
                self._stream.flush()
            except (OSError, ValueError):  # the reader has gone: there is nobody to tell
                continue
