"""Owns what one cycle changes: a fold over cycles whose state is a value.

Everything the daemon remembers between cycles is a ``Memory``; stopping it anywhere and going on
from the stored value gives the same alerts as never having stopped.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from agent.core import alerts, drift, judge, steps, wording
from agent.core.conditions import trusted, watched
from agent.core.drift import Track
from agent.core.model import (
    Alert,
    Assessment,
    Observations,
    Policy,
    Reading,
    Standing,
    Transition,
    Verdict,
    Weight,
)
from agent.core.steps import ClockSample, Event

#: Seconds for which a step or a suspend is worth a line in the alerts that follow it.
WORTH_TELLING = 86_400.0
#: How many of them at most: the newest.
MOST_TOLD = 5


class Identity(NamedTuple):
    """Whose clock it is; the same in every alert."""

    host: str
    boot_id: str
    tags: Mapping[str, str] = {}


class Memory(NamedTuple):
    """What is carried from one cycle to the next."""

    standings: Tuple[Standing, ...] = ()
    #: The host's clocks at the last cycle of this boot; None before the first.
    clock: Optional[ClockSample] = None
    #: Recent readings of this boot, since the last step or suspend.
    tracks: Tuple[Track, ...] = ()
    #: Recent steps and suspends of this boot, oldest first.
    events: Tuple[Event, ...] = ()


def resume(
    standings: Tuple[Standing, ...],
    clock: Optional[ClockSample],
    readings: Tuple[Reading, ...],
    events: Tuple[Event, ...],
) -> Memory:
    """The memory of a daemon that was stopped, from what the store knows of it.

    ``readings`` are those since the last step or suspend; they and ``events`` are of this boot.
    """
    return Memory(
        standings=standings, clock=clock, tracks=drift.follow((), readings), events=events
    )


class Outcome(NamedTuple):
    """What came of one cycle."""

    #: With the trends that the readings of this and earlier cycles add up to.
    observations: Observations
    assessment: Assessment
    alerts: Tuple[Alert, ...]
    events: Tuple[Event, ...]
    #: The next reading should come at the confirm interval: a run is unfinished, or all there is
    #: to tell is that the host has just booted.
    pending: bool


def fold(
    policy: Policy,
    identity: Identity,
    memory: Memory,
    observations: Observations,
    sample: ClockSample,
) -> Tuple[Memory, Outcome]:
    """Judge one cycle and return the new memory with what has to be said and remembered."""
    events = steps.changes(memory.clock, sample) if memory.clock else ()
    told = _worth_telling((*memory.events, *events), sample.boottime)
    # what was measured before a step or a suspend was measured against another clock
    tracks = drift.follow(() if events else memory.tracks, trusted(observations))
    seen = observations._replace(trends=drift.trends(tracks, observations.boottime))
    assessment = judge.assess(policy, seen)
    standings: Dict[str, Standing] = {s.condition: s for s in memory.standings}
    transitions: List[Transition] = []
    for finding in assessment.findings:
        before = standings.get(finding.condition, Standing(finding.condition))
        after, transition = judge.advance(policy, before, finding, sample.boottime)
        standings[finding.condition] = after
        transitions += [transition] if transition else []
    for condition in set(standings).difference(watched(seen)):
        transition = judge.retire(standings.pop(condition), sample.boottime)
        transitions += [transition] if transition else []
    remembered = tuple(standings.values())
    after_all = Memory(standings=remembered, clock=sample, tracks=tracks, events=told)
    return after_all, Outcome(
        observations=seen,
        assessment=assessment,
        alerts=tuple(
            alerts.compose(
                policy,
                seen,
                transition,
                alert_id=_alert_id(identity, sample, transition.condition),
                host=identity.host,
                wall=sample.wall,
                boottime=sample.boottime,
                notes=[wording.event(event, sample.boottime) for event in told],
                tags=identity.tags,
            )
            for transition in transitions
        ),
        events=events,
        pending=judge.pending(policy, remembered) or _forgiven(assessment),
    )


def _forgiven(assessment: Assessment) -> bool:
    """True when all that is wrong is held back, as on a host that has just booted."""
    wrong = [finding for finding in assessment.findings if finding.verdict is not Verdict.OK]
    return bool(wrong) and all(finding.weight is Weight.HELD for finding in wrong)


def _worth_telling(events: Tuple[Event, ...], boottime: float) -> Tuple[Event, ...]:
    recent = (event for event in events if boottime - event.boottime <= WORTH_TELLING)
    return tuple(recent)[-MOST_TOLD:]


def _alert_id(identity: Identity, sample: ClockSample, condition: str) -> str:
    """Unique, and the same when the same cycle is told twice: boot, moment and condition."""
    return f"{identity.boot_id}/{sample.boottime:.6f}/{condition}"
