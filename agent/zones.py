"""Owns time zones by their names, as the C library and the zone files of this host know them."""

from __future__ import annotations

import time
from typing import Any, Tuple

from agent.core.localtime import Zone, utc
from agent.errors import UsageError


def find(name: str) -> Tuple[Zone, str]:
    """The zone called ``name``, and what to call it in a sentence. Raises UsageError.

    ``local`` is the zone in which this process writes times.
    """
    if name.upper() in ("UTC", "Z"):
        return utc, "UTC"
    if name == "local":
        return _local, f"local ({time.strftime('%Z')})"
    import zoneinfo
    from datetime import datetime

    try:
        found = zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise UsageError(f"--zone: there is no zone {name!r}", _near(name, zoneinfo)) from None

    def east(moment: float) -> int:
        try:
            offset = datetime.fromtimestamp(moment, found).utcoffset()
        except (OverflowError, ValueError, OSError):  # a clock beyond the calendar
            return 0
        return int(offset.total_seconds()) if offset is not None else 0

    return east, name


def _local(moment: float) -> int:
    try:
        return time.localtime(moment).tm_gmtoff
    except (OverflowError, ValueError, OSError):  # a clock beyond the calendar
        return 0


def _near(name: str, zoneinfo: Any) -> str:  # Any: a module, imported only when it is needed
    import difflib

    known = zoneinfo.available_timezones()
    if not known:
        return "this host has no zone data: install tzdata, or use UTC or local"
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else "write UTC, local or a name like Europe/Berlin"
