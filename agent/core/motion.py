"""Owns what may be believed of a clock between and beyond the moments at which it is known.

A clock keeps its rate until something happens to it: chronyd dies, comes back and slews, or a
source turns out to be wrong. So between two readings the rate may have been anything from what it
was before the first to what it was after the second, and what that leaves open is the uncertainty.
Where the clock has moved as neither side explains, all that is sure is that it went from one
reading to the other.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, NamedTuple, Optional, Sequence, Tuple

from agent.core.drift import MOST_POINTS, Point, longest_line

#: Seconds of readings on one side that tell the rate there.
BASE = 1800.0


class _Rate(NamedTuple):
    """A rate and the interval that holds it, in seconds per second."""

    low: float
    middle: float
    high: float
    #: False when a single point tells none, and none but the oscillator's own wander is assumed.
    seen: bool


class Motion:
    """One clock during one boot, against CLOCK_BOOTTIME."""

    def __init__(self, known: Sequence[Point], wander: float) -> None:
        """``known``, oldest first: ``offset`` is here the true time minus the boottime.

        ``wander``: how much the rate of the oscillator may change by itself, in s/s.
        """
        self._known = known
        self._times = [point.taken_at for point in known]
        self._wander = wander
        #: (number of the point, towards the past) -> the rate on that side of it.
        self._rates: Dict[Tuple[int, bool], _Rate] = {}

    def around(self, boottime: float) -> Tuple[Optional[int], Optional[int]]:
        """The numbers of the last point until ``boottime`` and of the first after it."""
        position = bisect_right(self._times, boottime)
        return position - 1 if position else None, position if position < len(self._times) else None

    def at(self, boottime: float) -> Optional[Tuple[float, float]]:
        """True time minus boottime at ``boottime``, give or take; None when nothing is known."""
        before, after = self.around(boottime)
        if before is None and after is None:
            return None
        if before is None or after is None:
            return self._beyond(before, after, boottime)
        return self._between(before, after, boottime)

    def _between(self, before: int, after: int, boottime: float) -> Tuple[float, float]:
        """On the line between two points, and as far from it as the rates on both sides allow."""
        a, b = self._known[before], self._known[after]
        gone, left = boottime - a.taken_at, b.taken_at - boottime
        lead, follow = self._rate(before, True), self._rate(after, False)
        sides = [rate for rate in (lead, follow) if rate.seen] or [lead, follow]
        low, high = min(rate.low for rate in sides), max(rate.high for rate in sides)
        span = gone + left
        if _upper(a) + high * span >= _lower(b) and _lower(a) + low * span <= _upper(b):
            upper = min(_upper(a) + high * gone, _upper(b) - low * left)
            lower = max(_lower(a) + low * gone, _lower(b) - high * left)
        else:  # it went on as before, then something happened, then it was as it is after
            upper = max(_upper(a) + lead.high * gone, _upper(b) - follow.low * left)
            lower = min(_lower(a) + lead.low * gone, _lower(b) - follow.high * left)
        middle = a.offset + gone / span * (b.offset - a.offset)
        return middle, max(upper - middle, middle - lower)

    def _beyond(
        self, before: Optional[int], after: Optional[int], boottime: float
    ) -> Tuple[float, float]:
        """From points on one side: the rate there is taken to go on."""
        number = before if before is not None else after or 0
        nearest, rate = self._known[number], self._rate(number, before is not None)
        away = boottime - nearest.taken_at
        rough = (rate.high - rate.low) / 2
        return nearest.offset + rate.middle * away, nearest.uncertainty + rough * abs(away)

    def _rate(self, number: int, past: bool) -> _Rate:
        """What the rate was just before this point (``past``) or just after it, and may become by
        itself."""
        key = (number, past)
        if key not in self._rates:
            if past:
                side = self._known[max(0, number + 1 - MOST_POINTS) : number + 1]
            else:  # time runs backwards for the one, so that the line ends in this point, too
                side = [
                    point._replace(taken_at=-point.taken_at)
                    for point in reversed(self._known[number : number + MOST_POINTS])
                ]
            self._rates[key] = self._agreed(side, 1.0 if past else -1.0)
        return self._rates[key]

    def _agreed(self, side: Sequence[Point], direction: float) -> _Rate:
        line = longest_line([p for p in side if side[-1].taken_at - p.taken_at <= BASE])
        if not line.span:
            return _Rate(-self._wander, 0.0, self._wander, seen=False)
        low, high = sorted((line.low * direction, line.high * direction))
        return _Rate(low - self._wander, (low + high) / 2, high + self._wander, seen=True)


def _upper(point: Point) -> float:
    return point.offset + point.uncertainty


def _lower(point: Point) -> float:
    return point.offset - point.uncertainty
