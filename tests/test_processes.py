"""Owns the tests of agent.processes, against processes started here."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Iterator, Tuple

import pytest

from agent.core.service_view import Program
from agent.processes import find_named, hidden, peek
from tests.support import needs
from tests.support.nobody import as_nobody
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
    sleeper: Tuple[str, subprocess.Popen[bytes]],
) -> None:
    name, process = sleeper
    found = find_named(name)
    assert [entry.pid for entry in found] == [process.pid]
    assert found[0].state in ("sleeping", "running")


def test_processes_that_are_hidden_are_not_taken_for_none(
    sleeper: Tuple[str, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    name, process = sleeper
    import psutil  # noqa: F401  here, because nobody may not read it where it is installed

    def look() -> str:
        return f"{len(find_named(name))} {hidden()}"

    assert as_nobody(look) == "1 False"
    assert as_nobody(look, hidepid=True) == "0 True"
    assert hidden(str(tmp_path / "no-proc"))


def test_a_stopped_program_says_so(sleeper: Tuple[str, subprocess.Popen[bytes]]) -> None:
    name, process = sleeper
    process.send_signal(signal.SIGSTOP)
    assert wait_for(lambda: find_named(name)[0].state == "stopped", timeout=5.0)


def test_a_program_in_a_container_is_told_from_one_of_this_host(
    sleeper: Tuple[str, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    needs.root()
    name, process = sleeper
    unshare = needs.program("unshare")
    argv = [unshare, "--pid", "--fork", "--kill-child", str(tmp_path / name), "60"]
    with subprocess.Popen(argv) as container:
        wait_for(lambda: len(find_named(name)) == 2, timeout=5.0, what="the contained one")
        contained = {entry.pid: entry.contained for entry in find_named(name)}
        container.kill()
    assert contained.pop(process.pid) is False
    assert list(contained.values()) == [True]


def test_a_name_nobody_has_finds_nothing() -> None:
    assert find_named("no-such-program-91c4") == []


def test_a_peek_tells_name_state_and_first_argument(
    sleeper: Tuple[str, subprocess.Popen[bytes]],
) -> None:
    name, process = sleeper
    process.send_signal(signal.SIGSTOP)
    assert wait_for(lambda: (peek(process.pid) or Program(0, "")).state == "T", timeout=5.0)
    seen = peek(process.pid)
    assert seen is not None
    assert (seen.name, seen.arguments0) == (name, name)


def test_a_script_does_not_pass_for_the_program_it_is_named_after(tmp_path: Path) -> None:
    script = tmp_path / "chronyd-4f"
    script.write_text("#!/bin/sh\nread line\n", "utf-8")
    script.chmod(0o755)
    with subprocess.Popen([script], stdin=subprocess.PIPE) as process:
        # for a moment of its start it has its new name and no arguments
        wait_for(
            lambda: (p := peek(process.pid)) and p.name == script.name and p.arguments0, timeout=5.0
        )
        seen = peek(process.pid)
        process.kill()
    assert seen is not None
    assert seen.arguments0 == "sh"


def test_a_dead_pid_is_dead_and_a_hidden_one_is_unknown(tmp_path: Path) -> None:
    with subprocess.Popen(["/bin/true"]) as process:
        process.wait()
    assert peek(process.pid) == Program(process.pid, "", state="X")
    assert peek(os.getpid(), proc=str(tmp_path)) is None


def test_the_unit_of_a_process_is_read_from_its_control_group(tmp_path: Path) -> None:
    own = tmp_path / str(os.getpid())
    own.mkdir()
    (own / "stat").write_text("7 (chronyd) S 1", "utf-8")
    (own / "cgroup").write_text("4:cpu:/x\n1:name=systemd:/system.slice/chrony.service\n", "utf-8")
    seen = peek(os.getpid(), proc=str(tmp_path))
    assert seen is not None
    assert (seen.unit, seen.state) == ("chrony.service", "S")
