"""Owns real Redis servers and Sentinels for tests: on loopback, ended with the test."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, NamedTuple, Optional, Sequence

import redis

from tests.support import needs
from tests.support.certificates import Pair
from tests.support.ports import free_port
from tests.support.processes import running


class RedisServer(NamedTuple):
    """A running redis-server or redis-sentinel."""

    port: int
    #: Its unix socket; a Sentinel has none.
    socket: Path
    #: Its port with TLS; 0 when it has none.
    tls_port: int
    pid: int

    @property
    def url(self) -> str:
        """As a reference is configured."""
        return f"redis://127.0.0.1:{self.port}"

    def login(self, login: str) -> str:
        """The same with ``user:password``, which must be percent-encoded already."""
        return f"redis://{login}@127.0.0.1:{self.port}"

    def client(self, *, user: Optional[str] = None, password: Optional[str] = None) -> redis.Redis:
        """Another client of the server, of another make: it arranges what a test needs."""
        return redis.Redis(port=self.port, username=user, password=password, socket_timeout=10)


@contextmanager
def redis_server(
    directory: Path, *options: str, tls: Optional[Pair] = None, ca: Optional[Path] = None
) -> Iterator[RedisServer]:
    """A redis-server with ``options`` ("--requirepass", "x"); files go to ``directory``.

    ``tls``: it has a second port with TLS, with this certificate; ``ca`` signs its clients'.
    """
    port, tls_port = free_port(), free_port() if tls else 0
    path = directory / f"redis-{port}.sock"
    argv = [needs.program("redis-server"), "--port", str(port), "--bind", "127.0.0.1"]
    argv += ["--save", "", "--dir", str(directory), "--unixsocket", str(path)]
    if tls:
        argv += ["--tls-port", str(tls_port), "--tls-cert-file", str(tls.certificate)]
        argv += ["--tls-key-file", str(tls.key), "--tls-ca-cert-file", str(ca)]
        argv += ["--tls-auth-clients", "no"]
    with _started([*argv, *options], port) as pid:
        yield RedisServer(port=port, socket=path, tls_port=tls_port, pid=pid)


@contextmanager
def redis_sentinel(
    directory: Path, master: RedisServer, *lines: str, name: str = "mymaster"
) -> Iterator[RedisServer]:
    """A redis-sentinel that watches ``master`` under ``name``; ``lines`` go to its file."""
    port = free_port()
    config = directory / f"sentinel-{port}.conf"
    config.write_text(
        "\n".join(
            [
                f"port {port}",
                "bind 127.0.0.1",
                f"dir {directory}",
                f"sentinel monitor {name} 127.0.0.1 {master.port} 1",
                *lines,
                "",
            ]
        )
    )
    with _started([needs.program("redis-sentinel"), str(config)], port) as pid:
        yield RedisServer(port=port, socket=Path(), tls_port=0, pid=pid)


@contextmanager
def _started(argv: Sequence[str], port: int) -> Iterator[int]:
    def answers() -> bool:
        try:
            with redis.Redis(port=port, socket_timeout=1) as client:
                return bool(client.ping())
        except redis.AuthenticationError:
            return True
        except redis.ConnectionError:
            return False

    with running(argv, answers) as server:
        yield server.pid
