"""Owns asking the file about the past: cycles and happenings as values of ``core.history``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Tuple

from agent.core.history import Happening, Record
from agent.core.steps import ClockSample

if TYPE_CHECKING:
    import sqlite3

Findings = Mapping[str, Tuple[str, str]]

_CYCLES = "SELECT id, boot, wall, boottime, offset, uncertainty, source, findings FROM cycle"
_EVENTS = "SELECT cycle, kind, wall, boottime, size, '', '', what FROM event"
_TOLD = (
    "SELECT cycle, kind, wall, boottime, NULL, condition, severity, summary FROM told"
    " JOIN cycle ON cycle.id = told.cycle"
)


def records(connection: sqlite3.Connection) -> List[Record]:
    """Every cycle there is, in the order they happened."""
    read: Dict[str, Findings] = {}  # most cycles found the same: read each text once
    found: List[Record] = []
    for row in connection.execute(_CYCLES + " ORDER BY id"):
        if row[-1] not in read:
            read[row[-1]] = _findings(row[-1])
        found.append(Record._make((*row[:-1], read[row[-1]])))
    return found


def happenings(connection: sqlite3.Connection) -> List[Happening]:
    """Every event, and every alert that arose, in the order they happened; events first."""
    found = [Happening(*row) for row in connection.execute(_EVENTS + " ORDER BY event.id")]
    found += [Happening(*row) for row in connection.execute(_TOLD + " ORDER BY told.id")]
    return sorted(found, key=lambda each: each.number)


def present(connection: sqlite3.Connection, now: ClockSample, boot_id: str) -> Optional[Record]:
    """This moment as one more cycle without a reading, if the last one was of this boot."""
    row = connection.execute(
        "SELECT cycle.id, boot FROM cycle JOIN boot ON boot.id = cycle.boot"
        " WHERE cycle.id = (SELECT MAX(id) FROM cycle) AND boot.boot_id = ?",
        (boot_id,),
    ).fetchone()
    if row is None or not boot_id:
        return None
    return Record(number=row[0] + 1, boot=row[1], wall=now.wall, boottime=now.boottime)


def owed(connection: sqlite3.Connection) -> Dict[str, int]:
    """How many alerts each sink is owed."""
    return dict(connection.execute("SELECT sink, COUNT(*) FROM outbox GROUP BY sink ORDER BY sink"))


def _findings(text: str) -> Findings:
    try:
        return {
            str(name): (str(word), str(cause)) for name, (word, cause) in json.loads(text).items()
        }
    except (ValueError, TypeError, AttributeError):  # another version's: nothing we understand
        return {}
