"""Owns the proofs about the Redis probe: true readings, whatever the way, and none too late."""

from __future__ import annotations

import random
import socket
import threading
import time
from pathlib import Path
from typing import Callable, List, Optional, Sequence, Tuple, Union

import psutil
import pytest

from agent.core.model import Miss, Observation, Reading
from agent.core.settings import ReferenceSettings
from agent.probes.redis import RedisProbe
from agent.resolve import Address, Resolver
from tests.support import needs
from tests.support.limits import no_file_left
from tests.support.ports import free_port
from tests.support.redis_proxy import Answer, FakeRedis, Proxy, Words, time_reply, unknown
from tests.support.references import SLACK, free_of_secrets, good, missed, read
from tests.support.waiting import wait_for


def test_a_server_that_answers_well_is_a_reading() -> None:
    with FakeRedis() as server:
        reading = good(read(server.url))
    assert reading.source == "locks"
    assert abs(reading.offset) <= reading.uncertainty
    assert reading.taken_at > 0
    assert reading.detail["address"] == f"127.0.0.1:{server.port}"
    assert reading.detail["tls"] is False
    assert reading.detail["samples_kept"] == 5
    assert reading.detail["samples_dropped"] == 0
    assert float(reading.detail["round_trip_ms"] or 0) > 0


def test_nothing_is_sent_but_time() -> None:
    with FakeRedis() as server:
        good(read(server.url + "/5", samples=3))
    assert server.commands == [[b"TIME"]] * 4


def test_a_login_is_sent_once_and_first() -> None:
    with FakeRedis() as server:
        good(read(f"redis://ada:p%40w@127.0.0.1:{server.port}", samples=1))
    assert server.commands == [[b"AUTH", b"ada", b"p@w"], [b"TIME"], [b"TIME"]]


def test_a_server_that_knows_nothing_but_time_is_enough() -> None:
    with FakeRedis({b"AUTH": unknown}) as server:
        good(read(server.url))
    assert {tuple(words) for words in server.commands} == {(b"TIME",)}


@pytest.mark.parametrize("shift", [1320.0, -1320.0, 0.005, -0.005, 3e8, -1.5e9])
def test_a_server_whose_clock_is_ahead_makes_this_one_slow(shift: float) -> None:
    with FakeRedis() as upstream, Proxy((upstream.host, upstream.port), shift=shift) as proxy:
        reading = good(read(proxy.url))
    assert abs(reading.offset + shift) <= reading.uncertainty + 1e-6


def test_a_clock_that_jumps_during_the_reading_gives_none() -> None:
    shifts = iter([0.0, 0.0, 10.0, 10.0, 10.0, 10.0])
    with FakeRedis({b"TIME": lambda _: time_reply(next(shifts))}) as server:
        missed(read(server.url), "unsteady")


class TestDelays:
    """A slow way is uncertainty, never offset (within what a busy machine adds)."""

    def reading(self, **delays: Union[float, Callable[[], float]]) -> Reading:
        with FakeRedis() as upstream, Proxy((upstream.host, upstream.port)) as proxy:
            for name, delay in delays.items():
                setattr(proxy, name, delay)
            reading = good(read(proxy.url, timeout=5.0))
        assert abs(reading.offset) <= reading.uncertainty
        return reading

    def test_200_ms_both_ways_cancel_out(self) -> None:
        reading = self.reading(there=0.2, back=0.2)
        assert abs(reading.offset) < 0.05
        assert reading.uncertainty >= 0.2

    def test_400_ms_there_only_proves_nothing(self) -> None:
        reading = self.reading(there=0.4)
        assert reading.uncertainty >= 0.2
        assert reading.lower <= 0

    def test_400_ms_back_only_proves_nothing(self) -> None:
        reading = self.reading(back=0.4)
        assert reading.uncertainty >= 0.2
        assert reading.lower <= 0

    def test_of_random_delays_the_shortest_round_trip_wins(self) -> None:
        dice = random.Random(7)
        trips: List[float] = []

        def delay() -> float:
            trips.append(dice.uniform(0, 0.3))
            return trips[-1]

        reading = self.reading(there=delay)
        shortest = min(trips[1:])
        assert shortest / 2 <= reading.uncertainty < shortest / 2 + 0.05


def test_what_there_was_time_for_is_used() -> None:
    with FakeRedis() as upstream, Proxy((upstream.host, upstream.port), there=0.3) as proxy:
        reading = good(read(proxy.url, timeout=1.0))
    assert 1 <= int(reading.detail["samples_kept"] or 0) <= 2


