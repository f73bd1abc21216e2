"""Owns one connection to a Redis server: opening it, asking and being answered, all by a deadline.

Every way it can fail ends in a ``Trouble`` that names the cause; no socket outlives it.
"""

from __future__ import annotations

import _socket  # ``socket`` itself costs 5 ms of start-up, for constants as enums
import errno
import os
import select

from agent import clock
from agent.core.redis_url import Secret
from agent.core.resp import NotResp, Reply, parse, shown, shown_bytes
from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.resolve import Address

if TYPE_CHECKING:
    from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple

#: Seconds after which the next address is tried beside the one that has not answered yet.
STAGGER = 0.1
_CHUNK = 4096
#: The first byte of a TLS alert: what a TLS port says to a client that speaks plainly.
_TLS_ALERT = b"\x15"

#: The cause behind an errno of connecting; for any other it is ``unreachable``.
_CONNECT_CAUSES: Mapping[int, str] = {
    errno.ECONNREFUSED: "refused",
    errno.EACCES: "no-access",
    errno.EPERM: "no-access",
    errno.EAFNOSUPPORT: "no-access",
    errno.ETIMEDOUT: "timeout",
}
#: The same for a unix socket; for any other it is ``socket-file``.
_PATH_CAUSES: Mapping[int, str] = {
    errno.ECONNREFUSED: "refused",
    errno.ENOENT: "no-such-file",
    errno.EAGAIN: "timeout",  # its queue of callers is full
}
#: With several addresses the cause that tells most is reported: lowest number first.
_TELLING: Mapping[str, int] = {"refused": 0, "no-access": 1, "timeout": 2}


class Trouble(Exception):
    """Why there is no answer: a word of ``core.redis_causes`` and what exactly was seen."""

    def __init__(self, cause: str, seen: str = "") -> None:
        super().__init__(cause, seen)
        self.cause = cause
        self.seen = seen


class Answer(NamedTuple):
    """A reply, and when the question left and it came. Nanoseconds of both clocks."""

    reply: Reply
    sent_wall: int
    received_wall: int
    sent: int
    received: int


def time_left(deadline: float, doing: str) -> float:
    """Seconds until ``deadline``; raises Trouble when there are none."""
    left = deadline - clock.monotonic()
    if left <= 0:
        raise Trouble("timeout", f"time was up {doing}")
    return left


def connect_path(path: str, deadline: float) -> _socket.socket:
    """A connection to a unix stream socket."""
    left = time_left(deadline, "before connecting")
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(left)
        sock.connect(os.fsencode(path))
    except OSError as error:
        sock.close()
        raise _connect_trouble(error, _PATH_CAUSES, "socket-file") from None
    return sock


def connect(addresses: Sequence[Address], deadline: float) -> Tuple[_socket.socket, Address]:
    """A connection to the first of ``addresses`` that takes one.

    They are tried in order, each beside those before it that are still silent (as RFC 8305 does),
    so a dead IPv6 way costs a tenth of a second and not the deadline.
    """
    race = _Race(list(addresses))
    try:
        return race.run(deadline)
    finally:
        race.close()


class _Race:
    """Connections being opened at the same time; the first one to open wins."""

    def __init__(self, waiting: List[Address]) -> None:
        self._waiting = waiting
        self._running: Dict[int, Tuple[_socket.socket, Address]] = {}
        self._poller = select.poll()
        self._failures: List[Trouble] = []

    def run(self, deadline: float) -> Tuple[_socket.socket, Address]:
        """Wait for the winner; raises Trouble when all failed or time is up."""
        start_next = 0.0
        while True:
            now = clock.monotonic()
            if self._waiting and (not self._running or now >= start_next):
                self._start(self._waiting.pop(0))
                start_next = now + STAGGER
                continue
            if not self._running:
                raise min(self._failures, key=lambda failure: _TELLING.get(failure.cause, 3))
            left = time_left(deadline, "while connecting")
            patience = min(left, max(0.0, start_next - now)) if self._waiting else left
            for descriptor, _ in self._poller.poll(patience * 1000):
                winner = self._finish(descriptor)
                if winner:
                    return winner

    def close(self) -> None:
        """Give up every connection that did not win."""
        for sock, _ in self._running.values():
            sock.close()

    def _start(self, address: Address) -> None:
        try:
            sock = _socket.socket(address.family, _socket.SOCK_STREAM)
        except OSError as error:  # no such family here, or no descriptor left
            self._failures.append(_connect_trouble(error))
            return
        sock.setblocking(False)
        self._running[sock.fileno()] = (sock, address)
        self._poller.register(sock, select.POLLOUT)
        try:
            sock.connect(address.sockaddr)
        except BlockingIOError:
            return
        except OSError as error:
            self._forget(sock, error)

    def _finish(self, descriptor: int) -> Optional[Tuple[_socket.socket, Address]]:
        sock, address = self._running[descriptor]
        code = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_ERROR)
        if code:
            self._forget(sock, OSError(code, ""))
            return None
        del self._running[descriptor]
        return sock, address

    def _forget(self, sock: _socket.socket, error: OSError) -> None:
        self._poller.unregister(sock)
        del self._running[sock.fileno()]
        sock.close()
        self._failures.append(_connect_trouble(error))


