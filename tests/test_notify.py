"""sd_notify on real sockets: what systemd is told, and that telling it never waits."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Dict, Iterator, List, Optional

import pytest

from agent.notify import Notifier


class Manager:
    """What stands for systemd: a datagram socket at a path or an abstract name."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address[0] == "@" else address)
        self.socket.setblocking(False)

    def told(self) -> List[str]:
        """All messages that are here."""
        found = []
        while True:
            try:
                found.append(self.socket.recv(65536).decode("utf-8"))
            except BlockingIOError:
                return found


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, private_dir: Path) -> Iterator[Manager]:
    name = str(private_dir / "notify")
    opened = Manager(name if request.param == "path" else f"@{name}")
    yield opened
    opened.socket.close()


def environment(manager: Manager, **more: str) -> Dict[str, str]:
    return {"NOTIFY_SOCKET": manager.address, "PATH": "/bin", **more}


def test_the_life_of_a_daemon(manager: Manager) -> None:
    notifier = Notifier(environment(manager))
    notifier.ready()
    notifier.status("synchronised, 0.013 ms ahead")
    notifier.stopping()
    assert manager.told() == ["READY=1", "STATUS=synchronised, 0.013 ms ahead", "STOPPING=1"]


def test_a_reload_carries_the_monotonic_time_in_the_same_message(manager: Manager) -> None:
    notifier = Notifier(environment(manager))
    before = time.monotonic_ns() // 1000
    notifier.reloading()
    notifier.ready()
    after = time.monotonic_ns() // 1000
    reloading, ready = manager.told()
    first, second = reloading.split("\n")
    assert first == "RELOADING=1"
    assert before <= int(second.partition("MONOTONIC_USEC=")[2]) <= after
    assert ready == "READY=1"


def test_a_status_is_sent_only_when_it_changes(manager: Manager) -> None:
    notifier = Notifier(environment(manager))
    for text in ("a", "a", "b\nREADY=0", "b READY=0", "a"):
        notifier.status(text)
    assert manager.told() == ["STATUS=a", "STATUS=b READY=0", "STATUS=a"]


def test_letters_outside_latin_1_arrive_as_utf_8(manager: Manager) -> None:
    Notifier(environment(manager)).status("±0,013 ms – höchstens")
    assert manager.told() == ["STATUS=±0,013 ms – höchstens"]


@pytest.mark.parametrize("usec", [500_000, 3_000_000, 30_000_000])
@pytest.mark.parametrize("pid", [None, str(os.getpid())])
def test_the_watchdog_hears_of_us_at_least_twice_in_its_time(
    manager: Manager, usec: int, pid: Optional[str]
) -> None:
    more = {"WATCHDOG_USEC": str(usec), **({"WATCHDOG_PID": pid} if pid else {})}
    notifier = Notifier(environment(manager, **more))
    now, beats = 1000.0, [1000.0]
    notifier.alive(now)
    while now < 1000.0 + usec / 1e6:
        now += notifier.pause(now)
        beats.append(now)
        notifier.alive(now)
        notifier.alive(now)
    assert manager.told() == ["WATCHDOG=1"] * len(beats)
    assert max(b - a for a, b in zip(beats, beats[1:])) <= usec / 2e6


@pytest.mark.parametrize(
    "more",
    [{}, {"WATCHDOG_USEC": ""}, {"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}],
    ids=["none", "empty", "another process's"],
)
def test_where_nobody_watches_us_there_are_no_beats(manager: Manager, more: Dict[str, str]) -> None:
    said: List[str] = []
    notifier = Notifier(environment(manager, **more), said.append)
    assert notifier.watchdog_interval is None
    notifier.alive(1000.0)
    assert notifier.pause(1000.0) > 1
    assert not manager.told()
    assert not said


@pytest.mark.parametrize("usec", ["abc", "-1", "0", "1e6", "٣", "9" * 40, " 1"])
def test_rubbish_in_the_watchdog_time_is_said_and_survived(manager: Manager, usec: str) -> None:
    said: List[str] = []
    notifier = Notifier(environment(manager, WATCHDOG_USEC=usec), said.append)
    assert notifier.watchdog_interval is None
    assert len(said) == 1
    assert "WATCHDOG_USEC" in said[0]


def test_a_full_queue_blocks_nothing_and_ready_still_arrives(manager: Manager) -> None:
    notifier = Notifier(environment(manager, WATCHDOG_USEC="3000000"))
    for number in range(600):  # the kernel queues at most 512, usually 11
        notifier.status(f"{number}")
    notifier.ready()
    assert "READY=1" not in manager.told()
    notifier.alive(1000.0)
    assert manager.told() == ["READY=1\nWATCHDOG=1"]


def test_a_status_lost_in_a_full_queue_is_sent_by_the_next_cycle(manager: Manager) -> None:
    notifier = Notifier(environment(manager))
    for number in range(600):
        notifier.status(f"{number}")
    manager.told()
    notifier.status("599")
    assert manager.told() == ["STATUS=599"]


@pytest.mark.parametrize(
    "address", ["/nonexistent/notify", "/" + "x" * 120, "vsock:2:1", "rubbish", "@", "/a\0b"]
)
def test_a_socket_that_cannot_be_used_is_said_once(address: str) -> None:
    said: List[str] = []
    notifier = Notifier({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "3000000"}, said.append)
    for now in range(1000, 1010):
        notifier.ready()
        notifier.alive(float(now))
        notifier.status(str(now))
    notifier.stopping()
    assert len(said) == 1
    assert "NOTIFY_SOCKET" in said[0]


@pytest.mark.parametrize("variables", [{}, {"NOTIFY_SOCKET": ""}])
def test_without_systemd_there_is_nothing_to_say(variables: Dict[str, str]) -> None:
    said: List[str] = []
    notifier = Notifier({**variables, "WATCHDOG_USEC": "3000000"}, said.append)
    notifier.ready()
    notifier.alive(1000.0)
    notifier.reloading()
    notifier.stopping()
    assert not said
    assert notifier.watchdog_interval is None


def test_children_do_not_inherit_the_line_to_systemd(manager: Manager) -> None:
    surroundings = environment(manager, WATCHDOG_USEC="1", WATCHDOG_PID="2")
    Notifier(surroundings)
    assert surroundings == {"PATH": "/bin"}


def test_a_manager_that_comes_back_is_told_again(private_dir: Path) -> None:
    path = private_dir / "notify"
    manager = Manager(str(path))
    notifier = Notifier(environment(manager))
    notifier.status("before")
    manager.socket.close()
    path.unlink()
    notifier.status("lost")
    manager = Manager(str(path))
    notifier.status("after")
    assert manager.told() == ["STATUS=after"]
    manager.socket.close()
