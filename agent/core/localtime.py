"""Owns times as people write them: a stamp out of a log, in a zone that may have summer time.

Pure: a zone is a function from seconds since 1970 to the seconds it is east of UTC at that moment.
From such a function alone follows whether a local time exists, and whether it exists twice.
"""

from __future__ import annotations

import calendar
import math
import time
from typing import Callable, List, NamedTuple, Optional, Tuple

#: Seconds since 1970 -> seconds east of UTC.
Zone = Callable[[float], int]

ACCEPTED = "write 2026-08-24 02:00:03, 02:00:03, Aug 24 02:00:03 or @1787536803"
_MONTHS = [name.lower() for name in calendar.month_abbr]
_DAY = 86_400
#: Seconds. Far enough to see the other side of any change of a zone, a whole day among them.
_AROUND = 2 * _DAY


class _Parts(NamedTuple):
    """What a text says, before the zone is known. None where it is silent."""

    year: Optional[int]
    month: Optional[int]
    day: Optional[int]
    second: float
    #: Seconds east of UTC, when the text itself says so.
    east: Optional[int]


def utc(_moment: float) -> int:
    """The zone in which nothing ever changes."""
    return 0


def parse(text: str, now: float, zone: Zone, zone_name: str) -> float:
    """The seconds since 1970 that ``text`` means; a part it leaves out is taken from ``now``.

    Without a date it is the last such time of day, without a year the last such date. Raises
    ValueError with a sentence: not a time, no such local time, or two of them.
    """
    words = text.strip()
    if words.startswith("@"):
        return _epoch(words[1:], text)
    parts = _parse(words, text)
    for whole in _candidates(parts, now, zone):
        moment = _settle(whole, text, zone, zone_name, parts.east)
        if parts.year is not None or moment <= now:
            return moment
    raise ValueError(f"'{text}' has not been yet")


def show(moment: float, zone: Zone, digits: int = 3) -> str:
    """``2026-08-24 02:00:03.000+02:00``; in UTC with a Z."""
    scale = 10**digits
    ticks = math.floor((moment + 0.0005) * scale)  # cut like every log's, but for binary noise
    whole, fraction = divmod(ticks, scale)
    east = zone(whole)
    try:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(whole + east))
    except (OverflowError, ValueError, OSError):  # beyond the calendar: date(1) reads this
        return f"@{moment:.{digits}f}"
    return stamp + (f".{fraction:0{digits}d}" if digits else "") + _suffix(east)


def moments(whole: float, zone: Zone) -> Tuple[float, ...]:
    """Every moment that a clock in ``zone`` shows as ``whole`` (the time as if it were UTC)."""
    easts = {zone(whole + shift) for shift in (-_AROUND, -_DAY, 0, _DAY, _AROUND)}
    return tuple(sorted(whole - east for east in easts if zone(whole - east) == east))


def _settle(whole: float, text: str, zone: Zone, zone_name: str, east: Optional[int]) -> float:
    """The one moment that is meant."""
    if east is not None:
        return whole - east
    found = moments(whole, zone)
    if len(found) == 1:
        return found[0]
    if not found:
        before, after = zone(whole - _AROUND), zone(whole + _AROUND)
        raise ValueError(
            f"'{text}' does not exist in {zone_name}: clocks went from {_suffix(before)} to"
            f" {_suffix(after)} and left it out; give the time in UTC, with a Z"
        )
    ways = " and ".join(show(moment, zone, 0) for moment in found)
    raise ValueError(f"'{text}' happened twice in {zone_name}: {ways}; write which one is meant")


def _candidates(parts: _Parts, now: float, zone: Zone) -> List[float]:
    """The local times a text may mean, latest first, as if they were UTC."""
    east = zone(now) if parts.east is None else parts.east
    today = time.gmtime(now + east)
    if parts.day is None or parts.month is None:
        midnight = math.floor((now + east) / _DAY) * _DAY
        return [midnight + parts.second, midnight - _DAY + parts.second]
    years = [today.tm_year, today.tm_year - 1] if parts.year is None else [parts.year]
    possible = [year for year in years if parts.day <= _days(year, parts.month)]
    if not possible:
        raise ValueError(f"there was no such day in {years[-1]} and {years[0]}")
    return [calendar.timegm((y, parts.month, parts.day, 0, 0, 0)) + parts.second for y in possible]


