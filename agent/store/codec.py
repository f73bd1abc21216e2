"""Owns standings and alerts as text, and the boottimes in it when the host was booted since.

Reading is forgiving: what another version wrote and this one does not know is left out, and what is
missing has its default. So a field more or less needs no new format of the file.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, NamedTuple, Optional

from agent.core.model import Alert, Standing, Verdict
from agent.core.steps import ClockSample

#: Fields of a standing that hold a boottime.
_BOOTTIMES = ("since", "told_at")
#: Seconds. A longer time between two boots is a wall clock that had no idea.
_LONGEST_GAP = 10 * 365 * 86400.0


class Moment(NamedTuple):
    """When something was saved: its boottimes mean nothing without it."""

    clock: ClockSample
    boot_id: str


def same_boot(then: Moment, now: Moment) -> bool:
    """Whether the boottimes of two moments can be compared."""
    return bool(then.boot_id) and then.boot_id == now.boot_id


def elapsed(then: Moment, now: Moment) -> float:
    """Seconds from one moment to a later one, over a reboot as well as the clocks can tell.

    Within one boot CLOCK_BOOTTIME tells. Over a reboot there is only the wall clock, which may be
    wrong: it is believed unless what it says is impossible; then only the new boot is counted.
    """
    if same_boot(then, now):
        return now.clock.boottime - then.clock.boottime
    by_wall = now.clock.wall - then.clock.wall
    return by_wall if now.clock.boottime <= by_wall <= _LONGEST_GAP else now.clock.boottime


def standing_to_text(standing: Standing, saved: Moment) -> str:
    """``standing`` with the moment it was saved."""
    fields: Dict[str, Any] = standing._asdict()  # Any: whatever JSON can carry
    fields["alerting"] = standing.alerting.word
    return json.dumps({**fields, "saved": [*saved.clock], "boot_id": saved.boot_id})


def standing_from_text(text: str, now: Moment) -> Optional[Standing]:
    """The standing told in the boottime of ``now``; None when the text is none of ours."""
    try:
        fields = json.loads(text)
        then = Moment(ClockSample(*map(float, fields["saved"])), str(fields["boot_id"]))
        shift = 0.0
        if not same_boot(then, now):
            shift = now.clock.boottime - elapsed(then, now) - then.clock.boottime
        known = {name: fields[name] for name in Standing._fields if name in fields}
        known["alerting"] = Verdict[known["alerting"].upper()]
        for name in _BOOTTIMES:
            if known.get(name) is not None:
                known[name] = float(known[name]) + shift
        return Standing(**_tuples(known))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def alert_to_text(alert: Alert) -> str:
    """``alert`` as one JSON object."""
    return json.dumps(alert._asdict())


def alert_from_text(text: str) -> Optional[Alert]:
    """The alert; None when the text is none of ours."""
    try:
        fields = json.loads(text)
        return Alert(**_tuples({name: fields[name] for name in Alert._fields if name in fields}))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _tuples(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """JSON knows no tuples: its lists become what they were."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
