"""Zones by their names."""

from __future__ import annotations

import time
from typing import Iterator

import pytest

from agent import zones
from agent.errors import UsageError

SUMMER = 1_787_536_803.0


@pytest.fixture
def set_tz(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("value", "east"),
    [
        ("Europe/Berlin", 7200),
        ("America/St_Johns", -9000),
        ("EST5EDT,M3.2.0,M11.1.0", -14400),
        ("No/Such_Zone", 0),
        ("", 0),
    ],
)
def test_the_local_zone_is_that_of_the_process_whatever_form_it_has(
    set_tz: pytest.MonkeyPatch, value: str, east: int
) -> None:
    set_tz.setenv("TZ", value)
    time.tzset()
    zone, name = zones.find("local")
    assert zone(SUMMER) == east
    assert name.startswith("local (")


@pytest.mark.parametrize(("name", "east"), [("utc", 0), ("Asia/Kolkata", 19800)])
def test_a_zone_is_found_by_its_name(name: str, east: int) -> None:
    assert zones.find(name)[0](SUMMER) == east


@pytest.mark.parametrize("name", ["local", "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("moment", [0.0, -62e9, 5e12, 1e18])
def test_a_moment_beyond_the_calendar_has_some_zone_all_the_same(name: str, moment: float) -> None:
    assert abs(zones.find(name)[0](moment)) < 86_400


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("../../etc/passwd", "write UTC"),
        ("", "write UTC"),
        ("a\0b", "write UTC"),
        pytest.param("x" * 5000, "write UTC", id="far-too-long"),
    ],
)
def test_a_zone_that_there_is_not_is_refused_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as refusal:
        zones.find(name)
    assert hint in refusal.value.hint
