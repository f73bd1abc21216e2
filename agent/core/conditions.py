"""Owns the rules: what one cycle's observations say about each condition. It has no memory."""

from __future__ import annotations

import math

from agent.core import wording
from agent.core.model import (
    Finding,
    Miss,
    Observation,
    Observations,
    Policy,
    Reading,
    ServiceState,
    Verdict,
    Weight,
)
from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Callable, Mapping, Optional, Sequence, Tuple

    from typing_extensions import TypeAlias

Judge: TypeAlias = "Callable[[Policy, Observations], Optional[Finding]]"

#: The one miss that a freshly booted host is forgiven for.
NEVER_SYNCHRONISED = "never-synchronised"
_NOBODY = "nobody vouches for this clock"
_WHICH_SERVER = ("chronyc -n sources -v  # which server is far away, noisy or silent?",)
_WHICH_DELAY = ("look for load on, or delay on the way to, the reference that is too imprecise",)


def watched(seen: Observations) -> Tuple[str, ...]:
    """The conditions that the configuration behind ``seen`` asks for, whether or not this cycle
    has a finding on each (a drift takes several cycles to be seen)."""
    switches = {
        "service": seen.service is not None,
        "reference": bool(seen.references),
        "drift": bool(asked(seen)),
    }
    return tuple(name for name in CONDITIONS if switches.get(name, True))


def judge_reading(policy: Policy, reading: Reading) -> Verdict:
    """The verdict on one trusted reading: only what its whole interval proves is a breach.

    Equal to a threshold is not above it.
    """
    if reading.lower > policy.offset_critical:
        return Verdict.CRITICAL
    if reading.lower > policy.offset_warning:
        return Verdict.WARNING
    return Verdict.OK if reading.upper <= policy.offset_critical else Verdict.UNSURE


def asked(seen: Observations) -> Tuple[Observation, ...]:
    """What every source that is switched on answered, chronyd first."""
    answers = ((seen.chrony,) if seen.chrony else ()) + seen.references
    return tuple(map(_sound, answers))


def trusted(seen: Observations) -> Tuple[Reading, ...]:
    """All trusted readings, chronyd's first."""
    return tuple(o for o in asked(seen) if isinstance(o, Reading))


def best(readings: Sequence[Reading]) -> Optional[Reading]:
    """The one reading the host's offset is taken from: the worst proven, else the most precise."""
    proven = [reading for reading in readings if reading.lower > 0]
    if proven:
        return max(proven, key=lambda reading: reading.lower)
    return min(readings, key=lambda reading: reading.uncertainty, default=None)


def vouching(policy: Policy, readings: Sequence[Reading]) -> Tuple[Reading, ...]:
    """The readings that exclude a critical offset, and so say the clock is good to work with."""
    return tuple(r for r in readings if r.upper <= policy.offset_critical)


def undecided(policy: Policy, reading: Reading) -> bool:
    """True for a reading that neither proves a critical offset nor excludes it."""
    return not (reading.lower > policy.offset_critical or reading.upper <= policy.offset_critical)


def judge_offset(policy: Policy, seen: Observations) -> Finding:
    """The worst proven reading decides; one good reading is enough when nothing is proven."""
    readings = trusted(seen)
    verdicts = {r.source: judge_reading(policy, r) for r in readings}
    silent = tuple(o.source for o in asked(seen) if isinstance(o, Miss))
    silent += tuple(name for name, verdict in verdicts.items() if verdict.blind)
    blamed = tuple(name for name, verdict in verdicts.items() if verdict > Verdict.UNKNOWN)
    told = "; ".join(wording.said_by(reading) for reading in readings)
    if blamed:
        from agent.core import disagreement

        story = disagreement.explain(policy, readings, blamed)
        finding = Finding(
            condition="offset",
            verdict=max(verdicts.values()),
            cause=story.cause,
            summary=story.summary,
            advice=story.advice,
            blamed=blamed,
        )
    elif Verdict.OK in verdicts.values():
        finding = Finding(
            condition="offset", verdict=Verdict.OK, cause="within-limits", summary=told
        )
    elif readings:
        limit = wording.duration(policy.offset_critical)
        finding = Finding(
            condition="offset",
            verdict=Verdict.UNSURE,
            cause="too-imprecise",
            summary=f"no reading is precise enough to exclude an offset of {limit}: {told}",
            advice=_WHICH_SERVER,
        )
    else:
        finding = Finding(
            condition="offset",
            verdict=Verdict.UNKNOWN,
            cause="no-reading",
            summary="how far this clock is off is unknown: no source gives a trusted reading",
            # the sync condition says that nobody vouches, and why; once is enough
            weight=Weight.HELD,
        )
    return finding._replace(silent=silent)


