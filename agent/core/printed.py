"""Owns reading what other programs print: strict numbers, and quoting what cannot be read.

Python's own ``float`` and ``int`` also take ``nan``, ``1_000``, spaces and the digits of every
script; a report that holds one of those is not the report we know.
"""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Optional

#: No number in any report we read is longer; the limit keeps float() from ever giving infinity.
_LONGEST_NUMBER = 40
_LONGEST_EXCERPT = 80


def decimal(text: str) -> Optional[float]:
    """Return the plain decimal number that ``text`` is (``-1.5``, ``+0.25``, ``7``), else None."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    whole, point, fraction = digits.partition(".")
    if len(text) > _LONGEST_NUMBER or not _all_digits(whole):
        return None
    if point and not _all_digits(fraction):
        return None
    return float(text)


def whole(text: str, base: int = 10) -> Optional[int]:
    """Return the integer that ``text`` is in ``base``, perhaps with a minus sign, else None."""
    digits = text[1:] if text[:1] == "-" else text
    if len(text) > _LONGEST_NUMBER or not _all_digits(digits):
        return None
    try:
        return int(text, base)
    except ValueError:  # an 8 or 9 among octal digits
        return None


def excerpt(text: str, limit: int = _LONGEST_EXCERPT) -> str:
    """Return the beginning of ``text`` in quotes, safe to print: ASCII, escaped, cut.

    The result is at most ``limit`` characters, quotes and the mark of a cut included.
    """
    quoted = ascii(text[:limit])
    if len(quoted) <= limit and len(text) <= limit:
        return quoted
    return quoted[: limit - 4].rstrip("\\'\"") + quoted[0] + "..."


def _all_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
