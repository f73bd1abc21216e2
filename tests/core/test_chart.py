"""Offsets drawn with letters: what is in the picture, and that it fits."""

from __future__ import annotations

import time
from typing import List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.chart import Mark, Point, draw


def tick(moment: float) -> str:
    return time.strftime("%H:%M", time.gmtime(moment))


def drawn(points: List[Point], marks: List[Mark], width: int = 80) -> List[str]:
    return draw(points, marks, 0.1, 2.0, tick, width)


def test_a_drift_to_an_alert_and_a_step_back() -> None:
    points = [Point(n * 300.0, n * 0.1) for n in range(30)]
    points += [Point(n * 300.0, 0.0) for n in range(30, 36)]
    marks = [Mark(3600.0, "!", "raise warning, offset: fast"), Mark(9000.0, "S", "step: set back")]
    assert drawn(points, marks, 60) == [
        "  offset, ms",
        "      +3000|                                       *",
        "           |                                      *",
        "           |                                   * *",
        "      +2500|                                * *",
        "           |                              **",
        "           |                            *",
        "      +2000|==========================**====================",
        "           |                       **",
        "      +1500|                    **",
        "           |                   *",
        "           |                **",
        "      +1000|             * *",
        "           |          * *",
        "           |         *",
        "       +500|      * *",
        "           |    **",
        "           |-**---------------------------------------------",
        "          0|*........................................***.***",
        "           |------------------------------------------------",
        "           ++---------------+---------------+---------------",
        "            00:01           01:00           01:58",
        "                            !                        S",
        "! 01:00 raise warning, offset: fast",
        "S 02:30 step: set back",
        "- warning 100 ms, = critical 2000 ms, either way",
    ]


def test_the_thresholds_are_in_the_picture_when_all_is_well() -> None:
    lines = drawn([Point(0.0, 0.0), Point(3600.0, 0.0)], [])
    assert [line[11:13] for line in lines if "+100|" in line or "-100|" in line] == ["|-", "|-"]
    assert "critical is off the chart" in lines[-1]


def test_a_slow_clock_goes_down() -> None:
    lines = drawn([Point(0.0, 0.0), Point(3600.0, -5.0)], [])
    assert lines[1].startswith("           |") or "0|" in lines[1]
    lowest = max(n for n, line in enumerate(lines) if "*" in line)
    assert lines[lowest].endswith("*")


def test_uncertainty_is_drawn_around_the_offset() -> None:
    column = [line[12:13] for line in drawn([Point(0.0, 0.0, 0.05), Point(9.0, 0.0)], [])]
    assert column.count("*") == 1
    assert column.count(":") >= 4


def test_a_time_without_any_offset_is_marked() -> None:
    lines = drawn([Point(0.0, 0.0), *(Point(n * 60.0, None) for n in range(1, 60))], [])
    assert "??????" in lines[-3]
    assert "? no source was trusted" in lines


def test_marks_of_one_moment_are_all_seen() -> None:
    marks = [Mark(1800.0, letter, "why") for letter in "ABC"]
    lines = drawn([Point(0.0, 0.0), Point(3600.0, 0.0)], marks)
    assert any("ABC" in line for line in lines)


def test_many_marks_are_counted() -> None:
    marks = [Mark(float(n), "!", "why") for n in range(40)]
    lines = drawn([Point(0.0, 0.0), Point(3600.0, 0.0)], marks)
    assert "and 28 more" in lines


def test_a_long_explanation_is_cut_where_the_chart_ends() -> None:
    lines = drawn([Point(0.0, 0.0), Point(3600.0, 0.0)], [Mark(60.0, "!", "why " * 40)], 60)
    (line,) = [line for line in lines if line.startswith("! 00:01 why")]
    assert len(line) == 60
    assert line.endswith("...")


def test_nothing_to_draw_is_said() -> None:
    assert drawn([], []) == ["nothing to draw"]


@pytest.mark.parametrize("width", [1, 40, 80, 200])
def test_a_chart_fits_where_it_is_shown(width: int) -> None:
    points = [Point(n * 300.0, (n % 7) * 0.3 - 1.0, 0.2) for n in range(300)]
    assert max(len(line) for line in drawn(points, [], width)[:-1]) <= max(width, 40)


offsets = st.none() | st.floats(-1e9, 1e9)


@given(
    st.lists(st.builds(Point, st.floats(0, 4e9), offsets, st.floats(0, 1e9)), max_size=30),
    st.lists(
        st.builds(Mark, st.floats(0, 4e9), st.sampled_from("S!o"), st.just("why")), max_size=20
    ),
    st.integers(0, 300),
)
def test_whatever_the_clock_did_there_is_a_chart_of_printable_ascii(
    points: List[Point], marks: List[Mark], width: int
) -> None:
    for line in draw(points, marks, 0.1, 2.0, tick, width):
        assert line.isascii()
        assert line.isprintable()
