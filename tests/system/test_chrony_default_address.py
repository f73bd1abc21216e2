"""Owns the tests of the chrony probe where chronyd listens by default: its socket and UDP port 323.

A network, a /run and a process list of their own are made for it, so that nothing of this machine
is touched, and no other chronyd is in the way. This module run as a program is the inside of them.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator

import psutil  # noqa: F401  loaded here, because nobody may not read it where it is installed
import pytest

from agent.core.model import Miss, Policy
from agent.core.settings import ChronySettings
from agent.probes.chrony import ChronyProbe
from agent.spawn import run
from tests.support import needs
from tests.support.nobody import as_nobody
from tests.support.waiting import wait_for

ROOT = Path(__file__).resolve().parents[2]
RUN = Path("/run")
SOCKET = RUN / "chrony" / "chronyd.sock"
#: A server that never answers: without one chronyd may find that it has nothing to do, and ends.
LOCAL = "port 0\nuser root\nlocal stratum 10\nserver 127.0.0.1 port 9\n"
#: More questions than a chronyd that answers none can queue.
TOO_MANY = 12
_SET_FLAGS, _UP = 0x8914, 0x1


def ask() -> str:
    """The cause the probe gives for the default address, and the seconds it took."""
    started = time.monotonic()
    seen = ChronyProbe(ChronySettings(program=needs.program("chronyc")), Policy()).read()
    cause = seen.cause if isinstance(seen, Miss) else "trusted"
    return f"{cause} {time.monotonic() - started:.1f}"


@contextmanager
def chronyd(extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """A chronyd where it is by default; ``-x``: it may never touch the clock."""
    (RUN / "chrony").mkdir(mode=0o750, exist_ok=True)
    (RUN / "chrony.conf").write_text(LOCAL + extra)
    argv = [needs.program("chronyd"), "-x", "-d", "-f", str(RUN / "chrony.conf")]
    with (RUN / "log").open("wb") as log, subprocess.Popen(argv, stderr=log, stdout=log) as daemon:
        wait_for(lambda: b"Running with root" in (RUN / "log").read_bytes(), what="chronyd")
        yield daemon
        daemon.send_signal(signal.SIGCONT)
        daemon.kill()


def observe(loopback: bool) -> Dict[str, str]:
    """Every state of chronyd, asked by root and by a user without rights."""
    seen: Dict[str, str] = {}

    def both(state: str) -> None:
        seen[f"{state}: root"] = ask()
        seen[f"{state}: nobody"] = as_nobody(ask)

    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(RUN)], check=True)
    if loopback:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))
    both("absent")
    for name, extra in {
        "open": "",
        "cmdport 0": "cmdport 0\n",
        "no socket": "cmdport 0\nbindcmdaddress /\n",
    }.items():
        with chronyd(extra) as daemon:
            both(name)
            os.kill(daemon.pid, signal.SIGSTOP)
            both(f"{name}, stopped")
            for _ in range(TOO_MANY):
                argv = [needs.program("chronyc"), "-h", str(SOCKET), "-m"]
                run([*argv, "timeout 100", "retries 0", "tracking"], 2.0)
            both(f"{name}, full")
        both(f"{name}, killed")
    return seen


def alone(loopback: bool) -> Dict[str, str]:
    """What ``observe`` sees in namespaces of its own."""
    needs.root()
    needs.program("chronyd")
    unshare = [needs.program("unshare"), "-m", "-n", "-p", "-f", "--mount-proc"]
    if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL).returncode:
        needs.missing("may not make namespaces here")
    inside = [sys.executable, "-m", "tests.system.test_chrony_default_address"]
    done = subprocess.run(
        [*unshare, *inside, "up" if loopback else "down"], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert done.returncode == 0
    times: Dict[str, str] = json.loads(done.stdout)
    assert all(float(seen.split()[1]) < 3.0 for seen in times.values()), times
    return {state: seen.split()[0] for state, seen in times.items()}


@pytest.fixture(scope="module")
def seen() -> Dict[str, str]:
    return alone(loopback=True)


@pytest.fixture(scope="module")
def seen_without_loopback() -> Dict[str, str]:
    return alone(loopback=False)


def test_a_chronyd_that_is_not_there_or_was_killed_is_not_running(seen: Dict[str, str]) -> None:
    gone = [state for state in seen if state.startswith("absent") or "killed" in state]
    assert len(gone) == 8
    assert {seen[state] for state in gone} == {"not-running"}


def test_an_open_chronyd_answers_root_and_nobody_alike(seen: Dict[str, str]) -> None:
    # local mode: its answer was read, though not trusted
    assert seen["open: root"] == seen["open: nobody"] == "local-mode"


def test_a_stopped_chronyd_is_hung_for_root_and_nobody_alike(seen: Dict[str, str]) -> None:
    for state in ("open, stopped", "open, full"):
        assert seen[f"{state}: root"] == seen[f"{state}: nobody"] == "hung"


def test_without_a_command_port_only_root_may_ask(seen: Dict[str, str]) -> None:
    assert seen["cmdport 0: root"] == "local-mode"
    assert seen["cmdport 0: nobody"] == "no-access"
    assert seen["cmdport 0, stopped: root"] == seen["cmdport 0, full: root"] == "hung"


def test_without_any_command_socket_nobody_may_ask(seen: Dict[str, str]) -> None:
    assert seen["no socket: root"] == seen["no socket: nobody"] == "no-access"


def test_in_a_network_of_its_own_an_unprivileged_user_has_no_access(
    seen_without_loopback: Dict[str, str],
) -> None:
    assert seen_without_loopback["open: root"] == "local-mode"
    assert seen_without_loopback["open: nobody"] == "no-access"
    assert seen_without_loopback["absent: nobody"] == "not-running"


if __name__ == "__main__":
    print(json.dumps(observe(loopback=sys.argv[1] == "up")))
