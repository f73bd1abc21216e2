"""Owns what a cycle looks like in the tables, both ways. Every function runs in a transaction of
its caller's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Iterable, Optional, Sequence, Set, Tuple

from agent.core.model import Miss, Observation, Observations, Reading, Standing
from agent.core.outbox import Posting
from agent.core.steps import ClockSample, Event
from agent.core.wording import plain
from agent.store import Cycle, Remembered, codec
from agent.store.codec import Moment

if TYPE_CHECKING:
    import sqlite3

Ident = Tuple[str, str]

#: Seconds of downtime between two boots that count at most: a wrong wall clock ages nothing.
_LONGEST_DOWNTIME = 86400.0
#: Seconds of readings that a restarted daemon gets back, for the drift.
RECENT = 6 * 3600.0
#: Seconds of steps and suspends that it gets back, to mention them in alerts.
RECENT_EVENTS = 86400.0


def last_moment(connection: sqlite3.Connection) -> Optional[Tuple[Moment, float]]:
    """The clocks at the last cycle, and how long the host had lived; None without any cycle."""
    row = connection.execute(
        "SELECT wall, boottime, monotonic, raw, boot.boot_id, lived FROM cycle"
        " JOIN boot ON boot.id = cycle.boot ORDER BY cycle.id DESC LIMIT 1"
    ).fetchone()
    return (Moment(ClockSample(*row[:4]), row[4]), row[5]) if row else None


def add_cycles(connection: sqlite3.Connection, cycles: Iterable[Cycle]) -> None:
    """Add ``cycles`` to the history, in the order they happened."""
    before = last_moment(connection)
    for cycle in cycles:
        moment = Moment(cycle.clock, cycle.boot_id)
        if before and _saved(moment, before[0]):
            continue
        lived = before[1] + _aged(before[0], moment) if before else 0.0
        before = (moment, lived)
        _add_cycle(connection, cycle, lived)


def put_standings(connection: sqlite3.Connection, cycle: Cycle) -> None:
    """Let the standings of ``cycle`` be those that are remembered."""
    moment = Moment(cycle.clock, cycle.boot_id)
    connection.execute("DELETE FROM standing")
    connection.executemany(
        "INSERT INTO standing VALUES (?, ?)",
        ((s.condition, codec.standing_to_text(s, moment)) for s in cycle.standings),
    )


def mirror(connection: sqlite3.Connection, held: Set[Ident], postings: Sequence[Posting]) -> None:
    """Let the outbox, known to hold ``held``, hold exactly ``postings``."""
    wanted = {posting.ident for posting in postings}
    connection.executemany("DELETE FROM outbox WHERE sink = ? AND alert = ?", held - wanted)
    connection.executemany(
        "INSERT OR IGNORE INTO outbox (sink, alert, body) VALUES (?, ?, ?)",
        (
            (*posting.ident, codec.alert_to_text(posting.alert))
            for posting in postings
            if posting.ident not in held
        ),
    )


def outbox_idents(connection: sqlite3.Connection) -> Set[Ident]:
    """What the outbox holds."""
    return set(connection.execute("SELECT sink, alert FROM outbox"))


def remembered(connection: sqlite3.Connection, now: Moment) -> Remembered:
    """Everything the daemon goes on from, told in the boottime of ``now``."""
    last = last_moment(connection)
    known = last[0] if last and codec.same_boot(last[0], now) else None
    events = _recent_events(connection, known) if known else ()
    return Remembered(
        standings=standings(connection, now),
        postings=postings(connection),
        clock=known.clock if known else None,
        readings=_recent_readings(connection, known, events) if known else (),
        events=events,
    )


def essentials(connection: sqlite3.Connection, now: Moment) -> Remembered:
    """What must not be lost, and nothing else: what can be had of a file with a damaged history."""
    return Remembered(standings=standings(connection, now), postings=postings(connection))


def standings(connection: sqlite3.Connection, now: Moment) -> Tuple[Standing, ...]:
    """The standings that are remembered; one that cannot be read is left out."""
    bodies = connection.execute("SELECT body FROM standing ORDER BY rowid")
    found = (codec.standing_from_text(body, now) for (body,) in bodies)
    return tuple(standing for standing in found if standing is not None)


def postings(connection: sqlite3.Connection) -> Tuple[Posting, ...]:
    """What is owed, oldest first; one that cannot be read is left out."""
    owed = connection.execute("SELECT sink, body FROM outbox ORDER BY id")
    found = ((sink, codec.alert_from_text(body)) for sink, body in owed)
    return tuple(Posting(sink, alert) for sink, alert in found if alert is not None)


def forget_old(connection: sqlite3.Connection, retention: float, max_size: int) -> None:
    """Drop history older than ``retention`` seconds, and an eighth of it when it is too large."""
    newest = connection.execute("SELECT id, lived FROM cycle ORDER BY id DESC LIMIT 1").fetchone()
    if newest is None:
        return
    (oldest,) = connection.execute("SELECT id FROM cycle ORDER BY id LIMIT 1").fetchone()
    (first_kept,) = connection.execute(
        "SELECT id FROM cycle WHERE lived >= ? ORDER BY id LIMIT 1", (newest[1] - retention,)
    ).fetchone()
    used = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
    if used * _pragma(connection, "page_size") > max_size:
        first_kept = max(first_kept, oldest + (newest[0] - oldest) // 8 + 1)
    if first_kept > oldest:
        _forget(connection, first_kept)


def shrink(connection: sqlite3.Connection, max_size: int) -> None:
    """Give pages that are free back to the disk, if the file is larger than it may be."""
    if _pragma(connection, "page_count") * _pragma(connection, "page_size") > max_size:
        connection.execute("PRAGMA incremental_vacuum").fetchall()


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _forget(connection: sqlite3.Connection, first_kept: int) -> None:
    """Drop all history before the cycle ``first_kept``."""
    connection.execute("DELETE FROM cycle WHERE id < ?", (first_kept,))
    for table in ("reading", "event", "told"):
        connection.execute(f"DELETE FROM {table} WHERE cycle < ?", (first_kept,))  # noqa: S608
    connection.execute("DELETE FROM boot WHERE id NOT IN (SELECT boot FROM cycle)")


def _saved(moment: Moment, last: Moment) -> bool:
    """Whether a cycle is there already: a commit that reported a failure may have been done."""
    return codec.same_boot(last, moment) and moment.clock.boottime <= last.clock.boottime


def _aged(before: Moment, after: Moment) -> float:
    """Seconds of the host's life between two cycles, whatever its wall clock did."""
    passed = codec.elapsed(before, after)
    if not codec.same_boot(before, after):
        passed = min(passed, after.clock.boottime + _LONGEST_DOWNTIME)
    return max(0.0, passed)