class Wire:
    """An open connection: one question at a time, each answered before the next."""

    def __init__(
        self,
        sock: _socket.socket,
        deadline: float,
        *,
        explain: Optional[Callable[[OSError], Trouble]] = None,
    ) -> None:
        """``explain`` makes sense of the errors that only an encrypted connection has."""
        self._sock = sock
        self._deadline = deadline
        self._explain = explain
        self._secret = Secret(b"")
        self._answered = False

    def ask(self, command: bytes, doing: str, secret: Optional[Secret] = None) -> Answer:
        """Send one encoded command and wait for its reply; ``doing`` says what for.

        Nothing of what comes back on a question that carried a ``secret`` is ever quoted.
        """
        received = b""
        self._secret = secret or self._secret
        self._sock.settimeout(time_left(self._deadline, doing))
        sent, sent_wall = clock.monotonic_ns(), clock.wall_ns()
        try:
            self._sock.sendall(command)
        except _socket.timeout as error:
            raise self._trouble(error, doing) from None
        except OSError:
            pass  # a server that is full says so before it hangs up: read what it said
        while True:
            try:
                chunk = self._sock.recv(_CHUNK)
            except OSError as error:
                raise self._trouble(error, doing) from None
            received_wall, received_at = clock.wall_ns(), clock.monotonic_ns()
            received += chunk
            reply = self._parse(received, quotable=not secret)
            if reply is not None:
                self._answered = True
                return Answer(reply[0], sent_wall, received_wall, sent, received_at)
            if not chunk:
                raise self._closed(doing)
            self._sock.settimeout(time_left(self._deadline, doing))

    def quote(self, reply: Reply) -> str:
        """A reply as it may be shown: a secret that was sent here is struck out of it."""
        return shown(reply, self._secret.scrub)

    def close(self) -> None:
        """Hang up, without a word: there is nothing to finish."""
        self._sock.close()

    def _parse(self, received: bytes, quotable: bool) -> Optional[Tuple[Reply]]:
        """The one reply in ``received``, boxed since it may be nil; None while it is incomplete."""
        if not self._answered and received.startswith(_TLS_ALERT):
            raise Trouble("tls-mismatch", "the port speaks TLS, and the url says plain")
        try:
            parsed = parse(received)
        except NotResp as error:
            quote = f": {shown_bytes(received, self._secret.scrub)}" if quotable else ""
            raise Trouble("not-redis", f"{error}{quote}") from None
        if parsed is None:
            return None
        if parsed.size != len(received):  # the next answer would belong to no question
            raise Trouble("not-redis", "it said more than it was asked for")
        return (parsed.value,)

    def _trouble(self, error: OSError, doing: str) -> Trouble:
        if isinstance(error, _socket.timeout):
            return Trouble("timeout", f"nothing came {doing}")
        if error.errno in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
            return self._closed(doing)
        if self._explain:
            return self._explain(error)
        return Trouble("closed", f"{doing} ({os.strerror(error.errno or 0)})")

    def _closed(self, doing: str) -> Trouble:
        if self._answered or self._explain:
            return Trouble("closed", doing)
        return Trouble("closed", f"{doing}, before any answer; a port that wants TLS does the same")


def _connect_trouble(
    error: OSError, causes: Mapping[int, str] = _CONNECT_CAUSES, otherwise: str = "unreachable"
) -> Trouble:
    """The trouble behind an error of connecting."""
    if error.errno is None:  # Python's own timeout
        return Trouble("timeout", "time was up while connecting")
    return Trouble(causes.get(error.errno, otherwise), os.strerror(error.errno))
