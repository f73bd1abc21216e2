"""Gauges on real sockets: their form, their sign, and servers that are not there."""

from __future__ import annotations

import re
import select
import socket
import threading
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator, List, Optional, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.model import Reading
from agent.core.settings import StatsdSettings
from agent.core.statsd import MAX_DATAGRAM
from agent.metrics import Metrics
from agent.resolve import Address, Resolver
from tests.support import needs
from tests.support.ports import free_udp_port
from tests.support.samples import a_miss, a_reading, a_snapshot
from tests.support.statsd import LINE, NAME, Server
from tests.support.waiting import wait_for

SLOW = a_snapshot(a_reading(-0.005))


@pytest.fixture
def server() -> Iterator[Server]:
    opened = Server()
    yield opened
    opened.close()


@pytest.fixture
def metrics() -> Iterator[Callable[..., Metrics]]:
    """Makes Metrics and closes them after the test."""
    made: List[Metrics] = []

    def make(address: str, hostname: str = "web-1", look_up: Any = None, **more: Any) -> Metrics:
        extra = {"look_up": look_up} if look_up else {}
        made.append(Metrics(StatsdSettings(address=address, **more), hostname, **extra))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_twenty_cycles_of_a_slow_clock_leave_minus_five_on_the_graph(
    server: Server, metrics: Callable[..., Metrics]
) -> None:
    sender = metrics(server.address)
    for _ in range(20):
        assert sender.send(SLOW) is None
        server.cycle()
        assert server.gauges["clock.signed_offset_ms"] == -5
        assert server.gauges["clock.offset_ms"] == 5


def test_dogstatsd_replaces_a_negative_gauge_and_needs_no_zero(
    server: Server, metrics: Callable[..., Metrics]
) -> None:
    metrics(server.address, dialect="dogstatsd", host="w1").send(SLOW)
    lines = b"\n".join(server.cycle()).split(b"\n")
    signed = [line for line in lines if line.startswith(b"clock.signed_offset_ms:")]
    assert signed == [b"clock.signed_offset_ms:-5|g|#host:w1"]


def test_lost_datagrams_and_a_restarted_server_do_not_move_the_value(
    server: Server, metrics: Callable[..., Metrics]
) -> None:
    sender = metrics(server.address)
    for cycle in range(20):
        sender.send(SLOW)
        if cycle % 2:
            while server.waiting():
                pass  # lost on the way
        else:
            server.cycle()
        if cycle == 10:
            server.gauges.clear()
        assert server.gauges.get("clock.signed_offset_ms", -5) == -5
    assert server.gauges["clock.signed_offset_ms"] == -5


@pytest.mark.parametrize("dialect", ["plain", "influx", "graphite"])
def test_zero_and_value_share_a_datagram_however_full_it_is(
    server: Server, metrics: Callable[..., Metrics], dialect: str
) -> None:
    crowd = [a_reading(-0.001 * i, f"reference-with-a-long-name-{i:04d}") for i in range(1, 20)]
    sender = metrics(
        server.address, dialect=dialect, prefix="p" * 64, host="h" * 64, tags={"dc": "eu" * 20}
    )
    sender.send(a_snapshot(a_reading(-123456.789), *crowd))
    datagrams = server.cycle()
    assert len(datagrams) > 5
    for datagram in datagrams:
        assert len(datagram) <= MAX_DATAGRAM
        lines = datagram.split(b"\n")
        for before, line in zip([b"", *lines], lines):
            if b":-" in line:
                assert before == line.partition(b":")[0] + b":0|g"
    assert min(server.gauges.values()) == pytest.approx(-123456789)


