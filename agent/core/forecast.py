"""Owns looking ahead: when a clock that drifts will have left its limits and used up its margins.

The condition ``drift`` is judged by the slowest drift that is possible; times told to people are
those of the likeliest.
"""

from __future__ import annotations

import math

from agent.core import wording
from agent.core.model import Finding, Observations, Policy, Protect, Reading, Trend, Verdict
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Optional, Sequence, Tuple

#: Seconds to the critical offset, below which the slowest possible drift is critical, a warning.
CRITICAL_WITHIN = 3600.0
WARNING_WITHIN = 6 * 3600.0
#: No further ahead than this many times as far as was looked back: a rate seen for five minutes is
#: not good for six hours, and a small jump between two readings is not a drift.
_FORESIGHT = 24.0
#: Seconds: a margin that lasts longer at the present drift is not worth a word.
_FAR_AWAY = 30 * 86_400.0
_PPM = 1e-6
_SECONDS_A_DAY = 86_400.0
_ADVICE = (
    "chronyc -n tracking  # `Frequency` and `Leap status`: is chronyd steering this clock at all?",
    "bring the time service back if it is down (conditions service and sync)",
)
_COMPARE = (
    "chronyc -n tracking  # on the Redis server's host: is that clock being steered?",
    "clock-agent check  # on another host: the same drift there clears this clock",
)


class _Course(NamedTuple):
    """A trend seen in the direction it goes: everything positive means away from the truth."""

    trend: Trend
    #: Seconds: how far the clock is off in that direction, at least and at best guess.
    least: float
    offset: float
    #: Rates in seconds per second: the slowest possible, and the best guess.
    slowest: float
    rate: float


def judge_drift(policy: Policy, seen: Observations) -> Optional[Finding]:
    """The trend that takes the clock out of its limits soonest decides.

    None when no rate is known: a single look cannot see a drift, and neither can the first
    readings after a start, a step or a suspend.
    """
    if not seen.trends:
        return None
    courses = [course for course in map(_away, seen.trends) if course is not None]
    worst = min(courses, key=lambda c: _time_left(policy, c), default=None)
    verdict = Verdict.OK if worst is None else _verdict(_time_left(policy, worst))
    if worst is None or verdict is Verdict.OK:
        return Finding(
            condition="drift",
            verdict=Verdict.OK,
            cause="steady",
            summary="; ".join(_steady(each) for each in seen.trends),
        )
    against = [t for t in seen.trends if t.low > worst.trend.high or t.high < worst.trend.low]
    cause = "gaining" if worst.trend.rate > 0 else "losing"
    told = [_running_away(policy, worst), *(f"but {_steady(each)}" for each in against)]
    return Finding(
        condition="drift",
        verdict=verdict,
        cause="disagreement" if against else cause,
        summary="; ".join(told),
        advice=(*_COMPARE, *_ADVICE) if against else _ADVICE,
    )


class Margin(NamedTuple):
    """What is left of the error that something on this host survives."""

    protect: Protect
    #: The reading whose error bound is compared with the margin.
    reading: Reading
    #: Share of the margin that its error bound uses up, 1.0 = all of it.
    used: float
    #: Seconds until it is used up at the present drift; None when it is not, within a month.
    left: Optional[float]

    def __str__(self) -> str:
        told = (
            f"an error of up to {wording.bound(self.reading.upper)}, by"
            f" {wording.source(self.reading.source)}, uses {wording.percent(self.used)} of the"
            f" {wording.duration(self.protect.margin)} margin of"
            f" {wording.plain(self.protect.name, 60)}"
        )
        if self.left is None:
            return told
        return f"{told}, and all of it in {wording.duration(self.left)} at the present drift"


def margins(
    policy: Policy, taken: Optional[Reading], trends: Sequence[Trend]
) -> Tuple[Margin, ...]:
    """The margins of all that depends on this clock, smallest first; none without a reading."""
    if taken is None:
        return ()
    return tuple(
        Margin(
            protect=protect,
            reading=taken,
            used=taken.upper / protect.margin if protect.margin > 0 else math.inf,
            left=_left(protect, trends) if taken.upper < protect.margin else None,
        )
        for protect in sorted(policy.protects, key=lambda each: each.margin)
    )


def _left(protect: Protect, trends: Sequence[Trend]) -> Optional[float]:
    courses = [course for course in map(_away, trends) if course is not None]
    times = [max(0.0, protect.margin - course.offset) / course.rate for course in courses]
    soonest = min(times, default=math.inf)
    return soonest if soonest < _FAR_AWAY else None


def _away(trend: Trend) -> Optional[_Course]:
    """``trend`` as a course away from the truth; None when it may be standing still, or when it
    certainly leads back: chronyd slewing a correction down is not a drift."""
    if trend.low * _PPM <= 0 <= trend.high * _PPM:  # as a ratio, the smallest numbers are 0
        return None
    sign = 1.0 if trend.low > 0 else -1.0
    ahead = sign * trend.offset
    if ahead + trend.uncertainty < 0:
        return None
    slowest = trend.low if sign > 0 else -trend.high
    return _Course(
        trend=trend,
        least=max(0.0, ahead - trend.uncertainty),
        offset=max(0.0, ahead),
        slowest=slowest * _PPM,
        rate=sign * trend.rate * _PPM,
    )


def _time_left(policy: Policy, course: _Course) -> float:
    """Seconds to the critical offset, or to being off by as much again, at the slowest rate.

    Infinite when that is further ahead than the readings allow to look.
    """
    critical = policy.offset_critical
    distance = critical - course.least if course.least < critical else critical
    left = distance / course.slowest
    return left if left <= course.trend.span * _FORESIGHT else math.inf


def _verdict(time_left: float) -> Verdict:
    if time_left < CRITICAL_WITHIN:
        return Verdict.CRITICAL
    return Verdict.WARNING if time_left < WARNING_WITHIN else Verdict.OK


def _running_away(policy: Policy, course: _Course) -> str:
    """``this clock gains ... (+1389 ppm) by Redis locks: crosses 2 s in 21 min``."""
    trend, limit = course.trend, wording.duration(policy.offset_critical)
    verb = "gains" if trend.rate > 0 else "loses"
    a_day = wording.duration(course.rate * _SECONDS_A_DAY)
    if course.offset < policy.offset_critical:
        left = (policy.offset_critical - course.offset) / course.rate
        when = f"crosses {limit} in {wording.duration(left)} at {_rate(trend)}"
    else:
        when = f"is past {limit} already, at {_rate(trend)}"
    began = wording.duration(course.offset / course.rate)
    return (
        f"this clock {verb} {a_day} a day by {wording.source(trend.source)}: it {when};"
        f" wrong since about {began} ago if it always drifted like this"
    )


def _steady(trend: Trend) -> str:
    return f"{wording.source(trend.source)} sees this clock drift by {_rate(trend)}"


def _rate(trend: Trend) -> str:
    """``+1389 ppm (+1384 to +1394)``."""
    return f"{wording.ppm(trend.rate)} ppm ({_limits(trend)})"


def _limits(trend: Trend) -> str:
    low, high = wording.ppm(trend.low), wording.ppm(trend.high)
    return f"{low} to {high}"
