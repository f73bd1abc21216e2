"""One SQLite file: what comes back, what is cut back, and what happens to a file that is broken."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any, Callable, Iterator, List, Optional, Tuple

import pytest

from agent.core.model import Standing, Verdict
from agent.core.settings import HistorySettings
from agent.core.steps import Event
from agent.store import Remembered, StoreError, schema
from agent.store.sqlite import SqliteStore
from tests.support.cycles import A_BOOT, BOOTED_AT, a_cycle, an_alert, clocks, postings
from tests.support.samples import a_miss, a_reading

STANDINGS = (
    Standing("offset", alerting=Verdict.CRITICAL, critical_run=3, since=100.0, told_at=160.0),
    Standing("sync", warning_run=2, since=130.0),
)
OWED = postings("page", an_alert(1), an_alert(2, "resolve"))


class Place:
    """A state directory, and stores on it that are closed at the end."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.said: List[str] = []
        self._stores: List[SqliteStore] = []

    def open(self, **settings: Any) -> SqliteStore:
        for store in self._stores:
            store.close()
        store = SqliteStore(str(self.directory), HistorySettings(**settings), self.said.append)
        self._stores.append(store)
        return store

    def restored(self, boottime: float = 1000.0) -> Remembered:
        store = self.open()
        remembered = store.restore(clocks(boottime), A_BOOT)
        store.close()
        return remembered

    def ask(self, question: str) -> List[Tuple[Any, ...]]:
        connection = sqlite3.connect(self.directory / "state.db")
        try:
            return connection.execute(question).fetchall()
        finally:
            connection.close()

    def close(self) -> None:
        for store in self._stores:
            store.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path / "state")
    yield place
    place.close()


def test_a_new_store_remembers_nothing(place: Place) -> None:
    assert place.restored() == Remembered()
    assert place.said == []


def test_what_was_saved_comes_back(place: Place) -> None:
    store = place.open()
    store.save([a_cycle(200.0, a_reading(0.5), standings=STANDINGS)], OWED)
    store.close()
    remembered = place.restored()
    assert remembered.standings == STANDINGS
    assert remembered.postings == OWED
    assert remembered.clock == clocks(200.0)
    assert remembered.readings == (a_reading(0.5),)


def test_what_is_settled_is_owed_no_longer(place: Place) -> None:
    store = place.open()
    store.save([a_cycle(200.0)], OWED)
    store.save([], OWED[1:])
    store.close()
    assert place.restored().postings == OWED[1:]


def test_order_is_kept_over_a_restart_in_the_middle(place: Place) -> None:
    store = place.open()
    store.save([a_cycle(200.0)], OWED)
    store.close()
    store = place.open()
    store.restore(clocks(300.0), A_BOOT)
    more = (*OWED, *postings("page", an_alert(0)))
    store.save([a_cycle(300.0)], more)
    store.close()
    assert place.restored().postings == more


def test_another_boot_knows_neither_the_clocks_nor_the_readings_of_the_last(place: Place) -> None:
    store = place.open()
    store.save([a_cycle(200.0, a_reading(0.5), standings=STANDINGS)], OWED)
    remembered = store.restore(clocks(30.0, wall=BOOTED_AT + 500.0), "another boot")
    assert remembered.clock is None
    assert remembered.readings == ()
    assert [standing.condition for standing in remembered.standings] == ["offset", "sync"]
    assert remembered.standings[0].since == pytest.approx(30.0 - 400.0)


@pytest.mark.parametrize("kind", ["step", "suspend"])
def test_readings_from_before_a_step_or_a_suspend_are_no_ground_for_a_drift(
    place: Place, kind: str
) -> None:
    store = place.open()
    event = Event(kind, clocks(250.0).wall, 250.0, 3600.0)
    store.save([a_cycle(200.0, a_reading(0.5))], ())
    store.save([a_cycle(250.0, a_reading(0.6), events=[event])], ())
    store.save([a_cycle(300.0, a_reading(0.7), a_miss("locks"))], ())
    remembered = store.restore(clocks(310.0), A_BOOT)
    assert [reading.offset for reading in remembered.readings] == [0.6, 0.7]
    assert remembered.events == (event,)


