"""Owns the tests of agent.core.sources, against captured lists and against anything at all."""

from __future__ import annotations

from typing import List, Tuple, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.model import Miss
from agent.core.sources import Source, parse_csv, parse_text
from tests.support.captures import Capture, captures

ONE = "^,*,192.168.123.1,1,6,377,18,0.000015250,0.000017749,0.000123507"
HEAD = (
    "MS Name/IP address         Stratum Poll Reach LastRx Last sample               \n"
    "===============================================================================\n"
)
ONE_TEXT = (
    HEAD + "^* 192.168.123.1                 1   6   377    18    +15us[  +18us] +/-  124us\n"
)
LISTS = [c for c in captures() if c.is_report and c.is_sources]


def parse(capture: Capture) -> Union[Tuple[Source, ...], Miss]:
    return parse_csv(capture.text) if capture.is_csv else parse_text(capture.text)


def read(text: str) -> Tuple[Source, ...]:
    found = parse_text(text) if text.startswith(("MS", "210")) else parse_csv(text)
    assert not isinstance(found, Miss), found
    return found


def test_one_source_is_read_in_full() -> None:
    assert read(ONE) == (
        Source(
            mode="^",
            state="*",
            name="192.168.123.1",
            stratum=1,
            poll=6,
            reach=0o377,
            last_rx=18,
            offset=0.000015250,
            measured=0.000017749,
            error=0.000123507,
        ),
    )


@pytest.mark.parametrize("capture", LISTS, ids=lambda c: c.file)
def test_every_captured_list_is_read(capture: Capture) -> None:
    assert not isinstance(parse(capture), Miss)


@pytest.mark.parametrize("capture", [c for c in LISTS if c.is_csv], ids=lambda c: c.file)
def test_text_and_csv_of_one_moment_agree(capture: Capture) -> None:
    twin = capture.twin(".sources.txt")
    assert twin is not None
    csv, text = read(capture.text), read(twin.text)
    assert len(csv) == len(text)
    real_time = capture.case.startswith("r")
    for exact, rounded in zip(csv, text):
        for name in ("mode", "state", "stratum", "poll", "reach"):
            assert getattr(exact, name) == getattr(rounded, name)
        if exact.last_rx is None:
            assert rounded.last_rx is None
        else:  # in text cut to minutes, hours or days
            assert rounded.last_rx is not None
            assert rounded.last_rx == pytest.approx(exact.last_rx, rel=0.1, abs=1 * real_time)
        if not real_time:
            for name in ("offset", "measured", "error"):
                assert getattr(rounded, name) == pytest.approx(getattr(exact, name), rel=0.06)


def test_reach_is_octal() -> None:
    source = read(ONE.replace(",377,", ",10,"))[0]
    assert source.reach == 8
    assert not source.answers


@pytest.mark.parametrize(
    ("reach", "answers"),
    [("0", False), ("200", False), ("370", False), ("374", True), ("1", True), ("4", True)],
)
def test_a_source_answers_while_one_of_its_last_three_polls_was_answered(
    reach: str, answers: bool
) -> None:
    assert read(ONE.replace(",377,", f",{reach},"))[0].answers is answers


def test_a_source_without_a_sample_has_none_in_both_forms() -> None:
    assert read(ONE.replace(",18,", ",4294967295,"))[0].last_rx is None
    assert read(ONE_TEXT.replace("    18 ", "     - "))[0].last_rx is None


@pytest.mark.parametrize(
    ("printed", "seconds"), [("1199", 1199), ("20m", 1200), ("35h", 126000), ("12d", 1036800)]
)
def test_a_long_silence_is_read_with_its_unit(printed: str, seconds: int) -> None:
    assert read(ONE_TEXT.replace("    18 ", f"{printed:>6} "))[0].last_rx == seconds


@pytest.mark.parametrize(
    ("sample", "offset", "error"),
    [
        ("+600ns[+1000ns] +/-  102us", 600e-9, 102e-6),
        ("-2899ms[-2899ms] +/-  118us", -2.899, 118e-6),
        (" +1320s[ +1320s] +/-   10ms", 1320.0, 0.01),
        ("+10.2s[ +10.2s] +/- 1000ns", 10.2, 1e-6),
        ("  -22m[   -22m] +/-    2s", -1320.0, 2.0),
    ],
)
def test_a_sample_is_read_with_its_units(sample: str, offset: float, error: float) -> None:
    source = read(ONE_TEXT.replace("+15us[  +18us] +/-  124us", sample))[0]
    assert source.offset == pytest.approx(offset)
    assert source.error == pytest.approx(error)


def test_the_count_that_old_versions_print_first_is_passed_over() -> None:
    assert read("210 Number of sources = 1\n" + ONE_TEXT) == read(ONE_TEXT)


def test_no_source_at_all_is_an_empty_list() -> None:
    assert read("") == ()
    assert read(HEAD) == ()


@pytest.mark.parametrize(
    "broken",
    [
        "501 Not authorised",
        ONE + ",1",
        ONE.rpartition(",")[0],
        ONE.replace("^", "!"),
        ONE.replace("*", "**"),
        ONE.replace(",*,", ",,"),
        ONE.replace(",377,", ",378,"),
        ONE.replace(",377,", ",777,"),
        ONE.replace(",6,", ",99,"),
        ONE.replace(",18,", ",-1,"),
        ONE.replace("0.000015250", "nan"),
        ONE.replace("0.000123507", "-0.000123507"),
        ONE.replace("192.168.123.1", ""),
        ONE.replace("192.168.123.1", "\x07"),
        ONE + "\n\n",
    ],
)
def test_a_line_that_is_not_exactly_a_source_is_a_miss(broken: str) -> None:
    miss = parse_csv(broken)
    assert isinstance(miss, Miss)
    assert miss.cause == "unreadable"


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "506 Cannot talk to daemon\n",
        HEAD.splitlines()[0],
        HEAD + "hello\n",
        ONE_TEXT.replace("124us", "124"),
        ONE_TEXT.replace("124us", "124 parsecs"),
        ONE_TEXT.replace("[  +18us]", ""),
        ONE_TEXT.replace("    18 ", "   18w "),
    ],
)
def test_a_text_that_is_not_exactly_a_list_is_a_miss(broken: str) -> None:
    assert isinstance(parse_text(broken), Miss)


@given(st.text())
def test_any_text_is_a_list_or_a_miss(text: str) -> None:
    for parser in (parse_csv, parse_text):
        assert isinstance(parser(text), (tuple, Miss))
        assert isinstance(parser(HEAD + text), (tuple, Miss))


@given(st.binary())
def test_any_bytes_are_a_list_or_a_miss(data: bytes) -> None:
    text = data.decode("utf-8", "backslashreplace")
    for parser in (parse_csv, parse_text):
        assert isinstance(parser(text), (tuple, Miss))


PIECES = st.sampled_from(
    ["", "^", "*", "-", "nan", "0", "377", "4294967295", "9" * 39, "-0.5", "x"]
)


@given(st.lists(PIECES, min_size=10, max_size=10))
def test_ten_fields_of_anything_are_a_source_or_a_miss(fields: List[str]) -> None:
    assert isinstance(parse_csv(",".join(fields)), (tuple, Miss))
