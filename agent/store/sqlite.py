"""Owns the SQLite file: when it is opened, repaired, written and cut back.

One transaction per save, a write-ahead log, and every commit on the disk before it counts. Whatever
goes wrong becomes a StoreError, and the file is opened afresh at the next try. A file that cannot
be used is set aside under a name with the time in it, never deleted.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from typing import TYPE_CHECKING, Callable, Optional, Sequence, Set, Type, TypeVar

from agent import clock
from agent.core.outbox import Posting
from agent.core.settings import HistorySettings
from agent.core.steps import ClockSample
from agent.store import FILE_NAME, Cycle, Remembered, StoreError, reader, rows, schema
from agent.store.codec import Moment

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

LOCK_NAME = "lock"
#: Seconds to wait for somebody who holds the file, such as a backup.
BUSY_TIMEOUT = 2.0
#: The group may read, so that ``history`` need not be run as root.
FILE_MODE = 0o640
DIRECTORY_MODE = 0o750
#: Set for every connection. FULL: what was said to people must be remembered after a power cut too.
PRAGMAS = (
    "auto_vacuum = INCREMENTAL",
    "journal_mode = WAL",
    "synchronous = FULL",
    "journal_size_limit = 1048576",
    "cache_size = -128",
    "temp_store = MEMORY",
)


class _LockedError(StoreError):
    """Another daemon keeps its memory here: what it owes is not ours to tell."""


class SqliteStore:
    """Cycles in one SQLite file. For one thread only."""

    def __init__(
        self, directory: str, settings: HistorySettings, say: Callable[[str], None]
    ) -> None:
        """``say`` is told of a file that was set aside."""
        self.path = os.path.join(directory, FILE_NAME)
        self._directory = directory
        self._settings = settings
        self._say = say
        self._connection: Optional[sqlite3.Connection] = None
        self._lock: Optional[int] = None
        self._inode = 0
        #: What the outbox in the file is known to hold.
        self._mirrored: Set[rows.Ident] = set()

    def restore(self, now: ClockSample, boot_id: str) -> Remembered:
        """What was known at the last ``save``; a disk that can only be read is enough."""
        moment = Moment(now, boot_id)
        try:
            return self._attempt(lambda connection: rows.remembered(connection, moment))
        except _LockedError:
            raise
        except schema.UnusableFileError as error:
            readable = self._read_only(rows.essentials, moment) or Remembered()
            self._set_aside(error)
            return readable
        except StoreError:
            readable_only = self._read_only(rows.remembered, moment)
            if readable_only is None:
                raise
            return readable_only

    def save(self, cycles: Sequence[Cycle], postings: Sequence[Posting]) -> None:
        """Add ``cycles`` and make the outbox hold exactly ``postings``, in one transaction."""
        try:
            self._attempt(lambda connection: self._save(connection, cycles, postings))
        except schema.UnusableFileError as error:
            self._set_aside(error)
            self._attempt(lambda connection: self._save(connection, cycles, postings))

    def close(self) -> None:
        """Let go of the file, and of the right to write it."""
        self._let_go()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _read_only(
        self, read: Callable[[sqlite3.Connection, Moment], Remembered], moment: Moment
    ) -> Optional[Remembered]:
        """What can be read of a file that cannot be used otherwise; None when nothing can."""
        with contextlib.suppress(OSError, _error_class()), reader.reading(self.path) as connection:
            return read(connection, moment)
        return None

    def _attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        import sqlite3

        try:
            return work(self._opened())
        except StoreError:
            self._let_go()
            raise
        except (sqlite3.Error, OSError) as error:
            self._let_go()  # which also takes back what was half done
            what = f"{self.path}: {error.strerror if isinstance(error, OSError) else error}"
            # what is no operational error is the content: malformed, or no database at all
            if type(error) is sqlite3.DatabaseError or str(error).startswith("no such"):
                raise schema.UnusableFileError(what) from error
            raise StoreError(what) from error

    def _save(
        self, connection: sqlite3.Connection, cycles: Sequence[Cycle], postings: Sequence[Posting]
    ) -> None:
        connection.execute("BEGIN IMMEDIATE")
        if cycles:
            rows.add_cycles(connection, cycles)
            rows.put_standings(connection, cycles[-1])
            rows.forget_old(connection, self._settings.retention, self._settings.max_size)
        rows.mirror(connection, self._mirrored, postings)
        connection.execute("COMMIT")
        self._mirrored = {posting.ident for posting in postings}
        with contextlib.suppress(_error_class()):  # saved is saved, whatever becomes of this
            rows.shrink(connection, self._settings.max_size)

    def _opened(self) -> sqlite3.Connection:
        """The open file; opened afresh when somebody has moved or removed it meanwhile."""
        if self._connection is not None and _inode(self.path) == self._inode:
            return self._connection
        self._let_go()
        os.makedirs(self._directory, DIRECTORY_MODE, exist_ok=True)
        self._take_lock()
        _create(self.path)
        if not os.path.isfile(self.path):
            raise schema.UnusableFileError(f"{self.path}: is not a regular file")
        connection = self._connect()
        self._mirrored = rows.outbox_idents(connection)
        self._inode = _inode(self.path)
        return connection

    def _connect(self) -> sqlite3.Connection:
        import sqlite3

        connection = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT, isolation_level=None)
        self._connection = connection
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        if _inode(self.path) != self._inode:  # not known yet: looked at once, not at every retry
            (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if result != "ok":
                raise schema.UnusableFileError(f"{self.path}: {result}")
        schema.migrate(connection)
        return connection

    def _take_lock(self) -> None:
        if self._lock is not None:
            return
        path = os.path.join(self._directory, LOCK_NAME)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            what = f"another clock-agent keeps its memory in {self._directory}"
            raise _LockedError(what) from error
        self._lock = descriptor

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(_error_class()):
                connection.close()

    def _set_aside(self, why: Exception) -> None:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock.wall()))
        aside, number = f"{self.path}.{stamp}", 0
        while os.path.lexists(aside):
            number += 1
            aside = f"{self.path}.{stamp}-{number}"
        try:
            os.rename(self.path, aside)
            for suffix in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.rename(self.path + suffix, aside + suffix)
        except OSError as error:
            raise StoreError(f"{why}; setting it aside failed: {error.strerror}") from error
        self._say(f"{why}: set aside as {aside}, and a new file is begun")


def _create(path: str) -> None:
    """Make the file with its mode before SQLite would; its helper files take the same mode."""
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        os.fchmod(descriptor, FILE_MODE)
        os.close(descriptor)


def _inode(path: str) -> int:
    """The number that changes when the file is moved away and another put there; 0 for none."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0


def _error_class() -> Type[Exception]:
    """sqlite3.Error, imported only where a store is used."""
    import sqlite3

    return sqlite3.Error
