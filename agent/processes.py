"""Owns looking up running processes by the name of their program. A ground module: any may ask.

psutil is imported on the first question only: it costs as much as the whole of a healthy
``clock-agent check``, and only failures need to look behind chronyd or systemd.
"""

from __future__ import annotations

import os

from agent.core.service_view import Program
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import List, Optional, Tuple


class Process(NamedTuple):
    """One process as seen at the moment of asking."""

    pid: int
    #: psutil's word: ``running``, ``sleeping``, ``stopped`` (T), ``disk-sleep`` (D), ``zombie`` ...
    state: str
    #: True when it runs in a PID namespace inside ours: a container's, not this host's own.
    contained: bool = False


def find_named(name: str) -> List[Process]:
    """Return the processes whose name is ``name``, lowest pid first. Never raises.

    Zombies are included, their state says so. An empty list also means "could not look": see
    ``hidden``.
    """
    try:
        import psutil

        found = [
            Process(
                pid=entry.pid,
                state=entry.info["status"] or "",
                contained=_is_contained(_read(f"/proc/{entry.pid}/status")),
            )
            for entry in psutil.process_iter(["name", "status"])
            if entry.info["name"] == name
        ]
    except Exception:  # psutil raises what it likes on a broken /proc; the question is a courtesy
        return []
    return sorted(found)


def hidden(proc: str = "/proc") -> bool:
    """True when other users' processes cannot be seen: no ``proc``, or mounted with hidepid."""
    return not _read(f"{proc}/1/stat")  # anybody may read it anywhere else


def peek(pid: int, proc: str = "/proc") -> Optional[Program]:
    """One process by its pid, read from ``proc`` without psutil. Never raises.

    None means it is there but may not be looked at; a pid nobody has gives the state ``X``.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return Program(pid=pid, name="", state="X")
    except (PermissionError, OverflowError):  # another user's; more than a pid can be
        pass
    stat = _read(f"{proc}/{pid}/stat")
    opening, closing = stat.find("("), stat.rfind(")")
    if not 0 < opening < closing:
        return None
    argument = _read(f"{proc}/{pid}/cmdline").partition("\0")[0]
    return Program(
        pid=pid,
        name=stat[opening + 1 : closing],
        arguments0=argument.rpartition("/")[2],
        state=stat[closing + 2 : closing + 3],
        parent=_number(stat[closing + 4 :].split(" ")[0]),
        unit=_unit_of(_read(f"{proc}/{pid}/cgroup")),
        contained=_is_contained(_read(f"{proc}/{pid}/status")),
    )


def _is_contained(status: str) -> bool:
    """True when the line ``NSpid`` has more than our own name for it: one pid per namespace."""
    for line in status.splitlines():
        label, _, pids = line.partition(":")
        if label == "NSpid":
            return len(pids.split()) > 1
    return False


def _unit_of(cgroups: str) -> str:
    """The systemd service in lines like ``0::/system.slice/chronyd.service``."""
    for line in cgroups.splitlines():
        controller, _, path = line.partition(":")[2].partition(":")
        if controller in ("", "name=systemd"):
            for part in path.split("/"):
                if part.endswith(".service"):
                    return part
    return ""


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(65_536).decode("utf-8", "replace")
    except OSError:
        return ""


def arguments(pid: int, proc: str = "/proc") -> Tuple[str, ...]:
    """The words a process was started with; none when they cannot be read."""
    return tuple(word for word in _read(f"{proc}/{pid}/cmdline").split("\0") if word)
