"""Owns the tests of the host's name and identity, with names that no host should have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent import host
from agent.core import schedule
from tests.support import needs
from tests.support.command import ROOT, configuration
from tests.support.fakes import Chronyc

_AS_THAT_HOST = """
import ctypes, os, sys
library = ctypes.CDLL(None, use_errno=True)
name = bytes.fromhex(sys.argv[1])
CLONE_NEWUTS = 0x04000000
assert library.unshare(CLONE_NEWUTS) == 0, os.strerror(ctypes.get_errno())
assert library.sethostname(name, len(name)) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def checked_as(name: bytes, config: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """``check --live`` on a host of this name whose locale takes no ill-formed text."""
    needs.root()
    return subprocess.run(
        [sys.executable, "-c", _AS_THAT_HOST, name.hex(), "-m", "agent", "--config", config]
        + ["check", "--live", *arguments],
        cwd=ROOT,
        env={"PYTHONIOENCODING": "utf-8:strict", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"web-1.dc.example.org", "web-1.dc.example.org"),
        (b"WEB 1", "WEB 1"),
        (b"a:b|c", "a:b|c"),
        (b"two\nlines", "two lines"),
        (b"\xc3\xbc", "\u00fc"),
        (b"w\xff\xfe", "w\\udcff\\udcfe"),
        (b"\xff" * 64, "\\udcff" * 42 + "\\..."),
        (b"", "unknown"),
    ],
)
def test_any_bytes_may_be_the_name_of_a_host(tmp_path: Path, name: bytes, shown: str) -> None:
    chronyc = Chronyc(tmp_path / "chronyc")
    settings = {"chrony": {"program": chronyc.path}, "service": {"enabled": False}}
    config = configuration(tmp_path, settings)
    done = checked_as(name, config, "--json")
    assert done.stderr == b""
    assert done.returncode == 0
    assert json.loads(done.stdout)["host"] == shown
    assert checked_as(name, config).stdout.startswith(b"CLOCK OK")


def test_clones_with_one_machine_id_have_places_of_their_own_in_the_interval() -> None:
    names = [f"worker-{letter}{number:02}" for letter in "ab" for number in range(25)]
    phases = {schedule.phase(host.identity(name), 300.0) for name in names}
    assert len(phases) == len(names)
    assert max(phases) - min(phases) > 200.0
    assert host.identity("worker-a04") == host.identity("worker-a04")
