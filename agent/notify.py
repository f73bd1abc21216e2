"""Owns talking to systemd (sd_notify): READY, WATCHDOG, STATUS, RELOADING, STOPPING; never waiting.

The queue of the notify socket holds about ten datagrams; when the manager does not read, a blocking
sender would stop the loop that the watchdog is about. What cannot be sent now is dropped, except
READY, which is sent again with the next message: without it the start would time out.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import Any, Callable, MutableMapping, Optional

from agent import clock

#: Messages per watchdog time: two would be the least, and one may come late.
BEATS = 3
#: Seconds after which READY is tried again where there is no watchdog.
NO_HURRY = 10.0
_LONGEST_STATUS = 1000
_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class Notifier:
    """The line to the service manager; every method is harmless where there is none."""

    def __init__(
        self, environment: MutableMapping[str, str], log: Callable[[str], None] = lambda _: None
    ) -> None:
        """Take systemd's variables out of ``environment``, so that no child can speak for us.

        ``log`` is given one line for whatever in them cannot be used, once.
        """
        address, usec, pid = (environment.pop(name, "") for name in _VARIABLES)
        self._log = log
        self._address = address
        self._sender: Optional[Any] = None  # Any: the sdnotify package has no types
        self._complained = False
        self._unsent = ""
        self._status = ""
        self._next_beat = 0.0
        #: Seconds between two WATCHDOG messages; None when nobody watches us.
        self.watchdog_interval: Optional[float] = self._interval(usec, pid) if address else None

    def ready(self) -> None:
        """Start-up, or a reload, is finished."""
        self._unsent = "READY=1"
        self._send("")

    def alive(self, now: float) -> None:
        """The loop makes progress at ``now`` (CLOCK_MONOTONIC); systemd hears of it when due."""
        if now < self._next_beat:
            return
        self._next_beat = now + (self.watchdog_interval or NO_HURRY)
        self._send("WATCHDOG=1" if self.watchdog_interval else "")

    def pause(self, now: float) -> float:
        """Seconds from ``now`` (CLOCK_MONOTONIC) until ``alive`` has something to say."""
        return max(0.0, self._next_beat - now)

    def status(self, text: str) -> None:
        """Show one line in ``systemctl status``; sent only when it differs from the last one."""
        line = " ".join(text.split())[:_LONGEST_STATUS]
        if line != self._status and self._send(f"STATUS={line}"):
            self._status = line

    def reloading(self) -> None:
        """A reload begins; ``ready()`` ends it. Type=notify-reload wants the stamp beside it."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={clock.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """The way out has begun."""
        self._unsent = ""
        self._send("STOPPING=1")

    def _interval(self, usec: str, pid: str) -> Optional[float]:
        if pid and pid != str(os.getpid()):
            return None  # meant for another process, as after a wrapper that did not exec
        if not usec:
            return None
        if not (usec.isascii() and usec.isdigit() and 0 < int(usec[:20]) < 2**63):
            self._log(f"WATCHDOG_USEC={usec[:40]!r} is no number of microseconds: no watchdog")
            return None
        return int(usec) / 1e6 / BEATS

    def _send(self, message: str) -> bool:
        """Send what is still unsent and ``message``; True when they went out."""
        state = "\n".join(filter(None, (self._unsent, message)))
        if not self._address or not state:
            return bool(state)
        try:
            if self._sender is None:
                self._sender = _connect(self._address)
            # sdnotify writes Latin-1; this makes its bytes those of UTF-8
            self._sender.notify(state.encode("utf-8", "backslashreplace").decode("latin-1"))
        except OSError as error:
            self._failed(error)
            return False
        self._unsent = ""
        return True

    def _failed(self, error: OSError) -> None:
        if error.errno in (errno.EAGAIN, errno.ENOBUFS):
            return  # the manager is busy; the next message may get through
        if self._sender is not None:
            self._sender.socket.close()
            self._sender = None
        if not self._complained:
            self._complained = True
            self._log(
                f"NOTIFY_SOCKET={self._address[:120]!r} cannot be used:"
                f" {error.strerror or error}; systemd is told nothing"
            )


def _connect(address: str) -> Any:
    """A notifier of the ``sdnotify`` package on a socket that does not block. Raises OSError."""
    import sdnotify  # type: ignore[import-untyped]  # only the daemon under systemd needs it

    if address[:1] not in ("/", "@"):
        raise OSError(errno.EAFNOSUPPORT, "only a path or an abstract name is supported")
    where = "\0" + address[1:] if address[0] == "@" else address
    sender = sdnotify.SystemdNotifier.__new__(sdnotify.SystemdNotifier)
    sender.debug = True  # failures are raised instead of hidden
    sender.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    try:
        sender.socket.connect(where)
    except OSError:
        sender.socket.close()
        raise
    return sender
