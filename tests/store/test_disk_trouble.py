"""A full disk and a read-only one: what is known stays known, and what is owed stays owed."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, List

import pytest

from agent.core.model import Standing, Verdict
from agent.core.settings import HistorySettings
from agent.store import Cycle, StoreError
from agent.store.sqlite import SqliteStore
from tests.support import mounts
from tests.support.cycles import A_BOOT, a_cycle, an_alert, clocks, postings
from tests.support.samples import a_reading

STANDINGS = (Standing("offset", alerting=Verdict.CRITICAL, critical_run=3, since=1.0),)
OWED = postings("page", an_alert(1))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounts.tmpfs(tmp_path / "disk", size=512 * 1024) as disk:
        yield disk


def open_store(disk: Path) -> SqliteStore:
    return SqliteStore(str(disk), HistorySettings(), print)


def save_on_and_on(store: SqliteStore, unsaved: List[Cycle]) -> None:
    """Save cycle after cycle until one of them, the last of ``unsaved``, cannot be."""
    for second in range(2, 2000):
        unsaved[:] = [a_cycle(float(second), a_reading(0.1), standings=STANDINGS)]
        store.save(unsaved, OWED)


def test_a_disk_that_fills_up_keeps_what_was_there_and_goes_on_when_it_has_space(
    small_disk: Path,
) -> None:
    store = open_store(small_disk)
    store.save([a_cycle(1.0, a_reading(0.1), standings=STANDINGS)], OWED)
    ballast = mounts.fill(small_disk)
    unsaved: List[Cycle] = []
    with pytest.raises(StoreError, match="full"):
        save_on_and_on(store, unsaved)
    with pytest.raises(StoreError):
        store.save(unsaved, OWED)
    assert store.restore(clocks(3000.0), A_BOOT).standings == STANDINGS
    ballast.unlink()
    more = (*OWED, *postings("page", an_alert(2)))
    store.save(unsaved, more)
    remembered = store.restore(clocks(3000.0), A_BOOT)
    store.close()
    assert remembered.postings == more
    assert remembered.clock == unsaved[-1].clock
    assert len(remembered.readings) == unsaved[-1].clock.boottime


def test_a_disk_that_is_full_from_the_start_is_trouble_and_later_is_not(small_disk: Path) -> None:
    ballast = mounts.fill(small_disk)
    store = open_store(small_disk)
    with pytest.raises(StoreError):
        store.restore(clocks(1.0), A_BOOT)
    with pytest.raises(StoreError):
        store.save([a_cycle(1.0, standings=STANDINGS)], OWED)
    ballast.unlink()
    store.save([a_cycle(1.0, standings=STANDINGS)], OWED)
    assert store.restore(clocks(2.0), A_BOOT).postings == OWED
    store.close()


def test_what_is_alerting_and_owed_is_known_on_a_read_only_disk(small_disk: Path) -> None:
    store = open_store(small_disk)
    store.save([a_cycle(1.0, standings=STANDINGS)], OWED)
    store.close()
    mounts.remount(small_disk, "ro")
    store = open_store(small_disk)
    remembered = store.restore(clocks(2.0), A_BOOT)
    assert remembered.standings == STANDINGS
    assert remembered.postings == OWED
    with pytest.raises(StoreError, match="[Rr]ead-only"):
        store.save([a_cycle(2.0)], ())
    mounts.remount(small_disk, "rw")
    store.save([a_cycle(2.0, standings=STANDINGS)], ())
    assert store.restore(clocks(3.0), A_BOOT).postings == ()
    store.close()


def test_a_disk_that_breaks_under_the_daemon_is_trouble_and_still_read(tmp_path: Path) -> None:
    with mounts.ext4(tmp_path / "disk") as disk:
        store = open_store(disk)
        store.save([a_cycle(1.0, standings=STANDINGS)], OWED)
        mounts.break_down(disk)
        for second in (2.0, 3.0):
            with pytest.raises(StoreError):
                store.save([a_cycle(second)], OWED)
        store.close()
        again = open_store(disk)
        remembered = again.restore(clocks(4.0), A_BOOT)
        again.close()
        assert remembered.standings == STANDINGS
        assert remembered.postings == OWED