@given(
    offsets=st.lists(st.floats(), min_size=1, max_size=4),
    names=st.lists(st.text(max_size=40), min_size=4, max_size=4),
    host=st.text(max_size=70),
)
def test_every_line_of_any_cycle_follows_the_grammar(
    offsets: Sequence[float], names: Sequence[str], host: str
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        sender = Metrics(
            StatsdSettings(address=f"127.0.0.1:{receiver.getsockname()[1]}", host="auto"), host
        )
        readings = [Reading(n, o, abs(o), 1.0) for n, o in zip(names, offsets)]
        sender.send(a_snapshot(*readings))
        sender.close()
        received = b""
        while b"heartbeat" not in received:
            received += receiver.recv(65536) + b"\n"
    for line in received.split(b"\n")[:-1]:
        match = LINE.fullmatch(line)
        assert match, line
        assert NAME.fullmatch(match["name"]), line


def test_an_unknown_offset_is_absent_while_the_rest_arrives(
    server: Server, metrics: Callable[..., Metrics]
) -> None:
    metrics(server.address).send(a_snapshot(a_miss()))
    text = b"\n".join(server.cycle())
    assert b"offset_ms" not in text
    assert b"clock.offset_known:0|g" in text
    assert b"clock.heartbeat:1|c" in text


def test_a_number_that_is_none_is_left_out_while_the_rest_arrives(
    server: Server, metrics: Callable[..., Metrics]
) -> None:
    metrics(server.address).send(a_snapshot(a_reading(0.001), drift_ppm=float("nan")))
    text = b"\n".join(server.cycle())
    assert b"drift_ppm" not in text
    assert b"clock.offset_ms:1|g" in text


def test_two_hosts_make_two_series_on_a_distant_server(
    metrics: Callable[..., Metrics], server: Server
) -> None:
    there = [(socket.AF_INET, ("127.0.0.1", server.port))]
    names = set()

    def arrives(sender: Metrics) -> bool:
        sender.send(SLOW)
        return bool(select.select([server.socket], [], [], 0.1)[0])

    for host in ("w1", "w2"):
        # reached under a name that is not one of this host's own
        sender = metrics("metrics.example:8125", host, look_up=lambda *_: there)
        wait_for(partial(arrives, sender), what="gauges of this host")
        names.add(server.cycle()[0].partition(b":")[0])
    assert names == {b"clock.w1.offset_known", b"clock.w2.offset_known"}


def test_a_dead_server_costs_one_line_and_is_found_when_it_is_back(
    metrics: Callable[..., Metrics],
) -> None:
    port = free_udp_port()
    sender = metrics(f"127.0.0.1:{port}")
    said = [sender.send(SLOW) for _ in range(5)]
    assert [line for line in said if line] == [said[0] or said[1]]
    assert "Connection refused" in (said[0] or said[1] or "")
    server = Server(("127.0.0.1", port))
    back = [sender.send(SLOW), sender.send(SLOW), sender.send(SLOW)]
    assert server.cycle()
    server.close()
    assert [line for line in back if line] == [f"StatsD at 127.0.0.1:{port} takes gauges again"]


def test_gauges_arrive_in_the_first_cycle_after_the_server_starts(
    metrics: Callable[..., Metrics],
) -> None:
    port = free_udp_port()
    sender = metrics(f"127.0.0.1:{port}")
    for _ in range(3):
        sender.send(SLOW)
    server = Server(("127.0.0.1", port))
    sender.send(SLOW)
    server.cycle()
    assert server.gauges["clock.signed_offset_ms"] == -5
    server.close()


def test_ipv6_works(metrics: Callable[..., Metrics]) -> None:
    needs.ipv6()
    server = Server(("::1", 0))
    assert metrics(server.address).send(SLOW) is None
    server.cycle()
    server.close()


def test_a_name_with_a_dead_and_a_live_address_reaches_the_live_one(
    metrics: Callable[..., Metrics], server: Server
) -> None:
    dead = free_udp_port()
    endpoints = [
        (socket.AF_INET, ("127.0.0.1", dead)),
        (socket.AF_INET, ("127.0.0.1", server.port)),
    ]
    sender = metrics("metrics.example:8125", look_up=lambda *_: endpoints, host="none")

    def arrives() -> Optional[bytes]:
        sender.send(SLOW)
        return server.waiting()

    wait_for(arrives, what="a gauge at the second address")
    sender.send(SLOW)
    assert sender.send(SLOW) is None


def test_a_unix_datagram_socket_works_and_its_server_may_restart(
    metrics: Callable[..., Metrics], private_dir: Path
) -> None:
    path = private_dir / "dsd.socket"
    sender = metrics(f"unix://{path}")
    missing = sender.send(SLOW) or ""
    assert "No such file" in missing
    assert sender.send(SLOW) is None
    for _ in range(2):
        server = Server(str(path))
        sender.send(SLOW)
        assert server.cycle()
        server.close()
        path.unlink()


def test_a_stream_socket_is_named_as_the_wrong_kind_once(
    metrics: Callable[..., Metrics], private_dir: Path
) -> None:
    path = str(private_dir / "stream.socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        sender = metrics(path)
        assert "wrong type for socket" in (sender.send(SLOW) or "")
        assert sender.send(SLOW) is None


def test_a_server_that_does_not_read_blocks_nothing(
    metrics: Callable[..., Metrics], private_dir: Path
) -> None:
    server = Server(str(private_dir / "full.socket"))
    sender = metrics(server.address)
    said = [line for line in (sender.send(SLOW) for _ in range(300)) if line]
    assert said == [
        f"StatsD at {server.address}: its queue is full; gauges are lost until it takes them"
    ]
    server.close()


def test_a_silent_resolver_delays_nothing_and_is_asked_once(
    metrics: Callable[..., Metrics], server: Server
) -> None:
    answer = threading.Event()
    asked: List[bytes] = []

    def look_up(name: bytes) -> List[Address]:
        asked.append(name)
        answer.wait(30)
        return [Address(socket.AF_INET, ("127.0.0.1", 0))]

    address = f"metrics.example:{server.port}"
    sender = metrics(address, look_up=Resolver(look_up).resolve, host="none")
    assert "has not been resolved" in (sender.send(SLOW) or "")
    wait_for(lambda: asked, what="the look-up")
    assert [sender.send(SLOW) for _ in range(50)] == [None] * 50
    assert asked == [b"metrics.example"]
    answer.set()
    wait_for(lambda: sender.send(SLOW), what="the change that the name is resolved")
    assert server.cycle()


def test_why_a_name_cannot_be_resolved_is_said(metrics: Callable[..., Metrics]) -> None:
    sender = metrics("metrics.example:8125", look_up=lambda *_: "the name is not known")
    said = wait_for(lambda: re.search("the name is not known", sender.send(SLOW) or ""))
    assert said


def test_tags_of_the_whole_configuration_come_first_and_own_ones_win(
    server: Server,
) -> None:
    everywhere = {"dc": "eu", "role": "worker"}
    settings = StatsdSettings(
        address=server.address, dialect="dogstatsd", tags={"dc": "us", "team": "time"}
    )
    sender = Metrics(settings, "web-1", everywhere)
    sender.send(SLOW)
    assert b"clock.offset_ms:5|g|#dc:us,role:worker,team:time\n" in server.cycle()[0]
    sender.close()


def test_a_remark_on_the_name_is_made_once(metrics: Callable[..., Metrics]) -> None:
    sender = metrics("192.0.2.1:8125", "localhost")
    assert "collide" in (sender.send(SLOW) or "")
    assert "collide" not in (sender.send(SLOW) or "")