def _parse(words: str, text: str) -> _Parts:
    """Take a text apart. Raises ValueError."""
    rest, east = _zone(words)
    pieces = rest.replace("T", " ", 1).split() if rest[:1].isdigit() else rest.split()
    if not pieces or len(pieces) > 3:
        raise ValueError(f"'{text}' is no time; {ACCEPTED}")
    second = _time_of_day(pieces[-1], text)
    if len(pieces) == 1:
        return _Parts(None, None, None, second, east)
    if len(pieces) == 2:
        date = [_number(each, text) for each in pieces[0].split("-")]
        if len(date) != 3 or not 1 <= date[0] <= 9999:
            raise ValueError(f"'{text}' has no date such as 2026-08-24; {ACCEPTED}")
        year: Optional[int]
        year, month, day = date
    else:
        if pieces[0].lower() not in _MONTHS[1:]:
            raise ValueError(f"'{text}' names no month; {ACCEPTED}")
        year, month, day = None, _MONTHS.index(pieces[0].lower()), _number(pieces[1], text)
    longest = _days(year or 2000, month)
    if not longest or not 1 <= day <= longest:
        raise ValueError(f"'{text}' is a day that the calendar does not have")
    return _Parts(year, month, day, second, east)


def _zone(words: str) -> Tuple[str, Optional[int]]:
    """Cut ``Z``, ``UTC`` or ``+02:00`` off the end."""
    for name in ("Z", "UTC", "GMT"):
        if words.upper().endswith(name):
            return words[: -len(name)].strip(), 0
    head, sign, tail = words.rpartition("+")
    if not sign:
        head, sign, tail = words.rpartition("-")
        if ":" not in head:  # the hyphen of a date
            return words, None
    digits = tail.replace(":", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) in (2, 4)):
        return words, None
    east = int(digits[:2]) * 3600 + int(digits[2:] or 0) * 60
    return head.strip(), -east if sign == "-" else east


def _time_of_day(words: str, text: str) -> float:
    """Seconds since midnight. A second 60 is let pass: logs of leap seconds have it."""
    fields = words.split(":")
    last = fields[-1].replace(",", ".")  # as ISO 8601 and the logs of Python have it, too
    whole, _, fraction = last.partition(".") if len(fields) == 3 else ("0", "", "")
    if len(fields) not in (2, 3) or (fraction and not fraction.isdigit()):
        raise ValueError(f"'{text}' has no time of day such as 02:00:03; {ACCEPTED}")
    hour, minute, second = _number(fields[0], text), _number(fields[1], text), _number(whole, text)
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError(f"'{text}' is a time of day that no clock shows")
    return hour * 3600 + minute * 60 + second + float(f"0.{fraction or 0}")


def _number(digits: str, text: str) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 4):
        raise ValueError(f"'{text}' is no time; {ACCEPTED}")
    return int(digits)


def _epoch(digits: str, text: str) -> float:
    whole, _, fraction = digits.partition(".")
    if not (whole.isascii() and whole.isdigit() and len(whole) <= 12):
        raise ValueError(f"'{text}' is no time; {ACCEPTED}")
    if fraction and not (fraction.isascii() and fraction.isdigit()):
        raise ValueError(f"'{text}' is no time; {ACCEPTED}")
    return float(digits)


def _days(year: int, month: int) -> int:
    """Days of a month; 0 when there is no such month."""
    return calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0


def _suffix(east: int) -> str:
    """``Z``, ``+02:00``, ``-03:30``."""
    if east == 0:
        return "Z"
    hours, rest = divmod(abs(east), 3600)
    return f"{'-' if east < 0 else '+'}{hours:02d}:{rest // 60:02d}"
