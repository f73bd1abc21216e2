"""Owns the arithmetic of the past: what a clock showed at a moment, and what time it really was.

Two things are known of every cycle: how far the wall clock was from CLOCK_BOOTTIME, which changes
only when somebody sets the clock; and, if a source was trusted, how far CLOCK_BOOTTIME was from the
truth, which changes only as fast as an oscillator drifts. The second is smooth over every step, so
between two readings it is interpolated whatever was done to the wall clock meanwhile.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from agent.core.drift import Point
from agent.core.model import Verdict
from agent.core.motion import Motion
from agent.core.steps import STEP_THRESHOLD

#: Seconds. What the difference of two wall clock times may be wrong by as binary numbers.
ROUNDING = 1e-6


class Record(NamedTuple):
    """One cycle as it is remembered. Seconds; offset is local minus true."""

    #: Grows from cycle to cycle.
    number: int
    #: Tells the boots apart; boottimes of different boots cannot be compared.
    boot: int
    wall: float
    boottime: float
    #: The host's offset; None when no source was trusted.
    offset: Optional[float] = None
    uncertainty: Optional[float] = None
    source: Optional[str] = None
    #: condition -> (word of the verdict, cause)
    findings: Mapping[str, Tuple[str, str]] = {}

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the cycle; of a condition this version does not know: unknown."""
        words = (word.upper() for word, _ in self.findings.values())
        return max(
            (Verdict.__members__.get(word, Verdict.UNKNOWN) for word in words),
            default=Verdict.UNKNOWN,
        )


class Happening(NamedTuple):
    """Something between two cycles: an event of the clock, or an alert that arose."""

    #: The number of the cycle that noticed it.
    number: int
    #: ``step``, ``suspend``, ``raise``, ``resolve`` ...
    kind: str
    wall: float
    boottime: float
    #: Seconds; only steps (positive: set forward) and suspends have one.
    size: Optional[float] = None
    #: Only alerts have a condition and a severity.
    condition: str = ""
    severity: str = ""
    what: str = ""


class Estimate(NamedTuple):
    """What one clock showed at one moment, and what time it was."""

    #: By the local clock.
    local: float
    #: None when no trusted reading of this boot tells.
    true: Optional[float]
    #: Seconds either way around ``true``.
    uncertainty: Optional[float]
    #: The trusted readings it rests on: the nearest before and after, one of them or none.
    before: Optional[Record]
    after: Optional[Record]
    #: The last cycle at or before the moment: what was thought of the clock then.
    latest: Record
    #: The clock was set by this much before the next cycle, and whether this was
    #: before it (False) or after it (True) is not known; None when it was not set.
    step: Optional[float] = None
    after_step: bool = False

    @property
    def offset(self) -> Optional[float]:
        """Local minus true."""
        return None if self.true is None else self.local - self.true


class Gap(NamedTuple):
    """Why no moment answers: ``before`` and ``after`` are the cycles around it, if there are."""

    #: ``nothing``, ``early``, ``late``, ``off`` (no cycle of one boot spans it) or ``skipped``
    #: (the clock was set past it).
    why: str
    before: Optional[Record] = None
    after: Optional[Record] = None


