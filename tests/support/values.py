"""Owns short ways to write the core's values in tests."""

from __future__ import annotations

from typing import Optional

from agent.core.model import (
    Finding,
    Miss,
    Observation,
    Observations,
    Reading,
    ServiceState,
    Verdict,
    Weight,
)

#: Long after any boot grace.
LATE = 100_000.0


def chronyd(offset: float, uncertainty: float = 0.0003) -> Reading:
    """A trusted reading of chronyd; seconds."""
    return redis(offset, uncertainty, name="chronyd")


def redis(offset: float, uncertainty: float = 0.0003, name: str = "locks") -> Reading:
    """A trusted reading of a Redis server; seconds."""
    return Reading(source=name, offset=offset, uncertainty=uncertainty, taken_at=LATE)


def miss(source: str = "chronyd", cause: str = "not-running") -> Miss:
    """No reading of ``source``, with a sentence and advice made from ``cause``."""
    return Miss(
        source=source,
        cause=cause,
        what=f"{source} is {cause.replace('-', ' ')}.",
        advice=(f"cure {cause}",),
    )


def service(
    verdict: Verdict = Verdict.OK, cause: str = "active", weight: Weight = Weight.COUNTED
) -> ServiceState:
    """What is known of the time service."""
    return ServiceState(
        unit="chrony.service",
        load_state="loaded",
        active_state="active",
        sub_state="running",
        unit_file_state="enabled",
        verdict=verdict,
        cause=cause,
        what=f"chrony.service is {cause}",
        advice=() if verdict is Verdict.OK else (f"cure {cause}",),
        weight=weight,
    )


def seen(
    chrony: Optional[Observation],
    *references: Observation,
    state: Optional[ServiceState] = None,
    boottime: float = LATE,
) -> Observations:
    """One cycle's observations."""
    return Observations(chrony=chrony, service=state, references=references, boottime=boottime)


def finding(
    verdict: Verdict, weight: Weight = Weight.COUNTED, condition: str = "offset"
) -> Finding:
    """A finding of which only the verdict and the weight matter."""
    return Finding(
        condition=condition,
        verdict=verdict,
        cause="a-cause",
        summary="a summary",
        weight=weight,
    )
