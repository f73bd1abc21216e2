"""Owns running something as a user without any rights, in a process of its own."""

from __future__ import annotations

import ctypes
import os
import subprocess
from typing import Callable

from tests.support import needs

_NOBODY = 65534
_CLONE_NEWNS = 0x00020000


def as_nobody(work: Callable[[], str], *, hidepid: bool = False) -> str:
    """Return what ``work`` returns when the user nobody does it. Needs root.

    ``hidepid``: /proc shows nobody's own processes only, as many hardened hosts have it.
    The process is forked, not started anew: nobody may not read the project or its Python.
    """
    needs.root()
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if hidepid:
                _hide_processes()
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            os.write(send, work().encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, encoding="utf-8") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def _hide_processes() -> None:
    """Give this process a /proc of its own. Mounted anew: a remount would hide it for everybody."""
    assert ctypes.CDLL(None).unshare(_CLONE_NEWNS) == 0
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "proc", "-o", "hidepid=2", "proc", "/proc"], check=True)
