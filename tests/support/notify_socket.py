"""Owns systemd's end of sd_notify for tests: records every message with the time it came."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Dict, List, NamedTuple


class Message(NamedTuple):
    """One datagram, and CLOCK_MONOTONIC seconds at its arrival."""

    text: str
    at: float


class NotifySocket:
    """A socket for NOTIFY_SOCKET that is read by a thread of its own."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self._path))
        self.messages: List[Message] = []
        threading.Thread(target=self._read, daemon=True).start()

    def environment(self, watchdog_seconds: float) -> Dict[str, str]:
        """What systemd sets for a service that it watches."""
        return {
            "NOTIFY_SOCKET": str(self._path),
            "WATCHDOG_USEC": str(int(watchdog_seconds * 1e6)),
        }

    def times(self, line: str) -> List[float]:
        """When messages that hold ``line`` came."""
        return [m.at for m in tuple(self.messages) if line in m.text.split("\n")]

    def longest_gap(self, line: str) -> float:
        """The longest time without ``line``, from its first message until now, in seconds."""
        times = [*self.times(line), time.monotonic()]
        return max(after - before for before, after in zip(times, times[1:]))

    def close(self) -> None:
        """Take the socket away."""
        self._socket.close()

    def _read(self) -> None:
        while True:
            try:
                text = self._socket.recv(65536).decode()
            except OSError:
                return
            self.messages.append(Message(text, time.monotonic()))
