"""Owns what holds for every test: how property tests run, and where short-lived files live."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Iterator

import pytest
from hypothesis import settings

# A shared machine is slow now and then, which says nothing about the code: no per-example deadline.
settings.register_profile("laptop", deadline=None)
# The same examples every time, so that a failure in CI is a failure at the desk.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "laptop")


@pytest.fixture
def private_dir() -> Iterator[Path]:
    """A directory for sockets: only ours (chronyd insists), its path short (a socket's may be)."""
    directory = Path(tempfile.mkdtemp(prefix="ca-", dir="/tmp"))
    directory.chmod(0o700)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)
