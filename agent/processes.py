"""Owns looking up running processes by the name of their program. A ground module: any may ask.

psutil is imported on the first question only: it costs as much as the whole of a healthy
``clock-agent check``, and only failures need to look behind chronyd or systemd.
"""

from __future__ import annotations

from typing import List, NamedTuple


class Process(NamedTuple):
    """One process as seen at the moment of asking."""

    pid: int
    #: psutil's word: ``running``, ``sleeping``, ``stopped`` (T), ``disk-sleep`` (D), ``zombie`` ...
    state: str
    #: The path of its program; ``""`` when it may not be read (another user's, a kernel thread).
    exe: str


def find_named(name: str) -> List[Process]:
    """Return the processes whose name is ``name``, lowest pid first. Never raises.

    Zombies are included, their state says so. An empty list also means "could not look": /proc
    may be missing, or mounted so that other users' processes are hidden.
    """
    try:
        import psutil

        found = [
            Process(pid=entry.pid, state=entry.info["status"] or "", exe=entry.info["exe"] or "")
            for entry in psutil.process_iter(["name", "status", "exe"])
            if entry.info["name"] == name
        ]
    except Exception:  # psutil raises what it likes on a broken /proc; the question is a courtesy
        return []
    return sorted(found)
