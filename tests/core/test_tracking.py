"""Owns the tests of agent.core.tracking, against captured reports and against anything at all."""

from __future__ import annotations

from typing import List, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.model import Miss
from agent.core.tracking import Tracking, parse_csv, parse_text
from tests.support.captures import Capture, captures

FAST = (
    "C0A87B01,192.168.123.1,2,1750001198.253472220,-1284.648193359,0.000000601,304.299652100,"
    "0.995,0.000,0.026,0.000203780,0.000003137,64.8,Normal"
)
FAST_TEXT = """\
Reference ID    : C0A87B01 (node1.net1.clk)
Stratum         : 2
Ref time (UTC)  : Sun Jun 15 15:26:38 2025
System time     : 1284.648193359 seconds fast of NTP time
Last offset     : +0.000000601 seconds
RMS offset      : 304.299652100 seconds
Frequency       : 0.995 ppm fast
Residual freq   : +0.000 ppm
Skew            : 0.026 ppm
Root delay      : 0.000203780 seconds
Root dispersion : 0.000003137 seconds
Update interval : 64.8 seconds
Leap status     : Normal
"""
REPORTS = [c for c in captures() if c.is_report and not c.is_sources]
ERRORS = [c for c in captures() if not c.is_report]
#: chronyd is correcting a large error in these, or may not correct one it has measured (-x).
KNOWN_TO_BE_OFF = [
    c
    for c in REPORTS
    if c.case.startswith(("10-", "12-", "60-external-step@t1200"))
    or (c.case.startswith("64-") and c.case.endswith(("@t800", "@t900")))
]


def parse(capture: Capture) -> Union[Tracking, Miss]:
    return parse_csv(capture.text) if capture.is_csv else parse_text(capture.text)


def read(text: str) -> Tracking:
    tracking = parse_text(text) if "\n" in text else parse_csv(text)
    assert isinstance(tracking, Tracking), tracking
    return tracking


def test_a_fast_clock_has_a_positive_offset_in_both_forms() -> None:
    assert read(FAST).offset == 1284.648193359
    assert read(FAST_TEXT).offset == 1284.648193359


def test_a_slow_clock_has_a_negative_offset_in_both_forms() -> None:
    assert read(FAST.replace(",-1284", ",1284")).offset == -1284.648193359
    assert read(FAST_TEXT.replace("seconds fast", "seconds slow")).offset == -1284.648193359


def test_last_offset_and_frequency_keep_the_sign_they_are_printed_with() -> None:
    tracking = read(FAST_TEXT)
    assert tracking.last_offset == read(FAST).last_offset == 0.000000601
    assert tracking.frequency_ppm == read(FAST).frequency_ppm == 0.995
    assert read(FAST_TEXT.replace("ppm fast", "ppm slow")).frequency_ppm == -0.995


def test_there_are_captures_of_many_versions() -> None:
    assert len(REPORTS) >= 200
    assert {c.version for c in REPORTS} == {"2.4.1", "3.5.1", "4.3", "4.8", "debian-4.3"}


@pytest.mark.parametrize("capture", REPORTS, ids=lambda c: c.file)
def test_every_captured_report_is_read(capture: Capture) -> None:
    assert isinstance(parse(capture), Tracking)


@pytest.mark.parametrize("capture", ERRORS, ids=lambda c: c.file)
def test_every_captured_error_is_a_miss_that_quotes_it(capture: Capture) -> None:
    miss = parse(capture)
    assert isinstance(miss, Miss)
    assert miss.cause == "unreadable"
    assert capture.text[:15].replace("\n", "\\n") in miss.what


@pytest.mark.parametrize("capture", KNOWN_TO_BE_OFF, ids=lambda c: c.file)
def test_a_clock_that_chronyd_knows_to_be_off_has_the_true_sign_and_size(capture: Capture) -> None:
    tracking = parse(capture)
    assert isinstance(tracking, Tracking)
    assert capture.true_offset is not None
    assert abs(capture.true_offset) > 0.1
    assert tracking.offset == pytest.approx(capture.true_offset, abs=1.1e-4)


def test_the_captures_know_slow_clocks_as_well_as_fast_ones() -> None:
    ahead = [c for c in KNOWN_TO_BE_OFF if (c.true_offset or 0) > 0]
    assert len(ahead) >= 40
    assert len(KNOWN_TO_BE_OFF) - len(ahead) >= 25


@pytest.mark.parametrize("capture", [c for c in REPORTS if c.is_csv], ids=lambda c: c.file)
def test_text_and_csv_of_one_moment_agree(capture: Capture) -> None:
    plain = capture.twin(".txt")
    numeric = capture.twin(".n.txt")
    csv = read(capture.text.rstrip("\n"))
    # a few milliseconds lie between the two with real sockets, 10 s where the text form waited
    asked_later = capture.case.startswith("r")
    for twin in (numeric,) if capture.case.startswith("r82") else (plain, numeric):
        if twin is None:
            continue
        text = read(twin.text)
        assert 0 <= csv.ref_time - text.ref_time < 1
        assert text.offset == pytest.approx(csv.offset, abs=1e-7 if asked_later else 0)
        assert text.root_dispersion == pytest.approx(
            csv.root_dispersion, abs=1e-7 if asked_later else 0
        )
        assert _but_for_time(text) == _but_for_time(csv)


def _but_for_time(tracking: Tracking) -> Tracking:
    """Without what moves between two calls, and the name that CSV never resolves."""
    return tracking._replace(reference="", ref_time=0.0, offset=0.0, root_dispersion=0.0)


