"""Owns a small NTP server for tests, on loopback: any shift, leap warning, error, or silence."""

from __future__ import annotations

import socket
import struct
import threading
import time
from types import TracebackType
from typing import Optional, Type

from tests.support import needs

#: Seconds from 1900, where NTP counts from, to 1970.
_ERA = 2_208_988_800
#: Flags, stratum, poll, precision, root delay, root dispersion, reference, four time stamps.
#: (RFC 5905, figure 8; the second time stamp is the client's own, given back as it came.)
_ANSWER = struct.Struct("!BBBbIIIQ8sQQ")
_ASK_LENGTH = 48
_SERVER_MODE = 4
_VERSION = 4
_PRECISION = -20
_REFERENCE = 0x7F000001
_MASK = 2**64 - 1


class TimeServer:
    """Answers every question with the machine's time plus ``shift``. Change it while it runs.

    A chronyd that follows a server shifted by +5 s believes its own clock to be 5 s behind.
    """

    def __init__(self, host: str = "127.0.0.1", *, shift: float = 0.0, leap: int = 0) -> None:
        if ":" in host:
            needs.ipv6()
        self.host = host
        #: Seconds this server is ahead of the machine's clock.
        self.shift = shift
        #: 0 nothing, 1 a second is inserted, 2 one is deleted, 3 "I am not synchronised".
        self.leap = leap
        #: Seconds the server says it may be wrong by.
        self.dispersion = 0.00002
        self.stratum = 1
        #: While True every question is swallowed.
        self.silent = False
        #: Questions that came, answered or not.
        self.asked = 0
        self._socket = socket.socket(
            socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM
        )
        self._socket.bind((host, 0))
        self._ending = False
        self._thread = threading.Thread(target=self._serve, name="time-server", daemon=True)

    @property
    def port(self) -> int:
        """The UDP port it answers on."""
        return int(self._socket.getsockname()[1])

    def __enter__(self) -> TimeServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._ending = True
        with socket.socket(self._socket.family, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", (self.host, self.port))
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            question, client = self._socket.recvfrom(512)
            received = time.time()
            if self._ending:
                return
            if len(question) < _ASK_LENGTH:
                continue
            self.asked += 1
            if not self.silent:
                self._socket.sendto(self._answer(question, received), client)

    def _answer(self, question: bytes, received: float) -> bytes:
        return _ANSWER.pack(
            self.leap << 6 | _VERSION << 3 | _SERVER_MODE,
            self.stratum,
            question[2],
            _PRECISION,
            0,
            int(self.dispersion * 65536),
            _REFERENCE,
            self._stamp(received - 1),
            question[40:48],
            self._stamp(received),
            self._stamp(time.time()),
        )

    def _stamp(self, moment: float) -> int:
        """32 bits of seconds since 1900, 32 bits of fraction; wraps in 2036 as it should."""
        return int((moment + self.shift + _ERA) * 2**32) & _MASK
