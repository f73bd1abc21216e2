"""The gauges as the StatsD server itself keeps them, read back through its management port."""

from __future__ import annotations

import json
import re
import socket
from functools import partial
from typing import Dict, Iterator

import pytest

from agent.core.settings import StatsdSettings
from agent.metrics import Metrics
from tests.support import needs
from tests.support.ports import free_port, free_udp_port
from tests.support.processes import running
from tests.support.samples import a_miss, a_reading, a_snapshot
from tests.support.waiting import wait_for

ENTRY = re.compile(r"'([^']+)': (-?[0-9.e+-]+)")
SLOW = a_snapshot(a_reading(-0.005), a_reading(0.25, "locks"), a_miss("cache"))


class RealServer:
    """The npm package ``statsd`` on loopback."""

    def __init__(self, port: int, management: int) -> None:
        self.address = f"127.0.0.1:{port}"
        self._management = management

    def ask(self, command: str) -> str:
        """One command to the management port, and its whole answer."""
        with socket.create_connection(("127.0.0.1", self._management), timeout=5) as connection:
            connection.sendall(command.encode() + b"\n")
            answer = b""
            while not answer.rstrip().endswith(b"END"):
                chunk = connection.recv(65536)
                if not chunk:
                    break
                answer += chunk
        return answer.decode().rpartition("END")[0]

    def kept(self, kind: str) -> Dict[str, float]:
        """All ``gauges`` or ``counters`` as they are now, printed the way node prints objects."""
        return {name: float(value) for name, value in ENTRY.findall(self.ask(kind))}

    def heard(self, beats: int) -> bool:
        """Whether that many heartbeats were counted: the cycles before them are all in."""
        return self.kept("counters").get("clock.heartbeat", 0) >= beats


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    node, package = needs.program("node"), needs.node_package("statsd")
    server = RealServer(free_udp_port(), management=free_port())
    config = {
        "address": "127.0.0.1",
        "port": int(server.address.rpartition(":")[2]),
        "mgmt_address": "127.0.0.1",
        "mgmt_port": server._management,
        "backends": ["./backends/console"],
        "flushInterval": 3_600_000,  # counters are read back, not flushed away
    }
    file = tmp_path_factory.mktemp("statsd") / "config.js"
    file.write_text(json.dumps(config))
    with running(
        [node, str(package / "stats.js"), str(file)], lambda: server.ask("gauges"), cwd=str(package)
    ):
        yield server


@pytest.fixture
def metrics(server: RealServer) -> Iterator[Metrics]:
    for kind in ("gauges", "counters"):
        server.ask(f"del{kind} {' '.join(server.kept(kind))}")
    sender = Metrics(StatsdSettings(address=server.address), "web-1")
    yield sender
    sender.close()


def test_twenty_cycles_at_minus_five_leave_minus_five(server: RealServer, metrics: Metrics) -> None:
    for _ in range(20):
        assert metrics.send(SLOW) is None
    wait_for(lambda: server.heard(20), what="twenty heartbeats")
    gauges = server.kept("gauges")
    assert gauges["clock.signed_offset_ms"] == -5
    assert gauges["clock.offset_ms"] == 5
    assert gauges["clock.offset_known"] == 1
    assert gauges["clock.source.locks.signed_offset_ms"] == 250
    assert gauges["clock.source.cache.up"] == 0


def test_a_sign_that_changes_is_followed(server: RealServer, metrics: Metrics) -> None:
    for count, offset in enumerate((0.25, -3.0, -0.000001, 0.0, -1389.0), start=1):
        metrics.send(a_snapshot(a_reading(offset)))
        wait_for(partial(server.heard, count), what=f"{count} heartbeats")
        gauges = server.kept("gauges")
        assert gauges["clock.signed_offset_ms"] == pytest.approx(offset * 1000)
        assert gauges["clock.offset_ms"] == pytest.approx(abs(offset) * 1000)


def test_an_unknown_offset_never_creates_the_gauge(server: RealServer, metrics: Metrics) -> None:
    metrics.send(a_snapshot(a_miss()))
    wait_for(lambda: server.heard(1), what="a heartbeat")
    gauges = server.kept("gauges")
    assert "clock.offset_ms" not in gauges
    assert "clock.signed_offset_ms" not in gauges
    assert gauges["clock.offset_known"] == 0
    assert server.kept("counters").get("statsd.bad_lines_seen", 0) == 0
