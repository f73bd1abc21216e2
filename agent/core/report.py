"""Owns the answer to "can this host's clock be trusted?": as text for people and Nagios, as JSON.

The same text is what ``check`` prints and what the daemon publishes for ``check`` to repeat.
"""

from __future__ import annotations

import math

from agent.core import conditions, wording
from agent.core.model import (
    Assessment,
    Finding,
    Observation,
    Observations,
    Policy,
    Reading,
    Scalar,
    ServiceState,
    Verdict,
)
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

    from agent.core.forecast import Margin

SCHEMA = 1
#: Where a report comes from: measured for this call, or published by the daemon.
LIVE, DAEMON = "live", "daemon"
#: The state word of each exit status: text and status cannot disagree.
_WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
#: Nagios cuts long first lines; what is cut here is repeated in full below.
_LONGEST_SUMMARY = 400
_LONGEST_LINE = 700


class Report(NamedTuple):
    """One assessed cycle with all that is needed to tell it."""

    host: str
    #: Seconds since 1970 by the local, possibly wrong, clock.
    taken_at: float
    #: LIVE or DAEMON.
    origin: str
    assessment: Assessment
    observations: Observations
    policy: Policy

    @property
    def summary(self) -> str:
        """The causes of the worst verdict in one line; when all is well, the readings."""
        verdict = self.assessment.verdict
        worst = [f for f in self.assessment.findings if f.verdict is verdict]
        if verdict is Verdict.OK:
            said = [f.summary for f in worst if f.condition == "offset"]
        else:
            said = [f"{f.condition} {f.cause}: {f.summary}" for f in worst]
        return _line("; ".join(said) or "nothing is configured to be judged", _LONGEST_SUMMARY)


def text(report: Report) -> str:
    """The Nagios line with performance data, one line per condition and source, and advice.

    There is no ``|`` but the one before the performance data: Nagios would take the rest of the
    text for more of it.
    """
    word = _WORDS[report.assessment.verdict.exit_code]
    performance = " ".join(_performance(report.policy, report.assessment.best))
    first = f"CLOCK {word} - {report.summary}" + (f"|{performance}" if performance else "")
    return "\n".join([first, *(_line(line) for line in _details(report))]) + "\n"


def as_dict(report: Report) -> Dict[str, Any]:  # Any: whatever JSON can carry
    """The document of ``check --json``: the keys never vary, an unknown value is None."""
    from agent.core import drift

    assessment, seen = report.assessment, report.observations
    best = assessment.best
    return {
        "schema": SCHEMA,
        "host": report.host,
        "taken_at": wording.utc(report.taken_at),
        "origin": report.origin,
        "verdict": assessment.verdict.word,
        "exit_code": assessment.verdict.exit_code,
        "summary": report.summary,
        "offset_ms": _milliseconds(best.offset) if best else None,
        "uncertainty_ms": _milliseconds(best.uncertainty) if best else None,
        "readings": [_reading(report.policy, o) for o in conditions.asked(seen)],
        "service": _service(seen.service) if seen.service else None,
        "conditions": [_condition(finding) for finding in assessment.findings],
        "drift_ppm": drift.host_rate(seen.trends),
        "protects": [_margin(each) for each in _margins(report)],
        "daemon": None,
    }


def _performance(policy: Policy, best: Optional[Reading]) -> Iterator[str]:
    """``label=value[unit];warn;crit``; nothing at all for an offset nobody knows.

    The thresholds are magnitudes, written the way every grapher draws them.
    """
    if best is None:
        return
    limits = f"{_number(policy.offset_warning)};{_number(policy.offset_critical)}"
    yield f"offset={_number(best.offset)}ms;{limits}"
    yield f"uncertainty={_number(best.uncertainty)}ms"


def _number(seconds: float) -> str:
    """Milliseconds in plain digits: no exponent, no comma, no ``-0``."""
    digits = f"{seconds * 1000:.6f}".rstrip("0").rstrip(".")
    return "0" if digits in ("-0", "") else digits


def _details(report: Report) -> Iterator[str]:
    findings, seen = report.assessment.findings, report.observations
    for finding in findings:
        word = finding.verdict.word.upper()
        yield f"{finding.condition} {word} {finding.cause}: {finding.summary}"
    if seen.service is not None:
        yield wording.unit(seen.service)
    for observation in conditions.asked(seen):
        yield wording.observed(observation)
    yield from map(str, _margins(report))
    if report.origin == DAEMON:  # whoever has just mended something wonders why it still says so
        yield f"read by the daemon at {wording.utc(report.taken_at)}; --live reads now"
    advised: Dict[str, str] = {}
    for finding in findings:
        for line in finding.advice if finding.verdict is not Verdict.OK else ():
            advised.setdefault(line, finding.condition)
    yield from (f"to do ({condition}): {line}" for line, condition in advised.items())


def _margins(report: Report) -> Tuple[Margin, ...]:
    if not report.policy.protects:
        return ()
    from agent.core import forecast

    return forecast.margins(report.policy, report.assessment.best, report.observations.trends)


def _line(said: str, limit: int = _LONGEST_LINE) -> str:
    return wording.plain(said.replace("|", "\\x7c"), limit)


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 6)


def _reading(policy: Policy, seen: Observation) -> Dict[str, Any]:
    found: Dict[str, Any] = {
        "source": seen.source,
        "trusted": isinstance(seen, Reading),
        "offset_ms": None,
        "uncertainty_ms": None,
        "verdict": Verdict.UNKNOWN.word,
        "cause": None,
        "detail": {key: _scalar(value) for key, value in seen.detail.items()},
    }
    if isinstance(seen, Reading):
        found["offset_ms"] = _milliseconds(seen.offset)
        found["uncertainty_ms"] = _milliseconds(seen.uncertainty)
        found["verdict"] = conditions.judge_reading(policy, seen).word
    else:
        found["cause"] = seen.cause
    return found


def _scalar(value: Scalar) -> Scalar:
    """JSON has no word for infinity or for "not a number"."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _service(state: ServiceState) -> Dict[str, Any]:
    return {
        "unit": state.unit or None,
        "load_state": state.load_state or None,
        "active_state": state.active_state or None,
        "sub_state": state.sub_state or None,
        "unit_file_state": state.unit_file_state or None,
        "verdict": state.verdict.word,
        "cause": state.cause,
    }


def _condition(finding: Finding) -> Dict[str, Any]:
    advice: List[str] = [wording.plain(line, _LONGEST_LINE) for line in finding.advice]
    return {
        "name": finding.condition,
        "verdict": finding.verdict.word,
        "cause": finding.cause,
        "summary": wording.plain(finding.summary, _LONGEST_LINE),
        "advice": advice,
    }


def _margin(margin: Margin) -> Dict[str, Any]:
    return {
        "name": margin.protect.name,
        "margin_ms": _milliseconds(margin.protect.margin),
        "used_percent": _scalar(round(margin.used * 100, 3)),
        "left_s": margin.left,
    }
