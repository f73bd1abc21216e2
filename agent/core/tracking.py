"""Owns reading chronyc's ``tracking`` report, in CSV (since 2.4) and in text.

Two signs meet here. "System time" is the correction still to be ADDED to the clock: in CSV it is
positive when the clock is slow. "Last offset" and "Frequency" are positive when it is fast.
(Source: chrony's client.c and reference.c; measured with 2.4 to 4.8 against a known truth.)
"""

from __future__ import annotations

from agent.core.chrony_causes import miss
from agent.core.model import Miss
from agent.core.printed import decimal, excerpt, whole
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Dict, Mapping, Optional, Tuple, Union

NOT_SYNCHRONISED = "Not synchronised"
INVALID = "Invalid"
_LEAP_WORDS = ("Normal", "Insert second", "Delete second", NOT_SYNCHRONISED, INVALID)
_LONGEST_NAME = 255
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Tracking(NamedTuple):
    """What chronyd claims. Seconds and ppm; every sign is positive = the local clock is fast."""

    #: Eight upper-case hex digits; the dotted form printed before 3.0 is turned into them.
    reference_id: str
    #: Address or name of the source followed; "" when there is none.
    reference: str
    #: 0 = not synchronised; 16 is possible while synchronised.
    stratum: int
    #: Seconds since 1970 of the newest sample, by chronyd's estimate of true time; 0 = none.
    ref_time: float
    #: Local clock minus what chronyd believes to be true: minus the field "System time".
    offset: float
    last_offset: float
    rms_offset: float
    frequency_ppm: float
    residual_ppm: float
    skew_ppm: float
    root_delay: float
    root_dispersion: float
    #: Seconds between the last two updates, not since the last one; 0 before the second.
    update_interval: float
    leap_status: str


#: What each number may be, in the order of the report. An offset of years is real (a dead
#: battery); what lies beyond these bounds is not a measurement of anything.
_BOUNDS: Mapping[str, Tuple[float, float]] = {
    "stratum": (0, 16),
    "ref_time": (0, 1e11),
    "offset": (-1e11, 1e11),
    "last_offset": (-1e11, 1e11),
    "rms_offset": (0, 1e11),
    "frequency_ppm": (-1e9, 1e9),
    "residual_ppm": (-1e9, 1e9),
    "skew_ppm": (0, 1e12),
    "root_delay": (0, 1e6),
    "root_dispersion": (0, 1e9),
    "update_interval": (0, 1e9),
}

#: Label -> how its value is written, in the order of _BOUNDS. ``*`` is the word slow or fast.
_TEXT_NUMBERS: Mapping[str, str] = {
    "Stratum": "#",
    "Ref time (UTC)": "date",
    "System time": "# seconds * of NTP time",
    "Last offset": "# seconds",
    "RMS offset": "# seconds",
    "Frequency": "# ppm *",
    "Residual freq": "# ppm",
    "Skew": "# ppm",
    "Root delay": "# seconds",
    "Root dispersion": "# seconds",
    "Update interval": "# seconds",
}
_TEXT_LABELS = frozenset(("Reference ID", *_TEXT_NUMBERS, "Leap status"))


def parse_csv(line: str) -> Union[Tracking, Miss]:
    """Read the one line of ``chronyc -c tracking``: exactly 14 fields."""
    fields = line.rstrip("\n").split(",")
    if len(fields) != len(Tracking._fields):
        return miss("unreadable", f"not the 14 fields of a tracking report: {excerpt(line)}")
    numbers = dict(zip(_BOUNDS, map(decimal, fields[2:13])))
    system_time = numbers["offset"]
    numbers["offset"] = None if system_time is None else -system_time
    return _checked(fields[0], fields[1], numbers, fields[13], line)


