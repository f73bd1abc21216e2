"""Owns judging the host's time service: from what systemd and the host show to a ``ServiceState``.

The verdict is about the family, not about a name: chronyd's real unit is found among its names,
and masks, enablement and rivals are judged around it. ``agent.core.service_causes`` holds the table
of causes; here is what the table looks at.
"""

from __future__ import annotations

from agent.core.model import Detail, ServiceState, Verdict, Weight
from agent.core.service_causes import CAUSES
from agent.core.service_rows import Cause
from agent.core.service_view import Look, Program, View
from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.core.units import CHRONY_UNITS, OTHER_UNITS, TIMESYNCD, Unit
from agent.core.wording import plain

if TYPE_CHECKING:
    from typing import Dict, Optional, Tuple

__all__ = ["Facts", "Look", "Program", "decide", "disk_decides", "unanswered", "watched_pid"]


class Facts(NamedTuple):
    """What one look at the host's systemd showed."""

    units: Tuple[Unit, ...]
    #: ``auto``, or the unit the configuration names.
    wanted: str = "auto"
    #: CLOCK_MONOTONIC seconds, the clock systemd's timestamps are in.
    monotonic: float = 0.0
    #: The process systemd holds to be the daemon; None when there is none or it cannot be seen.
    main: Optional[Program] = None
    #: The look behind systemd; None before it was taken. A healthy host needs none.
    look: Optional[Look] = None


def decide(facts: Facts) -> ServiceState:
    """Judge the time service. Never raises; without a ``look`` the verdict may be provisional."""
    view = _view(facts)
    unit = view.unit
    cause = next(cause for cause in CAUSES if cause.when(view))
    return ServiceState(
        unit=unit.id,
        load_state=unit.load_state,
        active_state=unit.active_state,
        sub_state=unit.sub_state,
        unit_file_state=view.enablement,
        verdict=cause.grade.verdict,
        cause=cause.word,
        what=_sentence(cause, view),
        advice=tuple(line for step in cause.steps for line in step(view)),
        weight=cause.grade.weight,
        detail=_detail(view),
    )


def disk_decides(facts: Facts) -> bool:
    """True when a name is masked that only the unit files can tell to be chronyd's other name."""
    candidates = [name for name in OTHER_UNITS if name != TIMESYNCD]
    return any(unit.load_state == "masked" and unit.id in candidates for unit in facts.units)


def watched_pid(facts: Facts) -> int:
    """The pid systemd holds to be the daemon's; 0 when there is none."""
    unit = _chosen(facts.units, facts.wanted, ())
    return unit.main_pid if unit.active else 0


def unanswered(
    cause: str,
    what: str,
    advice: Tuple[str, ...] = (),
    *,
    verdict: Verdict = Verdict.UNKNOWN,
    weight: Weight = Weight.COUNTED,
) -> ServiceState:
    """The state of a time service that systemd could not be asked about."""
    return ServiceState("", "", "", "", "", verdict, cause, what, advice, weight)


def _view(facts: Facts) -> View:
    look = facts.look or Look()
    unit = _chosen(facts.units, facts.wanted, look.real_names)
    rest = tuple(u for u in facts.units if u.id != unit.id)
    # A unit that is no time daemon has no rivals: doctor asks about clock-agent's own.
    others = OTHER_UNITS if unit.id in OTHER_UNITS or unit.id.startswith("chron") else ()
    masked = tuple(u.id for u in rest if u.load_state == "masked")
    own = tuple(name for name in masked if _alias(name, unit, look))
    return View(
        unit=unit,
        wanted=facts.wanted,
        masked=own,
        also_masked=tuple(
            name for name in masked if name in others and name not in (*own, TIMESYNCD)
        ),
        broken_aliases=tuple(u.id for u in rest if u.load_state == "error" and _leads(u, unit)),
        twins=tuple(u for u in rest if _chrony(u.id) and u.load_state == "loaded"),
        others=tuple(u.id for u in rest if u.id in others and u.active),
        monotonic=facts.monotonic,
        main=facts.main,
        look=look,
    )


