"""Owns the tests of what `make` relies on: nothing a test needs is left to be installed by hand."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: In every Debian, whatever is left out of it.
ESSENTIAL = {"mount", "sleep", "systemctl", "umount", "unshare"}
#: Comes with a program of another name.
TOGETHER = {"chronyc": "chronyd"}


def test_every_program_a_test_needs_is_installed_by_make_test() -> None:
    wanted = set()
    for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("bench/*.py")]:
        wanted |= set(re.findall(r"needs\.program\(\s*\"([^\"]+)\"", path.read_text("utf-8")))
    table = (ROOT / "tools" / "packages").read_text("utf-8")
    installed = set(re.findall(r"^ {8}(\S+) \S+$", table.replace('" ;;', ""), re.MULTILINE))
    assert "chronyd" in installed
    assert {TOGETHER.get(name, name) for name in wanted} <= installed | ESSENTIAL


def test_every_python_found_really_runs_and_the_newest_comes_first() -> None:
    shown = subprocess.run([ROOT / "tools" / "pythons"], capture_output=True, text=True, check=True)
    versions = []
    for line in shown.stdout.splitlines():
        version, path = line.split()
        say = "import sys; print('%d.%d' % sys.version_info[:2])"
        told = subprocess.run([path, "-c", say], capture_output=True, text=True, check=True)
        assert told.stdout.strip() == version
        versions.append(tuple(map(int, version.split("."))))
    assert versions == sorted(set(versions), reverse=True)
    assert versions[-1] >= (3, 9)
