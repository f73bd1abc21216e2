"""Owns the tests of agent.core.printed."""

from __future__ import annotations

from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.printed import decimal, excerpt, whole


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0.0), ("-1.5", -1.5), ("+0.250000000", 0.25), ("1750000970.027297", 1750000970.027297)],
)
def test_plain_decimal_numbers_are_read(text: str, value: float) -> None:
    assert decimal(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "+", "-", ".", "1.", ".5", "nan", "-inf", "1e5", "1_000", " 1", "1 ", "--1", "0x10", "٣"],
)
def test_everything_else_is_no_number(text: str) -> None:
    assert decimal(text) is None
    assert whole(text) is None


def test_a_number_too_long_to_be_one_is_refused() -> None:
    assert decimal("9" * 400) is None
    assert whole("9" * 5000) is None


@pytest.mark.parametrize(("text", "value"), [("377", 255), ("0", 0), ("8", None), ("-7", -7)])
def test_octal_digits_are_read_as_octal(text: str, value: Optional[int]) -> None:
    assert whole(text, 8) == value


@given(st.text(), st.integers(min_value=20, max_value=100))
def test_an_excerpt_is_short_and_printable_whatever_it_quotes(text: str, limit: int) -> None:
    quoted = excerpt(text, limit)
    assert len(quoted) <= limit
    assert quoted.isascii()
    assert quoted.isprintable()
    assert quoted[0] in "'\""


def test_a_short_text_is_quoted_whole_and_a_long_one_is_marked_as_cut() -> None:
    assert excerpt("506 Cannot talk") == "'506 Cannot talk'"
    assert excerpt("x" * 200).endswith("x'...")