def test_a_way_with_time_for_one_exchange_only_still_gives_a_reading() -> None:
    with FakeRedis() as upstream, Proxy((upstream.host, upstream.port), there=0.6) as proxy:
        reading = good(read(proxy.url, timeout=1.0))
    assert reading.detail["samples_kept"] == 1
    assert reading.uncertainty >= 0.3


def test_a_connection_lost_half_way_leaves_the_samples_before() -> None:
    left = iter([time_reply] * 3)

    def answer(_: Words) -> Answer:
        reply = next(left, None)
        return reply() if reply else b""

    with FakeRedis({b"TIME": answer}) as server:
        assert good(read(server.url)).detail["samples_kept"] == 2


def test_an_odd_answer_half_way_spoils_the_reading() -> None:
    answers = iter([time_reply(), time_reply(), b"+OK\r\n"])
    with FakeRedis({b"TIME": lambda _: next(answers)}) as server:
        missed(read(server.url), "absurd")


class TestSilence:
    """Whatever does not answer is given up when its time is up."""

    def expect_timeout(self, url: str, part: str, timeout: float = 0.3) -> Miss:
        started = time.monotonic()
        miss = missed(read(url, timeout=timeout), "timeout")
        assert time.monotonic() - started < timeout + SLACK
        assert part in miss.what
        return miss

    def test_of_a_server_that_accepts_and_says_nothing(self) -> None:
        with FakeRedis({b"TIME": None}) as server:
            self.expect_timeout(server.url, "while asking for TIME")

    def test_of_a_login(self) -> None:
        with FakeRedis({b"AUTH": None}) as server:
            self.expect_timeout(f"redis://:pw@127.0.0.1:{server.port}", "while logging in")

    def test_of_a_server_that_trickles(self) -> None:
        with FakeRedis({b"TIME": b"+" + b"x" * 500}, trickle=0.05) as server:
            self.expect_timeout(server.url, "while asking for TIME")

    def test_of_a_port_that_does_not_accept(self) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            address = listener.getsockname()
            queue = [socket.socket() for _ in range(4)]
            for each in queue:
                each.setblocking(False)
                each.connect_ex(address)
            self.expect_timeout(f"redis://127.0.0.1:{address[1]}", "connecting")
            for each in queue:
                each.close()

    def test_of_a_socket_file_that_does_not_accept(self, private_dir: Path) -> None:
        path = private_dir / "s"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen(0)
            queue = [socket.socket(socket.AF_UNIX) for _ in range(4)]
            for each in queue:
                each.setblocking(False)
                each.connect_ex(str(path))
            missed(read(f"unix://{path}", timeout=0.3), "timeout")
            for each in queue:
                each.close()

    def test_of_a_tls_handshake(self) -> None:
        with FakeRedis() as server:
            url = f"rediss://127.0.0.1:{server.port}"
            miss = self.expect_timeout(url, "during the TLS handshake", timeout=2.0)
        assert "redis://" in miss.what

    def test_of_a_resolver(self) -> None:
        released = threading.Event()

        def look_up(host: bytes) -> Sequence[Address]:
            released.wait(30)
            return [Address(socket.AF_INET, ("127.0.0.1", 0))]

        settings = ReferenceSettings(name="locks", url="redis://h", timeout=0.3)
        probe = RedisProbe(settings, look_up=Resolver(look_up).resolve)
        before = psutil.Process().num_threads()
        for _ in range(3):
            started = time.monotonic()
            miss = missed(probe.read(), "name")
            assert time.monotonic() - started < 0.3 + SLACK
            assert "the name h cannot be looked up" in miss.what
        assert psutil.Process().num_threads() <= before + 1
        released.set()

    def test_is_over_when_the_server_comes_back(self) -> None:
        with FakeRedis() as upstream, Proxy((upstream.host, upstream.port)) as proxy:
            good(read(proxy.url))
            proxy.silent = True
            missed(read(proxy.url, timeout=0.2), "timeout")
            proxy.silent = False
            good(read(proxy.url))


def looked_up(*addresses: Tuple[str, int]) -> Callable[[str, int, float], Tuple[Address, ...]]:
    """A resolver that knows one name."""
    found = tuple(
        Address(socket.AF_INET6, (host, port, 0, 0))
        if ":" in host
        else Address(socket.AF_INET, (host, port))
        for host, port in addresses
    )
    return lambda *_: found


