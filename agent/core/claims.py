"""Owns judging chronyd's claims: when its word about the clock counts, and how exact it is.

chronyd keeps saying "Normal" and microseconds for weeks after its sources are gone, and in local
mode for ever (measured with 2.4 to 4.8). So its report is believed only while it is synchronised
to something else, something still answers, and its newest measurement is fresh.
"""

from __future__ import annotations

from agent.core.chrony_causes import miss
from agent.core.model import Miss, Policy, Reading, Scalar
from agent.core.sources import Source
from agent.core.tracking import INVALID, NOT_SYNCHRONISED, Tracking
from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.core.wording import CHRONYD, duration, listing, utc

if TYPE_CHECKING:
    from typing import Dict, Optional, Sequence, Tuple, Union

    from typing_extensions import TypeAlias

NO_REFERENCE = "00000000"
LOCAL_REFERENCE = "7F7F0101"
#: Seconds below which the age limit never falls: an update interval is short after a start.
_SHORTEST_LIMIT = 600.0
#: A measurement older than this many polls is stale (as AWS ClockBound has it).
_STALE_POLLS = 8
#: Seconds a measurement may seem to lie in the future: scheduling, and the rounding of text.
_FUTURE = 2.0
#: Seconds by which chronyc may print too little: six decimals before chrony 3.0.
_PRINTED = 1e-6
#: chronyd's answers carry 24 significant bits, so a large offset is printed coarsely.
_SIGNIFICANT = 2.0**-23
_NAMES_SHOWN = 3


class Watch(NamedTuple):
    """Since when chronyd's newest measurement has been the same, by a clock nobody can set."""

    ref_time: float
    #: CLOCK_BOOTTIME seconds at which this ref time was first seen.
    since: float


def watch(previous: Optional[Watch], ref_time: float, boottime: float) -> Watch:
    """Return the watch after seeing ``ref_time``: a new one when it has moved."""
    if previous is not None and previous.ref_time == ref_time:
        return previous
    return Watch(ref_time=ref_time, since=boottime)


class _Seen(NamedTuple):
    """Everything a check may look at."""

    tracking: Tracking
    #: None: chronyd did not tell.
    sources: Optional[Sequence[Source]]
    wall: float
    boottime: float
    max_age: Optional[float]
    watch: Optional[Watch]

    @property
    def now(self) -> float:
        """What chronyd believes the true time to be, in seconds since 1970."""
        return self.wall - self.tracking.offset

    @property
    def age(self) -> float:
        """Seconds since the newest measurement; both ends in chronyd's idea of true time."""
        return self.now - self.tracking.ref_time

    @property
    def limit(self) -> float:
        """Seconds of age up to which a measurement counts."""
        if self.max_age is not None:
            return self.max_age
        known = self.sources or ()
        polls = [s.poll for s in known if s.state == "*"] or [s.poll for s in known]
        longest = max((2.0**poll for poll in polls), default=0.0)
        expected = max(self.tracking.update_interval, longest)
        return max(_STALE_POLLS * expected, _SHORTEST_LIMIT)


#: A word of chrony_causes.CAUSES and the rest of its sentence, or None when all is well.
_Fault: TypeAlias = "Optional[Tuple[str, str]]"


def claim(
    tracking: Tracking,
    sources: Optional[Sequence[Source]],
    *,
    wall: float,
    boottime: float,
    policy: Policy,
    max_age: Optional[float] = None,
    watch: Optional[Watch] = None,
) -> Union[Reading, Miss]:
    """Return chronyd's offset when it may vouch for it, else why it may not.

    ``wall`` and ``boottime`` are the clocks just before chronyd was asked; ``sources`` is None
    when it did not tell them; ``max_age`` (seconds) replaces the limit derived from its polling;
    ``watch`` says how long the newest measurement has been the same one.
    """
    seen = _Seen(tracking, sources, wall, boottime, max_age, watch)
    for check in (_unsynchronised, _local, _lost, _dropped, _unusable, _future, _stale):
        fault = check(seen)
        if fault is not None:
            return miss(*fault, detail=_detail(seen, trusted=False))
    age = max(seen.age, 0.0)
    uncertainty = (
        tracking.root_dispersion
        + tracking.root_delay / 2
        + age * policy.max_drift_ppm * 1e-6
        + abs(tracking.offset) * _SIGNIFICANT
        + _PRINTED
    )
    return Reading(
        source=CHRONYD,
        offset=tracking.offset,
        uncertainty=uncertainty,
        taken_at=boottime,
        detail=_detail(seen, trusted=True),
    )


