"""Owns drawing offsets over time with nothing but printable ASCII: no colour, any width from 40.

The thresholds are always in the picture, so that one look tells how near the clock came to them.
"""

from __future__ import annotations

import math
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from agent.core import wording

#: Columns for the numbers of the vertical axis.
_MARGIN = 12
_NARROWEST = 40
#: Odd, so that nothing at all has a row of its own in the middle.
_ROWS = 19
#: Lines that explain marks; what is more is counted.
_MOST_EXPLAINED = 12
_NICE = (1.0, 2.0, 5.0, 10.0)


class Point(NamedTuple):
    """One cycle: when it was, and the offset and its uncertainty in seconds if they are known."""

    time: float
    offset: Optional[float]
    uncertainty: float = 0.0


class Mark(NamedTuple):
    """Something to be marked below the time axis, with one sentence that explains it."""

    time: float
    letter: str
    what: str


class _Frame(NamedTuple):
    """What a cell of the picture stands for."""

    begin: float
    end: float
    low: float
    high: float
    columns: int

    def column(self, time: float) -> int:
        part = (time - self.begin) / (self.end - self.begin) if self.end > self.begin else 0.5
        return min(self.columns - 1, max(0, int(part * self.columns)))

    def row(self, value: float) -> int:
        """0 is the top; a value outside lands on the border."""
        part = (self.high - value) / (self.high - self.low)
        return min(_ROWS - 1, max(0, int(part * _ROWS)))


def draw(
    points: Sequence[Point],
    marks: Sequence[Mark],
    warning: float,
    critical: float,
    tick: Callable[[float], str],
    width: int = 80,
) -> List[str]:
    """The picture as lines of at most ``width`` columns; ``tick`` writes a time in a few letters.

    ``*`` is an offset, ``:`` its uncertainty, ``-`` and ``=`` are the warning and the critical
    threshold, and ``?`` below the axis is a time without any offset.
    """
    if not points:
        return ["nothing to draw"]
    width = max(width, _NARROWEST)
    frame = _frame(points, warning, critical, width - _MARGIN)
    cells = [[" "] * frame.columns for _ in range(_ROWS)]
    for limit, line in ((0.0, "."), (warning, "-"), (critical, "=")):
        for value in (limit, -limit):
            if frame.low <= value <= frame.high:
                cells[frame.row(value)] = [line] * frame.columns
    _plot(cells, frame, points)
    labels = _labels(frame)
    lines = ["offset, ms".rjust(_MARGIN)]
    lines += [
        labels.get(n, "").rjust(_MARGIN - 1) + "|" + "".join(row) for n, row in enumerate(cells)
    ]
    lines += _below(frame, points, marks, tick)
    lines += [wording.plain(line, width) for line in _explained(marks, tick)]
    limits = f"- warning {warning * 1000:g} ms, = critical {critical * 1000:g} ms, either way"
    lines.append(limits + ("; critical is off the chart" if _beyond(frame, critical) else ""))
    return [line.rstrip() for line in lines]


def _beyond(frame: _Frame, limit: float) -> bool:
    return limit > frame.high and -limit < frame.low


def _frame(points: Sequence[Point], warning: float, critical: float, columns: int) -> _Frame:
    offsets = [point.offset for point in points if point.offset is not None]
    high, low = max([warning, *offsets]), min([-warning, *offsets])
    if high > warning:
        high = max(high, critical)
    if low < -warning:
        low = min(low, -critical)
    room = (high - low) / _ROWS
    times = [point.time for point in points]
    return _Frame(min(times), max(times), low - room, high + room, columns)


def _plot(cells: List[List[str]], frame: _Frame, points: Sequence[Point]) -> None:
    """Offsets over their uncertainties: a narrow doubt must not hide behind a wide one."""
    spans: Dict[int, Tuple[int, int]] = {}
    for point in points:
        if point.offset is None:
            continue
        column, row = frame.column(point.time), frame.row(point.offset)
        top = frame.row(point.offset + point.uncertainty)
        for each in range(top, frame.row(point.offset - point.uncertainty) + 1):
            if each != row:
                cells[each][column] = ":"
        before = spans.get(column, (row, row))
        spans[column] = (min(before[0], row), max(before[1], row))
    for column, (top, bottom) in spans.items():
        for each in range(top, bottom + 1):
            cells[each][column] = "*"


def _labels(frame: _Frame) -> Dict[int, str]:
    """Round numbers of milliseconds for some of the rows."""
    low, high = frame.low * 1000, frame.high * 1000
    rough = (high - low) / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in _NICE if nice * power >= rough)
    digits = max(0, -math.floor(math.log10(step)))
    first = math.ceil(low / step)
    values = [number * step for number in range(first, math.floor(high / step) + 1)]
    return {frame.row(v / 1000): f"{v:+.{digits}f}" if v else "0" for v in values}


def _free(marked: Sequence[str], column: int) -> int:
    """The column for one more mark: the next one that is free, so that each is seen."""
    after = (n for n in range(column, len(marked)) if marked[n] in " ?")
    before = (n for n in range(column, -1, -1) if marked[n] in " ?")
    return next(after, next(before, column))


def _below(
    frame: _Frame,
    points: Sequence[Point],
    marks: Sequence[Mark],
    tick: Callable[[float], str],
) -> List[str]:
    """The time axis, and what is marked below it."""
    ruler, names = ["-"] * frame.columns, [" "] * (frame.columns + _MARGIN)
    free = 0
    for column in range(0, frame.columns, max(16, frame.columns // 4)):
        time = frame.begin + (frame.end - frame.begin) * (column + 0.5) / frame.columns
        label = tick(time)
        ruler[column] = "+"
        if column >= free and column + len(label) <= frame.columns:
            names[column : column + len(label)] = label
            free = column + len(label) + 1
    marked = [" "] * frame.columns
    known = {frame.column(point.time) for point in points if point.offset is not None}
    for point in points:
        if frame.column(point.time) not in known:
            marked[frame.column(point.time)] = "?"
    for mark in marks:
        marked[_free(marked, frame.column(mark.time))] = mark.letter
    indent = " " * (_MARGIN - 1)
    lines = [f"{indent}+{''.join(ruler)}", f"{indent} {''.join(names)}"]
    if any(letter != " " for letter in marked):
        lines.append(f"{indent} {''.join(marked)}")
    if "?" in marked:
        lines.append("? no source was trusted")
    return lines


def _explained(marks: Sequence[Mark], tick: Callable[[float], str]) -> List[str]:
    """What the marks mean."""
    lines = [f"{mark.letter} {tick(mark.time)} {mark.what}" for mark in marks[:_MOST_EXPLAINED]]
    if len(marks) > _MOST_EXPLAINED:
        lines.append(f"and {len(marks) - _MOST_EXPLAINED} more")
    return lines
