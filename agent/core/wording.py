"""Owns how amounts, times, sources and text from outside are written for people.

Everything said to people is plain ASCII apart from names out of the configuration: it passes
through pagers, NRPE and terminals whose character set nobody knows.
"""

from __future__ import annotations

import math
import time

from agent.core.model import Miss, Observation, Reading, ServiceState
from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Iterable, Sequence, Tuple

    from agent.core.steps import Event

#: The name every reading of chronyd carries.
CHRONYD = "chronyd"
#: Text from outside longer than this is cut: one line of a pager, not a page.
LONGEST = 300
_UNITS: Tuple[Tuple[str, int, int], ...] = (
    # name, seconds, and the seconds of the smaller unit beside it
    ("d", 86400, 3600),
    ("h", 3600, 60),
    ("min", 60, 1),
)
_UNQUOTED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/:@%+,=")
_SMALLER = {86400: "h", 3600: "min", 60: "s"}


def plain(text: str, limit: int = LONGEST) -> str:
    """``text`` as one printable line of at most ``limit`` characters.

    Line ends and tabs become single spaces; everything else unprintable (control and
    direction-changing characters, halves of surrogate pairs) becomes its escape.
    """
    line = text.strip()
    if not line.isprintable():
        line = " ".join(line.split())
        line = "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line
        )
    return line if len(line) <= limit else line[: limit - 3] + "..."


def shell_word(text: str) -> str:
    """``text`` as one word of a command to be pasted into a shell: it may be anybody's."""
    if text and _UNQUOTED.issuperset(text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def milliseconds(seconds: float) -> str:
    """Milliseconds as fixed-point digits: three decimals below 10 ms, one above; no unit."""
    amount = seconds * 1000.0
    text = f"{amount:.3f}" if abs(amount) < 10 else f"{amount:.1f}"
    return text.lstrip("-") if not float(text) else text


def offset(seconds: float) -> str:
    """A signed offset with its word: ``-5000.0 ms behind (slow)``, ``+0.013 ms ahead (fast)``."""
    text = milliseconds(seconds)
    if not float(text):
        return f"{text} ms (neither ahead nor behind)"
    sign, word = ("+", "ahead (fast)") if seconds > 0 else ("", "behind (slow)")
    return f"{sign}{text} ms{_in_words(seconds)} {word}"


def bound(seconds: float) -> str:
    """An error bound in ms, rounded UP: what is written is never less than what is meant."""
    amount = seconds * 1000.0
    digits = 3 if amount < 10 else 1
    scale = 10**digits
    # the little that is taken off undoes binary noise: 0.00032 s is 0.320 ms and not 0.321 ms
    exact = amount * scale
    up = math.ceil(exact - min(exact * 1e-12, 1e-6)) / scale
    return f"{up:.{digits}f} ms{_in_words(seconds)}"


def ppm(rate: float) -> str:
    """A signed rate: ``+1389``, ``-0.3``; one decimal below 100 ppm."""
    text = f"{rate:+.0f}" if abs(rate) >= 100 else f"{rate:+.1f}"
    return text if float(text) else text[1:]


def duration(seconds: float) -> str:
    """An amount of time in its two largest units: ``350 ms``, ``2.5 s``, ``11 d 2 h``."""
    left = max(0.0, seconds)
    for name, size, step in _UNITS:
        rounded = int(left / step + 0.5) * step
        if rounded >= size:
            big, small = divmod(rounded, size)
            return f"{big} {name}" + (f" {small // step} {_SMALLER[size]}" if small else "")
    if left >= 10:
        return f"{left:.0f} s"
    text, unit = (f"{left:.1f}", "s") if left >= 1 else (f"{left * 1000:.1f}", "ms")
    return f"{text[:-2] if text.endswith('.0') else text} {unit}"


def utc(epoch: float) -> str:
    """RFC 3339 in UTC with milliseconds, for ``epoch`` seconds since 1970."""
    try:
        whole, thousandths = divmod(round(epoch * 1000), 1000)
        t = time.gmtime(whole)
    except (OverflowError, ValueError, OSError):  # a clock beyond the calendar: date(1) reads this
        return f"@{epoch:.3f}"
    return (
        f"{t.tm_year:04d}-{t.tm_mon:02d}-{t.tm_mday:02d}"
        f"T{t.tm_hour:02d}:{t.tm_min:02d}:{t.tm_sec:02d}.{thousandths:03d}Z"
    )


def source(name: str) -> str:
    """How a source is called in a sentence: ``chronyd``, or ``Redis locks``."""
    return name if name == CHRONYD else f"Redis {plain(name, 60)}"


def reading(taken: Reading) -> str:
    """``+0.013 ms ahead (fast), error at most 0.320 ms``."""
    return f"{offset(taken.offset)}, error at most {bound(taken.upper)}"


def said_by(taken: Reading) -> str:
    """``Redis locks: +0.013 ms ahead (fast), error at most 0.320 ms``."""
    return f"{source(taken.source)}: {reading(taken)}"


def observed(seen: Observation) -> str:
    """What one source gave: its reading with the uncertainty, or why there is none."""
    if isinstance(seen, Miss):
        return f"{source(seen.source)}: no reading ({seen.cause}): {plain(seen.what)}"
    uncertain = bound(seen.uncertainty)
    most = bound(seen.upper)
    return f"{source(seen.source)}: {offset(seen.offset)} +/- {uncertain}, error at most {most}"


def unit(state: ServiceState) -> str:
    """The states of the time service's unit, as systemd names them."""
    states = (state.load_state, state.active_state, state.sub_state, state.unit_file_state)
    return f"{state.unit or 'time service'}: {', '.join(filter(None, states)) or 'state unknown'}"


def why_not(miss: Miss) -> str:
    """The sentence of a miss, naming its source and without its full stop."""
    what = plain(miss.what).rstrip(".") or miss.cause
    return what if miss.source in what else f"{source(miss.source)}: {what}"


def listing(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def once(items: Iterable[str]) -> Tuple[str, ...]:
    """``items`` in order, each only once."""
    return tuple(dict.fromkeys(items))


def event(happened: Event, boottime: float) -> str:
    """``the clock was stepped +22 min 3 min ago``, as seen at ``boottime``."""
    ago = f"{duration(boottime - happened.boottime)} ago"
    if happened.kind == "step" and happened.size is not None:
        way = "forward" if happened.size > 0 else "back"
        return f"the clock was set {way} by {duration(abs(happened.size))}, noticed {ago}"
    if happened.kind == "suspend" and happened.size is not None:
        return f"the host was suspended for {duration(happened.size)}, noticed {ago}"
    return f"{happened.what or happened.kind}, {ago}"


def back(correction_of: Reading) -> str:
    """Where a correction moves the clock: ``22 min back`` when it is that far ahead."""
    way = "back" if correction_of.offset > 0 else "forward"
    return f"{duration(abs(correction_of.offset))} {way}"


def percent(share: float) -> str:
    """``110 %`` for 1.1; ``under 1 %`` for what rounds to nothing."""
    if not math.isfinite(share):
        return "all"
    return f"{share:.0%}".replace("%", " %") if share >= 0.005 else "under 1 %"


def _in_words(seconds: float) -> str:
    """`` (22 min)`` beside a number of milliseconds that nobody can read at a glance."""
    return f" ({duration(abs(seconds))})" if abs(seconds) >= 60 else ""
