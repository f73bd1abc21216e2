from __future__ import annotations

from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.forecast import judge_drift, margins
from agent.core.model import Finding, Policy, Protect, Trend, Verdict
from tests.support.values import redis, seen

POLICY = Policy(
    offset_warning=0.1,
    offset_critical=2.0,
    protects=(Protect("slow-lock", 7200.0), Protect("payouts", 1200.0)),
)
OK, WARNING, CRITICAL = Verdict.OK, Verdict.WARNING, Verdict.CRITICAL


def trend(
    rate: float,
    offset: float = 0.0,
    spread: float = 5.0,
    span: float = 3600.0,
    source: str = "locks",
    uncertainty: float = 0.0005,
) -> Trend:
    """A rate in ppm with ``spread`` to both sides."""
    return Trend(
        source=source,
        rate=rate,
        low=rate - spread,
        high=rate + spread,
        offset=offset,
        uncertainty=uncertainty,
        span=span,
    )


def judged(*trends: Trend) -> Finding:
    finding = judge_drift(POLICY, seen(None)._replace(trends=trends))
    assert finding is not None
    return finding


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("rate", "offset", "spread", "span", "verdict"),
    [
        (1389.0, 0.417, 5.0, 300.0, CRITICAL),
        (561.0, 0.0, 5.0, 3600.0, CRITICAL),  # 556 ppm at the slow end: just within the hour
        (560.0, 0.0, 5.0, 3600.0, WARNING),
        (98.0, 0.0, 5.0, 3600.0, WARNING),  # 93 ppm at the slow end: just within six hours
        (97.0, 0.0, 5.0, 3600.0, OK),
        (500.0, 0.0, 499.0, 3600.0, OK),  # it may as well be 1 ppm
        (500.0, 0.0, 501.0, 3600.0, OK),  # or nothing at all
        (120.0, 0.0, 5.0, 300.0, OK),  # five minutes are not good for five hours
        (10.0, 0.0, 5.0, 3600.0, OK),
        (100.0, 1.9, 5.0, 3600.0, CRITICAL),  # not fast, but nearly there
        (1389.0, -0.5, 5.0, 300.0, OK),  # on its way back
        (1389.0, -0.0004, 5.0, 300.0, CRITICAL),  # may be past zero already
        (1389.0, 5.0, 5.0, 300.0, CRITICAL),  # beyond the limit, and going on
        (5e-324, 0.0, 0.0, 3600.0, OK),  # no drift, however it is written
        (1.0, 5.0, 0.5, 3600.0, OK),  # beyond it, and staying there: the offset is told already
    ],
)
def test_the_slowest_possible_drift_decides(
    rate: float, offset: float, spread: float, span: float, verdict: Verdict, sign: int
) -> None:
    assert judged(trend(sign * rate, sign * offset, spread, span)).verdict is verdict


@given(st.floats(-3000, 3000), st.floats(-4, 4), st.floats(0, 500), st.floats(0, 500))
def test_a_wider_interval_is_never_judged_worse(
    rate: float, offset: float, less: float, more: float
) -> None:
    narrow, wide = judged(trend(rate, offset, less)), judged(trend(rate, offset, less + more))
    assert wide.verdict <= narrow.verdict


def test_without_a_trend_there_is_no_finding() -> None:
    assert judge_drift(POLICY, seen(redis(0.0))) is None


def test_the_forecast_names_the_rate_the_time_left_and_the_beginning() -> None:
    finding = judged(trend(1389.0, 0.417, 5.0, 300.0))
    assert finding.cause == "gaining"
    assert finding.summary == (
        "this clock gains 2 min a day by Redis locks: it crosses 2 s in 19 min at"
        " +1389 ppm (+1384 to +1394); wrong since about 5 min ago if it always drifted like this"
    )
    assert finding.advice


def test_a_clock_that_loses_is_told_so() -> None:
    finding = judged(trend(-1389.0, -2.5))
    assert finding.cause == "losing"
    assert finding.summary == (
        "this clock loses 2 min a day by Redis locks: it is past 2 s already, at"
        " -1389 ppm (-1394 to -1384); wrong since about 30 min ago if it always drifted like this"
    )


def test_after_eleven_days_the_beginning_is_eleven_days_ago() -> None:
    assert "wrong since about 11 d ago" in judged(trend(1389.0, 1320.0)).summary


def test_a_steady_clock_is_told_with_its_rate() -> None:
    finding = judged(trend(0.3, spread=1.0), trend(-0.2, spread=0.1, source="chronyd"))
    assert (finding.verdict, finding.cause) == (OK, "steady")
    assert finding.summary == (
        "Redis locks sees this clock drift by +0.3 ppm (-0.7 to +1.3);"
        " chronyd sees this clock drift by -0.2 ppm (-0.3 to -0.1)"
    )


def test_a_source_that_sees_no_such_drift_is_heard() -> None:
    finding = judged(trend(1389.0, 0.4), trend(0.1, spread=0.5, source="chronyd"))
    assert (finding.verdict, finding.cause) == (CRITICAL, "disagreement")
    assert finding.summary.endswith(
        "; but chronyd sees this clock drift by +0.1 ppm (-0.4 to +0.6)"
    )


def test_the_trend_that_ends_soonest_decides() -> None:
    finding = judged(trend(100.0, 0.1), trend(90.0, 1.95, source="cache"))
    assert finding.verdict is CRITICAL
    assert "by Redis cache" in finding.summary


@pytest.mark.parametrize(
    ("trends", "left"),
    [
        ((), None),
        ((trend(1389.0, 0.417),), (1200.0 - 0.417) / 1389e-6),
        ((trend(-1389.0, 0.417),), None),  # on its way back
        ((trend(10.0, 0.417),), None),  # in four years
        ((trend(0.0, 0.417),), None),
    ],
)
def test_a_margin_runs_out_at_the_present_drift(
    trends: tuple[Trend, ...], left: Optional[float]
) -> None:
    smallest, _ = margins(POLICY, redis(0.417), trends)
    assert smallest.protect.name == "payouts"
    assert smallest.left == (left if left is None else pytest.approx(left))


def test_margins_are_told_smallest_first_with_what_is_used_and_what_is_left() -> None:
    told = [str(each) for each in margins(POLICY, redis(0.417, 0.0), (trend(1389.0, 0.417),))]
    assert told == [
        "an error of up to 417.0 ms, by Redis locks, uses under 1 % of the 20 min margin of"
        " payouts, and all of it in 10 d at the present drift",
        "an error of up to 417.0 ms, by Redis locks, uses under 1 % of the 2 h margin of slow-lock",
    ]


def test_a_margin_that_is_used_up_has_no_time_left_to_tell() -> None:
    smallest, _ = margins(POLICY, redis(1320.0, 0.0), (trend(1389.0, 1320.0),))
    assert smallest.left is None
    assert "uses 110 % of the 20 min margin of payouts" in str(smallest)


def test_without_a_reading_no_margin_is_told() -> None:
    assert margins(POLICY, None, ()) == ()