class TestSeveralAddresses:
    def read(self, *addresses: Tuple[str, int], timeout: float = 1.0) -> Observation:
        settings = ReferenceSettings(name="locks", url="redis://h", timeout=timeout)
        return RedisProbe(settings, look_up=looked_up(*addresses)).read()

    def test_a_refused_first_one_is_passed_over(self) -> None:
        needs.ipv6()
        with FakeRedis() as server:
            dead = ("::1", free_port(host="::1"))
            reading = good(self.read(dead, ("127.0.0.1", server.port)))
        assert reading.detail["address"] == f"127.0.0.1:{server.port}"

    def test_a_silent_first_one_costs_little_time(self) -> None:
        with FakeRedis() as server, _Full() as silent:
            good(self.read(silent.address, silent.address, ("127.0.0.1", server.port)))

    def test_an_ipv6_server_is_reached(self) -> None:
        needs.ipv6()
        with FakeRedis(host="::1") as server:
            good(read(server.url))

    def test_refused_by_one_and_silence_of_another_is_reported_when_time_is_up(self) -> None:
        with _Full() as silent:
            dead = ("127.0.0.1", free_port())
            missed(self.read(silent.address, dead, timeout=0.3), "timeout")

    def test_refused_by_all_is_refused(self) -> None:
        dead = [("127.0.0.1", free_port()) for _ in range(3)]
        missed(self.read(*dead), "refused")

    def test_an_address_of_no_known_interface_is_unreachable(self) -> None:
        missed(self.read(("fe80::1", 1)), "unreachable")


class _Full:
    """A port whose queue is full: it neither accepts nor refuses, like one behind a firewall."""

    def __enter__(self) -> _Full:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.address: Tuple[str, int] = self._listener.getsockname()
        self._queue = [socket.socket() for _ in range(4)]
        for each in self._queue:
            each.setblocking(False)
            each.connect_ex(self.address)
        return self

    def __exit__(self, *_: object) -> None:
        for each in [*self._queue, self._listener]:
            each.close()


def test_nobody_listening_is_refused() -> None:
    miss = missed(read(f"redis://127.0.0.1:{free_port()}"), "refused")
    assert "redis-cli -h 127.0.0.1" in miss.advice[0]


def test_a_missing_socket_file_is_said_to_be_missing(private_dir: Path) -> None:
    assert str(private_dir) in missed(read(f"unix://{private_dir}/none"), "no-such-file").what


def test_a_socket_file_nobody_listens_at_is_refused(private_dir: Path) -> None:
    path = private_dir / "s"
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))
    missed(read(f"unix://{path}"), "refused")


def test_a_socket_file_that_is_none_is_said_to_be_unusable(private_dir: Path) -> None:
    (private_dir / "file").touch()
    missed(read(f"unix://{private_dir}/file/s"), "socket-file")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(str(private_dir / "d"))
        missed(read(f"unix://{private_dir}/d"), "socket-file")


def test_a_name_that_does_not_exist_is_said_to() -> None:
    settings = ReferenceSettings(name="locks", url="redis://h")
    miss = RedisProbe(settings, look_up=lambda *_: "Name or service not known").read()
    assert "Name or service not known" in missed(miss, "name").what


@pytest.mark.parametrize("url", ["", "redis://:S3cr€t/@:#@h", "http://h", "redis://h:x"])
def test_an_unusable_url_is_a_miss_and_no_exception(url: str) -> None:
    free_of_secrets(missed(read(url), "bad-url"))


def test_every_connection_is_closed_whatever_happened() -> None:
    silent: Optional[bytes] = None
    with FakeRedis() as server:
        good(read(server.url))
        with no_file_left():
            for answer in (
                silent,
                b"",
                b"+OK\r\n",
                b"rubbish",
                b"-ERR\r\n",
                lambda _: time_reply(),
            ):
                server.answers[b"TIME"] = answer
                for scheme in ("redis", "rediss"):
                    read(f"{scheme}://127.0.0.1:{server.port}", timeout=0.1)
            read(f"redis://127.0.0.1:{free_port()}")
            wait_for(lambda: server.open == 0)


def test_a_reading_may_be_taken_again_and_again() -> None:
    with FakeRedis() as server:
        probe = RedisProbe(ReferenceSettings(name="locks", url=server.url))
        assert (probe.source, probe.timeout) == ("locks", 1.0)
        for _ in range(20):
            good(probe.read())
        wait_for(lambda: server.open == 0)
    assert server.connections == 20
