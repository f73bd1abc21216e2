"""Owns ready-made cycles and alerts for tests of the store, the delivery and the history."""

from __future__ import annotations

from typing import Sequence, Tuple

from agent.core.model import (
    Alert,
    Assessment,
    Finding,
    Observation,
    Observations,
    Reading,
    Standing,
    Verdict,
)
from agent.core.outbox import Posting
from agent.core.steps import ClockSample, Event
from agent.store import Cycle
from tests.support.samples import AN_ALERT

#: The wall clock when this boot's CLOCK_BOOTTIME was zero.
BOOTED_AT = 1_750_000_000.0
A_BOOT = "11111111-1111-4111-8111-111111111111"


def clocks(boottime: float, wall: float = 0.0) -> ClockSample:
    """All clocks at ``boottime``; the wall clock is right unless ``wall`` says otherwise."""
    return ClockSample(
        wall=wall or BOOTED_AT + boottime, boottime=boottime, monotonic=boottime, raw=boottime
    )


def a_cycle(
    boottime: float,
    *observations: Observation,
    wall: float = 0.0,
    boot_id: str = A_BOOT,
    standings: Sequence[Standing] = (),
    alerts: Sequence[Alert] = (),
    events: Sequence[Event] = (),
    verdict: Verdict = Verdict.OK,
) -> Cycle:
    """A cycle with chronyd's observation first; its offset is the host's if it is a reading."""
    readings = [seen for seen in observations if isinstance(seen, Reading)]
    found = Finding(condition="offset", verdict=verdict, cause="", summary="")
    return Cycle(
        clock=clocks(boottime, wall),
        boot_id=boot_id,
        observations=Observations(
            chrony=observations[0] if observations else None,
            service=None,
            references=tuple(observations[1:]),
            boottime=boottime,
        ),
        assessment=Assessment(findings=(found,), best=readings[0] if readings else None),
        standings=tuple(standings),
        alerts=tuple(alerts),
        events=tuple(events),
    )


def an_alert(number: int, kind: str = "raise", condition: str = "offset") -> Alert:
    """One of many alerts, told apart by ``number``."""
    return AN_ALERT._replace(
        id=f"alert-{number}",
        key=f"clock-agent/web-1/{condition}",
        kind=kind,
        condition=condition,
    )


def postings(sink: str, *alerts: Alert) -> Tuple[Posting, ...]:
    """``alerts`` owed to ``sink``."""
    return tuple(Posting(sink, alert) for alert in alerts)
