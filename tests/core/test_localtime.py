"""Times as people write them, in zones as they are."""

from __future__ import annotations

import calendar
import contextlib
from datetime import datetime, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import localtime
from agent.core.localtime import Zone, utc


def zone(name: str) -> Zone:
    info = ZoneInfo(name)

    def east(moment: float) -> int:
        offset = datetime.fromtimestamp(moment, info).utcoffset()
        assert offset is not None
        return int(offset.total_seconds())

    return east


BERLIN = zone("Europe/Berlin")
#: Monday, 2026-08-24 10:00:00 UTC: noon in Berlin.
NOW = 1_787_565_600.0


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


def read(text: str, east: Zone = utc, now: float = NOW) -> float:
    return localtime.parse(text, now, east, "the zone")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-24 02:00:03", "2026-08-24T02:00:03"),
        ("2026-08-24T02:00:03", "2026-08-24T02:00:03"),
        ("2026-08-24 02:00", "2026-08-24T02:00:00"),
        ("2026-08-24 02:00:03.250", "2026-08-24T02:00:03.250"),
        ("2026-08-24 02:00:03,250", "2026-08-24T02:00:03.250"),
        ("2026-08-24T02:00:03Z", "2026-08-24T02:00:03"),
        ("2026-08-24 02:00:03 UTC", "2026-08-24T02:00:03"),
        ("2026-08-24 02:00:03+02:00", "2026-08-24T00:00:03"),
        ("2026-08-24T02:00:03-0330", "2026-08-24T05:30:03"),
        ("2026-08-24 02:00-03", "2026-08-24T05:00:00"),
        ("2027-01-01 00:00", "2027-01-01T00:00:00"),
        ("02:00:03", "2026-08-24T02:00:03"),
        ("10:00", "2026-08-24T10:00:00"),
        ("10:01", "2026-08-23T10:01:00"),
        ("Aug 24 02:00:03", "2026-08-24T02:00:03"),
        ("aug  4 02:00:03", "2026-08-04T02:00:03"),
        ("Dec 31 23:59:59", "2025-12-31T23:59:59"),
        ("2016-12-31 23:59:60", "2017-01-01T00:00:00"),
        (" @1787536803 ", "2026-08-24T02:00:03"),
        ("@1787536803.5", "2026-08-24T02:00:03.500"),
        ("2024-02-29 00:00", "2024-02-29T00:00:00"),
        ("0001-01-01 00:00Z", "0001-01-01T00:00:00"),
    ],
)
def test_a_time_is_read_as_it_is_meant(text: str, expected: str) -> None:
    assert read(text) == pytest.approx(at(expected))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2",
        "2026-08-24",
        "02",
        "2:3:4:5",
        "24:00",
        "12:60",
        "12:00:61",
        "12:00:00.x",
        "2026-13-01 00:00",
        "2026-00-01 00:00",
        "2026-02-30 00:00",
        "2025-02-29 00:00",
        "2026-08-24 02:00:03 CEST",
        "26-8 02:00",
        "Agu 24 02:00:03",
        "Aug 32 02:00:03",
        "@",
        "@-5",
        "@nan",
        "@1e9",
        "@99999999999999",
        "²:00",
        "१२:००",
        "-1:00",
        "2026-08-24 02:00:03 extra words",
        "0000-01-01 00:00",
    ],
)
def test_what_is_no_time_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="'|such day"):
        read(text)


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_is_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert read(text) < 1e12


def test_a_zone_is_told_by_its_rules_at_that_time() -> None:
    assert read("2026-08-24 02:00:03", BERLIN) == at("2026-08-24T00:00:03")
    assert read("2026-01-24 02:00:03", BERLIN) == at("2026-01-24T01:00:03")


def test_today_begins_at_midnight_in_the_zone() -> None:
    tokyo = zone("Asia/Tokyo")  # where it is 19:00
    assert read("00:30", tokyo) == at("2026-08-23T15:30:00")
    assert read("19:30", tokyo) == at("2026-08-23T10:30:00")


def test_a_time_that_was_left_out_is_refused() -> None:
    with pytest.raises(ValueError, match="does not exist in the zone: clocks went from \\+01:00"):
        read("2026-03-29 02:30:00", BERLIN)


def test_a_time_that_happened_twice_is_asked_back_with_both_ways() -> None:
    with pytest.raises(ValueError, match="twice in the zone") as refusal:
        read("2025-10-26 02:30:00", BERLIN)
    assert "2025-10-26 02:30:00+02:00 and 2025-10-26 02:30:00+01:00" in str(refusal.value)
    assert read("2025-10-26 02:30:00+02:00", BERLIN) == at("2025-10-26T00:30:00")
    assert read("2025-10-26 02:30:00+01:00", BERLIN) == at("2025-10-26T01:30:00")


def test_a_whole_day_that_was_left_out_is_refused() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        read("2011-12-30 12:00:00", zone("Pacific/Apia"))


def test_a_date_without_a_year_that_was_in_neither_is_refused() -> None:
    with pytest.raises(ValueError, match="no such day in 2025 and 2026"):
        read("Feb 29 12:00:00")


@pytest.mark.parametrize(
    ("moment", "name", "text"),
    [
        (at("2026-08-24T02:00:03"), "UTC", "2026-08-24 02:00:03.000Z"),
        (at("2026-08-24T02:00:03"), "Europe/Berlin", "2026-08-24 04:00:03.000+02:00"),
        (at("2026-01-24T02:00:03"), "America/St_Johns", "2026-01-23 22:30:03.000-03:30"),
        (1787536803.9996, "UTC", "2026-08-24 02:00:04.000Z"),
        (-0.25, "UTC", "1969-12-31 23:59:59.750Z"),
    ],
)
def test_a_moment_is_shown_with_its_zone(moment: float, name: str, text: str) -> None:
    assert localtime.show(moment, zone(name)) == text


def test_seconds_are_cut_and_not_rounded() -> None:
    assert localtime.show(1787536803.9, utc, 0) == "2026-08-24 02:00:03Z"


def test_a_moment_beyond_the_calendar_is_shown_as_a_number() -> None:
    assert localtime.show(1e18, utc) == "@1000000000000000000.000"


ZONES = sorted(available_timezones())


@given(
    st.sampled_from(ZONES),
    st.integers(calendar.timegm((1973, 1, 1, 0, 0, 0)), calendar.timegm((2037, 1, 1, 0, 0, 0))),
)
def test_every_moment_in_every_zone_is_among_those_its_local_time_means(
    name: str, moment: int
) -> None:
    east = zone(name)
    found = localtime.moments(moment + east(moment), east)
    assert moment in found
    assert 1 <= len(found) <= 2


@given(
    st.sampled_from(ZONES),
    st.integers(calendar.timegm((1973, 1, 1, 0, 0, 0)), calendar.timegm((2037, 1, 1, 0, 0, 0))),
)
def test_what_is_shown_is_read_back(name: str, moment: int) -> None:
    shown = localtime.show(moment, zone(name), digits=0)
    assert read(shown, zone(name), now=4e9) == moment