def test_the_dotted_reference_id_before_3_0_is_read_as_hex() -> None:
    assert read(FAST.replace("C0A87B01", "192.168.123.1")).reference_id == "C0A87B01"
    assert read(FAST.replace("C0A87B01", "127.127.1.1")).reference_id == "7F7F0101"
    assert read(FAST.replace("C0A87B01", "0.0.0.0")).reference_id == "00000000"


def test_the_reference_may_be_an_ipv6_address_a_refclock_or_nothing() -> None:
    for name in ("fc00::123:1", "fe80::1%eth0", "GPS", "", "node1.net1.clk"):
        assert read(FAST.replace("192.168.123.1", name)).reference == name
        assert read(FAST_TEXT.replace("node1.net1.clk", name)).reference == name


def test_second_sixty_of_a_leap_second_is_read() -> None:
    leaping = FAST_TEXT.replace("Sun Jun 15 15:26:38 2025", "Sat Dec 31 23:59:60 2016")
    assert read(leaping).ref_time == 1483228800.0


def test_a_day_padded_with_a_blank_is_read() -> None:
    padded = FAST_TEXT.replace("Sun Jun 15 15:26:38 2025", "Thu Jan  1 00:00:00 1970")
    assert read(padded).ref_time == 0.0


def test_an_offset_of_years_is_a_measurement() -> None:
    assert read(FAST.replace("-1284.648193359", "-315360000.000000000")).offset == 315360000.0


def test_no_minus_sign_is_left_on_a_zero() -> None:
    tracking = read(FAST.replace("-1284.648193359", "0.000000000").replace(",0.000,", ",-0.000,"))
    assert str(tracking.offset) == "0.0"
    assert str(tracking.residual_ppm) == "0.0"


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "\n",
        "506 Cannot talk to daemon",
        FAST + ",",
        FAST + ",extra",
        FAST.rpartition(",")[0],
        FAST + "\n" + FAST,
        FAST.replace("Normal", "Fine"),
        FAST.replace("Normal", "normal"),
        FAST.replace("-1284.648193359", "nan"),
        FAST.replace("-1284.648193359", "inf"),
        FAST.replace("-1284.648193359", "-1.3e3"),
        FAST.replace("-1284.648193359", "9" * 30),
        FAST.replace("-1284.648193359", ""),
        FAST.replace("0.000203780", "-0.000203780"),
        FAST.replace("0.000003137", "-1.0"),
        FAST.replace(",2,17", ",17,17"),
        FAST.replace(",2,17", ",2.5,17"),
        FAST.replace(",2,17", ",-1,17"),
        FAST.replace("1750001198", "-1750001198"),
        FAST.replace("C0A87B01", "C0A87B0"),
        FAST.replace("C0A87B01", "192.168.123.256"),
        FAST.replace("C0A87B01", ""),
        FAST.replace("192.168.123.1", "\x1b[31m"),
    ],
)
def test_a_line_that_is_not_exactly_a_report_is_a_miss(broken: str) -> None:
    miss = parse_csv(broken)
    assert isinstance(miss, Miss)
    assert miss.cause == "unreadable"
    assert miss.advice


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "506 Cannot talk to daemon\n",
        FAST_TEXT + FAST_TEXT,
        FAST_TEXT + "Temperature     : 41 C\n",
        FAST_TEXT.replace("Stratum         : 2\n", ""),
        FAST_TEXT.replace("seconds fast of NTP time", "seconds of NTP time"),
        FAST_TEXT.replace("seconds fast", "seconds ahead"),
        FAST_TEXT.replace("seconds fast", "hours fast"),
        FAST_TEXT.replace("Jun", "Juin"),
        FAST_TEXT.replace("Jun 15", "Jun 32"),
        FAST_TEXT.replace("15:26:38", "15:26:61"),
        FAST_TEXT.replace("15:26:38", "15:26"),
        FAST_TEXT.replace("(node1.net1.clk)", "node1.net1.clk"),
        FAST_TEXT.replace("64.8 seconds", "64.8 seconds ago"),
    ],
)
def test_a_text_that_is_not_exactly_a_report_is_a_miss(broken: str) -> None:
    assert isinstance(parse_text(broken), Miss)


def test_what_cannot_be_read_is_quoted_short_and_printable() -> None:
    miss = parse_csv("\x00\x1b]0;owned\x07" * 1000)
    assert isinstance(miss, Miss)
    assert "\\x1b" in miss.what
    assert miss.what.isprintable()
    assert len(miss.what) < 200


@given(st.text())
def test_any_text_is_a_report_or_a_miss(text: str) -> None:
    for parser in (parse_csv, parse_text):
        assert isinstance(parser(text), (Tracking, Miss))


@given(st.binary())
def test_any_bytes_are_a_report_or_a_miss(data: bytes) -> None:
    text = data.decode("utf-8", "backslashreplace")
    for parser in (parse_csv, parse_text):
        assert isinstance(parser(text), (Tracking, Miss))


PIECES = st.sampled_from(
    ["", "-", "nan", "1e9", "0", "9" * 39, "Normal", "-0.5", "7F7F0101", "x\n"]
)


@given(st.lists(PIECES, min_size=14, max_size=14))
def test_fourteen_fields_of_anything_are_a_report_or_a_miss(fields: List[str]) -> None:
    assert isinstance(parse_csv(",".join(fields)), (Tracking, Miss))


@given(st.integers(0, 12), st.text(max_size=30))
def test_a_report_with_one_line_spoilt_is_a_report_or_a_miss(row: int, value: str) -> None:
    lines = FAST_TEXT.splitlines()
    lines[row] = lines[row].partition(":")[0] + ": " + value
    assert isinstance(parse_text("\n".join(lines)), (Tracking, Miss))
