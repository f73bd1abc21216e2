from __future__ import annotations

import math
import random
from typing import Callable, Iterator, NamedTuple, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import drift, judge
from agent.core.forecast import judge_drift
from agent.core.model import Policy, Reading, Standing, Transition, Trend, Verdict
from tests.support.values import redis, seen

POLICY = Policy(offset_warning=0.1, offset_critical=2.0)
INTERVAL, CONFIRM = 300.0, 30.0
#: The host of the incident gained 22 minutes in eleven days.
INCIDENT = 1389e-6

#: Seconds since the start -> (true offset, uncertainty, error of the measurement), in seconds.
Host = Callable[[float], tuple[float, float, float]]


def at(time: float, offset: float, uncertainty: float = 0.0003, source: str = "locks") -> Reading:
    return redis(offset, uncertainty, source)._replace(taken_at=time)


def trend_of(*readings: Reading) -> Optional[Trend]:
    (track,) = drift.follow((), readings)
    return drift.trend(track)


class Seen(NamedTuple):
    """One cycle of a simulated host."""

    time: float
    offset: float
    verdict: Optional[Verdict]
    transition: Optional[Transition]


def simulate(host: Host, duration: float) -> Iterator[Seen]:
    """The daemon's cycles on a host with one source, as far as the drift is concerned."""
    tracks: tuple[drift.Track, ...] = ()
    standing, time, off_run = Standing("drift"), 0.0, 0
    while time <= duration:
        offset, uncertainty, error = host(time)
        reading = at(time, offset + error, uncertainty)
        tracks = drift.follow(tracks, [reading])
        observations = seen(None)._replace(trends=drift.trends(tracks, time))
        finding = judge_drift(POLICY, observations)
        transition = None
        if finding is not None:
            standing, transition = judge.advance(POLICY, standing, finding, time)
        yield Seen(time, offset, finding.verdict if finding else None, transition)
        # the condition offset asks for two quick readings of its own when it is first off
        off_run = off_run + 1 if reading.lower > POLICY.offset_warning else 0
        soon = 0 < off_run < POLICY.consecutive or judge.pending(POLICY, (standing,))
        time += CONFIRM if soon else INTERVAL


def spoke_at(host: Host, duration: float = 7200.0) -> Seen:
    return next(cycle for cycle in simulate(host, duration) if cycle.transition)


def noisy(chance: random.Random, shortest: float = 0.001, longest: float = 0.05) -> float:
    """Half a round trip of ``shortest`` to ``longest`` seconds: what Redis is uncertain by."""
    return chance.uniform(shortest, longest) / 2


def test_two_readings_give_a_rate_with_the_interval_their_uncertainties_leave() -> None:
    trend = trend_of(at(0.0, 0.0, 0.001), at(300.0, 0.3, 0.003))
    assert trend is not None
    assert trend.rate == pytest.approx(1000.0)
    slack = (0.001 + 0.003 + 2 * drift.WIGGLE) / 300.0 * 1e6
    assert (trend.low, trend.high) == pytest.approx((1000.0 - slack, 1000.0 + slack))
    assert (trend.offset, trend.uncertainty, trend.span) == (0.3, 0.003, 300.0)


def test_one_reading_or_a_moment_gives_no_rate() -> None:
    assert trend_of(at(0.0, 0.0)) is None
    assert trend_of(at(0.0, 0.0), at(119.0, 1.0)) is None
    assert trend_of(at(0.0, 0.0), at(120.0, 1.0)) is not None


@given(
    st.floats(-2000e-6, 2000e-6),
    st.floats(-5, 5),
    st.lists(st.tuples(st.floats(1, 600), st.floats(0, 1), st.floats(-1, 1)), min_size=2),
)
def test_the_interval_holds_the_true_rate_whatever_the_noise(
    rate: float, start: float, samples: list[tuple[float, float, float]]
) -> None:
    time, readings = 0.0, []
    for pause, uncertainty, error in samples:
        time += pause
        measured = start + rate * time + error * uncertainty
        readings.append(at(time, measured, uncertainty))
    trend = trend_of(*readings)
    if trend is not None:
        assert trend.low <= rate * 1e6 <= trend.high
        assert trend.low <= trend.rate <= trend.high


@given(st.lists(st.tuples(st.floats(1, 600), st.floats(-1, 1), st.floats(0, 1)), max_size=12))
def test_a_clock_that_loses_is_seen_like_one_that_gains(
    samples: list[tuple[float, float, float]],
) -> None:
    time, readings = 0.0, [at(0.0, 0.0)]
    for pause, offset, uncertainty in samples:
        time += pause
        readings.append(at(time, offset, uncertainty))
    trend = trend_of(*readings)
    mirror = trend_of(*(r._replace(offset=-r.offset) for r in readings))
    if trend is None:
        assert mirror is None
    else:
        assert mirror is not None
        assert (mirror.low, mirror.high) == pytest.approx((-trend.high, -trend.low))


def test_more_readings_on_a_line_narrow_the_interval() -> None:
    readings = [at(300.0 * n, 1e-5 * 300.0 * n, 0.01) for n in range(13)]
    widths = [t.high - t.low for n in range(2, 14) if (t := trend_of(*readings[:n]))]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0] / 10


def test_readings_before_the_motion_changed_say_nothing_about_now() -> None:
    quiet = [at(300.0 * n, 0.0) for n in range(12)]
    trend = trend_of(*quiet, at(3600.0, 0.417))
    assert trend is not None
    assert trend.span == 300.0
    assert trend.rate == pytest.approx(1390.0)


