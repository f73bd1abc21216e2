"""Owns receivers of HTTP for tests: one that answers as told, and ones that misbehave."""

from __future__ import annotations

import http.server
import json
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from tests.support.certificates import Pair


class Answer(NamedTuple):
    """What a receiver answers."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Received(NamedTuple):
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    #: CLOCK_MONOTONIC seconds at its arrival.
    at: float

    @property
    def document(self) -> Dict[str, Any]:
        """Its JSON."""
        found: Dict[str, Any] = json.loads(self.body)
        return found


class Receiver:
    """Answers in turn with what it is given; the last answer stands for all that follow."""

    def __init__(self, answers: Sequence[Answer], certificate: Optional[Pair]) -> None:
        self.requests: List[Received] = []
        left = list(answers)
        requests = self.requests

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                requests.append(Received(self.path, headers, body, time.monotonic()))
                answer = left.pop(0) if len(left) > 1 else left[0]
                self.send_response_only(answer.status)
                for name, value in {"Date": self.date_time_string(), **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        scheme = "http"
        if certificate:
            scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.certificate, certificate.key)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = self._server.server_address[1]
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def receiver(*answers: Answer, certificate: Optional[Pair] = None) -> Receiver:
    """A receiver, to be entered; it answers 200 when it is not told otherwise."""
    return Receiver(answers or (Answer(),), certificate)


#: Treats one connection; the event is set when the test is over.
Behaviour = Callable[[socket.socket, threading.Event], None]


@contextmanager
def behaving(behaviour: Behaviour) -> Iterator[int]:
    """A TCP server that treats each connection with ``behaviour``; gives its port."""
    over = threading.Event()
    threads: List[threading.Thread] = []

    def treat(connection: socket.socket) -> None:
        with connection:
            try:
                behaviour(connection, over)
            except OSError:  # the other side has gone
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=treat, args=(connection,)))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        acceptor = threading.Thread(target=accept)
        acceptor.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
            acceptor.join()
            for thread in threads:
                thread.join()


def silent(_connection: socket.socket, over: threading.Event) -> None:
    """Accept, and say nothing."""
    over.wait(60)


def dripping(connection: socket.socket, over: threading.Event) -> None:
    """Answer byte by byte, for ever."""
    for byte in b"HTTP/1.1 200 OK\r\nX-Filler: " + b"x" * 10_000:
        connection.sendall(bytes([byte]))
        if over.wait(0.05):
            return


def endless(connection: socket.socket, over: threading.Event) -> None:
    """Refuse, with a text that never ends."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 500 Oh\r\n\r\n")
    while not over.is_set():
        connection.sendall(b"no " * 10_000)


def closing(connection: socket.socket, _over: threading.Event) -> None:
    """Read the request, and hang up."""
    connection.recv(65536)


def babbling(connection: socket.socket, _over: threading.Event) -> None:
    """Answer in another protocol."""
    connection.recv(65536)
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")


def overlong(connection: socket.socket, _over: threading.Event) -> None:
    """Answer with a header that does not end."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n")
