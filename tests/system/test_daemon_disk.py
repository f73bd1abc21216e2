"""Owns the tests of what a full disk costs the running daemon: nothing but history for a while."""

from __future__ import annotations

import signal
import sqlite3
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from tests.support import mounts
from tests.support.daemon import Daemon
from tests.support.fakes import Chronyc
from tests.support.waiting import wait_for


@pytest.fixture
def disk(private_dir: Path) -> Iterator[Path]:
    with mounts.tmpfs(private_dir / "disk", size=512 * 1024) as disk:
        yield disk


def settings(directory: Path, disk: Path) -> Dict[str, Any]:
    """Only chronyd is asked, and the state is on the small disk."""
    return {
        "paths": {"runtime": str(directory / "run"), "state": str(disk)},
        "chrony": {"program": str(directory / "chronyc" / "chronyc")},
        "service": {"enabled": False},
    }


@pytest.fixture
def host(private_dir: Path, disk: Path) -> Iterator[Tuple[Daemon, Chronyc]]:
    """A daemon with its state on the small disk, and the chronyc it asks."""
    chronyc = Chronyc(private_dir / "chronyc")
    daemon = Daemon(private_dir, settings(private_dir, disk))
    yield daemon, chronyc
    daemon.close()


def of_offset(daemon: Daemon) -> List[str]:
    """The kinds of the alerts; one that was told twice, as after a kill it may be, counts once."""
    told = {alert["id"]: alert["kind"] for alert in daemon.alerts if alert["condition"] == "offset"}
    return list(told.values())


def said(daemon: Daemon, text: str) -> int:
    return sum(text in line for line in daemon.output)


def saved_offsets(disk: Path) -> List[float]:
    connection = sqlite3.connect(f"file:{disk}/state.db?mode=ro", uri=True)
    try:
        return [row[0] for row in connection.execute("SELECT offset FROM cycle ORDER BY id")]
    finally:
        connection.close()


def test_a_full_disk_stops_neither_readings_nor_alerts_and_history_goes_on_after_it(
    host: Tuple[Daemon, Chronyc], disk: Path
) -> None:
    daemon, chronyc = host
    daemon.start()
    daemon.wait_for_readings(2)
    # nothing can be appended, and what is there of the log is soon used up
    ballast = mounts.fill(disk)
    chronyc.say(5.0)
    wait_for(lambda: said(daemon, "in memory only"), timeout=60.0)
    wait_for(lambda: of_offset(daemon) == ["raise"])
    chronyc.say(0.0)
    wait_for(lambda: of_offset(daemon) == ["raise", "resolve"])
    ballast.unlink()
    wait_for(lambda: said(daemon, "on the disk again"))
    wait_for(lambda: len(saved_offsets(disk)) >= len(daemon.readings) - 1)
    assert any(abs(offset - 5.0) < 0.5 for offset in saved_offsets(disk))
    assert said(daemon, "in memory only") == 1
    assert daemon.stop() == 0


def test_a_read_only_disk_is_said_and_the_alert_that_stands_is_resolved(
    host: Tuple[Daemon, Chronyc], disk: Path
) -> None:
    daemon, chronyc = host
    chronyc.say(5.0)
    daemon.start()
    wait_for(lambda: of_offset(daemon) == ["raise"])
    assert daemon.stop() == 0
    mounts.remount(disk, "ro")
    chronyc.say(0.0)
    daemon.start()
    wait_for(lambda: of_offset(daemon) == ["raise", "resolve"])
    wait_for(lambda: said(daemon, "ead-only file system") == 1)
    mounts.remount(disk, "rw")
    wait_for(lambda: said(daemon, "on the disk again"))
    assert daemon.stop() == 0


def test_a_daemon_that_is_killed_goes_on_where_it_was(host: Tuple[Daemon, Chronyc]) -> None:
    daemon, chronyc = host
    chronyc.say(5.0)
    daemon.start()
    wait_for(lambda: of_offset(daemon) == ["raise"])
    for _ in range(3):
        daemon.signal(signal.SIGKILL)
        daemon.close()
        seen = len(daemon.readings)
        daemon.start()
        daemon.wait_for_readings(seen + 4)
    assert of_offset(daemon) == ["raise"]
    chronyc.say(0.0)
    wait_for(lambda: of_offset(daemon) == ["raise", "resolve"])
    assert daemon.stop() == 0


def test_what_is_alerting_is_known_even_if_the_disk_tells_it_late(
    host: Tuple[Daemon, Chronyc], disk: Path
) -> None:
    daemon, chronyc = host
    chronyc.say(5.0)
    daemon.start()
    wait_for(lambda: of_offset(daemon) == ["raise"])
    assert daemon.stop() == 0
    daemon.configure({**settings(daemon.directory, disk), "interval": "1s"})
    backup = sqlite3.connect(disk / "state.db", isolation_level=None)
    backup.execute("PRAGMA locking_mode = EXCLUSIVE")
    backup.execute("BEGIN EXCLUSIVE")
    seen = len(daemon.readings)
    daemon.start()
    daemon.wait_for_readings(seen + 1)
    backup.close()
    chronyc.say(0.0)
    wait_for(lambda: of_offset(daemon)[1:], timeout=20.0)
    assert of_offset(daemon) == ["raise", "resolve"]
