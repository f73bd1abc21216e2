"""Owns what the daemon tells about itself: as a part of the published document, and as lines.

The document is written by one process and read by another, so everything in it that grows old is a
boottime: whoever reads it knows how old it is, whatever was done to the wall clock meanwhile.
"""

from __future__ import annotations

import math
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from agent.core import judge, wording
from agent.core.model import Policy, Standing, Verdict
from agent.core.outbox import SinkHealth
from agent.core.steps import Event

#: A part of a JSON document.
Document = Mapping[str, Any]  # Any: whatever JSON can carry


class State(NamedTuple):
    """What the daemon knows beyond its readings."""

    pid: int
    version: str
    #: CLOCK_BOOTTIME seconds of the last cycle, and of the next one.
    taken_at: float
    due: float
    standings: Tuple[Standing, ...]
    sinks: Tuple[SinkHealth, ...]
    #: Why history is in memory only; None when it is on the disk.
    trouble: Optional[str]
    #: Recent steps and suspends, oldest first.
    events: Tuple[Event, ...]


def as_dict(policy: Policy, state: State) -> Dict[str, Any]:
    """The part ``daemon`` of the published document."""
    return {
        "pid": state.pid,
        "version": state.version,
        "boottime_s": round(state.taken_at, 3),
        "next_boottime_s": round(state.due, 3),
        "standings": [_standing(policy, each) for each in state.standings],
        "sinks": [{**each._asdict(), "trouble": each.trouble or None} for each in state.sinks],
        "store_trouble": state.trouble,
        "events": [
            {
                "kind": each.kind,
                "size_ms": None if each.size is None else round(each.size * 1000, 6),
                "boottime_s": round(each.boottime, 3),
            }
            for each in state.events
        ],
    }


def run_of(policy: Policy, standing: Standing) -> Optional[Tuple[Verdict, int]]:
    """The unfinished run of a condition: towards what, and how long it is."""
    if not judge.pending(policy, (standing,)):
        return None
    if standing.ok_run:
        return Verdict.OK, standing.ok_run
    if standing.blind_run:
        return Verdict.UNKNOWN, standing.blind_run
    if standing.critical_run > 0 and standing.alerting < Verdict.CRITICAL:
        return Verdict.CRITICAL, standing.critical_run
    return Verdict.WARNING, standing.warning_run


def lines(document: Document, boottime: float) -> Iterator[str]:
    """A published document as ``status`` shows it, at ``boottime``."""
    daemon: Document = document["daemon"]
    age = wording.duration(boottime - daemon["boottime_s"])
    left = daemon["next_boottime_s"] - boottime
    following = f"the next in {wording.duration(left)}" if left > 0 else "the next is under way"
    yield f"{document['host']}: {document['verdict']} - {document['summary']}"
    yield f"daemon      version {daemon['version']}, pid {daemon['pid']}"
    yield f"readings    {age} ago, {following}"
    for reading in document["readings"]:
        yield f"  {reading['source']:<12}{_reading(reading)}"
    yield "conditions"
    standings = {each["condition"]: each for each in daemon["standings"]}
    for condition in document["conditions"]:
        name, standing = condition["name"], standings.get(condition["name"], {})
        parts = [f"{condition['verdict']:<10}{condition['summary']}", *_run(standing, boottime)]
        yield f"  {name:<12}{'; '.join(parts)}"
    for protect in document["protects"]:
        yield f"protects    {_protect(protect)}"
    yield "alerts"
    for sink in daemon["sinks"]:
        yield f"  {sink['name']:<12}{_sink(sink)}"
    yield f"history     {_store(daemon['store_trouble'])}"
    for event in daemon["events"]:
        yield f"clock       {_event(event, boottime)}"


def _standing(policy: Policy, standing: Standing) -> Dict[str, Any]:
    run = run_of(policy, standing)
    return {
        "condition": standing.condition,
        "alerting": None if standing.alerting is Verdict.OK else standing.alerting.word,
        "since_boottime_s": None if standing.since is None else round(standing.since, 3),
        "run": None
        if run is None
        else {"verdict": run[0].word, "length": run[1], "of": policy.consecutive},
    }


def _reading(reading: Document) -> str:
    if reading["offset_ms"] is None:
        return f"none: {reading['cause']}"
    offset = wording.offset(reading["offset_ms"] / 1000)
    return f"{offset}, give or take {wording.bound(reading['uncertainty_ms'] / 1000)}"


def _run(standing: Document, boottime: float) -> List[str]:
    """``alerted as critical, 22 min``; ``2 of 3 towards warning``."""
    parts: List[str] = []
    since = standing.get("since_boottime_s")
    lasted = "" if since is None else f" for {wording.duration(boottime - since)}"
    if standing.get("alerting"):
        parts.append(f"alerted as {standing['alerting']}{lasted}")
    run = standing.get("run")
    if run:
        parts.append(f"{run['length']} of {run['of']} towards {run['verdict']}")
    return parts


def _protect(protect: Document) -> str:
    used = protect["used_percent"]
    share = wording.percent(math.inf if used is None else used / 100)
    told = f"{share} of the {wording.duration(protect['margin_ms'] / 1000)} margin is used up"
    left = protect["left_s"]
    more = "" if left is None else f", all of it in {wording.duration(left)} at the present drift"
    return f"{wording.plain(protect['name'], 60)}: {told}{more}"


def _sink(sink: Document) -> str:
    if sink["trouble"] and not (sink["waiting"] or sink["failures"]):
        return f"nothing left to deliver, but the last attempt failed: {sink['trouble']}"
    waiting = f"{sink['waiting']} to be delivered" if sink["waiting"] else "everything delivered"
    failures = f", {sink['failures']} failed attempts" if sink["failures"] else ""
    return waiting + failures + (f": {sink['trouble']}" if sink["trouble"] else "")


def _store(trouble: Optional[str]) -> str:
    return f"in memory only: {trouble}" if trouble else "on the disk"


def _event(event: Document, boottime: float) -> str:
    size = event["size_ms"]
    happened = Event(event["kind"], 0.0, event["boottime_s"], None if size is None else size / 1000)
    return wording.event(happened, boottime)


def remembered(
    standings: Sequence[Standing], owed: Mapping[str, int], boottime: float
) -> Iterator[str]:
    """What is known from the file alone, while no daemon tells more."""
    for standing in standings:
        if standing.alerting is not Verdict.OK:
            lasted = wording.duration(boottime - (standing.since or boottime))
            yield f"  {standing.condition:<12}alerted as {standing.alerting.word} for {lasted}"
    for sink, count in owed.items():
        yield f"  {sink:<12}{count} to be delivered or to be told again"
