"""Durations and sizes as people write them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.quantities import format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0.0),
        ("100ms", 0.1),
        ("0.5ms", 0.0005),
        ("250us", 0.00025),
        ("5s", 5.0),
        ("1.5s", 1.5),
        ("1m30s", 90.0),
        ("2h", 7200.0),
        ("1d12h", 129600.0),
        ("30d", 2592000.0),
    ],
)
def test_a_duration_is_read_with_its_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("5", "has no unit"),
        ("", "is not a duration"),
        ("-5s", "is not a duration"),
        ("5 s", "has no unit"),
        ("s", "is not a duration"),
        ("1.2.3s", "is not a duration"),
        ("5S", "has the unit 'S'"),
        ("5min", "has the unit 'min'"),
        ("30s1m", "larger unit first"),
        ("1s1s", "larger unit first"),
        ("1e9s", "has the unit 'e'"),
        ("infs", "is not a duration"),
        ("٣s", "is not a duration"),
        ("9" * 400 + "s", "is not a duration"),
    ],
)
def test_anything_else_is_refused_with_an_example_or_the_units(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_duration(text)


@given(st.text(max_size=60))
def test_no_text_makes_the_readers_fail_in_another_way(text: str) -> None:
    for parse in (parse_duration, parse_size):
        with contextlib.suppress(ValueError):
            assert parse(text) >= 0


@given(st.floats(min_value=1e-9, max_value=1e8))
def test_a_written_duration_reads_back_as_the_same_number(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=1e-7, abs=1e-16)


@given(st.integers(min_value=0, max_value=10**9))
def test_whole_milliseconds_read_back_exactly(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize("text", ["0s", "100ms", "1.5s", "90us", "1m30s", "5m", "1d", "12h30m"])
def test_a_duration_is_written_as_people_write_it(text: str) -> None:
    assert format_duration(parse_duration(text)) == text


@pytest.mark.parametrize(
    ("text", "size"), [("1B", 1), ("512KiB", 524288), ("64MiB", 67108864), ("1.5GiB", 1610612736)]
)
def test_a_size_is_read_with_its_unit(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize("text", ["64", "64MB", "64mib", "1GiB1MiB", "", "MiB"])
def test_a_size_without_a_binary_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="MiB"):
        parse_size(text)
