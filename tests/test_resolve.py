"""Owns the proofs about name look-ups: they end on time, do not pile up, say what failed."""

from __future__ import annotations

import socket
import threading
import time
from typing import List, Sequence

import psutil
import pytest

from agent.resolve import MAX_ADDRESSES, Address, Resolver, resolve
from tests.support.waiting import wait_for

LOOPBACK = Address(socket.AF_INET, ("127.0.0.1", 0))


class Slow:
    """A resolver that answers when it is told to, and counts who asks."""

    def __init__(self, answer: Sequence[Address] = (LOOPBACK,)) -> None:
        self.released = threading.Event()
        self.asked: List[bytes] = []
        self.finished = 0
        self._answer = answer

    def __call__(self, host: bytes) -> Sequence[Address]:
        self.asked.append(host)
        self.released.wait(30)
        self.finished += 1
        return self._answer


def soon(seconds: float = 0.05) -> float:
    return time.monotonic() + seconds


def refuse(host: bytes) -> Sequence[Address]:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def test_a_name_is_looked_up_by_the_system() -> None:
    found = resolve("localhost", 6379, soon(10))
    assert Address(socket.AF_INET, ("127.0.0.1", 6379)) in found


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", Address(socket.AF_INET, ("127.0.0.1", 7))),
        ("::1", Address(socket.AF_INET6, ("::1", 7, 0, 0))),
    ],
)
def test_a_numeric_address_asks_nobody_and_needs_no_time(host: str, address: Address) -> None:
    resolver = Resolver(refuse)
    assert resolver.resolve(host, 7, soon(-1)) == (address,)


def test_an_address_is_written_as_people_write_it() -> None:
    assert str(Address(socket.AF_INET, ("127.0.0.1", 7))) == "127.0.0.1:7"
    assert str(Address(socket.AF_INET6, ("::1", 7, 0, 0))) == "[::1]:7"


def test_a_silent_resolver_does_not_hold_the_caller() -> None:
    slow = Slow()
    resolver = Resolver(slow)
    started = time.monotonic()
    assert resolver.resolve("h", 1, soon()) == "the resolver gave no answer in time"
    assert time.monotonic() - started < 2
    slow.released.set()


def test_look_ups_of_one_name_do_not_pile_up() -> None:
    slow = Slow()
    resolver = Resolver(slow)
    before = psutil.Process().num_threads()
    for _ in range(20):
        assert isinstance(resolver.resolve("h", 1, soon(0.002)), str)
    resolver.resolve("other", 1, soon(0.002))
    wait_for(lambda: slow.asked == [b"h", b"other"], what="both look-ups, and no third one")
    assert psutil.Process().num_threads() <= before + 2
    slow.released.set()


def test_who_comes_later_is_given_the_answer_that_is_under_way() -> None:
    slow = Slow()
    resolver = Resolver(slow)
    resolver.resolve("h", 1, soon(0.002))
    timer = threading.Timer(0.5, slow.released.set)  # long after the next line has begun
    timer.start()
    assert resolver.resolve("h", 9, soon(10)) == (Address(socket.AF_INET, ("127.0.0.1", 9)),)
    assert slow.asked == [b"h"]


def test_a_name_is_looked_up_anew_after_an_answer() -> None:
    slow = Slow()
    resolver = Resolver(slow)
    resolver.resolve("h", 1, soon(0.002))
    slow.released.set()
    wait_for(lambda: slow.finished)
    wait_for(lambda: resolver.resolve("h", 1, soon(10)) and len(slow.asked) == 2)


def test_a_name_that_does_not_exist_is_said_to() -> None:
    assert Resolver(refuse).resolve("h", 1, soon(10)) == "Name or service not known"


def test_a_name_without_addresses_is_said_to() -> None:
    assert Resolver(lambda _: []).resolve("h", 1, soon(10)) == "it has no address"


def test_a_name_with_a_thousand_addresses_yields_the_first_few() -> None:
    found = Resolver(lambda _: [LOOPBACK] * 1000).resolve("h", 1, soon(10))
    assert len(found) == MAX_ADDRESSES


@pytest.mark.parametrize("host", ["x" * 300, "a..b", "bücher", "\0", "a b", "-", "%", "::1%nosuch"])
def test_an_odd_name_is_answered_with_a_reason(host: str) -> None:
    reason = resolve(host, 1, soon(20))
    assert isinstance(reason, str)
    assert reason
