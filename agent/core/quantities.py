"""Owns amounts written by people: durations such as ``1m30s`` and sizes such as ``64MiB``.

A bare number is refused on purpose: "interval: 5" has been read as seconds by one and as minutes
by another.
"""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Dict, List, Tuple

#: Unit, and its seconds as (times, per); dividing keeps 100ms exactly 0.1.
_DURATIONS: Dict[str, Tuple[int, int]] = {
    "d": (86400, 1),
    "h": (3600, 1),
    "m": (60, 1),
    "s": (1, 1),
    "ms": (1, 1000),
    "us": (1, 1_000_000),
}
_SIZES: Dict[str, int] = {"TiB": 1024**4, "GiB": 1024**3, "MiB": 1024**2, "KiB": 1024, "B": 1}
_LONGEST = 40
_DURATION_UNITS = "ms, s, m, h or d"
_SIZE_UNITS = "KiB, MiB or GiB"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def parse_duration(text: str) -> float:
    """Return the seconds in ``text``: ``500ms``, ``5s``, ``1m30s``, ``2d``; never negative.

    Raises ValueError with a sentence that says what is wrong and what is accepted.
    """
    parts = _split(text, "duration", _DURATION_UNITS, "5s")
    units = list(_DURATIONS)
    total, last = 0.0, -1
    for number, unit in parts:
        if unit not in _DURATIONS:
            raise ValueError(f"'{text}' has the unit '{unit}'; accepted are {_DURATION_UNITS}")
        if units.index(unit) <= last:
            raise ValueError(f"'{text}' is not in order; write the larger unit first, as in 1m30s")
        last = units.index(unit)
        times, per = _DURATIONS[unit]
        total += number * times / per
    return total


def parse_size(text: str) -> int:
    """Return the bytes in ``text``: ``512KiB``, ``64MiB``, ``1GiB``. Raises ValueError."""
    parts = _split(text, "size", _SIZE_UNITS, "64MiB")
    if len(parts) > 1 or parts[0][1] not in _SIZES:
        raise ValueError(f"'{text}' is not a size; write a number and one of {_SIZE_UNITS}")
    number, unit = parts[0]
    return int(number * _SIZES[unit])


def format_duration(seconds: float) -> str:
    """Return the plainest text that ``parse_duration`` reads back as exactly ``seconds``."""
    if seconds <= 0:
        return "0s"
    if seconds != int(seconds):
        for unit, (_, per) in (("ms", _DURATIONS["ms"]), ("us", _DURATIONS["us"])):
            text = f"{round(seconds * per, 3):g}{unit}"
            if seconds < 1 and parse_duration(text) == seconds:
                return text
        return f"{seconds:.17f}".rstrip("0") + "s"
    left, text = int(seconds), ""
    for unit in ("d", "h", "m", "s"):
        count, left = divmod(left, _DURATIONS[unit][0])
        text += f"{count}{unit}" if count else ""
    return text


def format_size(size: int) -> str:
    """Return ``size`` bytes in the largest unit that divides it; reads back as the same."""
    for unit, factor in _SIZES.items():
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return "0B"


def _split(text: str, what: str, units: str, example: str) -> List[Tuple[float, str]]:
    """Cut ``1m30s`` into numbers and units, whatever the units are."""
    parts: List[Tuple[float, str]] = []
    rest = text if len(text) <= _LONGEST else ""
    while rest:
        number = _leading(rest, "0123456789.")
        unit = _leading(rest[len(number) :], _LETTERS)
        if not number or number.count(".") > 1 or number == ".":
            break
        if not unit:
            raise ValueError(f"'{text}' has no unit; write {units}, for example {example}")
        parts.append((float(number), unit))
        rest = rest[len(number) + len(unit) :]
    if rest or not parts:
        raise ValueError(f"'{text[:_LONGEST]}' is not a {what}; write for example {example}")
    return parts


def _leading(text: str, allowed: str) -> str:
    """The longest beginning of ``text`` made of ``allowed`` characters."""
    return text[: len(text) - len(text.lstrip(allowed))]
