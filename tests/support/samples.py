"""Owns ready-made values for tests that do not care about most of their fields."""

from __future__ import annotations

from typing import Any, Tuple

from agent.core.gauges import Snapshot
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
from tests.support.values import miss as a_miss  # for those who want nothing else from there
from tests.support.values import service

__all__ = ["AN_ALERT", "A_SERVICE", "a_miss", "a_reading", "a_snapshot", "alerting"]

AN_ALERT = Alert(
    id="0123456789abcdef",
    key="clock-agent/web-1/offset",
    kind="raise",
    severity="critical",
    host="web-1",
    condition="offset",
    summary="this clock is 5000.0 ms behind (slow)",
    cause="slow",
    evidence=("chronyd: -5000.0 ms behind (slow)",),
    advice=("stop the workers", "chronyc makestep"),
    lasted=660.0,
    local_time="2026-03-29T00:59:55.000Z",
    reference_time="2026-03-29T01:00:00.000Z",
    tags={"dc": "eu"},
)

A_SERVICE = service()


def a_reading(offset: float, source: str = "chronyd", uncertainty: float = 0.0001) -> Reading:
    """A trusted reading, taken 100 s after boot."""
    return Reading(source=source, offset=offset, uncertainty=uncertainty, taken_at=100.0)


def a_snapshot(*observations: Observation, **changes: Any) -> Snapshot:
    """A cycle in which chronyd gave the first of ``observations``, references the others.

    The first reading among them is the host's offset; ``changes`` are fields of the snapshot.
    """
    readings = [o for o in observations if isinstance(o, Reading)]
    found = Finding(condition="offset", verdict=Verdict.OK, cause="", summary="")
    snapshot = Snapshot(
        assessment=Assessment(findings=(found,), best=readings[0] if readings else None),
        observations=Observations(
            chrony=observations[0] if observations else None,
            service=A_SERVICE,
            references=tuple(observations[1:]),
            boottime=100.0,
        ),
        standings=(Standing("offset"), Standing("sync")),
        boottime=102.5,
    )
    return snapshot._replace(**changes)


def alerting(condition: str, verdict: Verdict) -> Tuple[Standing, ...]:
    """The standing of one condition about which people were told."""
    return (Standing(condition, alerting=verdict),)
