"""How the past is told: lines, CSV, JSON and the answer about one moment."""

from __future__ import annotations

import csv
import io
from typing import Mapping, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import history_view as view
from agent.core import localtime
from agent.core.history import Estimate, Gap, Happening, Record
from agent.core.history_view import Row

NOON = 1_787_572_800.0  # 2026-08-24 12:00:00 UTC
FINE = {"offset": ("ok", ""), "sync": ("ok", "")}
FAST = {"offset": ("critical", "fast"), "sync": ("warning", "not-running")}


def stamp(moment: Optional[float]) -> str:
    return "unknown" if moment is None else localtime.show(moment, localtime.utc, 0)


def row(
    number: int, offset: Optional[float], findings: Mapping[str, Tuple[str, str]] = FINE
) -> Row:
    wall = NOON + 300.0 * number
    record = Record(
        number=number,
        boot=1,
        wall=wall,
        boottime=1000.0 + 300.0 * number,
        offset=offset,
        uncertainty=None if offset is None else 0.0004,
        source=None if offset is None else "locks",
        findings=findings,
    )
    return Row(record, None if offset is None else wall - offset)


def happened(number: int, kind: str, size: Optional[float] = None, **more: str) -> Happening:
    return Happening(number, kind, NOON + 300.0 * number, 1000.0, size, **more)


def test_a_listing_has_a_line_for_every_cycle_and_every_happening() -> None:
    rows = [row(1, 0.000013), row(2, None, {"sync": ("unknown", "hung")}), row(3, 1320.0, FAST)]
    happenings = [
        happened(3, "step", 1320.0),
        happened(3, "raise", condition="offset", severity="critical", what="22 min ahead"),
    ]
    lines = view.listing(
        rows, happenings, lambda each: stamp(each.record.wall), lambda each: stamp(each.wall)
    )
    assert list(lines) == [
        "2026-08-24 12:05:00Z        +0.013 ms +-    0.400 ms  ok",
        "2026-08-24 12:10:00Z          unknown                 unknown   sync hung",
        "2026-08-24 12:15:00Z  -- step: the clock was set forward by 22 min (+1320000.0 ms)",
        "2026-08-24 12:15:00Z  -- raise critical, offset: 22 min ahead",
        "2026-08-24 12:15:00Z    +1320000.0 ms +-    0.400 ms  critical  offset fast,"
        " sync not-running",
    ]


@pytest.mark.parametrize(
    ("happening", "text"),
    [
        (happened(1, "step", -2.5), "step: the clock was set back by 2.5 s (-2500.0 ms)"),
        (happened(1, "suspend", 3600.0), "suspend: the host slept for 1 h"),
        (happened(1, "start", what="clock-agent 0.1"), "start: clock-agent 0.1"),
        (happened(1, "reload"), "reload"),
        (
            happened(1, "raise", condition="x", severity="y", what="a\x1b[2Jb"),
            "raise y, x: a\\x1b[2Jb",
        ),
    ],
)
def test_a_happening_is_one_printable_sentence(happening: Happening, text: str) -> None:
    assert view.told(happening) == text


def test_csv_has_a_column_for_every_condition() -> None:
    table = "\n".join(view.csv([row(1, 0.5, FAST), row(2, None, {})], stamp))
    first, second = csv.DictReader(io.StringIO(table))
    assert first == {
        "local_time": "2026-08-24 12:05:00Z",
        "true_time": "2026-08-24 12:04:59Z",
        "offset_ms": "500.000000",
        "uncertainty_ms": "0.400000",
        "source": "locks",
        "verdict": "critical",
        "offset": "critical",
        "sync": "warning",
        "service": "",
        "reference": "",
        "drift": "",
    }
    assert second["offset_ms"] == second["true_time"] == second["verdict"] == ""


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])))
def test_csv_survives_any_name_of_a_source(name: str) -> None:
    odd = row(1, 0.5)
    odd = odd._replace(record=odd.record._replace(source=name))
    table = "\n".join(view.csv([odd], stamp))
    (found,) = csv.DictReader(io.StringIO(table, newline=""))
    assert found["source"] == name
    assert found["verdict"] == "ok"


def test_json_has_null_for_what_is_not_known() -> None:
    document = view.document([row(1, None)], [happened(1, "step", 2.0)], stamp)
    (cycle,) = document["cycles"]
    assert cycle["offset_ms"] is cycle["true_time"] is cycle["source"] is None
    assert cycle["conditions"][0] == {"name": "offset", "verdict": "ok", "cause": None}
    (event,) = document["events"]
    assert (event["size_ms"], event["condition"]) == (2000.0, None)


def test_only_one_condition_is_told_when_asked_for() -> None:
    narrow = view.narrowed(row(1, 0.5, FAST).record, "sync")
    assert view.judged(narrow) == "warning   sync not-running"
    assert view.narrowed(narrow, None) == narrow


def estimate(**changes: object) -> Estimate:
    before, after = row(1, 1320.0, FAST).record, row(2, 1320.4, FAST).record
    found = Estimate(
        local=before.wall + 60.0,
        true=before.wall + 60.0 - 1320.08,
        uncertainty=0.003,
        before=before,
        after=after,
        latest=before,
    )
    return found._replace(**changes)  # type: ignore[arg-type]


def test_an_answer_says_the_true_time_and_what_it_rests_on() -> None:
    assert list(view.answer(estimate(), stamp)) == [
        "this host's clock   2026-08-24 12:06:00Z",
        "true time           2026-08-24 11:43:59Z, give or take 3.000 ms",
        "offset              +1320080.0 ms (22 min) ahead (fast), give or take 3.000 ms",
        "rests on            Redis locks 1 min before and Redis locks 4 min after",
        "judged at the time  critical  offset fast, sync not-running",
    ]


def test_an_answer_on_one_side_of_a_step_says_which() -> None:
    lines = list(view.answer(estimate(step=-1320.0, after_step=True), stamp))
    assert lines[-1] == (
        "provided that       the clock was set back by 22 min (-1320000.0 ms) before it:"
        " nobody saw the moment itself"
    )


def test_without_a_trusted_reading_the_true_time_is_unknown() -> None:
    lines = list(view.answer(estimate(true=None, uncertainty=None, before=None, after=None), stamp))
    assert lines[1] == "true time           unknown: no source was trusted since this boot"
    assert "0.000" not in "".join(lines)
    told = view.answer_as_dict(estimate(true=None, before=None), stamp)
    assert told["true_time"] is told["offset_ms"] is told["before"] is None


FIRST, SECOND = row(1, 0.0).record, row(2, 0.0).record


@pytest.mark.parametrize(
    ("gap", "text"),
    [
        (Gap("nothing"), "nothing is remembered yet"),
        (Gap("early", None, FIRST), "is before the first record, which is of 2026-08-24 12:05"),
        (Gap("late", SECOND), "is after the last record, which is of 2026-08-24 12:10"),
        (Gap("off", FIRST, SECOND), "was off, or the daemon was not running, between 2026-08-24"),
        (Gap("off"), "the host was off, or the daemon was not running"),
        (Gap("skipped", FIRST, SECOND), "never showed then: it was set forward between 2026"),
    ],
)
def test_no_answer_says_why(gap: Gap, text: str) -> None:
    assert text in view.no_answer(gap, "then", stamp)
