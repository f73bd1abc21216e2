"""Owns how the past is told: as lines, as CSV and JSON, and the answer to "what was it then?".

The caller decides how a time is written and by which clock, with a function.
"""

from __future__ import annotations

from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
)

from agent.core import wording
from agent.core.history import Estimate, Gap, Happening, Record

SCHEMA = 1
#: The conditions, in the order of the columns of CSV.
CONDITIONS = ("offset", "sync", "service", "reference", "drift")
_CSV = ("local_time", "true_time", "offset_ms", "uncertainty_ms", "source", "verdict")
#: Writes a time, or says that it is unknown.
Stamp = Callable[[Optional[float]], str]


class Row(NamedTuple):
    """A cycle with its true time, as far as that is known."""

    record: Record
    true: Optional[float]


def narrowed(record: Record, condition: Optional[str]) -> Record:
    """``record`` with what it says about one condition only; None leaves it as it is."""
    if condition is None:
        return record
    own = {name: said for name, said in record.findings.items() if name == condition}
    return record._replace(findings=own)


def listing(
    rows: Sequence[Row],
    happenings: Sequence[Happening],
    stamp: Callable[[Row], str],
    when: Callable[[Happening], str],
) -> Iterator[str]:
    """One line per cycle and per happening. ``when`` writes the time of a happening."""
    waiting = list(happenings)
    thought: Dict[int, str] = {}  # most cycles share what was found: say each only once
    for row in rows:
        while waiting and waiting[0].number <= row.record.number:
            happening = waiting.pop(0)
            yield f"{when(happening)}  -- {told(happening)}"
        key = id(row.record.findings)
        if key not in thought:
            thought[key] = judged(row.record)
        yield f"{stamp(row)}  {_amounts(row.record)}  {thought[key]}".rstrip()


def told(happening: Happening) -> str:
    """A happening in one sentence."""
    if happening.condition:
        said = f"{happening.kind} {happening.severity}, {happening.condition}: {happening.what}"
    elif happening.kind == "step" and happening.size is not None:
        said = f"step: {step(happening.size)}"
    elif happening.kind == "suspend" and happening.size is not None:
        said = f"suspend: the host slept for {wording.duration(happening.size)}"
    else:
        said = happening.kind + (f": {happening.what}" if happening.what else "")
    return wording.plain(said)


def step(size: float) -> str:
    """``the clock was set back by 22 min (-1320000.0 ms)``."""
    way = "forward" if size > 0 else "back"
    sign = "+" if size > 0 else ""
    return (
        f"the clock was set {way} by {wording.duration(abs(size))}"
        f" ({sign}{wording.milliseconds(size)} ms)"
    )


def judged(record: Record) -> str:
    """``critical  offset fast, sync stale``; what is well is not mentioned."""
    if not record.findings:
        return ""
    word = record.verdict.word
    bad = [
        f"{name} {cause or said}" for name, (said, cause) in record.findings.items() if said != "ok"
    ]
    return f"{word:<8}  {', '.join(bad)}" if bad else word


def csv(rows: Iterable[Row], stamp: Stamp) -> Iterator[str]:
    """A header and one line per cycle; a verdict that was not given is empty."""
    yield ",".join((*_CSV, *CONDITIONS))
    for record, true in rows:
        said = (record.findings.get(name, ("", ""))[0] for name in CONDITIONS)
        cells = (
            stamp(record.wall),
            "" if true is None else stamp(true),
            _fixed(record.offset),
            _fixed(record.uncertainty),
            record.source or "",
            record.verdict.word if record.findings else "",
            *said,
        )
        yield ",".join(_cell(cell) for cell in cells)


def document(
    rows: Iterable[Row], happenings: Iterable[Happening], stamp: Stamp
) -> Dict[str, Any]:  # Any: whatever JSON can carry
    """Everything as one JSON document."""
    return {
        "schema": SCHEMA,
        "cycles": [cycle(row, stamp) for row in rows],
        "events": [
            {
                "local_time": stamp(each.wall),
                "kind": each.kind,
                "condition": each.condition or None,
                "severity": each.severity or None,
                "size_ms": _rounded(each.size),
                "what": told(each),
            }
            for each in happenings
        ],
    }


