"""Owns reading chronyc's ``sources`` report, in CSV (since 2.4) and in text.

Offsets here are positive when the local clock is FAST of the source, the opposite of "System time"
in ``tracking`` (measured: a clock 0.1 s ahead gives +0.100011572). Text is rounded to three or four
digits, and its LastRx to minutes, hours or days once it is large (chrony's client.c).
"""

from __future__ import annotations

from agent.core.chrony_causes import miss
from agent.core.model import Miss
from agent.core.printed import decimal, excerpt, whole
from agent.core.tracking import is_name
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import List, Mapping, Optional, Tuple, Union

#: ^ a server, = a peer, # a reference clock.
_MODES = "^=#"
#: * selected, + combined with it, - usable, x disagrees, ~ too variable, ? unusable.
_STATES = "*+-x~?"
#: What LastRx holds when no sample was ever taken, or chronyd threw them all away.
_NEVER = 4_294_967_295
_LATEST_POLLS = 0o7


class Source(NamedTuple):
    """One source of chronyd. Seconds; offsets are positive when the local clock is fast."""

    mode: str
    state: str
    name: str
    stratum: int
    #: Binary logarithm of the seconds between two questions.
    poll: int
    #: One bit per question of the last eight, the newest lowest; set = answered. Printed in octal.
    reach: int
    #: Seconds since the newest sample; None when there is none.
    last_rx: Optional[int]
    #: Of the newest sample: adjusted for what was slewed since, as measured, and its error bound.
    offset: float
    measured: float
    error: float

    @property
    def answers(self) -> bool:
        """True when one of the last three questions was answered."""
        return bool(self.reach & _LATEST_POLLS)


#: What each whole number may be. A poll of 24 is the longest chronyd can be configured to.
_BOUNDS: Mapping[str, Tuple[int, int]] = {
    "stratum": (0, 255),
    "poll": (-32, 32),
    "reach": (0, 0o377),
    "last_rx": (0, _NEVER),
}
_LARGEST = 1e11
_TIMES: Mapping[str, int] = {"m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
_AMOUNTS: Mapping[str, float] = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, **_TIMES}


def parse_csv(text: str) -> Union[Tuple[Source, ...], Miss]:
    """Read what ``chronyc -c sources`` prints: exactly 10 fields a line, one line a source."""
    found: List[Source] = []
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) != len(Source._fields):
            return miss("unreadable", f"not the 10 fields of a source: {excerpt(line)}")
        numbers = [whole(fields[3]), whole(fields[4]), whole(fields[5], 8), whole(fields[6])]
        source = _checked(fields[:3], numbers, [decimal(field) for field in fields[7:]])
        if source is None:
            return miss("unreadable", f"an unusable value in the source {excerpt(line)}")
        found.append(source)
    return tuple(found)


def parse_text(text: str) -> Union[Tuple[Source, ...], Miss]:
    """Read what ``chronyc -n sources`` prints: a heading, a ruler, one line a source."""
    lines = text.splitlines()
    if lines and lines[0].startswith("210 Number of sources"):  # before 4.0
        del lines[0]
    if len(lines) < 2 or not lines[0].startswith("MS Name/IP address") or lines[1].strip("="):
        return miss("unreadable", f"not a list of sources: {excerpt(text)}")
    found: List[Source] = []
    for line in lines[2:]:
        words = line.split(None, 6)
        source = _from_words(words) if len(words) == 7 else None
        if source is None:
            return miss("unreadable", f"an unusable value in the source {excerpt(line)}")
        found.append(source)
    return tuple(found)


def _from_words(words: List[str]) -> Optional[Source]:
    """One line of text, cut at its first six gaps; the sample at its end has gaps of its own."""
    marks, name, stratum, poll, reach, last_rx, sample = words
    adjusted, _, rest = "".join(sample.split()).partition("[")
    measured, _, error = rest.partition("]+/-")
    numbers = [whole(stratum), whole(poll), whole(reach, 8), _age(last_rx)]
    samples = [_amount(adjusted), _amount(measured), _amount(error)]
    return _checked([marks[:1], marks[1:], name], numbers, samples)


def _checked(
    words: List[str], numbers: List[Optional[int]], samples: List[Optional[float]]
) -> Optional[Source]:
    """Put one source together; None when one of its values is not usable."""
    mode, state, name = words
    if mode not in tuple(_MODES) or state not in tuple(_STATES) or not (name and is_name(name)):
        return None
    for value, (low, high) in zip(numbers, _BOUNDS.values()):
        if value is None or not low <= value <= high:
            return None
    stratum, poll, reach, last_rx = (value or 0 for value in numbers)
    if any(value is None or abs(value) > _LARGEST for value in samples):
        return None
    offset, measured, error = ((value or 0.0) + 0.0 for value in samples)
    if error < 0:
        return None
    return Source(
        mode=mode,
        state=state,
        name=name,
        stratum=stratum,
        poll=poll,
        reach=reach,
        last_rx=None if last_rx == _NEVER else last_rx,
        offset=offset,
        measured=measured,
        error=error,
    )


def _age(text: str) -> Optional[int]:
    """``529``, ``12m``, ``3h``, ``4d``, ``2y`` in seconds; ``-`` is never."""
    if text == "-":
        return _NEVER
    count = whole(text[:-1] if text[-1:] in _TIMES else text)
    return None if count is None else count * _TIMES.get(text[-1:], 1)


def _amount(text: str) -> Optional[float]:
    """``+600ns``, ``-2899ms``, ``102us``, ``10.2s``, ``22m`` in seconds."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    value, unit = decimal(number), _AMOUNTS.get(text[len(number) :])
    return None if value is None or unit is None else value * unit
