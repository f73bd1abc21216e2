"""Reading beside the daemon, without it, without rights to write, and after it was killed."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Iterator

import pytest

from agent.core.settings import HistorySettings
from agent.store import reader
from agent.store.sqlite import SqliteStore
from tests.support import mounts
from tests.support.cycles import a_cycle
from tests.support.nobody import as_nobody
from tests.support.samples import a_reading


@pytest.fixture
def store(private_dir: Path) -> Iterator[SqliteStore]:
    private_dir.chmod(0o755)
    store = SqliteStore(str(private_dir / "a state?#%"), HistorySettings(), print)
    store.save([a_cycle(float(second), a_reading(0.1)) for second in range(1, 11)], ())
    yield store
    store.close()


def count(path: str) -> int:
    with reader.reading(path) as connection:
        (cycles,) = connection.execute("SELECT COUNT(*) FROM cycle").fetchone()
        return int(cycles)


def test_reading_beside_the_daemon_sees_what_is_saved(store: SqliteStore) -> None:
    assert count(store.path) == 10


def test_reading_without_the_daemon_leaves_nothing_behind(store: SqliteStore) -> None:
    store.close()
    before = sorted(os.listdir(os.path.dirname(store.path)))
    assert count(store.path) == 10
    assert sorted(os.listdir(os.path.dirname(store.path))) == before


def test_a_reader_does_not_block_the_daemon_and_sees_one_moment(store: SqliteStore) -> None:
    with reader.reading(store.path) as connection:
        (before,) = connection.execute("SELECT COUNT(*) FROM cycle").fetchone()
        store.save([a_cycle(11.0)], ())
        (after,) = connection.execute("SELECT COUNT(*) FROM cycle").fetchone()
    assert before == after == 10
    assert count(store.path) == 11


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path, tmp_path / "missing"):
        with pytest.raises(OSError, match=r"not a regular file|No such file"):
            count(str(path))


def test_a_reader_cannot_write(store: SqliteStore) -> None:
    with reader.reading(store.path) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("DELETE FROM cycle")


@pytest.mark.parametrize("running", [True, False])
def test_a_member_of_the_group_may_read_but_not_write(store: SqliteStore, running: bool) -> None:
    directory = os.path.dirname(store.path)
    for name in os.listdir(directory):
        os.chmod(os.path.join(directory, name), 0o644)
    os.chmod(directory, 0o755)
    if not running:
        store.close()
    assert as_nobody(lambda: str(count(store.path))) == "10"


@pytest.fixture
def killed(store: SqliteStore, private_dir: Path) -> Path:
    """The file and the log of a daemon that was killed; the log is not in the file yet."""
    copied = private_dir / "killed"
    copied.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(store.path + suffix, copied / ("state.db" + suffix))
    assert (copied / "state.db-wal").stat().st_size > 0
    return copied / "state.db"


def test_what_a_killed_daemon_logged_is_read(killed: Path) -> None:
    assert count(str(killed)) == 10


def test_what_a_killed_daemon_logged_is_read_without_rights_to_write(killed: Path) -> None:
    killed.parent.chmod(0o755)
    for path in killed.parent.iterdir():
        path.chmod(0o644)
    assert as_nobody(lambda: str(count(str(killed)))) == "10"
    assert sorted(os.listdir(killed.parent)) == ["state.db", "state.db-wal"]


def test_what_a_killed_daemon_logged_is_read_from_a_read_only_disk(
    killed: Path, private_dir: Path
) -> None:
    with mounts.tmpfs(private_dir / "disk", size=4 * 1024 * 1024) as disk:
        for path in killed.parent.iterdir():
            shutil.copy(path, disk)
        mounts.remount(disk, "ro")
        assert count(str(disk / "state.db")) == 10


def test_no_file_is_said_to_be_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), reader.reading(str(tmp_path / "state.db")):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("no database at all, and long enough to look like one" * 9)
    with pytest.raises(sqlite3.DatabaseError), reader.reading(str(tmp_path / "state.db")):
        pass