def _add_cycle(connection: sqlite3.Connection, cycle: Cycle, lived: float) -> None:
    connection.execute("INSERT OR IGNORE INTO boot (boot_id) VALUES (?)", (cycle.boot_id,))
    best = cycle.assessment.best
    findings = {f.condition: [f.verdict.word, f.cause] for f in cycle.assessment.findings}
    number = connection.execute(
        "INSERT INTO cycle (boot, wall, boottime, monotonic, raw, lived, source, offset,"
        " uncertainty, taken_at, findings)"
        " SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM boot WHERE boot_id = ?",
        (
            *cycle.clock,
            lived,
            *(best[:4] if best else (None,) * 4),
            json.dumps(findings, separators=(",", ":")),
            cycle.boot_id,
        ),
    ).lastrowid
    connection.executemany(
        "INSERT OR IGNORE INTO reading VALUES (?, ?, ?, ?, ?, ?)",
        ((number, *_reading(seen)) for seen in _seen(cycle.observations)),
    )
    connection.executemany(
        "INSERT INTO event (cycle, kind, wall, boottime, size, what) VALUES (?, ?, ?, ?, ?, ?)",
        ((number, e.kind, e.wall, e.boottime, e.size, plain(e.what)) for e in cycle.events),
    )
    connection.executemany(
        "INSERT INTO told (cycle, alert, condition, kind, severity, summary)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            (number, a.id, a.condition, a.kind, a.severity, plain(a.summary, 1000))
            for a in cycle.alerts
        ),
    )


def _seen(observations: Observations) -> Sequence[Observation]:
    chrony = (observations.chrony,) if observations.chrony is not None else ()
    return (*chrony, *observations.references)


def _reading(
    seen: Observation,
) -> Tuple[str, Optional[float], Optional[float], Optional[float], str]:
    if isinstance(seen, Miss):
        return (seen.source, None, None, None, seen.cause)
    return (seen.source, seen.offset, seen.uncertainty, seen.taken_at, "")


def _recent_events(connection: sqlite3.Connection, last: Moment) -> Tuple[Event, ...]:
    """Steps and suspends of this boot, of the last day."""
    found = connection.execute(
        "SELECT kind, event.wall, event.boottime, size, what FROM event"
        " JOIN cycle ON cycle.id = event.cycle JOIN boot ON boot.id = cycle.boot"
        " WHERE boot.boot_id = ? AND kind IN ('step', 'suspend') AND event.boottime >= ?"
        " ORDER BY event.id",
        (last.boot_id, last.clock.boottime - RECENT_EVENTS),
    )
    return tuple(Event(*row) for row in found)


def _recent_readings(
    connection: sqlite3.Connection, last: Moment, events: Sequence[Event]
) -> Tuple[Reading, ...]:
    """Trusted readings of the last hours, and since the last of ``events``."""
    found = connection.execute(
        "SELECT reading.source, reading.offset, reading.uncertainty, reading.taken_at"
        " FROM cycle JOIN boot ON boot.id = cycle.boot JOIN reading ON reading.cycle = cycle.id"
        " WHERE boot.boot_id = ? AND cycle.boottime >= ? AND reading.offset IS NOT NULL"
        " ORDER BY cycle.id, reading.source",
        (
            last.boot_id,
            max(last.clock.boottime - RECENT, *(event.boottime for event in events), 0.0),
        ),
    )
    return tuple(Reading(*row) for row in found)
