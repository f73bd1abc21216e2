from __future__ import annotations

import pytest

from agent.core.disagreement import explain
from agent.core.model import Policy, Reading
from tests.support.values import chronyd, redis

POLICY = Policy(offset_warning=0.1, offset_critical=2.0)
CACHE_FINE = redis(0.001, name="cache")


@pytest.mark.parametrize(
    ("readings", "blamed", "cause", "says"),
    [
        (
            (chronyd(-5.0, 0.0003),),
            ("chronyd",),
            "behind",
            "this clock is -5000.0 ms behind (slow) according to chronyd,"
            " error at most 5000.3 ms (above the critical limit of 2 s)",
        ),
        (
            (redis(0.15, 0.001),),
            ("locks",),
            "ahead",
            "this clock is +150.0 ms ahead (fast) according to Redis locks,"
            " error at most 151.0 ms (above the warning limit of 100 ms)",
        ),
        (
            (chronyd(5.0, 0.001), redis(5.1, 0.001)),
            ("chronyd", "locks"),
            "ahead",
            "this clock is +5100.0 ms ahead (fast) according to Redis locks, error at most"
            " 5101.0 ms (above the critical limit of 2 s);"
            " chronyd: +5000.0 ms ahead (fast), error at most 5001.0 ms",
        ),
        (
            (chronyd(0.000013, 0.0003), redis(1320.0)),
            ("locks",),
            "disagreement",
            "chronyd vouches for this clock (+0.013 ms ahead (fast), error at most 0.313 ms);"
            " Redis locks says this clock is +1320000.0 ms (22 min) ahead (fast):"
            " suspect the clock of the Redis server locks, or chronyd's own servers",
        ),
        (
            (chronyd(-5.0), redis(0.001)),
            ("chronyd",),
            "disagreement",
            "chronyd says this clock is -5000.0 ms behind (slow);"
            " Redis locks says this clock is +1.000 ms ahead (fast): suspect this clock first,"
            " then chronyd's own servers and the clock of the Redis server locks",
        ),
        (
            (redis(5.0), CACHE_FINE),
            ("locks",),
            "disagreement",
            "Redis locks says this clock is +5000.0 ms ahead (fast) and Redis cache says this"
            " clock is +1.000 ms ahead (fast): suspect the clock of the Redis servers locks and"
            " cache; no further source tells which is right",
        ),
        (
            (chronyd(0.0), redis(5.0), CACHE_FINE),
            ("locks",),
            "disagreement",
            "chronyd and Redis cache vouch for this clock (0.000 ms (neither ahead nor behind),"
            " error at most 0.300 ms); the odd one out: Redis locks says this clock is"
            " +5000.0 ms ahead (fast): suspect the clock of the Redis server locks",
        ),
        (
            (chronyd(5.0), redis(0.002), CACHE_FINE),
            ("chronyd",),
            "disagreement",
            "Redis locks and Redis cache vouch for this clock (+2.000 ms ahead (fast), error at"
            " most 2.300 ms); the odd one out: chronyd says this clock is +5000.0 ms ahead"
            " (fast): suspect chronyd's own servers",
        ),
        (
            (chronyd(5.0), redis(5.0), CACHE_FINE),
            ("chronyd", "locks"),
            "ahead",
            "this clock is +5000.0 ms ahead (fast) according to chronyd, error at most"
            " 5000.3 ms (above the critical limit of 2 s); Redis locks: +5000.0 ms ahead (fast),"
            " error at most 5000.3 ms; the odd one out: Redis cache says this clock is"
            " +1.000 ms ahead (fast)",
        ),
    ],
)
def test_the_suspect_is_named_with_the_reason(
    readings: tuple[Reading, ...], blamed: tuple[str, ...], cause: str, says: str
) -> None:
    story = explain(POLICY, readings, blamed)
    assert story.cause == cause
    assert story.summary == says
    assert story.advice


def test_nobody_is_told_to_step_a_clock_that_chronyd_vouches_for() -> None:
    story = explain(POLICY, (chronyd(0.0), redis(1320.0)), ("locks",))
    assert story.advice[0].startswith("do not step this clock")