def test_what_happened_in_another_boot_or_long_ago_is_not_told_again(place: Place) -> None:
    store = place.open()
    event = Event("step", 0.0, 250.0, 3600.0)
    start = Event("start", 0.0, 86_000.0)
    store.save([a_cycle(250.0, events=[event])], ())
    store.save([a_cycle(86_000.0, events=[start])], ())
    assert store.restore(clocks(86_000.0), A_BOOT).events == (event,)
    store.save([a_cycle(90_000.0)], ())
    assert store.restore(clocks(90_000.0), A_BOOT).events == ()
    store.save([a_cycle(30.0, boot_id="another boot")], ())
    assert store.restore(clocks(60.0), "another boot").events == ()


def test_a_cycle_that_was_saved_already_is_not_saved_twice(place: Place) -> None:
    store = place.open()
    first, second = a_cycle(200.0), a_cycle(230.0)
    store.save([first], ())
    store.save([first, second], ())
    store.close()
    assert place.ask("SELECT boottime FROM cycle") == [(200.0,), (230.0,)]


def test_everything_a_cycle_saw_is_kept(place: Place) -> None:
    store = place.open()
    step = Event("step", 5.0, 190.0, -2.5, "")
    store.save(
        [a_cycle(200.0, a_reading(0.5), a_miss("locks"), alerts=[an_alert(1)], events=[step])], ()
    )
    store.close()
    assert place.ask("SELECT source, offset, cause FROM reading ORDER BY source") == [
        ("chronyd", 0.5, ""),
        ("locks", None, "not-running"),
    ]
    assert place.ask("SELECT kind, size, boottime FROM event") == [("step", -2.5, 190.0)]
    assert place.ask("SELECT alert, condition, kind, severity FROM told") == [
        ("alert-1", "offset", "raise", "critical")
    ]
    assert place.ask("SELECT findings FROM cycle") == [('{"offset":["ok",""]}',)]


def test_old_history_goes_by_the_life_of_the_host(place: Place) -> None:
    store = place.open(retention=1000.0)
    for boottime in range(100, 3100, 100):
        store.save([a_cycle(float(boottime), a_reading(0.0), alerts=[an_alert(boottime)])], ())
    store.close()
    assert place.ask("SELECT MIN(boottime), MAX(boottime), COUNT(*) FROM cycle") == [
        (2000.0, 3000.0, 11)
    ]
    assert place.ask("SELECT COUNT(*) FROM reading") == [(11,)]
    assert place.ask("SELECT COUNT(*) FROM told") == [(11,)]


@pytest.mark.parametrize("wall", [5.0, 4_294_944_000.0])
@pytest.mark.parametrize("boot_id", [A_BOOT, "another boot"])
def test_no_step_of_the_wall_clock_makes_history_old(
    place: Place, wall: float, boot_id: str
) -> None:
    store = place.open(retention=30 * 86400.0)
    store.save([a_cycle(100.0), a_cycle(200.0)], ())
    store.save([a_cycle(300.0, wall=wall, boot_id=boot_id)], ())
    store.close()
    assert place.ask("SELECT COUNT(*) FROM cycle") == [(3,)]


def test_a_host_that_was_off_for_a_month_keeps_what_it_knew(place: Place) -> None:
    store = place.open(retention=7 * 86400.0)
    store.save([a_cycle(100.0)], ())
    store.save([a_cycle(30.0, wall=BOOTED_AT + 30 * 86400.0, boot_id="another boot")], ())
    store.close()
    assert place.ask("SELECT COUNT(*) FROM cycle") == [(2,)]


