"""Owns the tests that nothing outside can take the daemon's rhythm, its memory or its life."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

from tests.support.command import clock_agent
from tests.support.daemon import Daemon
from tests.support.fakes import Chronyc, executable
from tests.support.notify_socket import NotifySocket
from tests.support.statsd import Server
from tests.support.waiting import wait_for
from tests.support.wall import Wall

#: Ignores SIGTERM and leaves a grandchild that holds its pipes.
_STUCK = "#!/bin/sh\ntrap '' TERM\nsleep 600 &\nwhile :; do sleep 600; done\n"


@pytest.fixture
def chronyc(private_dir: Path) -> Chronyc:
    return Chronyc(private_dir / "chronyc")


@pytest.fixture
def systemd(private_dir: Path) -> Iterator[NotifySocket]:
    found = NotifySocket(private_dir)
    yield found
    found.close()


@pytest.fixture
def daemon(private_dir: Path, chronyc: Chronyc) -> Iterator[Daemon]:
    started = Daemon(private_dir, alone(chronyc))
    yield started
    started.close()


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A TCP server that accepts and never says a word."""
    listener = socket.create_server(("127.0.0.1", 0))
    accepted = []

    def accept() -> None:
        while True:
            try:
                accepted.append(listener.accept()[0])
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    listener.close()
    for connection in accepted:
        connection.close()


def alone(chronyc: Chronyc, **settings: Any) -> Dict[str, Any]:
    """A configuration in which only chronyd is asked."""
    return {"chrony": {"program": chronyc.path}, "service": {"enabled": False}, **settings}


