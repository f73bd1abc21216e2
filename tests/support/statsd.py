"""Owns a StatsD server for tests: records datagrams and keeps gauges as the strict dialect says."""

from __future__ import annotations

import re
import select
import socket
from typing import Dict, List, Optional, Tuple, Union

LINE = re.compile(
    rb"(?P<name>[^:|]+):(?P<value>-?[0-9]+(?:\.[0-9]{1,6})?)\|(?P<type>[gc])(?P<last>.*)"
)
NAME = re.compile(rb"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


class Server:
    """A datagram socket; ``address`` is what goes into the configuration."""

    def __init__(self, where: Union[str, Tuple[str, int]] = ("127.0.0.1", 0)) -> None:
        if isinstance(where, str):
            family = socket.AF_UNIX
        else:
            family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.bind(where)
        self.socket.settimeout(5.0)
        name = self.socket.getsockname()
        self.address = name if isinstance(name, str) else f"[{name[0]}]:{name[1]}"
        if family == socket.AF_INET:
            self.address = f"{name[0]}:{name[1]}"
        self.gauges: Dict[str, float] = {}

    @property
    def port(self) -> int:
        """The UDP port it is bound to."""
        return int(self.socket.getsockname()[1])

    def cycle(self) -> List[bytes]:
        """Receive one cycle's datagrams: up to the one that holds the heartbeat."""
        found: List[bytes] = []
        while not found or b"heartbeat" not in found[-1]:
            found.append(self.socket.recv(65536))
        for datagram in found:
            self._interpret(datagram)
        return found

    def waiting(self) -> Optional[bytes]:
        """One datagram that is here already, or None."""
        ready, _, _ = select.select([self.socket], [], [], 0)
        return self.socket.recv(65536) if ready else None

    def close(self) -> None:
        """Leave the address."""
        self.socket.close()

    def _interpret(self, datagram: bytes) -> None:
        for line in datagram.split(b"\n"):
            match = LINE.fullmatch(line)
            assert match, line
            if match["type"] == b"c":
                continue
            name, value = match["name"].decode(), float(match["value"])
            before = self.gauges.get(name, 0.0) if match["value"].startswith(b"-") else 0.0
            self.gauges[name] = before + value
