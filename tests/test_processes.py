"""Owns the tests of agent.processes, against processes started here."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path
from typing import Iterator, Tuple

import pytest

from agent.processes import find_named
from tests.support.waiting import wait_for


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Tuple[str, subprocess.Popen[bytes]]]:
    """A program with a name that nothing else on the machine has, running."""
    name = "nap-7b1e"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", tmp_path / name)
    with subprocess.Popen([tmp_path / name, "60"]) as process:
        yield name, process
        process.kill()


def test_a_running_program_is_found_by_its_name(
    sleeper: Tuple[str, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    name, process = sleeper
    found = find_named(name)
    assert [entry.pid for entry in found] == [process.pid]
    assert found[0].exe == str(tmp_path / name)
    assert found[0].state in ("sleeping", "running")


def test_a_stopped_program_says_so(sleeper: Tuple[str, subprocess.Popen[bytes]]) -> None:
    name, process = sleeper
    process.send_signal(signal.SIGSTOP)
    assert wait_for(lambda: find_named(name)[0].state == "stopped", timeout=5.0)


def test_a_name_nobody_has_finds_nothing() -> None:
    assert find_named("no-such-program-91c4") == []