def children_of(pid: int) -> List[int]:
    """The pids of the daemon's children, dead ones included, whichever thread started them."""
    found: List[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with (
            contextlib.suppress(FileNotFoundError),
            open(f"/proc/{pid}/task/{task}/children") as children,
        ):
            found += map(int, children.read().split())
    return found


def resident_kib(pid: int) -> int:
    """The daemon's resident memory."""
    with open(f"/proc/{pid}/statm") as sizes:
        return int(sizes.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def test_with_everything_silent_at_once_the_watchdog_and_the_readings_go_on(
    daemon: Daemon, systemd: NotifySocket, private_dir: Path, silent_server: str
) -> None:
    stuck = executable(private_dir / "stuck", _STUCK)
    daemon.configure(
        {
            "interval": "500ms",
            "confirm_interval": "500ms",
            "chrony": {"program": stuck},
            "service": {"program": stuck},
            "references": [
                {"name": "silent", "url": f"redis://{silent_server}", "timeout": "1s"},
                {"name": "nameless", "url": "redis://no-such-host.invalid:6379"},
            ],
            "statsd": {"address": "no-such-host.invalid:8125"},
            "alerts": [{"type": "command", "argv": [stuck], "timeout": "2s"}],
        }
    )
    daemon.start(systemd.environment(watchdog_seconds=4.0))
    daemon.wait_for_readings(6, timeout=40)
    assert systemd.longest_gap("WATCHDOG=1") < 2.0
    wait_for(lambda: len(children_of(daemon.pid)) <= 3, timeout=10, what="stuck children ended")
    assert daemon.stop(timeout=4) == 0


def test_readings_return_by_themselves(daemon: Daemon, chronyc: Chronyc) -> None:
    chronyc.say("miss")
    daemon.start()
    assert all("CRITICAL" in line for line in daemon.wait_for_readings(4))
    chronyc.say(0.0)
    wait_for(lambda: daemon.readings[-1].startswith("CLOCK OK"), what="a good reading")


def test_gauges_arrive_in_the_cycle_after_the_statsd_server_is_back(
    daemon: Daemon, chronyc: Chronyc
) -> None:
    server = Server()
    address = server.address
    server.close()
    daemon.configure(alone(chronyc, statsd={"address": address}))
    daemon.start()
    daemon.wait_for_readings(4)
    host, _, port = address.rpartition(":")
    server = Server((host, int(port)))
    server.cycle()
    server.cycle()
    assert server.gauges["clock.offset_known"] == 1
    server.close()
    complaints = [line for line in daemon.output if "StatsD" in line]
    assert len(complaints) <= 2, complaints


def test_a_thousand_short_cycles_leave_nothing_behind(daemon: Daemon, chronyc: Chronyc) -> None:
    executable(Path(chronyc.path), "#!/bin/sh\necho '506 Cannot talk to daemon'\nexit 1\n")
    daemon.configure(
        alone(
            chronyc,
            interval="100ms",
            confirm_interval="100ms",
            statsd={"address": "127.0.0.1:9"},
            references=[{"name": "refused", "url": "redis://127.0.0.1:9"}],
        )
    )
    daemon.start()
    daemon.wait_for_readings(200, timeout=60)
    fewest = len(os.listdir(f"/proc/{daemon.pid}/fd"))
    memory = resident_kib(daemon.pid)
    daemon.wait_for_readings(1000, timeout=180)
    # Not at any moment: in the middle of a cycle there are sockets and pipes.
    wait_for(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) <= fewest + 3, what="nothing leaks")
    assert resident_kib(daemon.pid) <= memory + 2048
    assert len(children_of(daemon.pid)) <= 1


@pytest.mark.parametrize("shift", [-3600.0, 3600.0])
def test_a_step_of_the_wall_clock_disturbs_no_timer(
    daemon: Daemon, chronyc: Chronyc, systemd: NotifySocket, private_dir: Path, shift: float
) -> None:
    wall = Wall(private_dir)
    daemon.start({**systemd.environment(watchdog_seconds=2.0), **wall.environment})
    before = len(daemon.wait_for_readings(5))
    wall.shift(shift)
    stepped = time.monotonic()
    daemon.wait_for_readings(before + 10)
    assert time.monotonic() - stepped < 8.0  # ten intervals of 0.2 s, and none waited for an hour
    assert systemd.longest_gap("WATCHDOG=1") < 1.0
    alerts = wait_for(lambda: daemon.alerts, what="an alert about the clock chronyd lost")
    assert all(0 <= alert["lasted"] < 60 for alert in alerts)


def test_a_clock_that_is_set_is_read_at_once_and_its_old_verdict_is_believed_no_more(
    daemon: Daemon, chronyc: Chronyc, systemd: NotifySocket, private_dir: Path
) -> None:
    wall = Wall(private_dir)
    daemon.configure(alone(chronyc, interval="5m", confirm_interval="1s"))
    daemon.start({**systemd.environment(watchdog_seconds=3.0), **wall.environment})
    daemon.wait_for_readings(1)
    check = ("--config", str(daemon.config), "check")
    assert clock_agent(*check, environment=wall.environment).first == daemon.published
    chronyc.say("miss")
    wall.shift(3600.0)
    assert clock_agent(*check, environment=wall.environment).status == 2
    assert "CLOCK CRITICAL" in daemon.wait_for_readings(2, timeout=10)[1]


def test_a_clock_that_is_set_all_the_time_is_not_read_all_the_time(
    daemon: Daemon, chronyc: Chronyc, systemd: NotifySocket, private_dir: Path
) -> None:
    wall = Wall(private_dir)
    daemon.configure(alone(chronyc, interval="5m", confirm_interval="5m"))
    daemon.start({**systemd.environment(watchdog_seconds=0.3), **wall.environment})
    daemon.wait_for_readings(1)
    heard = 0

    def beaten() -> bool:
        return len(systemd.times("WATCHDOG=1")) > heard

    for hours in range(1, 20):
        wall.shift(3600.0 * hours)
        heard = len(systemd.times("WATCHDOG=1"))
        wait_for(beaten, what="a beat")
    assert len(daemon.readings) == 1


def test_ready_is_sent_without_waiting_for_the_outside_world(
    daemon: Daemon, systemd: NotifySocket, private_dir: Path, silent_server: str
) -> None:
    stuck = executable(private_dir / "stuck", _STUCK)
    daemon.configure(
        {
            "chrony": {"program": stuck},
            "service": {"program": stuck},
            "references": [{"name": "silent", "url": f"redis://{silent_server}"}],
        }
    )
    began = time.monotonic()
    daemon.start(systemd.environment(watchdog_seconds=10.0))
    ready = wait_for(lambda: systemd.times("READY=1"), timeout=5, what="READY")
    assert ready[0] - began < 5.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_at_once_in_the_middle_of_a_wait(
    daemon: Daemon, chronyc: Chronyc, systemd: NotifySocket, number: signal.Signals
) -> None:
    daemon.configure(alone(chronyc, interval="5m", confirm_interval="5m"))
    daemon.start(systemd.environment(watchdog_seconds=30.0))
    daemon.wait_for_readings(1)
    assert (daemon.runtime / "status").exists()
    daemon.signal(number)
    assert daemon.process is not None
    assert daemon.process.wait(timeout=2.0) == 0
    assert len(systemd.times("STOPPING=1")) == 1
    assert not (daemon.runtime / "status").exists()


def test_it_stops_in_time_while_probes_hang_and_leaves_no_child(
    daemon: Daemon, private_dir: Path, silent_server: str
) -> None:
    stuck = executable(private_dir / "stuck", _STUCK)
    daemon.configure(
        {
            "chrony": {"program": stuck},
            "service": {"program": stuck},
            "references": [{"name": "silent", "url": f"redis://{silent_server}"}],
        }
    )
    daemon.start()
    groups = wait_for(
        lambda: found if len(found := children_of(daemon.pid)) >= 2 else [], what="stuck programs"
    )
    assert daemon.stop(timeout=2.5) == 0
    for group in groups:
        wait_for(partial(gone, group), timeout=3, what="stuck children ended")


def gone(group: int) -> bool:
    """Whether a process group has no member but zombies."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    fields = stat.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] not in "ZX":
                return False
    return True


def said_ready(systemd: NotifySocket, before: int) -> bool:
    """Whether READY has been said more than ``before`` times."""
    return len(systemd.times("READY=1")) > before


def test_a_reload_with_a_broken_file_keeps_the_old_configuration(
    daemon: Daemon, chronyc: Chronyc, systemd: NotifySocket
) -> None:
    chronyc.say(0.05)
    daemon.start(systemd.environment(watchdog_seconds=30.0))
    daemon.wait_for_readings(2)
    for broken in ("offset: {critical: soon}\n", "a:\n\tb: 1\n", "interval: 0s\n", None):
        before = len(systemd.times("READY=1"))
        if broken is None:
            daemon.config.unlink()
        else:
            daemon.config.write_text(broken)
        daemon.signal(signal.SIGHUP)
        wait_for(partial(said_ready, systemd, before), what="READY again")
        refused = [line for line in daemon.output if "not reloaded" in line]
        assert refused[-1].count(str(daemon.config)) == 1
    already = len(daemon.readings)
    assert all("CLOCK OK" in line for line in daemon.wait_for_readings(already + 3))
    daemon.configure(alone(chronyc, offset={"warning": "10ms", "critical": "40ms"}))
    daemon.signal(signal.SIGHUP)
    wait_for(lambda: "CLOCK CRITICAL" in daemon.readings[-1], what="the new threshold")


def test_a_reload_keeps_what_is_being_alerted(daemon: Daemon, chronyc: Chronyc) -> None:
    chronyc.say(5.0)
    daemon.start()
    wait_for(lambda: daemon.alerts, what="an alert")
    daemon.signal(signal.SIGHUP)
    wait_for(lambda: "configuration reloaded" in daemon.output, what="the reload")
    daemon.wait_for_readings(len(daemon.readings) + 5)
    assert [alert["kind"] for alert in daemon.alerts] == ["raise"]


def test_a_reader_who_stops_reading_the_log_stops_nothing(
    daemon: Daemon, systemd: NotifySocket
) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:  # fill the pipe, so that the first line blocks its writer
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    daemon.start(systemd.environment(watchdog_seconds=2.0), output=writer)
    wait_for(lambda: len(systemd.times("WATCHDOG=1")) > 10, timeout=20, what="ten beats")
    assert systemd.longest_gap("WATCHDOG=1") < 1.0
    assert daemon.stop(timeout=3) == 0
    os.close(reader)
    os.close(writer)
