from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import wording
from tests.support.values import chronyd, miss, redis

seconds = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


@pytest.mark.parametrize(
    ("offset", "text"),
    [
        (5.0, "+5000.0 ms ahead (fast)"),
        (-5.0, "-5000.0 ms behind (slow)"),
        (0.000013, "+0.013 ms ahead (fast)"),
        (-0.0099994, "-9.999 ms behind (slow)"),
        (0.01, "+10.0 ms ahead (fast)"),
        (1320.0, "+1320000.0 ms (22 min) ahead (fast)"),
        (-1320.0, "-1320000.0 ms (22 min) behind (slow)"),
        (0.0, "0.000 ms (neither ahead nor behind)"),
        (-0.0000000001, "0.000 ms (neither ahead nor behind)"),
    ],
)
def test_an_offset_carries_its_sign_as_sign_and_as_word(offset: float, text: str) -> None:
    assert wording.offset(offset) == text


@given(seconds)
def test_the_sign_and_the_word_of_an_offset_never_contradict(offset: float) -> None:
    text = wording.offset(offset)
    number = float(text.split(" ")[0])
    assert ("ahead (fast)" in text) == (number > 0) == text.startswith("+")
    assert ("behind (slow)" in text) == (number < 0) == text.startswith("-")


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (0.00032, "0.320 ms"),
        (0.0003201, "0.321 ms"),
        (0.0000001, "0.001 ms"),
        (0.0, "0.000 ms"),
        (0.01234, "12.4 ms"),
        (5.00031, "5000.4 ms"),
        (1320.00001, "1320000.1 ms (22 min)"),
        (1796003407.00005, "1796003407000.1 ms (20787 d 2 h)"),
    ],
)
def test_an_error_bound_is_rounded_up(bound: float, text: str) -> None:
    assert wording.bound(bound) == text


@given(st.floats(min_value=0, max_value=1e6))
def test_an_error_bound_is_never_written_smaller_than_it_is(bound: float) -> None:
    written = float(wording.bound(bound).split(" ")[0]) / 1000
    assert written >= bound * (1 - 1e-9)
    assert written <= bound + 0.0001001


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (-3.0, "0 ms"),
        (0.0, "0 ms"),
        (0.1, "100 ms"),
        (0.0005, "0.5 ms"),
        (2.0, "2 s"),
        (2.5, "2.5 s"),
        (37.4, "37 s"),
        (59.6, "1 min"),
        (95, "1 min 35 s"),
        (1319.9996, "22 min"),
        (3599.7, "1 h"),
        (5400, "1 h 30 min"),
        (86399, "1 d"),
        (11 * 86400 + 2 * 3600 + 5, "11 d 2 h"),
    ],
)
def test_a_duration_is_written_in_its_two_largest_units(amount: float, text: str) -> None:
    assert wording.duration(amount) == text


@pytest.mark.parametrize(
    ("epoch", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1787536934.123, "2026-08-24T02:02:14.123Z"),
        (1787536934.9996, "2026-08-24T02:02:15.000Z"),
        (-1.5, "1969-12-31T23:59:58.500Z"),
        (4294967296, "2106-02-07T06:28:16.000Z"),
        (1e30, f"@{1e30:.3f}"),
        (math.inf, "@inf"),
    ],
)
def test_a_time_is_written_in_utc_even_at_the_ends_of_time(epoch: float, text: str) -> None:
    assert wording.utc(epoch) == text


@given(st.text())
def test_text_from_outside_becomes_one_printable_line_of_bounded_length(text: str) -> None:
    line = wording.plain(text)
    assert line.isprintable()
    assert len(line) <= wording.LONGEST


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  506 Cannot talk\nto daemon\n", "506 Cannot talk to daemon"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("x\u202ey", "x\\u202ey"),
        ("chronyc  # comment", "chronyc  # comment"),
        ("Auszahlung f\u00fcr H\u00e4ndler", "Auszahlung f\u00fcr H\u00e4ndler"),
        ("y" * 301, "y" * 297 + "..."),
    ],
)
def test_what_cannot_be_printed_is_escaped(text: str, line: str) -> None:
    assert wording.plain(text) == line


@pytest.mark.parametrize(
    ("items", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_a_listing_reads_like_a_sentence(items: list[str], text: str) -> None:
    assert wording.listing(items) == text


def test_the_sentence_of_a_miss_names_its_source_once_and_has_no_full_stop() -> None:
    refused = miss("locks", "refused")
    assert wording.why_not(refused) == "locks is refused"
    nameless = refused._replace(what="connection refused by 10.0.0.1:6379.")
    assert wording.why_not(nameless) == "Redis locks: connection refused by 10.0.0.1:6379"
    assert wording.why_not(refused._replace(what=" ")) == "Redis locks: refused"


def test_what_a_source_gave_is_a_reading_with_its_uncertainty_or_the_reason_for_none() -> None:
    assert (
        wording.observed(redis(-0.0002, 0.0004))
        == "Redis locks: -0.200 ms behind (slow) +/- 0.400 ms, error at most 0.600 ms"
    )
    assert wording.observed(miss()) == "chronyd: no reading (not-running): chronyd is not running."


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.1, "110 %"), (0.0002, "under 1 %"), (0.01, "1 %"), (float("inf"), "all")],
)
def test_a_share_is_a_percentage(share: float, text: str) -> None:
    assert wording.percent(share) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(1388.9, "+1389"), (-1388.9, "-1389"), (0.34, "+0.3"), (-0.04, "0.0"), (99.96, "+100.0")],
)
def test_a_rate_carries_its_sign(rate: float, text: str) -> None:
    assert wording.ppm(rate) == text


@pytest.mark.parametrize(("offset", "text"), [(1320.0, "22 min back"), (-5.0, "5 s forward")])
def test_a_correction_goes_against_the_offset(offset: float, text: str) -> None:
    assert wording.back(chronyd(offset)) == text
