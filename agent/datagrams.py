"""Owns sending datagrams to one StatsD address, UDP or unix, without ever waiting or raising.

A name is looked up in a thread of its own, again every few minutes, and the last good addresses
stay in use while look-ups fail. A refused datagram is tried once at the next address of the name,
or at a freshly opened socket: a server that was restarted is found again in the same cycle.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from typing import Any, Callable, Optional, Sequence, Tuple, Union

from agent import clock
from agent.core.address import Address

#: Seconds a look-up may take, between look-ups, and between tries while there is no address. So
#: gauges begin with the first cycle that starts RETRY after the name has begun to resolve.
LOOK_UP_TIMEOUT = 20.0
REFRESH = 300.0
RETRY = 15.0

#: (family, socket address), the form ``socket`` wants.
Endpoint = Tuple[int, Any]  # Any: a path, or a tuple whose form depends on the family
#: Takes host, port and a moment of CLOCK_MONOTONIC; as ``agent.resolve.resolve``.
LookUp = Callable[[str, int, float], Union[Sequence[Endpoint], str]]


class Outlet:
    """The way to one address. Making one neither waits nor fails."""

    def __init__(
        self, address: Address, look_up: LookUp, retry: float = RETRY, refresh: float = REFRESH
    ) -> None:
        """``retry``, ``refresh``: seconds between look-ups without an address, and with one."""
        self._address = address
        self._look_up = look_up
        self._retry = retry
        self._refresh = refresh
        self._missing = f"the name {address.host} has not been resolved yet"
        self._endpoints: Sequence[Endpoint] = ()
        self._used: Sequence[Endpoint] = ()
        self._index = 0
        self._socket: Optional[socket.socket] = None
        self._closing = threading.Event()
        self._looker = threading.Thread(target=self._keep_looking, name="statsd-name", daemon=True)
        if address.path:
            self._endpoints = ((socket.AF_UNIX, address.path),)
        elif _is_numeric(address.host):
            self._look()
        else:
            self._looker.start()

    @property
    def looking(self) -> bool:
        """Whether the name of the server is still being followed."""
        return self._looker.is_alive()

    def send(self, datagrams: Sequence[bytes]) -> str:
        """Send all; return empty, or in a few words what went wrong with any of them."""
        if not self._endpoints:
            return self._missing
        if self._endpoints != self._used:
            self._used, self._index = self._endpoints, 0
            self._drop()
        trouble = self._refused_last_time()
        for datagram in datagrams:
            number = self._send_one(datagram)
            if number and number != errno.EAGAIN:
                if (
                    not self._address.path
                ):  # UDP tells late: it was an earlier datagram that was lost
                    trouble = os.strerror(number)
                self._index += 1
                self._drop()
                number = self._send_one(datagram)
            if number:
                trouble = "its queue is full" if number == errno.EAGAIN else os.strerror(number)
        return trouble

    def close(self) -> None:
        """Give up the socket and end the look-ups."""
        self._closing.set()
        self._drop()

    def _refused_last_time(self) -> str:
        """Fetch the refusal that arrived after the last datagram of the cycle before this one."""
        if self._socket is None:
            return ""
        number = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not number:
            return ""
        self._index += 1
        self._drop()
        return os.strerror(number)

    def _send_one(self, datagram: bytes) -> int:
        """Return 0, or the errno of why it could not be sent."""
        try:
            if self._socket is None:
                self._socket = self._open()
            self._socket.send(datagram)
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def _open(self) -> socket.socket:
        family, where = self._used[self._index % len(self._used)]
        opened = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            opened.connect(where)  # connected, so that refusals are reported
        except OSError:
            opened.close()
            raise
        return opened

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _keep_looking(self) -> None:
        while not self._closing.is_set():
            self._look()
            self._closing.wait(self._refresh if self._endpoints else self._retry)

    def _look(self) -> None:
        deadline = clock.monotonic() + LOOK_UP_TIMEOUT
        found = self._look_up(self._address.host, self._address.port, deadline)
        if isinstance(found, str):
            self._missing = found
        elif found:
            self._endpoints = tuple(found)


def _is_numeric(host: str) -> bool:
    """True for an address that needs no resolver."""
    try:
        socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return True
