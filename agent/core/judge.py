"""Owns judgement: one cycle's verdicts (``assess``), and their fold into alerts (``advance``).

Both are pure. What is remembered between cycles is one ``Standing`` per condition, a value: storing
it and going on later from what was stored changes nothing.
"""

from __future__ import annotations

from agent.core import wording
from agent.core.conditions import CONDITIONS, best, judge_reading, trusted
from agent.core.consensus import credible
from agent.core.model import (
    Assessment,
    Finding,
    Observations,
    Policy,
    Reading,
    Standing,
    Transition,
    Verdict,
    Weight,
)
from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Iterable, Optional, Sequence, Tuple

#: Seconds between two messages about an alert that lasts.
REMIND_EVERY = 86_400.0
#: Conditions whose remedy may move the clock.
_MOVE_THE_CLOCK = ("service", "sync", "offset")


def assess(policy: Policy, seen: Observations) -> Assessment:
    """Judge one cycle: a finding for every condition that is switched on, in a fixed order."""
    findings = (judge(policy, seen) for judge in CONDITIONS.values())
    readings = trusted(seen)
    return Assessment(
        findings=tuple(_cautioned(policy, readings, f) for f in findings if f is not None),
        best=best(readings),
    )


def advance(
    policy: Policy, standing: Standing, finding: Finding, boottime: float
) -> Tuple[Standing, Optional[Transition]]:
    """Fold one finding into the standing of its condition; say what people have to be told.

    ``policy.consecutive`` equal-or-worse breaches raise or escalate, as many "cannot tell" raise
    UNKNOWN, as many ok resolve. Nothing de-escalates: an alert ends by being resolved. "Cannot
    tell" neither adds to a run of breaches nor ends it, and it never counts as ok. Neither does an
    ok from others while the source that proved the trouble is silent.
    """
    counted = _counted(policy, standing, finding, boottime)
    level = _level_reached(policy, counted, finding)
    if level > standing.alerting:
        kind = "raise" if standing.alerting is Verdict.OK else "escalate"
        told = counted._replace(alerting=level, told_at=boottime)
        return told, _transition(told, kind, level, finding, boottime)
    if counted.ok_run >= policy.consecutive:
        well = Standing(condition=standing.condition, ok_run=counted.ok_run)
        if standing.alerting is Verdict.OK:
            return well, None
        return well, _transition(counted, "resolve", standing.alerting, finding, boottime)
    if due_reminder(counted, boottime):
        told = counted._replace(told_at=boottime)
        return told, _transition(told, "remind", standing.alerting, finding, boottime)
    return counted, None


def retire(standing: Standing, boottime: float) -> Optional[Transition]:
    """The end of the alert about a condition that is watched no longer; None when there is none.

    Without it an alert about a reference would outlive the reference's removal from the
    configuration, and be reminded of for ever.
    """
    if standing.alerting is Verdict.OK:
        return None
    finding = Finding(
        condition=standing.condition,
        verdict=Verdict.OK,
        cause="not-watched",
        summary="the configuration does not ask for this any more",
    )
    return _transition(standing, "resolve", standing.alerting, finding, boottime)


def due_reminder(standing: Standing, boottime: float) -> bool:
    """True when an alert has lasted a day since people were last told about it."""
    if standing.alerting is Verdict.OK or standing.told_at is None:
        return False
    return boottime - standing.told_at >= REMIND_EVERY


def pending(policy: Policy, standings: Iterable[Standing]) -> bool:
    """True while a run is unfinished, raising or resolving: the next reading should come soon."""
    return any(_unfinished(policy, standing) for standing in standings)


def _counted(policy: Policy, before: Standing, finding: Finding, boottime: float) -> Standing:
    """``before`` with its runs moved by ``finding``. Runs stop counting at ``consecutive``."""
    silent = tuple(name for name in before.blamed if name in finding.silent)
    blamed = wording.once((*finding.blamed, *silent))
    verdict, after = finding.verdict, before._replace(blamed=blamed)
    good = verdict is Verdict.OK
    if finding.weight is Weight.HELD or (good and blamed):
        return after._replace(ok_run=0)

    def longer(run: int) -> int:
        return min(run + 1, policy.consecutive)

    if good:
        return after._replace(
            ok_run=longer(before.ok_run), blind_run=0, warning_run=0, critical_run=0
        )
    since = boottime if before.since is None else before.since
    if verdict.blind:
        return after._replace(ok_run=0, blind_run=longer(before.blind_run), since=since)
    return after._replace(
        ok_run=0,
        blind_run=0,
        warning_run=longer(before.warning_run),
        critical_run=longer(before.critical_run) if verdict is Verdict.CRITICAL else 0,
        since=since,
    )


def _level_reached(policy: Policy, standing: Standing, finding: Finding) -> Verdict:
    """The worst level whose run ``finding`` has just completed; OK when none."""
    if finding.weight is Weight.HELD or finding.verdict is Verdict.OK:
        return Verdict.OK
    if finding.verdict.blind:
        return Verdict.UNKNOWN if standing.blind_run >= policy.consecutive else Verdict.OK
    if finding.weight is Weight.AT_ONCE:
        return finding.verdict
    if standing.critical_run >= policy.consecutive:
        return Verdict.CRITICAL
    return Verdict.WARNING if standing.warning_run >= policy.consecutive else Verdict.OK


def _unfinished(policy: Policy, standing: Standing) -> bool:
    if standing.ok_run:  # a finished run of ok has ended the alert
        return standing.alerting is not Verdict.OK
    if standing.blind_run:
        return standing.alerting is Verdict.OK and standing.blind_run < policy.consecutive
    runs = (
        (standing.warning_run, Verdict.WARNING),
        (standing.critical_run, Verdict.CRITICAL),
    )
    return any(0 < run < policy.consecutive and level > standing.alerting for run, level in runs)


def _transition(
    standing: Standing, kind: str, severity: Verdict, finding: Finding, boottime: float
) -> Transition:
    return Transition(
        condition=standing.condition,
        kind=kind,
        severity=severity,
        finding=finding,
        since=boottime if standing.since is None else standing.since,
    )


def _cautioned(policy: Policy, readings: Sequence[Reading], finding: Finding) -> Finding:
    """``finding`` with a caution when following its advice may make the clock jump.

    A stopped chronyd steps the clock when it is started again (Debian ships ``makestep 1 3``); a
    job that runs at that moment sees minutes happen twice, or never.
    """
    if finding.condition not in _MOVE_THE_CLOCK or finding.verdict < Verdict.WARNING:
        return finding
    caution = "stop the workers before `chronyc makestep` or starting chronyd"
    believed = credible(policy, readings)
    if believed is None:
        unknown = f"{caution}: nobody knows how far this clock will move"
        return finding._replace(advice=(unknown, *finding.advice))
    if judge_reading(policy, believed) is not Verdict.CRITICAL:
        return finding
    known = f"{caution}: this clock will move {wording.back(believed)}"
    return finding._replace(advice=(known, *finding.advice))
