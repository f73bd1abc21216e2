"""Owns stand-ins for Redis in tests: a server that says what it is told, and a slow, false proxy.

Both listen on loopback, take their orders while they run (set an attribute), count what they see,
and are gone at the end of their ``with`` block.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from contextlib import suppress
from typing import Callable, List, Mapping, Optional, Tuple, TypeVar, Union

from agent.core.resp import NotResp, parse

#: An answer on the wire; ``b""`` hangs up, None says nothing.
Answer = Optional[bytes]
Words = List[bytes]
Delay = Union[float, Callable[[], float]]
Own = TypeVar("Own", bound="_Listener")

_TIME = re.compile(rb"\*2\r\n\$(\d+)\r\n(\d+)\r\n\$(\d+)\r\n(\d+)\r\n")
_OK = b"+OK\r\n"


def time_reply(shift: float = 0.0) -> bytes:
    """What Redis answers to TIME when its clock is ``shift`` seconds ahead of this one."""
    return _bulk_pair(*divmod(time.time_ns() // 1000 + round(shift * 1e6), 1_000_000))


def unknown(words: Words) -> bytes:
    """What Redis answers to a command it does not know."""
    return b"-ERR unknown command '%s', with args beginning with: \r\n" % words[0]


class _Listener:
    """A thread per connection, on a free port of ``host``."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        #: How many connections were taken.
        self.connections = 0
        self._open: List[socket.socket] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._socket = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
        self.port: int = self._socket.getsockname()[1]

    @property
    def url(self) -> str:
        """As a reference is configured."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"redis://{host}:{self.port}"

    @property
    def open(self) -> int:
        """How many connections are open now."""
        with self._lock:
            return len(self._open)

    def __enter__(self: Own) -> Own:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._socket.close()
        with self._lock:
            for connection in self._open:
                _hang_up(connection)

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.append(connection)
            threading.Thread(target=self._serve_safely, args=(connection,), daemon=True).start()

    def _serve_safely(self, connection: socket.socket) -> None:
        try:
            self._serve(connection)
        except OSError:
            pass  # the other side has gone: so do we
        finally:
            with self._lock:
                self._open.remove(connection)
            connection.close()

    def _serve(self, connection: socket.socket) -> None:
        raise NotImplementedError


class FakeRedis(_Listener):
    """Answers commands from a table, TIME truthfully unless the table says otherwise.

    ``answers``: command in capitals -> its reply, or a function of its words. ``greeting`` is said
    unasked, as a full server does (then it hangs up). ``trickle``: seconds between two bytes.
    """

    def __init__(
        self,
        answers: Optional[Mapping[bytes, Union[Answer, Callable[[Words], Answer]]]] = None,
        *,
        greeting: bytes = b"",
        trickle: float = 0.0,
        host: str = "127.0.0.1",
    ) -> None:
        super().__init__(host)
        self.answers = {b"TIME": lambda _: time_reply(), b"AUTH": _OK, **(answers or {})}
        self.greeting = greeting
        self.trickle = trickle
        #: Every command that came, with its words.
        self.commands: List[Words] = []

    def _serve(self, connection: socket.socket) -> None:
        if self.greeting:
            self._say(connection, self.greeting)
            return
        received = b""
        while True:
            chunk = connection.recv(4096)
            if not chunk:
                return
            received += chunk
            while True:
                try:
                    command = parse(received)
                except NotResp:  # a TLS hello, say: like Redis, wait for a line that never ends
                    break
                if command is None or not isinstance(command.value, list):
                    break
                received = received[command.size :]
                answer = self._answer([word for word in command.value if isinstance(word, bytes)])
                if answer == b"":
                    return
                self._say(connection, answer or b"")

    def _answer(self, words: Words) -> Answer:
        self.commands.append(words)
        answer = self.answers.get(words[0].upper(), unknown)
        return answer(words) if callable(answer) else answer

    def _say(self, connection: socket.socket, data: bytes) -> None:
        if not self.trickle:
            connection.sendall(data)
            return
        for byte in data:
            connection.sendall(bytes([byte]))
            if self._stop.wait(self.trickle):
                return


class Proxy(_Listener):
    """Stands between the program and a Redis server, delays both ways and shifts its clock.

    ``shift``: seconds added to each TIME. ``there`` and ``back``: seconds (or a function that
    returns them) before what goes to the server, and to the client, is passed on. ``silent``:
    nothing is passed on any more. All may be set while it runs.
    """

    def __init__(
        self,
        upstream: Tuple[str, int],
        *,
        shift: float = 0.0,
        there: Delay = 0.0,
        back: Delay = 0.0,
        host: str = "127.0.0.1",
    ) -> None:
        super().__init__(host)
        self.upstream = upstream
        self.shift = shift
        self.there = there
        self.back = back
        self.silent = False

    def _serve(self, connection: socket.socket) -> None:
        with socket.create_connection(self.upstream, timeout=10) as server:
            server.settimeout(None)
            answers = threading.Thread(
                target=self._pass_back, args=(server, connection), daemon=True
            )
            answers.start()
            while True:
                data = connection.recv(65536)
                if not data:
                    break
                if self._wait(self.there):
                    server.sendall(data)
            _hang_up(server)
            answers.join(5)

    def _pass_back(self, server: socket.socket, connection: socket.socket) -> None:
        try:
            while True:
                data = server.recv(65536)
                if not data:
                    break
                data = _TIME.sub(self._shifted, data)
                if self._wait(self.back):
                    connection.sendall(data)
        except OSError:
            pass  # one of the two has gone
        _hang_up(connection)

    def _shifted(self, found: re.Match[bytes]) -> bytes:
        microseconds = int(found[2]) * 1_000_000 + int(found[4]) + round(self.shift * 1e6)
        return _bulk_pair(*divmod(microseconds, 1_000_000))

    def _wait(self, delay: Delay) -> bool:
        """Hold the data back for its time; False when it is to be dropped."""
        seconds = delay() if callable(delay) else delay
        return not (seconds and self._stop.wait(seconds)) and not self.silent


def _bulk_pair(first: int, second: int) -> bytes:
    words = (b"%d" % first, b"%d" % second)
    return b"*2\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def _hang_up(connection: socket.socket) -> None:
    """Wake whoever reads from it, in this process and at the other end."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