def parse_text(text: str) -> Union[Tracking, Miss]:
    """Read what ``chronyc -n tracking`` prints: 13 lines, each with its label."""
    rows: Dict[str, str] = {}
    for line in text.splitlines():
        label, _, value = line.partition(":")
        if label.strip() in rows:
            return miss("unreadable", f"a second {excerpt(label.strip())} in {excerpt(text)}")
        rows[label.strip()] = value.strip()
    if rows.keys() != _TEXT_LABELS:
        return miss("unreadable", f"not a tracking report: {excerpt(text)}")
    number, _, name = rows["Reference ID"].partition(" ")
    if name[:1] != "(" or name[-1:] != ")":
        return miss("unreadable", f"an unknown Reference ID in {excerpt(text)}")
    measures = (_measure(rows[label], form) for label, form in _TEXT_NUMBERS.items())
    numbers = dict(zip(_BOUNDS, measures))
    return _checked(number, name[1:-1], numbers, rows["Leap status"], text)


def _checked(
    reference_id: str,
    reference: str,
    numbers: Mapping[str, Optional[float]],
    leap_status: str,
    seen: str,
) -> Union[Tracking, Miss]:
    """Put the report together, or say which of its values is of no use."""
    known_id = _hex_id(reference_id)
    if known_id is None:
        return miss("unreadable", f"an unknown Reference ID in {excerpt(seen)}")
    if not is_name(reference):
        return miss("unreadable", f"an unusable source name in {excerpt(seen)}")
    if leap_status not in _LEAP_WORDS:
        return miss("unreadable", f"an unknown leap status in {excerpt(seen)}")
    checked: Dict[str, float] = {}
    for name, value in numbers.items():
        low, high = _BOUNDS[name]
        if value is None or not low <= value <= high:
            return miss("unreadable", f"an unusable {name.replace('_', ' ')} in {excerpt(seen)}")
        checked[name] = value + 0.0  # chronyc prints -0.000: no minus sign without an amount
    stratum = int(checked.pop("stratum"))
    if stratum != numbers["stratum"]:
        return miss("unreadable", f"an unusable stratum in {excerpt(seen)}")
    return Tracking(
        reference_id=known_id,
        reference=reference,
        stratum=stratum,
        leap_status=leap_status,
        **checked,
    )


def _hex_id(text: str) -> Optional[str]:
    """``C0A87B01`` for itself and for ``192.168.123.1``; None when it is neither."""
    if len(text) == 8 and all(digit in "0123456789ABCDEFabcdef" for digit in text):
        return text.upper()
    octets = [whole(part) for part in text.split(".")]
    if len(octets) != 4 or any(octet is None or not 0 <= octet <= 255 for octet in octets):
        return None
    return "".join(f"{octet:02X}" for octet in octets)


def is_name(text: str) -> bool:
    """True for an address, a host name, the name of a refclock, or nothing."""
    return len(text) <= _LONGEST_NAME and text.isascii() and text.isprintable()


def _measure(text: str, form: str) -> Optional[float]:
    """Read a number with its unit and, where ``form`` has a star, its word for the sign."""
    if form == "date":
        return _epoch(text)
    words, expected = text.split(), form.split()
    if len(words) != len(expected):
        return None
    sign = 1.0
    for word, known in zip(words[1:], expected[1:]):
        if known == "*" and word in ("fast", "slow"):
            sign = 1.0 if word == "fast" else -1.0
        elif word != known:
            return None
    value = decimal(words[0])
    return None if value is None else sign * value


def _epoch(text: str) -> Optional[float]:
    """Seconds since 1970 of ``Sat Dec 31 23:59:60 2016``. English names in every locale."""
    words = text.split()
    clock = words[3].split(":") if len(words) == 5 else []
    if len(clock) != 3 or words[1] not in _MONTHS:
        return None
    numbers = [whole(word) for word in (words[4], words[2], *clock)]
    limits = ((1970, 9999), (1, 31), (0, 23), (0, 59), (0, 60))  # 60: during a leap second
    if not all(n is not None and low <= n <= high for n, (low, high) in zip(numbers, limits)):
        return None
    year, day, hour, minute, second = (n or 0 for n in numbers)
    days = _days_before(year, _MONTHS.index(words[1]) + 1) + day - 1
    return float(((days * 24 + hour) * 60 + minute) * 60 + second)


def _days_before(year: int, month: int) -> int:
    """Days from 1970-01-01 to the first of ``month``; the calendar modules are slow to import."""
    year, month = (year - 1, month + 12) if month < 3 else (year, month)
    leap_days = year // 4 - year // 100 + year // 400
    return 365 * year + leap_days + (153 * month - 457) // 5 - 719_468