def test_a_single_false_reading_gives_no_rate_once_the_next_one_is_right() -> None:
    readings = [at(300.0 * n, 0.0) for n in range(5)] + [at(1500.0, 1.0), at(1530.0, 0.0)]
    assert trend_of(*readings) is None


def test_old_readings_are_forgotten_and_their_number_is_bounded() -> None:
    tracks = drift.follow((), [at(5.0 * n, 0.0) for n in range(1000)])
    assert len(tracks[0].points) == drift.MOST_POINTS
    tracks = drift.follow(tracks, [at(5000.0 + drift.WINDOW + 1, 0.0)])
    assert len(tracks[0].points) == 1


def test_a_source_that_is_gone_for_long_is_forgotten() -> None:
    tracks = drift.follow((), [at(0.0, 0.0, source="gone"), at(0.0, 0.0)])
    tracks = drift.follow(tracks, [at(drift.WINDOW + 1, 0.0)])
    assert [track.source for track in tracks] == ["locks"]


def test_only_sources_that_answered_in_this_cycle_have_a_trend() -> None:
    both = [at(0.0, 0.0, source="cache"), at(0.0, 0.0)]
    tracks = drift.follow((), [*both, at(300.0, 0.0, source="cache"), at(300.0, 0.0)])
    assert [t.source for t in drift.trends(tracks, 300.0)] == ["cache", "locks"]
    tracks = drift.follow(tracks, [at(600.1, 0.0)])
    assert [t.source for t in drift.trends(tracks, 600.0)] == ["locks"]
    assert drift.trends(tracks, 900.0) == ()


def test_readings_given_back_after_a_restart_count_like_those_just_taken() -> None:
    readings = [at(300.0 * n, INCIDENT * 300.0 * n) for n in range(4)]
    one_by_one: tuple[drift.Track, ...] = ()
    for reading in readings:
        one_by_one = drift.follow(one_by_one, [reading])
    assert drift.follow((), readings) == one_by_one
    assert drift.follow(one_by_one, readings) == one_by_one


def test_the_rate_of_the_host_is_the_best_known_one() -> None:
    vague = Trend("cache", 300.0, 200.0, 400.0, 0.0, 0.0, 300.0)
    exact = Trend("locks", 1.0, 0.5, 1.5, 0.0, 0.0, 3600.0)
    useless = Trend("far", 0.0, -60.0, 60.0, 0.0, 0.0, 300.0)
    assert drift.host_rate((vague, exact)) == 1.0
    assert drift.host_rate((vague,)) == 300.0
    assert drift.host_rate((useless,)) is None
    assert drift.host_rate(()) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_the_incident_is_told_at_the_second_reading_confirmed_twice(sign: int) -> None:
    chance = random.Random(1)
    for _ in range(500):
        uncertainty = noisy(chance)

        def host(time: float, u: float = uncertainty) -> tuple[float, float, float]:
            return sign * INCIDENT * time, u, chance.uniform(-u, u)

        spoke = spoke_at(host)
        assert spoke.time == INTERVAL + 2 * CONFIRM
        assert abs(spoke.offset) < 0.6
        assert spoke.transition is not None
        assert spoke.transition.severity is Verdict.CRITICAL


def test_a_chronyd_that_dies_at_any_moment_is_told_long_before_two_seconds() -> None:
    """At most one interval, two confirmations, and what noise of 25 ms hides for a while."""
    chance = random.Random(2)
    for number in range(600):
        died = 3600.0 + number / 2

        def host(time: float, since: float = died) -> tuple[float, float, float]:
            u = noisy(chance)
            return INCIDENT * max(0.0, time - since), u, chance.uniform(-u, u)

        assert spoke_at(host).offset < 0.75


def quiet_hosts(number: int, make: Callable[[random.Random], Host]) -> None:
    """An hour of each host, without a word about drift."""
    chance = random.Random(3)
    for index in range(number):
        for cycle in simulate(make(chance), 3600.0):
            assert cycle.transition is None, (index, cycle)


def crystal(chance: random.Random) -> Host:
    """No time service: 10 ppm, seen through round trips of 1 to 50 ms."""
    rate = chance.uniform(-10e-6, 10e-6)

    def host(time: float) -> tuple[float, float, float]:
        u = noisy(chance)
        return rate * time, u, chance.uniform(-u, u)

    return host


def kept_by_chronyd(chance: random.Random) -> Host:
    """chronyd's normal wander: some milliseconds to and fro within minutes to hours."""
    size, period = chance.uniform(0.0, 0.01), chance.uniform(1000.0, 20000.0)
    phase, u = chance.uniform(0.0, 6.3), chance.uniform(0.0002, 0.03)

    def host(time: float) -> tuple[float, float, float]:
        wander = size * math.sin(time / period * 6.283 + phase)
        return wander, u, chance.uniform(-u, u)

    return host


def slewing(chance: random.Random) -> Host:
    """chronyd has found an error of up to 1.5 s and corrects it without a step."""
    start, lasting = chance.uniform(-1.5, 1.5), chance.uniform(60.0, 3000.0)
    found_at = chance.uniform(0.0, 2000.0)

    def host(time: float) -> tuple[float, float, float]:
        u = noisy(chance, 0.0005, 0.01)
        left = start * math.exp(-(time - found_at) / lasting) if time >= found_at else 0.0
        return left, u, chance.uniform(-u, u)

    return host


@pytest.mark.parametrize(
    ("number", "make"), [(4000, crystal), (3000, kept_by_chronyd), (3000, slewing)]
)
def test_ten_thousand_ordinary_hosts_are_quiet(
    number: int, make: Callable[[random.Random], Host]
) -> None:
    quiet_hosts(number, make)
