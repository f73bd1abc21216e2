"""Owns what one cycle changes: a fold over cycles whose state is a value.

Everything the daemon remembers between cycles is a ``Memory``; stopping it anywhere and going on
from the stored value gives the same alerts as never having stopped.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from agent.core import alerts, judge, steps
from agent.core.model import Alert, Assessment, Observations, Policy, Standing
from agent.core.steps import ClockSample, Event


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


class Outcome(NamedTuple):
    """What came of one cycle."""

    assessment: Assessment
    alerts: Tuple[Alert, ...]
    events: Tuple[Event, ...]
    #: A run is unfinished: the next reading should come at the confirm interval.
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
    assessment = judge.assess(policy, observations)
    standings: Dict[str, Standing] = {s.condition: s for s in memory.standings}
    messages: List[Alert] = []
    for finding in assessment.findings:
        before = standings.get(finding.condition, Standing(finding.condition))
        after, transition = judge.advance(policy, before, finding, sample.boottime)
        standings[finding.condition] = after
        if transition is not None:
            messages.append(
                alerts.compose(
                    policy,
                    observations,
                    transition,
                    alert_id=_alert_id(identity, sample, finding.condition),
                    host=identity.host,
                    wall=sample.wall,
                    boottime=sample.boottime,
                    tags=identity.tags,
                )
            )
    remembered = tuple(standings.values())
    return Memory(standings=remembered, clock=sample), Outcome(
        assessment=assessment,
        alerts=tuple(messages),
        events=events,
        pending=judge.pending(policy, remembered),
    )


def _alert_id(identity: Identity, sample: ClockSample, condition: str) -> str:
    """Unique, and the same when the same cycle is told twice: boot, moment and condition."""
    return f"{identity.boot_id}/{sample.boottime:.6f}/{condition}"
