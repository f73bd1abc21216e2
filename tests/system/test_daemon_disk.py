"""Owns the tests of what a full disk costs the running daemon: nothing but history for a while."""

from __future__ import annotations

import signal
import sqlite3
from pathlib import Path
from typing import Iterator, List, Tuple

import pytest

from tests.support import mounts
from tests.support.daemon import Daemon
from tests.support.fakes import Chronyc
from tests.support.waiting import wait_for


@pytest.fixture
def disk(private_dir: Path) -> Iterator[Path]:
    with mounts.tmpfs(private_dir / "disk", size=512 * 1024) as disk:
        yield disk


@pytest.fixture
def host(private_dir: Path, disk: Path) -> Iterator[Tuple[Daemon, Chronyc]]:
    """A daemon with its state on the small disk, and the chronyc it asks."""
    chronyc = Chronyc(private_dir / "chronyc")
    paths = {"runtime": str(private_dir / "run"), "state": str(disk)}
    only_chrony = {"chrony": {"program": chronyc.path}, "service": {"enabled": False}}
    daemon = Daemon(private_dir, {"paths": paths, **only_chrony})
    yield daemon, chronyc
    daemon.close()


def of_offset(daemon: Daemon) -> List[str]:
    return [alert["kind"] for alert in daemon.alerts if alert["condition"] == "offset"]


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
