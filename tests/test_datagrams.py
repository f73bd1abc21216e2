"""The way to a StatsD server whose name or address is not what it was."""

from __future__ import annotations

import socket
from typing import Any, Iterator, List

import pytest

from agent.core.address import Address
from agent.datagrams import Outlet
from tests.support.statsd import Server
from tests.support.waiting import wait_for


@pytest.fixture
def server() -> Iterator[Server]:
    opened = Server()
    yield opened
    opened.close()


def test_a_name_that_resolves_only_later_is_found_without_a_restart(server: Server) -> None:
    known: List[Any] = []
    outlet = Outlet(
        Address(host="metrics.example", port=8125),
        lambda *_: known or "the name is not known",
        retry=0.01,
    )
    wait_for(lambda: outlet.send([b"a:1|g"]) == "the name is not known")
    known.append((socket.AF_INET, ("127.0.0.1", server.port)))
    wait_for(lambda: outlet.send([b"a:1|g"]) == "" and server.waiting(), what="a datagram")
    outlet.close()


def test_the_last_good_address_is_kept_while_look_ups_fail(server: Server) -> None:
    answers: List[Any] = [[(socket.AF_INET, ("127.0.0.1", server.port))], "no answer"]
    asked: List[str] = []

    def look_up(host: str, *_: Any) -> Any:
        asked.append(host)
        return answers[min(len(asked), len(answers)) - 1]

    outlet = Outlet(Address(host="m.example", port=1), look_up, retry=0.01, refresh=0.01)
    wait_for(lambda: len(asked) > 5, what="look-ups that fail after the first")
    assert outlet.send([b"a:1|g"]) == ""
    assert server.socket.recv(99) == b"a:1|g"
    outlet.close()


def test_an_address_that_changes_is_followed(server: Server) -> None:
    before = Server()
    there = [before.port]
    outlet = Outlet(
        Address(host="m.example", port=1),
        lambda *_: [(socket.AF_INET, ("127.0.0.1", there[0]))],
        refresh=0.01,
    )
    wait_for(lambda: outlet.send([b"a:1|g"]) == "" and before.waiting())
    there[0] = server.port
    wait_for(lambda: outlet.send([b"b:1|g"]) == "" and server.waiting())
    outlet.close()
    before.close()


def test_closing_ends_the_look_ups() -> None:
    calls: List[str] = []

    def look_up(host: str, *_: Any) -> str:
        calls.append(host)
        return "no answer"

    outlet = Outlet(Address(host="m.example", port=1), look_up, retry=0.001)
    wait_for(lambda: len(calls) > 3, what="some look-ups")
    outlet.close()
    wait_for(lambda: not outlet.looking, what="the end of the look-ups")
