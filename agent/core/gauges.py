"""Owns which gauges one cycle sends and what their values are; ``agent.metrics`` sends them.

Not knowing is never 0: a gauge of an amount is left out when there is no amount. Because a StatsD
server repeats the last value for ever, each such gauge has a companion that is always sent and
says whether it is to be believed: ``offset_known``, ``source.<name>.up``. A gauge of yes and no is
1 only when yes was shown, and left out only when the question is switched off in the configuration.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from agent.core.model import Assessment, Observation, Observations, Reading, Standing, Verdict

#: ``clock.alert.<condition>``: what is being alerted. Being blind for long is an alert, too.
ALERT_LEVELS: Mapping[Verdict, int] = {
    Verdict.OK: 0,
    Verdict.UNSURE: 1,
    Verdict.UNKNOWN: 1,
    Verdict.WARNING: 1,
    Verdict.CRITICAL: 2,
}
_MS = 1000.0


class Gauge(NamedTuple):
    """One value to be sent. ``name`` is relative to the prefix, its parts are separate."""

    name: Sequence[str]
    value: float


class Snapshot(NamedTuple):
    """One cycle as far as the gauges are concerned."""

    assessment: Assessment
    observations: Observations
    standings: Sequence[Standing]
    #: CLOCK_BOOTTIME seconds now, to tell the age of the last reading.
    boottime: float
    #: CLOCK_BOOTTIME seconds of the newest trusted reading, of this cycle or one before it; None
    #: before the first.
    last_reading_at: Optional[float] = None
    #: Rate in ppm, positive = the clock gains; None while it is not known.
    drift_ppm: Optional[float] = None
    #: Whether what is remembered reaches the disk; None where nothing is to be kept.
    store_ok: Optional[bool] = None


def gauges(snapshot: Snapshot) -> Sequence[Gauge]:
    """Return all gauges of one cycle, in a steady order."""
    assessment, observations = snapshot.assessment, snapshot.observations
    best = assessment.best
    found = [Gauge(("offset_known",), float(best is not None))]
    if best is not None:
        found.extend(_amounts(best))
    if observations.chrony is not None:
        found.append(Gauge(("synchronised",), float(isinstance(observations.chrony, Reading))))
    if observations.service is not None:
        found.append(Gauge(("service_ok",), float(observations.service.verdict == Verdict.OK)))
    if snapshot.last_reading_at is not None:
        age = max(0.0, snapshot.boottime - snapshot.last_reading_at)
        found.append(Gauge(("reading_age_s",), age))
    if snapshot.drift_ppm is not None:
        found.append(Gauge(("drift_ppm",), snapshot.drift_ppm))
    if snapshot.store_ok is not None:
        found.append(Gauge(("store_ok",), float(snapshot.store_ok)))
    found.append(Gauge(("verdict",), float(assessment.verdict.exit_code)))
    for standing in snapshot.standings:
        level = float(ALERT_LEVELS[standing.alerting])
        found.append(Gauge(("alert", standing.condition), level))
    for observation in _sources(observations):
        name = ("source", observation.source)
        found.append(Gauge((*name, "up"), float(isinstance(observation, Reading))))
        if isinstance(observation, Reading):
            found.extend(_amounts(observation, name))
    return tuple(found)


def _amounts(reading: Reading, name: Sequence[str] = ()) -> Iterator[Gauge]:
    yield Gauge((*name, "offset_ms"), abs(reading.offset) * _MS)
    yield Gauge((*name, "signed_offset_ms"), reading.offset * _MS)
    yield Gauge((*name, "uncertainty_ms"), reading.uncertainty * _MS)


def _sources(observations: Observations) -> Iterator[Observation]:
    if observations.chrony is not None:
        yield observations.chrony
    yield from observations.references