def _chosen(units: Tuple[Unit, ...], wanted: str, real_names: Tuple[str, ...]) -> Unit:
    """The unit to judge: the one asked for, else the chrony unit with the most life in it."""
    if wanted != "auto":
        for unit in units:
            if wanted in (unit.id, *unit.names):
                return unit
        return Unit(id=wanted)
    candidates = [unit for unit in units if _chrony(unit.id)]
    if not candidates:
        return Unit(id=CHRONY_UNITS[0])
    # An unreadable block must not lose to a readable "not-found": that would invent an absence.
    rank = {"loaded": 5, "bad-setting": 4, "masked": 2, "error": 1, "not-found": 0}

    def life(unit: Unit) -> Tuple[bool, int, bool, bool]:
        state = unit.unit_file_state
        # An old init script makes a unit of its own beside a masked or removed real one.
        standing = 1 if state == "generated" else rank.get(unit.load_state, 3)
        return unit.active, standing, state == "enabled", unit.id in real_names

    return max(candidates, key=life)


def _chrony(name: str) -> bool:
    return name in CHRONY_UNITS


def _leads(other: Unit, unit: Unit) -> bool:
    """True when the file that ``other`` was read from is the one of ``unit``."""
    return other.fragment_path.rpartition("/")[2] == unit.id


def _alias(name: str, unit: Unit, look: Look) -> bool:
    """True when ``name`` is, or before it was masked was, another name of ``unit``."""
    if not _chrony(unit.id):
        return False
    return name in CHRONY_UNITS[:2] or name in look.aliases


def _detail(view: View) -> Detail:
    unit = view.unit
    known = {
        "main_pid": unit.main_pid or None,
        "restarts": unit.restarts,
        "result": unit.result,
        "fragment_path": unit.fragment_path,
        "masked_aliases": " ".join(view.masked),
        "other_daemons": " ".join(view.others),
    }
    return {key: value for key, value in known.items() if value}


def _sentence(cause: Cause, view: View) -> str:
    """What was seen, and what else the same script or hand has left behind."""
    text = cause.what.format_map(_words(view))
    if view.masked and "{masked}" not in cause.what:
        text += f"; its other name {_listed(view.masked)} masked"
    elif view.also_masked and cause.grade.verdict is not Verdict.OK:
        text += f"; {_listed(view.also_masked)} masked as well"
    if view.others and "{others}" not in cause.what:
        text += f"; {_listed(view.others)} active"
    if view.strays and "{pid}" not in cause.what:
        text += f"; a chronyd that systemd does not know runs as pid {view.strays[0].pid}"
    return text


def _listed(names: Tuple[str, ...]) -> str:
    return " and ".join(names) + (" is" if len(names) == 1 else " are")


def _words(view: View) -> Dict[str, object]:
    unit = view.unit
    process = view.strays[0] if view.strays else view.main
    return {
        "unit": plain(unit.id),
        "wanted": plain(view.wanted),
        "fragment": plain(unit.fragment_path),
        "state": plain(f"{unit.active_state} ({unit.sub_state})"),
        "load": plain(unit.load_state or "nothing"),
        "error": plain(unit.load_error) or "no reason given",
        "enablement": plain(view.enablement),
        "result": plain(unit.result) or "reason unknown",
        "end": _end(view),
        "restarts": unit.restarts,
        "program": plain(unit.program) or "its program",
        "pid": process.pid if process else unit.main_pid,
        "name": plain(process.name) if process else "",
        "masked": " and ".join(view.masked),
        "aliases": " and ".join(view.broken_aliases),
        "others": " and ".join(view.others),
        "twins": " and ".join(u.id for u in view.twins),
        "why": _why_not_met(view),
    }


def _end(view: View) -> str:
    """How the last run ended."""
    if view.killed_by:
        return f"killed by signal {view.killed_by}"
    return f"exit status {view.unit.exec_status or view.unit.program_status}"


def _why_not_met(view: View) -> str:
    if view.look.may_set_clock is False:
        return "nothing here may set the clock (no CAP_SYS_TIME: a container)"
    return "`systemctl status` names it"
