"""Owns the fixtures around a real chronyd: a conftest.py re-exports those it offers."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Iterator, Mapping, Protocol, Sequence

import pytest

from tests.support.chronyd import Chronyd
from tests.support.faketime_server import TimeServer


class StartChronyd(Protocol):
    """Starts a chronyd in a directory of its own; it is ended when the test is."""

    def __call__(
        self,
        *servers: TimeServer,
        extra: Sequence[str] = (),
        environment: Mapping[str, str] = {},
    ) -> Chronyd:
        """Follow ``servers``, with the lines ``extra`` in its configuration."""


class StartTimeServer(Protocol):
    """Starts an NTP server; it is ended when the test is."""

    def __call__(self, host: str = "127.0.0.1", *, shift: float = 0.0, leap: int = 0) -> TimeServer:
        """Begin with ``shift`` seconds ahead and ``leap``; both can be changed while it runs."""


@pytest.fixture
def start_chronyd(private_dir: Path) -> Iterator[StartChronyd]:
    """Start one or several; each answers when the call returns, synchronised or not."""
    with ExitStack() as started:

        def start(
            *servers: TimeServer,
            extra: Sequence[str] = (),
            environment: Mapping[str, str] = {},
        ) -> Chronyd:
            directory = private_dir / f"chronyd{len(list(private_dir.iterdir()))}"
            directory.mkdir(mode=0o700)
            return started.enter_context(
                Chronyd(directory, *servers, extra=extra, environment=environment)
            )

        yield start


@pytest.fixture
def start_time_server() -> Iterator[StartTimeServer]:
    """Start one or several NTP servers, with the arguments of TimeServer."""
    with ExitStack() as started:

        def start(host: str = "127.0.0.1", *, shift: float = 0.0, leap: int = 0) -> TimeServer:
            return started.enter_context(TimeServer(host, shift=shift, leap=leap))

        yield start


@pytest.fixture
def time_server(start_time_server: StartTimeServer) -> TimeServer:
    """An NTP server that tells the machine's own time."""
    return start_time_server()


@pytest.fixture
def synchronised_chronyd(start_chronyd: StartChronyd, time_server: TimeServer) -> Chronyd:
    """A chronyd that follows ``time_server`` and says so."""
    daemon = start_chronyd(time_server)
    daemon.wait_until_synchronised()
    return daemon