def _unsynchronised(seen: _Seen) -> _Fault:
    """chronyd itself says that it is not synchronised: why is worth telling."""
    t = seen.tracking
    followed = t.reference_id != NO_REFERENCE and t.stratum > 0 and t.ref_time > 0
    if followed and t.leap_status not in (NOT_SYNCHRONISED, INVALID):
        return None
    sources = seen.sources or ()
    if any(s.state == "x" for s in sources):
        return "no-majority", f"its {_count(sources)} disagree about the time: {_names(sources)}"
    if followed:
        return (
            "unsynchronised",
            f"its leap status is '{t.leap_status}', which lasts two seconds around a leap second",
        )
    if t.update_interval > 0 or t.last_offset:
        return _lost(seen) or _dropped(seen) or ("unsynchronised", _what_sources_do(seen))
    return "never-synchronised", _what_sources_do(seen)


def _local(seen: _Seen) -> _Fault:
    if seen.tracking.reference_id != LOCAL_REFERENCE:
        return None
    told = f"'local stratum {seen.tracking.stratum}' stands in for a source"
    # its ref time is made up to look fresh: only a source can say since when nothing was heard
    measured = any(source.last_rx is not None for source in seen.sources or ())
    lost = _lost(seen) if measured else None
    return "local-mode", f"{told}; {lost[1]}" if lost else told


def _lost(seen: _Seen) -> _Fault:
    """No source answered one of its last three questions."""
    if seen.sources is None or any(source.answers for source in seen.sources):
        return None
    ages = [source.last_rx for source in seen.sources if source.last_rx is not None]
    if not ages and seen.tracking.ref_time <= 0:
        return "sources-lost", _what_sources_do(seen)
    age = min(ages) if ages else max(seen.age, 0.0)
    since = f"since {utc(seen.now - age)} ({duration(age)} ago)"
    if not seen.sources:
        return "sources-lost", f"it has none left, and has measured nothing {since}"
    return "sources-lost", f"no answer from its {_count(seen.sources)} {since}"


def _dropped(seen: _Seen) -> _Fault:
    """chronyd notices a jump, throws its samples away, and (before 4.0) still says Normal."""
    reached = [source for source in seen.sources or () if source.reach]
    if not reached or any(source.last_rx is not None for source in reached):
        return None
    told = "it saw the clock jump (or was itself halted) and has thrown all its measurements away"
    return "clock-stepped", f"{told}; it is measuring anew"


def _unusable(seen: _Seen) -> _Fault:
    """All sources answer but none is usable: what chronyd claims rests on the past alone."""
    if not seen.sources or any(source.state != "?" for source in seen.sources):
        return None
    return "unsynchronised", _what_sources_do(seen)


def _future(seen: _Seen) -> _Fault:
    if seen.age >= -_FUTURE:
        return None
    ahead = f"its newest measurement lies {duration(-seen.age)} in the future"
    return "clock-stepped", f"{ahead} ({utc(seen.tracking.ref_time)})"


def _stale(seen: _Seen) -> _Fault:
    unmoved = 0.0 if seen.watch is None else seen.boottime - seen.watch.since
    age = max(seen.age, unmoved)
    if age <= seen.limit:
        return None
    when = utc(seen.tracking.ref_time)
    return "stale", f"it is from {when}, {duration(age)} ago, the limit is {duration(seen.limit)}"


def _what_sources_do(seen: _Seen) -> str:
    sources = seen.sources
    if sources is None:
        return f"its leap status is '{seen.tracking.leap_status}'"
    if not sources:
        return "it has no source, or none of their names resolves"
    if not any(source.reach for source in sources):
        return f"no answer from its {_count(sources)}: {_names(sources)}"
    return f"nothing usable (yet) in the answers of its {_count(sources)}: {_names(sources)}"


def _count(sources: Sequence[Source]) -> str:
    return "only source" if len(sources) == 1 else f"{len(sources)} sources"


def _names(sources: Sequence[Source]) -> str:
    names = [source.name for source in sources]
    more = len(names) - _NAMES_SHOWN
    return listing(names[:_NAMES_SHOWN] + ([f"{more} more"] if more > 0 else []))


def _detail(seen: _Seen, *, trusted: bool) -> Dict[str, Scalar]:
    """The evidence in the units people read. Numbers that mean nothing are left out."""
    t = seen.tracking
    detail: Dict[str, Scalar] = {
        "stratum": t.stratum,
        "leap_status": t.leap_status,
        "reference_id": t.reference_id,
        "reference": t.reference,
    }
    if t.ref_time <= 0 or t.reference_id in (NO_REFERENCE, LOCAL_REFERENCE):
        return detail
    detail.update(
        root_delay_ms=_rounded(t.root_delay * 1e3),
        root_dispersion_ms=_rounded(t.root_dispersion * 1e3),
        age_s=_rounded(seen.age),
        skew_ppm=t.skew_ppm,
        frequency_ppm=t.frequency_ppm,
        last_offset_ms=_rounded(t.last_offset * 1e3),
        update_interval_s=t.update_interval,
    )
    if not trusted:
        detail["claimed_offset_ms"] = _rounded(t.offset * 1e3)
    return detail


def _rounded(value: float) -> float:
    """To the six decimals chronyd's own digits carry, without the noise of binary fractions."""
    return round(value, 6)