class Timeline:
    """All cycles in the order they happened."""

    def __init__(self, records: Sequence[Record], wander: float) -> None:
        """``wander``: how much the rate of the oscillator may change, in seconds per second."""
        self._records = records
        self._known: Dict[int, List[Record]] = {}
        for record in records:
            if record.offset is not None:
                self._known.setdefault(record.boot, []).append(record)
        self._motions = {
            boot: Motion([_point(record) for record in known], wander)
            for boot, known in self._known.items()
        }

    def true_of(self, record: Record) -> Optional[float]:
        """The true time of one cycle, interpolated if it had no trusted reading of its own."""
        if record.offset is not None:
            return record.wall - record.offset
        return self._at(record, record.boottime, record.wall).true

    def at_local(self, stamp: float) -> Tuple[Estimate, ...]:
        """Every moment at which the local clock showed ``stamp``: none, one, or after it was set
        back more."""
        found: List[Estimate] = []
        for a, b, last in self._pairs():
            step = _step(a, b)
            if step is None:
                part = _part(a.wall, b.wall, stamp, last)
                if part is not None:
                    found.append(self._at(a, a.boottime + part * (b.boottime - a.boottime), stamp))
                continue
            end = b.boottime + (ROUNDING if last else -ROUNDING)
            for record, after_step in ((a, False), (b, True)):
                boottime = stamp - (record.wall - record.boottime)
                if a.boottime - ROUNDING <= boottime < end:
                    estimate = self._at(a, boottime, stamp)
                    found.append(estimate._replace(step=step, after_step=after_step))
        return tuple(found)

    def at_true(self, moment: float) -> Tuple[Estimate, ...]:
        """What the local clock showed at the true time ``moment``; two if it was being set."""
        for a, b, last in self._pairs():
            begin, end = self.true_of(a), self.true_of(b)
            part = None if begin is None or end is None else _part(begin, end, moment, last)
            if part is None:
                continue
            boottime = a.boottime + part * (b.boottime - a.boottime)
            step = _step(a, b)
            if step is None:
                return (self._at(a, boottime, a.wall + part * (b.wall - a.wall)),)
            return tuple(
                self._at(a, boottime, boottime + record.wall - record.boottime)._replace(
                    step=step, after_step=after_step
                )
                for record, after_step in ((a, False), (b, True))
            )
        return ()

    def gap(self, moment: float, local: bool) -> Gap:
        """Why there is no answer for ``moment`` by the local clock, or by the true one."""
        if not self._records:
            return Gap("nothing")
        shown = [record.wall if local else self._true_or_wall(record) for record in self._records]
        if moment < min(shown):
            return Gap("early", after=self._records[shown.index(min(shown))])
        if moment > max(shown):
            return Gap("late", before=self._records[shown.index(max(shown))])
        for number, (begin, end) in enumerate(zip(shown, shown[1:])):
            if begin <= moment <= end:
                before, after = self._records[number : number + 2]
                why = "skipped" if before.boot == after.boot else "off"
                return Gap(why, before, after)
        return Gap("off")

    def _true_or_wall(self, record: Record) -> float:
        true = self.true_of(record)
        return record.wall if true is None else true

    def _pairs(self) -> Iterator[Tuple[Record, Record, bool]]:
        """Neighbours of one boot, and whether they are the last of it."""
        following = [*(record.boot for record in self._records[2:]), None]
        for a, b, boot in zip(self._records, self._records[1:], following):
            if a.boot == b.boot:
                yield a, b, boot != b.boot

    def _at(self, latest: Record, boottime: float, local: float) -> Estimate:
        """What is known of the moment ``boottime``, at which the clock showed ``local``."""
        known, motion = self._known.get(latest.boot, []), self._motions.get(latest.boot)
        before, after = (None, None) if motion is None else motion.around(boottime)
        believed = None if motion is None else motion.at(boottime)
        return Estimate(
            local,
            None if believed is None else boottime + believed[0],
            None if believed is None else believed[1],
            None if before is None else known[before],
            None if after is None else known[after],
            latest,
        )


def _point(record: Record) -> Point:
    """True time minus boottime, by a record with a trusted reading."""
    truth = record.wall - (record.offset or 0.0) - record.boottime
    return Point(record.boottime, truth, record.uncertainty or 0.0)


def _step(a: Record, b: Record) -> Optional[float]:
    """By how much the clock was set between two cycles; None when it was not."""
    step = (b.wall - b.boottime) - (a.wall - a.boottime)
    return step if abs(step) > STEP_THRESHOLD else None


def _part(begin: float, end: float, moment: float, closed: bool) -> Optional[float]:
    """How far between ``begin`` and ``end`` the moment lies, in [0, 1), or [0, 1] when ``closed``;
    None when outside."""
    inside = begin <= moment < end or (closed and moment == end)
    return (moment - begin) / (end - begin) if inside else None
