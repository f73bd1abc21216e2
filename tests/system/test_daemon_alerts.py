"""Owns the tests of when the running daemon tells people, from reading to recorded alert."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from tests.support.daemon import Daemon
from tests.support.fakes import Chronyc
from tests.support.waiting import wait_for


def settings(chronyc: Chronyc) -> Dict[str, Any]:
    """Only chronyd is asked, through a program that says what the test wants."""
    return {"chrony": {"program": chronyc.path}, "service": {"enabled": False}}


@pytest.fixture
def host(private_dir: Path) -> Iterator[Tuple[Daemon, Chronyc]]:
    """A daemon that is not started yet, and the chronyc it will ask."""
    chronyc = Chronyc(private_dir / "chronyc")
    daemon = Daemon(private_dir, settings(chronyc))
    yield daemon, chronyc
    daemon.close()


def told(daemon: Daemon) -> List[Tuple[str, str]]:
    """What people were told about the offset, as (kind, severity)."""
    return [(alert["kind"], alert["severity"]) for alert in of_offset(daemon)]


def of_offset(daemon: Daemon) -> List[Dict[str, Any]]:
    """The recorded alerts about the offset."""
    return [alert for alert in daemon.alerts if alert["condition"] == "offset"]


@pytest.mark.parametrize("offset", [5.0, -5.0])
def test_the_third_breach_in_a_row_alerts_whatever_its_sign(
    host: Tuple[Daemon, Chronyc], offset: float
) -> None:
    daemon, chronyc = host
    chronyc.say(0.0, offset, offset, 0.0, offset, offset, offset)
    daemon.start()
    wait_for(lambda: told(daemon), what="an alert")
    assert told(daemon) == [("raise", "critical")]
    assert chronyc.calls >= 7  # and not at the two breaches in a row before
    word = "ahead" if offset > 0 else "behind"
    assert word in of_offset(daemon)[0]["summary"]


def test_a_missing_reading_between_breaches_neither_resets_nor_clears(
    host: Tuple[Daemon, Chronyc],
) -> None:
    daemon, chronyc = host
    chronyc.say(5.0, "miss", 5.0, "miss", 5.0, "miss", "miss", "miss", "miss", 5.0)
    daemon.start()
    wait_for(lambda: told(daemon), what="an alert")
    assert 5 <= chronyc.calls <= 7
    daemon.wait_for_readings(12)
    assert told(daemon) == [("raise", "critical")]


def test_the_third_good_reading_resolves(host: Tuple[Daemon, Chronyc]) -> None:
    daemon, chronyc = host
    chronyc.say(5.0, 5.0, 5.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0)
    daemon.start()
    wait_for(lambda: len(told(daemon)) >= 2, what="two alerts")
    assert told(daemon) == [("raise", "critical"), ("resolve", "critical")]
    assert chronyc.calls >= 9


def test_a_warning_that_becomes_critical_escalates(host: Tuple[Daemon, Chronyc]) -> None:
    daemon, chronyc = host
    chronyc.say(0.5, 0.5, 0.5, 0.5, 5.0, 5.0, 5.0)
    daemon.start()
    wait_for(lambda: len(told(daemon)) >= 2, what="two alerts")
    assert told(daemon) == [("raise", "warning"), ("escalate", "critical")]


def test_an_alert_says_what_to_do_and_what_time_it_is(host: Tuple[Daemon, Chronyc]) -> None:
    daemon, chronyc = host
    chronyc.say(5.0)
    daemon.start()
    wait_for(lambda: told(daemon), what="an alert")
    alert = of_offset(daemon)[0]
    assert alert["key"].endswith("/offset")
    assert any("stop the workers before `chronyc makestep`" in line for line in alert["advice"])
    assert alert["local_time"][:17] != alert["reference_time"][:17] or (
        alert["local_time"] > alert["reference_time"]
    )


def test_three_breaches_survive_a_restart_between_them(host: Tuple[Daemon, Chronyc]) -> None:
    daemon, chronyc = host
    chronyc.say(5.0, 5.0, 5.0)
    daemon.configure({"interval": "1h", "confirm_interval": "1h", **settings(chronyc)})
    for reading in (1, 2):
        daemon.start()
        daemon.wait_for_readings(reading)
        assert daemon.stop() == 0
        assert told(daemon) == []
    daemon.start()
    wait_for(lambda: told(daemon), what="an alert")
    assert told(daemon) == [("raise", "critical")]
