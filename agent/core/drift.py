"""Owns how fast the clock drifts: a rate, with the interval that holds it, from trusted readings.

Every reading says that the true offset lies within its interval. A rate is possible when some line
through all intervals has it, so the bounds of the rate are as honest as the readings, and noise
within their uncertainty can never look like drift. Going back in time, readings are taken in as
long as such a line exists: where it ends, the clock moved differently, and older readings say
nothing about now. So the second reading after a change already gives the new rate, and a single
false reading gives none.
"""

from __future__ import annotations

import math

from agent.core.model import Reading, Trend
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Optional, Sequence, Tuple

#: Seconds of readings a rate is taken from, and how many at most.
WINDOW = 3600.0
MOST_POINTS = 60
#: Seconds below which a rate is the wiggle of a moment (chronyd may slew at 8 % for a while).
SHORTEST_SPAN = 120.0
#: Seconds by which clocks that are kept in step leave a straight line: temperature, the
#: reference's own corrections. Added to the uncertainty of each reading.
WIGGLE = 0.001
#: ppm. An interval wider than this that does not exclude zero says nothing worth a number.
WIDEST = 100.0
_PPM = 1e6


class Point(NamedTuple):
    """One reading as far as drift is concerned: seconds."""

    taken_at: float
    offset: float
    uncertainty: float


class Track(NamedTuple):
    """The recent readings of one source, oldest first; nothing in it is older than a step."""

    source: str
    points: Tuple[Point, ...] = ()


def follow(tracks: Sequence[Track], readings: Iterable[Reading]) -> Tuple[Track, ...]:
    """``tracks`` with ``readings`` added, of one cycle or of many in the order they were taken.

    After a step or a suspend begin again with no tracks: what was measured before it is measured
    against another clock. A source that gives no readings keeps its points until they are old.
    """
    known: Dict[str, Tuple[Point, ...]] = {track.source: track.points for track in tracks}
    newest = max((p[-1].taken_at for p in known.values()), default=-math.inf)
    for reading in readings:
        points = known.get(reading.source, ())
        point = Point(reading.taken_at, reading.offset, reading.uncertainty)
        if not points or point.taken_at > points[-1].taken_at:
            known[reading.source] = (*points, point)[-MOST_POINTS:]
            newest = max(newest, point.taken_at)
    fresh = (
        Track(source, tuple(p for p in points if newest - p.taken_at <= WINDOW))
        for source, points in known.items()
    )
    return tuple(track for track in fresh if track.points)


def trends(tracks: Sequence[Track], boottime: float) -> Tuple[Trend, ...]:
    """The rates that the readings at ``boottime`` (the start of a cycle) or later complete.

    A source that was silent in this cycle, or whose readings do not yet make a line, has none.
    """
    found = (trend(track) for track in tracks if track.points[-1].taken_at >= boottime)
    return tuple(each for each in found if each is not None)


def trend(track: Track) -> Optional[Trend]:
    """The rate of the longest straight line that ends in the newest reading, if long enough."""
    newest, (low, high, span) = track.points[-1], longest_line(track.points)
    if span < SHORTEST_SPAN:
        return None
    return Trend(
        source=track.source,
        rate=(low + high) / 2 * _PPM,
        low=low * _PPM,
        high=high * _PPM,
        offset=newest.offset,
        uncertainty=newest.uncertainty,
        span=span,
    )


class Line(NamedTuple):
    """Where a straight line may go that ends in a point and passes through all before it."""

    #: The slowest and the fastest rate it may have, in seconds per second.
    low: float
    high: float
    #: Seconds from its first point to its last; 0 for a single point, which leaves all rates open.
    span: float


def longest_line(points: Sequence[Point]) -> Line:
    """The longest line through the newest of ``points``, which are oldest first."""
    low, high = -math.inf, math.inf
    line: List[Point] = []
    for point in reversed(points):
        slowest, fastest = _narrowed(low, high, point, line)
        if slowest > fastest:
            break
        low, high = slowest, fastest
        line.append(point)
    return Line(low, high, line[0].taken_at - line[-1].taken_at)


def _narrowed(low: float, high: float, point: Point, line: Sequence[Point]) -> Tuple[float, float]:
    """The rates (s/s) from ``low`` to ``high`` that also lead from ``point`` to all of ``line``."""
    began, offset, uncertainty = point
    for taken_at, later, beside in line:
        rise, time = later - offset, taken_at - began
        slack = uncertainty + beside + 2 * WIGGLE
        low = max(low, (rise - slack) / time)
        high = min(high, (rise + slack) / time)
    return low, high


def host_rate(known: Sequence[Trend]) -> Optional[float]:
    """The one rate (ppm) the host is said to have: the best known one; None when none is known."""
    best = min(known, key=lambda each: each.high - each.low, default=None)
    if best is None:
        return None
    proven = best.low > 0 or best.high < 0
    return best.rate if proven or best.high - best.low <= WIDEST else None
