"""What an HTTP answer means for an alert."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.http_answer import Reply, delivery, http_date

NOON = "Sun, 29 Mar 2026 12:00:00 GMT"


def answered(status: int, text: str = "", **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(where="https://hooks.example", status=status, text=text, headers=named)


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_only_2xx_is_delivered(status: int) -> None:
    assert delivery(answered(status)).delivered


@pytest.mark.parametrize("status", [100, 408, 425, 429, 500, 502, 503, 504, 599])
def test_what_may_pass_is_tried_again(status: int) -> None:
    assert delivery(answered(status))[:2] == (False, True)


@pytest.mark.parametrize("status", [300, 301, 302, 307, 308, 400, 401, 403, 404, 410, 422])
def test_what_will_not_change_is_final(status: int) -> None:
    assert delivery(answered(status))[:2] == (False, False)


def test_a_redirect_is_named_and_its_target_is_not() -> None:
    what = delivery(answered(302, "go to http://169.254.169.254/", location="file:///x")).what
    assert what == "https://hooks.example answered 302: redirects are not followed"


def test_the_text_of_a_refusal_is_one_printable_line() -> None:
    what = delivery(answered(400, "bad\r\nlabel \x1b[31m" + "x" * 900)).what
    assert what.startswith(r"https://hooks.example answered 400: bad label \x1b[31mxxx")
    assert len(what) < 300


@pytest.mark.parametrize(("asked", "seconds"), [("0", 0), ("120", 120), (" 7 ", 7)])
def test_retry_after_in_seconds(asked: str, seconds: float) -> None:
    assert delivery(answered(429, retry_after=asked)).retry_after == seconds


def test_retry_after_as_a_date_is_read_by_the_receivers_clock() -> None:
    later = "Sun, 29 Mar 2026 12:02:30 GMT"
    assert answered(503, retry_after=later, date=NOON).retry_after == 150
    assert answered(503, retry_after=NOON, date=later).retry_after == 0
    assert answered(503, retry_after=later).retry_after is None


@pytest.mark.parametrize("asked", ["", "soon", "-5", "1.5", "٣", "Sun, 29 Mar 2026"])
def test_a_retry_after_that_says_nothing(asked: str) -> None:
    assert answered(503, retry_after=asked, date=NOON).retry_after is None


@given(st.integers(0, 4_000_000_000))
def test_any_http_date_is_read(epoch: int) -> None:
    text = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(epoch))
    assert http_date(text) == epoch


@given(st.text(max_size=40))
def test_no_other_text_is_a_date_nor_an_error(text: str) -> None:
    assert http_date(text) is None
    assert http_date(f"Sun, {text} GMT") is None or text


@given(status=st.integers(100, 999), text=st.text(max_size=300), asked=st.text(max_size=20))
def test_any_answer_is_judged(status: int, text: str, asked: str) -> None:
    judged = delivery(answered(status, text, retry_after=asked, date=asked))
    assert judged.delivered == (200 <= status < 300)
    assert judged.what.isprintable()


def test_no_answer_is_tried_again() -> None:
    judged = delivery("https://hooks.example: Connection refused")
    assert judged[:3] == (False, True, "https://hooks.example: Connection refused")
