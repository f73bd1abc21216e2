"""Owns what a test may need from the machine. Missing: skipped on a laptop, a failure in CI.

``make test`` installs all of it; ``CI=true`` says that nothing may be left out.
"""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import NoReturn

import pytest

from agent.spawn import SEARCH_PATH

_CACHE = Path(__file__).resolve().parents[2] / ".cache"
#: The machine's own programs first, then those that were unpacked rather than installed.
_UNPACKED = f"{_CACHE}/debian/usr/sbin:{_CACHE}/debian/usr/bin"
_PATH = os.pathsep.join([os.environ.get("PATH", ""), SEARCH_PATH, _UNPACKED])


def program(name: str) -> str:
    """Return the absolute path of an installed program."""
    found = shutil.which(name, path=_PATH)
    return found or missing(f"no {name} on this machine: run `make test`")


def node_package(name: str) -> Path:
    """Return the directory of an npm package that ``make test`` keeps beside the project."""
    directory = _CACHE / "npm" / "node_modules" / name
    return directory if directory.is_dir() else missing(f"no npm package {name}: run `make test`")


def root() -> None:
    """The test needs the powers of root (namespaces, other users, packages)."""
    if os.geteuid() != 0:
        missing("needs root")


def ipv6() -> None:
    """The test needs ::1."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        missing("no IPv6 loopback address")


def missing(why: str) -> NoReturn:
    """End the test: what it needs is not here."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI may leave nothing out: {why}", pytrace=False)
    pytest.skip(why)
