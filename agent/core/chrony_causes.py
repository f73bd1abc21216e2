"""Owns the reasons why chronyd does not vouch for the clock: their sentences and their advice.

Advice is exact commands. None of them changes the clock without saying so: a started or restarted
chronyd may step it (Debian ships ``makestep 1 3``), under the feet of whatever relies on it.
"""

from __future__ import annotations

from agent.core.model import Detail, Miss
from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.core.wording import CHRONYD

if TYPE_CHECKING:
    from typing import Mapping, Tuple

_STEPS = "WARNING: chronyd may step the clock when it starts; first stop what depends on the clock"
#: The unit's name, as long as nobody knows what system this is.
_EITHER = "chrony.service  # chronyd.service outside Debian."
_BOTH = "chrony.service chronyd.service"
_START = f"systemctl start {_EITHER} {_STEPS}"
_RESTART = f"systemctl restart {_EITHER} {_STEPS}"
_SOURCES = "chronyc -n sources  # Reach 0: no answer to the last eight questions"
_NETWORK = "chronyc -n activity  # are the sources online? UDP port 123 must be open outwards"


_NONE: Detail = {}


class Cause(NamedTuple):
    """One reason: a sentence with a gap for what was seen, and what helps, most likely first."""

    sentence: str
    advice: Tuple[str, ...]


CAUSES: Mapping[str, Cause] = {
    "not-running": Cause(
        "chronyd is not running: {seen}",
        (
            f"systemctl status --no-pager {_BOTH}  # why it ended, is it masked?",
            _START,
        ),
    ),
    "hung": Cause(
        "chronyd is hung: {seen}",
        (
            "ps -o pid,stat,wchan:30,etime,args -C chronyd  # T: stopped, D: stuck in the kernel",
            _RESTART,
        ),
    ),
    "no-access": Cause(
        "no access to chronyd, it may well be fine: {seen}",
        (
            "grep -rn cmdport /etc/chrony*  # with `cmdport 0` only root may ask; without it"
            " anybody on this host may (UDP port 323 on loopback, read-only)",
            "sudo -u _chrony clock-agent check  # as chronyd's own user: chrony outside Debian",
            "in a sandboxed unit: PrivateNetwork=no and RestrictAddressFamilies=AF_UNIX AF_INET",
        ),
    ),
    "never-synchronised": Cause(
        "chronyd has never synchronised since it started: {seen}", (_SOURCES, _NETWORK)
    ),
    "unsynchronised": Cause(
        "chronyd is not synchronised any more: {seen}",
        (_SOURCES, "journalctl -u chrony -u chronyd --since -1h"),
    ),
    "no-majority": Cause(
        "chronyd cannot choose a source: {seen}",
        (
            "chronyc -n sources  # x: disagrees with the others",
            "give chronyd four sources: when two disagree nobody can say which of them is right",
        ),
    ),
    "sources-lost": Cause("chronyd has lost its sources: {seen}", (_SOURCES, _NETWORK)),
    "stale": Cause(
        "chronyd's newest measurement is too old to rely on: {seen}",
        (_SOURCES, _NETWORK, "chronyc -n tracking  # Ref time: when it last used an answer"),
    ),
    "local-mode": Cause(
        "chronyd follows only its own clock: {seen}",
        (_SOURCES, _NETWORK, "grep -rnw local /etc/chrony*  # this line makes it look healthy"),
    ),
    "clock-stepped": Cause(
        "the clock was set behind chronyd's back: {seen}",
        (
            "journalctl --since -1h -g 'time has been changed'",
            "chronyc -n tracking  # again in five minutes: by then it has measured the new error",
            "chronyc makestep  # WARNING: steps the clock; first stop what depends on it",
        ),
    ),
    "program-missing": Cause(
        "cannot ask chronyd: {seen}",
        (
            "apt install chrony  # or: dnf install chrony",
            "command -v chronyc  # elsewhere? set chrony.program to its full path",
        ),
    ),
    "shortage": Cause(
        "cannot ask chronyd, this host is short of something: {seen}",
        ("cat /proc/sys/fs/file-nr /proc/loadavg; free -m  # open files, threads, memory",),
    ),
    "unreadable": Cause(
        "chronyc's answer cannot be read: {seen}",
        ("chronyc -c -n tracking  # compare by hand", "chronyc --version; chronyd --version"),
    ),
}


#: The cause that is mended by mending the unit.
DOWN = "not-running"


def for_unit(advice: Tuple[str, ...], unit: str) -> Tuple[str, ...]:
    """``advice`` for a host where chronyd's unit is known to be ``unit``."""
    return tuple(
        line.replace(_EITHER, f"{unit}  #").replace(
            f"status --no-pager {_BOTH}", f"status --no-pager {unit}"
        )
        for line in advice
    )


def miss(cause: str, seen: str, *, first: Tuple[str, ...] = (), detail: Detail = _NONE) -> Miss:
    """Return the miss for ``cause``, a word of CAUSES.

    ``seen`` completes the sentence; ``first`` is advice that fits this very case and leads.
    """
    known = CAUSES[cause]
    return Miss(
        source=CHRONYD,
        cause=cause,
        what=known.sentence.format(seen=seen),
        advice=first + known.advice,
        detail=detail,
    )
