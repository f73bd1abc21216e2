"""Owns the tables, and how an older file becomes a newer one.

``user_version`` counts the steps a file has gone through. A step is never changed once released:
what is wrong with it is put right by the next one. The tables in words:

- ``cycle``: one row per cycle, in the order they happened; ``lived`` counts the seconds of this
  host's life, which no step of the wall clock can move, and decides what is old.
- ``reading``: what each source said in it; no offset, but a cause, where it said nothing useful.
- ``told``: alerts that arose; ``event``: steps, suspends and the daemon's own doings.
- ``standing`` and ``outbox``: not history but what the daemon goes on from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from agent.store import StoreError

if TYPE_CHECKING:
    import sqlite3

MIGRATIONS: Sequence[Sequence[str]] = (
    (
        "CREATE TABLE boot (id INTEGER PRIMARY KEY, boot_id TEXT NOT NULL UNIQUE)",
        """CREATE TABLE cycle (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            boot INTEGER NOT NULL,
            wall REAL, boottime REAL, monotonic REAL, raw REAL,
            lived REAL,
            source TEXT, offset REAL, uncertainty REAL, taken_at REAL,
            findings TEXT)""",
        """CREATE TABLE reading (
            cycle INTEGER NOT NULL,
            source TEXT NOT NULL,
            offset REAL, uncertainty REAL, taken_at REAL,
            cause TEXT,
            PRIMARY KEY (cycle, source)) WITHOUT ROWID""",
        """CREATE TABLE event (
            id INTEGER PRIMARY KEY,
            cycle INTEGER NOT NULL,
            kind TEXT NOT NULL,
            wall REAL, boottime REAL, size REAL,
            what TEXT)""",
        """CREATE TABLE told (
            id INTEGER PRIMARY KEY,
            cycle INTEGER NOT NULL,
            alert TEXT NOT NULL,
            condition TEXT NOT NULL,
            kind TEXT NOT NULL,
            severity TEXT NOT NULL,
            summary TEXT)""",
        "CREATE TABLE standing (condition TEXT PRIMARY KEY, body TEXT NOT NULL)",
        """CREATE TABLE outbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            sink TEXT NOT NULL,
            alert TEXT NOT NULL,
            body TEXT NOT NULL,
            UNIQUE (sink, alert))""",
        "CREATE INDEX event_cycle ON event (cycle)",
        "CREATE INDEX told_cycle ON told (cycle)",
    ),
)


class UnusableFileError(StoreError):
    """What lies under the name of the file will never be of use to this program."""


def migrate(
    connection: sqlite3.Connection, migrations: Sequence[Sequence[str]] = MIGRATIONS
) -> None:
    """Bring the file up to date: each step whole or not at all.

    Raises UnusableFileError when a newer version of this program wrote it.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(migrations):
        raise UnusableFileError(f"its format {version} is newer than {len(migrations)}")
    for number in range(version, len(migrations)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in migrations[number]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