def test_the_file_stays_below_its_size_and_keeps_the_newest(place: Place) -> None:
    limit = 256 * 1024
    store = place.open(max_size=limit)
    cycles = [
        a_cycle(float(second), a_reading(0.0), a_miss("a"), a_miss("b"), standings=STANDINGS)
        for second in range(1, 6001)
    ]
    for start in range(0, len(cycles), 50):
        store.save(cycles[start : start + 50], OWED)
    store.close()
    assert (place.directory / "state.db").stat().st_size <= limit * 1.2
    ((oldest, newest, count),) = place.ask(
        "SELECT MIN(boottime), MAX(boottime), COUNT(*) FROM cycle"
    )
    assert newest == 6000.0
    assert count == newest - oldest + 1
    assert count > 500
    assert place.restored(7000.0).standings == STANDINGS
    assert place.restored(7000.0).postings == OWED


def test_the_group_may_read_and_nobody_else(place: Place) -> None:
    before = os.umask(0o077)
    try:
        store = place.open()
        store.save([a_cycle(200.0)], ())
    finally:
        os.umask(before)
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        mode = stat.S_IMODE((place.directory / name).stat().st_mode)
        assert mode == 0o640, name


BROKEN = {
    "half of some JSON": b'{"standing": {"offset": {"ale',
    "noise": bytes(range(256)) * 64,
    "a beginning and then noise": b"SQLite format 3\0" + b"\xff" * 8176,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_set_aside_and_a_new_one_begun(place: Place, content: bytes) -> None:
    place.directory.mkdir()
    (place.directory / "state.db").write_bytes(content)
    store = place.open()
    assert store.restore(clocks(1000.0), A_BOOT) == Remembered()
    store.save([a_cycle(1000.0, standings=STANDINGS)], OWED)
    store.close()
    assert place.restored().standings == STANDINGS
    (aside,) = place.directory.glob("state.db.*")
    assert aside.read_bytes() == content
    (said,) = place.said
    assert str(aside) in said
    assert "new file" in said


def test_an_empty_file_is_as_good_as_none(place: Place) -> None:
    place.directory.mkdir()
    (place.directory / "state.db").touch()
    store = place.open()
    store.save([a_cycle(200.0, standings=STANDINGS)], ())
    store.close()
    assert place.restored().standings == STANDINGS
    assert place.said == []


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_set_aside(place: Place, make: Callable[[str], None]) -> None:
    place.directory.mkdir()
    make(str(place.directory / "state.db"))
    store = place.open()
    store.save([a_cycle(200.0, standings=STANDINGS)], ())
    store.close()
    assert place.restored().standings == STANDINGS
    assert "is not a regular file" in place.said[0]


def test_a_database_of_somebody_else_is_set_aside(place: Place) -> None:
    place.directory.mkdir()
    connection = sqlite3.connect(place.directory / "state.db")
    connection.execute("CREATE TABLE cycle (wheels INTEGER)")
    connection.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS)}")
    connection.close()
    store = place.open()
    store.save([a_cycle(200.0, standings=STANDINGS)], ())
    store.close()
    assert place.restored().standings == STANDINGS
    assert len(place.said) == 1