def cycle(row: Row, stamp: Stamp) -> Dict[str, Any]:
    """One cycle for JSON."""
    record = row.record
    return {
        "local_time": stamp(record.wall),
        "true_time": None if row.true is None else stamp(row.true),
        "offset_ms": _rounded(record.offset),
        "uncertainty_ms": _rounded(record.uncertainty),
        "source": record.source,
        "verdict": record.verdict.word if record.findings else None,
        "conditions": [
            {"name": name, "verdict": said, "cause": cause or None}
            for name, (said, cause) in record.findings.items()
        ],
    }


def answer(found: Estimate, stamp: Stamp) -> Iterator[str]:
    """What a clock showed at one moment, and what that rests on."""
    yield f"this host's clock   {stamp(found.local)}"
    if found.true is None or found.offset is None:
        yield "true time           unknown: no source was trusted since this boot"
    else:
        spread = wording.bound(found.uncertainty or 0.0)
        yield f"true time           {stamp(found.true)}, give or take {spread}"
        yield f"offset              {wording.offset(found.offset)}, give or take {spread}"
        yield f"rests on            {_rests_on(found)}"
    if found.latest.findings:
        yield f"judged at the time  {judged(found.latest)}"
    if found.step is not None:
        side = "before" if found.after_step else "after"
        yield f"provided that       {step(found.step)} {side} it: nobody saw the moment itself"


def answer_as_dict(found: Estimate, stamp: Stamp) -> Dict[str, Any]:
    """The same for JSON."""
    return {
        "local_time": stamp(found.local),
        "true_time": None if found.true is None else stamp(found.true),
        "offset_ms": _rounded(found.offset),
        "uncertainty_ms": _rounded(found.uncertainty),
        "before": _reading(found.before, stamp),
        "after": _reading(found.after, stamp),
        "verdict": found.latest.verdict.word if found.latest.findings else None,
        "step_ms": _rounded(found.step),
        "after_step": None if found.step is None else found.after_step,
    }


def no_answer(gap: Gap, asked: str, stamp: Stamp) -> str:
    """Why nothing is known of the time ``asked``, in one sentence."""
    before, after = (None if each is None else stamp(each.wall) for each in (gap.before, gap.after))
    between = f"between {before} and {after}"
    if gap.why == "nothing":
        return "nothing is remembered yet"
    if gap.why == "early":
        return f"{asked} is before the first record, which is of {after}"
    if gap.why == "late":
        return f"{asked} is after the last record, which is of {before}"
    if gap.why == "skipped":
        return f"this clock never showed {asked}: it was set forward {between}"
    off = f"nothing was recorded at {asked}: the host was off, or the daemon was not running"
    return f"{off}, {between}" if before and after else off


def _rests_on(found: Estimate) -> str:
    moment = found.latest.boottime + (found.local - found.latest.wall)
    if found.step is not None and found.after_step:
        moment -= found.step
    said: List[str] = []
    for reading, side in ((found.before, "before"), (found.after, "after")):
        if reading is not None:
            away = wording.duration(abs(reading.boottime - moment))
            said.append(f"{wording.source(reading.source or '?')} {away} {side}")
    return wording.listing(said)


def _amounts(record: Record) -> str:
    if record.offset is None:
        return f"{'unknown':>15}{'':15}"
    sign = "+" if record.offset > 0 else ""
    spread = wording.bound(record.uncertainty or 0.0).partition(" ")[0]
    return f"{sign + wording.milliseconds(record.offset):>12} ms +-{spread:>9} ms"


def _reading(record: Optional[Record], stamp: Stamp) -> Optional[Dict[str, Any]]:
    if record is None:
        return None
    return {
        "local_time": stamp(record.wall),
        "source": record.source,
        "offset_ms": _rounded(record.offset),
        "uncertainty_ms": _rounded(record.uncertainty),
    }


def _rounded(seconds: Optional[float]) -> Optional[float]:
    return None if seconds is None else round(seconds * 1000, 6)


def _fixed(seconds: Optional[float]) -> str:
    return "" if seconds is None else f"{seconds * 1000:.6f}"


def _cell(text: str) -> str:
    """Quoted where CSV asks for it."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text
