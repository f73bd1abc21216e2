"""Owns the tests of the fold over cycles: what is carried on, and what is said."""

from __future__ import annotations

from typing import List, Tuple

from agent.core.fold import Identity, Memory, Outcome, fold
from agent.core.model import Alert, Observation, Observations, Policy, Reading
from agent.core.steps import ClockSample
from tests.support.values import LATE, miss

POLICY = Policy()
IDENTITY = Identity(host="worker-b12", boot_id="a-boot", tags={"ami": "1"})
INCIDENT = 1389e-6


def reading(source: str, offset: float, at: float) -> Reading:
    return Reading(source=source, offset=offset, uncertainty=0.0005, taken_at=at)


class Fleetless:
    """One host whose cycles are run by hand."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.alerts: List[Alert] = []
        self.shift = 0.0

    def cycle(self, at: float, chrony: Observation, *references: Observation) -> Outcome:
        """Run one cycle at boottime ``at``."""
        seen = Observations(chrony=chrony, service=None, references=references, boottime=at)
        sample = ClockSample(wall=1e9 + at + self.shift, boottime=at, monotonic=at, raw=at)
        self.memory, outcome = fold(POLICY, IDENTITY, self.memory, seen, sample)
        self.alerts += outcome.alerts
        return outcome


def test_the_incident_is_told_as_a_drift_before_600_ms_of_error() -> None:
    host, at, told_at = Fleetless(), LATE, None
    while told_at is None:
        error = INCIDENT * (at - LATE)
        outcome = host.cycle(at, miss(), reading("locks", error, at))
        if any(alert.condition == "drift" for alert in outcome.alerts):
            told_at = error
        at += 30.0 if outcome.pending else 300.0
    assert told_at < 0.6
    alert = next(alert for alert in host.alerts if alert.condition == "drift")
    assert "1389 ppm" in alert.summary
    assert "crosses 2 s in" in alert.summary


def test_a_step_makes_the_drift_begin_anew_and_is_told_in_the_alerts_that_follow() -> None:
    host = Fleetless()
    for number in range(10):
        at = LATE + 300.0 * number
        host.cycle(at, reading("chronyd", 0.0, at))
    host.shift = 1320.0
    at = LATE + 3000.0
    outcome = host.cycle(at, reading("chronyd", 1320.0, at))
    assert [(event.kind, event.size) for event in outcome.events] == [("step", 1320.0)]
    assert outcome.observations.trends == ()
    for number in range(1, 3):
        host.cycle(at + 30.0 * number, reading("chronyd", 1320.0, at + 30.0 * number))
    raised = [alert for alert in host.alerts if alert.condition == "offset"]
    assert [alert.kind for alert in raised] == ["raise"]
    assert any("set forward by 22 min" in line for line in raised[0].evidence)
    assert not any(alert.condition == "drift" for alert in host.alerts)


def test_an_alert_about_what_is_no_longer_watched_is_resolved_once() -> None:
    host = Fleetless()
    for number in range(6):
        at = LATE + 30.0 * number
        asked = (miss("locks"),) if number < 3 else ()
        host.cycle(at, reading("chronyd", 0.0, at), *asked)
    assert [(a.condition, a.kind) for a in host.alerts] == [
        ("reference", "raise"),
        ("reference", "resolve"),
    ]
    assert all(standing.condition != "reference" for standing in host.memory.standings)


def test_an_alert_knows_its_host_its_tags_and_the_true_time() -> None:
    host = Fleetless()
    for number in range(3):
        at = LATE + 30.0 * number
        host.cycle(at, reading("chronyd", 1320.0, at))
    alert = host.alerts[0]
    assert alert.key == "clock-agent/worker-b12/offset"
    assert alert.tags == {"ami": "1"}
    assert alert.local_time > str(alert.reference_time)
    assert "stop the workers before `chronyc makestep`" in alert.advice[0]


def test_alert_ids_are_unique_and_the_same_for_the_same_cycle_told_twice() -> None:
    def ids() -> Tuple[str, ...]:
        host = Fleetless()
        for number in range(6):
            at = LATE + 30.0 * number
            offset = 5.0 if number < 3 else 0.0
            host.cycle(at, reading("chronyd", offset, at), reading("locks", offset, at))
        return tuple(alert.id for alert in host.alerts)

    assert len(ids()) == 2
    assert len(set(ids())) == 2
    assert ids() == ids()


def test_a_host_that_has_just_booted_is_looked_at_again_soon() -> None:
    """Else every health probe is told "unknown" for a whole interval after each boot."""
    host = Fleetless()
    never = miss(cause="never-synchronised")
    assert host.cycle(5.0, never).pending
    assert host.cycle(35.0, never).pending
    assert not host.cycle(65.0, reading("chronyd", 0.0, 65.0)).pending
    assert host.alerts == []