def test_a_file_of_a_newer_version_is_set_aside_and_still_believed(place: Place) -> None:
    store = place.open()
    store.save([a_cycle(200.0, standings=STANDINGS)], OWED)
    store.close()
    connection = sqlite3.connect(place.directory / "state.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    remembered = place.restored()
    assert remembered.standings == STANDINGS
    assert remembered.postings == OWED
    assert "format 99 is newer" in place.said[0]


def test_what_is_alerting_is_saved_from_a_file_whose_history_is_damaged(place: Place) -> None:
    store = place.open()
    cycles = [a_cycle(float(n), a_reading(0.0), standings=STANDINGS) for n in range(1, 2000)]
    store.save(cycles, OWED)
    store.close()
    ((root,),) = place.ask("SELECT rootpage FROM sqlite_master WHERE name = 'reading'")
    with (place.directory / "state.db").open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xaa" * 4096)
    remembered = place.restored(2000.0)
    assert remembered.standings == STANDINGS
    assert remembered.postings == OWED
    assert len(place.said) == 1


def test_a_file_that_breaks_while_it_is_in_use_costs_history_but_not_what_is_owed(
    place: Place,
) -> None:
    store = place.open()
    store.save([a_cycle(float(n), a_reading(0.0)) for n in range(1, 2000)], OWED)
    store.close()
    store.restore(clocks(2000.0), A_BOOT)
    with (place.directory / "state.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xaa" * (file.seek(0, os.SEEK_END) - 4096))
    store.save([a_cycle(2001.0, standings=STANDINGS)], OWED)
    store.close()
    remembered = place.restored(2100.0)
    assert remembered.standings == STANDINGS
    assert remembered.postings == OWED


def remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


@pytest.mark.parametrize("happening", [remove, move])
def test_a_file_that_vanishes_is_made_again(
    place: Place, happening: Callable[[Path], None]
) -> None:
    store = place.open()
    store.save([a_cycle(200.0, standings=STANDINGS)], OWED)
    happening(place.directory / "state.db")
    store.save([a_cycle(230.0, standings=STANDINGS)], OWED)
    store.close()
    assert place.restored().postings == OWED


def test_a_second_daemon_neither_reads_nor_writes_what_the_first_one_keeps(place: Place) -> None:
    first = place.open()
    first.save([a_cycle(200.0, standings=STANDINGS)], OWED)
    second = SqliteStore(str(place.directory), HistorySettings(), place.said.append)
    with pytest.raises(StoreError, match="another clock-agent"):
        second.restore(clocks(300.0), A_BOOT)
    with pytest.raises(StoreError, match="another clock-agent"):
        second.save([a_cycle(300.0)], ())
    first.close()
    assert second.restore(clocks(300.0), A_BOOT).postings == OWED
    second.close()


def test_a_file_that_somebody_locks_is_trouble_and_then_it_is_not(place: Place) -> None:
    store = place.open()
    store.save([a_cycle(200.0)], ())
    other = sqlite3.connect(place.directory / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        store.save([a_cycle(230.0, standings=STANDINGS)], OWED)
    other.execute("COMMIT")
    other.close()
    store.save([a_cycle(230.0, standings=STANDINGS)], OWED)
    store.close()
    assert place.restored().postings == OWED


def test_a_directory_that_cannot_be_made_is_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = SqliteStore(str(tmp_path / "file" / "state"), HistorySettings(), print)
    with pytest.raises(StoreError, match="Not a directory"):
        store.restore(clocks(1.0), A_BOOT)
    with pytest.raises(StoreError, match="Not a directory"):
        store.save([a_cycle(2.0)], ())
    store.close()


def test_an_older_file_goes_through_the_steps_it_lacks(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    schema.migrate(connection)
    connection.execute("INSERT INTO boot (boot_id) VALUES ('b')")
    longer = [*schema.MIGRATIONS, ["ALTER TABLE boot ADD COLUMN mood TEXT DEFAULT 'good'"]]
    schema.migrate(connection, longer)
    assert connection.execute("SELECT boot_id, mood FROM boot").fetchall() == [("b", "good")]
    schema.migrate(connection, longer)
    connection.close()


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    schema.migrate(connection)
    wrong = [*schema.MIGRATIONS, ["CREATE TABLE added (x)", "CREATE NONSENSE"]]
    with pytest.raises(sqlite3.OperationalError):
        schema.migrate(connection, wrong)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables: Optional[Tuple[Any, ...]] = connection.execute(
        "SELECT name FROM sqlite_master WHERE name = 'added'"
    ).fetchone()
    assert (version, tables) == (len(schema.MIGRATIONS), None)
    connection.close()
