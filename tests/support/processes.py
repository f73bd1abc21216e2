"""Owns servers that a test starts for itself: their output is kept, and they are ended by pid."""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import contextmanager
from typing import Callable, Iterator, Optional, Sequence

from tests.support.waiting import wait_for


@contextmanager
def running(
    argv: Sequence[str], ready: Callable[[], object], *, cwd: Optional[str] = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``argv`` once ``ready`` returns something true, until the block ends.

    ``ready`` may raise OSError meanwhile. When the program ends before, the test fails with what
    it said.
    """
    with tempfile.TemporaryFile() as output:
        server = subprocess.Popen(
            argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )

        def up() -> object:
            if server.poll() is not None:
                output.seek(0)
                raise AssertionError(f"{argv[0]} ended: {output.read()[-2000:]!r}")
            try:
                return ready()
            except OSError:
                return None

        try:
            wait_for(up, timeout=30, what=f"{argv[0]} to be ready")
            yield server
        finally:
            server.kill()
            server.wait()
