"""Owns telling the log: one line on standard output, or one structured entry in the journal."""

from __future__ import annotations

import os
import select
import socket
import struct
from typing import Mapping, Optional

from agent.core.messages import one_line
from agent.core.model import Alert, Delivery
from agent.core.settings import AlertSettings

JOURNAL_SOCKET = "/run/systemd/journal/socket"
#: syslog priorities: critical, warning, notice.
PRIORITIES: Mapping[str, int] = {"critical": 2, "warning": 4, "unknown": 4}
_RESOLVED = 5
#: A pipe that says it is writable takes this much without blocking (PIPE_BUF).
_LONGEST_LINE = 4096


class LogSink:
    """Alerts as log lines; under systemd with fields that ``journalctl KEY=VALUE`` finds."""

    repeat_every: Optional[float] = None

    def __init__(
        self,
        settings: AlertSettings,
        descriptor: int = 1,
        environment: Mapping[str, str] = os.environ,
        journal_socket: str = JOURNAL_SOCKET,
    ) -> None:
        """Write to ``descriptor``, or to the journal where ``descriptor`` leads there anyway."""
        self.name = settings.name
        self._descriptor = descriptor
        self._in_journal = _leads_to_journal(descriptor, environment)
        self._journal_socket = journal_socket

    def send(self, alert: Alert, timeout: float) -> Delivery:
        """Write one line; a reader that does not read costs ``timeout`` seconds, not for ever."""
        line = one_line(alert)
        priority = _RESOLVED if alert.kind == "resolve" else PRIORITIES.get(alert.severity, 4)
        try:
            if self._in_journal and self._send_to_journal(line, priority, alert):
                return Delivery(delivered=True)
            prefix = f"<{priority}>" if self._in_journal else ""
            self._write(f"{prefix}{line}", timeout)
        except OSError as error:
            what = f"cannot write to the log: {error.strerror or error}"
            return Delivery(delivered=False, retryable=True, what=what)
        return Delivery(delivered=True)

    def _send_to_journal(self, line: str, priority: int, alert: Alert) -> bool:
        fields = {"MESSAGE": line, "PRIORITY": str(priority), "SYSLOG_IDENTIFIER": "clock-agent"}
        for name in ("id", "key", "kind", "severity", "host", "condition", "cause"):
            fields[f"CLOCK_AGENT_{name.upper()}"] = getattr(alert, name)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as journal:
            try:
                journal.sendto(b"".join(map(_field, fields.items())), self._journal_socket)
            except OSError:  # full, gone or not allowed: the stream is left
                return False
        return True

    def _write(self, line: str, timeout: float) -> None:
        """Write ``line`` once the reader has room for it. Raises OSError, TimeoutError too."""
        content = line.encode("utf-8", "backslashreplace")[: _LONGEST_LINE - 1] + b"\n"
        poller = select.poll()
        poller.register(self._descriptor, select.POLLOUT)
        if not poller.poll(timeout * 1000):
            raise TimeoutError("nobody reads it")
        os.write(self._descriptor, content)


def _leads_to_journal(descriptor: int, environment: Mapping[str, str]) -> bool:
    """True when systemd says that the stream behind ``descriptor`` is the journal's."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def _field(item: tuple[str, str]) -> bytes:
    """One field in the journal's own form, which takes any value."""
    name, value = item[0].encode(), item[1].encode("utf-8", "backslashreplace")
    return name + b"\n" + struct.pack("<Q", len(value)) + value + b"\n"
