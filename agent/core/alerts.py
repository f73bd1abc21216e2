"""Owns what an alert says: a transition, dated and explained, as one message to people."""

from __future__ import annotations

from typing import Iterator, Mapping, Optional, Sequence

from agent.core import conditions, wording
from agent.core.consensus import credible
from agent.core.forecast import margins
from agent.core.model import (
    Alert,
    Observations,
    Policy,
    Transition,
)

#: What introduces the sentence of each kind of transition.
_OPENING: Mapping[str, str] = {
    "raise": "{what}",
    "escalate": "now {severity}: {what}",
    "remind": "still {severity} after {lasted}: {what}",
    "resolve": "over after {lasted}: {what}",
}


def compose(
    policy: Policy,
    seen: Observations,
    transition: Transition,
    *,
    alert_id: str,
    host: str,
    wall: float,
    boottime: float,
    notes: Sequence[str] = (),
    tags: Mapping[str, str] = {},
) -> Alert:
    """Return the message about ``transition``, which this cycle's observations led to.

    ``alert_id`` must be unique over reboots (the boot id and a counter will do). ``wall`` and
    ``boottime`` are the seconds of both clocks now. ``notes`` are further lines of evidence, such
    as the last steps of the clock.
    """
    finding, severity = transition.finding, transition.severity.word
    lasted = max(0.0, boottime - transition.since)
    summary = _OPENING[transition.kind].format(
        severity=severity, lasted=wording.duration(lasted), what=wording.plain(finding.summary)
    )
    return Alert(
        id=alert_id,
        key=f"clock-agent/{host}/{transition.condition}",
        kind=transition.kind,
        severity=severity,
        host=host,
        condition=transition.condition,
        summary=summary,
        cause=finding.cause,
        evidence=tuple(wording.plain(line) for line in (*_evidence(policy, seen), *notes)),
        advice=tuple(wording.plain(line) for line in finding.advice),
        lasted=lasted,
        local_time=wording.utc(wall),
        reference_time=_reference_time(policy, seen, wall),
        tags=dict(tags),
    )


def _reference_time(policy: Policy, seen: Observations, wall: float) -> Optional[str]:
    """What time it really is, by the most credible source; None when none is trusted."""
    believed = credible(policy, conditions.trusted(seen))
    return None if believed is None else wording.utc(wall - believed.offset)


def _evidence(policy: Policy, seen: Observations) -> Iterator[str]:
    if seen.service is not None:
        yield wording.unit(seen.service)
    for observation in conditions.asked(seen):
        yield wording.observed(observation)
    best = conditions.best(conditions.trusted(seen))
    yield from map(str, margins(policy, best, seen.trends))
