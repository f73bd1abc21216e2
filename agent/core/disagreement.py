"""Owns the story told about a proven offset: whose clock is suspect, and why."""

from __future__ import annotations

from agent.core import wording
from agent.core.consensus import majority
from agent.core.model import Policy, Reading
from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.core.wording import CHRONYD

if TYPE_CHECKING:
    from typing import Sequence, Tuple

#: What finds the wrong one of two sides that contradict each other.
_COMPARE = (
    "do not step this clock before it is known which side is wrong",
    "clock-agent check --live  # on another host: the same complaint there clears this clock",
    "chronyc -n sources -v  # do chronyd's own servers agree with each other?",
    "chronyc -n tracking  # on the Redis server's host: is that clock synchronised?",
)
_WATCH = ("chronyc -n tracking  # is `System time` shrinking? chronyd may be correcting it slowly",)
_BRING_BACK = (
    "bring the time service back first (conditions service and sync): it corrects this clock",
)


class Story(NamedTuple):
    """Why a proven offset is reported: a cause word, one sentence, and what to do."""

    cause: str
    summary: str
    advice: Tuple[str, ...]


def explain(policy: Policy, readings: Sequence[Reading], blamed: Sequence[str]) -> Story:
    """Tell the story of a breach that the sources in ``blamed`` (at least one) prove.

    Names the suspect: this clock when the sources agree or the majority says so, else the source
    that stands alone, else both sides of the argument.
    """
    camp = majority(policy, readings)
    odd = tuple(r for r in readings if r not in camp)
    if not camp:
        return Story(cause="disagreement", summary=_argument(readings, blamed), advice=_COMPARE)
    accusers = [r for r in camp if r.source in blamed]
    if accusers:
        worst = max(accusers, key=lambda r: r.lower)
        others = [r for r in camp if r is not worst]
        return _this_clock(policy, worst, others, odd)
    precise = min(camp, key=lambda r: r.uncertainty)
    names = wording.listing([wording.source(r.source) for r in camp])
    summary = (
        f"{names} vouch for this clock ({wording.reading(precise)});"
        f" the odd one out: {_sayings(odd)}: suspect {_suspects(odd)}"
    )
    return Story(cause="disagreement", summary=summary, advice=_COMPARE)


def _this_clock(
    policy: Policy, worst: Reading, others: Sequence[Reading], odd: Sequence[Reading]
) -> Story:
    """Nobody contradicts, or only a minority: it is this clock."""
    critical = worst.lower > policy.offset_critical
    name = "critical" if critical else "warning"
    limit = policy.offset_critical if critical else policy.offset_warning
    told = [
        f"this clock is {wording.offset(worst.offset)} according to"
        f" {wording.source(worst.source)}, error at most {wording.bound(worst.upper)}"
        f" (above the {name} limit of {wording.duration(limit)})",
        *(wording.said_by(r) for r in others),
    ]
    if odd:
        told.append(f"the odd one out: {_sayings(odd)}")
    chronyd_is_there = any(r.source == CHRONYD for r in (worst, *others, *odd))
    return Story(
        cause="ahead" if worst.offset > 0 else "behind",
        summary="; ".join(told),
        advice=_WATCH if chronyd_is_there else _BRING_BACK,
    )


def _argument(readings: Sequence[Reading], blamed: Sequence[str]) -> str:
    """Two sides, or several that all differ: no majority decides."""
    chronyd = [r for r in readings if r.source == CHRONYD]
    servers = [r for r in readings if r.source != CHRONYD]
    theirs = _sayings(servers)
    if not chronyd:
        return f"{theirs}: suspect {_suspects(servers)}; no further source tells which is right"
    if CHRONYD in blamed:
        return (
            f"{_sayings(chronyd)}; {theirs}: suspect this clock first,"
            f" then {_suspects((*chronyd, *servers))}"
        )
    return (
        f"chronyd vouches for this clock ({wording.reading(chronyd[0])}); {theirs}:"
        f" suspect {_suspects(servers)}, or chronyd's own servers"
    )


def _sayings(readings: Sequence[Reading]) -> str:
    """``Redis locks says this clock is +5000.0 ms ahead (fast)``, for each."""
    return wording.listing(
        [
            f"{wording.source(r.source)} says this clock is {wording.offset(r.offset)}"
            for r in readings
        ]
    )


def _suspects(readings: Sequence[Reading]) -> str:
    """Whose clocks are wrong when these readings are."""
    names = [wording.plain(r.source, 60) for r in readings if r.source != CHRONYD]
    suspects = ["chronyd's own servers"] * (len(names) < len(readings))
    if names:
        server = "server" if len(names) == 1 else "servers"
        suspects.append(f"the clock of the Redis {server} {wording.listing(names)}")
    return wording.listing(suspects)
