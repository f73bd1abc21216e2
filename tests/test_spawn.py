"""Owns the tests of running other programs: what they see, when they end, what is left of them."""

from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path
from typing import Set

import pytest

from agent import spawn
from tests.support.fakes import executable
from tests.support.limits import no_file_left, spare_files
from tests.support.waiting import wait_for

#: Seconds a busy machine may need beyond what is promised.
SLACK = 1.0


def script(directory: Path, text: str) -> str:
    """A shell script that does ``text``."""
    return executable(directory / "program", f"#!/bin/sh\n{text}\n")


def alive(pid: int) -> bool:
    """Whether a process exists and is more than a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pid_in(file: Path) -> int:
    """The pid that a script writes into ``file``."""
    wait_for(lambda: file.exists() and file.read_text().strip(), what=str(file))
    return int(file.read_text())


def test_a_program_is_told_nothing_of_our_surroundings_and_given_no_file(tmp_path: Path) -> None:
    os.environ["CLOCK_AGENT_TEST_SECRET"] = "hush"
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        done = spawn.run([script(tmp_path, "env; ls /proc/self/fd")], 10.0)
    finally:
        del os.environ["CLOCK_AGENT_TEST_SECRET"]
        os.close(descriptor)
    assert done.status == 0
    lines = done.stdout.split()
    assert "LC_ALL=C" in lines
    assert f"PATH={spawn.SEARCH_PATH}" in lines
    assert not [line for line in lines if "SECRET" in line]
    assert str(descriptor) not in lines


def test_output_that_is_no_text_comes_out_as_escapes(tmp_path: Path) -> None:
    done = spawn.run([script(tmp_path, r"printf 'M\344rz'")], 10.0)
    assert done.stdout == "M\\xe4rz"


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_a_deadline_ends_the_program_with_all_its_children(tmp_path: Path, trap: str) -> None:
    pids = tmp_path / "pids"
    program = script(tmp_path, f"{trap}sleep 600 & echo $! >{pids}; wait; sleep 600")
    began = time.monotonic()
    done = spawn.run([program], 0.5)
    assert done.timed_out
    assert time.monotonic() - began < 0.5 + 2 * spawn.TERM_GRACE + SLACK
    wait_for(lambda: not alive(int(pids.read_text())), what="the grandchild to end")


def test_a_grandchild_that_holds_the_output_is_not_waited_for_beyond_the_deadline(
    tmp_path: Path,
) -> None:
    began = time.monotonic()
    done = spawn.run([script(tmp_path, "echo said; sleep 600 & exit 0")], 0.5)
    assert time.monotonic() - began < 0.5 + 2 * spawn.TERM_GRACE + SLACK
    assert (done.status, done.stdout) == (0, "said\n")


@pytest.mark.parametrize(
    ("program", "number"),
    [
        ("/nowhere/chronyc", errno.ENOENT),
        ("no-such-program", errno.ENOENT),
        ("/etc/passwd", errno.EACCES),
        ("/tmp", errno.EACCES),
        ("a\0b", errno.EINVAL),
    ],
)
def test_what_cannot_be_started_says_why_and_leaves_no_file_open(program: str, number: int) -> None:
    with no_file_left():
        done = spawn.run([program], 1.0)
        assert (done.status, done.errno, done.stderr) == (None, number, os.strerror(number))


@pytest.mark.parametrize("spare", range(6))
def test_without_files_to_spare_nothing_is_started_and_none_is_lost(spare: int) -> None:
    """A start needs three pipes."""
    with no_file_left():
        with spare_files(spare):
            done = spawn.run(["true"], 10.0)
        assert (done.status, done.errno) == (None, errno.EMFILE)
        assert done.errno in spawn.SHORTAGES


def test_on_the_way_out_a_program_may_tidy_up_and_one_that_will_not_go_is_ended(
    tmp_path: Path,
) -> None:
    """chronyc has a socket to remove; a second program ignores everything."""
    traps = {"tidy": f"trap 'rm {tmp_path}/socket; exit' TERM", "stuck": "trap '' TERM"}
    for name, trap in traps.items():
        text = f"{trap}\ntouch {tmp_path}/socket\necho $$ >{tmp_path}/{name}.pid\n"
        program = executable(tmp_path / name, f"#!/bin/sh\n{text}while :; do sleep 0.01; done\n")
        threading.Thread(target=spawn.run, args=([program], 30.0), daemon=True).start()
    pids = [pid_in(tmp_path / f"{name}.pid") for name in traps]
    began = time.monotonic()
    spawn.end_all()
    assert time.monotonic() - began < spawn.TERM_GRACE + SLACK
    wait_for(lambda: not any(map(alive, pids)), what="both to end")
    assert not (tmp_path / "socket").exists()


def test_a_thousand_programs_leave_nothing_behind() -> None:
    before = children()  # other tests' servers may be among them
    with no_file_left():
        for _ in range(1000):
            assert spawn.run(["true"], 10.0).status == 0
    assert children() <= before


def children() -> Set[str]:
    """The children of this thread, dead ones included."""
    with open("/proc/thread-self/children") as found:
        return set(found.read().split())
