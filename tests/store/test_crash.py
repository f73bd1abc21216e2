"""kill -9 at any moment: nothing half done, nothing forgotten, nothing untold."""

from __future__ import annotations

import json
import socketserver
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from agent.core.settings import HistorySettings
from agent.store import Remembered
from agent.store.sqlite import SqliteStore
from tests.support.crash import SAVES, owed_after, the_cycle
from tests.support.cycles import A_BOOT, clocks

ROOT = Path(__file__).resolve().parents[2]
LIVES = 300


def crash(*arguments: object) -> List[str]:
    """Run the program that lives and is killed; return the lines it printed."""
    command = [sys.executable, "-m", "tests.support.crash", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


def as_saved(number: int) -> Remembered:
    """What is remembered after the ``number``th save of the short life."""
    if number == 0:
        return Remembered()
    return Remembered(
        standings=the_cycle(number).standings,
        postings=owed_after(number),
        clock=the_cycle(number).clock,
    )


def test_killed_between_any_two_statements_a_save_is_whole_or_not_at_all(tmp_path: Path) -> None:
    lines = crash("statements", tmp_path)
    *killed, survivor = [tuple(map(int, line.split())) for line in lines]
    assert survivor[1:] == (SAVES, 0)
    assert len(killed) > 60
    for number, saves, _ in killed:
        said: List[str] = []
        store = SqliteStore(str(tmp_path / str(number)), HistorySettings(), said.append)
        remembered = store.restore(clocks(100.0), A_BOOT)._replace(readings=())
        store.close()
        assert remembered in (as_saved(saves), as_saved(saves + 1)), f"statement {number}"
        assert said == [], f"statement {number}"


class Receiver(socketserver.ThreadingTCPServer):
    """Counts what arrives, and confirms it."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Confirm)
        self.arrived: List[Dict[str, Any]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def first_times(self) -> List[Dict[str, Any]]:
        """What arrived, without the repeats."""
        return list({alert["id"]: alert for alert in reversed(self.arrived)}.values())[::-1]


class Confirm(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        line = self.rfile.readline()
        if line.endswith(b"\n"):
            assert isinstance(self.server, Receiver)
            self.server.arrived.append(json.loads(line))
            self.wfile.write(b".")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver
        receiver.shutdown()


def test_killed_300_times_every_alert_arrives_in_order_and_no_standing_is_lost(
    tmp_path: Path, receiver: Receiver
) -> None:
    port = receiver.server_address[1]
    lines = crash("random", tmp_path, port, LIVES, 20_260_824)
    told = all_told(tmp_path)
    assert len(told) > 50
    for key in ("offset", "sync"):
        own = [alert for alert in told if alert[1] == key]
        arrived = [a for a in receiver.first_times() if a["condition"] == key]
        assert [alert["id"] for alert in arrived] == [ident for ident, _, _ in own]
        assert_raises_and_resolves_alternate([kind for _, _, kind in own])
    assert_standings_survive(lines)
    repeats = len(receiver.arrived) - len(told)
    assert repeats <= LIVES


def all_told(directory: Path) -> List[Tuple[str, str, str]]:
    """Every alert there ever was: id, condition and kind. And nothing is owed any more."""
    connection = sqlite3.connect(directory / "state.db")
    try:
        assert connection.execute("SELECT COUNT(*) FROM outbox").fetchone() == (0,)
        return connection.execute("SELECT alert, condition, kind FROM told ORDER BY id").fetchall()
    finally:
        connection.close()


def assert_raises_and_resolves_alternate(kinds: List[str]) -> None:
    changes = [kind for kind in kinds if kind != "escalate"]
    assert changes == ["raise", "resolve"] * (len(changes) // 2)


def assert_standings_survive(lines: List[str]) -> None:
    """Each life begins with the standings of a cycle there was, at the moment it was."""
    standings: Dict[Tuple[float, ...], Any] = {}
    lives = 0
    for line in map(json.loads, lines):
        moment = tuple(line["clock"] or ())
        if line["what"] == "standing":
            standings[moment] = line["standings"]
        elif moment:
            assert line["standings"] == standings[moment]
            lives += 1
    assert lives > LIVES / 2
