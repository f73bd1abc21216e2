"""The two written forms of an alert."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agent.core.messages import document, one_line
from tests.support.samples import AN_ALERT


def test_the_document_is_json_and_holds_every_field() -> None:
    found = json.loads(json.dumps(document(AN_ALERT), allow_nan=False))
    assert found.pop("schema") == 1
    assert set(found) == set(AN_ALERT._fields)
    assert found["advice"] == ["stop the workers", "chronyc makestep"]
    assert found["tags"] == {"dc": "eu"}


def test_the_line_says_what_where_and_what_to_do() -> None:
    assert one_line(AN_ALERT) == (
        "CRITICAL raise offset on web-1: this clock is 5000.0 ms behind (slow)"
        " - to do: stop the workers; chronyc makestep [clock-agent/web-1/offset]"
    )


def test_when_it_is_over_there_is_nothing_to_do() -> None:
    line = one_line(AN_ALERT._replace(kind="resolve", summary="in order again"))
    assert line == "CRITICAL resolve offset on web-1: in order again [clock-agent/web-1/offset]"


@given(st.text(max_size=5000))
def test_any_text_stays_one_printable_line_that_names_its_key(text: str) -> None:
    line = one_line(AN_ALERT._replace(summary=text, advice=(text,)))
    assert line.isprintable()
    assert len(line) < 2100
    assert line.endswith("[clock-agent/web-1/offset]")
