from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.alerts import compose
from agent.core.judge import assess
from agent.core.model import Alert, Observations, Policy, Protect, Transition, Verdict, Weight
from tests.support.values import LATE, chronyd, miss, redis, seen, service

POLICY = Policy(protects=(Protect("payout-reconciliation", 1200.0),))
#: 2026-08-24T02:22:14Z, as a clock that is 22 min ahead shows it.
LOCAL = 1787538134.0
INCIDENT = seen(
    miss(), redis(1320.0, 0.0004), state=service(Verdict.CRITICAL, "masked", Weight.AT_ONCE)
)


def alert(
    observations: Observations, condition: str, kind: str = "raise", lasted: float = 0.0
) -> Alert:
    """The message about one condition of one cycle."""
    findings = {f.condition: f for f in assess(POLICY, observations).findings}
    transition = Transition(
        condition=condition,
        kind=kind,
        severity=Verdict.CRITICAL,
        finding=findings[condition],
        since=LATE - lasted,
    )
    return compose(
        POLICY,
        observations,
        transition,
        alert_id="boot-1",
        host="worker-b12",
        wall=LOCAL,
        boottime=LATE,
        notes=("the clock was stepped by -1.0 s 3 min ago",),
        tags={"team": "payments"},
    )


def test_an_alert_explains_itself() -> None:
    assert alert(INCIDENT, "service") == Alert(
        id="boot-1",
        key="clock-agent/worker-b12/service",
        kind="raise",
        severity="critical",
        host="worker-b12",
        condition="service",
        summary="chrony.service is masked",
        cause="masked",
        evidence=(
            "chrony.service: loaded, active, running, enabled",
            "chronyd: no reading (not-running): chronyd is not running.",
            "Redis locks: +1320000.0 ms (22 min) ahead (fast) +/- 0.400 ms,"
            " error at most 1320000.4 ms (22 min)",
            "an error of up to 1320000.4 ms (22 min), by Redis locks, uses 110 % of the"
            " 20 min margin of payout-reconciliation",
            "the clock was stepped by -1.0 s 3 min ago",
        ),
        advice=(
            "stop the workers before `chronyc makestep` or starting chronyd:"
            " this clock will move 22 min back",
            "cure masked",
        ),
        lasted=0.0,
        local_time="2026-08-24T02:22:14.000Z",
        reference_time="2026-08-24T02:00:14.000Z",
        tags={"team": "payments"},
    )


@pytest.mark.parametrize(
    ("kind", "opening"),
    [
        ("raise", "chrony.service is masked"),
        ("escalate", "now critical: chrony.service is masked"),
        ("remind", "still critical after 1 d: chrony.service is masked"),
        ("resolve", "over after 1 d: chrony.service is masked"),
    ],
)
def test_the_summary_says_what_kind_of_news_it_is(kind: str, opening: str) -> None:
    assert alert(INCIDENT, "service", kind, lasted=86400.0).summary == opening


def test_the_reference_time_is_unknown_without_a_trusted_reading() -> None:
    nothing = alert(seen(miss(), miss("locks", "refused")), "sync")
    assert nothing.reference_time is None
    assert nothing.local_time == "2026-08-24T02:22:14.000Z"


def test_the_reference_time_is_that_of_the_source_to_believe() -> None:
    """chronyd vouches for this clock, so a Redis server 22 min off does not date the alert."""
    disputed = alert(seen(chronyd(0.5), redis(1320.0)), "offset")
    assert disputed.cause == "disagreement"
    assert disputed.reference_time == "2026-08-24T02:22:13.500Z"


def test_the_time_a_trouble_lasted_is_never_negative() -> None:
    assert alert(INCIDENT, "service", lasted=-5.0).lasted == 0.0


@given(st.text(max_size=400))
def test_text_from_outside_stays_on_its_line_in_every_field(text: str) -> None:
    chrony = miss()._replace(what=text, advice=(text,))
    state = service(Verdict.CRITICAL)._replace(what=text, unit=text, advice=(text,))
    for condition in ("service", "sync"):
        made = alert(seen(chrony, state=state), condition)
        for line in (made.summary, *made.evidence, *made.advice):
            assert line.isprintable()
            assert len(line) <= 330