def judge_sync(policy: Policy, seen: Observations) -> Finding:
    """A clock nobody vouches for is critical; a clock one of two vouches for is a warning."""
    chrony = _sound(seen.chrony) if seen.chrony else None
    if isinstance(chrony, Reading):
        return _judge_synchronised(policy, chrony)
    voucher = best(vouching(policy, trusted(seen)))
    otherwise = _NOBODY
    if voucher is not None:
        vouches = "still vouches" if chrony else "vouches"
        name = wording.source(voucher.source)
        otherwise = f"{name} {vouches} for this clock ({wording.reading(voucher)})"
    if chrony is None:
        return Finding(
            condition="sync",
            verdict=Verdict.OK if voucher else Verdict.CRITICAL,
            cause="not-asked",
            summary=f"chronyd is not asked; {otherwise}",
        )
    said = wording.why_not(chrony)
    if chrony.cause == NEVER_SYNCHRONISED and seen.boottime < policy.grace:
        up, grace = wording.duration(seen.boottime), wording.duration(policy.grace)
        return Finding(
            condition="sync",
            verdict=Verdict.UNKNOWN,
            cause=chrony.cause,
            summary=f"{said}; not held against a host that has been up for {up} (under {grace})",
            weight=Weight.HELD,
        )
    return Finding(
        condition="sync",
        verdict=Verdict.WARNING if voucher else Verdict.CRITICAL,
        cause=chrony.cause,
        summary=f"{said}; {otherwise}",
        advice=_what_mends(chrony, seen.service),
    )


def judge_service(_: Policy, seen: Observations) -> Optional[Finding]:
    """What ``core.service`` made of the unit's facts."""
    state = seen.service
    if state is None:
        return None
    return Finding(
        condition="service",
        verdict=state.verdict,
        cause=state.cause,
        summary=wording.plain(state.what).rstrip("."),
        advice=state.advice,
        weight=state.weight,
    )


def judge_reference(policy: Policy, seen: Observations) -> Optional[Finding]:
    """Every configured reference is expected to answer, precisely enough to be of use."""
    if not seen.references:
        return None
    answers = map(_sound, seen.references)
    faults = tuple(f for f in (_reference_fault(policy, answer) for answer in answers) if f)
    if not faults:
        names = wording.listing([wording.source(r.source) for r in seen.references])
        return Finding(
            condition="reference",
            verdict=Verdict.OK,
            cause="answering",
            summary=f"{names} answered",
        )
    alone = not vouching(policy, trusted(seen))
    said = [wording.why_not(fault) for fault in faults] + [_NOBODY] * alone
    return Finding(
        condition="reference",
        verdict=Verdict.CRITICAL if alone else Verdict.WARNING,
        cause=faults[0].cause,
        summary="; ".join(said),
        advice=wording.once(line for fault in faults for line in fault.advice),
    )


def judge_drift(policy: Policy, seen: Observations) -> Optional[Finding]:
    """What the rates say; None when there are none, as in a single look."""
    if not seen.trends:
        return None
    from agent.core import forecast

    return forecast.judge_drift(policy, seen)


#: Every condition and its judge, in the order of reports: causes before their consequences.
CONDITIONS: Mapping[str, Judge] = {
    "service": judge_service,
    "sync": judge_sync,
    "offset": judge_offset,
    "reference": judge_reference,
    "drift": judge_drift,
}


def _what_mends(chrony: Miss, service: Optional[ServiceState]) -> Tuple[str, ...]:
    """The advice of a miss, with the right unit's name. A chronyd that is down comes back by what
    mends its unit: starting what is masked is how the trouble stays."""
    if service is None or not service.unit.startswith("chron"):
        return chrony.advice
    from agent.core import chrony_causes

    if chrony.cause == chrony_causes.DOWN and service.verdict is Verdict.CRITICAL:
        return service.advice
    return chrony_causes.for_unit(chrony.advice, service.unit)


def _sound(answer: Observation) -> Observation:
    """``answer``; a miss when its numbers are none: every comparison with nan is silently false."""
    if isinstance(answer, Miss) or (math.isfinite(answer.upper) and answer.uncertainty >= 0):
        return answer
    what = f"{wording.source(answer.source)} gave a reading that is not a number"
    return Miss(source=answer.source, cause="unreadable", what=what)


def _judge_synchronised(policy: Policy, reading: Reading) -> Finding:
    """chronyd vouches; how far the clock is off is the offset condition's matter, unless the
    error bound is so wide that its word is worth nothing."""
    if not undecided(policy, reading):
        return Finding(
            condition="sync",
            verdict=Verdict.OK,
            cause="synchronised",
            summary="chronyd is synchronised and its measurements are fresh",
        )
    return Finding(
        condition="sync",
        verdict=Verdict.UNSURE,
        cause="bound-too-wide",
        summary=(
            f"chronyd is synchronised, but its error bound of {wording.bound(reading.upper)}"
            f" does not exclude an offset of {wording.duration(policy.offset_critical)}"
        ),
        advice=_WHICH_SERVER,
    )


def _reference_fault(policy: Policy, seen: Observation) -> Optional[Miss]:
    """Why a reference is of no use; None when it is."""
    if isinstance(seen, Miss):
        return seen
    if not undecided(policy, seen):
        return None
    return Miss(
        source=seen.source,
        cause="too-imprecise",
        what=f"{wording.source(seen.source)} is too imprecise: {wording.reading(seen)}",
        advice=_WHICH_DELAY,
    )
