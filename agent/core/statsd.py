"""Owns how gauges are written for StatsD: names, numbers, tags, dialects and datagram size.

Names on the wire match ``[A-Za-z0-9_.-]+``. The rule: whatever is not a letter, a digit, ``_`` or
``-`` becomes ``_``, dots too, so that one host name stays one part of the name; a part is cut at
its limit and an empty part becomes ``_``. The same name always gives the same part. Two host names
that differ only in such characters (``a.b`` and ``a_b``) would share a part; neither DNS nor
``hostname`` allows the second.
"""

from __future__ import annotations

import math

from agent.core.address import Address
from agent.core.settings import StatsdSettings
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Iterable, List, Mapping, Optional, Sequence, Tuple

#: Bytes in one datagram: what every receiver takes (its buffer is often 512) and no path splits.
MAX_DATAGRAM = 512
MAX_PREFIX = 64
#: The longest host name Linux allows.
MAX_HOST = 64
#: The longest name a reference may have.
MAX_SOURCE = 32
#: A longer tag is cut.
MAX_TAG = 100
#: Amounts beyond this say no more than this does; it keeps every number at 20 characters.
LIMIT = 1e12
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_SAFE_IN_TAG = _SAFE | frozenset("./")
#: Literal names of this very host; what another name resolves to does not change series names.
_LOOPBACK_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", "::1")
_LONGEST_LINE = MAX_PREFIX + len(".source.") + MAX_SOURCE + len(".signed_offset_ms:") + 20 + 2


class Dialect(NamedTuple):
    """How one family of StatsD servers writes tags and reads a minus sign."""

    #: What stands before the first tag, between two tags, and between key and value.
    opening: str
    between: str
    equals: str
    #: True: after the value. False: part of the name.
    tags_last: bool
    #: True: a gauge with a sign changes the last value instead of replacing it.
    sign_is_change: bool


#: ``plain`` has no tags at all.
DIALECTS: Mapping[str, Dialect] = {
    "plain": Dialect("", "", "", tags_last=False, sign_is_change=True),
    "dogstatsd": Dialect("|#", ",", ":", tags_last=True, sign_is_change=False),
    "influx": Dialect(",", ",", "=", tags_last=False, sign_is_change=True),
    "graphite": Dialect(";", ";", "=", tags_last=False, sign_is_change=True),
}


class Fixed(float):
    """A float that is always written as ``[-]digits[.digits]``, at most six decimals."""

    def __new__(cls, value: float) -> Fixed:
        """Round and bound ``value``, which must be finite; minus zero becomes zero."""
        return super().__new__(cls, round(min(max(value, -LIMIT), LIMIT), 6) + 0.0)

    def __str__(self) -> str:
        return f"{float(self):.6f}".rstrip("0").rstrip(".")


class Naming(NamedTuple):
    """What all gauges of one host have in common."""

    prefix: str
    #: All tags, written in the dialect; empty when there are none.
    tags: str
    dialect: Dialect
    #: What the operator should know about it, one sentence each.
    remarks: Tuple[str, ...] = ()


def naming(settings: StatsdSettings, address: Address, host: str) -> Naming:
    """Decide prefix and tags from the settings and this host's name.

    ``host: auto`` leaves the host's name out for an address on this very host (the local
    aggregator adds it), else makes it a tag where the dialect has tags, else a part of the name
    after the prefix. ``none`` always leaves it out; any other word is the name to use.
    """
    dialect = DIALECTS[settings.dialect]
    prefix = ".".join(part(p) for p in settings.prefix.split(".") if p.strip())[:MAX_PREFIX]
    prefix = prefix.strip(".") or "clock"
    remarks: List[str] = []
    tags = dict(settings.tags) if dialect.opening else {}
    name = "" if settings.host in ("auto", "none") else settings.host
    if settings.host == "auto" and not is_local(address):
        name = host or "unknown"
        if name in _LOOPBACK_NAMES:
            remarks.append(
                f"this host is called '{name}': its gauges collide with those of every other host"
                " called so; set statsd.host to a name of its own"
            )
    if name and dialect.opening:
        tags = {"host": name, **tags}
    elif name:
        prefix += "." + part(name, MAX_HOST)
    written, left_out = _written(tags, dialect)
    if left_out:
        remarks.append(f"tags left out, the gauges would not fit a datagram: {', '.join(left_out)}")
    return Naming(prefix=prefix, tags=written, dialect=dialect, remarks=tuple(remarks))


def is_local(address: Address) -> bool:
    """True when the address as it is written can only be on this host."""
    if address.path:
        return True
    return address.host.lower() in _LOOPBACK_NAMES or address.host.startswith("127.")


def part(text: str, limit: int = MAX_PREFIX) -> str:
    """One part of a metric name, by the rule of this module."""
    return _clean(text, _SAFE, limit)


def full_name(parts: Sequence[str]) -> str:
    """The name of a gauge after its prefix."""
    return ".".join(part(p, MAX_SOURCE) for p in parts)


def fixed(value: float) -> Optional[Fixed]:
    """``value`` ready to be written; None for nan and infinity, which are never sent."""
    return Fixed(value) if math.isfinite(value) else None


def packed(blocks: Iterable[str]) -> Sequence[bytes]:
    """Fill datagrams with blocks of lines, in order; a block is never divided.

    A block is one line, or the two lines that must not be separated on their way.
    """
    datagrams: List[bytes] = []
    for block in blocks:
        encoded = block.encode("ascii")
        if datagrams and len(datagrams[-1]) + 1 + len(encoded) <= MAX_DATAGRAM:
            datagrams[-1] += b"\n" + encoded
        else:
            datagrams.append(encoded)
    return datagrams


def _written(tags: Mapping[str, str], dialect: Dialect) -> Tuple[str, Sequence[str]]:
    """The tags as far as the longest block has room for them, and the keys of the others."""
    lines = 2 if dialect.sign_is_change else 1
    room = (MAX_DATAGRAM - (lines - 1)) // lines - _LONGEST_LINE
    text, left_out = "", []
    for key, value in tags.items():
        pair = dialect.equals.join(_clean(t, _SAFE_IN_TAG, MAX_TAG) for t in (key, value))
        longer = text + (dialect.between if text else dialect.opening) + pair
        if len(longer) <= room:
            text = longer
        else:
            left_out.append(key)
    return text, left_out


def _clean(text: str, safe: frozenset[str], limit: int) -> str:
    return "".join(c if c in safe else "_" for c in text[:limit]) or "_"
