"""Owns reading the file without touching it, whoever reads and whatever state it is in.

A write-ahead log is no obstacle to its writer, and its writer none to us. Two cases need care: a
directory we may not write to, in which SQLite cannot make its helper files; and a daemon that was
killed there, whose log has to be read as well.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING, Iterator, Optional

if TYPE_CHECKING:
    import sqlite3

#: Seconds to wait for a lock: readers of a write-ahead log wait only while it is being recovered.
BUSY_TIMEOUT = 2.0


@contextlib.contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write. Raises sqlite3.Error or OSError."""
    import sqlite3

    _look(path)
    with contextlib.ExitStack() as stack:
        log = _size(path + "-wal")
        try:
            # without any log nobody writes, and we need not leave helper files behind
            connection = _connect(path, "immutable=1" if log is None else "mode=ro")
        except sqlite3.OperationalError:
            if log:
                connection = _connect(stack.enter_context(_copy(path)), "mode=rw")
            else:
                connection = _connect(path, "immutable=1")
        stack.enter_context(contextlib.closing(connection))
        yield connection


def _look(path: str) -> None:
    """Say what SQLite would not: no such file, not permitted, or nothing that can be read.

    SQLite would wait for the writer of a FIFO for ever, and so would open() without O_NONBLOCK.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
    finally:
        os.close(descriptor)


def _connect(path: str, how: str) -> sqlite3.Connection:
    import sqlite3
    from urllib.parse import quote

    connection = sqlite3.connect(
        f"file:{quote(path)}?{how}", uri=True, timeout=BUSY_TIMEOUT, isolation_level=None
    )
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _copy(path: str) -> Iterator[str]:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="clock-agent-") as directory:
        copied = os.path.join(directory, "copy.db")
        for suffix in ("", "-wal"):
            shutil.copyfile(path + suffix, copied + suffix)
        yield copied


def _size(path: str) -> Optional[int]:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
