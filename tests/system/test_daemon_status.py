"""Owns the tests of ``status`` beside a running daemon, and after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from tests.support.command import Answer, clock_agent
from tests.support.daemon import Daemon
from tests.support.fakes import Chronyc, executable
from tests.support.waiting import wait_for


def settings(directory: Path, **more: Any) -> Dict[str, Any]:
    """One source, and one sink that fails as long as the file ``down`` is there."""
    page = executable(directory / "page", f"#!/bin/sh\n[ ! -e {directory / 'down'} ]\n")
    return {
        "chrony": {"program": str(directory / "chronyc" / "chronyc")},
        "service": {"enabled": False},
        "interval": "500ms",
        "confirm_interval": "500ms",
        "alerts": [{"type": "command", "name": "page", "argv": [page]}],
        **more,
    }


@pytest.fixture
def host(private_dir: Path) -> Iterator[Tuple[Daemon, Chronyc]]:
    """A daemon that is not started yet, and the chronyc it will ask."""
    (private_dir / "down").touch()
    chronyc = Chronyc(private_dir / "chronyc")
    daemon = Daemon(private_dir, settings(private_dir))
    yield daemon, chronyc
    daemon.close()


def status(daemon: Daemon, *arguments: str) -> Answer:
    return clock_agent("--config", str(daemon.config), "status", *arguments)


def lines_with(daemon: Daemon, *words: str) -> List[str]:
    return [
        line for line in status(daemon).stdout.splitlines() if all(word in line for word in words)
    ]


def test_status_tells_of_the_alert_that_stands_and_of_its_delivery(
    host: Tuple[Daemon, Chronyc],
) -> None:
    daemon, chronyc = host
    chronyc.say(5.0)
    daemon.start()
    wait_for(lambda: lines_with(daemon, "offset", "alerted as critical"), timeout=20.0)
    wait_for(lambda: lines_with(daemon, "page", "1 to be delivered", "exited with 1"))
    assert lines_with(daemon, "history", "on the disk")
    assert status(daemon).status == 2
    (daemon.directory / "down").unlink()
    wait_for(lambda: lines_with(daemon, "page", "everything delivered"), timeout=20.0)
    (sink,) = status(daemon, "--json").document["published"]["daemon"]["sinks"]
    assert sink == {"name": "page", "waiting": 0, "failures": 0, "trouble": None}


def test_deliveries_are_told_between_two_readings_that_are_hours_apart(
    host: Tuple[Daemon, Chronyc],
) -> None:
    daemon, chronyc = host
    chronyc.say(5.0)
    hourly = {"consecutive": 1, "interval": "1h", "confirm_interval": "1h"}
    daemon.configure(settings(daemon.directory, **hourly))
    daemon.start()
    wait_for(lambda: lines_with(daemon, "page", "1 to be delivered"), timeout=20.0)
    (daemon.directory / "down").unlink()
    wait_for(lambda: lines_with(daemon, "page", "everything delivered"), timeout=20.0)
    assert len(daemon.readings) == 1


def test_without_a_daemon_status_tells_what_was_alerted_and_is_owed(
    host: Tuple[Daemon, Chronyc],
) -> None:
    daemon, chronyc = host
    chronyc.say(5.0)
    daemon.start()
    wait_for(lambda: lines_with(daemon, "page", "1 to be delivered"), timeout=20.0)
    assert daemon.stop() == 0
    answer = status(daemon)
    assert answer.status == 3
    assert answer.first.startswith("no daemon: ")
    assert "  offset      alerted as critical for " in answer.stdout
    assert "  page        1 to be delivered" in answer.stdout
    remembered = status(daemon, "--json").document["remembered"]
    assert remembered["alerting"]["offset"] == "critical"
    assert remembered["owed"] == {"page": 1}


def test_on_a_host_that_never_had_a_daemon_status_says_so(host: Tuple[Daemon, Chronyc]) -> None:
    daemon, _ = host
    answer = status(daemon)
    assert answer.status == 3
    assert "nothing can be read in" in answer.stdout


def test_history_shows_alerts_and_restarts_of_the_daemon(host: Tuple[Daemon, Chronyc]) -> None:
    daemon, chronyc = host
    chronyc.say(5.0)
    for readings in (3, 4):
        daemon.start()
        daemon.wait_for_readings(readings)
        assert daemon.stop() == 0
    listing = clock_agent("--config", str(daemon.config), "history").stdout
    assert listing.count(" -- start: clock-agent ") == 2
    assert listing.count(" -- raise critical, offset: ") == 1
